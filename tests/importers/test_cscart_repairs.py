"""A record that could not be brought at first, and what referred to it, are brought by the next import."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.ledger.reconciliation import write_queued
from kernel.scope import Store
from server.importers.cscart import run
from server.importers.cscart.report import Report
from server.importers.cscart.source import SourceError
from tests.harness.database import NewStore
from tests.harness.scopes import execute, rows, system_scope, value
from tests.importers.cscart_answers import PickyShop, shop
from tests.importers.test_cscart import UUIDS, contents

REFUSED = (
    "vendors/1", "users/1", "categories/166", "categories/224", "features/18", "taxes/6", "shippings/1", "payments/2",
    "products/12", "orders/98",
)  # fmt: skip

ALL = datetime.fromtimestamp(0, UTC)
"""A time since which everything has changed, so that all records are read, and their references compared."""

SUMS = """
SELECT vendor_id, kind, sum(amount_cents) FROM ledger_entries WHERE tenant_id = $1 GROUP BY 1, 2 HAVING sum(amount_cents) <> 0
"""


class FailingShop(PickyShop):
    """A shop that fails to answer some paths."""

    refused: tuple[str, ...] = ()

    async def fetch(self, path: str, **query: object) -> Any:
        if path in self.refused:
            raise SourceError("status 500: Internal error")
        return await super().fetch(path, **query)


def failing(*refused: str) -> FailingShop:
    source = FailingShop(shop().answers)
    source.refused = refused
    return source


@pytest.fixture(scope="module")
async def whole(new_store: NewStore) -> tuple[dict[str, list[Any]], Report]:
    """Return what an import without a fault writes, and its report."""
    store = await new_store()
    report = await run.run(shop(), store.public_id)
    return await contents_without_ids(store), report


async def contents_without_ids(store: Store) -> dict[str, list[str]]:
    """Return the rows of all tables without the UUIDs in texts, which differ between imports."""
    return {table: [UUIDS.sub("UUID", row) for row in rows] for table, rows in (await contents(store)).items()}


async def open_references(store: Store) -> int:
    return int(
        await value(
            store, "SELECT count(*) FROM external_references WHERE tenant_id = $1 AND missing IS NOT NULL", store.id
        )
    )


@pytest.mark.parametrize("refused", REFUSED)
async def test_the_next_import_ends_as_one_without_the_fault(
    whole: tuple[dict[str, list[Any]], Report], new_store: NewStore, refused: str
) -> None:
    expected, report = whole
    store = await new_store()
    first = await run.run(failing(refused), store.public_id)
    entity, _, number = refused.partition("/")
    assert (entity, number, "status 500: Internal error") in first.failures
    second = await run.run(shop(), store.public_id)
    after = await contents_without_ids(store)
    different = {table: (rows, expected[table]) for table, rows in after.items() if rows != expected[table]}
    assert different == {}
    assert second.open == report.open
    assert (await run.run(shop(), store.public_id, since=ALL)).references == report.references


async def test_the_report_says_what_is_open_until_it_is_not(new_store: NewStore) -> None:
    store = await new_store()
    first = await run.run(failing("vendors/1"), store.public_id)
    lines = list(first.lines())
    assert "open: products 12: 1 of the vendors that they refer to are not here (1)" in lines
    assert "options, vendor" not in "".join(lines)
    again = await run.run(failing("vendors/1"), store.public_id)
    assert "open: products 12: 1 of the vendors that they refer to are not here (1)" in list(again.lines())
    last = await run.run(shop(), store.public_id)
    assert not any(line.startswith("open: products 12: 1 of the vendors") for line in last.lines())
    assert "products: 1 read, 0 added, 0 changed, 1 completed, 0 present" in list(last.lines())


OWN_RECORDS = {
    "vendors": ("name", "'Own'"),
    "products": ("name, slug, price_cents", "'Own', 'own', 1"),
    "users": ("email, user_type, firstname, lastname", "'own@example.com', 'C', 'A', 'B'"),
    "features": ("name, type", "'Own', 'E'"),
}


async def make_here(store: Store, table: str, number: int) -> None:
    """Insert a record that is not the source's."""
    columns, values = OWN_RECORDS[table]
    insert = f"INSERT INTO {table} (tenant_id, public_id, id, {columns}) VALUES ($1, gen_random_uuid(), $2, {values})"
    await execute(store, insert, store.id, number)


def with_deleted_customer() -> PickyShop:
    """Return the shop with an order of a customer that was deleted there."""
    answers = dict(shop().answers)
    answers["orders/97"] = answers["orders/97"] | {"user_id": "55"}
    return PickyShop(answers)


@pytest.mark.parametrize("is_made_before", [True, False], ids=["made before", "made after"])
async def test_what_the_source_has_no_more_is_never_another_record_with_its_number(
    new_store: NewStore, is_made_before: bool
) -> None:
    store = await new_store()
    if not is_made_before:
        await run.run(with_deleted_customer(), store.public_id)
    for table, number in (("products", 999), ("vendors", 7), ("users", 55)):  # of order lines, and a customer
        await make_here(store, table, number)
    for since in (None, ALL):
        report = await run.run(with_deleted_customer(), store.public_id, since=since)
        assert report.counts["orders"].completed == 0, since
        lines = "SELECT product_id, vendor_id FROM order_lines WHERE tenant_id = $1 AND order_id = 98 ORDER BY position"
        assert [tuple(row) for row in await rows(store, lines, store.id)] == [(12, 1), (None, None)], since
        assert await value(store, "SELECT user_id FROM orders WHERE tenant_id = $1 AND id = 97", store.id) is None, (
            since
        )
        open_tables = {(each.entity, each.target) for each in report.open}
        assert open_tables >= {("orders", "products"), ("orders", "vendors"), ("orders", "users")}, since


