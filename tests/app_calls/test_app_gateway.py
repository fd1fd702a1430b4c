"""An installed app is the gateway of a store: it charges when it is called, and reports what becomes of its payments."""

from __future__ import annotations

from typing import Any

import fastjsonschema
import orjson
import pytest

from domain.app_calls.call_types import CALL_TYPES, PAYMENTS
from domain.payments import pending, refunds
from tests.app_calls.conftest import InstalledApp, install_app
from tests.app_calls.hostile import Answer, HostileApp, ReceivedCall, answers, status
from tests.graphql.test_payments import CANCEL, CREATE, OPTIONS, PLACED, REFUND
from tests.harness import scopes
from tests.harness.http import Client
from tests.harness.oauth import UNINSTALL, find_installation, graphql, graphql_error, graphql_result
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient, open_storefront

REPORT = """
    mutation($id: ID!, $input: PaymentReportInput!) { payment_report(payment_id: $id, input: $input)
    { id status amount_cents currency paid_cents refunded_cents } }
"""
SCHEMAS = orjson.loads(PAYMENTS.schemas)


class GatewayApp:
    """What an app of a few lines does: it keeps charges by payment."""

    def __init__(self) -> None:
        self.charges: dict[str, dict[str, Any]] = {}
        self.done: dict[str, dict[str, Any]] = {}

    def __call__(self, call: ReceivedCall) -> Answer:
        action = call.envelope["call"].partition(".")[2]
        fastjsonschema.compile({"$ref": f"#/definitions/{action}_request", **SCHEMAS})(call.data)
        return answers(getattr(self, f"_{action}")(call.data))

    def _create(self, data: dict[str, Any]) -> dict[str, Any]:
        if data["card_token"] == "declined":
            return {"refusal": {"code": "declined", "message": "Cartão recusado."}}
        number = len(self.charges) + 1
        charge = {
            "charge_id": f"charge-{number}",
            "status": "PAID" if data["kind"] == "CARD" else "PENDING",
            "amount_cents": data["amount_cents"],
            "currency": data["currency"],
            "paid_cents": data["amount_cents"] if data["kind"] == "CARD" else 0,
            "pix": {"code": "00020126-code"} if data["kind"] == "PIX" else None,
        }
        return {"charge": self.charges.setdefault(data["payment_id"], charge)}

    def _read(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"charge": self.charges.get(data["payment_id"])}

    def _cancel(self, data: dict[str, Any]) -> dict[str, Any]:
        charge = self._charge(data)
        charge["status"] = "CANCELLED"
        return {"charge": charge}

    def _refund(self, data: dict[str, Any]) -> dict[str, Any]:
        charge = self._charge(data)
        if data["key"] not in self.done:
            self.done[data["key"]] = charge
            charge["refunded_cents"] = charge.get("refunded_cents", 0) + data["amount_cents"]
            is_all = charge["refunded_cents"] == charge["paid_cents"]
            charge["status"] = "REFUNDED" if is_all else "PARTIALLY_REFUNDED"
        return {"charge": charge}

    def _charge(self, data: dict[str, Any]) -> dict[str, Any]:
        return next(charge for charge in self.charges.values() if charge["charge_id"] == data["charge_id"])


class Shop:
    """A store whose payment methods are of an app, and the order of a guest."""

    def __init__(self, storefront: StorefrontClient, installed: InstalledApp, order: dict[str, Any]) -> None:
        self.storefront, self.installed, self.order = storefront, installed, order
        self.scope = storefront.sample.scope

    async def create(self, kind: str = "PIX", key: str | None = None, **variables: Any) -> Any:
        return await self.execute(
            CREATE, key, order=self.order["id"], token=self.order["token"], kind=kind, **variables
        )

    async def execute(self, query: str, key: str | None = None, **variables: Any) -> Any:
        headers = {"X-API-Key": self.storefront.key or "", **({"Idempotency-Key": key} if key else {})}
        body = {"query": query, "variables": variables}
        answer = await self.storefront.sample.post("/graphql", body, auth=None, headers=headers)
        assert "errors" not in answer.body, answer.body
        return next(iter(answer.body["data"].values()))

    async def placed(self) -> Any:
        return await self.execute(PLACED, id=self.order["id"], token=self.order["token"])

    async def report(self, payment: Any, by: InstalledApp | None = None, **values: Any) -> dict[str, Any]:
        client = (by or self.installed).client
        return await graphql(client, REPORT, id=payment["id"], input=values)


@pytest.fixture
async def shop_admin(sample: SampleStore) -> Client:
    return await sample.client(sample.owner)


