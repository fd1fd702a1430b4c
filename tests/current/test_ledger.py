"""`/api/v1/admin`: balances of vendors, entries of the ledger, payouts, the sales report."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from domain.marketplace.vendors import delete_vendor
from domain.orders.payments import record_payment
from tests.harness.domain_store import DomainStore
from tests.harness.http import Client
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import NewSampleStore, SampleStore

ADMIN = "/api/v1/admin"


@pytest.fixture
async def sold(new_sample: NewSampleStore) -> SampleStore:
    """Return a store with a paid order of 50.00 of the rival, available at once."""
    sample = await new_sample(payout_days=0)
    product = await sample.add_product(vendor_id=sample.rival.number, price_cents=5_000)
    order = await sample.place_order((product, 1), email="ana@example.com")
    total = await sample.value(
        "select total_cents from orders where tenant_id = $1 and id = $2", sample.store.id, order.number
    )
    await record_payment(sample.scope, order.number, total)
    return sample


@pytest.fixture
async def owner(sold: SampleStore) -> Client:
    return await sold.client(sold.owner)


def lines_of(answer: Any) -> list[dict[str, str]]:
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.raw.decode())))


async def test_accounts_of_vendors_are_listed_with_their_balance(sold, owner):
    answer = await owner.get(f"{ADMIN}/vendor-accounts", search="Lua")
    [account] = answer.body["accounts"]
    assert account["balance"] == {"available_cents": 5_000, "pending_cents": 0, "total_cents": 5_000}
    assert (await owner.get(f"{ADMIN}/vendor-accounts/{sold.rival.id}")).body == account
    assert (await owner.get(f"{ADMIN}/vendor-accounts/{UNKNOWN_ID}")).status == 404
    clerk = await sold.client(await sold.add_user("view_orders"))
    assert (await clerk.get(f"{ADMIN}/vendor-accounts")).status == 403


async def test_entries_are_listed_and_corrected(sold, owner):
    listed = await owner.get(f"{ADMIN}/ledger-entries", vendor_id=sold.rival.id, kind="sale")
    [entry] = listed.body["entries"]
    assert (entry["amount_cents"], entry["vendor_id"], entry["is_split"]) == (5_000, sold.rival.id, False)
    assert (await owner.get(f"{ADMIN}/ledger-entries", kind="gift")).body["error"] == "invalid kind"
    body = {"vendor_id": sold.rival.id, "amount_cents": -1_200, "reason": "Etiquetas"}
    created = await owner.post(f"{ADMIN}/ledger-entries", body)
    assert (created.status, created.body["kind"], created.body["reason"]) == (201, "adjustment", "Etiquetas")
    assert (await owner.get(f"{ADMIN}/ledger-entries/{created.body['id']}")).body == created.body
    for wrong, fields in (
        ({}, {"amount_cents": "required", "reason": "required"}),
        ({"amount_cents": 0, "reason": "x"}, {"amount_cents": "amount_invalid"}),
        ({"amount_cents": "12", "reason": "x"}, {"amount_cents": "amount_invalid"}),
        ({"amount_cents": 5, "reason": "  "}, {"reason": "required"}),
    ):
        refused = await owner.post(f"{ADMIN}/ledger-entries", wrong)
        assert (refused.status, refused.body["fields"]) == (400, fields), wrong
    unknown = await owner.post(f"{ADMIN}/ledger-entries", {**body, "vendor_id": UNKNOWN_ID})
    assert unknown.status == 404


async def test_payouts_are_created_marked_and_cancelled(sold, owner):
    created = await owner.post(f"{ADMIN}/payouts", {"vendor_id": sold.rival.id, "amount_cents": 2_000, "note": "PIX"})
    assert created.status == 201
    [payout] = created.body["payouts"]
    assert (payout["vendor_name"], payout["status"], payout["note"]) == ("Casa Lua", "pending", "PIX")
    refused = await owner.post(f"{ADMIN}/payouts", {"vendor_id": sold.rival.id, "amount_cents": 3_001})
    assert (refused.status, refused.body["error"], refused.body["available_cents"]) == (422, "balance_too_small", 3_000)
    path = f"{ADMIN}/payouts/{payout['id']}"
    for body, code in (({}, "required"), ({"status": "lost"}, "status_invalid"), ({"status": 1}, "status_invalid")):
        refused = await owner.put(f"{path}/status", body)
        assert (refused.status, refused.body["fields"]) == (400, {"status": code}), body
    paid = await owner.put(f"{path}/status", {"status": "paid", "note": "TED 9"})
    assert (paid.status, paid.body["status"], paid.body["note"]) == (200, "paid", "TED 9")
    assert (await owner.get(path)).body == paid.body
    refused = await owner.put(f"{path}/status", {"status": "cancelled"})
    assert (refused.status, refused.body["error"]) == (422, "payout_paid")
    rest = (await owner.post(f"{ADMIN}/payouts", {})).body["payouts"]
    assert 3_000 in [payout["amount_cents"] for payout in rest if payout["vendor_id"] == sold.rival.id]
    assert (await owner.put(f"{ADMIN}/payouts/{UNKNOWN_ID}/status", {"status": "paid"})).status == 404
    listed = await owner.get(f"{ADMIN}/payouts", status="paid")
    assert [entry["id"] for entry in listed.body["payouts"]] == [payout["id"]]
    rows = lines_of(await owner.get(f"{ADMIN}/payouts.csv", vendor_id=sold.rival.id))
    assert [(row["amount_cents"], row["status"]) for row in rows] == [("2000", "paid"), ("3000", "pending")]


async def test_a_deleted_vendor_has_its_account_until_it_is_settled(sold, owner):
    kit, path = DomainStore(sold.scope), f"{ADMIN}/vendor-accounts"
    vendor, unused = await kit.vendor(), await kit.vendor()
    await kit.order((await kit.product(vendor=vendor, price_cents=5_000), 1), status="C")
    for each in (vendor, unused):
        await delete_vendor(sold.scope, each)
    vendor_id, unused_id = [str(await kit.public_id("vendors", each)) for each in (vendor, unused)]
    body = {"vendor_id": vendor_id, "amount_cents": -500, "reason": "Etiquetas"}
    assert (await owner.post(f"{ADMIN}/ledger-entries", body)).status == 201
    accounts = {account["id"]: account for account in (await owner.get(path)).body["accounts"]}
    assert accounts[vendor_id]["balance"]["total_cents"] == 4_500
    assert unused_id not in accounts
    [sales] = (await owner.get(f"{ADMIN}/sales-report", vendor_id=vendor_id)).body["sales"]
    assert sales["net_cents"] == 5_000
    [payout] = (await owner.post(f"{ADMIN}/payouts", {"vendor_id": vendor_id})).body["payouts"]
    assert payout["amount_cents"] == 4_500
    assert (await owner.get(f"{path}/{vendor_id}")).status == 404


async def test_reading_the_ledger_does_not_allow_to_pay(sold):
    reader = await sold.client(await sold.add_user("view_payments"))
    assert (await reader.get(f"{ADMIN}/payouts")).status == 200
    for path in ("payouts", "ledger-entries"):
        refused = await reader.post(f"{ADMIN}/{path}", {})
        assert (refused.status, refused.body["error"]) == (403, "insufficient privileges"), path


async def test_the_sales_report_is_also_csv(sold, owner):
    sales = (await owner.get(f"{ADMIN}/sales-report", vendor_id=sold.rival.id)).body["sales"]
    assert [(row["vendor_name"], row["gross_cents"], row["orders"]) for row in sales] == [("Casa Lua", 5_000, 1)]
    [row] = lines_of(await owner.get(f"{ADMIN}/sales-report.csv", vendor_id=sold.rival.id))
    assert (row["month"], row["net_cents"]) == (sales[0]["month"], "5000")
    for period in ({"month_from": "2026"}, {"month_to": "2026-00"}, {"month_from": "1900-01", "month_to": "2026-01"}):
        refused = await owner.get(f"{ADMIN}/sales-report", **period)
        assert (refused.status, refused.body["error"][:13]) == (400, "invalid month"), period
    assert (await owner.get(f"{ADMIN}/sales-report", vendor_id=UNKNOWN_ID)).status == 404
    for page in ("2", "2147483647", "9" * 20):
        beyond = await owner.get(f"{ADMIN}/sales-report", page=page)
        assert (beyond.status, beyond.body) == (200, {"sales": []}), page


async def test_names_that_a_spreadsheet_would_execute_are_texts(sold, owner):
    await sold.execute(
        "update vendors set name = '=1+1' where tenant_id = $1 and id = $2", sold.store.id, sold.rival.number
    )
    [row] = lines_of(await owner.get(f"{ADMIN}/sales-report.csv", vendor_id=sold.rival.id))
    assert row["vendor_name"] == "'=1+1"
