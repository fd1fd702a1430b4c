"""`vitrine openapi`: print a REST family's OpenAPI document, or keep the snapshots; needs no database and no settings."""

from __future__ import annotations

import argparse
from typing import Any

from server.commands.output import complain, say


def add(commands: Any) -> None:
    """Declare the command."""
    openapi = commands.add_parser(
        "openapi",
        help="print the OpenAPI document of a REST family, write the snapshots or compare them",
        description="Print the OpenAPI 3.1 document of a REST family.",
    )
    what = openapi.add_mutually_exclusive_group()
    what.add_argument("family", nargs="?", choices=("current", "apps", "legacy"), help="which one to print")
    what.add_argument("--write", action="store_true", help="write docs/openapi/*.json")
    what.add_argument(
        "--check", action="store_true", help="compare them with the code; exit 1 when they differ"
    )
    openapi.set_defaults(run=_openapi)


def _openapi(asked: argparse.Namespace) -> int:
    from server.openapi.documents import FOLDER, documents, text_of

    texts = {f"{name}.json": text_of(made) for name, made in documents().items()}
    stale = [name for name, text in texts.items() if _kept(FOLDER / name) != text]
    if asked.write:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
            say(f"{'wrote' if name in stale else 'unchanged:'} docs/openapi/{name}")
        return 0
    if asked.check:
        if stale:
            names = ", ".join(f"docs/openapi/{name}" for name in stale)
            complain(f"not what the code says: {names}; run make snapshots and look at the difference")
        return 1 if stale else 0
    if asked.family is None:
        complain("name a family: current, apps or legacy")
        return 2
    say(texts[f"{asked.family}.json"].rstrip("\n"))
    return 0


def _kept(path: Any) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
