"""Deadlocks and serialization failures are retried at most 3 times, and nothing outside the transaction is repeated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from domain.gateway import notifications
from domain.jobs import expire_unpaid_orders
from domain.orders.lifecycle import change_status
from domain.stores import set_gateway_secret
from kernel.errors import TransactionConflict
from kernel.ids import uuid7
from kernel.scope import ANONYMOUS, Scope, active_scope
from models.connection import database as db
from models.connection.database import retry_conflicts, separate_transaction, transaction
from tests.harness.clients import NewApp
from tests.harness.domain_store import DomainStore
from tests.harness.gateway import SECRET, charge, event, raw, signature
from tests.harness.http import Response
from tests.harness.sample_store import SampleStore

MESSAGE = "another change to the same records was under way; try again"
CREATE = 'mutation { product_create(input: {name: "Copo", price_cents: 990}) { id } }'
INSERT = "insert into vendors (public_id, name) values ($1, $2)"

Attempts = Callable[[], Awaitable[int]]


@pytest.fixture
def kit(scope: Scope) -> DomainStore:
    return DomainStore(scope)


@pytest.fixture
async def fail_writes(database_url: str, database: object) -> AsyncIterator[Any]:
    """Return a context manager: the first `failures` writes of rows of a table fail like the victim of a deadlock."""
    owner = await asyncpg.connect(database_url)

    @asynccontextmanager
    async def fail(table: str, failures: int, code: str = "40P01") -> AsyncIterator[Attempts]:
        # nextval survives the rollback, so each attempt counts.
        await owner.execute(f"""
            create sequence conflict_attempts;
            grant usage on sequence conflict_attempts to public;
            create function fail_conflict() returns trigger language plpgsql as $$ begin
                if nextval('conflict_attempts') <= {failures} then raise exception 'conflict' using errcode = '{code}'; end if;
                return new;
            end $$;
            create trigger fail_conflict before insert or update on {table} for each row execute function fail_conflict();
        """)
        try:
            yield lambda: owner.fetchval("select last_value from conflict_attempts")
        finally:
            await owner.execute(
                f"drop trigger fail_conflict on {table}; drop function fail_conflict; drop sequence conflict_attempts"
            )

    yield fail
    await owner.close()


async def vendors(scope: Scope) -> list[str]:
    with active_scope(scope):
        return [row["name"] for row in await db.fetch("select name from vendors order by name")]


async def test_both_sides_of_a_deadlock_succeed(scope: Scope, database: object) -> None:
    with active_scope(scope):
        for name in ("a", "b"):
            await db.execute(INSERT, uuid7(), name)
    both = asyncio.Barrier(2)
    attempts = 0

    async def lock(first: str, second: str) -> None:
        nonlocal attempts
        attempts += 1
        async with transaction(scope):
            await db.execute("update vendors set city = city || 'x' where name = $1", first)
            if attempts <= 2:
                await both.wait()
            await db.execute("update vendors set city = city || 'x' where name = $1", second)

    await asyncio.gather(retry_conflicts(lambda: lock("a", "b")), retry_conflicts(lambda: lock("b", "a")))
    assert attempts == 3
    with active_scope(scope):
        assert await db.fetchval("select array_agg(city) from vendors") == ["xx", "xx"]


async def test_the_fourth_conflict_is_raised(scope: Scope) -> None:
    attempts = 0

    async def work() -> None:
        nonlocal attempts
        attempts += 1
        raise TransactionConflict

    with pytest.raises(TransactionConflict, match=MESSAGE):
        await retry_conflicts(work)
    assert attempts == 4


async def test_what_needs_preparation_is_rolled_back_prepared_outside_of_the_transaction_and_repeated(
    scope: Scope, database: object
) -> None:
    prepared: list[bool] = []

    async def prepare() -> None:
        prepared.append(db.in_transaction())
        db.record_effect()

    async def work() -> str:
        async with transaction(scope):
            await db.execute(INSERT, uuid7(), "prepared")
            if not prepared:
                raise db.NeedsPreparation(prepare)
        return "done"

    assert await retry_conflicts(work) == "done"
    assert prepared == [False]
    assert await vendors(scope) == ["prepared"]


async def test_work_that_needs_preparation_again_and_again_fails(scope: Scope) -> None:
    prepared = 0

    async def prepare() -> None:
        nonlocal prepared
        prepared += 1

    async def work() -> None:
        raise db.NeedsPreparation(prepare)

    with pytest.raises(TransactionConflict):
        await retry_conflicts(work)
    assert prepared == 3


async def commit_first(scope: Scope) -> None:
    async with transaction(scope):
        await db.execute(INSERT, uuid7(), "first")


async def commit_separately(scope: Scope) -> None:
    async with transaction(scope):
        async with separate_transaction(scope):
            await db.execute(INSERT, uuid7(), "separate")
        raise TransactionConflict


async def write_without_a_transaction(scope: Scope) -> None:
    with active_scope(scope):
        await db.execute(INSERT, uuid7(), "single")


async def work_across_stores(scope: Scope) -> None:
    async with db.cross_store_connection() as connection:
        await connection.fetchval("select 1")


async def send_a_request(scope: Scope) -> None:
    from domain.outgoing import calls

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calls, "_caller", None)  # that of another test of this process
        with pytest.raises(calls.HttpCallerNotConfigured):
            await calls.post("https://example.com", headers={}, body=b"")
    db.record_effect()


@pytest.mark.parametrize(
    "effect",
    [commit_first, commit_separately, write_without_a_transaction, work_across_stores, send_a_request],
)
async def test_work_that_took_effect_is_not_repeated(scope: Scope, database: object, effect: Any) -> None:
    attempts = 0

    async def work() -> None:
        nonlocal attempts
        attempts += 1
        await effect(scope)
        raise TransactionConflict

    with pytest.raises(TransactionConflict):
        await retry_conflicts(work)
    assert attempts == 1
    assert len(await vendors(scope)) <= 1


async def test_reads_and_rolled_back_writes_do_not_prevent_a_retry(scope: Scope, database: object) -> None:
    attempts = 0

    async def work() -> None:
        nonlocal attempts
        attempts += 1
        with active_scope(scope):
            await db.fetch("select name, updated_at from vendors")
        async with transaction(scope):
            await db.execute(INSERT, uuid7(), "once")
            if attempts < 3:
                raise TransactionConflict

    await retry_conflicts(work)
    assert await vendors(scope) == ["once"]


# --- Every family ------------------------------------------------------------------------------------------------------------

FAMILIES = {
    "graphql": ("/graphql", {"query": CREATE}),
    "current": ("/api/v1/admin/products", {"name": "Copo", "price_cents": 990}),
    "legacy": ("/api/products", {"product": "Copo", "price": "9.90"}),
}


async def create(sample: SampleStore, family: str, key: str | None) -> Response:
    path, body = FAMILIES[family]
    headers = {"Idempotency-Key": key} if key else {}
    return await sample.post(path, body, auth="basic" if family == "legacy" else "bearer", headers=headers)


@pytest.mark.parametrize("code", ["40001", "23503"])
@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("family", FAMILIES)
async def test_a_request_is_retried_three_times(
    sample: SampleStore, fail_writes: Any, family: str, key: str | None, code: str
) -> None:
    await sample.token(sample.owner)
    async with fail_writes("products", 3, code) as attempts:
        answer = await create(sample, family, key)
        assert answer.status in (200, 201)
        assert "errors" not in answer.body
        assert await attempts() == 4
    assert await sample.value("SELECT count(*) FROM products WHERE name = 'Copo'") == 1
    assert await sample.value("SELECT count(*) FROM outbox_events WHERE name = 'product.created'") == 1


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("family", FAMILIES)
async def test_a_fourth_conflict_is_503_and_the_request_can_be_sent_again(
    sample: SampleStore, fail_writes: Any, family: str, key: str | None
) -> None:
    await sample.token(sample.owner)
    async with fail_writes("products", 4) as attempts:
        answer = await create(sample, family, key)
        assert await attempts() == 4
        assert MESSAGE in str(answer.body)
        assert answer.status == (200 if family == "graphql" else 503)
        if family == "graphql":
            assert answer.body["errors"][0]["extensions"]["code"] == "UNAVAILABLE"
        assert await sample.value("SELECT count(*) FROM products WHERE name = 'Copo'") == 0
        assert (await create(sample, family, key)).status in (200, 201)
    assert await sample.value("SELECT count(*) FROM products WHERE name = 'Copo'") == 1


async def test_an_app_request_is_retried(new_app: NewApp, fail_writes: Any) -> None:
    app = await new_app("write_products")
    async with fail_writes("products", 3):
        answer = await app.post("/api/admin/products", {"name": "Copo", "price_cents": 990})
    assert answer.status == 201


@pytest.mark.parametrize("failures", [3, 4])
async def test_each_mutation_of_a_document_is_retried_alone(
    sample: SampleStore, fail_writes: Any, failures: int
) -> None:
    three = (
        'mutation { a: category_create(input: {name: "A"}) { name }'
        ' b: product_create(input: {name: "Copo", price_cents: 1}) { name }'
        ' c: category_create(input: {name: "C"}) { name } }'
    )
    await sample.token(sample.owner)
    async with fail_writes("products", failures) as attempts:
        answer = await sample.post("/graphql", {"query": three}, auth="bearer")
        assert await attempts() == 4
    has_failed = failures == 4
    errors = [(error["path"], error["extensions"]["code"]) for error in answer.body.get("errors", [])]
    assert errors == ([(["b"], "UNAVAILABLE")] if has_failed else [])
    assert answer.body["data"] == {
        "a": {"name": "A"},
        "b": None if has_failed else {"name": "Copo"},
        "c": {"name": "C"},
    }
    counts = "SELECT name, count(*) FROM (SELECT name FROM {} WHERE name = ANY($1)) t GROUP BY 1 ORDER BY 1"
    categories = await sample.rows(counts.format("categories"), ["A", "C"])
    products = await sample.rows(counts.format("products"), ["Copo"])
    assert [tuple(row) for row in categories] == [("A", 1), ("C", 1)]
    assert [tuple(row) for row in products] == ([] if has_failed else [("Copo", 1)])


# --- Work without a request ----------------------------------------------------------------------------------------------------


async def test_a_gateway_notification_is_stored_and_applied_once(kit: DomainStore, fail_writes: Any) -> None:
    await set_gateway_secret(kit.scope, SECRET)
    order = await kit.order((await kit.product(), 1))
    body = event("charge.paid", charge(order.id))
    visitor = replace(kit.scope, actor=ANONYMOUS, family="current")
    async with fail_writes("payments", 3) as attempts:
        assert await notifications.receive(visitor, raw(body), [signature(body)]) == notifications.RECEIVED
        assert await attempts() == 4
    assert await kit.status(order.id) == "P"
    assert await kit.value("SELECT count(*) FROM payments WHERE tenant_id = $1") == 1


async def test_a_notification_in_conflict_is_postponed_and_the_others_are_applied(
    kit: DomainStore, fail_writes: Any
) -> None:
    await set_gateway_secret(kit.scope, SECRET)
    orders = [await kit.order((await kit.product(), 1)) for _ in range(2)]
    visitor = replace(kit.scope, actor=ANONYMOUS, family="current")
    later = replace(kit.scope, now=kit.scope.now + timedelta(minutes=2))
    async with fail_writes("payments", 12):
        for order in orders:
            body = event("charge.paid", charge(order.id))
            await notifications.receive(visitor, raw(body), [signature(body)])
        assert await notifications.apply_pending(later, limit=10) == 2
    assert sorted([await kit.status(order.id) for order in orders]) == ["O", "P"]


async def test_the_expiry_job_is_retried_for_each_order(kit: DomainStore, fail_writes: Any) -> None:
    payment = await kit.payment(hold_minutes=30)
    product = await kit.product()
    orders = [await kit.order((product, 1), payment_method=payment, scope=kit.as_storefront()) for _ in range(2)]
    later = replace(kit.scope, now=kit.scope.now + timedelta(minutes=31))
    async with fail_writes("order_status_changes", 3):
        assert await expire_unpaid_orders(later) == 2
    assert [await kit.history(order.id) for order in orders] == [[("", "O"), ("O", "F")]] * 2
    assert await kit.figures(product) == (10, 0)


async def test_a_conflict_in_a_savepoint_reaches_the_outermost_transaction(kit: DomainStore, fail_writes: Any) -> None:
    order = await kit.order((await kit.product(), 1))

    async def change() -> None:
        async with transaction(kit.scope):
            await change_status(kit.scope, order.id, "P")

    async with fail_writes("order_status_changes", 1):
        await retry_conflicts(change)
    assert await kit.history(order.id) == [("", "O"), ("O", "P")]


async def test_what_refers_to_a_record_deleted_at_the_same_time_is_repeated_and_refused(sample: SampleStore) -> None:
    feature = f"/api/features/{sample.colour}"
    [variant] = (await sample.get(feature)).body["variants"]
    body = {"product": "Copo", "price": "1.00", "product_features": {str(sample.colour): {"variant_id": variant}}}
    answers = await asyncio.gather(
        sample.put(feature, {"variants": ["Verde"]}), *(sample.post("/api/products", body) for _ in range(8))
    )
    assert {answer.status for answer in answers} <= {200, 201, 400}, [answer.raw for answer in answers]
