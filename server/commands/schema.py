"""`vitrine schema`: print the GraphQL schema, or keep its snapshots; needs no database and no settings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from server.commands.output import complain, say

FOLDER = Path(__file__).resolve().parents[2] / "schema"
PUBLIC, INTERNAL = "public.graphql", "internal.graphql"


def add(commands: Any) -> None:
    """Declare the command."""
    schema = commands.add_parser(
        "schema",
        help="print the GraphQL schema, write its snapshots or compare them",
        description="Print the schema that clients see, in SDL.",
    )
    what = schema.add_mutually_exclusive_group()
    what.add_argument(
        "--internal", action="store_true", help="print the schema that the REST facades use instead"
    )
    what.add_argument("--write", action="store_true", help=f"write schema/{PUBLIC} and schema/{INTERNAL}")
    what.add_argument(
        "--check", action="store_true", help="compare them with the code; exit 1 when they differ"
    )
    schema.set_defaults(run=_schema)


def _schema(asked: argparse.Namespace) -> int:
    if asked.write:
        return _write()
    if asked.check:
        return _check()
    say(_texts()[INTERNAL if asked.internal else PUBLIC].rstrip("\n"))
    return 0


def _texts() -> dict[str, str]:
    from resolvers import root

    return {PUBLIC: root.public().as_str() + "\n", INTERNAL: root.internal().as_str() + "\n"}


def _write() -> int:
    for name, text in _texts().items():
        path = FOLDER / name
        changed = not path.is_file() or path.read_text(encoding="utf-8") != text
        if changed:
            path.write_text(text, encoding="utf-8")
        say(f"{'wrote' if changed else 'unchanged:'} schema/{name}")
    return 0


def _check() -> int:
    stale = [
        f"schema/{name}"
        for name, text in _texts().items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != text
    ]
    if stale:
        complain(f"not what the code says: {', '.join(stale)}; run make snapshots and look at the difference")
        return 1
    return 0
