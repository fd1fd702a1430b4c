"""Sales in the store's time zone, and the statuses to which an order may change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from domain.marketplace.sales import part_borders
from domain.orders.transitions import TRANSITIONS
from models.connection.database import count_statements
from tests.graphql.test_ledger import code, run
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import value

SUMMARY = """query ($period: SalesPeriod!) { sales_summary(period: $period) {
    orders total_cents begins_at parts { begins_at orders total_cents } } }"""
ZONE = "mutation ($zone: String!) { store_settings_update(settings: {time_zone: $zone}) { time_zone } }"


async def test_a_period_has_each_of_its_days_and_the_sales_of_each(sample: SampleStore) -> None:
    owner = await sample.client(sample.owner)
    for period, length in (("week", 7), ("month", 30)):
        summary = (await run(owner, SUMMARY, period=period))["sales_summary"]
        sums = await value(
            sample.store,
            "select array[count(*), coalesce(sum(total_cents), 0)]::bigint[] from orders"
            " where deleted_at is null and status not in ('D', 'F', 'I') and created_at >= $1",
            datetime.fromisoformat(summary["begins_at"]),
        )
        assert len(summary["parts"]) == length, period
        assert [summary["orders"], summary["total_cents"]] == sums, period
        assert summary["orders"] == sum(part["orders"] for part in summary["parts"]) > 0, period
        starts = [
            datetime.fromisoformat(part["begins_at"]).astimezone(ZoneInfo("America/Sao_Paulo"))
            for part in summary["parts"]
        ]
        assert {(start.hour, start.minute) for start in starts} == {(0, 0)}, period


async def test_an_order_counts_on_the_day_of_the_store_s_time_zone(sample: SampleStore) -> None:
    owner = await sample.client(sample.owner)
    assert (await run(owner, ZONE, zone="Pacific/Kiritimati"))["store_settings_update"] == {
        "time_zone": "Pacific/Kiritimati"
    }
    last = (await run(owner, SUMMARY, period="week"))["sales_summary"]["parts"][-1]
    at = datetime.fromisoformat(last["begins_at"]) - timedelta(seconds=1)
    await value(sample.store, "update orders set created_at = $1, status = 'O' returning id", at)
    *_, day, today = (await run(owner, SUMMARY, period="week"))["sales_summary"]["parts"]
    count = await value(sample.store, "select count(*) from orders where deleted_at is null")
    assert (day["orders"], today["orders"]) == (count, 0)
    await value(sample.store, "update orders set status = 'I' returning id")
    assert (await run(owner, SUMMARY, period="week"))["sales_summary"]["orders"] == 0


async def test_a_vendor_sees_its_shares_and_a_customer_nothing(sample: SampleStore) -> None:
    vendor = await sample.client(sample.vendor_user)
    own = (await run(vendor, SUMMARY, period="month"))["sales_summary"]
    dashboard = "query ($from: DateTime) { vendor_dashboard(created_from: $from) { sales_cents order_count } }"
    expected = (await run(vendor, dashboard, **{"from": own["begins_at"]}))["vendor_dashboard"]
    assert (own["total_cents"], own["orders"]) == (expected["sales_cents"], expected["order_count"])
    everything = (await run(await sample.client(sample.owner), SUMMARY, period="month"))["sales_summary"]
    assert own["total_cents"] < everything["total_cents"]
    assert await code(await sample.client(sample.caio), SUMMARY, period="day") == "FORBIDDEN"


async def test_a_summary_takes_one_statement_for_any_period(sample: SampleStore) -> None:
    owner = await sample.client(sample.owner)
    counts = set()
    for period in ("day", "week", "month"):
        await run(owner, SUMMARY, period=period)
        with count_statements() as counted:
            await run(owner, SUMMARY, period=period)
        counts.add(counted.count)
    assert len(counts) == 1, counts


def test_a_day_on_which_clocks_change_has_its_own_number_of_hours() -> None:
    zone = ZoneInfo("Europe/Lisbon")
    for day, hours in ((datetime(2026, 3, 29, 12, tzinfo=UTC), 23), (datetime(2026, 10, 25, 12, tzinfo=UTC), 25)):
        borders = part_borders(day, zone, 1)
        assert len(borders) == hours + 1, day
        assert borders[-1].astimezone(zone).hour == 0, day


async def test_a_time_zone_that_does_not_exist_is_refused(sample: SampleStore) -> None:
    owner = await sample.client(sample.owner)
    for wrong in ("Brasilia", "../etc/passwd", "/etc/localtime", "", "GMT+3:00", "a" * 200):
        assert await code(owner, ZONE, zone=wrong) == "VALIDATION_FAILED", wrong
    assert (await run(owner, "{ store { time_zone } }"))["store"] == {"time_zone": "America/Sao_Paulo"}


async def test_statuses_name_those_to_which_an_order_may_change(sample: SampleStore) -> None:
    owner = await sample.client(sample.owner)
    create = (
        'mutation { status_create(input: {type: O, letter: "K", description: "Embalado"}) { letter allowed_next } }'
    )
    assert (await run(owner, create))["status_create"]["allowed_next"] == ["O", "P", "B", "C", "I"]
    listed = (await run(owner, "{ statuses(limit: 50) { letter type allowed_next } }"))["statuses"]
    orders = {status["letter"]: status["allowed_next"] for status in listed if status["type"] == "O"}
    custom = [letter for letter in orders if letter not in TRANSITIONS]
    built_in = {letter: [*targets, *(custom if letter in "OPBC" else [])] for letter, targets in TRANSITIONS.items()}
    assert orders == built_in | {letter: ["O", "P", "B", "C", "I"] for letter in custom}
    assert {tuple(status["allowed_next"]) for status in listed if status["type"] != "O"} == {()}


async def test_payments_in_doubt_are_those_that_their_gateway_has_not_answered(sample: SampleStore) -> None:
    owner = await sample.client(sample.owner)
    doubt = "{ payment_page(filter: {in_doubt: true}) { total items { id } } }"
    assert (await run(owner, doubt))["payment_page"]["total"] == 0
    order = await value(sample.store, "select public_id from orders where status = 'O' limit 1")
    record = "mutation ($order: ID!) { payment_record(order_id: $order, amount_cents: 100) { id } }"
    payment = (await run(owner, record, order=str(order)))["payment_record"]["id"]
    await value(
        sample.store,
        "update payments set status = 'PENDING', gateway = 'sandbox', gateway_charge_id = null, paid_at = null, paid_cents = null"
        " where public_id = $1 returning id",
        payment,
    )
    assert [item["id"] for item in (await run(owner, doubt))["payment_page"]["items"]] == [payment]
