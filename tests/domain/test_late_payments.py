"""Payments that arrive when their order doesn't need them any more: recorded, marked as a surplus, and administrators notified once."""

from __future__ import annotations

from typing import Any

import pytest

from domain.gateway import notifications
from domain.orders.deletion import delete_order
from domain.orders.lifecycle import change_status
from domain.orders.payments import find_charged_payments, record_payment
from domain.payments import creation, settlement
from domain.payments.gateways import gateway_of_method
from domain.payments.lookup import find_payment
from domain.payments.requests import parse_input
from domain.payments.sandbox import actions
from kernel.errors import NotFound
from kernel.scope import active_scope
from tests.harness.domain_store import DomainStore
from tests.harness.payments import add_sandbox_methods, enabled_sandbox

NOTIFIED = """
SELECT n.title, n.message, u.email FROM notifications n JOIN users u ON u.tenant_id = n.tenant_id AND u.id = n.user_id
WHERE n.tenant_id = $1 AND n.title LIKE '%a devolver' ORDER BY n.id
"""
UNAPPLIED = """
SELECT coalesce(sum(amount_cents), 0)::bigint FROM ledger_entries WHERE tenant_id = $1 AND order_id = $2 AND kind = 'unapplied'
"""
WRONG = "SELECT error_message FROM gateway_notifications WHERE tenant_id = $1 AND processed ORDER BY id DESC LIMIT 1"


@pytest.fixture(autouse=True)
def sandbox():
    with enabled_sandbox():
        yield


@pytest.fixture
async def order(kit: DomainStore) -> Any:
    methods = await add_sandbox_methods(kit.scope)
    await kit.customer(email="money@example.com", user_type="A", privileges=["view_payments"])
    await kit.customer(email="words@example.com", user_type="A", privileges=["manage_pages"])
    return await kit.order((await kit.product(stock=100), 1), payment_method=methods["PIX"], origin="storefront")


async def pix(kit: DomainStore, order: Any, *, is_over: bool = True) -> dict[str, Any]:
    number = await creation.create_payment(kit.scope, order.public_id, None, parse_input("PIX", {}))
    payment = await kit.record("payments", number)
    if is_over:
        await actions.act(kit.scope, payment["gateway_charge_id"], "expire")
        await kit.rows("UPDATE sandbox_charges SET status = 'EXPIRED' WHERE tenant_id = $1")
    return payment


async def pay(kit: DomainStore, payment: dict[str, Any]) -> None:
    await actions.act(kit.scope, payment["gateway_charge_id"], "pay")


async def notified(kit: DomainStore) -> list[str]:
    rows = await kit.rows(NOTIFIED)
    assert {row["email"] for row in rows} <= {"money@example.com"}, "those who may see payments"
    return [row["title"] for row in rows]


async def test_a_payment_of_an_order_that_was_removed_brings_it_back_cancelled(kit, order):
    payment = await pix(kit, order)
    assert (await delete_order(kit.scope, order.public_id)).hidden
    await pay(kit, payment)
    record = await kit.record("orders", order.id)
    assert (record["deleted_at"], record["status"], record["paid_cents"]) == (None, "I", 1_000)
    assert (await kit.record("payments", payment["id"]))["status"] == "PAID"
    assert await kit.rows("SELECT order_id FROM ledger_queue WHERE tenant_id = $1") == []
    assert (await kit.value(UNAPPLIED, order.id), await notified(kit)) == (
        1_000,
        [f"Pedido nº {order.id}: R$ 10,00 a devolver"],
    )
    assert await kit.value(WRONG) != ""
    audited = "SELECT count(*) FROM audit_entries WHERE tenant_id = $1 AND action = 'order.restored'"
    assert await kit.value(audited) == 1


async def test_news_without_money_bring_no_order_back(kit, order):
    payment = await pix(kit, order, is_over=False)
    await kit.rows("UPDATE payments SET status = 'CANCELLED' WHERE tenant_id = $1")
    assert (await delete_order(kit.scope, order.public_id)).hidden
    await actions.act(kit.scope, payment["gateway_charge_id"], "refuse")
    assert (await kit.record("orders", order.id))["deleted_at"] is not None
    assert (await kit.value(WRONG)).startswith("order not found")
    assert await notified(kit) == []


