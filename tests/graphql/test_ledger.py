"""The ledger in GraphQL: who sees which account, balances of lists, payouts and the sales report."""

from __future__ import annotations

from typing import Any

import pytest

from domain.orders.payments import record_payment
from models.connection.database import count_statements
from tests.harness.http import Client
from tests.harness.sample_store import NewSampleStore, SampleStore

BALANCES = "{ vendors(limit: 50) { id balance { available_cents pending_cents total_cents } } }"
ENTRIES = """query ($filter: LedgerEntryFilter) { ledger_entry_page(filter: $filter, per_page: 100) {
    total items { kind amount_cents vendor_id order_id payout { number } reason vendor { name } } } }"""
PAY = """mutation ($vendor: ID, $cents: BigInt) { payout_create(vendor_id: $vendor, amount_cents: $cents) {
    id number amount_cents status vendor_id currency } }"""
SALES = (
    "query ($vendor: ID) { sales_report(vendor_id: $vendor) { vendor_id vendor_name gross_cents net_cents orders } }"
)


async def run(client: Client, query: str, **variables: Any) -> Any:
    response = await client.post("/graphql", {"query": query, "variables": variables})
    assert "errors" not in response.body, response.body
    return response.body["data"]


async def code(client: Client, query: str, **variables: Any) -> str:
    response = await client.post("/graphql", {"query": query, "variables": variables})
    return str(response.body["errors"][0]["extensions"]["code"])


@pytest.fixture
async def sample(new_sample: NewSampleStore) -> SampleStore:
    """Return a store whose vendors' shares are available at once."""
    return await new_sample(payout_days=0)


@pytest.fixture
async def sold(sample: SampleStore) -> Any:
    """Return a paid order of the vendor's mug and the rival's product."""
    product = await sample.add_product(vendor_id=sample.rival.number, price_cents=5_000)
    order = await sample.place_order((sample.mug, 1), (product, 1), email="ana@example.com")
    total = await sample.value("select total_cents from orders where id = $1", order.number)
    await record_payment(sample.scope, order.number, total)
    return order


async def test_each_vendor_sees_its_own_account_and_staff_all(sample, sold):
    owner, vendor = await sample.client(sample.owner), await sample.client(sample.vendor_user)
    filters = {"order_id": [sold.id]}
    everything = (await run(owner, ENTRIES, filter=filters))["ledger_entry_page"]
    own = (await run(vendor, ENTRIES, filter=filters))["ledger_entry_page"]
    assert {entry["vendor_id"] for entry in everything["items"]} == {None, sample.vendor.id, sample.rival.id}
    assert {entry["vendor_id"] for entry in own["items"]} == {sample.vendor.id}
    assert 0 < own["total"] < everything["total"]
    sales = await run(owner, ENTRIES, filter=filters | {"kind": ["sale"], "vendor_id": [sample.rival.id]})
    assert [entry["amount_cents"] for entry in sales["ledger_entry_page"]["items"]] == [5_000]
    for person in (sample.caio, sample.staff):
        assert await code(await sample.client(person), ENTRIES) == "FORBIDDEN", person


async def test_balances_of_a_list_take_one_statement_more(sample, sold):
    owner = await sample.client(sample.owner)
    await run(owner, BALANCES)
    with count_statements() as plain:
        await run(owner, "{ vendors(limit: 50) { id } }")
    with count_statements() as with_balances:
        vendors = (await run(owner, BALANCES))["vendors"]
    assert len(vendors) > 1
    assert with_balances.count <= plain.count + 1
    for vendor in vendors:
        assert (
            vendor["balance"]["total_cents"]
            == vendor["balance"]["available_cents"] + vendor["balance"]["pending_cents"]
        )
    [own] = (await run(await sample.client(sample.vendor_user), BALANCES))["vendors"]
    assert own["balance"]["available_cents"] > 0
    customer = await sample.client(sample.caio)
    response = await customer.post("/graphql", {"query": BALANCES})
    assert response.body["errors"][0]["extensions"]["code"] == "FORBIDDEN"
    assert all(vendor["balance"] is None for vendor in response.body["data"]["vendors"])


async def test_payouts_are_made_by_those_who_manage_payments(sample, sold):
    owner, vendor = await sample.client(sample.owner), await sample.client(sample.vendor_user)
    assert await code(vendor, PAY, vendor=sample.vendor.id) == "FORBIDDEN"
    [payout] = (await run(owner, PAY, vendor=sample.rival.id, cents=1_000))["payout_create"]
    assert (payout["amount_cents"], payout["status"], payout["vendor_id"]) == (1_000, "pending", sample.rival.id)
    created = (await run(owner, PAY))["payout_create"]
    assert {entry["vendor_id"] for entry in created} >= {sample.vendor.id, sample.rival.id}
    done = await run(owner, "mutation ($id: ID!) { payout_mark_paid(id: $id) { status paid_at } }", id=payout["id"])
    assert done["payout_mark_paid"]["status"] == "paid"
    assert done["payout_mark_paid"]["paid_at"] is not None
    cancel = "mutation ($id: ID!) { payout_cancel(id: $id) { status } }"
    assert await code(owner, cancel, id=payout["id"]) == "RULE_VIOLATION"
    own = [entry["id"] for entry in created if entry["vendor_id"] == sample.vendor.id]
    assert (await run(owner, cancel, id=own[0]))["payout_cancel"] == {"status": "cancelled"}
    listed = await run(vendor, "{ payouts { vendor_id status } }")
    assert listed["payouts"] == [{"vendor_id": sample.vendor.id, "status": "cancelled"}]


async def test_an_adjustment_is_an_entry_with_its_reason(sample):
    owner = await sample.client(sample.owner)
    adjust = """mutation ($vendor: ID, $reason: String!) { ledger_adjust(amount_cents: -500, reason: $reason, vendor_id: $vendor) {
        kind amount_cents reason vendor_id } }"""
    entry = (await run(owner, adjust, vendor=sample.vendor.id, reason="Frete"))["ledger_adjust"]
    assert entry == {"kind": "adjustment", "amount_cents": -500, "reason": "Frete", "vendor_id": sample.vendor.id}
    assert await code(owner, adjust, vendor=sample.vendor.id, reason="") == "VALIDATION_FAILED"
    assert await code(await sample.client(sample.vendor_user), adjust, reason="x") == "FORBIDDEN"


async def test_the_sales_report_shows_a_vendor_its_own_sales(sample, sold):
    rows = (await run(await sample.client(sample.owner), SALES))["sales_report"]
    assert {row["vendor_id"] for row in rows} >= {sample.vendor.id, sample.rival.id}
    own = (await run(await sample.client(sample.vendor_user), SALES, vendor=sample.rival.id))["sales_report"]
    assert {row["vendor_id"] for row in own} == {sample.vendor.id}


async def test_entries_and_payouts_of_another_store_are_absent(sample, sold, other_sample):
    [payout] = (await run(await sample.client(sample.owner), PAY, vendor=sample.rival.id))["payout_create"]
    other = await other_sample.client(other_sample.owner)
    assert (await run(other, "query ($id: ID!) { payout(id: $id) { id } }", id=payout["id"])) == {"payout": None}
    assert (await run(other, ENTRIES, filter={"order_id": [sold.id]}))["ledger_entry_page"]["items"] == []
    assert await code(other, "mutation ($id: ID!) { payout_cancel(id: $id) { id } }", id=payout["id"]) == "NOT_FOUND"
