"""Connect the models to the configured database, or to the embedded one.

async with database_location(settings) as location:    DATABASE_URL, or an embedded PostgreSQL, stopped at the end
    async with connection_pools(settings, location):   this process's pools, with a role bound by row-level security
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import asyncpg

from kernel import logging
from kernel.errors import DomainError
from kernel.outages import Outage
from kernel.settings import SettingError, Settings
from models import migrate
from models.connection import database
from models.connection.database import connections_allowed
from models.connection.roles import APP_ROLE
from server.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError, EmbeddedServer, is_ready
from server.http.health import Checks

FOLDER = "postgres"
_LOCK_SECONDS = 10.0
# Connections of a process besides its pool: nested transactions, work across stores, the listener.
_EXTRA_CONNECTIONS = 5
_MIN_POOL = 2
_ACQUIRE_SECONDS = 10.0
_ROLES_RECHECK_SECONDS = 1.0
_POSTGRES_CHECK_SECONDS = 0.5
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
# A server that ran for this long is started again without a pause.
_STEADY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class DatabaseLocation:
    """The database URLs: for the owner, who migrates, and for the role that serves requests; `folder` is the embedded server's."""

    owner_url: str
    serving_url: str
    is_embedded: bool
    folder: Path | None = None


@asynccontextmanager
async def database_location(settings: Settings) -> AsyncIterator[DatabaseLocation]:
    """Yield the URLs of the database, starting the embedded one when none is configured.

    Raises EmbeddedPostgresError, Unavailable, or UnsafePooler for connection poolers with which rows could be lost or mixed.
    """
    if settings.database_url is not None:
        serving = settings.app_database_url or settings.database_url
        with database.translate_errors():
            if serving != settings.database_url:
                await database.check_pooling(settings.database_url, None)
                await database.check_serving_database(settings.database_url, serving)
            await database.check_pooling(serving, settings.pooler_url)
        yield DatabaseLocation(settings.database_url, serving, is_embedded=False)
        return
    folder = (settings.data_dir / FOLDER).resolve()
    supervisor = _Supervisor(EmbeddedPostgres(folder))
    try:
        server = await supervisor.start()
        supervising = asyncio.create_task(supervisor.run())
        try:
            yield DatabaseLocation(server.url(), server.url(), is_embedded=True, folder=folder)
        finally:
            supervising.cancel()
            await asyncio.wait([supervising])
    finally:
        # Shielded, here and in `start`: an early or repeated signal must not leave an orphaned server behind.
        await asyncio.shield(supervisor.stop())


class _Supervisor:
    """Start the embedded PostgreSQL, and start it again when its postmaster is gone (killed, or out of memory)."""

    def __init__(self, embedded: EmbeddedPostgres) -> None:
        self._embedded = embedded
        self._starting: asyncio.Future[EmbeddedServer] | None = None

    async def start(self) -> EmbeddedServer:
        """Start or join the server; raises EmbeddedPostgresError."""
        self._starting = asyncio.ensure_future(asyncio.to_thread(self._embedded.start))
        return await asyncio.shield(self._starting)

    async def run(self) -> None:
        """Start the server again whenever it is gone, with growing pauses while it doesn't stay."""
        pause, started_at = 0.0, monotonic()
        while True:
            await asyncio.sleep(_POSTGRES_CHECK_SECONDS)
            if self._embedded.is_running():
                continue
            if not self._embedded.has_data():
                logging.event("the data of the embedded PostgreSQL is gone: restart the program", level="error")
                return
            if monotonic() - started_at > _STEADY_SECONDS:
                pause = 0.0
            logging.event("the embedded PostgreSQL is gone and is started again", level="error", pause=pause)
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 2 or _FIRST_PAUSE)
            try:
                await self.start()
            except EmbeddedPostgresError as error:
                logging.event("the embedded PostgreSQL did not start", level="error", reason=str(error))
            else:
                logging.event("the embedded PostgreSQL runs again", level="warning")
            started_at = monotonic()

    async def stop(self) -> None:
        """Stop the server after its start has finished: the start thread can't be interrupted."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
        await asyncio.to_thread(self._embedded.stop)


@asynccontextmanager
async def connection_pools(settings: Settings, location: DatabaseLocation) -> AsyncIterator[None]:
    """Open this process's pools; raises Unavailable, or UnsafeRole for a role that bypasses row-level security or isn't the serving one."""
    await database.connect(database_settings(settings, location.serving_url))
    adopting = asyncio.create_task(_adopt_roles(location))
    try:
        await database.check_role()
        yield
    finally:
        adopting.cancel()
        await asyncio.wait([adopting])
        await database.close()


async def _adopt_roles(location: DatabaseLocation) -> None:
    """Switch to the database roles once the first `vitrine migrate` has created them, without a restart."""
    is_migrated, outage = False, Outage()
    while True:
        try:
            if await database.adopt_roles() or is_migrated:
                return  # a login role that may not create roles serves as itself
            is_migrated = not await migrate.pending_migrations(location.serving_url)
        except (DomainError, OSError, asyncpg.PostgresError, database.WrongStore) as error:
            reason = _reason_to_wait(error)
            if outage.is_due(reason):
                logging.event("waiting for the database roles", level="warning", reason=reason)
        else:
            outage.end()
        if not is_migrated:
            await asyncio.sleep(_ROLES_RECHECK_SECONDS)


def _reason_to_wait(error: Exception) -> str:
    if isinstance(error, database.WrongStore):
        return f"neither {APP_ROLE} nor the table of migrations is granted to the login: {error}"
    if isinstance(error, (DomainError, OSError)):
        return "the database is unavailable"
    return str(error)


def database_settings(settings: Settings, url: str) -> database.DatabaseSettings:
    """Return the pool's settings; every wait is shorter than the request timeout."""
    statement_ms = settings.statement_timeout_ms
    return database.DatabaseSettings(
        url=url,
        min_size=min(2, settings.pool_size),
        max_size=settings.pool_size,
        statement_timeout_ms=statement_ms,
        lock_timeout_ms=min(int(_LOCK_SECONDS * 1_000), statement_ms),
        idle_in_transaction_ms=int(settings.request_timeout * 1_000),
        acquire_seconds=min(_ACQUIRE_SECONDS, settings.request_timeout),
        pipelined_binding=settings.pipelined_binding,
        pooler_url=settings.pooler_url,
    )


