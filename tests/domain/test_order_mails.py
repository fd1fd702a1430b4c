"""Customers get the mails about their orders, one per change (docs/reference/shared.md#order-mails)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import asyncpg
import pytest

from auth.secrets import order_token
from auth.store_resolution import build_store
from domain import jobs
from domain.backlog import read_backlog
from domain.mails import order_mails, outbox
from domain.mails.html import html_mail
from domain.orders.deletion import delete_order
from domain.orders.expiry import expire_orders
from domain.orders.lifecycle import change_status
from domain.orders.payments import record_payment
from domain.orders.shipments import create_shipment, update_shipment
from domain.orders.statuses import create_status, update_status
from domain.orders.vendor_update import update_as_vendor
from domain.purchase.edit import update_order
from domain.stores import update_settings
from kernel.errors import RuleViolation, ValidationFailed
from kernel.scope import active_scope
from models.connection import database
from tests.auth.kit import run_and_roll_back
from tests.domain.gateway_kit import (
    gateway_secret,  # noqa: F401
    send,
)
from tests.harness.gateway import charge, event
from tests.harness.scopes import execute

ADDRESS = {
    "firstname": "Ana",
    "lastname": "Souza",
    "street": "Rua das Flores",
    "number": "10",
    "complement": "ap. 2",
    "district": "Centro",
    "city": "São Paulo",
    "state": "SP",
    "zipcode": "01001000",
}
PAGE = "https://loja.example/pedido"


async def mails(kit):
    """Write the queued mails, and return all in the order they were queued."""
    await order_mails.write_queued(kit.scope, limit=100)
    with active_scope(kit.scope):
        return list(reversed(await outbox.list_latest(kit.scope)))


async def kinds(kit):
    return [mail.kind for mail in await mails(kit)]


async def clear(kit):
    await execute(kit.store, "delete from mails")
    await execute(kit.store, "delete from order_mails")


async def order_of(kit, *quantities, **draft):
    """Place an order and forget its mail; return it and the ids of its lines."""
    products = [(await kit.product(stock=10), quantity) for quantity in quantities or (1,)]
    order = await kit.order(*products, email="ana@example.com", firstname="Ana", **draft)
    await clear(kit)
    return order, [line["id"] for line in await kit.lines(order.id)]


async def with_settings(kit, **settings):
    """Change settings of the store and return the kit with the store as it is now."""
    await update_settings(kit.scope, settings)
    async with database.cross_store_connection() as everywhere:
        row = await everywhere.fetchrow("select * from tenants where id = $1", kit.store.id)
    return replace(kit, scope=replace(kit.scope, store=build_store(row)))


# --- Placed ------------------------------------------------------------------------------------------------------------------


async def test_a_placed_order_mails_lines_totals_address_and_how_to_pay(kit):
    kit = await with_settings(kit, order_url=PAGE, support_email="oi@loja.example")
    method = await kit.shipping(name="Sedex", delivery_time="3 dias úteis", rates=[{"base_cents": 1_590}])
    payment = await kit.payment(instructions="<p>Pague em <b>30 minutos</b>.</p>", surcharge_cents=250)
    dear, cheap = await kit.product(name="Jarro", price_cents=123_456), await kit.product(name="Prato")
    order = await kit.order(
        (dear, 1),
        (cheap, 2),
        email="ana@example.com",
        firstname="Ana",
        shipping_method=method,
        payment_method=payment,
        addresses={"S": ADDRESS},
        discount_cents=1_000,
    )
    (mail,) = await mails(kit)
    assert (mail.kind, mail.recipient) == ("order_placed", "ana@example.com")
    assert mail.subject == f"Recebemos o seu pedido {order.id} em {kit.store.name}"
    link = f"{PAGE}#id={order.public_id}&token={order_token(kit.scope, order.public_id)}"
    assert (
        mail.body
        == f"""Olá, Ana!

