"""Print command output: lines for people, JSON for programs."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kernel.clock import format_rfc3339


def open_closed_streams() -> None:
    """Let the standard streams that are closed (`>&-`) lead to /dev/null, and not to the next file or connection that is opened."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def write_utf8() -> None:
    """Write UTF-8 whatever the locale is, as log lines do: names of stores must not fail a command under `LC_ALL=C`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


# What stores write would be commands to the operator's terminal; JSON has the same escapes.
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}


def print_line(text: str = "") -> None:
    """Print a line to stdout, its control characters escaped, and flush."""
    sys.stdout.write(f"{text.translate(_ESCAPES)}\n")
    sys.stdout.flush()


def print_json(value: Any) -> None:
    """Print a value as indented JSON; UUIDs as strings, times as those of the interfaces."""
    print_line(json.dumps(value, ensure_ascii=False, indent=2, default=_as_text))


def print_json_line(value: Any) -> None:
    """Print a value as one line of JSON."""
    print_line(json.dumps(value, ensure_ascii=False, default=_as_text))


def _as_text(value: object) -> str:
    return format_rfc3339(value) if isinstance(value, datetime) else str(value)


def print_error(text: str) -> None:
    """Print the one-line reason of a failed command, or a step of a long one, to stderr; when nobody reads it, the command goes on."""
    line = " ".join(text.split())
    try:
        sys.stderr.write(f"vitrine: {line.translate(_ESCAPES)}\n")
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def print_table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print an aligned table."""
    table = [list(headers), *([str(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(headers))]
    for row in table:
        print_line("  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())


def print_fields(fields: Mapping[str, object]) -> None:
    """Print aligned names and values, one per line; None is omitted."""
    shown = {name: value for name, value in fields.items() if value is not None}
    width = max((len(name) for name in shown), default=0)
    for name, value in shown.items():
        print_line(f"{name.ljust(width)}  {value}")


def add_json_option(parser: argparse.ArgumentParser, command: Callable[[argparse.Namespace], object]) -> None:
    """Let a command print JSON, and set the function that runs it, a coroutine function or not."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=command)


def print_created(args: argparse.Namespace, result: Mapping[str, Any], note: str = "") -> None:
    """Print what a command made: as JSON, or as fields without those that are false, and a note."""
    if args.json:
        print_json(result)
        return
    print_fields({name: _in_words(value) for name, value in result.items() if value is not False})
    if note:
        print_line(note)


def _in_words(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "yes" if value is True else value
