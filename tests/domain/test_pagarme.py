"""The gateway Pagar.me against a server that answers as its documentation shows, and against every documented error."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from aiohttp import web

from domain.payments import cancellation, creation, pending, refunds
from domain.payments.gateway import (
    ChargeItem,
    ChargeRequest,
    ChargeState,
    GatewayNotCalled,
    GatewayRefused,
    GatewayUnanswered,
    Payer,
    PaymentKind,
    PaymentStatus,
    Share,
)
from domain.payments.gateways import gateway_for
from domain.payments.methods import PAYMENT_METHOD_RECORDS
from domain.payments.pagarme import client
from domain.payments.pagarme.charges import barcode_of_line, read_charge
from domain.payments.pagarme.gateway import PagarmeGateway
from domain.payments.requests import parse_input
from domain.payments.sandbox.boleto_code import barcode, typed_line
from kernel import logging
from kernel.errors import Conflict, RuleViolation
from kernel.ids import uuid7
from server.outgoing import outgoing_client
from tests.harness.http import system_trust
from tests.harness.pagarme import LINE, SECRET_KEY, PagarmeServer

TOMORROW = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)


@pytest.fixture(autouse=True)
async def outgoing_requests():
    async with outgoing_client(allows_private=True, trust=system_trust()):
        yield


@pytest.fixture
async def server():
    async with PagarmeServer() as started:
        yield started


@pytest.fixture
def gateway(kit, server) -> PagarmeGateway:
    made = gateway_for(kit.scope, "pagarme", {"secret_key": SECRET_KEY, "public_key": "pk_test_1"})
    assert isinstance(made, PagarmeGateway)
    return made


@pytest.fixture
def logged():
    lines: list[bytes] = []
    previous = logging.set_sink(lines.append)
    yield lines
    logging.set_sink(previous)


def charge_request(kind: PaymentKind = PaymentKind.PIX, **fields: Any) -> ChargeRequest:
    is_card = kind is PaymentKind.CARD
    address = {
        "street": "Rua das Laranjeiras", "number": "12", "complement": "Ap. 3", "district": "Centro", "city": "Recife",
        "state": "PE", "zipcode": "50010-000", "country": "BR",
    }  # fmt: skip
    request = ChargeRequest(
        payment_id=uuid7(),
        order_id=uuid7(),
        order_number=1001,
        kind=kind,
        amount_cents=2990,
        currency="BRL",
        installments=3 if is_card else 1,
        card_token="token_1" if is_card else None,
        expires_at=None if is_card else TOMORROW,
        payer=Payer("Ana Souza", "ana@example.com", "52998224725", "+55 (81) 99999-0000", address),
        items=(ChargeItem("MUG", "Caneca", 3, 1990), ChargeItem("shipping", "Entrega", 1, 1000)),
        shares=(),
        statement_descriptor="CASA IPE LOJA ONLINE",
    )
    return replace(request, **fields)


async def test_a_pix_is_asked_for_as_documented(gateway, server):
    request = charge_request()
    state = await gateway.create(request)
    assert (state.charge_id, state.status, state.amount_cents, state.currency) == (
        "ch_1",
        PaymentStatus.PENDING,
        2990,
        "BRL",
    )
    assert state.pix is not None
    assert state.pix.code == "00020101021226-pix"
    assert state.pix.qr_png_url.startswith("https://api.pagar.me/")
    assert state.expires_at == TOMORROW
    [sent] = server.received
    assert (sent.method, sent.path) == ("POST", "/core/v5/orders")
    assert sent.headers["Idempotency-Key"] == str(request.payment_id)
    assert sent.body["code"] == sent.body["metadata"]["order_id"] == str(request.order_id)
    assert sent.body["metadata"]["payment_id"] == str(request.payment_id)
    assert [(item["quantity"], item["amount"], item["description"]) for item in sent.body["items"]] == [
        (1, 1990, "3 x Caneca"),
        (1, 1000, "Entrega"),
    ]
    assert sent.body["customer"] == {
        "name": "Ana Souza", "email": "ana@example.com", "type": "individual", "document": "52998224725",
        "document_type": "CPF",
        "phones": {"mobile_phone": {"country_code": "55", "area_code": "81", "number": "999990000"}},
        "address": {
            "line_1": "12, Rua das Laranjeiras, Centro", "line_2": "Ap. 3", "zip_code": "50010000", "city": "Recife",
            "state": "PE", "country": "BR",
        },
    }  # fmt: skip
    [payment] = sent.body["payments"]
    assert (payment["payment_method"], payment["amount"]) == ("pix", 2990)
    assert payment["pix"] == {"expires_at": TOMORROW.strftime("%Y-%m-%dT%H:%M:%SZ")}


async def test_a_boleto_has_its_line_and_the_barcode_of_it(gateway, server):
    state = await gateway.create(charge_request(PaymentKind.BOLETO))
    assert state.boleto is not None
    assert (state.boleto.line, len(state.boleto.barcode), state.boleto.due_at) == (LINE, 44, TOMORROW)
    assert state.boleto.pdf_url.endswith("/pdf")
    assert server.received[0].body["payments"][0]["boleto"]["document_number"] == "1001"


def test_the_barcode_of_a_line_is_the_one_that_it_was_written_from():
    for seed in range(200):
        draw = random.Random(seed)
        free_field = "".join(draw.choice("0123456789") for _ in range(25))
        code = barcode("237", TOMORROW.date(), draw.randrange(10**10), free_field)
        assert barcode_of_line(typed_line(code)) == code, seed


async def test_a_card_is_charged_by_its_token_in_instalments(gateway, server):
    state = await gateway.create(charge_request(PaymentKind.CARD))
    assert (state.status, state.paid_cents) == (PaymentStatus.PAID, 2990)
    assert state.card is not None
    assert (state.card.brand, state.card.last_four) == ("visa", "4242")
    card = server.received[0].body["payments"][0]["credit_card"]
    assert (card["card_token"], card["installments"], card["operation_type"]) == ("token_1", 3, "auth_and_capture")
    assert card["statement_descriptor"] == "CASA IPE LOJA"


async def test_shares_become_the_split(gateway, server):
    shares = (
        Share("rp_store", 990, is_store=True, is_liable=True, pays_fees=True),
        Share("rp_vendor", 2000, is_store=False, is_liable=False, pays_fees=False),
    )
    await gateway.create(charge_request(shares=shares))
    store, vendor = server.received[0].body["payments"][0]["split"]
    assert (store["recipient_id"], store["amount"], store["type"]) == ("rp_store", 990, "flat")
    assert store["options"] == {"liable": True, "charge_processing_fee": True, "charge_remainder_fee": True}
    assert (vendor["amount"], set(vendor["options"].values())) == (2000, {False})


async def test_a_repeated_creation_gets_the_charge_that_exists(gateway, server):
    request = charge_request(PaymentKind.CARD)
    assert await gateway.create(request) == await gateway.create(request)
    assert len(server.orders) == 1


async def test_a_refusal_of_a_repeated_creation_is_not_taken_for_the_first_answer(gateway, server):
    request = charge_request(PaymentKind.CARD)
    first = await gateway.create(request)
    server.refused["POST"] = 422  # the key is kept for a day; the token of the card was used
    assert await gateway.create(request) == first
    with pytest.raises(GatewayRefused):
        await gateway.create(charge_request(PaymentKind.CARD))


ERRORS = {
    400: GatewayRefused, 401: GatewayNotCalled, 403: GatewayNotCalled, 404: GatewayRefused, 412: GatewayRefused,
    422: GatewayRefused, 429: GatewayNotCalled, 409: GatewayUnanswered, 500: GatewayUnanswered, 502: GatewayUnanswered,
    503: GatewayUnanswered, 302: GatewayUnanswered, 204: GatewayUnanswered,
}  # fmt: skip


@pytest.mark.parametrize("status", ERRORS)
async def test_each_documented_error_of_a_creation(status, gateway, server, logged):
    server.refused["POST"] = status
    with pytest.raises(ERRORS[status]) as raised:
        await gateway.create(charge_request())
    assert isinstance(raised.value, GatewayNotCalled) is (ERRORS[status] is GatewayNotCalled)
    text = b"".join(logged).decode()
    digits = (str(raised.value) + text).replace(".", "").replace("-", "")
    assert "529982" not in digits, "a customer's document"
    assert ("order.customer.document" in text) is (ERRORS[status] is not GatewayUnanswered)


async def test_requests_are_counted_by_their_result(gateway, server):
    def counted() -> dict[tuple[str, ...], float]:
        return dict(client._CALLS.values)

    before = counted()
    await gateway.create(charge_request())
    server.refused = {"POST": 401}
    with pytest.raises(GatewayNotCalled):
        await gateway.create(charge_request())
    server.refused = {"POST": 500}
    with pytest.raises(GatewayUnanswered):
        await gateway.create(charge_request())
    added = {key: value - before.get(key, 0) for key, value in counted().items() if value != before.get(key, 0)}
    assert added == {("POST", "ok"): 1, ("POST", "not_called"): 1, ("POST", "unanswered"): 1}


async def test_a_refusal_that_can_not_be_confirmed_is_no_answer(gateway, server):
    server.refused |= {"POST": 422, "GET": 500}
    with pytest.raises(GatewayUnanswered):
        await gateway.create(charge_request())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"charges": []}',
        b'{"charges": [{"id": "ch_1"}]}',
        b'{"charges": [{}, {}]}',
        b'{"charges": 5}',
    ],
)
async def test_what_is_no_order_is_no_answer(body, gateway, server):
    server.answer = web.Response(body=body, content_type="application/json")
    with pytest.raises(GatewayUnanswered):
        await gateway.create(charge_request())


async def test_a_slow_answer_is_none(gateway, server, monkeypatch):
    monkeypatch.setattr(client, "TIMEOUT_SECONDS", 0.3)
    server.delay_seconds = 2.0
    with pytest.raises(GatewayUnanswered, match="timed out"):
        await gateway.create(charge_request())


async def test_a_truncated_answer_is_none(gateway, kit):
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"id": "or_1", "charges": [')
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(half, "127.0.0.1", 0)
    client.configure(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
    with pytest.raises(GatewayUnanswered):
        await gateway.create(charge_request())
    listening.close()


def charge(**fields: Any) -> ChargeState:
    return read_charge(
        {"id": "ch_1", "amount": 1000, "currency": "BRL", "payment_method": "pix", "last_transaction": {}} | fields
    )


@pytest.mark.parametrize("expires_at", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00"])
def test_a_time_at_an_end_of_the_calendar_is_none(expires_at: str) -> None:
    assert charge(status="pending", last_transaction={"expires_at": expires_at}).expires_at is None


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({"status": "pending"}, ("PENDING", 0, 0)),
        ({"status": "processing"}, ("PENDING", 0, 0)),
        ({"status": "pending", "last_transaction": {"status": "authorized_pending_capture"}}, ("AUTHORIZED", 0, 0)),
        ({"status": "paid"}, ("PAID", 1000, 0)),
        ({"status": "paid", "paid_amount": 1000}, ("PAID", 1000, 0)),
        ({"status": "overpaid", "paid_amount": 1100}, ("PAID", 1100, 0)),
        ({"status": "underpaid", "paid_amount": 900}, ("PAID", 900, 0)),
        ({"status": "paid", "paid_amount": 1000, "canceled_amount": 300}, ("PARTIALLY_REFUNDED", 1000, 300)),
        ({"status": "canceled", "paid_amount": 1000, "canceled_amount": 1000}, ("REFUNDED", 1000, 1000)),
        ({"status": "canceled"}, ("CANCELLED", 0, 0)),
        ({"status": "canceled", "last_transaction": {"expires_at": "2020-01-01T00:00:00Z"}}, ("EXPIRED", 0, 0)),
        ({"status": "chargedback", "paid_amount": 1000}, ("DISPUTED", 1000, 0)),
        ({"status": "failed"}, ("FAILED", 0, 0)),
        ({"status": "failed", "last_transaction": {"due_at": "2020-01-01T00:00:00Z"}}, ("EXPIRED", 0, 0)),
    ],
)
def test_each_status_of_a_charge(fields, expected):
    state = charge(**fields)
    assert (state.status, state.paid_cents, state.refunded_cents) == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "refunding"}, {"status": None}, {"status": "paid", "amount": "1000"}, {"status": "paid", "amount": -1},
        {"status": "paid", "paid_amount": 1.5}, {"status": "pending", "id": "ch/../1"}, {"status": "pending", "id": 5},
        {"status": "pending", "currency": 5}, {"status": "pending", "last_transaction": {"qr_code": "a\0"}},
        {"status": "pending", "payment_method": "boleto", "last_transaction": {"line": "12", "due_at": "2030-01-01T00:00:00Z"}},
    ],
)  # fmt: skip
def test_a_charge_that_is_not_as_documented_is_no_answer(fields):
    with pytest.raises(GatewayUnanswered):
        charge(**fields)


@pytest.mark.parametrize(
    "transaction, code",
    [
        ({"status": "not_authorized", "acquirer_return_code": "51"}, "declined_51"),
        ({"status": "with_error"}, "technical"),
        ({}, "declined"),
    ],
)
def test_why_a_charge_failed(transaction, code):
    failure = charge(status="failed", payment_method="credit_card", last_transaction=transaction).failure
    assert failure is not None
    assert failure.code == code


def test_addresses_that_a_page_must_not_show_are_left_out():
    state = charge(status="pending", last_transaction={"qr_code": "x", "qr_code_url": "javascript:alert(1)"})
    assert state.pix is not None
    assert state.pix.qr_png_url == ""


async def test_a_charge_is_read_by_its_id(gateway, server):
    state = await gateway.create(charge_request())
    assert await gateway.read(uuid7(), state.charge_id) == state
    assert await gateway.read(uuid7(), "ch_unknown") is None
    await gateway.read(uuid7(), "../orders")
    assert server.received[-1].path.startswith("/core/v5/charges/..%2Forders")


async def test_a_refund_is_asked_for_with_a_key_of_its_own(gateway, server):
    state = await gateway.create(charge_request(PaymentKind.CARD))
    refunded = await gateway.refund(state.charge_id, 990, "refund-1")
    assert (refunded.status, refunded.refunded_cents) == (PaymentStatus.PARTIALLY_REFUNDED, 990)
    assert await gateway.refund(state.charge_id, 990, "refund-1") == refunded
    [first, _] = server.requests("DELETE")
    assert (first.path, first.body, first.headers["Idempotency-Key"]) == (
        "/core/v5/charges/ch_1",
        {"amount": 990},
        "refund-1",
    )


async def test_a_charge_is_cancelled_once(gateway, server):
    state = await gateway.create(charge_request())
    for key in ("cancel-1", "cancel-2"):
        assert (await gateway.cancel(state.charge_id, key)).status is PaymentStatus.CANCELLED, key
    [request] = server.requests("DELETE")
    assert request.body is None
    with pytest.raises(GatewayRefused):
        await gateway.cancel("ch_9", "cancel-3")


@pytest.mark.parametrize("status", [401, 403, 429, 500])
async def test_when_no_request_is_taken_nothing_is_known_about_a_charge(status, gateway, server):
    server.answer = web.Response(status=status)
    for work in (gateway.read(uuid7(), "ch_1"), gateway.cancel("ch_1", "k"), gateway.refund("ch_1", 1, "k")):
        with pytest.raises(GatewayUnanswered):
            await work


@pytest.mark.parametrize("params", [{}, {"secret_key": ""}, {"secret_key": 5}, {"public_key": "pk"}])
def test_a_method_without_a_secret_key_has_no_gateway(params, kit):
    assert gateway_for(kit.scope, "pagarme", params) is None


# --- Through the payments of a store -----------------------------------------------------------------------------------------------


@pytest.fixture
async def order(kit, server):
    methods = {
        kind: await PAYMENT_METHOD_RECORDS.create(
            kit.scope,
            {"name": kind, "processor": "pagarme", "kind": kind, "processor_params": {"secret_key": SECRET_KEY}},
        )
        for kind in ("PIX", "CARD")
    }
    return await kit.order((await kit.product(stock=100), 1), payment_method=methods["PIX"], origin="storefront")


async def create(kit, order, kind: str = "PIX", **values: Any) -> dict[str, Any]:
    if kind == "CARD":
        values = {"card_token": "token_1", **values}
    number = await creation.create_payment(kit.scope, order.public_id, None, parse_input(kind, values))
    return dict(await kit.record("payments", number))


async def test_a_payment_whose_answer_was_lost_is_found_by_its_order(kit, order, server):
    server.answer = web.Response(status=500)
    payment = await create(kit, order, "CARD")
    assert (payment["status"], payment["gateway_charge_id"]) == ("PENDING", None)
    server.answer = None
    await kit.execute("UPDATE payments SET due_at = now(), attempted_at = now() - interval '1 hour'")
    await pending.settle_due(kit.scope, limit=10)
    settled = await kit.record("payments", payment["id"])
    assert (settled["status"], settled["gateway_charge_id"]) == ("PAID", "ch_1")
    assert len(server.orders) == 1


async def test_a_payment_that_never_arrived_has_failed(kit, order, server):
    server.works, server.answer = False, web.Response(status=500)
    payment = await create(kit, order, "CARD")
    server.works, server.answer = True, None
    await kit.execute("UPDATE payments SET due_at = now(), attempted_at = now() - interval '1 hour'")
    await pending.settle_due(kit.scope, limit=10)
    assert (await kit.record("payments", payment["id"]))["status"] == "FAILED"


async def test_another_amount_does_not_pay_the_order(kit, order, server):
    server.charge = {"amount": 1, "paid_amount": 1}
    payment = await create(kit, order, "CARD")
    assert payment["status"] == "PENDING"
    assert (await kit.record("orders", order.id))["payment_status"] == "unpaid"


@pytest.mark.parametrize("is_replaced", [True, False])
async def test_a_pix_that_was_paid_before_it_is_cancelled_pays_the_order(kit, order, server, is_replaced):
    payment = await create(kit, order)
    server.pay(payment["gateway_charge_id"])
    if is_replaced:
        with pytest.raises(Conflict, match="the order is paid"):
            await create(kit, order, "CARD")
    else:
        with pytest.raises(RuleViolation, match="in status PAID can't be cancelled"):
            await cancellation.cancel_payment(kit.scope, payment["public_id"], None)
    settled = await kit.record("payments", payment["id"])
    assert (settled["status"], settled["refunded_cents"], await kit.status(order.id)) == ("PAID", 0, "P")
    assert server.requests("DELETE") == []


async def test_refunds_reach_the_order(kit, order, server):
    payment = await create(kit, order, "CARD")
    await refunds.refund_payment(kit.scope, payment["public_id"], 100)
    refunded = await kit.record("payments", payment["id"])
    assert (refunded["status"], refunded["refunded_cents"]) == ("PARTIALLY_REFUNDED", 100)
    assert isinstance(refunded["public_id"], UUID)
