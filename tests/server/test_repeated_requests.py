"""Requests for the catalogue that are answered by their bytes, before HTTP is parsed: nothing differs but the time."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import Any
from urllib.parse import quote

import pytest

from auth.credential_cache import process_cache
from kernel import logging
from server.http import catalogue_cache, repeated_requests, request_metrics
from server.http.catalogue_cache import CATALOGUE_CACHE
from server.http.connections import DIRECT_ANSWERS
from server.http.health import HEALTH
from tests.harness.records import Record
from tests.harness.sample_store import NewSampleStore
from tests.harness.storefront import StorefrontClient, open_storefront
from tests.server.direct_requests import SETTINGS, Site, compare, http_bytes, learn, served

PRODUCTS = "{ product_page(sort: NAME_ASC) { items { name price_cents } total } }"
DESCRIPTIONS = "{ product_page(sort: NAME_ASC) { items { name description sku slug id } } }"


@pytest.fixture(scope="module")
async def server(database: object) -> AsyncIterator[Site]:
    async with served() as site:
        yield site


@pytest.fixture(scope="module")
async def plain(database: object) -> AsyncIterator[Site]:
    """Return a server that parses all requests."""
    async with served(is_direct=False) as site:
        yield site


@pytest.fixture
def site(server: Site) -> Site:
    """Return the server with nothing recorded."""
    server.by_bytes.clear()
    server.queries.clear()
    return server


@pytest.fixture
async def shop(new_sample: NewSampleStore) -> StorefrontClient:
    storefront = await open_storefront(await new_sample())
    await storefront.get("products?limit=1")  # the key's first use is noted, which is a write
    return storefront


def request(shop: StorefrontClient, target: str = "/graphql", body: Any = None, **headers: str) -> bytes:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return http_bytes(shop.sample, target, body, {"X-API-Key": str(shop.key), **named})


def products(shop: StorefrontClient, **headers: str) -> bytes:
    return request(shop, "/graphql", {"query": PRODUCTS}, **headers)


# --- the same answer -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target, body, headers",
    [
        ("/graphql", {"query": PRODUCTS}, {}),
        ("/graphql", {"query": PRODUCTS}, {"Accept": "application/graphql-response+json"}),
        (f"/graphql?query={quote(PRODUCTS)}", None, {}),
        (f"/graphql?query={quote(PRODUCTS)}", None, {"If_None_Match": "*"}),
        ("/graphql", {"query": DESCRIPTIONS}, {"Accept_Encoding": "gzip, br"}),
        ("/api/v1/storefront/products?limit=2", None, {}),
        ("/api/v1/storefront/products?limit=2", None, {"Origin": "https://shop.example"}),
        ("/api/v1/storefront/products", None, {"X_Request_Id": "mine-7"}),
    ],
)  # fmt: skip
async def test_a_repeated_request_is_answered_by_its_bytes_as_before(
    target: str, body: Any, headers: dict[str, str], site: Site, shop: StorefrontClient
):
    for n in range(20):
        await shop.sample.add_product(description=f"Caneca {n} de cerâmica esmaltada. " * 3)
    asked = request(shop, target, body, **headers)
    async with site.line() as line, site.line() as other:
        first, second, third = await learn(line, asked)
        assert b"errors" not in first.body
        assert site.by_bytes == []
        for each in (line, other, line):
            again = await each.ask(asked)
            assert again.lasting == third.lasting == second.lasting == first.lasting
            assert (again.headers["x-request-id"] == "mine-7") == ("X_Request_Id" in headers)
        assert site.by_bytes == [first.status] * 3
    assert ("content-encoding" in first.headers) == ("Accept_Encoding" in headers)
    assert ("access-control-allow-origin" in first.headers) == ("Origin" in headers)
    assert (first.status == 304) == ("If_None_Match" in headers)


async def test_each_response_has_an_id_of_its_own_and_counts_against_the_limit(site: Site, shop: StorefrontClient):
    async with site.line() as line:
        answers = [await line.ask(products(shop)) for _ in range(8)]
    assert len(site.by_bytes) == 5
    assert len({answer.headers["x-request-id"] for answer in answers}) == 8
    assert all(re.fullmatch("[0-9a-f-]{36}", answer.headers["x-request-id"]) for answer in answers)
    remaining = [int(answer.headers["x-ratelimit-remaining"]) for answer in answers]
    assert remaining == list(range(remaining[0], remaining[0] - 8, -1))
    assert len({answer.headers["x-ratelimit-limit"] for answer in answers}) == 1


async def test_a_request_over_a_limit_is_refused(site: Site, shop: StorefrontClient):
    await shop.sample.execute("UPDATE storefront_keys SET rate_limit = 6")
    process_cache().clear()
    async with site.line() as line:
        answers = [await line.ask(products(shop)) for _ in range(9)]
    assert [answer.status for answer in answers] == [200] * 6 + [429] * 3
    assert len(site.by_bytes) == 3
    assert [answer.headers["x-ratelimit-remaining"] for answer in answers] == list("543210000")
    assert json.loads(answers[-1].body)["error"] == "rate_limit_exceeded"


async def test_requests_count_against_their_address(shop: StorefrontClient):
    async with served(replace(SETTINGS, ip_rate=6)) as site, site.line() as line:
        answers = [await line.ask(products(shop)) for _ in range(8)]
        other = await line.ask(products(shop).replace(shop.sample.ip.encode(), b"198.51.100.7"))
    assert [answer.status for answer in answers] == [200] * 6 + [429] * 2
    assert other.status == 200
    assert len(site.by_bytes) == 3


async def test_it_is_logged_and_counted_as_another(site: Site, shop: StorefrontClient):
    async with site.line() as line:
        await learn(line, products(shop))
        before = dict(request_metrics._REQUESTS.values)
        with log_lines() as lines:
            answer = await line.ask(products(shop))
        changed = {labels: count - before.get(labels, 0) for labels, count in request_metrics._REQUESTS.values.items()}
    assert site.by_bytes == [200]
    assert {labels: n for labels, n in changed.items() if n} == {("graphql", "POST", "/graphql", "200"): 1}
    (logged,) = [each for each in map(json.loads, lines) if each["event"] == "request"]
    assert logged.pop("ms") >= 0
    del logged["time"]
    assert logged == {
        "level": "info",
        "event": "request",
        "request_id": answer.headers["x-request-id"],
        "method": "POST",
        "path": "/graphql",
        "status": 200,
        "store": str(shop.sample.store.public_id),
        "actor": logged["actor"],
    }
    assert logged["actor"].startswith("key:")


@contextmanager
def log_lines() -> Iterator[list[bytes]]:
    lines: list[bytes] = []
    before = logging.set_sink(lines.append)
    try:
        yield lines
    finally:
        logging.set_sink(before)


# --- what may change in between --------------------------------------------------------------------------------------


async def test_a_change_of_the_catalogue_is_seen(site: Site, shop: StorefrontClient):
    mug: Record = shop.sample.mug
    async with site.line() as line:
        for price in (1_111, 2_222, 3_333):
            admin = await shop.sample.client(shop.sample.owner)
            changed = await admin.put(f"/api/v1/admin/products/{mug.id}", {"price_cents": price})
            assert changed.status == 200, changed
            for _ in range(5):
                items = json.loads((await line.ask(products(shop))).body)["data"]["product_page"]["items"]
                assert price in [item["price_cents"] for item in items]
    assert len(site.by_bytes) == 2 + 3 + 3  # the first is remembered when it is repeated, the others at once


async def test_a_revoked_key_and_a_suspended_store_are_refused(site: Site, shop: StorefrontClient):
    async with site.line() as line:
        await learn(line, products(shop))
        assert (await line.ask(products(shop))).status == 200
        await shop.sample.execute("UPDATE storefront_keys SET revoked_at = now()")
        process_cache().clear()
        assert (await line.ask(products(shop))).status == 401
    assert len(site.by_bytes) == 1


async def test_an_answer_to_a_key_with_other_scopes_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, site: Site, shop: StorefrontClient
):
    """The key loses a scope, and is authenticated again, while a request with the scope is answered from memory."""
    cache = site.app[CATALOGUE_CACHE]
    repeat = cache.repeat

    async def repeat_while_the_key_changes(*args: Any) -> Any:
        answer = await repeat(*args)
        monkeypatch.undo()
        await shop.sample.execute("UPDATE storefront_keys SET scopes = '{storefront:cart}'")
        process_cache().clear()
        async with site.line() as other:
            assert (await other.ask(request(shop, "/graphql", {"query": "{ store { name } }"}))).status == 200
        return answer

    async with site.line() as line:
        for _ in range(2):
            await line.ask(products(shop))
        monkeypatch.setattr(cache, "repeat", repeat_while_the_key_changes)
        assert b"errors" not in (await line.ask(products(shop))).body
        for _ in range(2):
            assert b"errors" in (await line.ask(products(shop))).body
    assert site.by_bytes == []


async def test_a_persisted_document_that_is_asked_for_counts_as_used(
    monkeypatch: pytest.MonkeyPatch, site: Site, shop: StorefrontClient
):
    document_id = f"sha256:{hashlib.sha256(PRODUCTS.encode()).hexdigest()}"
    asked = request(shop, "/graphql", {"documentId": document_id})
    async with site.line() as line:
        await line.ask(request(shop, "/graphql", {"documentId": document_id, "query": PRODUCTS}))
        known = (await learn(line, asked))[-1]
        await shop.sample.execute("UPDATE persisted_documents SET last_used_at = now() - interval '1 day'")
        for _ in range(2):
            assert (await line.ask(asked)).lasting == known.lasting
        assert site.by_bytes == [200] * 2
        for module in (catalogue_cache, repeated_requests):
            monkeypatch.setattr(module, "monotonic", lambda: monotonic() + 601)
        for _ in range(2):
            assert (await line.ask(asked)).lasting == known.lasting
    used = "SELECT count(*) FROM persisted_documents WHERE last_used_at > now() - interval '1 hour'"
    assert await shop.sample.value(used) == 1
    assert site.by_bytes == [200] * 3


async def test_a_server_that_stops_closes_the_connection(shop: StorefrontClient):
    async with served() as site, site.line() as line:
        await learn(line, products(shop))
        site.app[HEALTH].stopping = True
        assert (await line.ask(products(shop))).headers["connection"] == "close"
    assert site.by_bytes == []


# --- what isn't answered by its bytes --------------------------------------------------------------------------------


async def test_others_go_the_whole_way(site: Site, shop: StorefrontClient):
    cart = await shop.cart((shop.sample.mug, 1))
    requests = [
        products(shop, Connection="close"),
        products(shop, Expect="something"),
        products(shop).replace(b"HTTP/1.1", b"HTTP/1.0"),
        request(shop, "/api/v1/storefront/products").replace(b"GET", b"HEAD", 1),
        request(shop, "/api/v1/storefront/products/unknown"),
        request(shop, f"/api/v1/storefront/carts/{cart}"),
        request(shop, "/graphql", {"query": "{ unknown }"}),
        request(shop, "/graphql", {"query": f'{{ cart(id: "{cart}") {{ id }} }}'}),
        request(shop, "/graphql", {"query": PRODUCTS + " " * 9_000}),
    ]
    for asked in requests:
        for _ in range(4):
            async with site.line() as line:
                await line.send(asked)
                head = await line.reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.")
                assert b" 500 " not in head
    assert site.by_bytes == []


async def test_bytes_that_do_not_begin_a_request_are_none(site: Site, shop: StorefrontClient):
    """A known request as the end of another's head, as its body, in pieces, or two in one piece."""
    asked = products(shop)
    async with site.line() as line:
        known = (await learn(line, asked))[-1]
    async with site.line() as line:
        await line.send(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-Any: thing\r\n", asked)
        assert (await line.read()).status == 400
    async with site.line() as line:
        await line.send(
            request(shop, "/graphql", {}).replace(
                b"Content-Length: 2\r\n\r\n{}", b"Content-Length: %d\r\n\r\n" % len(asked)
            ),
            asked,
        )
        assert b"invalid request body" in (await line.read()).body
        assert (await line.ask(asked)).lasting == known.lasting
    async with site.line() as line:
        await line.send(asked[:50], asked[50:])
        assert (await line.read()).lasting == known.lasting
        await line.send(asked + asked)
        assert [(await line.read()).lasting for _ in range(2)] == [known.lasting] * 2
    assert site.by_bytes == []


@pytest.mark.parametrize("seed", range(6))
async def test_any_division_into_segments_gives_the_same_responses(
    seed: int, site: Site, plain: Site, shop: StorefrontClient
):
    """Generated requests in generated pieces: the responses are those of a server that parses every request."""
    choices = [
        products(shop),
        request(shop, "/api/v1/storefront/products?limit=1"),
        request(shop, f"/graphql?query={quote(PRODUCTS)}", If_None_Match="*"),
        request(shop, "/graphql", {"query": "{ store { name } }"}),
        request(shop, "/api/v1/storefront/products/unknown"),
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ]
    await compare(seed, choices, site, plain)
    assert site.by_bytes


# --- memory ----------------------------------------------------------------------------------------------------------


async def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch, shop: StorefrontClient):
    async with served() as site, site.line() as line:
        repeated = site.app[DIRECT_ANSWERS].repeated
        monkeypatch.setattr(repeated._known, "_size", 5)
        for n in range(12):
            asked = request(shop, f"/api/v1/storefront/products?limit={n + 1}")
            await learn(line, asked)
            assert len(repeated) <= 5
            assert len(repeated._known._once) <= 5
        assert site.by_bytes == []
        await line.ask(asked)
        assert len(site.by_bytes) == 1  # the newest
        await line.ask(request(shop, "/api/v1/storefront/products?limit=1"))
        assert len(site.by_bytes) == 1  # the oldest is forgotten


async def test_an_answer_that_the_cache_no_longer_has_is_not_kept_by_its_request(shop: StorefrontClient):
    async with served() as site, site.line() as line:
        known = (await learn(line, products(shop)))[-1]
        cache = site.app[CATALOGUE_CACHE]
        for key in [*cache._answers]:
            cache._drop(key)
        await line.ask(
            b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )  # the connection keeps its last response
        (entry,) = site.app[DIRECT_ANSWERS].repeated._known._values.values()
        assert entry.answer() is None
        assert (await line.ask(products(shop))).lasting == known.lasting
    assert site.by_bytes == []
