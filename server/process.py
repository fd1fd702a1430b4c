"""Serve in one process: the application with its resources, on sockets opened by the caller."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from aiohttp import web

import auth
from auth import credential_cache, hash_keys
from auth.schemes import authenticate
from auth.store_resolution import CachedStoreResolver
from domain.b2b import bureau
from kernel import garbage_collection, logging
from kernel.event_loop import lost_terminal, measured_pauses
from kernel.large_allocations import return_large_allocations
from kernel.settings import Settings
from models.connection import catalog_versions
from models.connection.database import use_replicas
from server import mail_page
from server.app import create_app
from server.database import DatabaseLocation, connection_pools, readiness_checks
from server.domain_settings import configure_domain
from server.http.catalog_cache import CATALOGUE_CACHE
from server.http.connections import SETTINGS, Runner
from server.http.graphql_view import USAGE
from server.http.health import HEALTH
from server.media.child_pool import image_renderer
from server.outgoing import outgoing_client
from server.process_metrics import ProcessMetrics
from server.sockets import addresses_of, listen
from server.usage import storing, storing_usage

if TYPE_CHECKING:
    from server.http.shared_limits import SharedCounters

# Platforms kill after 30 s, the drain time included; requests still running then are aborted.
FINISH_SECONDS = 20.0

# For how long a thread that reads a document or introspects keeps the event loop waiting each time: Python's 5 ms make each of the steps
# of other requests wait for that long.
SWITCH_SECONDS = 0.0005

OnReady = Callable[[list[str]], None]
# Background work of exactly one process, started before the first request.
Background = Callable[[Settings, DatabaseLocation], AbstractAsyncContextManager[object]]


def no_background(settings: Settings, location: DatabaseLocation) -> AbstractAsyncContextManager[object]:
    """Run no background work."""
    return nullcontext()


class Stop(asyncio.Event):
    """Set when the server should stop. `drains`: a proxy in front must notice it first (VITRINE_DRAIN_TIME)."""

    drains = False

    def request(self, *, drains: bool) -> None:
        """Stop; a later request changes nothing."""
        if not self.is_set():
            self.drains = drains
            self.set()


@asynccontextmanager
async def process_resources(settings: Settings, location: DatabaseLocation) -> AsyncIterator[None]:
    """Open the resources of any process that works on stores: pools, credential key, outgoing HTTP, renderer of images."""
    async with (
        connection_pools(settings, location),
        outgoing_client(allows_private=settings.allows_private_endpoints),
        image_renderer() as ProcessMetrics.renderer,
    ):
        auth.configure(*settings.secret_keys, access_lifetime=settings.access_lifetime)
        configure_domain(settings)
        await hash_keys.load()
        async with storing_usage():
            yield


async def build_application(settings: Settings, location: DatabaseLocation) -> web.Application:
    """Create the application of a process with open resources."""
    store_resolver = CachedStoreResolver(settings.shared_hosts, settings.default_store)
    await store_resolver.listen()
    await credential_cache.listen()
    await catalog_versions.listen()
    if settings.replica_urls:
        await use_replicas(settings.replica_urls)
    counters = ProcessMetrics.counters = _shared_counters(settings)
    app = create_app(
        settings,
        store_resolver=store_resolver,
        authenticate=authenticate,
        anonymous_introspection=settings.is_private_development,
        counters=counters,
        checks=readiness_checks(location),
    )
    app.cleanup_ctx.append(_storing_schema_usage)
    if counters is not None:
        await counters.open()
        app.on_cleanup.append(lambda _: counters.close())
    return app


async def _storing_schema_usage(app: web.Application) -> AsyncIterator[None]:
    """Store the uses of the schema that the application counts while it serves."""
    async with storing(app[USAGE].flush):
        yield


def _shared_counters(settings: Settings) -> SharedCounters | None:
    """Return counters in the configured Redis; None when each process counts alone, without the 7 MB of its client."""
    if settings.redis_url is None:
        return None
    from server.http.shared_limits import SharedCounters

    return SharedCounters(settings.redis_url)


async def serve_application(
    app: web.Application,
    sockets: list[socket.socket],
    stop: Stop,
    ready: Callable[[], AbstractAsyncContextManager[object]],
) -> None:
    """Serve requests until `stop`, drain, then let current ones finish; `ready` is entered once the sockets are open."""
    ProcessMetrics.catalogue = app[CATALOGUE_CACHE]
    runner = Runner(app, handle_signals=False, shutdown_timeout=FINISH_SECONDS)
    await runner.setup()
    garbage_collection.exclude_permanent_objects()
    garbage_collection.collect_rarely()
    sys.setswitchinterval(SWITCH_SECONDS)
    return_large_allocations()
    try:
        for listener in sockets:
            listen(listener)
            await web.SockSite(runner, listener).start()
        if app[SETTINGS].is_private_development:
            bureau.set_own_address(addresses_of(sockets)[0])
        async with ready():
            with measured_pauses():
                await stop.wait()
        app[HEALTH].stopping = True
        if stop.drains:
            await asyncio.sleep(app[SETTINGS].drain_time)
    finally:
        bureau.set_own_address(None)
        await runner.cleanup()


class stop_on_signals:  # noqa: N801  # used like a function
    """Stop on SIGTERM, which drains, and on SIGINT (Ctrl-C) and SIGHUP, which don't; a second signal has its default effect.

    In a child process a second SIGTERM has none: systemd and the parent send one each. Nor has a second SIGHUP in any: the kernel and the
    shell send one each.
    """

    def __init__(self, stop: Stop, *, is_child: bool = False) -> None:
        self._stop = stop
        self._without_effect = (*lost_terminal(), *([signal.SIGTERM] if is_child else []))

    def __enter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, *lost_terminal()):
            self._loop.add_signal_handler(number, self._on_signal, number)

    def __exit__(self, *_: object) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self._loop.remove_signal_handler(number)

    def _on_signal(self, number: signal.Signals) -> None:
        self.__exit__()
        for again in self._without_effect:
            self._loop.add_signal_handler(again, lambda: None)
        self._stop.request(drains=number is signal.SIGTERM)


def log_startup(settings: Settings, addresses: list[str]) -> None:
    """Log the addresses and what the settings disable (docs/reference/shared.md#configuration)."""
    logging.event("serving", env=settings.env, addresses=addresses, processes=settings.processes)
    if settings.is_private_development:
        logging.event("development: reachable from this machine only; set VITRINE_BIND to change that")
    elif not settings.is_production:
        logging.event(
            "development, reachable from other machines: private webhook addresses, open introspection and the mail page are off",
            level="warning",
        )
    counted = "counted per process" if settings.redis_url is None else "shared through Redis"
    logging.event(f"rate limits are {counted}")
    if settings.smtp_url is None and settings.is_private_development:
        logging.event(f"SMTP_URL is not set: emails are not sent but shown at {mail_page.PATH}")
    elif settings.smtp_url is None:
        logging.event("SMTP_URL is not set: emails stay queued", level="warning")