async def divide_pool(settings: Settings, location: DatabaseLocation, processes: int) -> Settings:
    """Limit the pool size so that all processes fit into the database's connection limit; log a reduction.

    A pooler has its own limit, and lets connections wait.

    Raises SettingError when not even the smallest pools fit, Unavailable when the database can't be reached.
    """
    if settings.pooler_url is not None:
        return settings
    max_connections = await connections_allowed(location.serving_url)
    size = fit_pool_size(settings.pool_size, processes, max_connections)
    if size is None:
        max_processes = _usable_connections(max_connections) // (_MIN_POOL + _EXTRA_CONNECTIONS)
        raise SettingError(
            f"WEB_CONCURRENCY is {settings.processes}; the database allows {max_connections} connections,"
            f" which is enough for {max_processes} of {processes} processes"
        )
    if size == settings.pool_size:
        return settings
    logging.event(
        "pools are smaller than VITRINE_POOL_SIZE: connection limit of the database",
        level="warning",
        asked=settings.pool_size,
        pool=size,
        processes=processes,
        max_connections=max_connections,
    )
    return dataclasses.replace(settings, pool_size=size)


def fit_pool_size(wanted: int, processes: int, allowed: int) -> int | None:
    """Return the pool size for each process, at most `wanted`; None when none fits."""
    fits = _usable_connections(allowed) // processes - _EXTRA_CONNECTIONS
    return min(wanted, fits) if fits >= _MIN_POOL else None


def _usable_connections(allowed: int) -> int:
    """Reserve a tenth for other clients: commands, backups, administration."""
    return allowed - max(3, allowed // 10)


def readiness_checks(location: DatabaseLocation) -> Checks:
    """Create the checks of `/health/ready`: the database answers, in the serving role, and no migration is pending.

    While the embedded PostgreSQL is started again, its check is `restarting`.
    """
    is_migrated = False

    async def report() -> dict[str, bool | str]:
        nonlocal is_migrated
        try:
            await database.check_role()
            # Once all are applied none can become pending for this version.
            is_migrated = is_migrated or not await migrate.pending_migrations(location.serving_url)
        except (database.UnsafeRole, database.UnsafePooler):
            return {"database": True, "role": False, "migrations": is_migrated}
        except migrate.MigrationError:
            return {"database": True, "role": True, "migrations": False}
        except (DomainError, OSError):
            restarts = location.folder is not None and not is_ready(location.folder)
            return {"database": "restarting" if restarts else False, "migrations": is_migrated}
        return {"database": True, "role": True, "migrations": is_migrated}

    return report


async def warn_of_pending_migrations(location: DatabaseLocation) -> None:
    """Log a warning when migrations are pending; the server runs but is not ready."""
    pending = await migrate.pending_migrations(location.serving_url)
    if pending:
        logging.event("migrations are pending: run vitrine migrate", level="warning", pending=len(pending))
