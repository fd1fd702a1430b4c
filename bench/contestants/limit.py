"""The hand-written limit: aiohttp and asyncpg, prepared statements, bytes passed through.

Like Vitrine it verifies the access token or storefront key of every request (once, then cached by its hash), counts it against the limits
of its address and key in Redis, in one round trip, and in metrics, and writes the same line to the access log. Every statement is prepared
on every connection, connections are not reset and plans are generic.

Each read exists in up to three styles at a path of its own (`GET /` lists them): JSON built by PostgreSQL's functions or by
concatenation (`limit_sql`), whose bytes are not decoded, and narrow rows that become JSON in Python (`row_reads`). The benchmark takes
the fastest. Writes are one statement, which builds the response (`limit_writes`).
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from io import BytesIO
from typing import Any
from uuid import uuid4

import asyncpg
import jwt
import orjson
import segno
import uvloop
from aiohttp import web
from argon2 import PasswordHasher, Type
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from redis.asyncio import Redis

from bench.contestants import limit_sql, row_reads, storefront_rows, storefront_sql
from bench.contestants.json_sql import Style
from bench.contestants.limit_sql import SIGN_IN, SIGN_IN_USER
from bench.contestants.limit_writes import ANSWER_PAYMENT, CHARGE_PAYMENT, CREATE_PAYMENT, WRITES, Write
from domain.payments.sandbox.pix_code import br_code
from kernel import logging, metrics

CONNECTIONS = 8
ROWS = "rows"
STORE = int(os.environ["BENCH_STORE"])

_RATE = 1_000_000_000  # per minute; high, because the load comes from one address

Handler = Callable[[web.Request], Awaitable[web.Response]]


# Each key's window begins with its first request, as Vitrine's does.
_HIT = """
local most = 0
for _, key in ipairs(KEYS) do
    local count = redis.call('INCR', key)
    if count == 1 then redis.call('PEXPIRE', key, 60000) end
    most = math.max(most, count)
