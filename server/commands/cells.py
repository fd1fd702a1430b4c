"""`vitrine cells`: which cell serves which store, as a map for HAProxy (docs/scaling.md#cells)."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel.garbage_collection import collect_rarely
from server.commands.errors import CommandError, describe_error
from server.commands.output import add_json_option, print_json, print_line, print_table

if TYPE_CHECKING:
    from server.operations.cells import Cell

_FILE = "VITRINE_CELLS_FILE"
"""The variable for `--cells`."""


def add(commands: Any) -> None:
    """Declare the commands."""
    cells = commands.add_parser("cells", help="choose among several databases with stores").add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    mapping = cells.add_parser(
        "map",
        help="write which cell serves which store, as a map for HAProxy",
        description="Ask each cell which stores it serves, and write a map of their ids and hosts. A cell that can't be read keeps its"
        " lines.",
    )
    mapping.add_argument("--to", metavar="PATH", type=Path, required=True, help="the map file")
    mapping.add_argument(
        "--socket", metavar="PATH", type=Path, help="HAProxy's admin socket: its map is changed without a reload"
    )
    mapping.add_argument("--follow", action="store_true", help="go on, and change the map when a store changes")
    syncing = cells.add_parser(
        "sync",
        help="copy what belongs to no store from the first cell to the others",
        description="Let all cells have the first one's signing keys and platform users, all hash keys, and each app as it is in the cell"
        " whose store registered it, else in the first. Only what differs is written.",
    )
    for parser, command in ((mapping, _map), (syncing, _sync)):
        parser.add_argument(
            "--cells",
            metavar="FILE",
            type=Path,
            default=os.environ.get(_FILE),
            help=f"a line for each cell: its name and the URL of its database; by default {_FILE}",
        )
        add_json_option(parser, command)


def _read_cells(args: argparse.Namespace) -> tuple[Cell, ...]:
    from server.operations.cells import read_cells

    if not args.cells:
        raise CommandError(f"the file of the cells is missing: set {_FILE}, or use --cells")
    return read_cells(Path(args.cells))


async def _map(args: argparse.Namespace) -> None:
    from kernel import logging
    from server.commands.context import quiet_logging, read_settings
    from server.operations.cell_map import CellMap

    settings = read_settings()
    cell_map = CellMap(_read_cells(args), args.to, args.socket)
    if args.follow:
        logging.configure(development=not settings.is_production)
        collect_rarely()
        with suppress(asyncio.CancelledError):  # SIGTERM
            await cell_map.follow()
        return
    quiet_logging(settings)
    change = await cell_map.update()
    counts = Counter(change.lines.values())
    if args.json:
        print_json({"cells": counts, "written": change.written, "sent": change.sent, "unreadable": change.unreadable})
    else:
        print_line(
            f"{len(change.lines)} lines, {change.written} written to {args.to}, {change.sent} sent; "
            + ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
        )
    if change.unreadable:
        reasons = ", ".join(f"{name} ({reason})" for name, reason in change.unreadable.items())
        raise CommandError(f"cells can't be read, and keep the lines that the map had: {reasons}")


async def _sync(args: argparse.Namespace) -> None:
    from server.operations.cell_sync import sync_cells

    cells = _read_cells(args)
    await _check_keys(cells)
    changes = await sync_cells(cells)
    if args.json:
        print_json([{"cell": change.cell, "tables": change.tables} for change in changes])
    else:
        print_table(
            ("CELL", "TABLE", "WRITTEN"), [(each.cell, *item) for each in changes for item in each.tables.items()]
        )


async def _check_keys(cells: tuple[Cell, ...]) -> None:
    from kernel.errors import Unavailable
    from kernel.settings import SettingError
    from server.commands.context import quiet_logging, read_settings
    from server.database import DatabaseLocation
    from server.secret_key import with_secret_key
    from server.start_checks import check_secret_key

    settings = with_secret_key(read_settings())
    quiet_logging(settings)
    for cell in cells:
        try:
            await check_secret_key(settings, DatabaseLocation(cell.url, cell.url, is_embedded=False))
        except (SettingError, Unavailable) as error:
            raise CommandError(f"cell {cell.name}: {describe_error(error)}") from error
