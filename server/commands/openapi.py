"""`vitrine openapi`: print a REST family's OpenAPI document or update the snapshots; needs no database and no settings."""

from __future__ import annotations

import argparse
from typing import Any

from server.commands.output import print_error, print_line


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
    stale = [name for name, text in texts.items() if _read_text(FOLDER / name) != text]
    if args.write:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
            print_line(f"{'wrote' if name in stale else 'unchanged:'} docs/openapi/{name}")
        return 0
    if args.check:
        if stale:
            names = ", ".join(f"docs/openapi/{name}" for name in stale)
            print_error(f"outdated: {names}; run make snapshots and review the difference")
        return 1 if stale else 0
    if args.family is None:
        print_error("choose a family: current, apps or legacy")
        return 2
    print_line(texts[f"{args.family}.json"].rstrip("\n"))
    return 0


def _read_text(path: Any) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
