"""What the gateway tells changes charges, money and letters as the table of decisions section 5 says."""

from __future__ import annotations

import pytest

from domain.gateway import notifications
from domain.orders.delete import delete_order
from domain.orders.lifecycle import move
from domain.orders.payments import record_payment
from kernel.errors import RuleViolation
from tests.domain.gateway_kit import an_order, charges, gateway_secret, money, outcome, send, told
from tests.gateway import charge, event, order_event

__all__ = ["gateway_secret"]


# --- Mapping -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["charge.paid", "charge.overpaid", "order.paid"])
async def test_a_payment_that_covers_the_total_makes_an_order_paid(shop, kind):
    order, product = await an_order(shop)
    paid = charge(order.id, paid_amount=1_000)
    body = order_event(kind, order.id, paid) if kind.startswith("order") else event(kind, paid)

    assert await send(shop, body) == "received"

    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(shop) == ""
    assert await shop.figures(product) == (9, 0)
    [kept] = await charges(shop)
    assert (kept["charge_id"], kept["order_id"], kept["paid_cents"], kept["last_event"], kept["status"]) == (
        paid["id"],
        order.id,
        1_000,
        kind,
        "paid",
    )
    [payment] = await shop.rows("SELECT * FROM payments WHERE tenant_id = $1")
    assert (payment["kind"], payment["installments"]) == ("credit_card", 3)
    assert await shop.event_names(order.public_id) == ["order.created", "order.updated"]
    changes = await shop.rows("SELECT * FROM order_status_changes WHERE tenant_id = $1 ORDER BY id")
    assert (changes[-1]["reason"], changes[-1]["actor_kind"]) == (f"gateway: {kind}", "system")


async def test_an_amount_without_a_paid_amount_is_what_was_paid(shop):
    order, _ = await an_order(shop)
    await send(shop, event("charge.paid", charge(order.id)))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")


async def test_a_payment_below_the_total_is_kept_and_said(shop):
    order, _ = await an_order(shop)
    await send(shop, event("charge.paid", charge(order.id, 400, paid_amount=400)))
    assert await money(shop, order.id) == ("O", 400, 0, "unpaid")
    assert await outcome(shop) == "underpaid: 400 of 1000 cents"


async def test_two_charges_that_cover_the_total_together_pay_it(shop):
    order, _ = await an_order(shop)
    await send(shop, event("charge.paid", charge(order.id, 400)))
    await send(shop, event("charge.paid", charge(order.id, 600)))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    assert await outcome(shop) == ""


async def test_an_order_is_paid_by_all_its_charges_but_the_failed_ones(shop):
    order, _ = await an_order(shop)
    parts = [
        charge(order.id, 400),
        charge(order.id, 600),
        charge(order.id, 600, status="failed"),
    ]
    await send(shop, order_event("order.paid", order.id, *parts))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    assert [kept["paid_cents"] for kept in await charges(shop)] == [400, 600, 0]
    # The same told again by each charge counts nothing twice.
    await send(shop, event("charge.paid", parts[0]))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")


async def test_an_order_paid_without_naming_its_charges_is_paid(shop):
    order, _ = await an_order(shop)
    await send(shop, order_event("order.paid", order.id, amount=1_000))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")
    await send(shop, order_event("order.paid", order.id, amount=1_000))
    assert await money(shop, order.id) == ("P", 1_000, 0, "paid")


async def test_what_is_called_underpaid_changes_no_letter(shop):
    order, _ = await an_order(shop)
    await send(shop, event("charge.underpaid", charge(order.id, paid_amount=900, status="underpaid")))
    assert await money(shop, order.id) == ("O", 900, 0, "unpaid")
    assert await outcome(shop) == "underpaid: 900 of 1000 cents"


@pytest.mark.parametrize(
    "kind", ["charge.payment_failed", "charge.antifraud_reproved", "order.payment_failed"]
)
@pytest.mark.parametrize(
    "transaction, letter",
    [
        ({"status": "not_authorized"}, "D"),
        ({"status": "failed", "gateway_response": {"code": "400"}}, "D"),
        (None, "D"),
        ({"status": "with_error"}, "F"),
        ({"status": "failed", "gateway_response": {"code": "504"}}, "F"),
        ({"status": "failed", "gateway_response": {"code": 500}}, "F"),
    ],
)
async def test_a_refused_payment_declines_and_a_broken_one_fails(shop, kind, transaction, letter):
    order, product = await an_order(shop)
    failed = charge(order.id, status="failed", last_transaction=transaction)
    await send(shop, order_event(kind, order.id, failed) if kind.startswith("order") else event(kind, failed))
    assert await money(shop, order.id) == (letter, 0, 0, "unpaid")
    assert await outcome(shop) == ""
    assert await shop.figures(product) == (10, 0)


