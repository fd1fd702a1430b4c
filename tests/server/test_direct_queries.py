"""Queries that are answered without aiohttp's request and response: nothing differs but the time."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest

from auth.credential_cache import process_cache
from kernel import logging
from kernel.errors import Unavailable
from models.connection import database
from models.reading.response_shapes import NotCompiled
from server.http import request_metrics
from server.http.connections import DIRECT_ANSWERS
from server.http.health import HEALTH
from tests.harness.http import bearer
from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.harness.storefront import open_storefront
from tests.server.direct_requests import SETTINGS, Answer, Line, Site, compare, http_bytes, learn, served

pytestmark = pytest.mark.slow

PRODUCT = "query ($id: ID!) { product(id: $id) { id name sku price_cents } }"
MANY = "{ product_page(sort: NAME_ASC) { items { id name sku description } total } }"

Ask = Callable[..., bytes]


@pytest.fixture
async def site(database: object) -> AsyncIterator[Site]:
    """Return a server that knows no document."""
    async with served() as site:
        yield site


@pytest.fixture(scope="module")
async def plain(database: object) -> AsyncIterator[Site]:
    """Return a server that parses all requests."""
    async with served(is_direct=False) as site:
        yield site


@pytest.fixture
async def sample(new_sample: NewSampleStore) -> SampleStore:
    return await new_sample()


@pytest.fixture
async def ask(sample: SampleStore) -> Ask:
    """Return a function that makes the bytes of the owner's requests."""
    credentials = bearer(await sample.token(sample.owner))

    def make(query: str = PRODUCT, variables: Any = None, **headers: str) -> bytes:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return http_bytes(sample, "/graphql", {"query": query, "variables": variables}, {**credentials, **named})

    return make


async def plan(line: Line, ask: Ask, sample: SampleStore) -> list[Answer]:
    """Make the server know the document and the head: a plan is made, used, and used with a head that came before."""
    return [await line.ask(ask(PRODUCT, {"id": str(sample.mug.id)})) for _ in range(3)]


# --- the same answer -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query, headers",
    [
        (PRODUCT, {}),
        (PRODUCT, {"Accept": "application/graphql-response+json"}),
        (PRODUCT, {"Origin": "https://shop.example"}),
        (PRODUCT, {"X_Request_Id": "mine-7", "User_Agent": "a shop's program"}),
        (MANY, {}),
        (MANY, {"Accept_Encoding": "zstd, br"}),
        ("query A { me { email } }", {"Accept_Encoding": "gzip"}),
        ("query ($n: Int = 3) { products(limit: $n) { id images { url } } }", {}),
    ],
)
async def test_a_query_is_answered_directly_as_before(
    query: str, headers: dict[str, str], site: Site, sample: SampleStore, ask: Ask
):
    for n in range(20):
        await sample.add_product(description=f"Caneca {n} de cerâmica esmaltada. " * 3)
    asked = ask(query, {"id": str(sample.mug.id)} if "$id" in query else None, **headers)
    async with site.line() as line, site.line() as other:
        answers = await learn(line, asked)
        assert b"errors" not in answers[0].body
        assert site.queries == []
        for each in (line, other, line):
            again = await each.ask(asked)
            assert [again.lasting] * 3 == [answer.lasting for answer in answers]
            assert (again.headers["x-request-id"] == "mine-7") == ("X_Request_Id" in headers)
        assert site.queries == [True] * 3
    assert ("content-encoding" in again.headers) == (query == MANY and "Accept_Encoding" in headers)
    assert ("access-control-allow-origin" in again.headers) == ("Origin" in headers)


async def test_a_head_is_known_for_other_variables(site: Site, sample: SampleStore, ask: Ask):
    products = [await sample.add_product() for _ in range(3)]
    async with site.line() as line:
        await plan(line, ask, sample)
        for product in products:
            answer = await line.ask(ask(PRODUCT, {"id": str(product.id)}))
            assert json.loads(answer.body)["data"]["product"]["id"] == str(product.id)
    assert site.queries == [True] * 3


