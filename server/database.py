"""Join the database the settings name, or the embedded one, to the models.

async with reached(settings) as place:         DATABASE_URL, or a PostgreSQL started here and stopped at the end
    async with connected(settings, place):     the pools of this process, acting as a role that row-level security binds
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from kernel import logging
from kernel.errors import DomainError
from kernel.settings import SettingError, Settings
from models import database, migrate
from models.capacity import connections_allowed
from server.embedded_postgres import EmbeddedPostgres, EmbeddedServer
from server.health import Checks

FOLDER = "postgres"
_LOCK_SECONDS = 10.0
# A process has at most so many connections beside its pool: the second ones of transactions, the work across stores, the listener.
_BESIDE_POOL = 5
_LEAST_POOL = 2
_ACQUIRE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class DatabaseLocation:
    """Say where the database is: for its owner, who migrates, and for the log-in that serves."""

    owner_url: str
    serving_url: str
    is_embedded: bool


@asynccontextmanager
async def reached(settings: Settings) -> AsyncIterator[DatabaseLocation]:
    """Give the place of the database, starting the embedded one when no other is named; raises EmbeddedPostgresError."""
    if settings.database_url is not None:
        serving = settings.app_database_url or settings.database_url
        yield DatabaseLocation(settings.database_url, serving, is_embedded=False)
        return
    embedded = EmbeddedPostgres(settings.data_dir / FOLDER)
    starting = asyncio.ensure_future(asyncio.to_thread(embedded.start))
    try:
        server = await asyncio.shield(starting)
        yield DatabaseLocation(server.url(), server.url(), is_embedded=True)
    finally:
        # Shielded, here and above: a signal, early or twice, must not leave a server behind that nobody stops.
        await asyncio.shield(_stop(embedded, starting))


async def _stop(embedded: EmbeddedPostgres, starting: asyncio.Future[EmbeddedServer]) -> None:
    """Stop the server once it is known whether it started: its thread can't be interrupted."""
    await asyncio.wait([starting])
    await asyncio.to_thread(embedded.stop)


@asynccontextmanager
async def connected(settings: Settings, place: DatabaseLocation) -> AsyncIterator[None]:
    """Open this process's pools; raises Unavailable when the database can't be reached, UnsafeRole for a role that sees all."""
    await database.connect(database_settings(settings, place.serving_url))
    try:
        await database.check_role()
        yield
    finally:
        await database.close()


def database_settings(settings: Settings, url: str) -> database.DatabaseSettings:
    """Give the pool's settings; every wait is shorter than the request that waits."""
    statement_ms = settings.statement_timeout_ms
    return database.DatabaseSettings(
        url=url,
        min_size=min(2, settings.pool_size),
        max_size=settings.pool_size,
        statement_timeout_ms=statement_ms,
        lock_timeout_ms=min(int(_LOCK_SECONDS * 1_000), statement_ms),
        idle_in_transaction_ms=int(settings.request_timeout * 1_000),
        acquire_seconds=min(_ACQUIRE_SECONDS, settings.request_timeout),
    )


async def shared_out(settings: Settings, place: DatabaseLocation, processes: int) -> Settings:
    """Make the pools of so many processes small enough for all to be served at once, and say so.

    Raises SettingError where not even the smallest pools fit, Unavailable when the database can't be asked.
    """
    allowed = await connections_allowed(place.serving_url)
    size = fitting_pool(settings.pool_size, processes, allowed)
    if size is None:
        most = _left_for_us(allowed) // (_LEAST_POOL + _BESIDE_POOL)
        raise SettingError(
            f"WEB_CONCURRENCY is {settings.processes}; the database allows {allowed} connections,"
            f" which is enough for {most} of {processes} processes"
        )
    if size == settings.pool_size:
        return settings
    logging.event(
        "the pools are smaller than VITRINE_POOL_SIZE: the database allows no more connections",
        level="warning",
        asked=settings.pool_size,
        pool=size,
        processes=processes,
        allowed=allowed,
    )
    return dataclasses.replace(settings, pool_size=size)


def fitting_pool(wanted: int, processes: int, allowed: int) -> int | None:
    """Give the size of pool that each process may have, at most the one wanted; None where none fits."""
    fits = _left_for_us(allowed) // processes - _BESIDE_POOL
    return min(wanted, fits) if fits >= _LEAST_POOL else None


def _left_for_us(allowed: int) -> int:
    """Leave a tenth to others: commands, backups, whoever looks after the database."""
    return allowed - max(3, allowed // 10)


def readiness(place: DatabaseLocation) -> Checks:
    """Make the checks of `/health/ready`: the database answers, and no migration is pending."""
    is_migrated = False

    async def check() -> dict[str, bool]:
        nonlocal is_migrated
        try:
            answers = await database.value("select 1") == 1
            # Once all are applied nothing of this program's can be pending any more.
            is_migrated = is_migrated or (answers and not await migrate.pending(place.serving_url))
        except (DomainError, OSError):
            return {"database": False, "migrations": is_migrated}
        return {"database": answers, "migrations": is_migrated}

    return check


async def warn_of_pending(place: DatabaseLocation) -> None:
    """Say at start that `vitrine migrate` is due; the server runs, and is not ready."""
    pending = await migrate.pending(place.serving_url)
    if pending:
        logging.event("migrations are pending: run vitrine migrate", level="warning", pending=len(pending))