@pytest.fixture
async def shop(sample: SampleStore, shop_admin: Client, server: HostileApp) -> Shop:
    server.decide = GatewayApp()
    installed = await install_app(shop_admin, server, ["handle_payments"], {"payments": server.url})
    for kind in ("PIX", "CARD"):
        method = {
            "name": kind, "kind": kind, "processor": f"app:{installed.app.client_id}", "processor_params": {"public_key": "pk_1"},
        }  # fmt: skip
        await graphql_result(
            shop_admin, "mutation($i: PaymentMethodInput!) { payment_method_create(input: $i) { id } }", i=method
        )
    storefront = await open_storefront(sample)
    return Shop(storefront, installed, (await storefront.order((sample.mug, 1))).body)


async def test_an_order_is_paid_by_pix_through_an_app(shop: Shop, server: HostileApp) -> None:
    options = await shop.execute(OPTIONS, order=shop.order["id"], token=shop.order["token"])
    assert [(each["kind"], each["public_key"]) for each in options] == [("PIX", "pk_1"), ("CARD", "pk_1")]
    payment = await shop.create()
    assert (payment["status"], payment["pix"]["code"]) == ("PENDING", "00020126-code")
    assert payment["gateway"] == f"app:{shop.installed.app.client_id}"
    [call] = server.received
    assert call.data["payment_id"] == payment["id"]
    assert call.data["amount_cents"] == shop.order["total_cents"] == sum(i["amount_cents"] for i in call.data["items"])
    assert call.data["order"]["id"] == shop.order["id"]

    total = shop.order["total_cents"]
    for attempt in range(2):
        reported = await shop.report(payment, status="PAID", paid_cents=total)
        expected = {
            "status": "PAID",
            "amount_cents": total,
            "currency": "BRL",
            "paid_cents": total,
            "refunded_cents": 0,
        }
        assert reported["data"]["payment_report"] == {"id": payment["id"], **expected}, attempt
    placed = await shop.placed()
    assert (placed["status"], placed["payment_status"]) == ("P", "paid")
    assert [paid["paid_cents"] for paid in placed["payments"]] == [total]


async def test_a_card_is_paid_at_once_and_refunded_in_parts(shop: Shop, server: HostileApp, shop_admin: Client) -> None:
    payment = await shop.create("CARD", card="tok_1")
    assert payment["status"] == "PAID"
    refunded = await graphql_result(shop_admin, REFUND, id=payment["id"], cents=100)
    assert (refunded["status"], refunded["refunded_cents"]) == ("PARTIALLY_REFUNDED", 100)
    rest = payment["amount_cents"] - 100
    refunded = await graphql_result(shop_admin, REFUND, id=payment["id"], cents=rest)
    assert (refunded["status"], refunded["refunded_cents"]) == ("REFUNDED", payment["amount_cents"])
    keys = [call.data["key"] for call in server.received if call.envelope["call"] == "payments.refund"]
    assert len(set(keys)) == 2


async def test_a_refused_payment_says_why(shop: Shop) -> None:
    payment = await shop.create("CARD", card="declined")
    assert payment["status"] == "FAILED"
    assert payment["failure"] == {"code": "declined", "message": "Cartão recusado."}


async def test_a_pending_payment_is_cancelled_through_the_app(shop: Shop, server: HostileApp) -> None:
    payment = await shop.create()
    cancelled = await shop.execute(CANCEL, id=payment["id"], token=shop.order["token"])
    assert cancelled["status"] == "CANCELLED"
    assert server.received[-1].envelope["call"] == "payments.cancel"


@pytest.mark.parametrize(
    "answer",
    [
        status(500),
        status(200, b"{"),
        answers({"charge": {"charge_id": "x", "status": "PENDING", "amount_cents": 1, "currency": "BRL"}}),
        answers({"charge": {"charge_id": "x", "status": "PAID", "amount_cents": 5, "currency": "BRL", "paid_cents": 6}}),
    ],
    ids=["500", "garbage", "another amount", "more paid than charged"],
)  # fmt: skip
async def test_what_is_no_answer_leaves_a_payment_in_doubt_until_the_app_is_asked(
    answer: Answer, shop: Shop, server: HostileApp
) -> None:
    gateway = server.decide
    assert gateway is not None

    def lose(call: ReceivedCall) -> Answer:
        gateway(call)  # the charge is made
        return answer

    server.decide = lose
    payment = await shop.create("CARD", card="tok_1")
    assert (payment["status"], payment["gateway_charge_id"]) == ("PENDING", None)
    server.decide = gateway
    await scopes.execute(
        shop.scope.store, "update payments set due_at = now(), attempted_at = now() - interval '1 hour'"
    )
    await pending.settle_due(shop.scope, limit=10)
    placed = await shop.placed()
    assert (placed["status"], placed["payments"][0]["status"]) == ("P", "PAID")