async def test_small_and_large_answers_of_one_head(site: Site, plain: Site, sample: SampleStore, ask: Ask):
    small, large = await sample.add_product(name="Um"), await sample.add_product(name="Um " * 80 + "." * 15)
    query = "query ($id: ID!) { product(id: $id) { id a: name b: name c: name d: name e: name f: name g: name } }"
    async with site.line() as line, plain.line() as other:
        await learn(line, ask(query, {"id": str(small.id)}, Accept_Encoding="br"))
        for product in (large, small, large):
            asked = ask(query, {"id": str(product.id)}, Accept_Encoding="br")
            answer = await line.ask(asked)
            assert answer.lasting == (await other.ask(asked)).lasting
            assert ("content-encoding" in answer.headers) == (product is large)
    assert site.queries == [True] * 3


@pytest.mark.parametrize("seed", range(4))
async def test_any_division_into_segments_gives_the_same_responses(
    seed: int, site: Site, plain: Site, sample: SampleStore, ask: Ask
):
    """Generated requests in generated pieces, two at a time and more: the responses are those of a server that parses each."""
    token = await sample.token(sample.bia)
    choices = [
        ask(PRODUCT, {"id": str(sample.mug.id)}),
        ask(PRODUCT, {"id": str(sample.owner.id)}),  # null
        ask(PRODUCT, {"id": "no id"}),
        ask(PRODUCT, {"id": None}),
        ask(PRODUCT, {"id": str(sample.mug.id), "more": 1}, Accept_Encoding="br"),
        ask(MANY),
        ask("{ me { email } }"),
        ask("{ order_page { total } }"),
        ask("{ unknown }"),
        ask("mutation { unknown }"),
        http_bytes(sample, "/graphql", {"query": "{ order_page { total } }"}, bearer(token)),
        http_bytes(sample, "/graphql", {"query": "{ me { email } }"}, bearer("wrong")),
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ]
    await compare(seed, choices, site, plain)
    assert True in site.queries


async def test_an_origin_that_is_no_text_is_returned_as_before(site: Site, plain: Site, sample: SampleStore, ask: Ask):
    asked = ask(PRODUCT, {"id": str(sample.mug.id)}, Origin="https://?.example").replace(b"?", b"\xff")
    async with site.line() as line, plain.line() as other:
        for _ in range(4):
            assert (await line.ask(asked)).lasting == (await other.ask(asked)).lasting
    assert site.queries == [True]


# --- what may change in between --------------------------------------------------------------------------------------


async def test_a_query_reads_what_was_written_before(site: Site, sample: SampleStore, ask: Ask):
    async with site.line() as line:
        await plan(line, ask, sample)
        for price in (1_111, 2_222, 3_333):
            await sample.execute("UPDATE products SET price_cents = $1 WHERE public_id = $2", price, sample.mug.id)
            answer = await line.ask(ask(PRODUCT, {"id": str(sample.mug.id)}))
            assert json.loads(answer.body)["data"]["product"]["price_cents"] == price
    assert site.queries == [True] * 3


async def test_a_refused_credential_goes_the_whole_way(site: Site, sample: SampleStore, ask: Ask):
    async with site.line() as line:
        await plan(line, ask, sample)
        await sample.execute("UPDATE sessions SET ended_at = now() WHERE ended_at IS NULL")
        process_cache().clear()
        assert (await line.ask(ask(PRODUCT, {"id": str(sample.mug.id)}))).status == 401
    assert site.queries == []


async def test_requests_count_against_their_limits_once(sample: SampleStore):
    """Answered directly, refused by a plan, or not answered directly at all."""
    shop = await open_storefront(sample)
    await sample.execute("UPDATE storefront_keys SET rate_limit = 12")
    cart = await shop.cart((sample.mug, 1))
    process_cache().clear()

    def asked(id_: str) -> bytes:
        body = {"query": "query ($id: ID!) { cart(id: $id) { id total_cents } }", "variables": {"id": id_}}
        return http_bytes(sample, "/graphql", body, {"X-API-Key": str(shop.key)})

    async with served(replace(SETTINGS, ip_rate=1_000)) as site, site.line() as line:
        answers = [await line.ask(asked(id_)) for id_ in [cart] * 8 + [str(sample.mug.id)] * 2 + [cart] * 4]
    assert [answer.status for answer in answers] == [200] * 12 + [429] * 2
    assert [int(answer.headers["x-ratelimit-remaining"]) for answer in answers] == [*range(11, -1, -1), 0, 0]
    assert site.queries.count(True) >= 5


