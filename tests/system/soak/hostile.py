"""Hostile callers, next to whom shoppers are served as ever: each sends from one address what once made others wait.

docs/security.md lists the limits that they meet. A refusal is what they are to get; `check_shoppers` judges what shoppers got meanwhile.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Collection, Sequence
from functools import cache
from statistics import quantiles
from typing import Any
from uuid import UUID, uuid4

import aiohttp
import orjson
from graphql import get_introspection_query

from tests.system.soak.calls import NO_ANSWER, Answer, Client, Tally
from tests.system.soak.model import Findings
from tests.system.soak.stores import Store

FAMILY = "hostile"
MAX_SHOPPER_SECONDS = 1.0
"""The p99 of shoppers' answers while no fault is under way."""
_MIN_SAMPLES = 50
_FORMS, _ANONYMOUS, _DOCUMENTS, _INTROSPECTIONS, _SOCKET, _FILTERS = (f"192.0.2.{number}" for number in range(1, 7))
_AT_ONCE = 12
_SECONDS = 40.0
_SHORT_DOCUMENTS = 200
_REFUSED = (429,)
# Another id in each request, so that no answer is one of a cache.
_REPLACED = b"00000000-0000-0000-0000-000000000000"
_numbers = itertools.count()


async def send_forms(client: Client, store: Store) -> None:
    """Ask for tokens without a credential, with forms of many escapes: over the limit of such a form, and just below it."""
    for escapes, expected in ((690_000, (413, *_REFUSED)), (21_000, (400, *_REFUSED))):
        form = b"code=" + b"%41" * escapes
        headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-For": _FORMS}
        await _at_once(client, store, "/api/v1/oauth/token", [form] * _AT_ONCE, headers, expected)


async def send_anonymous_documents(client: Client, store: Store) -> None:
    """Send documents of unknown names without a credential."""
    await _documents(client, store, [_unknown_names(1_900) for _ in range(_AT_ONCE)], _ANONYMOUS, (401, *_REFUSED), {})


async def send_documents(client: Client, store: Store) -> None:
    """Send new documents with the public key: long ones with mistakes, and many short ones that fill the cache."""
    long = [_unknown_names(1_900) for _ in range(_AT_ONCE)]
    await _documents(client, store, long, _DOCUMENTS, (400, *_REFUSED), store.key)
    # As many as fill the hostile address's share of the cache soon: what is bounded and fills late looks like growing memory.
    short = [f"{{ a{next(_numbers) % _SHORT_DOCUMENTS}: store {{ id }} }}" for _ in range(_AT_ONCE)]
    await _documents(client, store, short, _DOCUMENTS, (200, *_REFUSED), store.key)


async def send_filters(client: Client, store: Store) -> None:
    """List products of unknown vendors with the public key: of as many as a filter takes, and of far more."""
    headers = {"Content-Type": "application/json", "X-Forwarded-For": _FILTERS, **store.key}
    for count, expected in ((1_000, (200, *_REFUSED)), (24_900, (400, *_REFUSED))):
        bodies = [_filter_of(count).replace(_REPLACED, str(uuid4()).encode()) for _ in range(_AT_ONCE)]
        await _at_once(client, store, "/graphql", bodies, headers, expected)


@cache
def _filter_of(count: int) -> bytes:
    """Return a request with ids, made once: what makes it shares its process with the clock of the shoppers."""
    query = "query ($ids: [ID!]) { products(limit: 1000, filter: {vendor_id: $ids}) { id } }"
    ids = [_REPLACED.decode(), *(str(UUID(int=number)) for number in range(1, count))]
    return orjson.dumps({"query": query, "variables": {"ids": ids}})


async def send_introspections(client: Client, store: Store) -> None:
    """Ask for the whole schema with the public key, each time under another of more names than are cached."""
    full = get_introspection_query()
    named = [full.replace("__schema", f"a{next(_numbers) % 50}: __schema") for _ in range(_AT_ONCE)]
    await _documents(client, store, named, _INTROSPECTIONS, (200, *_REFUSED), store.key)


async def flood_socket(client: Client, store: Store) -> None:
    """Send operations over a WebSocket as fast as they are answered."""
    headers = {"X-Tenant-ID": store.model.tenant_id, "X-Forwarded-For": _SOCKET, **store.key}
    try:
        url = f"{client.base_url}/graphql"
        async with client.session.ws_connect(url, headers=headers, protocols=["graphql-transport-ws"]) as socket:
            await socket.send_json({"type": "connection_init"})
            await socket.receive(_SECONDS)
            for _ in range(50):
                for number in range(_AT_ONCE):
                    payload = {"query": "{ store { id } }"}
                    await socket.send_json({"type": "subscribe", "id": str(number), "payload": payload})
                for _ in range(_AT_ONCE):
                    client.tally.count(FAMILY, Answer(await _operation_status(socket), failure="cut off"))
    except (aiohttp.ClientError, OSError, TimeoutError, TypeError, orjson.JSONDecodeError):
        client.tally.count(FAMILY, Answer(NO_ANSWER, failure="cut off"), is_failure=True)  # refused, or a fault


async def _operation_status(socket: aiohttp.ClientWebSocketResponse) -> int:
    """Return 200 for the result of an operation, 429 for its refusal; raises TypeError when the connection ends."""
    while True:
        message = orjson.loads(await socket.receive_str(timeout=_SECONDS))
        if message["type"] == "complete":
            return 200
        if message["type"] == "error":
            return 429


def _unknown_names(count: int) -> str:
    return "{" + " ".join(f"n{next(_numbers):09}" for _ in range(count)) + "}"


async def _documents(
    client: Client, store: Store, texts: Sequence[str], address: str, expected: Collection[int], credentials: Any
) -> None:
    bodies = [orjson.dumps({"query": text}) for text in texts]
    headers = {"Content-Type": "application/json", "X-Forwarded-For": address, **credentials}
    await _at_once(client, store, "/graphql", bodies, headers, expected)


async def _at_once(
    client: Client, store: Store, path: str, bodies: Sequence[bytes], headers: Any, expected: Collection[int]
) -> None:
    sent = [client.send(store.model, FAMILY, "POST", path, body, headers=headers, expected=expected) for body in bodies]
    await asyncio.gather(*sent)
    await asyncio.sleep(random.uniform(0.5, 1.5))


ACTIONS = (send_forms, send_anonymous_documents, send_documents, send_filters, send_introspections, flood_socket)


# --- What shoppers got -----------------------------------------------------------------------------------------------------


def shopper_p99(tally: Tally) -> float | None:
    """Return the p99 of the seconds of shoppers' answers outside of faults, None when there are too few."""
    return quantiles(tally.shopper_seconds, n=100)[98] if len(tally.shopper_seconds) >= _MIN_SAMPLES else None


def check_shoppers(tally: Tally, findings: Findings) -> str:
    """Return the line of the report; shoppers that wait too long are a finding."""
    p99 = shopper_p99(tally)
    if p99 is None:
        return f"  shoppers: {len(tally.shopper_seconds)} answers outside of faults, too few for a p99"
    if p99 >= MAX_SHOPPER_SECONDS:
        findings.add("shoppers", f"the p99 of their answers is {p99:.2f} s; expected below {MAX_SHOPPER_SECONDS:g} s")
    return (
        f"  shoppers next to hostile callers: {len(tally.shopper_seconds):,} answers outside of faults, p99 {p99:.3f} s"
    )
