"""`vitrine import`: import external data into a store."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.commands.context import open_context, read_settings, run_command
from server.commands.errors import CommandError
from server.commands.output import print_error, print_line

if TYPE_CHECKING:
    from server.importers.olist import ImportReport


def add(commands: Any) -> None:
    """Declare the commands."""
    importing = commands.add_parser("import", help="import external data into a store")
    sources = importing.add_subparsers(title="sources", metavar="SOURCE", required=True)
    olist = sources.add_parser(
        "olist",
        help="import the public dataset of the Olist marketplace",
        description="Import customers, vendors, products, orders, payments and reviews. Idempotent.",
    )
    olist.add_argument("directory", metavar="DIR", type=Path, help="the folder with the CSV files")
    olist.add_argument("--tenant", metavar="ID", required=True, help="the store: UUID or host")
    olist.add_argument("--events", action="store_true", help="emit events for imported records")
    olist.add_argument("--no-progress", action="store_true", help="show no progress bar")
    olist.set_defaults(run=_olist)


def _olist(args: argparse.Namespace) -> int:
    directory: Path = args.directory
    if not directory.is_dir():
        raise CommandError(f"{directory} is not a folder; expected the one with the Olist CSV files")

    async def execute() -> ImportReport:
        from server import store_admin
        from server.importers import olist
        from server.importers.olist_files import ImportFileError

        async with open_context(read_settings()):
            store = (await store_admin.find_store(args.tenant)).store
            try:
                return await olist.run(directory, store.public_id, events=args.events, progress=not args.no_progress)
            except ImportFileError as error:
                raise CommandError(str(error)) from error

    report = run_command(execute())
    if report.is_rejected:
        for line in report.summary().splitlines()[:-1]:
            print_line(line)
        print_error(report.summary().splitlines()[-1])
        return 1
    print_line(report.summary())
    return 0
