"""`vitrine migrate`: bring the tables up to date."""

from __future__ import annotations

import argparse
from typing import Any

from server.commands.opened import quiet_logging, read_settings, run
from server.commands.output import say


def add(commands: Any) -> None:
    """Declare the command."""
    migrate = commands.add_parser(
        "migrate",
        help="bring the database's tables and roles up to date",
        description="Apply the migrations that are pending, as the database's owner (DATABASE_URL, else the embedded one).",
    )
    migrate.set_defaults(run=_migrate)


def _migrate(_: argparse.Namespace) -> None:
    settings = read_settings()
    quiet_logging(settings)

    async def work() -> list[str]:
        from models import migrate
        from server.database import reached

        async with reached(settings) as place:
            return await migrate.migrate(place.owner_url)

    applied = run(work())
    for name in applied:
        say(f"applied {name}")
    if not applied:
        say("nothing to apply: the database is up to date")
