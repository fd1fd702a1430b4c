"""`vitrine migrate`: apply database migrations."""

from __future__ import annotations

import argparse
from typing import Any

from server.commands.context import quiet_logging, read_settings
from server.commands.output import add_json_option, print_json, print_line


def add(commands: Any) -> None:
    """Declare the command."""
    migrate = commands.add_parser(
        "migrate",
        help="apply pending database migrations",
        description="Apply pending migrations as the database owner (DATABASE_URL, else the embedded database).",
    )
    add_json_option(migrate, _migrate)


async def _migrate(args: argparse.Namespace) -> None:
    from models import migrate
    from server.database import database_location

    settings = read_settings()
    quiet_logging(settings)
    async with database_location(settings) as location:
        applied = await migrate.migrate(location.owner_url)
    if args.json:
        print_json({"applied": applied})
        return
    for name in applied:
        print_line(f"applied {name}")
    if not applied:
        print_line("the database is up to date")
