"""A server that answers as Pagar.me's documentation of API v5 shows (docs/payments-pagarme.md)."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web
from aiohttp.test_utils import TestServer

from domain.payments.pagarme import client

SECRET_KEY = "sk_test_1"
REFUSAL = {
    "message": "The request is invalid.",
    "errors": {"order.customer.document": ["529.982.247-25 is not valid"]},
}
LINE = "23793381286008200000321000063305186860000002990"


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: Any
    body: Any


@dataclass
class PagarmeServer:
    """Keeps orders, charges, idempotency keys and what each recipient has (`shares`, by charge and recipient) of divided charges.

    `answer` replaces every answer; without `works` nothing is done before it.
    """

    received: list[Received] = field(default_factory=list)
    orders: list[dict[str, Any]] = field(default_factory=list)
    replies: dict[str, Any] = field(default_factory=dict)
    shares: dict[tuple[str, str], int] = field(default_factory=dict)
    rules: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    answer: web.Response | None = None
    works: bool = True
    refused: dict[str, int] = field(default_factory=dict)
    """The status that requests of a method get, which then do nothing."""
    delay_seconds: float = 0.0
    charge: dict[str, Any] = field(default_factory=dict)
    """Members that new charges have in place of the usual ones."""
    transaction: dict[str, Any] = field(default_factory=dict)
    server: TestServer | None = None

    async def __aenter__(self) -> PagarmeServer:
        app = web.Application()
        app.router.add_route("*", "/core/v5/{path:.*}", self._receive)
        self.server = TestServer(app, host="127.0.0.1")
        await self.server.start_server()
        client.configure(f"http://127.0.0.1:{self.server.port}/core/v5/")
        return self

    async def __aexit__(self, *error: object) -> None:
        client.configure("")
        assert self.server is not None
        await self.server.close()

    def requests(self, method: str) -> list[Received]:
        return [request for request in self.received if request.method == method]

    def of_recipient(self, recipient: str) -> int:
        return sum(cents for (_, owner), cents in self.shares.items() if owner == recipient)

    def pay(self, charge_id: str) -> None:
        """Receive the amount of a charge, and divide it."""
        charge = self._find(charge_id)
        assert charge is not None
        charge |= {"status": "paid", "paid_amount": charge["amount"]}
        for rule in self.rules[charge_id]:
            self._move(charge_id, rule["recipient_id"], rule["amount"])

    def charge_back(self, charge_id: str) -> None:
        """Take the amount of a charge from those who are liable: all that they have of it."""
        charge = self._find(charge_id)
        assert charge is not None
        charge["status"] = "chargedback"
        for rule in self.rules[charge_id]:
            if rule["options"]["liable"]:
                self.shares.pop((charge_id, rule["recipient_id"]), None)

    def _move(self, charge_id: str, recipient: str, cents: int) -> None:
        left = self.shares.get((charge_id, recipient), 0) + cents
        assert left >= 0, f"{recipient} gives back more of {charge_id} than it has"
        self.shares[charge_id, recipient] = left

    async def _receive(self, request: web.Request) -> web.Response:
        await asyncio.sleep(self.delay_seconds)
        raw = await request.read()
        body = orjson.loads(raw) if raw else None
        self.received.append(Received(request.method, request.path_qs, request.headers.copy(), body))
        expected = "Basic " + base64.b64encode(f"{SECRET_KEY}:".encode()).decode()
        if request.headers.get("Authorization") != expected:
            return _json({"message": "Authorization has been denied for this request."}, 401)
        if request.method in self.refused:
            return _json(REFUSAL, self.refused[request.method])
        result = self._work(request, body) if self.works else _json({"message": "An error occurred."}, 500)
        return result if self.answer is None else _copy(self.answer)

    def _work(self, request: web.Request, body: Any) -> web.Response:
        parts = request.match_info["path"].split("/")
        key = request.headers.get("Idempotency-Key")
        if key is not None and key in self.replies:
            return _json(self.replies[key])
        match request.method, parts:
            case "POST", ["orders"]:
                result = self._create(body)
            case "GET", ["orders"]:
                code = request.query["code"]
                return _json(
                    {"data": [order for order in reversed(self.orders) if order["code"] == code], "paging": {}}
                )
            case "GET", ["charges", charge_id]:
                charge = self._find(charge_id)
                return _json({"message": "Charge not charge."}, 404) if charge is None else _json(charge)
            case "DELETE", ["charges", charge_id]:
                charge = self._find(charge_id)
                if charge is None:
                    return _json({"message": "Charge not charge."}, 404)
                if charge["status"] == "canceled":
                    return _json({"message": "This charge can not be canceled."}, 412)
                result = self._cancel(charge, body or {})
            case _:
                return _json({"message": "Not charge."}, 404)
        if key is not None:
            self.replies[key] = result
        return _json(result)

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        number, payment = len(self.orders) + 1, body["payments"][0]
        method = payment["payment_method"]
        is_card = method == "credit_card"
        charge = {
            "id": f"ch_{number}", "code": body["code"], "amount": payment["amount"], "currency": "BRL",
            "status": "paid" if is_card else "pending", "payment_method": method, "metadata": payment.get("metadata"),
            **({"paid_amount": payment["amount"]} if is_card else {}),
            "last_transaction": {**_transaction(method, payment), **self.transaction}, **self.charge,
        }  # fmt: skip
        order = {
            "id": f"or_{number}", "code": body["code"], "amount": payment["amount"], "currency": "BRL", "closed": True,
            "status": charge["status"], "charges": [charge], "metadata": body["metadata"],
        }  # fmt: skip
        self.orders.append(order)
        self.rules[charge["id"]] = rules = payment.get("split", [])
        assert not rules or sum(rule["amount"] for rule in rules) == payment["amount"], "the split is not the amount"
        if is_card:
            self.pay(charge["id"])
            charge |= self.charge
        return order

    def _find(self, charge_id: str) -> dict[str, Any] | None:
        charges = [charge for order in self.orders for charge in order["charges"]]
        return next((charge for charge in charges if charge["id"] == charge_id), None)

    def _cancel(self, charge: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        amount = body.get("amount", charge["amount"])
        if charge.get("paid_amount") and self.rules[charge["id"]]:
            assert sum(rule["amount"] for rule in body["split"]) == amount, "the split is not the amount"
            for rule in body["split"]:
                self._move(charge["id"], rule["recipient_id"], -rule["amount"])
        refunded = charge.get("canceled_amount", 0) + amount
        charge["canceled_amount"] = refunded
        if refunded >= charge["amount"]:
            charge["status"] = "canceled"
        return charge


def _transaction(method: str, payment: dict[str, Any]) -> dict[str, Any]:
    if method == "pix":
        return {
            "transaction_type": "pix", "status": "waiting_payment", "qr_code": "00020101021226-pix",
            "qr_code_url": "https://api.pagar.me/core/v5/transactions/tran_1/qrcode?payment_method=pix",
            "expires_at": payment["pix"]["expires_at"],
        }  # fmt: skip
    if method == "boleto":
        return {
            "transaction_type": "boleto", "status": "generated", "line": LINE,
            "barcode": "https://api.pagar.me/core/v5/transactions/tran_1/barcode",
            "pdf": "https://api.pagar.me/core/v5/transactions/tran_1/pdf", "due_at": payment["boleto"]["due_at"],
        }  # fmt: skip
    return {
        "transaction_type": "credit_card", "status": "captured",
        "card": {"brand": "Visa", "last_four_digits": "4242", "first_six_digits": "424242"},
    }  # fmt: skip


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


def _copy(response: web.Response) -> web.Response:
    return web.Response(body=response.body, status=response.status, content_type=response.content_type)