Recebemos o seu pedido {order.id} em {kit.store.name}. Obrigado pela compra!

    1 × Jarro  R$ 1.234,56
    2 × Prato  R$ 20,00

    Produtos   R$ 1.254,56
    Desconto   -R$ 10,00
    Entrega    R$ 15,90
    Acréscimo  R$ 2,50
    Total      R$ 1.262,96

Como pagar: Pix.

    Pague em
    30 minutos
    .

Entrega: Sedex, 3 dias úteis.

    Ana Souza
    Rua das Flores, 10, ap. 2
    Centro
    São Paulo - SP
    CEP 01001000

Acompanhe o pedido aqui:

    {link}

Dúvidas? Fale com a loja: oi@loja.example
"""
    )


async def test_an_order_that_is_paid_at_once_says_so(kit):
    payment = await kit.payment(name="Crédito da loja", settles_at_once=True, instructions="Pague já")
    await kit.order((await kit.product(), 1), payment_method=payment)
    (mail,) = await mails(kit)
    assert "Pagamento: Crédito da loja, já confirmado." in mail.body
    assert "Pague já" not in mail.body


async def test_an_order_of_a_rolled_back_transaction_a_refused_one_and_demo_data_mail_nothing(kit):
    product = await kit.product(stock=1)
    await kit.delivery()
    await run_and_roll_back(kit.store, kit.order((product, 1)))
    with pytest.raises(RuleViolation):
        await kit.order((product, 2))
    await kit.order((product, 1), status="I")
    assert await kinds(kit) == []


async def test_what_a_customer_wrote_has_no_link_in_the_mail(kit):
    evil = {**ADDRESS, "street": "https://evil.example/x  Av.Brasil", "complement": "S/N\nhttp://evil.example"}
    await kit.order((await kit.product(), 1), firstname="Veja evil.example Ana", addresses={"S": evil})
    (mail,) = await mails(kit)
    assert "Olá, Veja Ana!" in mail.body
    assert "    https:// evil. example/x Av. Brasil, 10, S/N http:// evil. example\n" in mail.body
    assert "<a " not in html_mail(mail.subject, mail.body)


# --- Changes -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status, kind, subject",
    [
        ("P", "order_paid", "Pagamento confirmado: pedido {number} em {store}"),
        ("C", "order_complete", "O seu pedido {number} em {store} foi concluído"),
        ("I", "order_cancelled", "O seu pedido {number} em {store} foi cancelado"),
        ("D", "order_payment_failed", "O pagamento do seu pedido {number} em {store} não foi concluído"),
        ("F", "order_payment_failed", "O pagamento do seu pedido {number} em {store} não foi concluído"),
        ("B", "order_status", "O seu pedido {number} em {store}: Aguardando estoque"),
    ],
)
async def test_a_status_mails_once_in_words_of_its_own(kit, status, kind, subject):
    kit = await with_settings(kit, order_url=PAGE)
    order, _ = await order_of(kit)
    await change_status(kit.as_admin(), order.id, status)
    await change_status(kit.as_admin(), order.id, status)
    (mail,) = await mails(kit)
    assert (mail.kind, mail.recipient) == (kind, "ana@example.com")
    assert mail.subject == subject.format(number=order.id, store=kit.store.name)
    assert "Olá, Ana!" in mail.body
    assert f"{PAGE}#id={order.public_id}&token=" in mail.body


async def test_a_status_of_the_store_mails_its_description(kit):
    await create_status(kit.as_admin(), {"description": "Em produção", "letter": "X"})
    kit = await with_settings(kit)
    order, _ = await order_of(kit)
    await change_status(kit.as_admin(), order.id, "X")
    (mail,) = await mails(kit)
    assert (mail.kind, mail.subject.rpartition(": ")[2]) == ("order_status", "Em produção")


async def test_an_expired_payment_mails_its_customer(kit):
    order, _ = await order_of(kit)
    await execute(kit.store, "update orders set hold_until = now() - interval '1 hour'")
    await expire_orders(kit.scope)
    assert (await kit.status(order.id), await kinds(kit)) == ("F", ["order_payment_failed"])


async def test_a_payment_is_mailed_once_whether_recorded_before_or_after_the_status(kit):
    first, _ = await order_of(kit)
    await record_payment(kit.scope, first.id, 1_000)
    await change_status(kit.as_admin(), first.id, "P")
    assert await kinds(kit) == ["order_paid"]
    other, _ = await order_of(kit)
    await change_status(kit.as_admin(), other.id, "P")
    await record_payment(kit.scope, other.id, 1_000)
    assert await kinds(kit) == ["order_paid"]


async def test_the_gateway_s_payment_and_refund_mail_once_each(kit):
    order, _ = await order_of(kit)
    paid = charge(order.id)
    await send(kit, event("charge.paid", paid))
    assert await kinds(kit) == ["order_paid"]
    await send(kit, event("charge.partial_canceled", {**paid, "canceled_amount": 250}))
    await send(kit, event("charge.refunded", {**paid, "canceled_amount": 1_000, "status": "canceled"}))
    assert await kit.status(order.id) == "I"
    _, part, rest = await mails(kit)
    assert [(mail.kind, "Devolvemos " + mail.body.partition("Devolvemos ")[2][:9]) for mail in (part, rest)] == [
        ("order_refunded", "Devolvemos R$ 2,50 d"),
        ("order_refunded", "Devolvemos R$ 7,50 d"),
    ]


async def test_a_cancelled_order_that_was_paid_says_that_the_money_comes_back(kit):
    order, _ = await order_of(kit)
    await record_payment(kit.scope, order.id, 1_000)
    await clear(kit)
    await change_status(kit.as_admin(), order.id, "I")
    (mail,) = await mails(kit)
    assert "Você já tinha pago R$ 10,00: a loja fará a devolução do valor." in mail.body


# --- Shipments ---------------------------------------------------------------------------------------------------------------


async def test_each_shipment_mails_its_lines_with_carrier_code_and_link(kit):
    order, [one, other] = await order_of(kit, 2, 3)
    code = "AA123456789BR"
    await create_shipment(kit.scope, order.id, {one: 2, other: 1}, {"carrier": "Correios", "tracking_number": code})
    await create_shipment(kit.scope, order.id, None, {"carrier": "Motoboy", "tracking_number": "M 1"})
    part, rest = await mails(kit)
    names = [line["product_name"] for line in await kit.lines(order.id)]
    assert part.subject == f"Parte do seu pedido {order.id} em {kit.store.name} está a caminho"
    assert f"    2 × {names[0]}\n    1 × {names[1]}\n" in part.body
    assert "    Transportadora      Correios\n    Código de rastreio  AA123456789BR\n" in part.body
    assert f"    https://rastreamento.correios.com.br/app/index.php?objetos={code}\n" in part.body
    assert "O restante do pedido segue em outro envio." in part.body
    assert rest.subject == f"O restante do seu pedido {order.id} em {kit.store.name} está a caminho"
    assert f"está a caminho:\n\n    2 × {names[1]}\n" in rest.body
    assert ("Rastreie" in rest.body, "outro envio" in rest.body) == (False, False)


async def test_the_store_s_tracking_page_takes_the_code(kit):
    kit = await with_settings(kit, tracking_url="https://rastreio.example/?c={code}&l=pt")
    order, _ = await order_of(kit)
    await create_shipment(kit.scope, order.id, None, {"tracking_number": "M 1/2"})
    (mail,) = await mails(kit)
    assert "    https://rastreio.example/?c=M%201%2F2&l=pt\n" in mail.body


async def ship_by_status(kit, order):
    await change_status(kit.as_admin(), order.id, "C", tracking_code="BR1", carrier="Correios")


async def ship_by_update(kit, order):
    await update_order(kit.as_admin(), order.id, {"status": "C", "tracking_code": "BR1"})


async def ship_with_order_status(kit, order):
    await create_shipment(kit.scope, order.id, None, {"tracking_number": "BR1", "order_status": "C"})


@pytest.mark.parametrize("ship", [ship_by_status, ship_by_update, ship_with_order_status])
async def test_an_order_that_is_shipped_and_completed_at_once_mails_the_shipment_only(kit, ship):
    order, _ = await order_of(kit)
    await ship(kit, order)
    assert (await kit.status(order.id), await kinds(kit)) == ("C", ["order_shipped"])


async def test_an_order_completed_after_its_shipment_mails_both(kit):
    order, _ = await order_of(kit)
    await create_shipment(kit.scope, order.id)
    await change_status(kit.as_admin(), order.id, "C", tracking_code="BR1")
    assert await kinds(kit) == ["order_shipped", "order_complete"]


async def test_a_vendor_s_shipment_mails_once(kit):
    vendor = await kit.vendor()
    product = await kit.product(vendor=vendor)
    order = await kit.order((product, 1))
    await clear(kit)
    await update_as_vendor(kit.as_vendor(vendor), order.id, status="C", tracking_number="BR1")
    await update_as_vendor(kit.as_vendor(vendor), order.id, tracking_number="BR1")
    assert await kinds(kit) == ["order_shipped"]


async def test_a_shipment_that_concurrent_requests_send_off_is_mailed_once(kit):
    order, _ = await order_of(kit, 3)
    shipment = await create_shipment(kit.scope, order.id, None, {"status": "A"})
    await asyncio.gather(*(update_shipment(kit.scope, shipment, {"status": "S"}) for _ in range(4)))
    assert await kinds(kit) == ["order_shipped"]


async def test_a_packed_shipment_is_mailed_when_it_leaves_and_when_its_code_changes(kit):
    order, _ = await order_of(kit)
    shipment = await create_shipment(kit.scope, order.id, None, {"status": "A"})
    assert await kinds(kit) == []
    await update_shipment(kit.scope, shipment, {"status": "S"})
    await update_shipment(kit.scope, shipment, {"comments": "na portaria"})
    assert await kinds(kit) == ["order_shipped"]
    await update_shipment(kit.scope, shipment, {"tracking_number": "BR9"})
    await update_shipment(kit.scope, shipment, {"tracking_number": "BR9"})
    assert ["BR9" in mail.body for mail in await mails(kit)] == [False, True]


async def test_another_tracking_code_of_a_shipped_order_is_mailed(kit):
    order, _ = await order_of(kit)
    await change_status(kit.as_admin(), order.id, "C", tracking_code="BR1")
    await change_status(kit.as_admin(), order.id, "C", tracking_code="BR9")
    await change_status(kit.as_admin(), order.id, "C", tracking_code="BR9")
    assert await kinds(kit) == ["order_shipped", "order_shipped"]
    assert ["BR9" in mail.body for mail in await mails(kit)] == [False, True]


# --- What sends none ---------------------------------------------------------------------------------------------------------


async def every_change(kit):
    """Place an order and change it in each way that mails."""
    paid, _ = await order_of(kit)
    await send(kit, event("charge.paid", charge(paid.id)))
    await create_shipment(kit.scope, paid.id)
    await change_status(kit.as_admin(), paid.id, "C")
    await send(kit, event("charge.refunded", charge(paid.id, canceled_amount=1_000)))
    sent = await kinds(kit)
    await clear(kit)
    unpaid = await kit.order((await kit.product(), 1))
    for status in ("B", "O", "D", "I"):
        await change_status(kit.as_admin(), unpaid.id, status)
    return set(sent + await kinds(kit))


async def test_a_setting_turns_each_mail_off_and_one_all(kit):
    everything = await every_change(kit)
    assert everything == {
        "order_placed",
        "order_paid",
        "order_shipped",
        "order_complete",
        "order_refunded",
        "order_status",
        "order_payment_failed",
        "order_cancelled",
    }
    for kind in sorted(everything):
        without = await with_settings(kit, **{f"mail_{kind}": False})
        assert await every_change(without) == everything - {kind}, kind
        await with_settings(kit, **{f"mail_{kind}": True})
    assert await every_change(await with_settings(kit, order_mails=False)) == set()


async def test_where_the_mail_of_the_shipment_or_refund_is_off_the_status_is_mailed(kit):
    kit = await with_settings(kit, mail_order_shipped=False, mail_order_refunded=False)
    order, _ = await order_of(kit)
    await ship_by_status(kit, order)
    paid = charge(order.id)
    await send(kit, event("charge.paid", paid))
    await send(kit, event("charge.refunded", {**paid, "canceled_amount": 1_000, "status": "canceled"}))
    assert await kinds(kit) == ["order_complete", "order_cancelled"]


async def test_a_status_without_notify_mails_nothing(kit):
    async def set_notify(letter, notify):
        status = await kit.value("select id from statuses where tenant_id = $1 and type = 'O' and letter = $2", letter)
        await update_status(kit.as_admin(), status, {"params": {"notify": notify}})

    await set_notify("O", False)
    await set_notify("P", False)
    order = await kit.order((await kit.product(), 1))
    await change_status(kit.as_admin(), order.id, "P")
    assert await kinds(kit) == []
    await change_status(kit.as_admin(), order.id, "C")
    assert await kinds(kit) == ["order_complete"]


async def test_an_imported_order_and_one_without_an_address_mail_nothing(kit):
    for change in ("imported = true", "email = ''"):
        order, _ = await order_of(kit)
        await execute(kit.store, f"update orders set {change}")
        await send(kit, event("charge.paid", charge(order.id)))
        await create_shipment(kit.scope, order.id)
        await change_status(kit.as_admin(), order.id, "C")
        await send(kit, event("charge.refunded", charge(order.id, canceled_amount=1_000)))
        assert await kinds(kit) == [], change


async def test_a_refused_change_and_a_deletion_mail_nothing(kit):
    refused, _ = await order_of(kit, status="P")
    with pytest.raises(RuleViolation):
        await change_status(kit.as_admin(), refused.id, "O")
    deleted, _ = await order_of(kit)
    await delete_order(kit.as_admin(), deleted.id)
    assert await kinds(kit) == []


# --- Written later -----------------------------------------------------------------------------------------------------------


async def test_a_queued_mail_is_written_once_however_many_workers_write(kit):
    for _ in range(3):
        await kit.order((await kit.product(), 1))
    written = await asyncio.gather(*(order_mails.write_queued(kit.scope, limit=2) for _ in range(4)))
    assert sum(written) == 3
    assert await kinds(kit) == ["order_placed"] * 3


async def test_the_job_writes_the_mails_of_every_store_that_has_some(kit):
    await kit.order((await kit.product(), 1))
    [job] = [job for job in jobs.JOBS if job.name == "write_order_mails"]
    outcome = await job.work(lambda: True)
    assert outcome.failures == ()
    assert await kit.value("select count(*) from order_mails where tenant_id = $1") == 0
    assert await kinds(kit) == ["order_placed"]


async def test_a_mail_of_a_later_version_waits_and_keeps_no_other_from_being_written(kit):
    order, _ = await order_of(kit)
    await execute(kit.store, "insert into order_mails (order_id, kind) values ($1, 'order_praised')", order.id)
    await change_status(kit.as_admin(), order.id, "P")
    assert await kinds(kit) == ["order_paid"]
    assert await kit.value("select kind from order_mails where tenant_id = $1") == "order_praised"


async def test_a_mail_waits_for_a_worker_from_its_change_until_it_is_sent(kit, postgres, database_name):
    # What other tests left would be more than is counted.
    connection = await asyncpg.connect(postgres.superuser_url(database_name))
    await connection.execute("delete from order_mails")
    await connection.execute("update mails set status = 'S' where status = 'Q'")
    await connection.close()
    before = (await read_backlog()).waiting["mails"]
    await kit.order((await kit.product(), 1))
    assert (await read_backlog()).waiting["mails"] == before + 1
    await order_mails.write_queued(kit.scope, limit=10)
    assert (await read_backlog()).waiting["mails"] == before + 1
    await execute(kit.store, "update mails set status = 'S'")
    assert (await read_backlog()).waiting["mails"] == before


async def test_the_mail_about_a_status_says_what_was_so_when_it_changed(kit):
    status = await create_status(kit.as_admin(), {"description": "Em produção", "letter": "X"})
    kit = await with_settings(kit)
    order, _ = await order_of(kit)
    await record_payment(kit.scope, order.id, 1_000)
    await change_status(kit.as_admin(), order.id, "X")
    await change_status(kit.as_admin(), order.id, "I")
    await update_status(kit.as_admin(), status, {"description": "Pronto"})
    await execute(kit.store, "update orders set refunded_cents = paid_cents")
    _, custom, cancelled = await mails(kit)
    assert custom.subject.endswith(": Em produção")
    assert "Você já tinha pago R$ 10,00" in cancelled.body


async def test_the_mail_about_a_new_order_shows_it_as_it_is_when_it_is_written(kit):
    order = await kit.order((await kit.product(name="Jarro"), 1))
    prato = await kit.product(name="Prato", price_cents=700)
    await update_order(kit.as_admin(), order.id, {"lines": [{"product": prato, "quantity": 2}]})
    (mail,) = await mails(kit)
    assert ("2 × Prato  R$ 14,00" in mail.body, "Jarro" in mail.body) == (True, False)


async def test_a_mail_of_an_order_whose_address_was_erased_meanwhile_is_not_written(kit):
    await kit.order((await kit.product(), 1))
    await execute(kit.store, "update orders set email = ''")
    assert await order_mails.write_queued(kit.scope, limit=10) == 1
    assert await kinds(kit) == []
    assert await order_mails.write_queued(kit.scope, limit=10) == 0


# --- Links -------------------------------------------------------------------------------------------------------------------


async def test_without_a_page_a_mail_has_no_link(kit):
    await kit.order((await kit.product(), 1))
    (mail,) = await mails(kit)
    assert "http" not in mail.body


async def test_the_link_is_the_example_storefront_s_page_where_the_store_shows_it(kit):
    host = f"{kit.store.public_id.hex}.example"
    async with database.cross_store_connection() as everywhere:
        await everywhere.execute("insert into store_hosts (host, store_id) values ($1, $2)", host, kit.store.id)
    order_mails.configure(lambda store: store.id == kit.store.id, "https://vitrine.example:8443/base")
    try:
        order = await kit.order((await kit.product(), 1))
        (mail,) = await mails(kit)
    finally:
        order_mails.configure(lambda store: False, "http://localhost")
    assert f"    https://{host}:8443/pedido#id={order.public_id}&token=" in mail.body


@pytest.mark.parametrize("page", ["javascript:{code}", "https://rastreio.example/", "ftp://x/{code}"])
async def test_a_tracking_page_is_an_address_with_the_code(kit, page):
    with pytest.raises(ValidationFailed):
        await update_settings(kit.as_admin(), {"tracking_url": page})


# --- HTML --------------------------------------------------------------------------------------------------------------------


def test_the_html_alternative_escapes_texts_and_links_pages_only():
    text = 'Olá, <b>&"!\n\n    1 × <img src=x>  R$ 5,00\n    Total  R$ 5,00\n\nAqui:\n\n    https://x.example/p#id=1&token=2\n'
    page = html_mail("A <b>", text)
    assert "<title>A &lt;b&gt;</title>" in page
    assert ">Olá, &lt;b&gt;&amp;&quot;!</p>" in page
    assert ">1 × &lt;img src=x&gt;</td>" in page
    assert page.count("<tr>") == 3
    assert page.count('<a href="https://x.example/p#id=1&amp;token=2"') == page.count("<a ") == 1
