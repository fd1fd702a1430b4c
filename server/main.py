"""Run the server: start what it rests on in order, serve until told to stop, and stop it all in the reverse order.

    secret → database (embedded: started and migrated) → pools → credentials → application → sockets → ready
    SIGTERM: not ready → no new connections → requests under way finish → pools → embedded PostgreSQL

`prepared` is all but the sockets: `serve` runs it once for one process, and each of several will run its own.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from urllib.parse import urlsplit

import uvloop
from aiohttp import web

import auth
from auth import memory
from auth.schemes import authenticate
from auth.tenancy import StoreDirectory
from kernel import logging
from kernel.settings import Settings
from models import migrate
from resolvers import compiled
from server import mail_page, running
from server.app import HEALTH, create_app
from server.connections import Runner
from server.database import Place, connected, reached, readiness, warn_of_pending
from server.graphql_view import open_introspection
from server.secret_key import with_secret_key
from server.sockets import addresses_of, open_sockets

# Platforms kill after 30 s; what is still under way then has had its chance.
FINISH_SECONDS = 20.0

OnReady = Callable[[list[str]], None]
# What runs in the same process for as long as it serves, begun before the first request is taken.
Beside = Callable[[Settings, Place], AbstractAsyncContextManager[object]]


def nothing_beside(settings: Settings, place: Place) -> AbstractAsyncContextManager[object]:
    """Run nothing beside the server."""
    return nullcontext()


@asynccontextmanager
async def prepared(settings: Settings, beside: Beside = nothing_beside) -> AsyncIterator[web.Application]:
    """Give the application with all it rests on started, and stop that afterwards."""
    settings = with_secret_key(settings)
    assert settings.secret_key is not None
    async with reached(settings) as place:
        if place.is_embedded:
            await migrate.migrate(place.owner_url)
        else:
            await warn_of_pending(place)
        async with connected(settings, place):
            auth.configure(settings.secret_key.encode())
            compiled.switch(settings.compiled_reads)
            directory = StoreDirectory(settings.shared_hosts, settings.default_store)
            await directory.listen()
            await memory.listen()
            async with beside(settings, place):
                yield create_app(
                    settings,
                    directory=directory,
                    authenticate=open_introspection(authenticate)
                    if settings.is_private_development
                    else authenticate,
                    checks=readiness(place),
                )


async def serve(
    settings: Settings,
    *,
    stop: asyncio.Event | None = None,
    on_ready: OnReady | None = None,
    beside: Beside = nothing_beside,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`; `on_ready` is told the addresses.

    Raises SettingError, EmbeddedPostgresError, UnsafeRole, CannotMigrate or Unavailable, one clear line each, when it can't begin.
    """
    stop = stop or asyncio.Event()
    sockets = open_sockets(settings)
    try:
        with _signals(stop):
            async with prepared(settings, beside) as app:
                await _serve_on(app, sockets, settings, stop, on_ready)
    finally:
        for each in sockets:
            each.close()


def run(settings: Settings, *, on_ready: OnReady | None = None, beside: Beside = nothing_beside) -> None:
    """Serve on a new event loop, uvloop's."""
    uvloop.run(serve(settings, on_ready=on_ready, beside=beside))


async def _serve_on(
    app: web.Application,
    sockets: list[socket.socket],
    settings: Settings,
    stop: asyncio.Event,
    on_ready: OnReady | None,
) -> None:
    runner = Runner(app, handle_signals=False, shutdown_timeout=FINISH_SECONDS)
    await runner.setup()
    try:
        for each in sockets:
            await web.SockSite(runner, each).start()
        addresses = addresses_of(sockets)
        _announce(settings, addresses)
        with running.announced(settings, f"http://localhost:{urlsplit(addresses[0]).port}"):
            if on_ready is not None:
                on_ready(addresses)
            await stop.wait()
        app[HEALTH].stopping = True
        logging.event("stopping")
    finally:
        await runner.cleanup()


def _announce(settings: Settings, addresses: list[str]) -> None:
    """Say what is served where, and what a default leaves out (decisions sections 2, 9 and 10)."""
    logging.event("serving", env=settings.env, addresses=addresses)
    if settings.is_private_development:
        logging.event("development: only this machine can call; set VITRINE_BIND to be reached from others")
    elif not settings.is_production:
        logging.event(
            "development, reachable by others: private event targets, open introspection and the mail page are off",
            level="warning",
        )
    # Until the Redis implementation of `server.limits.Counters` is there, each process counts whatever REDIS_URL says.
    logging.event("request limits are counted per process")
    if settings.smtp_url is None and settings.is_private_development:
        logging.event(f"SMTP_URL is not set: mails are not sent but shown at {mail_page.PATH}")
    elif settings.smtp_url is None:
        logging.event("SMTP_URL is not set: mails stay queued", level="warning")


class _signals:  # noqa: N801  # it reads as the function it is used as
    """Set the event on SIGTERM and SIGINT; a second signal ends the program as it would without us."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop

    def __enter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._on_signal)

    def __exit__(self, *_: object) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.remove_signal_handler(number)

    def _on_signal(self) -> None:
        self.__exit__()
        self._stop.set()
