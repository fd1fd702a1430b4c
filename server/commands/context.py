"""Provide the context of a command: settings, secret and database, alongside a running server or without one."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kernel.event_loop import lost_terminal
from kernel.garbage_collection import collect_rarely
from kernel.settings import Settings

if TYPE_CHECKING:
    from server.database import DatabaseLocation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The settings, including the secret, and the database URLs."""

    settings: Settings
    location: DatabaseLocation


def read_settings() -> Settings:
    """Read the settings from the environment; raises SettingError."""
    return Settings.from_environment(os.environ)


def quiet_logging(settings: Settings) -> None:
    """Log only warnings, since the command prints its own output."""
    import logging

    from kernel import logging as kernel_logging

    kernel_logging.configure(development=not settings.is_production, level=logging.WARNING)


def run_command(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine; SIGTERM, and SIGHUP of a lost terminal, cancel it like Ctrl-C, so that its resources are released."""

    async def guarded() -> T:
        task = asyncio.current_task()
        assert task is not None
        for number in (signal.SIGTERM, *lost_terminal()):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        return await work

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error


@asynccontextmanager
async def open_context(settings: Settings, *, quiet: bool = True) -> AsyncIterator[CommandContext]:
    """Connect to the database and configure credentials; an embedded database is started or joined, and migrated.

    `quiet` logs warnings only. Raises CommandError when migrations are pending in an external database.
    """
    import auth
    from auth import hash_keys
    from domain import hosts
    from models import migrate
    from server.database import connection_pools, database_location
    from server.secret_key import with_secret_key
    from server.start_checks import check_start

    settings = with_secret_key(settings)
    if quiet:
        quiet_logging(settings)
    async with database_location(settings) as location:
        if location.is_embedded:
            await migrate.migrate(location.owner_url)
        await check_start(settings, location)
        await _reject_pending_migrations(location)
        async with connection_pools(settings, location):
            auth.configure(*settings.secret_keys, access_lifetime=settings.access_lifetime)
            hosts.configure(settings.shared_hosts)
            await hash_keys.load()
            collect_rarely()
            yield CommandContext(settings, location)


async def _reject_pending_migrations(location: DatabaseLocation) -> None:
    from models import migrate
    from server.commands.errors import CommandError

    pending = await migrate.pending_migrations(location.serving_url)
    if pending:
        raise CommandError(f"{len(pending)} migration(s) are pending, the first is {pending[0]}: run vitrine migrate")
