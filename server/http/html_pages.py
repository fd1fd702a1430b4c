"""Build the server's HTML pages, and their headers."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from typing import Any

_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
{head}
</head>
<body>
{body}
</body>
</html>
"""


def html_page(title: str, head: str, body: str, *, language: str = "en") -> str:
    """Return a page; `head` and `body` are HTML."""
    return _PAGE.format(language=language, title=escape(title), head=head, body=body)


def config_script(config: Mapping[str, Any]) -> str:
    """Return the element from which a page's script reads its configuration."""
    # An unescaped "<" could end the script element.
    text = json.dumps(config, ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="config">{text}</script>'


def style_source(style: str) -> str:
    """Return the source expression of a Content-Security-Policy that allows an embedded style sheet."""
    return f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'"


def page_headers(
    *, referrer: str = "no-referrer", cache: str = "no-cache", form: str = "'none'", **sources: str
) -> dict[str, str]:
    """Return the headers of a page that may load what `sources` says (`script="'self'"`), and nothing else; `form` is where forms go."""
    policy = [f"{kind}-src {allowed}" for kind, allowed in {"default": "'none'", **sources}.items()]
    policy += ["base-uri 'none'", f"form-action {form}", "frame-ancestors 'none'"]
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": referrer,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": cache,
    }
