"""`vitrine schema`: print the GraphQL schema or update its snapshots; needs no database and no settings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any

from server.commands.output import print_error, print_line
from server.commands.schema_changes import breaking_changes, released_text, unlisted
from server.commands.snapshots import compare_snapshots, write_snapshots

FOLDER = Path(__file__).resolve().parents[2] / "schema"
PUBLIC, INTERNAL = "public.graphql", "internal.diff"
"""The public schema, and what the internal one has in its place: the difference is a tenth of it, and reviewable."""
RELEASED, BREAKING = "released.graphql", "breaking.txt"
"""The public schema of the last release, and what programs written for it would stumble over."""
NAMES = (PUBLIC, INTERNAL, RELEASED, BREAKING)
CHANGELOG = FOLDER.parent / "CHANGELOG.md"


def add(commands: Any) -> None:
    """Declare the command."""
    schema = commands.add_parser(
        "schema",
        help="print the GraphQL schema, or write or check its snapshots",
        description="Print the public GraphQL schema in SDL.",
    )
    options = schema.add_mutually_exclusive_group()
    options.add_argument("--internal", action="store_true", help="print the internal schema of the REST facades")
    options.add_argument(
        "--write", action="store_true", help=f"write the snapshots: {', '.join(f'schema/{name}' for name in NAMES)}"
    )
    options.add_argument(
        "--check",
        action="store_true",
        help="compare the snapshots with the code, and the schema with that of the last release; exit 1 on a difference, and on a breaking"
        " change that CHANGELOG.md does not list",
    )
    schema.set_defaults(run=_schema)


def _schema(args: argparse.Namespace) -> int:
    if args.write:
        return write_snapshots(FOLDER, "schema", _snapshots())
    if args.check:
        snapshots = _snapshots()
        problems = unlisted(breaking_changes(snapshots[RELEASED], snapshots[PUBLIC]), _changelog())
        for problem in problems:
            print_error(problem)
        return compare_snapshots(FOLDER, "schema", snapshots) or (1 if problems else 0)
    from resolvers import root

    print_line(root.internal().as_str() if args.internal else root.public_text())
    return 0


def _snapshots() -> dict[str, str]:
    from resolvers import root

    public, internal = (
        text.splitlines(keepends=True) for text in (root.public_text() + "\n", root.internal().as_str() + "\n")
    )
    path = FOLDER / RELEASED
    known = path.read_text(encoding="utf-8") if path.is_file() else ""
    released = released_text(known, "".join(public), _changelog())
    breaking = [f"{description}\n" for _, _, description in breaking_changes(released, "".join(public))]
    return dict(zip(NAMES, ("".join(public), _difference(public, internal), released, "".join(breaking)), strict=True))


def _changelog() -> str:
    return CHANGELOG.read_text(encoding="utf-8")


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
