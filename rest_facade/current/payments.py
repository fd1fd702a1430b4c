"""Serve the payments of an order to its shopper and to administrators (docs/reference/current.md#payments)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiohttp import web

from kernel.check_digits import reject_card_numbers
from kernel.errors import NotFound, ValidationFailed
from kernel.scope import Scope
from kernel.text import repr_value
from resolvers.execute import FacadeOperation, authorize
from rest_facade.bodies import read_json_object
from rest_facade.current import admin, storefront
from rest_facade.field_errors import REQUIRED, UNSPECIFIED
from rest_facade.records import execute_with_codes, path_uuid
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Handler, Route

_KINDS = ("PIX", "BOLETO", "CARD")
_OPTIONAL = ("card_token", "installments", "billing")
_BILLING = ("name", "email", "document", "phone")
_ADDRESS = ("street", "number", "complement", "district", "city", "state", "zipcode", "country")
_CODES = {"amount_cents": "amount_invalid", "installments": "installments_invalid", "card_token": "card_token_invalid"}
_TOKEN = "token"


@dataclass(frozen=True, slots=True)
class PaymentHandlers:
    """Serve payments with the operations of the storefront and of the administration."""

    operations: Mapping[str, FacadeOperation] = field(repr=False)

    def routes(self) -> list[Route]:
        """List the routes."""
        routes = []
        for prefix, name, credential in (
            (storefront.PREFIX, "Storefront", Credential.STOREFRONT_KEY),
            (admin.PREFIX, "Admin", Credential.ADMIN),
        ):
            payments = f"{prefix}/orders/{{id}}/payments"
            routes += [
                Route("GET", payments, self._list(name), credential),
                Route("POST", payments, self._create(name), credential, creates=True),
                Route("POST", f"{payments}/{{payment_id}}/cancel", self._cancel(name), credential),
            ]
        options = f"{storefront.PREFIX}/orders/{{id}}/payment-options"
        refund = f"{admin.PREFIX}/orders/{{id}}/payments/{{payment_id}}/refund"
        return [
            *routes,
            Route("GET", options, self.options, Credential.STOREFRONT_KEY),
            Route(
                "GET", f"{storefront.PREFIX}/carts/{{id}}/payment-options", self.cart_options, Credential.STOREFRONT_KEY
            ),
            Route("POST", refund, self.refund, Credential.ADMIN, creates=True),
        ]

    async def options(self, request: web.Request) -> web.Response:
        """Return what the store offers to pay the order with."""
        scope, operation = self._authorize(request, "StorefrontPaymentOptions")
        variables = {"order_id": path_uuid(request, "order"), _TOKEN: request.query.get(_TOKEN) or None}
        return json_response({"payment_options": await _execute(scope, operation, variables)})

    async def cart_options(self, request: web.Request) -> web.Response:
        """Return what the store offers to pay the cart with."""
        scope, operation = self._authorize(request, "StorefrontPaymentOptions")
        variables = {"cart_id": path_uuid(request, "cart")}
        return json_response({"payment_options": await _execute(scope, operation, variables)})

    async def refund(self, request: web.Request) -> web.Response:
        """Refund a payment, or `amount_cents` of it, and return it."""
        scope, operation = self._authorize(request, "AdminPaymentRefund")
        amount = (await _body(request)).get("amount_cents")
        if amount is None:
            raise ValidationFailed("amount_cents is required", fields={"amount_cents": REQUIRED})
        variables = {"payment_id": await self._payment_id(request, scope, "Admin"), "amount_cents": amount}
        return json_response(await _execute(scope, operation, variables))

    def _list(self, name: str) -> Handler:
        async def show(request: web.Request) -> web.Response:
            scope, operation = self._authorize(request, f"{name}Payments")
            order = await _execute(scope, operation, _order_variables(request, name, request.query.get(_TOKEN)))
            if order is None:
                raise NotFound("order")
            return json_response(order)

        return show

    def _create(self, name: str) -> Handler:
        async def create(request: web.Request) -> web.Response:
            scope, operation = self._authorize(request, f"{name}PaymentCreate")
            body = await _body(request)
            variables = {
                "order_id": path_uuid(request, "order"),
                "kind": _kind(body),
                **{key: body[key] for key in _OPTIONAL if body.get(key) is not None},
                **({_TOKEN: body.get(_TOKEN)} if name == "Storefront" else {}),
            }
            if "billing" in variables:
                variables["billing"] = _billing(variables["billing"])
            payment = await _execute(scope, operation, variables)
            if payment is None:  # created for an order that the caller may pay, and not read
                raise NotFound("payment")
            return json_response(payment, status=201)

        return create

    def _cancel(self, name: str) -> Handler:
        async def cancel(request: web.Request) -> web.Response:
            scope, operation = self._authorize(request, f"{name}PaymentCancel")
            body = await read_json_object(request, empty=True)
            token = {_TOKEN: body.get(_TOKEN)} if name == "Storefront" else {}
            payment_id = await self._payment_id(request, scope, name, body.get(_TOKEN))
            return json_response(await _execute(scope, operation, {"payment_id": payment_id, **token}))

        return cancel

    async def _payment_id(self, request: web.Request, scope: Scope, name: str, token: object = None) -> str:
        """Return the payment in the path, which must be of the order in the path."""
        operation, payment_id = self.operations[f"{name}Payments"], path_uuid(request, "payment", "payment_id")
        order = await _execute(scope, operation, _order_variables(request, name, token))
        if order is None or payment_id not in {payment["id"] for payment in order["payments"]}:
            raise NotFound("payment")
        return payment_id

    def _authorize(self, request: web.Request, name: str) -> tuple[Scope, FacadeOperation]:
        operation = self.operations[name]
        return authorize(request[SCOPE], operation), operation


_execute = partial(execute_with_codes, codes=_CODES)


def _order_variables(request: web.Request, name: str, token: object) -> dict[str, Any]:
    variables: dict[str, Any] = {"id": path_uuid(request, "order")}
    if name == "Storefront":
        variables[_TOKEN] = token or None
    return variables


async def _body(request: web.Request) -> dict[str, Any]:
    """Return the body, without the number of a card in any field, known or not."""
    body = await read_json_object(request)
    reject_card_numbers(body)
    return body


def _kind(body: Mapping[str, Any]) -> str:
    kind = body.get("kind")
    if kind is None:
        raise ValidationFailed("kind is required", fields={"kind": REQUIRED})
    if kind not in _KINDS:
        raise ValidationFailed(
            f"kind is {repr_value(kind)}; expected one of {', '.join(_KINDS)}", fields={"kind": "kind_invalid"}
        )
    return str(kind)


def _billing(billing: Any) -> dict[str, Any]:
    """Return who pays, as far as it is set; raises ValidationFailed naming the field that is something else."""
    values = _texts("billing", billing, _BILLING)
    address = billing.get("address")
    return values if address is None else {**values, "address": _texts("billing.address", address, _ADDRESS)}


def _texts(path: str, value: object, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValidationFailed(f"{path} is {repr_value(value)}; expected an object", fields={path: UNSPECIFIED})
    for name in names:
        if not isinstance(value.get(name), str | None):
            raise ValidationFailed(
                f"{path}.{name} is {repr_value(value[name])}; expected a text", fields={f"{path}.{name}": UNSPECIFIED}
            )
    return {name: value[name] for name in names if value.get(name) is not None}
