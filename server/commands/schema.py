"""`vitrine schema`: print the GraphQL schema or update its snapshots; needs no database and no settings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from server.commands.output import print_error, print_line

FOLDER = Path(__file__).resolve().parents[2] / "schema"
PUBLIC, INTERNAL = "public.graphql", "internal.graphql"


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
        return _write()
    if args.check:
        return _check()
    print_line(_texts()[INTERNAL if args.internal else PUBLIC].rstrip("\n"))
    return 0


def _texts() -> dict[str, str]:
    from resolvers import root

    return {PUBLIC: root.public_text() + "\n", INTERNAL: root.internal().as_str() + "\n"}


def _write() -> int:
    for name, text in _texts().items():
        path = FOLDER / name
        changed = not path.is_file() or path.read_text(encoding="utf-8") != text
        if changed:
            path.write_text(text, encoding="utf-8")
        print_line(f"{'wrote' if changed else 'unchanged:'} schema/{name}")
    return 0


def _check() -> int:
    stale = [
        f"schema/{name}"
        for name, text in _texts().items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != text
    ]
    if stale:
        print_error(f"outdated: {', '.join(stale)}; run make snapshots and review the difference")
        return 1
    return 0