async def test_the_charge_of_another_payment_leaves_a_payment_in_doubt(shop: Shop, server: HostileApp) -> None:
    first = await shop.create("PIX")
    shop.order = (await shop.storefront.order((shop.storefront.sample.mug, 1))).body
    charge = {"charge_id": first["gateway_charge_id"], "status": "PENDING", "currency": "BRL", "pix": {"code": "1"}}
    server.decide = lambda call: answers({"charge": {**charge, "amount_cents": shop.order["total_cents"]}})
    payment = await shop.create("PIX")
    assert (payment["status"], payment["gateway_charge_id"]) == ("PENDING", None)
    await scopes.execute(shop.scope.store, "update payments set due_at = now()")
    assert await pending.settle_due(shop.scope, limit=10) == 2
    postponed = "select count(*) from payments where due_at > now() and attempts > 0"
    assert await scopes.value(shop.scope.store, postponed) == 2


@pytest.mark.parametrize("expires_at", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
async def test_a_charge_until_the_end_of_the_calendar_is_no_answer(
    expires_at: str, shop: Shop, server: HostileApp
) -> None:
    charge = {"charge_id": "x", "status": "PENDING", "currency": "BRL", "pix": {"code": "1"}, "expires_at": expires_at}
    server.decide = lambda call: answers({"charge": {**charge, "amount_cents": shop.order["total_cents"]}})
    payment = await shop.create()
    assert (payment["status"], payment["gateway_charge_id"]) == ("PENDING", None)


async def test_a_repeated_request_never_fails_what_an_earlier_call_may_have_charged(
    shop: Shop, server: HostileApp, shop_admin: Client
) -> None:
    gateway = server.decide
    assert gateway is not None
    server.decide = lambda call: (gateway(call), status(500))[1]
    payment = await shop.create("CARD", key="key-1", card="tok_1")
    installation = (await find_installation(shop_admin, shop.installed.app))["id"]
    await graphql_result(shop_admin, UNINSTALL, id=installation)
    await scopes.execute(shop.scope.store, "update payments set attempted_at = now() - interval '1 hour'")
    await scopes.execute(shop.scope.store, "delete from idempotency_claims")
    repeated = await shop.create("CARD", key="key-1", card="tok_1")
    assert (repeated["id"], repeated["status"]) == (payment["id"], "PENDING")


async def test_an_app_that_was_removed_takes_no_new_payments(shop: Shop, shop_admin: Client) -> None:
    await graphql_result(shop_admin, UNINSTALL, id=(await find_installation(shop_admin, shop.installed.app))["id"])
    assert await shop.execute(OPTIONS, order=shop.order["id"], token=shop.order["token"]) == []


async def test_a_report_must_fit_the_payment(shop: Shop) -> None:
    payment = await shop.create()
    total = shop.order["total_cents"]
    for values, code, detail in (
        ({"status": "PAID"}, "VALIDATION_FAILED", {"paid_cents": "amount_invalid"}),
        ({"status": "PAID", "paid_cents": total + 1}, "VALIDATION_FAILED", {"paid_cents": "amount_invalid"}),
        ({"status": "PENDING", "paid_cents": total}, "VALIDATION_FAILED", {"paid_cents": "amount_invalid"}),
        ({"status": "REFUNDED", "paid_cents": total, "refunded_cents": 1}, "VALIDATION_FAILED", {"paid_cents": "amount_invalid"}),
        ({"status": "PAID", "paid_cents": -1}, "VALIDATION_FAILED", {"paid_cents": "amount_invalid"}),
        ({"status": "PAID", "paid_cents": total, "charge_id": "a b"}, "VALIDATION_FAILED", {"charge_id": "charge_id_invalid"}),
        ({"status": "FAILED", "failure": {"code": "A B", "message": ""}}, "VALIDATION_FAILED", {"failure": "failure_invalid"}),
        ({"status": "PAID", "paid_cents": 1, "amount_cents": 1}, "RULE_VIOLATION", None),
        ({"status": "PAID", "paid_cents": total, "currency": "USD"}, "RULE_VIOLATION", None),
        ({"status": "PAID", "paid_cents": total, "charge_id": "another"}, "RULE_VIOLATION", None),
    ):  # fmt: skip
        [error] = (await shop.report(payment, **values))["errors"]
        assert error["extensions"]["code"] == code, (values, error)
        if detail is not None:
            assert error["extensions"]["details"]["fields"] == detail, (values, error)
    assert (await shop.placed())["payments"][0]["status"] == "PENDING"


async def test_only_the_app_of_a_payment_reports_it(shop: Shop, server: HostileApp, shop_admin: Client) -> None:
    payment = await shop.create()
    other = await install_app(shop_admin, server, ["handle_payments"], {})
    [error] = (await shop.report(payment, by=other, status="CANCELLED"))["errors"]
    assert error["extensions"]["code"] == "NOT_FOUND"
    reader = await install_app(shop_admin, server, ["read_payments"], {})
    [error] = (await shop.report(payment, by=reader, status="CANCELLED"))["errors"]
    assert error["message"] == "the scope handle_payments is required"
    error = await graphql_error(shop_admin, REPORT, id=payment["id"], input={"status": "CANCELLED"})
    assert error["extensions"]["code"] == "FORBIDDEN"
    listed = await graphql_result(reader.client, "{ payments { id } }")
    assert [each["id"] for each in listed] == [payment["id"]]
    error = await graphql_error(other.client, "{ payments { id } }")
    assert error["message"] == "the scope read_orders is required"


async def test_a_report_over_rest(shop: Shop) -> None:
    payment = await shop.create()
    path, total = f"/api/admin/payments/{payment['id']}/report", shop.order["total_cents"]
    client = shop.installed.client
    missing = await client.post(path, {})
    assert (missing.status, missing.body["fields"]) == (400, {"status": "required"})
    unknown = await client.post(path, {"status": "LOST"})
    assert (unknown.status, unknown.body["error"]) == (400, "validation_failed")
    mismatch = await client.post(path, {"status": "PAID", "paid_cents": total, "charge_id": "another"})
    assert (mismatch.status, mismatch.body["error"], mismatch.body["reason"]) == (
        422,
        "rule_violation",
        "charge_mismatch",
    )
    paid = await client.post(path, {"status": "PAID", "paid_cents": total})
    assert (paid.status, paid.body["status"], paid.body["paid_cents"]) == (200, "PAID", total)
    assert (await client.post("/api/admin/payments/1/report", {"status": "PAID"})).status == 404


async def test_a_failed_payment_is_reported_with_its_reason(shop: Shop) -> None:
    payment = await shop.create()
    failure = {"code": "expired_pix", "message": "O Pix expirou."}
    await shop.report(payment, status="FAILED", failure=failure)
    placed = await shop.placed()
    assert (placed["payments"][0]["status"], placed["payments"][0]["failure"]) == ("FAILED", failure)


async def test_a_charge_of_another_payment_is_not_taken(shop: Shop, server: HostileApp) -> None:
    first = await shop.create()
    await shop.report(first, status="PAID", paid_cents=first["amount_cents"])
    second_order = (await shop.storefront.order((shop.storefront.sample.mug, 1))).body
    server.decide = lambda call: status(500)
    second = await shop.execute(CREATE, order=second_order["id"], token=second_order["token"], kind="PIX")
    body = await shop.report(
        second, status="PAID", paid_cents=second["amount_cents"], charge_id=first["gateway_charge_id"]
    )
    placed = await shop.execute(PLACED, id=second_order["id"], token=second_order["token"])
    assert placed["payment_status"] == "unpaid", body


def test_every_call_of_payments_is_made_by_the_gateway() -> None:
    made = {name.removeprefix("payments.") for name in CALL_TYPES if name.startswith("payments.")}
    assert made == {
        name.removeprefix("_") for name in vars(GatewayApp) if name in ("_create", "_read", "_cancel", "_refund")
    }


async def test_a_refund_without_an_answer_is_made_once(shop: Shop, server: HostileApp, shop_admin: Client) -> None:
    payment = await shop.create("CARD", card="tok_1")
    gateway = server.decide
    assert gateway is not None
    server.decide = lambda call: (gateway(call), status(500))[1]
    refund = await graphql_result(shop_admin, REFUND, id=payment["id"], cents=100)
    assert [each["status"] for each in refund["refunds"]] == ["PENDING"]
    server.decide = gateway
    await scopes.execute(
        shop.scope.store, "update payment_refunds set due_at = now(), attempted_at = now() - interval '1 hour'"
    )
    await refunds.settle_due(shop.scope, limit=10)
    placed = await shop.placed()
    assert placed["payments"][0]["refunded_cents"] == 100
