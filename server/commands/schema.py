"""`vitrine schema`: print the GraphQL schema or update its snapshots; needs no database and no settings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from server.commands.output import print_line
from server.commands.snapshots import check_snapshots, write_snapshots

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
    texts = _texts()
    if args.write:
        return write_snapshots(FOLDER, "schema", texts)
    if args.check:
        return check_snapshots(FOLDER, "schema", texts)
    print_line(texts[INTERNAL if args.internal else PUBLIC].rstrip("\n"))
    return 0


def _texts() -> dict[str, str]:
    from resolvers import root

    return {PUBLIC: root.public_text() + "\n", INTERNAL: root.internal().as_str() + "\n"}