end
return most
"""
_REQUESTS = metrics.counter("bench_requests_total", "Requests by route and status.", "route", "status")
_SECONDS = metrics.histogram("bench_request_seconds", "Time of requests by route.", "route", bounds=metrics.DURATIONS)


class Authenticator:
    """Applies the rate limits, verifies access tokens, and records requests."""

    def __init__(self) -> None:
        redis = Redis.from_url(os.environ["BENCH_REDIS_URL"])
        self._hit = redis.register_script(_HIT)
        self.key = Ed25519PrivateKey.generate()
        self.storefront_keys: set[bytes] = set()
        self._claims_by_hash: dict[bytes, dict[str, Any]] = {}

    async def check(self, request: web.Request) -> web.Response | None:
        key = request.headers.get("X-API-Key")
        limits = [f"ip:{request.remote}"] if key is None else [f"ip:{request.remote}", f"key:{key}"]
        if await self._hit(keys=limits) > _RATE:
            return web.json_response({"error": "rate limit exceeded"}, status=429)
        if key is not None and sha256(key.encode()).digest() not in self.storefront_keys:
            return web.json_response({"error": "invalid key"}, status=401)
        authorization = request.headers.get("Authorization")
        if key is not None and authorization is None:
            return None
        scheme, _, token = (authorization or "").partition(" ")
        fingerprint = sha256(token.encode()).digest()
        claims = self._claims_by_hash.get(fingerprint)
        if claims is None:
            try:
                claims = jwt.decode(token, self.key.public_key(), algorithms=["EdDSA"])
            except jwt.InvalidTokenError:
                return web.json_response({"error": "invalid or expired token"}, status=401)
            self._claims_by_hash[fingerprint] = claims
        if scheme != "Bearer" or claims["exp"] <= time.time():
            return web.json_response({"error": "invalid or expired token"}, status=401)
        request["user"], request["session"] = claims["sub"], claims["sid"]
        return None

    def required(self, route: str, handler: Handler) -> Handler:
        """Return the handler of a route for authenticated requests, which are recorded."""

        async def authenticated(request: web.Request) -> web.Response:
            started = time.perf_counter()
            response = await self.check(request) or await handler(request)
            seconds = time.perf_counter() - started
            _REQUESTS.add(route, str(response.status))
            _SECONDS.observe(_SECONDS.child(route), seconds)
            line = {
                "request_id": logging.request_id_from(request.headers.get("X-Request-Id")),
                "method": request.method,
                "path": request.path,
                "status": response.status,
                "ms": round(seconds * 1_000, 2),
                "store": STORE,
                "actor": request.get("user", "key"),
            }
            logging.access(line)
            return response

        return authenticated


class PreparedConnections:
    """A LIFO pool of connections with prepared statements."""

    def __init__(self) -> None:
        self._idle: asyncio.LifoQueue[dict[tuple[str, str], Any]] = asyncio.LifoQueue()

    async def open(self) -> None:
        texts: dict[tuple[str, str], str] = {
            (style, item): limit_sql.statement(item, style) for style in Style for item in limit_sql.READS
        }
        texts |= {(ROWS, item): text for item, text in row_reads.STATEMENTS.items()}
        texts |= {("write", item): write.sql for item, write in WRITES.items()}
        texts |= {
            (style, item): storefront_sql.statement(item, style) for style in Style for item in storefront_sql.READS
        }
        texts |= {(ROWS, item): text for item, text in storefront_rows.STATEMENTS.items()}
        texts |= {
            ("write", "S8"): storefront_sql.CHECK_OUT,
            ("write", "W8"): CREATE_PAYMENT,
            ("write", "W8 charge"): CHARGE_PAYMENT,
            ("write", "W8 answer"): ANSWER_PAYMENT,
            ("write", "keys"): "SELECT array_agg(key_hash) FROM storefront_keys",
        }
        texts |= {("write", "user"): SIGN_IN_USER, ("write", "A1"): SIGN_IN}
        for _ in range(CONNECTIONS):
            connection = await _connect()
            self._idle.put_nowait({key: await connection.prepare(text) for key, text in texts.items()})

    async def fetchval(self, style: str, item: str, *arguments: Any) -> Any:
        prepared = await self._idle.get()
        try:
            return await prepared[style, item].fetchval(*arguments)
        finally:
            self._idle.put_nowait(prepared)

    async def fetchrow(self, style: str, item: str, *arguments: Any) -> Any:
        prepared = await self._idle.get()
        try:
            return await prepared[style, item].fetchrow(*arguments)
        finally:
            self._idle.put_nowait(prepared)

    async def read_rows(self, read: row_reads.Read, *arguments: Any) -> bytes:
        """Run all statements of a read on one connection."""
        prepared = await self._idle.get()
        try:
            return await read(lambda item, *values: prepared[ROWS, item].fetch(*values), arguments)
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


_SINGLE = {"Q3": str, "R3": str, "Q4": str, "R4": str, "L2": int}


def _arguments(item: str, request: web.Request) -> tuple[Any, ...]:
    return (STORE, _SINGLE[item](request.match_info["id"])) if item in _SINGLE else (STORE,)


def _read(pool: PreparedConnections, style: Style, item: str) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        body = await pool.fetchval(style, item, *_arguments(item, request))
        return web.Response(body=body, content_type="application/json")

    return handle


def _read_rows(pool: PreparedConnections, item: str, read: row_reads.Read) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        body = await pool.read_rows(read, *_arguments(item, request))
        return web.Response(body=body, content_type="application/json")

    return handle


def _write(pool: PreparedConnections, item: str, write: Write) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        body = await pool.fetchval("write", item, *write.arguments(orjson.loads(await request.read())))
        return web.Response(body=body, content_type="application/json")

    return handle


def _page(pool: PreparedConnections, style: Style, item: str) -> Handler:
    """Serve a page of a storefront, whose variables are the body."""

    async def handle(request: web.Request) -> web.Response:
        variables = orjson.loads(await request.read())
        arguments = (request["user"], request["session"]) if item == "S6" else (variables["slug"],)
        body = await pool.fetchval(style, item, STORE, *arguments)
        return web.Response(body=body, content_type="application/json")

    return handle


def _page_of_rows(pool: PreparedConnections, read: row_reads.Read) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        body = await pool.read_rows(read, STORE, orjson.loads(await request.read()), None)
        return web.Response(body=body, content_type="application/json")

    return handle


def _check_out(pool: PreparedConnections) -> Handler:
    secret = secrets.token_bytes(32)

    async def handle(request: web.Request) -> web.Response:
        variables = orjson.loads(await request.read())
        order = orjson.loads(
            await pool.fetchval("write", "S8", variables["cart"], request["user"], variables["payment"])
        )
        token = hmac.digest(secret, order["id"].encode(), "sha256").hex()
        body = orjson.dumps({"data": {"cart_checkout": {"token": token, "order": order}}})
        return web.Response(body=body, content_type="application/json")

    return handle


def _draw(code: str) -> str:
    picture = BytesIO()
    segno.make(code, error="m", micro=False, mask=2).save(
        picture, kind="svg", scale=4, border=4, light="#fff", xmldecl=False, svgns=True, nl=False
    )
    return picture.getvalue().decode()


def _pay(pool: PreparedConnections) -> Handler:
    """Pay an order by Pix: the code is the sandbox's, its picture is drawn here, for which no other request waits."""
    threads = ThreadPoolExecutor(1)

    async def handle(request: web.Request) -> web.Response:
        order = orjson.loads(await request.read())["id"]
        payment = await pool.fetchrow("write", "W8", order)
        location = f"pix.sandbox.invalid/v2/{payment['public_id'].hex}"
        code = br_code(location, name="Loja 1", city="BRASILIA", amount_cents=payment["amount_cents"])
        number, cents, expires_at = payment["order_id"], payment["amount_cents"], payment["expires_at"]
        values = (STORE, payment["public_id"], order, number, cents, expires_at, code)
        charge = await pool.fetchval("write", "W8 charge", *values)
        picture = await asyncio.get_running_loop().run_in_executor(threads, _draw, code)
        body = await pool.fetchval("write", "W8 answer", payment["public_id"], charge.decode(), code, picture)
        return web.Response(body=body, content_type="application/json")

    return handle


