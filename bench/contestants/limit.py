"""The hand-written limit: aiohttp and asyncpg, one SQL statement that builds the JSON, its bytes passed through.

Like Vitrine it verifies the access token of every request (once, then cached by its hash) and applies a rate limit per address. Nothing is
logged. Every statement is prepared on every connection, connections are not reset, plans are generic, and the JSON bytes from
PostgreSQL are not decoded. Each statement exists in two styles, of which the faster on this machine is used (`GET /` shows which). Only L1
is built in Python (`limit_rows`).
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import asyncpg
import jwt
import orjson
import uvloop
from aiohttp import web
from argon2 import PasswordHasher, Type
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.contestants import limit_rows
from bench.contestants.json_sql import Style
from bench.contestants.limit_sql import PLACE_ORDER, READS, SIGN_IN, SIGN_IN_USER, statement

CONNECTIONS = 8
STORE = int(os.environ["BENCH_STORE"])
_TIMING_RUNS = 60

_RATE = 1_000_000_000  # per minute; high, because the load comes from one address

Handler = Callable[[web.Request], Awaitable[web.Response]]


class Authenticator:
    """Verifies access tokens and applies the rate limit."""

    def __init__(self) -> None:
        self.key = Ed25519PrivateKey.generate()
        self._expiry_by_hash: dict[bytes, float] = {}
        self._request_counts: dict[str | None, tuple[int, int]] = {}

    def check(self, request: web.Request) -> web.Response | None:
        minute, count = int(time.time()) // 60, 0
        previous = self._request_counts.get(request.remote)
        if previous is not None and previous[0] == minute:
            count = previous[1]
        self._request_counts[request.remote] = (minute, count + 1)
        if count >= _RATE:
            return web.json_response({"error": "rate limit exceeded"}, status=429)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        fingerprint = sha256(token.encode()).digest()
        expires_at = self._expiry_by_hash.get(fingerprint)
        if expires_at is None:
            try:
                expires_at = jwt.decode(token, self.key.public_key(), algorithms=["EdDSA"])["exp"]
            except jwt.InvalidTokenError:
                return web.json_response({"error": "invalid or expired token"}, status=401)
            self._expiry_by_hash[fingerprint] = expires_at
        if scheme != "Bearer" or expires_at <= time.time():
            return web.json_response({"error": "invalid or expired token"}, status=401)
        return None

    def required(self, handler: Handler) -> Handler:
        async def authenticated(request: web.Request) -> web.Response:
            return self.check(request) or await handler(request)

        return authenticated


class PreparedConnections:
    """A LIFO pool of connections with prepared statements."""

    def __init__(self) -> None:
        self._idle: asyncio.LifoQueue[dict[str, Any]] = asyncio.LifoQueue()
        self.styles: dict[str, Style] = {}

    async def open(self) -> None:
        first = await _connect()
        for item in READS:
            timed = [(await _seconds(first, item, style), style) for style in Style]
            self.styles[item] = min(timed)[1]
        await first.close()
        for _ in range(CONNECTIONS):
            connection = await _connect()
            texts = {item: statement(item, style) for item, style in self.styles.items()}
            texts |= {"L1": limit_rows.STATEMENT, "W1": PLACE_ORDER, "user": SIGN_IN_USER, "A1": SIGN_IN}
            self._idle.put_nowait({item: await connection.prepare(text) for item, text in texts.items()})

    async def fetchval(self, item: str, *arguments: Any) -> Any:
        prepared = await self._idle.get()
        try:
            return await prepared[item].fetchval(*arguments)
        finally:
            self._idle.put_nowait(prepared)

    async def fetch(self, item: str, *arguments: Any) -> Any:
        prepared = await self._idle.get()
        try:
            return await prepared[item].fetch(*arguments)
        finally:
            self._idle.put_nowait(prepared)

    async def fetchrow(self, item: str, *arguments: Any) -> Any:
        prepared = await self._idle.get()
        try:
            return await prepared[item].fetchrow(*arguments)
        finally:
            self._idle.put_nowait(prepared)


async def _connect() -> asyncpg.Connection:
    connection = await asyncpg.connect(
        host=os.environ["BENCH_SOCKET"],
        port=int(os.environ["BENCH_PG_PORT"]),
        database=os.environ["BENCH_DATABASE"],
        user=os.environ["BENCH_USER"],
        server_settings={
            "role": "vitrine_app",
            "vitrine.tenant": str(STORE),
            "jit": "off",
            "plan_cache_mode": "force_generic_plan",
        },
    )
    for name in ("json", "text"):
        await connection.set_type_codec(name, schema="pg_catalog", format="binary", encoder=str.encode, decoder=bytes)
    return connection


async def _seconds(connection: asyncpg.Connection, item: str, style: Style) -> float:
    """Return the median time of a statement in a style."""
    prepared = await connection.prepare(statement(item, style))
    arguments: list[Any] = [STORE]
    if item == "L2":
        arguments.append(1)
    elif item in ("Q3", "R3", "Q4", "R4"):
        table = "products" if item.endswith("3") else "orders"
        arguments.append(
            await connection.fetchval(f"SELECT public_id FROM {table} WHERE tenant_id = $1 LIMIT 1", STORE)
        )
    durations = []
    for _ in range(_TIMING_RUNS):
        started_at = time.perf_counter()
        await prepared.fetchval(*arguments)
        durations.append(time.perf_counter() - started_at)
    return sorted(durations)[_TIMING_RUNS // 2]


def _read(pool: PreparedConnections, item: str, convert: Callable[[str], Any] = str) -> Handler:
    async def single(request: web.Request) -> web.Response:
        body = await pool.fetchval(item, STORE, convert(request.match_info["id"]))
        return web.Response(body=body, content_type="application/json")

    async def list_(_request: web.Request) -> web.Response:
        return web.Response(body=await pool.fetchval(item, STORE), content_type="application/json")

    return single if item in ("Q3", "Q4", "R3", "R4", "L2") else list_


def _legacy_products(pool: PreparedConnections) -> Handler:
    async def list_(_request: web.Request) -> web.Response:
        records = await pool.fetch("L1", STORE)
        return web.Response(body=limit_rows.legacy_products(records), content_type="application/json")

    return list_


def _create_order(pool: PreparedConnections) -> Handler:
    async def create(request: web.Request) -> web.Response:
        input = orjson.loads(await request.read())
        items = orjson.dumps(input["items"]).decode()
        body = await pool.fetchval(
            "W1", input["customer_id"], input["payment_method_id"], input["shipping_method_id"], items
        )
        return web.Response(body=body, content_type="application/json")

    return create


def _sign_in(pool: PreparedConnections, authenticator: Authenticator) -> Handler:
    hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
    threads = ThreadPoolExecutor(2)

    async def sign_in(request: web.Request) -> web.Response:
        input = orjson.loads(await request.read())
        user = await pool.fetchrow("user", STORE, input["email"])
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(threads, hasher.verify, user["password_hash"].decode(), input["password"])
        session, refresh_token, now = uuid4(), secrets.token_urlsafe(32), datetime.now(UTC)
        await pool.fetchval("A1", STORE, user["id"], session, uuid4(), sha256(refresh_token.encode()).digest())
        expires_at = now.replace(microsecond=0) + timedelta(minutes=15)
        claims = {"sub": str(user["public_id"]), "sid": str(session), "iat": now, "exp": expires_at}
        token = jwt.encode(claims, authenticator.key, algorithm="EdDSA")
        response = {"access_token": token, "refresh_token": refresh_token, "expires_at": expires_at}
        return web.Response(body=orjson.dumps(response), content_type="application/json")

    return sign_in


async def application() -> web.Application:
    pool = PreparedConnections()
    await pool.open()
    authenticator = Authenticator()
    app = web.Application()

    async def ready(_request: web.Request) -> web.Response:
        return web.json_response(pool.styles)

    app.router.add_get("/", ready)
    for item in READS:
        single = item in ("Q3", "Q4", "R3", "R4", "L2")
        app.router.add_get(
            f"/{item.lower()}" + ("/{id}" if single else ""),
            authenticator.required(_read(pool, item, int if item == "L2" else str)),
        )
    app.router.add_get("/l1", authenticator.required(_legacy_products(pool)))
    app.router.add_post("/w1", authenticator.required(_create_order(pool)))
    app.router.add_post("/a1", _sign_in(pool, authenticator))
    return app


if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    web.run_app(application(), host="127.0.0.1", port=int(os.environ["BENCH_PORT"]), access_log=None, print=None)
