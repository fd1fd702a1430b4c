"""`vitrine openapi`: print a REST family's OpenAPI document or update the snapshots; needs no database and no settings."""

from __future__ import annotations

import argparse
from typing import Any

from server.commands.output import print_error, print_line
from server.commands.snapshots import compare_snapshots, write_snapshots


def add(commands: Any) -> None:
    """Declare the command."""
    openapi = commands.add_parser(
        "openapi",
        help="print an OpenAPI document, or write or check the snapshots",
        description="Print the OpenAPI 3.1 document of a REST family.",
    )
    options = openapi.add_mutually_exclusive_group()
    options.add_argument("family", nargs="?", choices=("current", "apps", "legacy"), help="the family to print")
    options.add_argument("--write", action="store_true", help="write docs/openapi/*.json")
    options.add_argument(
        "--check", action="store_true", help="compare the snapshots with the code; exit 1 on a difference"
    )
    openapi.set_defaults(run=_openapi)


def _openapi(args: argparse.Namespace) -> int:
    from server.openapi.documents import FOLDER, documents, serialize

    texts = {f"{name}.json": serialize(document) for name, document in documents().items()}
    if args.write:
        return write_snapshots(FOLDER, "docs/openapi", texts)
    if args.check:
        return compare_snapshots(FOLDER, "docs/openapi", texts)
    if args.family is None:
        print_error("choose a family: current, apps or legacy")
        return 2
    print_line(texts[f"{args.family}.json"].rstrip("\n"))
    return 0