async def test_it_is_logged_and_counted_as_another(site: Site, sample: SampleStore, ask: Ask):
    lines: list[bytes] = []
    async with site.line() as line:
        await plan(line, ask, sample)
        counted = dict(request_metrics._REQUESTS.values)
        before = logging.set_sink(lines.append)
        try:
            answer = await line.ask(ask(PRODUCT, {"id": str(sample.mug.id)}))
        finally:
            logging.set_sink(before)
    assert site.queries == [True]
    changed = {labels: count - counted.get(labels, 0) for labels, count in request_metrics._REQUESTS.values.items()}
    assert {labels: n for labels, n in changed.items() if n} == {("graphql", "POST", "/graphql", "200"): 1}
    (logged,) = [each for each in map(json.loads, lines) if each["event"] == "request"]
    assert re.fullmatch("user:[0-9]+", logged["actor"])
    assert (logged["store"], logged["status"]) == (str(sample.store.public_id), 200)
    assert logged["request_id"] == answer.headers["x-request-id"]


# --- while a query runs ----------------------------------------------------------------------------------------------


Slow = Callable[..., list[Any]]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """Return a function that makes each statement take longer, and fail with an error; it returns a list of those sent from then on."""
    run: Callable[..., Awaitable[Any]] = database._run

    def set_delay(seconds: float, error: BaseException | None = None) -> list[Any]:
        sent: list[Any] = []

        async def delayed(*args: Any, **options: Any) -> Any:
            sent.append(args)
            await asyncio.sleep(seconds)
            if error is not None:
                raise error
            return await run(*args, **options)

        monkeypatch.setattr(database, "_run", delayed)
        return sent

    return set_delay


