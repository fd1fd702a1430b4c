"""The use of root fields and deprecated fields is counted by app and storefront key, in memory, and stored by one statement."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from time import thread_time
from typing import Any

import pytest
from graphql import build_schema

from auth.storefront_keys import create_storefront_key
from domain.retention import delete_expired
from kernel import metrics
from kernel.scope import ActorKind, Scope
from models.connection import database
from resolvers.engine.prepare import prepare_document
from resolvers.engine.usage import MAX_ENTRIES, UsageCounter
from server.http.graphql_view import USAGE
from server.usage import storing
from tests.harness.sample_store import SampleStore

SCHEMA = build_schema("""
    interface Named { name: String, old_name: String @deprecated }
    type Thing implements Named {
        name: String, old_name: String @deprecated, part(size: Int, length: Int @deprecated): Part
    }
    type Part { id: ID, number: Int @deprecated, whole: Thing }
    union Any = Thing | Part
    type Query { thing: Thing, old_thing: Thing @deprecated, any: Any, named: Named }
    type Mutation { change(id: ID): Thing }
""")
USAGES = "{ schema_usages(limit: 100, sort: FIELD_ASC) { field is_deprecated caller uses storefront_key { name } installed_app { id } } }"
READ = "query Read { pages(limit: 5) { name seo_title } blocks(limit: 1) { id } }"


def fields_of(text: str, name: str | None = None) -> set[str]:
    prepared = prepare_document(SCHEMA, text, limited=True)
    assert not prepared.errors
    return set(prepared.fields_of(name))


@pytest.mark.parametrize(
    "text, used",
    [
        ("{ thing { name part { id } } }", {"Query.thing"}),
        ("{ a: thing { old_name } b: thing { __typename } }", {"Query.thing", "Thing.old_name"}),
        ("{ old_thing { part(length: 3) { number } } }", {"Query.old_thing", "Thing.part(length:)", "Part.number"}),
        ("{ ...F any { ... on Part { number } } } fragment F on Query { thing { ...G } } fragment G on Thing { old_name }",
         {"Query.thing", "Query.any", "Part.number", "Thing.old_name"}),
        ("{ named { old_name ... { name } } }", {"Query.named", "Named.old_name"}),
        ("mutation { change(id: 1) { old_name } }", {"Mutation.change", "Thing.old_name"}),
        ("{ __typename }", set()),
    ],
)  # fmt: skip
def test_a_document_uses_its_root_fields_and_what_is_deprecated(text: str, used: set[str]) -> None:
    assert fields_of(text) == used


def test_each_operation_of_a_document_has_its_own() -> None:
    text = "query A { thing { name } } query B { any { __typename } }"
    assert (fields_of(text, "A"), fields_of(text, "B"), fields_of(text)) == ({"Query.thing"}, {"Query.any"}, set())


async def storefront_key(sample: SampleStore, name: str) -> dict[str, str]:
    async with database.transaction(sample.scope):
        created = await create_storefront_key(sample.scope, {"name": name, "scopes": ["storefront:read"]})
    return {"X-API-Key": created.key}


async def usages(sample: SampleStore) -> list[Any]:
    answer = (await sample.post("/graphql", {"query": USAGES}, auth="bearer")).body
    return [entry for entry in answer["data"]["schema_usages"] if entry["field"] != "Query.schema_usages"]


async def test_administrators_see_what_each_key_used(sample: SampleStore, other_sample: SampleStore) -> None:
    counter = sample.http.app[USAGE]
    await counter.flush()  # what other tests of the process used
    shop, till = await storefront_key(sample, "shop"), await storefront_key(sample, "till")
    for headers, times in ((shop, 3), (till, 1)):  # repeated ones are answered by the cache of the catalogue
        for _ in range(times):
            answer = await sample.anonymous.post("/graphql", {"query": READ}, headers=headers)
            assert "errors" not in answer.body, (headers, answer.body)
    await sample.post("/graphql", {"query": READ, "operationName": "Read"}, auth="bearer")
    await sample.anonymous.post("/graphql", {"query": "{ pages { nothing } }"}, headers=shop)
    with database.count_statements() as counted:
        await counter.flush()
    assert counted.count == 1, counted.statements
    expected = [
        {"field": field, "is_deprecated": field == "Page.seo_title", "caller": caller, "uses": uses,
         "storefront_key": name and {"name": name}, "installed_app": None}
        for field in ("Page.seo_title", "Query.blocks", "Query.pages")
        for caller, uses, name in (("admin", 1, None), ("storefront", 3, "shop"), ("storefront", 1, "till"))
    ]  # fmt: skip
    order = lambda entry: (entry["field"], entry["caller"], str(entry["storefront_key"]))  # noqa: E731
    assert sorted(await usages(sample), key=order) == sorted(expected, key=order)
    await sample.anonymous.post("/graphql", {"query": READ}, headers=shop)
    await counter.flush()
    again = {entry["uses"] for entry in await usages(sample) if (entry["storefront_key"] or {}).get("name") == "shop"}
    assert again == {4}
    assert await usages(other_sample) == []


async def test_a_key_that_is_gone_loses_no_other_counts(sample: SampleStore) -> None:
    counter = UsageCounter(SCHEMA)
    for key in (987_654_321, None):
        counter.count(sample.as_actor(ActorKind.STOREFRONT, storefront_key_id=key), ("Query.thing",))
    await counter.flush()
    assert await sample.value("select count(*) from schema_usage where field = 'Query.thing'") == 1


async def test_a_store_that_became_read_only_since_counts_nothing(sample: SampleStore) -> None:
    counter = UsageCounter(SCHEMA)
    counter.count(sample.as_actor(ActorKind.CUSTOMER), ("Query.thing",))
    async with database.cross_store_connection() as platform:
        await platform.execute("update tenants set is_read_only = true where id = $1", sample.store.id)
    await counter.flush()
    assert await sample.value("select count(*) from schema_usage where field = 'Query.thing'") == 0


async def test_what_was_not_stored_when_the_flush_is_cancelled_is_kept(
    sample: SampleStore, other_sample: SampleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter, actors = UsageCounter(SCHEMA), [each.as_actor(ActorKind.CUSTOMER) for each in (sample, other_sample)]
    for actor in actors:
        counter.count(actor, ("Query.thing",))
    with monkeypatch.context() as patch:
        patch.setattr("resolvers.engine.usage.store_usage", lambda *_: asyncio.Event().wait())
        flushing = asyncio.create_task(counter.flush())
        await asyncio.sleep(0.05)
        counter.count(actors[0], ("Query.thing",))
        flushing.cancel()
        await asyncio.wait([flushing])
    assert flushing.cancelled()
    await counter.flush()
    uses = "select uses from schema_usage where field = 'Query.thing'"
    assert [await each.value(uses) for each in (sample, other_sample)] == [2, 1]


async def test_a_process_that_ends_stores_what_a_thousand_stores_used(
    caller: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = []

    async def store(scope: Scope, _: object) -> None:
        await asyncio.sleep(0.005)
        stored.append(scope.store.id)

    monkeypatch.setattr("resolvers.engine.usage.store_usage", store)
    counter = UsageCounter(SCHEMA)
    async with storing(counter.flush):
        await asyncio.sleep(0)
        for number in range(1_000):
            counter.count(replace(caller, store=replace(caller.store, id=number)), ("Query.thing",))
    assert sorted(stored) == list(range(1_000))


async def test_what_was_not_used_for_90_days_is_deleted(sample: SampleStore) -> None:
    counter = UsageCounter(SCHEMA)
    counter.count(sample.as_actor(ActorKind.CUSTOMER), ("Query.thing", "Query.any"))
    await counter.flush()
    for field, days in (("Query.thing", 91), ("Query.any", 89)):
        await sample.execute(
            "update schema_usage set last_used_at = now() - $1 * interval '1 day' where field = $2", days, field
        )
    await delete_expired(sample.scope)
    assert await sample.value("select array_agg(field) from schema_usage") == ["Query.any"]


async def test_the_metric_has_no_names_of_stores(shared_sample: SampleStore) -> None:
    values = metrics.instruments()["vitrine_graphql_field_uses_total"]
    assert values.labels == ("field", "caller", "deprecated")
    counter = UsageCounter(SCHEMA)
    counter.count(shared_sample.as_actor(ActorKind.VENDOR), ("Query.old_thing",))
    await counter.flush()
    shown = metrics.snapshot()
    assert ("Query.old_thing", "vendor", "true") in shown["vitrine_graphql_field_uses_total"]


def test_counting_costs_microseconds_and_little_memory(caller: Scope) -> None:
    counter, fields = UsageCounter(SCHEMA), ("Query.thing", "Thing.old_name")
    seconds = []
    for _ in range(10):
        started = thread_time()
        for _ in range(2_000):
            counter.count(caller, fields)
        seconds.append((thread_time() - started) / 2_000)
    assert min(seconds) < 5e-6, "a small read takes at least 500 µs"


async def test_a_store_with_many_sets_of_fields_ends_no_other_count(
    sample: SampleStore, other_sample: SampleStore
) -> None:
    counter = UsageCounter(SCHEMA)
    for number in range(5_010):
        counter.count(sample.as_actor(ActorKind.CUSTOMER), (str(number),))
    counter.count(other_sample.as_actor(ActorKind.CUSTOMER), ("Query.thing",))
    await counter.flush()
    count = "select count(*) from schema_usage"
    assert (await sample.value(count), await other_sample.value(count)) == (MAX_ENTRIES, 1)


@pytest.fixture
def caller(shared_sample: SampleStore) -> Scope:
    return shared_sample.as_actor(ActorKind.STOREFRONT, storefront_key_id=1)
