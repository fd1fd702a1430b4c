"""Open what a command works with: settings, secret and database, beside a running server or without one."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kernel.settings import Settings

if TYPE_CHECKING:
    from server.database import DatabaseLocation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Opened:
    """Hold the settings, secret included, and where the database is."""

    settings: Settings
    place: DatabaseLocation


def read_settings() -> Settings:
    """Read the settings from the environment; SettingError for a wrong one."""
    return Settings.from_environment(os.environ)


def quiet_logging(settings: Settings) -> None:
    """Let a command speak for itself: only warnings are logged besides."""
    import logging

    from kernel import logging as lines

    lines.configure(development=not settings.is_production, level=logging.WARNING)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's work; SIGTERM ends it as Ctrl-C does, so that what it started is stopped."""

    async def guarded() -> T:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error


@asynccontextmanager
async def opened(settings: Settings, *, quiet: bool = True) -> AsyncIterator[Opened]:
    """Connect to the database and set up credentials; the embedded database is joined or started, and brought up to date.

    `quiet` logs warnings only. Raises CommandRefused when migrations are pending in a database of the operator's own.
    """
    import auth
    from models import migrate
    from server.database import connected, reached
    from server.secret_key import with_secret_key

    settings = with_secret_key(settings)
    assert settings.secret_key is not None
    if quiet:
        quiet_logging(settings)
    async with reached(settings) as place:
        if place.is_embedded:
            await migrate.migrate(place.owner_url)
        else:
            await _refuse_pending(place)
        async with connected(settings, place):
            auth.configure(settings.secret_key.encode())
            yield Opened(settings, place)


async def _refuse_pending(place: DatabaseLocation) -> None:
    from models import migrate
    from server.commands.refusals import CommandRefused

    pending = await migrate.pending(place.serving_url)
    if pending:
        raise CommandRefused(
            f"{len(pending)} migration(s) are pending, the first is {pending[0]}: run vitrine migrate"
        )
