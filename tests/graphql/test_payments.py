"""Payments through the gateway sandbox by GraphQL: created, paid, cancelled and refunded, by shoppers and staff."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from domain.payments import creation
from domain.payments.sandbox import actions
from domain.stores import set_gateway_secret
from kernel.ids import uuid7
from tests.harness.payments import add_sandbox_methods, enabled_sandbox
from tests.harness.records import UserRecord
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient, open_storefront

PAYMENT = """
    id number kind status amount_cents surcharge_cents paid_cents refunded_cents installments gateway gateway_charge_id expires_at paid_at
    failure { code message } pix { code qr_svg } boleto { line barcode due_at } card { brand last_four }
    refunds { amount_cents status }
"""
CREATE = f"""
    mutation($order: ID!, $kind: PaymentKind!, $token: String, $card: String, $installments: Int! = 1, $billing: BillingInput) {{
        payment_create(order_id: $order, kind: $kind, token: $token, card_token: $card, installments: $installments, billing: $billing)
        {{ {PAYMENT} }}
    }}
"""
CANCEL = f"mutation($id: ID!, $token: String) {{ payment_cancel(payment_id: $id, token: $token) {{ {PAYMENT} }} }}"
REFUND = (
    f"mutation($id: ID!, $cents: BigInt!) {{ payment_refund(payment_id: $id, amount_cents: $cents) {{ {PAYMENT} }} }}"
)
READ = f"query($id: ID!, $token: String) {{ payment(id: $id, token: $token) {{ {PAYMENT} }} }}"
PLACED = (
    "query($id: ID!, $token: String) { placed_order(id: $id, token: $token)"
    f" {{ status payment_status total_cents surcharge_cents payment_method {{ kind }} payments {{ {PAYMENT} }} }} }}"
)
OPTIONS = """
    query($order: ID, $cart: ID, $token: String) { payment_options(order_id: $order, cart_id: $cart, token: $token) {
        kind gateway public_key total_cents payment_method { name }
        installments { number monthly_rate surcharge_cents total_cents first_cents other_cents }
    } }