async def test_another_amount_brings_no_order_back(kit, order):
    payment = await pix(kit, order)
    await delete_order(kit.scope, order.public_id)
    await kit.rows("UPDATE sandbox_charges SET amount_cents = 1 WHERE tenant_id = $1")
    await pay(kit, payment)
    assert (await kit.record("orders", order.id))["deleted_at"] is not None
    assert "amount" in await kit.value(WRONG)
    assert await kit.value(UNAPPLIED, order.id) == 0


async def test_what_the_gateway_answers_about_a_removed_order_is_found_too(kit, order):
    payment = await pix(kit, order)
    await delete_order(kit.scope, order.public_id)
    await kit.rows("UPDATE sandbox_charges SET status = 'PAID', paid_cents = amount_cents WHERE tenant_id = $1")
    gateway = await gateway_of_method(kit.scope, payment["payment_method_id"], "sandbox")
    assert gateway is not None
    state = await gateway.read(payment["public_id"], payment["gateway_charge_id"])
    assert state is not None
    with active_scope(kit.scope):
        [stored] = await find_charged_payments(kit.scope, (), payment["public_id"])
    for _ in range(2):
        await settlement.settle(kit.scope, stored, state)
    assert (await kit.record("orders", order.id))["paid_cents"] == 1_000
    assert len(await notified(kit)) == 1


@pytest.mark.parametrize("how", ["another payment", "recorded", "cancelled"])
async def test_a_late_payment_that_the_order_does_not_need_is_marked_and_notified_once(kit, order, how):
    late = await pix(kit, order)
    if how == "another payment":
        await pay(kit, await pix(kit, order, is_over=False))
    elif how == "recorded":
        await record_payment(kit.scope, order.id, 1_000, kind="cash")
    else:
        await change_status(kit.scope, order.id, "I")
    assert await notified(kit) == []
    await pay(kit, late)
    assert (await kit.record("payments", late["id"]))["status"] == "PAID"
    assert await kit.value(UNAPPLIED, order.id) == 1_000
    assert len(await notified(kit)) == 1
    assert await kit.value(WRONG) != ""
    number = await kit.value("SELECT max(id) FROM gateway_notifications WHERE tenant_id = $1")
    if how != "cancelled":  # a forced status would say that the order is sold
        with active_scope(kit.scope):
            await notifications.reprocess(kit.scope, number)
    assert len(await notified(kit)) == 1, "processed again, it notifies nobody"
    assert await kit.value(UNAPPLIED, order.id) == 1_000


async def test_a_payment_that_the_order_waits_for_notifies_nobody_of_a_surplus(kit, order):
    await pay(kit, await pix(kit, order))
    assert (await kit.status(order.id), await notified(kit), await kit.value(WRONG)) == ("P", [], "")


async def test_each_end_of_a_payment_is_an_event(kit, order):
    payment = await pix(kit, order, is_over=False)
    await change_status(kit.scope, order.id, "I")
    with active_scope(kit.scope):
        [stored] = await find_charged_payments(kit.scope, (), payment["public_id"])
    gateway = await gateway_of_method(kit.scope, payment["payment_method_id"], "sandbox")
    assert gateway is not None
    await settlement.settle(kit.scope, stored, await gateway.cancel(stored.gateway_charge_id, "key"))
    assert (await kit.event_names(payment["public_id"])) == ["payment.created", "payment.cancelled"]
    other = await kit.order((await kit.product(), 1), payment_method=payment["payment_method_id"], origin="storefront")
    paid = await pix(kit, other, is_over=False)
    await pay(kit, paid)
    await actions.act(kit.scope, paid["gateway_charge_id"], "dispute")
    assert (await kit.event_names(paid["public_id"])) == ["payment.created", "payment.paid", "payment.disputed"]


async def test_a_report_about_an_order_that_was_removed_is_no_secret_of_others(kit, other_kit, order):
    """Only the app that is the gateway finds it: `find_payment` hides it from everybody else."""
    payment = await pix(kit, order)
    await delete_order(kit.scope, order.public_id)
    with pytest.raises(NotFound):
        await find_payment(kit.scope, payment["public_id"])
    with pytest.raises(NotFound):
        await find_payment(other_kit.scope, payment["public_id"], of_removed_order=True)
