"""Derive the plain text of HTML that people wrote, for descriptions of pages, previews and feeds: no sanitizer, its result is text."""

from __future__ import annotations

import re
from html import unescape

# Each alternative ends at the end of the text where what closes it is missing, as browsers read it: so nothing is searched twice.
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(script|style|template|textarea|title)\b.*?(?:</\1\b[^>]*(?:>|\Z)|\Z)"
    r"|</?([a-z][a-z0-9]*)(?:[^>\"']+|\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))*(?:>|\Z)"
    r"|<[!?][^>]*(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n[ \n]*")
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "input",
        "ins",
        "kbd",
        "label",
        "mark",
        "meter",
        "q",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)


def plain_text(html: str) -> str:
    """Return the text of HTML: without tags, comments and scripts, entities decoded, each block on a line of its own."""
    if "<" not in html and "&" not in html:
        return _tidy(html)
    # Line breaks of the source are spaces, as a browser shows them.
    text = unescape(_MARKUP.sub(_replacement, " ".join(html.split()))) if "<" in html else unescape(html)
    return _tidy(text)


def _replacement(match: re.Match[str]) -> str:
    name = match[2]
    return "" if name is None or name.lower() in _INLINE else "\n"


def _tidy(text: str) -> str:
    return _LINES.sub("\n", _SPACES.sub(" ", text)).strip()
