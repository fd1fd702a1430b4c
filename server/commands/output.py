"""Write what a command found or made: lines for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def say(text: str = "") -> None:
    """Write a line to stdout, at once: somebody may be reading along."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say_json(value: Any) -> None:
    """Write a value as JSON, readable; UUIDs and times as text."""
    say(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def complain(text: str) -> None:
    """Write the one line that says why a command was refused."""
    line = " ".join(text.split())
    sys.stderr.write(f"vitrine: {line}\n")
    sys.stderr.flush()


def say_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write rows below headings, each column as wide as its widest value."""
    table = [list(headings), *([str(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(headings))]
    for row in table:
        say("  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())


def say_fields(fields: Mapping[str, object]) -> None:
    """Write names and values one a line, the values below each other; what is None is left out."""
    shown = {name: value for name, value in fields.items() if value is not None}
    width = max((len(name) for name in shown), default=0)
    for name, value in shown.items():
        say(f"{name.ljust(width)}  {value}")
