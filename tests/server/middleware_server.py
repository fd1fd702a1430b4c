"""Serve an application on a real socket with in-memory stores and credentials: the middleware needs no database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import aiohttp
import orjson
from aiohttp import web

from kernel import logging
from kernel.errors import (
    Forbidden,
    TenantClosed,
    TenantMismatch,
    TenantNotFound,
    Unauthenticated,
)
from kernel.scope import Actor, ActorKind, Store
from kernel.settings import Settings
from rest_facade.routing import Credential, Route
from server.app import create_app
from server.http.connections import Runner

DEMO = Store(id=1, public_id=UUID("01900000-0000-7000-8000-000000000001"), name="Demo")
OTHER = Store(id=2, public_id=UUID("01900000-0000-7000-8000-000000000002"), name="Other")
SUSPENDED = Store(id=3, public_id=UUID("01900000-0000-7000-8000-000000000003"), name="Suspended", status="S")
MAINTENANCE = Store(id=4, public_id=UUID("01900000-0000-7000-8000-000000000004"), name="Maintained", status="M")
STORES = {str(store.public_id): store for store in (DEMO, OTHER, SUSPENDED, MAINTENANCE)}
IN_MAINTENANCE = "Loja em manutenção."

CALLERS = {
    "Bearer admin": Actor(ActorKind.ADMIN, user_id=1, credential="user:1"),
    "Bearer customer": Actor(ActorKind.CUSTOMER, user_id=2, credential="user:2"),
    "Bearer vat_live_app": Actor(ActorKind.APP, app_id=3, credential="app:3"),
    "Bearer vat_live_other": Actor(ActorKind.APP, app_id=4, credential="app:4"),
    "Basic admin": Actor(ActorKind.ADMIN, user_id=1, credential="user:1"),
}
KEYS = {"sfk_shop": Actor(ActorKind.STOREFRONT, storefront_key_id=7, credential="key:7")}


@dataclass
class FakeStoreResolver:
    """Resolve the stores above by id, and the demo store by its host."""

    hosts: list[str] = field(default_factory=list)
    generation: int = 0

    def is_shared(self, host: str) -> bool:
        return False

    async def resolve(
        self, host: str, tenant_header: str | None, *, public: bool, allow_maintenance: bool = False
    ) -> Store:
        self.hosts.append(host)
        store = STORES.get(tenant_header or str(DEMO.public_id))
        if store is None:
            raise TenantNotFound
        if host.startswith("demo.") and store is not DEMO:
            raise TenantNotFound if public else TenantMismatch
        if store.status == "S":
            raise TenantClosed("tenant_suspended", "Esta loja está suspensa.")
        if store.status == "M" and not allow_maintenance:
            raise TenantClosed("tenant_maintenance", IN_MAINTENANCE)
        return store


@dataclass
class FakeAuthenticator:
    """Authenticate the callers above by their header."""

    calls: list[dict[str, Any]] = field(default_factory=list)

    async def __call__(self, store: Store, needs: str, headers: Mapping[str, str], /, **context: Any) -> Actor:
        self.calls.append({"store": store, "needs": needs, **context})
        key, header = headers.get("X-API-Key"), headers.get("Authorization")
        if key is not None:
            if key not in KEYS:
                raise Unauthenticated("invalid_api_key")
            return KEYS[key]
        if header is None:
            raise Unauthenticated("missing authorization header")
        header.encode()  # as the real one does, to hash it
        actor = CALLERS.get(header)
        if actor is None:
            raise Unauthenticated("invalid or expired token")
        if needs == Credential.ADMIN and actor.kind is ActorKind.CUSTOMER:
            raise Forbidden("insufficient permissions")
        return actor


class LogLines:
    """The logged lines."""

    def __init__(self) -> None:
        self.raw: list[bytes] = []

    def all(self, event: str | None = None) -> list[dict[str, Any]]:
        lines = [orjson.loads(line) for line in self.raw]
        return [line for line in lines if event is None or line["event"] == event]

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self.all("request")


@dataclass
class Server:
    """A running server with a client and its fakes."""

    app: web.Application
    client: aiohttp.ClientSession
    port: int
    store_resolver: FakeStoreResolver
    credentials: FakeAuthenticator
    lines: LogLines
    runner: Runner

    def transports(self) -> list[asyncio.Transport]:
        """Return the server's ends of the open connections."""
        assert self.runner.server is not None
        return [each.transport for each in self.runner.server.connections if each.transport is not None]

    def new_client(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(f"http://127.0.0.1:{self.port}")

    async def call(self, method: str, path: str, **kwargs: Any) -> Response:
        headers = {str(name): value for name, value in (kwargs.pop("headers", None) or {}).items()}
        async with self.client.request(method, path, headers=headers, allow_redirects=False, **kwargs) as raw_response:
            return Response(raw_response.status, raw_response.headers, await raw_response.read())

    async def get(self, path: str, caller: str | None = None, **headers: str) -> Response:
        named_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if caller is not None:
            named_headers["Authorization"] = caller
        return await self.call("GET", path, headers=named_headers)

    async def send_raw(self, raw: bytes, *, close: bool = False) -> bytes:
        """Send raw bytes on a new connection and return everything received."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(raw)
            await writer.drain()
            if close and writer.can_write_eof():
                writer.write_eof()
            async with asyncio.timeout(10):
                return await reader.read()
        finally:
            writer.close()


@dataclass
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def status_and_json(self) -> tuple[int, Any]:
        return self.status, self.json


@asynccontextmanager
async def run_server(*routes: Route, settings: Settings | None = None, **parts: Any) -> AsyncIterator[Server]:
    """Serve the routes; keyword arguments go to `create_app`."""
    lines, store_resolver, credentials = LogLines(), FakeStoreResolver(), FakeAuthenticator()
    before = logging.set_sink(lines.raw.append)
    app = create_app(
        settings or Settings(),
        store_resolver=parts.pop("store_resolver", store_resolver),
        authenticate=parts.pop("authenticate", credentials),
        routes=routes,
        **parts,
    )
    runner = Runner(app, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
            yield Server(app, client, port, store_resolver, credentials, lines, runner)
    finally:
        await runner.cleanup()
        logging.set_sink(before)