"""


@pytest.fixture(autouse=True)
def sandbox():
    with enabled_sandbox():
        yield


class Shop:
    """A store whose methods are of the sandbox, and the order of a guest."""

    def __init__(self, sample: SampleStore, storefront: StorefrontClient) -> None:
        self.sample, self.storefront = sample, storefront
        self.order: dict[str, Any] = {}

    async def prepare(self) -> Shop:
        await set_gateway_secret(self.sample.scope, "a secret of the tests")
        await add_sandbox_methods(self.sample.scope)
        self.order = (await self.storefront.order((self.sample.mug, 1))).body
        return self

    async def execute(self, query: str, by: UserRecord | None = None, key: str | None = None, **variables: Any) -> Any:
        headers = {"Idempotency-Key": key} if key else {}
        body = {"query": query, "variables": variables}
        if by is not None:
            answer = await self.sample.post("/graphql", body, auth="bearer", by=by, headers=headers)
        else:
            headers["X-API-Key"] = self.storefront.key or ""
            answer = await self.sample.post("/graphql", body, auth=None, headers=headers)
        if "errors" in answer.body:
            return answer.body["errors"][0]
        return next(iter(answer.body["data"].values()))

    async def create(self, kind: str = "PIX", **variables: Any) -> Any:
        return await self.execute(
            CREATE, **{"order": self.order["id"], "token": self.order["token"], "kind": kind, **variables}
        )

    async def placed(self) -> Any:
        return await self.execute(PLACED, id=self.order["id"], token=self.order["token"])

    async def act(self, payment: Any, name: str) -> str:
        return await actions.act(self.sample.scope, payment["gateway_charge_id"], name)


@pytest.fixture
async def shop(sample: SampleStore) -> Shop:
    return await Shop(sample, await open_storefront(sample)).prepare()


def reason(error: Any) -> tuple[str, str | None]:
    extensions = error["extensions"]
    return extensions["code"], extensions.get("details", {}).get("reason")


async def test_a_guest_pays_an_order_by_pix(shop):
    payment = await shop.create()
    assert (payment["status"], payment["gateway"], payment["kind"]) == ("PENDING", "sandbox", "PIX")
    assert payment["amount_cents"] == shop.order["total_cents"]
    assert payment["pix"]["code"].startswith("000201010212")
    assert payment["pix"]["qr_svg"].startswith("<svg")
    assert await shop.act(payment, "pay") == "received"
    placed = await shop.placed()
    assert (placed["status"], placed["payment_status"]) == ("P", "paid")
    [paid] = placed["payments"]
    assert (paid["id"], paid["status"], paid["paid_cents"]) == (payment["id"], "PAID", payment["amount_cents"])


async def test_the_page_opened_again_shows_the_same_payment(shop):
    payment = await shop.create()
    assert (await shop.placed())["payments"] == [payment]
    assert await shop.execute(READ, id=payment["id"], token=shop.order["token"]) == payment


async def test_a_repeated_request_with_the_same_key_gets_the_same_payment(shop):
    key = str(uuid7())
    first, second = await shop.create(key=key), await shop.create(key=key)
    assert first == second
    assert len((await shop.placed())["payments"]) == 1


async def test_with_a_key_no_call_is_made_in_a_transaction(shop):
    pay = "payment_create(order_id: $order, kind: PIX, token: $token) { id }"
    document = f"mutation($order: ID!, $token: String) {{ ...Pay }} fragment Pay on Mutation {{ {pay} }}"
    error = await shop.execute(document, key=str(uuid7()), order=shop.order["id"], token=shop.order["token"])
    assert reason(error) == ("RULE_VIOLATION", "not_alone")
    assert (await shop.placed())["payments"] == []


async def test_a_shopper_who_tries_out_cards_is_refused_for_an_hour_and_staff_is_not(shop, monkeypatch):
    monkeypatch.setattr(creation, "MAX_HOURLY", 3)
    for attempt in range(3):
        assert (await shop.create("CARD", card="tok_declined"))["status"] == "FAILED", attempt
    for kind, values in (("CARD", {"card": "tok_approved"}), ("PIX", {})):
        assert (await shop.create(kind, **values))["extensions"]["code"] == "RATE_LIMITED", kind
    assert len((await shop.placed())["payments"]) == 3
    await shop.sample.execute("UPDATE payments SET created_at = created_at - interval '1 hour' WHERE sequence = 1")
    assert (await shop.create("CARD", card="tok_declined"))["status"] == "FAILED"
    assert (await shop.create("PIX"))["extensions"]["code"] == "RATE_LIMITED"
    assert (await shop.create("CARD", by=shop.sample.owner, card="tok_approved"))["status"] == "PAID"


async def test_another_payment_cancels_the_pending_one(shop):
    pix = await shop.create()
    boleto = await shop.create("BOLETO", billing={"document": "529.982.247-25"})
    assert len(boleto["boleto"]["line"]) == 47
    assert len(boleto["boleto"]["barcode"]) == 44
    statuses = {payment["id"]: payment["status"] for payment in (await shop.placed())["payments"]}
    assert statuses == {pix["id"]: "CANCELLED", boleto["id"]: "PENDING"}
    assert (await shop.placed())["status"] == "O"


async def test_an_approved_card_pays_at_once_with_interest(shop):
    await set_installments(shop, "2:0, 3:1.99")
    payment = await shop.create("CARD", card="tok_approved", installments=3)
    assert (payment["status"], payment["card"]["last_four"], payment["installments"]) == ("PAID", "1111", 3)
    placed = await shop.placed()
    assert (placed["status"], placed["total_cents"]) == ("P", payment["amount_cents"])
    assert payment["surcharge_cents"] == placed["surcharge_cents"] > 0
    assert placed["total_cents"] == shop.order["total_cents"] + payment["surcharge_cents"]


async def test_a_declined_card_leaves_the_order_to_be_paid_again(shop):
    await set_installments(shop, "3:1.99")
    declined = await shop.create("CARD", card="tok_declined_51", installments=3)
    assert (declined["status"], declined["failure"]["code"]) == ("FAILED", "51")
    placed = await shop.placed()
    assert (placed["status"], placed["total_cents"]) == ("D", shop.order["total_cents"])
    approved = await shop.create("CARD", card="tok_approved")
    assert (approved["status"], (await shop.placed())["status"]) == ("PAID", "P")


async def test_a_technical_failure_fails_the_order(shop):
    failed = await shop.create("CARD", card="tok_error")
    assert (failed["failure"]["code"], (await shop.placed())["status"]) == ("technical", "F")


async def test_a_refused_token_leaves_the_order_open(shop):
    failed = await shop.create("CARD", card="nonsense")
    assert (failed["status"], failed["failure"]["code"], (await shop.placed())["status"]) == ("FAILED", "token", "O")


@pytest.mark.parametrize(
    "values,field",
    [
        ({"card": "4111 1111 1111 1111"}, "card_token"),
        ({"card": "tok-5555-5555-5555-4444"}, "card_token"),
        ({"card": "tok_approved", "billing": {"name": "Ana 4111111111111111"}}, "name"),
        ({"card": "tok_approved", "billing": {"address": {"complement": "378282246310005"}}}, "complement"),
    ],
)
async def test_a_card_number_is_refused_wherever_it_is(shop, values, field):
    error = await shop.create("CARD", **values)
    assert error["extensions"]["field"] == field
    assert error["extensions"]["details"]["fields"] == {field: "card_number"}
    assert "4" not in error["message"]


async def test_an_order_is_paid_once(shop):
    await shop.create("CARD", card="tok_approved")
    assert reason(await shop.create()) == ("CONFLICT", "order_paid")


async def test_the_options_show_what_is_paid(shop):
    await set_installments(shop, "2:0, 3:1.99:1000")
    [pix, boleto, card] = await shop.execute(OPTIONS, order=shop.order["id"], token=shop.order["token"])
    assert [pix["kind"], boleto["kind"], card["kind"]] == ["PIX", "BOLETO", "CARD"]
    assert {option["total_cents"] for option in (pix, boleto, card)} == {shop.order["total_cents"]}
    assert card["public_key"] == "pk_sandbox"
    assert [option["number"] for option in card["installments"]] == [1, 2]
    cart = await shop.storefront.cart((shop.sample.mug, 40))
    options = await shop.execute(OPTIONS, cart=cart)
    assert [option["number"] for option in options[2]["installments"]] == [1, 2, 3]


async def test_the_options_of_an_order_that_waits_for_a_payment_are_without_its_interest(shop):
    await set_installments(shop, "2:5")
    await shop.sample.execute("update payment_methods set surcharge_cents = 250 where kind = 'BOLETO'")
    token = {"order": shop.order["id"], "token": shop.order["token"]}
    before = await shop.execute(OPTIONS, **token)
    boleto = before[1]
    assert boleto["total_cents"] == shop.order["total_cents"] + 250
    paid = await shop.create("BOLETO", billing={"document": "52998224725"})
    assert paid["amount_cents"] == boleto["total_cents"]
    totals = {option["kind"]: option["total_cents"] for option in await shop.execute(OPTIONS, **token)}
    assert totals == {option["kind"]: option["total_cents"] for option in before}
    card = await shop.create("CARD", card="tok_timeout", installments=2)
    assert (card["status"], card["amount_cents"]) == ("PENDING", before[2]["installments"][1]["total_cents"])
    totals = {option["kind"]: option["total_cents"] for option in await shop.execute(OPTIONS, **token)}
    assert totals == {option["kind"]: option["total_cents"] for option in before}


async def test_a_payment_is_cancelled_by_its_shopper(shop):
    payment = await shop.create()
    cancelled = await shop.execute(CANCEL, id=payment["id"], token=shop.order["token"])
    assert cancelled["status"] == "CANCELLED"
    assert (await shop.placed())["status"] == "O"
    assert await shop.execute(CANCEL, id=payment["id"], token=shop.order["token"]) == cancelled


async def test_no_other_caller_sees_or_changes_a_payment(shop):
    payment = await shop.create()
    for query in (CANCEL, CREATE):
        variables = {"id": payment["id"]} if query is CANCEL else {"order": shop.order["id"], "kind": "PIX"}
        for token in (None, "wrong"):
            error = await shop.execute(query, token=token, **variables)
            assert reason(error)[0] == "NOT_FOUND", (query, token)
    assert await shop.execute(READ, id=payment["id"]) is None
    assert await shop.execute(READ, by=shop.sample.caio, id=payment["id"]) is None


async def test_staff_refunds_in_parts_and_never_more_than_was_paid(shop):
    payment = await shop.create("CARD", card="tok_approved")
    part = await shop.execute(REFUND, by=shop.sample.owner, id=payment["id"], cents=1_000)
    assert (part["status"], part["refunded_cents"]) == ("PARTIALLY_REFUNDED", 1_000)
    assert part["refunds"] == [{"amount_cents": 1_000, "status": "DONE"}]
    rest = payment["amount_cents"] - 1_000
    error = await shop.execute(REFUND, by=shop.sample.owner, id=payment["id"], cents=rest + 1)
    assert (reason(error), error["extensions"]["details"]["remains"]) == (("RULE_VIOLATION", "refund_too_large"), rest)
    whole = await shop.execute(REFUND, by=shop.sample.owner, id=payment["id"], cents=rest)
    assert whole["status"] == "REFUNDED"
    assert ((await shop.placed())["status"], (await shop.placed())["payment_status"]) == ("I", "refunded")


async def test_the_key_of_an_earlier_refund_makes_no_other_one_after_a_day_either(shop):
    key = str(uuid7())
    payment = await shop.create("CARD", card="tok_approved")
    refund = {"by": shop.sample.owner, "key": key, "id": payment["id"]}
    first = await shop.execute(REFUND, cents=1_000, **refund)
    a_day_passes = "UPDATE idempotency_claims SET claimed_at = claimed_at - interval '2 days'"
    await shop.sample.execute(a_day_passes)
    other = await shop.execute(REFUND, cents=2_000, **refund)
    assert other["message"] == "idempotency key reused with a different request"
    await shop.sample.execute(a_day_passes)
    assert (await shop.execute(REFUND, cents=1_000, **refund))["refunded_cents"] == first["refunded_cents"] == 1_000


async def test_refunds_in_parallel_return_no_more_than_was_paid(shop):
    payment = await shop.create("CARD", card="tok_approved")
    half = payment["amount_cents"] // 2 + 1
    answers = await asyncio.gather(
        *(shop.execute(REFUND, by=shop.sample.owner, id=payment["id"], cents=half) for _ in range(6))
    )
    assert sum("status" in answer for answer in answers) == 1
    assert {reason(answer)[1] for answer in answers if "status" not in answer} <= {"in_progress", "refund_too_large"}
    assert (await shop.execute(READ, id=payment["id"], token=shop.order["token"]))["refunded_cents"] == half


@pytest.mark.parametrize(
    "action, status, order", [("refuse", "FAILED", "D"), ("expire", "EXPIRED", "O"), ("pay", "PAID", "P")]
)
async def test_what_the_sandbox_decides_reaches_payment_and_order(shop, action, status, order):
    await shop.act(await shop.create(), action)
    placed = await shop.placed()
    assert (placed["payments"][0]["status"], placed["status"]) == (status, order)


async def test_a_disputed_payment_shows_it(shop):
    payment = await shop.create()
    await shop.act(payment, "pay")
    await shop.act(payment, "dispute")
    placed = await shop.placed()
    assert (placed["payments"][0]["status"], placed["payment_status"]) == ("DISPUTED", "chargeback")


async def test_a_pix_paid_after_its_expiry_pays_the_order(shop):
    payment = await shop.create()
    await shop.act(payment, "expire")
    await shop.act(payment, "pay")
    assert ((await shop.placed())["status"], (await shop.placed())["payments"][0]["status"]) == ("P", "PAID")


async def set_installments(shop: Shop, rules: str) -> None:
    query = "mutation($settings: JSON!) { store_settings_update(settings: $settings) { id } }"
    await shop.execute(query, by=shop.sample.owner, settings={"installments": rules})
