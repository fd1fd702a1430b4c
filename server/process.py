"""Serve in one process: the application with the pools it rests on, on sockets that somebody opened."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from aiohttp import web

import auth
from auth import credential_cache
from auth.schemes import authenticate
from auth.tenancy import StoreDirectory
from domain.b2b import bureau
from kernel import logging
from kernel.settings import Settings
from server import mail_page, shared_limits
from server.app import HEALTH, SETTINGS, create_app
from server.connections import Runner
from server.database import DatabaseLocation, connected, readiness
from server.graphql_view import open_introspection
from server.outgoing import calling
from server.shared_limits import counters_for
from server.sockets import addresses_of

# New objects less ended ones until the collector looks at the young, and how often it does until it looks at the old.
_COLLECTED_AFTER = (10_000, 20, 50)
# Platforms kill after 30 s; what is still under way then has had its chance.
FINISH_SECONDS = 20.0

OnReady = Callable[[list[str]], None]
# What runs for as long as it is served, in one process only, begun before the first request is taken.
Beside = Callable[[Settings, DatabaseLocation], AbstractAsyncContextManager[object]]


def nothing_beside(settings: Settings, place: DatabaseLocation) -> AbstractAsyncContextManager[object]:
    """Run nothing beside the server."""
    return nullcontext()


@asynccontextmanager
async def joined(settings: Settings, place: DatabaseLocation) -> AsyncIterator[None]:
    """Open what any process needs that works on stores: pools, the key of credentials, the way out."""
    assert settings.secret_key is not None
    async with (
        connected(settings, place),
        calling(allows_private=settings.allows_private_endpoints),
    ):
        auth.configure(settings.secret_key.encode())
        yield


async def application(settings: Settings, place: DatabaseLocation) -> web.Application:
    """Make the application of a process that is joined to the database."""
    directory = StoreDirectory(settings.shared_hosts, settings.default_store)
    await directory.listen()
    await credential_cache.listen()
    counters = counters_for(settings)
    app = create_app(
        settings,
        directory=directory,
        authenticate=open_introspection(authenticate) if settings.is_private_development else authenticate,
        counters=counters,
        checks=readiness(place),
    )
    if counters is not None:
        await counters.open()
        app.on_cleanup.append(lambda _: counters.close())
    return app


def _settle_memory() -> None:
    """Spare the garbage collector what will stay: schema, routes and operations are most of the memory, and hold no garbage.

    A request makes more objects than the collector's first threshold waits for, and nearly all of them end with it by themselves.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)


async def serve_on(
    app: web.Application,
    sockets: list[socket.socket],
    stop: asyncio.Event,
    ready: Callable[[], AbstractAsyncContextManager[object]],
) -> None:
    """Take requests until told to stop, and finish those under way; `ready` is entered once they are taken."""
    runner = Runner(app, handle_signals=False, shutdown_timeout=FINISH_SECONDS)
    await runner.setup()
    _settle_memory()
    try:
        for each in sockets:
            await web.SockSite(runner, each).start()
        if app[SETTINGS].is_private_development:
            bureau.serve_at(addresses_of(sockets)[0])
        async with ready():
            await stop.wait()
        app[HEALTH].stopping = True
    finally:
        bureau.serve_at(None)
        await runner.cleanup()


class signals:  # noqa: N801  # it reads as the function it is used as
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


def announce(settings: Settings, addresses: list[str]) -> None:
    """Say what is served where, and what a default leaves out (decisions sections 2, 9 and 10)."""
    logging.event("serving", env=settings.env, addresses=addresses, processes=settings.processes)
    if settings.is_private_development:
        logging.event("development: only this machine can call; set VITRINE_BIND to be reached from others")
    elif not settings.is_production:
        logging.event(
            "development, reachable by others: private event targets, open introspection and the mail page are off",
            level="warning",
        )
    logging.event(shared_limits.described(settings))
    if settings.smtp_url is None and settings.is_private_development:
        logging.event(f"SMTP_URL is not set: mails are not sent but shown at {mail_page.PATH}")
    elif settings.smtp_url is None:
        logging.event("SMTP_URL is not set: mails stay queued", level="warning")
