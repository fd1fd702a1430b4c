"""Limits of a store: refused past them in every family's form, exactly also for concurrent requests, and shown to the store."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from auth.store_resolution import invalidate_store
from domain import stores
from domain.store_limits import LIMITS, find_limits
from domain.store_usage import measure_stored
from kernel.errors import DomainError, RateLimited, RuleViolation, ValidationFailed
from kernel.scope import active_scope
from kernel.settings import Settings
from models.connection import database
from server.http.limits import ProcessCounters, RateLimiter
from server.importers import record_files
from server.importers.order_files import ORDERS
from tests.bulk.conftest import CREATE as CREATE_BULK_QUERY
from tests.harness.http import Client
from tests.harness.oauth import graphql_error, graphql_result
from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.server.command_line import SECRET, Vitrine

PRODUCT = {"name": "Bule", "price_cents": 7_990}
SHOW = "{ store_limits { name limit used } }"
REFUSED = "the limit products of the store is {0}, of which {0} are used; 1 more don't fit"


async def limit(sample: SampleStore, **limits: int | None) -> None:
    """Set limits of the store, which the process knows at once."""
    with active_scope(sample.scope):
        sample.store = await stores.set_limits(sample.scope, limits)
        await invalidate_store(sample.store.id)


async def count(sample: SampleStore, table: str) -> int:
    rows: int = await sample.value(f"select count(*) from {table} where deleted_at is null")
    return rows


async def owner(sample: SampleStore) -> Client:
    return await sample.client(sample.owner)


def outcomes(results: list[Any]) -> Counter[str]:
    return Counter(type(each).__name__ if isinstance(each, DomainError) else "done" for each in results)


async def test_a_product_too_many_is_refused_with_what_is_used_in_every_family(sample: SampleStore):
    used, admin = await count(sample, "products"), await owner(sample)
    await limit(sample, products=used)
    create = "mutation ($i: ProductInput!) { product_create(input: $i) { id } }"
    error = await graphql_error(admin, create, i=PRODUCT)
    assert (error["message"], error["extensions"]["details"]) == (
        REFUSED.format(used),
        {"reason": "store_limit_reached", "limit_name": "products", "limit": used, "used": used},
    )
    current = await sample.post("/api/v1/admin/products", PRODUCT, auth="bearer")
    assert (current.status, current.body["error"], current.body["used"]) == (422, "store_limit_reached", used)
    legacy = await sample.post("/api/products", {"product": "Bule", "price": "79.90", "main_category": 1})
    assert (legacy.status, REFUSED.format(used) in legacy.body["message"]) == (422, True), legacy
    assert await count(sample, "products") == used
    await limit(sample, products=None)
    await graphql_result(admin, create, i=PRODUCT)


async def test_a_batch_fits_as_a_whole_or_not_at_all_and_updates_always_fit(sample: SampleStore):
    used, admin = await count(sample, "products"), await owner(sample)
    await limit(sample, products=used + 2)
    upsert = "mutation ($r: [ProductUpsertInput!]!) { product_bulk_upsert(rows: $r) { id } }"
    rows = [{"name": f"Bule {number}", "price_cents": 1_000, "sku": f"bule-{number}"} for number in range(3)]
    assert "3 more don't fit" in (await graphql_error(admin, upsert, r=rows))["message"]
    await graphql_result(admin, upsert, r=rows[:2])
    await graphql_result(admin, upsert, r=rows[:2])
    assert await count(sample, "products") == used + 2


async def test_concurrent_orders_stop_exactly_at_the_limit(sample: SampleStore):
    await limit(sample, orders_per_month=3 + await count(sample, "orders"))
    product = await sample.add_product()
    orders = (sample.place_order((product, 1), email="ana@example.com") for _ in range(8))
    results = await asyncio.gather(*orders, return_exceptions=True)
    assert outcomes(results) == {"done": 3, "RuleViolation": 5}
    refused = next(each for each in results if isinstance(each, RuleViolation))
    assert (refused.reason, refused.details["used"]) == ("store_limit_reached", sample.store.limits["orders_per_month"])
    await sample.execute("update orders set created_at = created_at - interval '32 days'")
    await sample.place_order((product, 1), email="ana@example.com")


async def test_imported_orders_are_none_of_the_month(sample: SampleStore, tmp_path: Path):
    await limit(sample, orders_per_month=1_000)
    with active_scope(sample.scope):
        before = await find_limits(sample.scope)
    line = f"A-1,C,{sample.scope.now:%Y-%m-%dT%H:%M:%SZ},10.00,Caneca,1,10.00"
    path = tmp_path / "orders.csv"
    path.write_text(f"number,status,created_at,total,line_name,line_quantity,line_price\n{line}\n")
    report = await record_files.run(ORDERS, path, "csv", sample.store.public_id, progress=False)
    assert report.counts["created"] == 1
    with active_scope(sample.scope):
        assert await find_limits(sample.scope) == before


async def test_uploads_stop_at_the_bytes_of_the_store(sample: SampleStore):
    admin = await owner(sample)
    await limit(sample, storage_bytes=1_000)
    create = "mutation ($i: MediaUploadInput!) { media_upload_create(input: $i) { media_id } }"
    upload = {"file_name": "a.png", "mime_type": "image/png", "bytes": 600}
    await graphql_result(admin, create, i=upload)
    assert "of which 600 are used; 600 more" in (await graphql_error(admin, create, i=upload))["message"]
    await graphql_result(admin, create, i=upload | {"bytes": 400})


async def test_a_shopper_s_file_counts_once_whichever_order_keeps_it(sample: SampleStore):
    await limit(sample, storage_bytes=10_000)
    option = await sample.value("insert into options (tenant_id, public_id, name) values ($1, gen_random_uuid(), 'Arte') returning id",
        sample.store.id)  # fmt: skip
    kept, gone = uuid4(), uuid4()
    for public_id, file_id, size in ((kept, kept, 100), (uuid4(), kept, 100), (uuid4(), gone, 30), (uuid4(), gone, 30)):
        await sample.execute(
            "insert into option_files (tenant_id, public_id, file_id, option_id, file_name, mime_type, bytes, sha256)"
            " values ($1, $2, $3, $4, 'arte.txt', 'text/plain', $5, $6)",
            sample.store.id, public_id, file_id, option, size, "a" * 64,
        )  # fmt: skip
    with active_scope(sample.scope):
        [shown] = await find_limits(sample.scope)
        await measure_stored(sample.scope)
    assert shown["used"] == 130
    assert await sample.value("select media_bytes from store_usage") == 130


async def test_bulk_operations_stop_at_the_rows_of_a_day(sample: SampleStore):
    await limit(sample, bulk_rows_per_day=0)
    error = await graphql_error(await owner(sample), CREATE_BULK_QUERY, text="{ products { id } }")
    assert error["extensions"]["details"]["limit_name"] == "bulk_rows_per_day"


async def test_requests_a_minute_are_refused_with_retry_after_in_every_family(
    sample: SampleStore, other_sample: SampleStore
):
    admin = await owner(sample)
    await limit(sample, requests_per_minute=4)
    requests = [
        lambda: admin.post("/graphql", {"query": "{ store { id } }"}),
        lambda: sample.get("/api/v1/admin/products", auth="bearer"),
        lambda: sample.get("/api/products"),
        lambda: admin.post("/graphql", {"query": "{ store { id } }"}),
    ]
    assert [(await request()).status for request in requests] == [200] * 4
    for number, request in enumerate(requests):
        refused = await request()
        assert refused.status == 429, (number, refused)
        assert 1 <= int(refused.headers["Retry-After"]) <= 60, (number, refused)
        assert "rate limit exceeded" in str(refused.body), (number, refused)
    assert (await other_sample.get("/api/products")).status == 200


async def test_concurrent_requests_are_refused_until_one_ends(sample: SampleStore):
    await limit(sample, concurrent_requests=2)
    limiter = RateLimiter(Settings(), ProcessCounters())
    with ExitStack() as first, ExitStack() as second, ExitStack() as third:
        await limiter.count_store(sample.store, first)
        await limiter.count_store(sample.store, second)
        with pytest.raises(RateLimited) as refused:
            await limiter.count_store(sample.store, third)
        assert refused.value.retry_after == 1
        first.close()
        await limiter.count_store(sample.store, third)
    admin = await owner(sample)
    responses = await asyncio.gather(*(admin.post("/graphql", {"query": SHOW}) for _ in range(12)))
    assert Counter(each.status for each in responses)[200] >= 2
    assert {each.status for each in responses} <= {200, 429}
    assert (await admin.post("/graphql", {"query": SHOW})).status == 200  # all have ended


async def test_a_greedy_store_next_to_ten_quiet_ones_is_refused_alone_and_answered_last(
    new_sample: NewSampleStore, database_url: str
):
    greedy, *quiet = [await new_sample() for _ in range(11)]
    clients = [await owner(store) for store in (greedy, *quiet)]
    await limit(greedy, concurrent_requests=3)
    order: list[int] = []

    async def occupy() -> None:
        """Run a statement that ends with the gate, on one of the connections that the store may have."""
        with active_scope(greedy.scope):
            await database.fetch("select pg_advisory_xact_lock_shared(hashtext('gate'))")
        order.append(greedy.store.id)

    async def read(client: Client) -> int:
        status = (await client.post("/graphql", {"query": "{ orders { id total_cents } }"})).status
        order.append(client.store.id)
        return status

    # From now on the process knows the token, and counts the store's requests before any statement.
    assert await read(clients[0]) == 200
    order.clear()
    gate = await asyncpg.connect(database_url)
    await gate.execute("select pg_advisory_lock(hashtext('gate'))")
    long = [asyncio.ensure_future(occupy()) for _ in range(15)]
    mine = [asyncio.ensure_future(read(clients[0])) for _ in range(60)]
    await asyncio.sleep(0)
    assert await asyncio.gather(*(read(client) for client in clients[1:] for _ in range(5))) == [200] * 50
    assert not any(each.done() for each in long), "a quiet store waited for a statement of the greedy one"
    async with asyncio.timeout(5):  # a request that comes when the gate is open would find a free place
        while sum(each.done() for each in mine) < 57:
            await asyncio.sleep(0.01)
    await gate.close()
    assert Counter(await asyncio.gather(*mine)) == {429: 57, 200: 3}
    await asyncio.gather(*long)
    assert order[-18:] == [greedy.store.id] * 18


async def test_a_store_sees_its_limits_and_what_is_used(sample: SampleStore):
    admin = await owner(sample)
    assert await graphql_result(admin, SHOW) == []
    await limit(sample, **dict.fromkeys(LIMITS, 2**53))
    shown = {each["name"]: each for each in await graphql_result(admin, SHOW)}
    assert list(shown) == list(LIMITS)
    assert {each["limit"] for each in shown.values()} == {2**53}
    assert shown["products"]["used"] == await count(sample, "products")
    assert shown["requests_per_minute"]["used"] is None
    customer = await sample.client(sample.bia)
    assert (await graphql_error(customer, SHOW))["extensions"]["code"] == "FORBIDDEN"


async def test_a_store_without_limits_takes_no_statement_for_them(sample: SampleStore):
    admin = await owner(sample)
    create = "mutation ($i: ProductInput!) { product_create(input: $i) { id } }"
    statements: list[int] = []
    for limits in ({}, {"orders_per_month": 5}, {"products": 2**53}):
        await limit(sample, **limits)
        await admin.post("/graphql", {"query": "{ store { id } }"})
        product = {"name": f"Bule {len(statements)}", "price_cents": 1_000}
        statements.append((await admin.post("/graphql", {"query": create, "variables": {"i": product}})).statements)
    assert statements[0] == statements[1] == statements[2] - 2


@pytest.mark.parametrize("changes", [{"bananas": 1}, {"products": -1}, {"products": 2**53 + 1}])
async def test_an_unknown_or_impossible_limit_is_refused(sample: SampleStore, changes: dict[str, int]):
    with pytest.raises(ValidationFailed):
        await limit(sample, **changes)


async def test_the_command_sets_removes_and_shows_limits(sample: SampleStore, tmp_path: Path, database_url: str):
    vitrine = Vitrine(tmp_path, DATABASE_URL=database_url, VITRINE_SECRET_KEY=SECRET)
    set_two = vitrine(
        "tenant", "limit", sample.host, "--set", "products=9", "--set", "requests_per_minute=60", "--json"
    )
    used = await count(sample, "products")
    assert set_two.json == [
        {"name": "requests_per_minute", "limit": 60, "used": None},
        {"name": "products", "limit": 9, "used": used},
    ]
    removed = vitrine("tenant", "limit", sample.host, "--set", "requests_per_minute=none", "--json")
    assert removed.json == [{"name": "products", "limit": 9, "used": used}]
    assert "orders_per_month" in vitrine("tenant", "limit", sample.host).out
    for wrong in ("bananas=1", "products", "products=-1", "products=many"):
        assert vitrine("tenant", "limit", sample.host, "--set", wrong).error_line, wrong
    action = "select details from audit_entries where action = 'store.limits_changed' order by id limit 1"
    assert json.loads(await sample.value(action)) == {"products": 9, "requests_per_minute": 60}


def test_the_reference_lists_the_limits():
    text = Path("docs/reference/shared.md").read_text()
    for name, each in LIMITS.items():
        assert f"| `{name}` | {each.counted} |" in text, name
