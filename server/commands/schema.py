"""`vitrine schema`: print the GraphQL schema or update its snapshots; needs no database and no settings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any

from server.commands.output import print_line
from server.commands.snapshots import compare_snapshots, write_snapshots

FOLDER = Path(__file__).resolve().parents[2] / "schema"
PUBLIC, INTERNAL = "public.graphql", "internal.diff"
"""The public schema, and what the internal one has in its place: the difference is a tenth of it, and reviewable."""


def add(commands: Any) -> None:
    """Declare the command."""
    schema = commands.add_parser(
        "schema",
        help="print the GraphQL schema, or write or check its snapshots",
        description="Print the public GraphQL schema in SDL.",
    )
    options = schema.add_mutually_exclusive_group()
    options.add_argument("--internal", action="store_true", help="print the internal schema of the REST facades")
    options.add_argument("--write", action="store_true", help=f"write schema/{PUBLIC} and schema/{INTERNAL}")
    options.add_argument(
        "--check", action="store_true", help="compare the snapshots with the code; exit 1 on a difference"
    )
    schema.set_defaults(run=_schema)


def _schema(args: argparse.Namespace) -> int:
    if args.write:
        return write_snapshots(FOLDER, "schema", _snapshots())
    if args.check:
        return compare_snapshots(FOLDER, "schema", _snapshots())
    from resolvers import root

    print_line(root.internal().as_str() if args.internal else root.public_text())
    return 0


def _snapshots() -> dict[str, str]:
    from resolvers import root

    public, internal = (
        text.splitlines(keepends=True) for text in (root.public_text() + "\n", root.internal().as_str() + "\n")
    )
    return {PUBLIC: "".join(public), INTERNAL: _difference(public, internal)}


def _difference(public: Sequence[str], internal: Sequence[str]) -> str:
    """Return what is added or removed, below the type that contains it: without line numbers, which every change would move."""
    lines, definition, shown = [], "", ""
    for line in unified_diff(public, internal, n=len(public)):
        if line.startswith(("---", "+++", "@@")):
            continue
        if line[1:2] not in (" ", "}", "\n", '"', ""):
            definition = line[1:]
        if line[0] != " ":
            if definition not in (shown, line[1:]):
                lines.append(f"@@ {definition}")
            shown = definition
            lines.append(line)
    return "".join(lines)
