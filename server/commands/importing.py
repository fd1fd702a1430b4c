"""`vitrine import`: load other people's data into a store."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.commands.opened import opened, read_settings, run
from server.commands.output import complain, say
from server.commands.refusals import CommandRefused

if TYPE_CHECKING:
    from server.importers.olist import ImportReport


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

    async def work() -> ImportReport:
        from server import operating
        from server.importers import olist
        from server.importers.olist_files import Missing

        async with opened(read_settings()):
            store = (await operating.find(asked.tenant)).store
            try:
                return await olist.run(
                    directory, store.public_id, events=asked.events, progress=not asked.no_progress
                )
            except Missing as error:
                raise CommandRefused(str(error)) from error

    report = run(work())
    if report.is_refused:
        for line in report.summary().splitlines()[:-1]:
            say(line)
        complain(report.summary().splitlines()[-1])
        return 1
    say(report.summary())
    return 0
