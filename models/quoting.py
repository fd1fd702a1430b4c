"""Quote identifiers and texts of SQL statements that PostgreSQL takes no parameters for."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Return an identifier in quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as a literal."""
    return "'" + text.replace("'", "''") + "'"
