"""`vitrine report`: sales and payouts of vendors."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from domain.ledger.payouts import create_payouts
from domain.orders.payments import record_payment
from tests.harness.sample_store import NewSampleStore
from tests.server.command_line import Vitrine

pytestmark = pytest.mark.slow


async def test_sales_and_payouts_are_printed_as_table_csv_and_json(
    new_sample: NewSampleStore, tmp_path: Path, database_url: str
):
    sample = await new_sample(payout_days=0)
    product = await sample.add_product(vendor_id=sample.rival.number, price_cents=5_000)
    order = await sample.place_order((product, 2), email="ana@example.com")
    total = await sample.value(
        "select total_cents from orders where tenant_id = $1 and id = $2", sample.store.id, order.number
    )
    await record_payment(sample.scope, order.number, total)
    await create_payouts(sample.scope, sample.rival.number, 4_000)
    vitrine = Vitrine(tmp_path, DATABASE_URL=database_url)
    options = ("--tenant", str(sample.store.public_id), "--vendor", sample.rival.id)

    [sales] = vitrine("report", "sales", *options, "--json").json
    assert (sales["vendor_name"], sales["gross_cents"], sales["net_cents"], sales["orders"]) == (
        "Casa Lua",
        10_000,
        10_000,
        1,
    )
    [row] = csv.DictReader(io.StringIO(vitrine("report", "sales", *options, "--csv").out))
    assert row["month"] == sales["month"]
    assert "Casa Lua" in vitrine("report", "sales", "--tenant", str(sample.store.public_id)).out
    [payout] = vitrine("report", "payouts", *options, "--json").json
    assert (payout["number"], payout["amount_cents"], payout["status"]) == (1, 4_000, "pending")
    wrong = vitrine("report", "sales", *options, "--from", "2026")
    assert (wrong.code, wrong.err.strip()) == (1, "vitrine: month_from is '2026'; expected a month such as 2026-11")
    wrong = vitrine("report", "sales", *options, "--to", "2026")
    assert (wrong.code, wrong.err.strip()) == (1, "vitrine: month_to is '2026'; expected a month such as 2026-11")