async def test_responses_have_the_order_of_requests(site: Site, sample: SampleStore, ask: Ask, slow: Slow):
    known = ask(PRODUCT, {"id": str(sample.mug.id)})
    others = [
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
        known,
        b"GET /unknown HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ]
    async with site.line() as line:
        expected = (await plan(line, ask, sample))[-1]
        slow(0.1)
        await line.send(known)
        await asyncio.sleep(0.02)
        for other in others:
            await line.send(other)
            await asyncio.sleep(0.005)
        answers = [await line.read() for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 404]
    assert answers[0].lasting == answers[2].lasting == expected.lasting
    assert answers[1].body == b'{"status":"ok"}'
    assert site.queries == [True]


async def test_much_that_is_sent_meanwhile_waits_with_the_client(site: Site, sample: SampleStore, ask: Ask, slow: Slow):
    known = ask(PRODUCT, {"id": str(sample.mug.id)})
    async with site.line() as line:
        await plan(line, ask, sample)
        slow(0.2)
        await line.send(known)
        await asyncio.sleep(0.02)
        line.writer.write(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20_000)
        await asyncio.sleep(0.1)
        (connection,) = [each for each in site.connections() if each._query is not None]
        assert len(connection._waiting) < 1_000_000
        answers = [await line.read() for _ in range(20_001)]
    assert {answer.status for answer in answers} == {200}


async def test_a_server_that_stops_answers_what_runs_and_closes(sample: SampleStore, ask: Ask, slow: Slow):
    async with served() as site, site.line() as line, site.line() as idle:
        await plan(line, ask, sample)
        slow(0.2)
        await line.send(ask(PRODUCT, {"id": str(sample.mug.id)}))
        await asyncio.sleep(0.05)
        site.app[HEALTH].stopping = True
        answer = await line.read()
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert await line.reader.read() == b""
        slow(0.0)
        assert (await idle.ask(ask(PRODUCT, {"id": str(sample.mug.id)}))).headers["connection"] == "close"
    assert site.queries == [True]


async def test_a_shutdown_waits_for_a_query(sample: SampleStore, ask: Ask, slow: Slow):
    async with served() as site, site.line() as line:
        await plan(line, ask, sample)
        slow(0.3)
        await line.send(ask(PRODUCT, {"id": str(sample.mug.id)}))
        await asyncio.sleep(0.05)
        assert site.runner is not None
        stopped = asyncio.create_task(site.runner.cleanup())
        assert (await line.read()).status == 200
        assert await line.reader.read() == b""
        await stopped
    assert site.queries == [True]


async def test_a_query_that_is_cancelled_closes_its_connection_as_before(
    site: Site, plain: Site, sample: SampleStore, ask: Ask, slow: Slow
):
    for each in (site, plain):
        async with each.line() as line:
            await plan(line, ask, sample)
            slow(0.05, asyncio.CancelledError())
            await line.send(ask(PRODUCT, {"id": str(sample.mug.id)}))
            async with asyncio.timeout(5):
                assert await line.reader.read() == b""
            slow(0.0)
    assert site.queries == [False]


async def test_a_client_that_leaves_is_forgotten(site: Site, sample: SampleStore, ask: Ask, slow: Slow):
    async with site.line() as line:
        await plan(line, ask, sample)
        slow(0.1)
        await line.send(ask(PRODUCT, {"id": str(sample.mug.id)}))
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    assert site.queries == [True]
    assert [each for each in site.connections() if each._query is not None] == []


@pytest.mark.parametrize("error", [Unavailable(), RuntimeError("unexpected"), TimeoutError(), NotCompiled()])
async def test_a_query_that_fails_sends_no_statement_again(
    error: Exception, site: Site, plain: Site, sample: SampleStore, ask: Ask, slow: Slow
):
    answers, statements = [], []
    for each in (site, plain):
        async with each.line() as line:
            await plan(line, ask, sample)
            sent = slow(0.0, error)
            answers.append((await line.ask(ask(PRODUCT, {"id": str(sample.mug.id)}))).lasting)
            # What else runs in the process may send statements too, of no store.
            statements.append([each for each in sent if sample.store.id in each[1]])
            slow(0.0)
    assert answers[0] == answers[1]
    assert statements[0] == statements[1]
    assert len(statements[0]) > 0
    assert site.queries == [False]


async def test_a_query_over_the_time_out_is_503_as_before(sample: SampleStore, slow: Slow):
    shop = await open_storefront(sample)
    cart = await shop.cart((sample.mug, 1))
    body = {"query": "query ($id: ID!) { cart(id: $id) { id total_cents } }", "variables": {"id": cart}}
    asked = http_bytes(sample, "/graphql", body, {"X-API-Key": str(shop.key)})
    settings, lines, seen = replace(SETTINGS, request_timeout=0.3), list[bytes](), []
    for is_direct in (True, False):
        async with served(settings, is_direct=is_direct) as site, site.line() as line:
            await learn(line, asked)
            slow(1.0)
            before = logging.set_sink(lines.append)
            try:
                answer = await line.ask(asked)
            finally:
                logging.set_sink(before)
                slow(0.0)
            seen.append((answer.lasting, answer.headers["x-ratelimit-remaining"]))
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert (await line.ask(asked)).status == 200
            assert site.queries == ([False, True] if is_direct else [])
    assert seen[0] == seen[1]
    first, second = [each for each in map(json.loads, lines) if each["event"] == "request"]
    assert [first[name] == second[name] for name in ("status", "store", "actor", "refused")] == [True] * 4
    assert min(first["ms"], second["ms"]) >= 290


async def test_a_query_of_a_client_that_left_counts_whatever_becomes_of_it(sample: SampleStore, slow: Slow):
    shop = await open_storefront(sample)
    cart = await shop.cart((sample.mug, 1))
    body = {"query": "query ($id: ID!) { cart(id: $id) { id total_cents } }", "variables": {"id": cart}}
    asked = http_bytes(sample, "/graphql", body, {"X-API-Key": str(shop.key)})
    lines: list[bytes] = []
    async with served(replace(SETTINGS, ip_rate=1_000)) as site:
        async with site.line() as line:
            before = (await learn(line, asked))[-1]
        slow(0.1, NotCompiled())
        sink = logging.set_sink(lines.append)
        try:
            async with site.line() as line:
                await asyncio.sleep(0.02)
                await line.send(asked)
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.3)
        finally:
            logging.set_sink(sink)
            slow(0.0)
        assert site.queries == [False]
        async with site.line() as line:
            after = await line.ask(asked)
    assert int(before.headers["x-ratelimit-remaining"]) - int(after.headers["x-ratelimit-remaining"]) == 2
    (logged,) = [each for each in map(json.loads, lines) if each["event"] == "request"]
    assert (logged["status"], logged["store"]) == (499, str(sample.store.public_id))