@pytest.mark.parametrize("more", [{"canceled_amount": 1_000, "status": "canceled"}, {"status": "refunded"}])
async def test_a_whole_refund_cancels(shop, more):
    order, product = await an_order(shop)
    paid = charge(order.id)
    await send(shop, event("charge.paid", paid))
    await send(shop, event("charge.refunded", {**paid, **more}))
    assert await money(shop, order.id) == ("I", 1_000, 1_000, "refunded")
    assert await shop.figures(product) == (10, 0)
    names = await shop.event_names(order.public_id)
    assert names == ["order.created", "order.updated", "order.updated", "order.cancelled"]


@pytest.mark.parametrize("kind", ["charge.partial_canceled", "charge.refunded"])
async def test_a_partial_refund_grows_and_changes_no_letter(shop, kind):
    order, _ = await an_order(shop)
    paid = charge(order.id, paid_amount=1_000)
    await send(shop, event("charge.paid", paid))
    for cents in (300, 500, 400):  # the last one comes late
        await send(shop, event(kind, {**paid, "canceled_amount": cents}))
    assert await money(shop, order.id) == ("P", 1_000, 500, "partially_refunded")
    assert await outcome(shop) == ""


async def test_a_refund_that_comes_before_its_payment_counts_once(shop):
    order, _ = await an_order(shop)
    paid = charge(order.id)
    await send(shop, event("charge.refunded", {**paid, "canceled_amount": 1_000}))
    assert await money(shop, order.id) == ("I", 1_000, 1_000, "refunded")
    await send(shop, event("charge.paid", paid))
    assert await money(shop, order.id) == ("I", 1_000, 1_000, "refunded")
    assert "can't go from I to P" in await outcome(shop)


async def test_money_recorded_by_hand_is_what_the_gateway_gives_back(shop):
    order, _ = await an_order(shop)
    await record_payment(shop.scope, order.id, 1_000)
    await move(shop.scope, order.id, "P")
    await send(shop, event("charge.refunded", charge(order.id, canceled_amount=1_000)))
    assert await money(shop, order.id) == ("I", 1_000, 1_000, "refunded")


async def test_a_second_payment_given_back_leaves_the_order_paid(shop):
    order, _ = await an_order(shop)
    twice = charge(order.id)
    await send(shop, event("charge.paid", charge(order.id)))
    await send(shop, event("charge.paid", twice))
    await send(shop, event("charge.refunded", {**twice, "canceled_amount": 1_000}))
    assert await money(shop, order.id) == ("P", 2_000, 1_000, "partially_refunded")


async def test_a_cancelled_order_is_cancelled(shop):
    order, _ = await an_order(shop)
    unpaid = charge(order.id, status="canceled", canceled_amount=1_000)
    await send(shop, order_event("order.canceled", order.id, unpaid))
    assert await money(shop, order.id) == ("I", 0, 0, "unpaid")


async def test_a_paid_order_that_is_cancelled_gave_its_money_back(shop):
    order, _ = await an_order(shop)
    paid = charge(order.id)
    await send(shop, event("charge.paid", paid))
    await send(shop, order_event("order.canceled", order.id, {**paid, "canceled_amount": 1_000}))
    assert await money(shop, order.id) == ("I", 1_000, 1_000, "refunded")


async def test_a_chargeback_is_a_word_and_no_letter(shop):
    order, _ = await an_order(shop)
    paid = charge(order.id)
    await send(shop, event("charge.paid", paid))
    await send(shop, event("charge.chargedback", {**paid, "status": "chargedback"}))
    assert await money(shop, order.id) == ("P", 1_000, 0, "chargeback")
    assert await outcome(shop) == ""
    assert (await charges(shop))[0]["status"] == "chargedback"


@pytest.mark.parametrize("kind", ["charge.created", "charge.pending", "order.created"])
async def test_the_rest_is_kept_and_changes_no_order(shop, kind):
    order, _ = await an_order(shop)
    news = charge(order.id, status="pending")
    await send(shop, order_event(kind, order.id, news) if kind.startswith("order") else event(kind, news))
    assert await money(shop, order.id) == ("O", 0, 0, "unpaid")
    assert await outcome(shop) == ""
    assert [kept["status"] for kept in await charges(shop)] == ["pending"]
    assert await shop.event_names(order.public_id) == ["order.created"]


