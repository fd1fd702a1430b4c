"""Choose the language of a page from what the client prefers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_RANGE = re.compile(r"([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*|\*)\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?))?")


def choose_language(offered: Sequence[str], ui_locales: str, accept_language: str) -> str:
    """Return one of the offered language tags, by default the first one.

    `ui_locales` are tags separated by spaces, the preferred one first (OpenID Connect, section 3.1.2.1), and win over the header
    `Accept-Language` (RFC 9110, section 12.5.4). Languages match whatever their region: `pt-PT` is served `pt-BR`.
    """
    by_language: Mapping[str, str] = {tag.partition("-")[0].lower(): tag for tag in reversed(offered)}
    for wanted in (*ui_locales.split(), *_accepted(accept_language)):
        language = wanted.partition("-")[0].lower()
        if language == "*":
            break
        if language in by_language:
            return by_language[language]
    return offered[0]


def _accepted(header: str) -> list[str]:
    """Return the tags of the header, the preferred one first; malformed and refused ones are left out."""
    weighted = []
    for part in header[:1_000].split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is not None and float(match[2] or 1) > 0:
            weighted.append((-float(match[2] or 1), match[1]))
    return [tag for _, tag in sorted(weighted, key=lambda entry: entry[0])]