async def test_running_queries_count_against_their_address(sample: SampleStore, ask: Ask, slow: Slow):
    asked = ask(PRODUCT, {"id": str(sample.mug.id)})
    async with served(replace(SETTINGS, address_requests=2)) as site, AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(site.line()) for _ in range(6)]
        await plan(lines[0], ask, sample)
        slow(0.2)
        for line in lines:
            line.writer.write(asked)
        answers = await asyncio.gather(*[line.read() for line in lines])
        assert sorted((answer.status, answer.headers.get("retry-after")) for answer in answers) == (
            [(200, None)] * 2 + [(429, "1")] * 4
        )
        assert (await lines[-1].ask(asked)).status == 200
    assert site.queries == [True] * 3


async def test_a_shutdown_waits_for_a_query_that_goes_the_whole_way(sample: SampleStore, ask: Ask, slow: Slow):
    async with served() as site, site.line() as line:
        await plan(line, ask, sample)
        slow(0.2, NotCompiled())
        await line.send(ask(PRODUCT, {"id": str(sample.mug.id)}))
        await asyncio.sleep(0.05)
        assert site.runner is not None
        site.app[HEALTH].stopping = True
        stopped = asyncio.create_task(site.runner.cleanup())
        answer = await line.read()
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert "errors" in json.loads(answer.body)
        assert await line.reader.read() == b""
        await stopped
    assert site.queries == [False]


# --- what isn't answered directly ------------------------------------------------------------------------------------


async def test_others_go_the_whole_way(site: Site, sample: SampleStore, ask: Ask):
    known = ask(PRODUCT, {"id": str(sample.mug.id)})
    requests = [
        ask(PRODUCT, {"id": str(sample.mug.id)}, Connection="close"),
        ask(PRODUCT, {"id": str(sample.mug.id)}, Accept="text/event-stream"),
        ask(PRODUCT, {"id": str(sample.mug.id)}, Expect="something"),
        known.replace(b"HTTP/1.1", b"HTTP/1.0"),
        known.replace(b'"variables"', b'"variable!"'),
        known.replace(b'{"query"', b'["query"'),
        ask("mutation ($id: ID!) { product_update(input: {id: $id}) { product { id } } }", {"id": str(sample.mug.id)}),
        ask("query A { me { id } } query B { me { id } }"),
    ]
    for asked in requests:
        for _ in range(4):
            async with site.line() as line:
                await line.send(asked)
                head = await line.reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.")
                assert b" 500 " not in head
    assert site.queries == []


async def test_errors_are_those_of_the_whole_way(
    site: Site, plain: Site, sample: SampleStore, ask: Ask, new_sample: NewSampleStore
):
    other_store = await new_sample()
    values: list[Any] = [
        "x", "0" * 36, 7, True, None, [], {}, "\x00", "x" * 70_000, 2**31, 2**63, -(2**70), 1e300,
        str(sample.owner.id), str(other_store.mug.id),
    ]  # fmt: skip
    async with site.line() as line, plain.line() as other:
        await plan(line, ask, sample)
        for variables in ({}, {"unknown": 1}, *({"id": value} for value in values)):
            asked = ask(PRODUCT, variables)
            for _ in range(4):
                answer = await line.ask(asked)
                assert answer.lasting == (await other.ask(asked)).lasting
                assert answer.status < 500


async def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch, sample: SampleStore, ask: Ask):
    async with served() as site, site.line() as line:
        queries = site.app[DIRECT_ANSWERS].queries
        monkeypatch.setattr(queries._known, "_size", 3)
        for n in range(6):
            await learn(line, ask(PRODUCT, {"id": str(sample.mug.id)}, User_Agent=f"program {n}"))
            assert len(queries) <= 3


async def test_a_long_head_is_not_kept(site: Site, sample: SampleStore, ask: Ask):
    padding = {f"X-Padding-{n}": "x" * 1_000 for n in range(4)}
    async with site.line() as line:
        await learn(line, ask(PRODUCT, {"id": str(sample.mug.id)}, **padding))
    assert len(site.app[DIRECT_ANSWERS].queries) == 0