@pytest.mark.parametrize("kind", ["charge.teleported", "subscription.created", "", "charge"])
async def test_a_type_that_nobody_knows_changes_nothing(shop, kind):
    order, _ = await an_order(shop)
    await send(shop, event(kind, charge(order.id)))
    assert await money(shop, order.id) == ("O", 0, 0, "unpaid")
    assert await outcome(shop) == ""
    assert await charges(shop) == []


# --- What goes wrong ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("currency", ["USD", "usd"])
async def test_a_charge_in_another_currency_never_pays(shop, currency):
    order, _ = await an_order(shop)
    await record_payment(shop.scope, order.id, 1_000)
    paid = charge(order.id, currency=currency)
    await send(shop, event("charge.paid", paid))
    assert await money(shop, order.id) == ("O", 1_000, 0, "paid")
    assert await outcome(shop) == f"currency: the charge {paid['id']} is in USD, the store's is BRL"
    [kept] = await charges(shop)
    assert (kept["currency"], kept["paid_cents"], kept["order_id"]) == ("USD", 1_000, order.id)
    with pytest.raises(RuleViolation):
        await notifications.reprocess(shop.scope, (await told(shop))["id"])


@pytest.mark.parametrize("reference", ["999999999", "not an id", "018f0000-0000-7000-8000-000000000000"])
async def test_an_order_that_is_not_there_leaves_the_charge(shop, reference):
    await send(shop, event("charge.paid", charge(reference)))
    assert await outcome(shop) == f"order not found: {reference!r}"
    [kept] = await charges(shop)
    assert (kept["order_id"], kept["paid_cents"], kept["counted"]) == (None, 1_000, False)


async def test_a_charge_that_names_no_order_is_kept(shop):
    await send(shop, event("charge.paid", {"id": "ch_alone", "amount": 100}))
    assert await outcome(shop) == "order not found"
    assert len(await charges(shop)) == 1


async def test_another_stores_order_and_a_deleted_one_are_not_found(shop, other_shop):
    theirs = await other_shop.order((await other_shop.product(), 1))
    gone, _ = await an_order(shop)
    await delete_order(shop.scope, gone.id)
    for order in (theirs, gone):
        await send(shop, event("charge.paid", charge(order.public_id)))
        assert (await outcome(shop)).startswith("order not found")
    assert await other_shop.status(theirs.id) == "O"


async def test_a_change_that_the_table_forbids_leaves_the_charge(shop):
    order, _ = await an_order(shop, "C")
    await send(shop, event("charge.paid", charge(order.id)))
    assert await money(shop, order.id) == ("C", 1_000, 0, "paid")
    assert await outcome(shop) == "an order can't go from C to P; allowed: I"


async def test_stock_that_is_gone_leaves_the_order_and_keeps_the_money(shop):
    order, product = await an_order(shop, "F", stock=1)
    await shop.order((product, 1))
    await send(shop, event("charge.paid", charge(order.id)))
    assert await money(shop, order.id) == ("F", 1_000, 0, "paid")
    assert (await outcome(shop)).startswith("out_of_stock: Product")
    assert await shop.figures(product) == (1, 1)
    assert await shop.event_names(order.public_id) == ["order.created", "order.updated", "order.updated"]


async def test_a_late_payment_takes_the_stock_again(shop):
    order, product = await an_order(shop, "F")
    await send(shop, event("charge.paid", charge(order.id)))
    assert await shop.status(order.id) == "P"
    assert await shop.figures(product) == (9, 0)


async def test_a_charge_pays_one_order_only(shop):
    first, _ = await an_order(shop)
    second, _ = await an_order(shop)
    paid = charge(first.id)
    await send(shop, event("charge.paid", paid))
    await send(shop, event("charge.paid", {**paid, "metadata": {"order_id": second.id}}))
    assert await money(shop, second.id) == ("O", 0, 0, "unpaid")
    assert await outcome(shop) == f"the charge {paid['id']} belongs to order {first.id}"


# --- Which order -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["metadata", "order", "code"])
@pytest.mark.parametrize("form", [lambda order: order.id, lambda order: str(order.public_id).upper()])
async def test_the_order_is_named_in_three_places_by_number_or_uuid(shop, place, form):
    order, _ = await an_order(shop)
    other, _ = await an_order(shop)
    paid = charge(other.id, code=str(other.id))
    if place == "metadata":
        paid["metadata"] = {"order_id": form(order)}
    elif place == "order":
        paid |= {"metadata": {}, "order": {"code": form(order)}}
    else:
        paid |= {"metadata": None, "order": {"code": ""}, "code": form(order)}
    await send(shop, event("charge.paid", paid))
    assert [await shop.status(each.id) for each in (order, other)] == ["P", "O"]