async def test_what_was_refused_for_its_number_is_not_the_record_that_has_it(new_store: NewStore) -> None:
    store = await new_store()
    await make_here(store, "features", 18)
    for since in (None, ALL):
        report = await run.run(shop(), store.public_id, since=since)
        assert ("features", "18", "another record of the store has the number 18") in report.failures, since
        assert await value(store, "SELECT count(*) FROM feature_values WHERE tenant_id = $1", store.id) > 0, since
        values = "SELECT count(*) FROM feature_values WHERE tenant_id = $1 AND feature_id = 18"
        assert await value(store, values, store.id) == 0, since
        assert ("products", "feature 18 is not among the features; left out") in report.notes, since


async def test_what_was_changed_here_meanwhile_stays(new_store: NewStore) -> None:
    store = await new_store()
    await run.run(failing("categories/224", "vendors/1"), store.public_id)
    await execute(
        store,
        "UPDATE products SET category_id = NULL, price_cents = 1, vendor_id = (SELECT id FROM vendors WHERE tenant_id = $1 LIMIT 1)"
        " WHERE tenant_id = $1",
        store.id,
    )
    await run.run(shop(), store.public_id)
    [product] = await rows(
        store, "SELECT category_id, price_cents, vendor_id FROM products WHERE tenant_id = $1", store.id
    )
    assert tuple(product) == (None, 1, 1)
    placed = "SELECT category_id FROM product_categories WHERE tenant_id = $1 ORDER BY position"
    assert [row["category_id"] for row in await rows(store, placed, store.id)] == [224, 167]


async def test_a_record_that_needs_now_what_it_lacked_is_reported_until_it_is_imported_again(
    new_store: NewStore,
) -> None:
    store = await new_store()
    first, later = failing("vendors/1"), failing()
    for source in (first, later):
        source.answers["users/3"]["company_id"] = "1"
    await run.run(first, store.public_id)
    later.answers["users/3"]["user_type"] = "V"
    report = await run.run(later, store.public_id)
    [reason] = [reason for entity, number, reason in report.failures if (entity, number) == ("users", "3")]
    assert reason.endswith("(company_id is required for a user of type V); --since brings it")
    await run.run(later, store.public_id, since=ALL)
    user = "SELECT user_type, vendor_id FROM users WHERE tenant_id = $1 AND id = 3"
    assert [tuple(row) for row in await rows(store, user, store.id)] == [("V", 1)]


async def test_a_dry_run_counts_what_it_would_complete(new_store: NewStore) -> None:
    store = await new_store()
    await run.run(failing("vendors/1"), store.public_id)
    before = await contents(store)
    report = await run.run(shop(), store.public_id, dry_run=True)
    assert report.counts["products"].completed == 1
    assert await contents(store) == before


async def test_references_that_never_arrive_are_read_once(new_store: NewStore) -> None:
    store = await new_store()
    await run.run(shop(), store.public_id)
    assert await open_references(store) > 0, "the shop's answers refer to what it doesn't have"
    source = shop()
    await run.run(source, store.public_id)
    assert "orders" in source.asked
    assert {"orders/97", "orders/98"}.isdisjoint(source.asked)


async def test_a_dry_run_into_a_store_with_records_says_what_would_be_refused(new_store: NewStore) -> None:
    store = await new_store()
    await execute(
        store,
        "INSERT INTO vendors (tenant_id, id, public_id, name) VALUES ($1, 1, gen_random_uuid(), 'Own')",
        store.id,
    )
    await execute(
        store,
        "INSERT INTO users (tenant_id, public_id, email, user_type, firstname, lastname)"
        " VALUES ($1, gen_random_uuid(), 'customer@example.com', 'C', 'A', 'B')",
        store.id,
    )
    promised = await run.run(shop(), store.public_id, dry_run=True)
    done = await run.run(shop(), store.public_id)
    assert promised.failures == done.failures
    assert ("vendors", "1", "another record of the store has the number 1") in done.failures
    assert ("users", "3", "another user of the store has the e-mail") in done.failures
    assert {name: count.added for name, count in promised.counts.items()} == {
        name: count.added for name, count in done.counts.items()
    }


async def test_the_ledger_has_the_share_of_a_vendor_that_arrived_later(new_store: NewStore) -> None:
    ledgers = []
    for refused in ("vendors/1", ""):
        store = await new_store()
        for source in (failing(refused), failing()):
            for number in (97, 98):  # of several vendors, which only the lines name
                source.answers[f"orders/{number}"]["company_id"] = "0"
            await run.run(source, store.public_id)
            await write_queued(system_scope(store), limit=100)
        ledgers.append(sorted(map(str, map(tuple, await rows(store, SUMS, store.id)))))
    assert ledgers[0] == ledgers[1]
    assert any(entry.startswith("(1, 'sale'") for entry in ledgers[0])
