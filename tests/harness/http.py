"""The HTTP client of all interface tests: its instances differ by the store and the headers of their credentials."""

from __future__ import annotations

import base64
import json as json_module
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from ipaddress import ip_network
from typing import Any, TypeAlias

import pytest
import pytest_asyncio
from aiohttp import DummyCookieJar, web
from aiohttp.test_utils import TestClient, TestServer
from pytest_aiohttp import plugin
from yarl import URL

from auth.schemes import authenticate
from auth.store_resolution import CachedStoreResolver
from kernel.scope import Store
from kernel.settings import Settings
from models.connection import database
from server.app import create_app
from server.http.families import family_of
from tests.harness import openapi_responses
from tests.harness.connections import Connections
from tests.harness.scopes import unused_ip

STATEMENTS = "X-Test-Statements"
# Headers of requests that aiohttp's client sends, or whose responses it decompresses.
_NEEDS_AIOHTTP = frozenset({"accept-encoding", "connection", "expect", "host", "transfer-encoding", "upgrade"})


@cache
def system_trust() -> ssl.SSLContext:
    """Return the certificate authorities of the system for `outgoing_client`; reading them takes 40 ms of CPU."""
    return ssl.create_default_context()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


@dataclass(frozen=True)
class Response:
    """A response, read completely; `body` is its JSON, or None when empty."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json_module.loads(self.raw) if self.raw else None

    @property
    def statements(self) -> int:
        """Return the number of SQL statements that the request executed."""
        return int(self.headers[STATEMENTS])


class Requests:
    """The methods of HTTP by name, for a class with `request`."""

    async def request(self, method: str, path: str | URL, json: Any = None, **options: Any) -> Response:
        raise NotImplementedError

    async def get(self, path: str | URL, **options: Any) -> Response:
        return await self.request("GET", path, **options)

    async def post(self, path: str | URL, json: Any = None, **options: Any) -> Response:
        return await self.request("POST", path, json, **options)

    async def put(self, path: str | URL, json: Any = None, **options: Any) -> Response:
        return await self.request("PUT", path, json, **options)

    async def patch(self, path: str | URL, json: Any = None, **options: Any) -> Response:
        return await self.request("PATCH", path, json, **options)

    async def delete(self, path: str | URL, json: Any = None, **options: Any) -> Response:
        return await self.request("DELETE", path, json, **options)


class _Server(TestServer):
    """A server that finishes what it has begun when a client leaves, as the program does."""

    async def _make_runner(self, **options: Any) -> web.BaseRunner:
        return await super()._make_runner(**options | {"handler_cancellation": False})


class HttpClient(TestClient):
    """A client of an application on a port of its own."""

    @cached_property
    def connections(self) -> Connections:
        """Return the connections of most requests."""
        return Connections(self.make_url("/"))

    async def close(self) -> None:
        self.connections.close()
        await super().close()


@dataclass(frozen=True)
class Client(Requests):
    """A client of a store with an address of its own; `credentials` are the headers that authenticate it."""

    http: HttpClient
    store: Store
    credentials: Mapping[str, str] = field(default_factory=dict)
    ip: str = field(default_factory=unused_ip)
    user: Any = None
    refresh_token: str = ""

    async def request(
        self,
        method: str,
        path: str | URL,
        json: Any = None,
        *,
        data: Any = None,
        headers: Mapping[str, str | None] | None = None,
        params: Any = None,
        **query: Any,
    ) -> Response:
        """Send a request; check that the response is documented and not a 500. A header of None is not sent."""
        all_headers: dict[str, str | None] = {
            "X-Tenant-ID": str(self.store.public_id),
            "X-Forwarded-For": self.ip,
            **self.credentials,
        }
        if json is not None:
            data = json_module.dumps(json).encode("utf-8", "surrogatepass")
            all_headers["Content-Type"] = "application/json"
        elif isinstance(data, bytes):
            all_headers["Content-Type"] = "application/octet-stream"
        all_headers |= headers or {}
        sent = {name: value for name, value in all_headers.items() if value is not None}
        if (data is None or isinstance(data, bytes)) and _NEEDS_AIOHTTP.isdisjoint(map(str.lower, headers or ())):
            url = URL(path).extend_query(params or query)
            response = Response(*await self.http.connections.request(method, url, sent, data))
        else:
            async with self.http.request(
                method, path, data=data, headers=sent, params=params or query or None, allow_redirects=False
            ) as received:
                response = Response(received.status, received.headers, await received.read())
        assert response.status != 500, (method, str(path)[:200], str(json or data)[:500], response.raw)
        assert response.headers.get("X-Request-Id"), (method, path)
        is_json = response.headers.get("Content-Type") not in ("application/jsonl", "text/csv; charset=utf-8")
        if response.raw and is_json and family_of(URL(str(path)).path).name in ("current", "apps"):
            assert response.headers["Content-Type"].startswith("application/json")
            assert ("error" in response.body) == (response.status >= 400), response
        openapi_responses.check_response(method, str(path), response.status, response.raw, response.headers)
        return response

    @property
    def token(self) -> str:
        """Return the Bearer token."""
        return self.credentials["Authorization"].removeprefix("Bearer ")

    def with_token(self, token: str | None) -> Client:
        return replace(self, credentials=bearer(token) if token is not None else {})

    def from_new_address(self) -> Client:
        return replace(self, ip=unused_ip())

    def at(self, store: Store) -> Client:
        return replace(self, store=store)


ServeApplication: TypeAlias = Callable[..., Awaitable[HttpClient]]


@web.middleware
async def _count_statements(request: web.Request, handler: Any) -> web.StreamResponse:
    with database.count_statements() as counted:
        response = await handler(request)
    response.headers[STATEMENTS] = str(counted.count)
    return response


@pytest.fixture(scope="session")
def aiohttp_client_cls() -> type[HttpClient]:
    return HttpClient


# pytest-aiohttp's fixture has function scope; here the application is served once per process.
_aiohttp_client: Any = plugin.aiohttp_client
aiohttp_client: Any = pytest_asyncio.fixture(scope="session")(_aiohttp_client._get_wrapped_function())


@pytest.fixture(scope="session")
async def serve_application(database: object, aiohttp_client: Any) -> ServeApplication:
    """Return a function that serves the whole application; it trusts X-Forwarded-For of this machine."""

    async def serve(settings: Settings, *middlewares: Any) -> HttpClient:
        settings = replace(settings, trusted_proxies=(ip_network("127.0.0.0/8"),))
        app = create_app(settings, store_resolver=CachedStoreResolver(settings.shared_hosts), authenticate=authenticate)
        app.middlewares.extend(middlewares or [_count_statements])
        client: HttpClient = await aiohttp_client(_Server(app), cookie_jar=DummyCookieJar())
        return client

    return serve


@pytest.fixture(scope="session")
async def http(serve_application: ServeApplication) -> HttpClient:
    """Return a connection to the application, without rate limits by address."""
    return await serve_application(Settings(ip_rate=0, failed_auth_rate=0))


def is_token_pair(body: dict[str, Any]) -> bool:
    assert set(body) == {"access_token", "refresh_token", "expires_at"}
    expires_at = datetime.strptime(body["expires_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    left = expires_at - datetime.now(UTC)
    return timedelta(minutes=14) < left <= timedelta(minutes=15) and len(body["refresh_token"]) >= 43
