"""The hand-written limit: aiohttp and asyncpg, one SQL statement that builds the JSON, its bytes passed through.

Its work is equal to ours where production asks for it: every request shows an access token, which is verified once and then remembered
by its hash, and is counted against its address's rate. Nothing is logged. Every statement is prepared on every connection, connections
are lent without any reset, plans are generic, and JSON comes from PostgreSQL as bytes that nothing decodes. Each item's statement is
written in two styles; the one that is faster on this machine is kept (`GET /` tells which). L1 alone is made in Python (`limit_rows`).
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
_TRIES = 60

_RATE = 1_000_000_000  # a minute; high, for all of the load comes from one address

Handler = Callable[[web.Request], Awaitable[web.Response]]


class Door:
    """Know whose token a request shows, and how often an address has asked this minute."""

    def __init__(self) -> None:
        self.key = Ed25519PrivateKey.generate()
        self._known: dict[bytes, float] = {}
        self._asked: dict[str | None, tuple[int, int]] = {}

    def refuses(self, request: web.Request) -> web.Response | None:
        minute, asked = int(time.time()) // 60, 0
        begun = self._asked.get(request.remote)
        if begun is not None and begun[0] == minute:
            asked = begun[1]
        self._asked[request.remote] = (minute, asked + 1)
        if asked >= _RATE:
            return web.json_response({"error": "rate limit exceeded"}, status=429)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        fingerprint = sha256(token.encode()).digest()
        ends_at = self._known.get(fingerprint)
        if ends_at is None:
            try:
                ends_at = jwt.decode(token, self.key.public_key(), algorithms=["EdDSA"])["exp"]
            except jwt.InvalidTokenError:
                return web.json_response({"error": "invalid or expired token"}, status=401)
            self._known[fingerprint] = ends_at
        if scheme != "Bearer" or ends_at <= time.time():
            return web.json_response({"error": "invalid or expired token"}, status=401)
        return None

    def admitted(self, handler: Handler) -> Handler:
        async def admit(request: web.Request) -> web.Response:
            return self.refuses(request) or await handler(request)

        return admit


class Lent:
    """Connections with everything prepared on them, the one used last first."""

    def __init__(self) -> None:
        self._free: asyncio.LifoQueue[dict[str, Any]] = asyncio.LifoQueue()
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
            self._free.put_nowait({item: await connection.prepare(text) for item, text in texts.items()})

    async def value(self, item: str, *arguments: Any) -> Any:
        prepared = await self._free.get()
        try:
            return await prepared[item].fetchval(*arguments)
        finally:
            self._free.put_nowait(prepared)

    async def rows(self, item: str, *arguments: Any) -> Any:
        prepared = await self._free.get()
        try:
            return await prepared[item].fetch(*arguments)
        finally:
            self._free.put_nowait(prepared)

    async def row(self, item: str, *arguments: Any) -> Any:
        prepared = await self._free.get()
        try:
            return await prepared[item].fetchrow(*arguments)
        finally:
            self._free.put_nowait(prepared)


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
        await connection.set_type_codec(
            name, schema="pg_catalog", format="binary", encoder=str.encode, decoder=bytes
        )
    return connection


async def _seconds(connection: asyncpg.Connection, item: str, style: Style) -> float:
    """Time a statement in a style."""
    prepared = await connection.prepare(statement(item, style))
    arguments: list[Any] = [STORE]
    if item == "L2":
        arguments.append(1)
    elif item in ("Q3", "R3", "Q4", "R4"):
        table = "products" if item.endswith("3") else "orders"
        arguments.append(
            await connection.fetchval(f"SELECT public_id FROM {table} WHERE tenant_id = $1 LIMIT 1", STORE)
        )
    taken = []
    for _ in range(_TRIES):
        begun = time.perf_counter()
        await prepared.fetchval(*arguments)
        taken.append(time.perf_counter() - begun)
    return sorted(taken)[_TRIES // 2]


def _read(lent: Lent, item: str, convert: Callable[[str], Any] = str) -> Handler:
    async def single(request: web.Request) -> web.Response:
        found = await lent.value(item, STORE, convert(request.match_info["id"]))
        return web.Response(body=found, content_type="application/json")

    async def listed(_request: web.Request) -> web.Response:
        return web.Response(body=await lent.value(item, STORE), content_type="application/json")

    return single if item in ("Q3", "Q4", "R3", "R4", "L2") else listed


def _legacy_products(lent: Lent) -> Handler:
    async def listed(_request: web.Request) -> web.Response:
        found = await lent.rows("L1", STORE)
        return web.Response(body=limit_rows.legacy_products(found), content_type="application/json")

    return listed


def _place_order(lent: Lent) -> Handler:
    async def place(request: web.Request) -> web.Response:
        given = orjson.loads(await request.read())
        items = orjson.dumps(given["items"]).decode()
        made = await lent.value(
            "W1", given["customer_id"], given["payment_method_id"], given["shipping_method_id"], items
        )
        return web.Response(body=made, content_type="application/json")

    return place


def _sign_in(lent: Lent, door: Door) -> Handler:
    hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
    threads = ThreadPoolExecutor(2)

    async def sign_in(request: web.Request) -> web.Response:
        given = orjson.loads(await request.read())
        user = await lent.row("user", STORE, given["email"])
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(threads, hasher.verify, user["password_hash"].decode(), given["password"])
        session, refresh_token, now = uuid4(), secrets.token_urlsafe(32), datetime.now(UTC)
        await lent.value("A1", STORE, user["id"], session, uuid4(), sha256(refresh_token.encode()).digest())
        expires_at = now.replace(microsecond=0) + timedelta(minutes=15)
        claims = {"sub": str(user["public_id"]), "sid": str(session), "iat": now, "exp": expires_at}
        token = jwt.encode(claims, door.key, algorithm="EdDSA")
        answer = {"access_token": token, "refresh_token": refresh_token, "expires_at": expires_at}
        return web.Response(body=orjson.dumps(answer), content_type="application/json")

    return sign_in


async def application() -> web.Application:
    lent = Lent()
    await lent.open()
    door = Door()
    app = web.Application()

    async def ready(_request: web.Request) -> web.Response:
        return web.json_response(lent.styles)

    app.router.add_get("/", ready)
    for item in READS:
        single = item in ("Q3", "Q4", "R3", "R4", "L2")
        app.router.add_get(
            f"/{item.lower()}" + ("/{id}" if single else ""),
            door.admitted(_read(lent, item, int if item == "L2" else str)),
        )
    app.router.add_get("/l1", door.admitted(_legacy_products(lent)))
    app.router.add_post("/w1", door.admitted(_place_order(lent)))
    app.router.add_post("/a1", _sign_in(lent, door))
    return app


if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    web.run_app(
        application(), host="127.0.0.1", port=int(os.environ["BENCH_PORT"]), access_log=None, print=None
    )
