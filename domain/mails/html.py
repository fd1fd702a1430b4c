"""Write the HTML alternative of a mail from its text.

Paragraphs are separated by empty lines. Lines indented by four spaces are a block: a table where two spaces or more separate columns, and a
link where a line is nothing but the address of a page. Everything else is escaped text.
"""

from __future__ import annotations

import re
from html import escape

_COLUMNS = re.compile(r" {2,}")
_PAGE = re.compile(r"https?://[^\s<>\"']+")

_DOCUMENT = """<!DOCTYPE html>
<html lang="pt-BR">
<head><meta charset="utf-8"><title>{title}</title></head>
<body style="margin: 0; padding: 24px 16px; background: #fff; color: #222; font: 16px/1.5 Arial, Helvetica, sans-serif">
<div style="max-width: 560px; margin: 0 auto">
{content}
</div>
</body>
</html>
"""
_TABLE = (
    '<table role="presentation" cellpadding="0" cellspacing="0" style="width: 100%; margin: 0 0 16px">{rows}</table>'
)
_CELL = '<td style="padding: 4px 16px 4px 0; vertical-align: top{align}">{text}</td>'
_LINK = '<a href="{page}" style="color: #0b57d0; overflow-wrap: anywhere">{page}</a>'


def html_mail(title: str, text: str) -> str:
    """Return the document of a mail with this subject and text."""
    parts = [_part(part) for part in text.strip("\n").split("\n\n") if part.strip()]
    return _DOCUMENT.format(title=escape(title), content="\n".join(parts))


def _part(part: str) -> str:
    lines = part.split("\n")
    if not all(line.startswith("    ") for line in lines):
        return f'<p style="margin: 0 0 16px">{"<br>".join(escape(line.strip()) for line in lines)}</p>'
    rows = [_COLUMNS.split(line.strip()) for line in lines]
    return _TABLE.format(rows="".join(f"<tr>{_cells(row)}</tr>" for row in rows))


def _cells(row: list[str]) -> str:
    first, *others = row
    text = _LINK.format(page=escape(first)) if _PAGE.fullmatch(first) and not others else escape(first)
    cells = [_CELL.format(align="", text=text)]
    cells += [_CELL.format(align="; text-align: right; white-space: nowrap", text=escape(other)) for other in others]
    return "".join(cells)
