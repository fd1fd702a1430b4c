"""Run the server: start what it rests on in order, serve until told to stop, and stop it all in the reverse order.

    secret → database (embedded: started and migrated) → pools → credentials → application → sockets → ready
    SIGTERM: not ready → no new connections → requests under way finish → pools → embedded PostgreSQL

One process does all of it (`server/process.py`), or several share the sockets (`server/processes.py`).
"""

from __future__ import annotations

import asyncio
import dataclasses
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from urllib.parse import urlsplit

import uvloop

from kernel import logging
from kernel.settings import Settings
from models import migrate
from server import running
from server.database import DatabaseLocation, reached, shared_out, warn_of_pending
from server.process import Beside, OnReady, announce, application, joined, nothing_beside, serve_on, signals
from server.processes import Processes
from server.secret_key import with_secret_key
from server.sockets import addresses_of, open_sockets

# The pool of a process that only does what is done once beside several that serve.
_BESIDE_POOL = 4


async def serve(
    settings: Settings,
    *,
    stop: asyncio.Event | None = None,
    on_ready: OnReady | None = None,
    beside: Beside = nothing_beside,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`; `on_ready` is told the addresses.

    Raises SettingError, EmbeddedPostgresError, UnsafeRole, CannotMigrate, Unavailable or NotStarted, one clear line each, when it can't
    begin.
    """
    stop = stop or asyncio.Event()
    sockets = open_sockets(settings)
    run_all = _in_one if settings.processes == 1 else _in_several
    try:
        with signals(stop):
            settings = with_secret_key(settings)
            async with reached(settings) as place:
                if place.is_embedded:
                    await migrate.migrate(place.owner_url)
                else:
                    await warn_of_pending(place)
                await run_all(settings, place, sockets, stop, on_ready, beside)
    finally:
        for each in sockets:
            each.close()


def run(settings: Settings, *, on_ready: OnReady | None = None, beside: Beside = nothing_beside) -> None:
    """Serve on a new event loop, uvloop's."""
    uvloop.run(serve(settings, on_ready=on_ready, beside=beside))


async def _in_one(
    settings: Settings,
    place: DatabaseLocation,
    sockets: list[socket.socket],
    stop: asyncio.Event,
    on_ready: OnReady | None,
    beside: Beside,
) -> None:
    settings = await shared_out(settings, place, 1)

    @asynccontextmanager
    async def ready() -> AsyncIterator[None]:
        with _announced(settings, sockets, on_ready):
            yield
        logging.event("stopping")

    async with joined(settings, place), beside(settings, place):
        await serve_on(await application(settings, place), sockets, stop, ready)


async def _in_several(
    settings: Settings,
    place: DatabaseLocation,
    sockets: list[socket.socket],
    stop: asyncio.Event,
    on_ready: OnReady | None,
    beside: Beside,
) -> None:
    # What runs once beside them needs connections of its own, where it runs here: with the embedded database.
    settings = await shared_out(settings, place, settings.processes + place.is_embedded)
    processes = Processes(settings, place, sockets)
    with ExitStack() as announced:

        def ready() -> None:
            announced.enter_context(_announced(settings, sockets, on_ready))

        if not place.is_embedded:
            await processes.run(stop, ready)
            return
        own = dataclasses.replace(settings, pool_size=min(settings.pool_size, _BESIDE_POOL))
        async with joined(own, place), beside(own, place):
            await processes.run(stop, ready)


@contextmanager
def _announced(settings: Settings, sockets: list[socket.socket], on_ready: OnReady | None) -> Iterator[None]:
    """Say that it is served, for as long as it is."""
    addresses = addresses_of(sockets)
    announce(settings, addresses)
    with running.announced(settings, f"http://localhost:{urlsplit(addresses[0]).port}"):
        if on_ready is not None:
            on_ready(addresses)
        yield
