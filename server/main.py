"""Run the server: start its resources in order, serve until stopped, and release them in reverse order.

    secret → database (embedded: started and migrated) → pools → credentials → application → sockets → ready
    SIGTERM: not ready → VITRINE_DRAIN_TIME → no new connections → current requests finish → pools → embedded PostgreSQL

One process does all of it (`server/process.py`), or several share the sockets (`server/processes.py`).
"""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from urllib.parse import urlsplit

import uvloop

from kernel import logging, metrics
from kernel.garbage_collection import collect_rarely
from kernel.settings import Settings
from models import migrate
from server import address_file, process
from server.database import DatabaseLocation, database_location, divide_pool, warn_of_pending_migrations
from server.metrics import metrics_server, own_values
from server.process_metrics import ProcessMetrics
from server.processes import ProcessPool
from server.secret_key import with_secret_key
from server.sockets import addresses_of, open_sockets
from server.start_checks import check_secret_key, check_start
from server.tracing import tracing_to_collector

# Pool size of a parent process that only runs background work.
_PARENT_POOL = 4


async def serve(
    settings: Settings,
    *,
    stop: process.Stop | None = None,
    on_ready: process.OnReady | None = None,
    background: process.Background = process.no_background,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`; `on_ready` receives the addresses.

    Raises SettingError, EmbeddedPostgresError, UnsafeRole, MigrationError, Unavailable or StartupError when it can't start.
    """
    stop = stop or process.Stop()
    sockets = open_sockets(settings)
    run_server = _run_in_process if settings.processes == 1 else _run_child_processes
    try:
        with process.stop_on_signals(stop):
            settings = with_secret_key(settings)
            async with database_location(settings) as location:
                if location.is_embedded:
                    await migrate.migrate(location.owner_url)
                await check_start(settings, location)
                await warn_of_pending_migrations(location)
                await check_secret_key(settings, location)
                await run_server(settings, location, sockets, stop, on_ready, background)
    finally:
        for listener in sockets:
            listener.close()


def run(
    settings: Settings,
    *,
    on_ready: process.OnReady | None = None,
    background: process.Background = process.no_background,
) -> None:
    """Serve on a new uvloop event loop."""
    uvloop.run(serve(settings, on_ready=on_ready, background=background))


async def _run_in_process(
    settings: Settings,
    location: DatabaseLocation,
    sockets: list[socket.socket],
    stop: process.Stop,
    on_ready: process.OnReady | None,
    background: process.Background,
) -> None:
    settings = await divide_pool(settings, location, 1)

    @asynccontextmanager
    async def ready() -> AsyncIterator[None]:
        with _published(settings, sockets, on_ready):
            yield
        logging.event("stopping")

    async with (
        tracing_to_collector(settings, "web"),
        process.process_resources(settings, location),
        background(settings, location),
        metrics_server(settings, _values_of(location)),
    ):
        await process.serve_application(await process.build_application(settings, location), sockets, stop, ready)


def _values_of(location: DatabaseLocation) -> Callable[[], Awaitable[metrics.Snapshot]]:
    """Return what reads the values of a process that serves, and works where the database is embedded."""
    if not location.is_embedded:
        return own_values
    from server.workers.backlog_metrics import worker_values  # with all jobs: a twentieth of a start

    return worker_values


async def _run_child_processes(
    settings: Settings,
    location: DatabaseLocation,
    sockets: list[socket.socket],
    stop: process.Stop,
    on_ready: process.OnReady | None,
    background: process.Background,
) -> None:
    # With the embedded database the background work runs here and needs connections too.
    settings = await divide_pool(settings, location, settings.processes + location.is_embedded)
    processes = ProcessPool(settings, location, sockets)
    ProcessMetrics.number = "parent"

    async def collect() -> metrics.Snapshot:
        return await processes.values(await _values_of(location)())

    with ExitStack() as published:

        def ready() -> None:
            published.enter_context(_published(settings, sockets, on_ready))

        if not location.is_embedded:
            async with metrics_server(settings, collect):
                await processes.run(stop, ready)
            return
        parent_settings = dataclasses.replace(settings, pool_size=min(settings.pool_size, _PARENT_POOL))
        async with (
            tracing_to_collector(settings, "worker"),
            process.process_resources(parent_settings, location),
            background(parent_settings, location),
            metrics_server(settings, collect),
        ):
            collect_rarely()
            await processes.run(stop, ready)


@contextmanager
def _published(settings: Settings, sockets: list[socket.socket], on_ready: process.OnReady | None) -> Iterator[None]:
    """Log and publish the addresses while the server runs."""
    addresses = addresses_of(sockets)
    process.log_startup(settings, addresses)
    with address_file.published_address(settings, f"http://localhost:{urlsplit(addresses[0]).port}"):
        if on_ready is not None:
            on_ready(addresses)
        yield
