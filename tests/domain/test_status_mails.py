"""A status with `notify` mails the customer when an order gets it (docs/reference/shared.md#statuses)."""

from __future__ import annotations

import pytest

from domain.mails import outbox
from domain.orders.deletion import delete_order
from domain.orders.lifecycle import change_status
from domain.orders.statuses import update_status
from kernel.errors import RuleViolation
from kernel.scope import active_scope


async def mails(kit):
    with active_scope(kit.scope):
        return [mail for mail in await outbox.list_latest(kit.scope) if mail.kind == "order_status"]


async def order_of(kit, email="ana@example.com"):
    product = await kit.product(stock=10)
    order = await kit.order((product, 1))
    await kit.execute("update orders set email = $2, firstname = 'Ana' where id = $1", order.id, email)
    return order


async def set_notify(kit, letter, notify):
    status = await kit.value("select id from statuses where tenant_id = $1 and type = 'O' and letter = $2", letter)
    await update_status(kit.as_admin(), status, {"params": {"notify": notify}})


async def test_the_customer_gets_one_mail_with_the_status(kit):
    order = await order_of(kit)
    await change_status(kit.as_admin(), order.id, "P")
    await change_status(kit.as_admin(), order.id, "P")
    (mail,) = await mails(kit)
    description = await kit.value(
        "select description from statuses where tenant_id = $1 and type = 'O' and letter = 'P'"
    )
    assert mail.recipient == "ana@example.com"
    assert mail.subject == f"O seu pedido {order.id} em {kit.scope.store.name}: {description}"
    assert "Olá, Ana!" in mail.body
    assert description in mail.body


async def test_a_status_without_notify_sends_nothing(kit):
    await set_notify(kit, "P", False)
    order = await order_of(kit)
    await change_status(kit.as_admin(), order.id, "P")
    assert await mails(kit) == []
    await change_status(kit.as_admin(), order.id, "C")
    assert len(await mails(kit)) == 1


async def test_an_order_without_an_address_a_silent_change_and_a_refused_one_send_nothing(kit):
    silent = await order_of(kit)
    await change_status(kit.as_admin(), silent.id, "P", emit_events=False)
    await change_status(kit.as_admin(), (await order_of(kit, email="")).id, "P")
    with pytest.raises(RuleViolation):
        await change_status(kit.as_admin(), silent.id, "O")
    assert await mails(kit) == []


async def test_a_deleted_order_sends_nothing(kit):
    order = await order_of(kit)
    await delete_order(kit.as_admin(), order.id)
    assert await mails(kit) == []
