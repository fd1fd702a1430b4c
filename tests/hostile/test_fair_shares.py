"""A caller who sends much waits for itself: others sign in, are answered and keep what is cached for them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from graphql import get_introspection_query

from auth.storefront_keys import create_storefront_key
from kernel.ids import uuid7
from kernel.scope import active_scope
from kernel.settings import Settings
from kernel.work_queues import PYTHON_WORK
from server.http.graphql_view import DOCUMENTS
from tests.harness.http import Client, HttpClient, Response, ServeApplication
from tests.harness.sample_store import SampleStore

RATE = 20
"""Failed credentials of an address in a minute."""


@pytest.fixture(scope="module")
async def guarded(serve_application: ServeApplication) -> HttpClient:
    """Return a connection to an application that counts what is sent without a credential."""
    return await serve_application(Settings(ip_rate=0, failed_auth_rate=RATE))


@pytest.fixture
async def key(sample: SampleStore, guarded: HttpClient) -> Client:
    """Return a client with a storefront key; each address may send a lot with it."""
    with active_scope(sample.scope):
        made = await create_storefront_key(
            sample.scope, {"name": uuid7().hex, "rate_limit": 100_000, "per_address": 100_000}
        )
    return Client(guarded, sample.store, {"X-API-Key": made.key})


@asynccontextmanager
async def busy_thread() -> AsyncIterator[None]:
    """Keep the thread for work in Python busy, as a long document does."""
    may_end = threading.Event()
    busy = asyncio.ensure_future(PYTHON_WORK.run(may_end.wait, "test", 1, ("test",)))
    try:
        yield
    finally:
        may_end.set()
        await busy


def names(number: int, count: int = 1_900) -> str:
    """Return a document of unknown names, about 20,000 characters long."""
    return "{" + " ".join(f"n{number:02}x{name:05}" for name in range(count)) + "}"


def document(client: Client, text: str) -> asyncio.Task[Response]:
    return asyncio.get_running_loop().create_task(client.post("/graphql", {"query": text}))


async def answered(tasks: list[asyncio.Task[Response]], count: int) -> None:
    """Wait until so many requests are answered."""
    while sum(task.done() for task in tasks) < count:
        await asyncio.sleep(0.005)


def statuses(responses: Iterable[Response]) -> Counter[int]:
    return Counter(response.status for response in responses)


async def test_documents_without_a_credential_are_counted_first_and_leave_nothing_in_the_cache(
    sample: SampleStore, guarded: HttpClient
):
    anonymous = Client(guarded, sample.store)
    cached = len(guarded.app[DOCUMENTS])
    async with busy_thread():  # none of them needs it
        hostile = [await document(anonymous, names(number)) for number in range(60)]
    assert statuses(hostile) == {401: RATE, 429: 60 - RATE}
    assert hostile[0].body["error"] == "missing authorization header"
    refused = hostile[-1]
    assert refused.body["detail"] == f"more than {RATE} requests a minute without a credential from this address"
    assert refused.headers["Retry-After"] == "60"
    assert len(guarded.app[DOCUMENTS]) == cached
    # Others are served, those with a credential from the same address too.
    assert (await Client(guarded, sample.store).get("/health/live")).status == 200
    here = replace(sample, http=guarded, ip=anonymous.ip)
    assert "data" in (await here.post("/graphql", {"query": "{ store { id } }"}, auth="bearer")).body
    assert (await document(anonymous.from_new_address(), "{ store { id } }")).status == 401


async def test_a_document_without_a_credential_has_at_most_200_tokens(sample: SampleStore, guarded: HttpClient):
    sign_in = (
        'mutation { login(identifier: "nobody@example.com", password: "wrong-password") { token { access_token } } }'
    )
    anonymous = Client(guarded, sample.store)
    cached = len(guarded.app[DOCUMENTS])
    allowed = await document(anonymous, sign_in)
    assert "errors" in allowed.body
    assert allowed.body["errors"][0]["extensions"]["code"] != "QUERY_TOO_COMPLEX"
    refused = await document(anonymous, sign_in.replace("{ access_token", "{ " + "x " * 200))
    assert (refused.status, refused.body["error"]) == (401, "missing authorization header")
    assert len(guarded.app[DOCUMENTS]) == cached


async def test_a_third_document_of_an_address_that_would_wait_is_429_and_another_address_is_served(
    key: Client, sample: SampleStore
):
    other = key.from_new_address()
    user = await sample.add_user()
    cached = "{ store { id } }"
    await document(other, cached)
    async with busy_thread():
        hostile = [document(key, names(number)) for number in range(60)]
        await answered(hostile, 58)
        waiting = document(other, names(99, 400))
        assert (await other.get("/health/live")).status == 200
        assert "data" in (await document(other, cached)).body
        signed_in = await other.post("/api/v1/auth/login", {"identifier": user.email, "password": user.password})
        assert (signed_in.status, waiting.done()) == (200, False)
    results = await asyncio.gather(*hostile)
    assert statuses(results) == {200: 2, 429: 58}
    refused = next(each for each in results if each.status == 429)
    assert refused.body["detail"] == "more than 2 documents of this caller are waiting"
    assert refused.headers["Retry-After"] == "1"
    assert (await waiting).body["errors"][0]["message"].startswith("Cannot query field")


async def test_documents_of_one_address_do_not_evict_those_of_others(key: Client, guarded: HttpClient):
    other = key.from_new_address()
    mine = "{ store { id name currency } }"
    assert "data" in (await document(other, mine)).body
    documents = guarded.app[DOCUMENTS]
    prepared = documents.find(mine)
    for number in range(1_100):
        assert (await document(key, f"{{ a{number}: store {{ id }} }}")).status == 200
    assert documents.find(mine) is prepared
    assert len(documents) <= 1_000


async def test_one_introspection_of_an_address_waits_and_the_others_are_429(key: Client, guarded: HttpClient):
    full = get_introspection_query()
    other = key.from_new_address()
    async with busy_thread():
        aliased = [full.replace("__schema", f"a{number}: __schema") for number in range(30)]
        for text in aliased:  # prepared, as if they had been sent before
            guarded.app[DOCUMENTS].prepare_now(text)
        guarded.app[DOCUMENTS].prepare_now(full)
        hostile = [document(key, text) for text in aliased]
        await answered(hostile, 29)
        standard = document(other, full)
        assert (await other.get("/health/live")).status == 200
    assert statuses(await asyncio.gather(*hostile)) == {200: 1, 429: 29}
    assert "data" in (await standard).body
    # Who asks for the same gets it without waiting.
    async with busy_thread():
        assert "data" in (await document(key, full)).body


async def test_types_are_looked_up_at_once_and_wait_for_no_introspection(key: Client, guarded: HttpClient):
    texts = [f'{{ a{number}: __type(name: "Product") {{ name kind }} }}' for number in range(15)]
    for text in texts:  # prepared, as if they had been sent before
        guarded.app[DOCUMENTS].prepare_now(text)
    async with busy_thread():
        answers = await asyncio.gather(*(document(key, text) for text in texts))
    assert statuses(answers) == {200: 15}
    assert answers[3].body["data"] == {"a3": {"name": "Product", "kind": "OBJECT"}}