def _sign_in(pool: PreparedConnections, authenticator: Authenticator) -> Handler:
    hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
    threads = ThreadPoolExecutor(2)

    async def sign_in(request: web.Request) -> web.Response:
        input = orjson.loads(await request.read())
        user = await pool.fetchrow("write", "user", STORE, input["email"])
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(threads, hasher.verify, user["password_hash"].decode(), input["password"])
        session, refresh_token, now = uuid4(), secrets.token_urlsafe(32), datetime.now(UTC)
        await pool.fetchval("write", "A1", STORE, user["id"], session, uuid4(), sha256(refresh_token.encode()).digest())
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
    app = web.Application(client_max_size=2**24)

    reads = {(style.value, item): _read(pool, style, item) for style in Style for item in limit_sql.READS}
    reads |= {(ROWS, item): _read_rows(pool, item, read) for item, read in row_reads.READS.items()}

    authenticator.storefront_keys = set(await pool.fetchval("write", "keys") or ())
    pages = {(style.value, item): _page(pool, style, item) for style in Style for item in storefront_sql.READS}
    pages |= {(ROWS, item): _page_of_rows(pool, read) for item, read in storefront_rows.READS.items()}

    async def list_styles(_request: web.Request) -> web.Response:
        items = dict.fromkeys(item for _, item in (*reads, *pages))
        return web.json_response(
            {item: [style for style, other in (*reads, *pages) if other == item] for item in items}
        )

    app.router.add_get("/", list_styles)
    for (style, item), handler in reads.items():
        path = f"/{style}/{item.lower()}" + ("/{id}" if item in _SINGLE else "")
        app.router.add_get(path, authenticator.required(path, handler))
    posts = {f"/{style}/{item.lower()}": handler for (style, item), handler in pages.items()}
    posts |= {f"/{item.lower()}": _write(pool, item, write) for item, write in WRITES.items()}
    posts["/s8"] = _check_out(pool)
    posts["/w8"] = _pay(pool)
    for path, handler in posts.items():
        app.router.add_post(path, authenticator.required(path, handler))
    app.router.add_post("/a1", _sign_in(pool, authenticator))
    return app


if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    web.run_app(application(), host="127.0.0.1", port=int(os.environ["BENCH_PORT"]), access_log=None, print=None)
