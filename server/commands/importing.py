"""`vitrine import`: load other people's data into a store."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from server.commands.opened import opened, read_settings, run
from server.commands.output import complain, say
from server.commands.refusals import CommandRefused


def add(commands: Any) -> None:
    """Declare the commands."""
    importing = commands.add_parser("import", help="load data of other shops into a store")
    sources = importing.add_subparsers(title="sources", metavar="SOURCE", required=True)
    olist = sources.add_parser(
        "olist",
        help="the public files of the Olist marketplace",
        description="Load customers, sellers, products, orders, payments and reviews. Running it twice adds nothing.",
    )
    olist.add_argument("directory", metavar="DIR", type=Path, help="the folder with the CSV files")
    olist.add_argument(
        "--tenant", metavar="ID", required=True, help="the store: its UUID or one of its addresses"
    )
    olist.add_argument(
        "--events", action="store_true", help="tell apps of what is imported, as if it happened now"
    )
    olist.add_argument("--no-progress", action="store_true", help="show no progress bar")
    olist.set_defaults(run=_olist)


def _olist(asked: argparse.Namespace) -> int:
    directory: Path = asked.directory
    if not directory.is_dir():
        raise CommandRefused(f"{directory} is no folder; expected the one with the Olist CSV files")

    async def work() -> Any:
        from server.commands.stores import find_store
        from server.importers import olist

        async with opened(read_settings()):
            store = await find_store(asked.tenant)
            return await olist.run(
                directory, store.public_id, events=asked.events, progress=not asked.no_progress
            )

    report = run(work())
    say(report.summary())
    refused: int = getattr(report, "refused", 0)
    if refused:
        complain(f"{refused} row(s) were refused")
        return 1
    return 0
