"""Persisted documents have a quota for each registrar, who evicts its own or those of its kind only."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from auth.storefront_keys import create_storefront_key
from kernel.scope import active_scope
from resolvers.persisted_documents import MAX_OF_KIND
from tests.harness.clients import NewApp
from tests.harness.http import Client, bearer
from tests.harness.sample_store import NewSampleStore, SampleStore

_QUERY = "{{ store {{ id }} }} # {}"


async def _register(client: Client, name: str) -> None:
    query = _QUERY.format(name)
    body = {"query": query, "documentId": _id_of(query)}
    response = await client.post("/graphql", body)
    assert "errors" not in response.body, response.raw


async def _is_kept(client: Client, name: str) -> bool:
    response = await client.post("/graphql", {"documentId": _id_of(_QUERY.format(name))})
    return "errors" not in response.body


def _id_of(query: str) -> str:
    return "sha256:" + hashlib.sha256(query.encode()).hexdigest()


@pytest.fixture
async def own_sample(new_sample: NewSampleStore) -> SampleStore:
    """Return a store of the test's own: documents are counted."""
    return await new_sample()


async def _visitor(own_sample: SampleStore, **fields: object) -> Client:
    """Return a visitor with a storefront key and an address of its own."""
    scope = own_sample.scope
    with active_scope(scope):
        made = await create_storefront_key(scope, fields)
    return Client(own_sample.http, own_sample.store, {"X-API-Key": made.key})


def _client(own_sample: SampleStore, token: str) -> Client:
    return Client(own_sample.http, own_sample.store, bearer(token))


async def _customer(own_sample: SampleStore) -> Client:
    return _client(own_sample, await own_sample.token(await own_sample.add_user(user_type="C")))


async def _fill(own_sample: SampleStore, kind: str, number: int, registrars: int) -> None:
    """Register documents of many registrars of a kind, used a day ago."""
    await own_sample.execute(
        "insert into persisted_documents (tenant_id, public_id, hash, text, registrar, last_used_at)"
        " select $1, gen_random_uuid(), sha256(n::text::bytea), '{ store { id } }', $2::text || n % $4, now() - interval '1 day'"
        " from generate_series(1, $3::int) n",
        own_sample.store.id,
        f"{kind}:x",
        number,
        registrars,
    )


async def _count(own_sample: SampleStore, kind: str) -> int:
    counted = await own_sample.value("select count(*) from persisted_documents where starts_with(registrar, $1)", kind)
    return int(counted)


async def test_a_visitor_evicts_its_own_documents_only(own_sample: SampleStore, new_app: NewApp) -> None:
    app, visitor = (
        await new_app(at=_client(own_sample, await own_sample.token(own_sample.owner))),
        await _visitor(own_sample),
    )
    other, server = await _visitor(own_sample), await _visitor(own_sample, server_side=True)
    customer = await _customer(own_sample)
    kept = {"app": app, "other": other, "server": server, "customer": customer}
    for name, client in kept.items():
        await _register(client, name)
    for number in range(201):
        await _register(visitor, f"own {number}")
    assert await _count(own_sample, "visitor:") == 201
    assert not await _is_kept(visitor, "own 0")
    assert await _is_kept(visitor, "own 1")
    for name, client in kept.items():
        assert await _is_kept(client, name), name


async def test_the_visitors_of_a_store_share_a_thousand_documents(own_sample: SampleStore) -> None:
    visitor, customer = (
        await _visitor(own_sample),
        await _customer(own_sample),
    )
    await _register(customer, "customer")
    await _fill(own_sample, "visitor", MAX_OF_KIND, 50)
    await _register(visitor, "new")
    assert await _count(own_sample, "visitor:") == MAX_OF_KIND
    assert await _is_kept(visitor, "new")
    assert await _is_kept(customer, "customer")


async def test_users_share_a_thousand_documents_too(own_sample: SampleStore) -> None:
    customer = await _customer(own_sample)
    await _fill(own_sample, "user", MAX_OF_KIND, 50)
    await _register(customer, "new")
    assert await _count(own_sample, "user:") == MAX_OF_KIND
    assert await _is_kept(customer, "new")


async def test_a_document_that_an_app_registers_again_is_evicted_by_no_visitor(
    own_sample: SampleStore, new_app: NewApp
) -> None:
    visitor, app = (
        await _visitor(own_sample),
        await new_app(at=_client(own_sample, await own_sample.token(own_sample.owner))),
    )
    await _register(visitor, "shared")
    await _register(app, "shared")
    await _register(visitor, "shared")
    assert (await _count(own_sample, "app:"), await _count(own_sample, "visitor:")) == (1, 0)


async def test_another_visitor_does_not_take_a_document_over(own_sample: SampleStore) -> None:
    first, second = await _visitor(own_sample), await _visitor(own_sample)
    await _register(first, "page")
    registrar = await own_sample.value("select registrar from persisted_documents")
    await _register(second, "page")
    assert await own_sample.value("select registrar from persisted_documents") == registrar


async def test_the_last_use_is_known_to_the_minute_and_written_once_in_one(own_sample: SampleStore) -> None:
    visitor = await _visitor(own_sample)
    await _register(visitor, "page")
    await own_sample.execute("update persisted_documents set last_used_at = now() - interval '61 seconds'")
    assert await _is_kept(visitor, "page")
    used_at = await own_sample.value("select last_used_at from persisted_documents")
    assert datetime.now(UTC) - used_at < timedelta(seconds=30)
    assert await _is_kept(visitor, "page")
    assert await own_sample.value("select last_used_at from persisted_documents") == used_at
