"""Be the carts of headless storefronts and their checkout, `/api/v1/storefront` (decisions section 6).

Every change answers the whole cart, bare. Refusals have the simple form, except that the checkout writes what a rule of the shop
refuses as an object: `{error: {code, message, details}}`, the message in Portuguese for the shopper.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from kernel.errors import MalformedRequest, NotFound, RuleViolation, ValidationFailed
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import read_json_object
from rest_facade.current.errors import render_object
from rest_facade.current.storefront import PREFIX
from rest_facade.field_errors import REQUIRED, translated
from rest_facade.responses import json_response
from rest_facade.routing import Handler, Needs, Route, scope_of

_ITEM = ("product_id", "quantity", "options")
_ADDRESS = (
    "name",
    "street",
    "number",
    "complement",
    "district",
    "city",
    "state",
    "zipcode",
    "country",
    "phone",
)
_CHECKOUT = ("customer_id", "customer_email", "customer_name", "payment_id", "notes")
_CODES = {
    "quantity": "quantity_invalid",
    "items.quantity": "quantity_invalid",
    "customer_email": "email_invalid",
    "code": "code_invalid",
}
# Carts and orders are one shopper's own; nothing on the way keeps them.
_NOT_STORED = {"Cache-Control": "no-store"}
_KEY_REUSED = "idempotency key reused with a different checkout session"

Read = Callable[[web.Request], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Carts:
    """Serve carts and the orders they become."""

    operations: Mapping[str, FacadeOperation] = field(repr=False)

    def routes(self) -> list[Route]:
        """List the routes."""
        cart = f"{PREFIX}/carts/{{id}}"
        item = f"{cart}/items/{{item_id}}"
        key = Needs.STOREFRONT_KEY
        return [
            Route("POST", f"{PREFIX}/carts", self._change("CartCreate", _new_cart, 201), key, creates=True),
            Route("GET", cart, self.show, key),
            Route("POST", f"{cart}/items", self._change("CartItemAdd", _item, 201), key, creates=True),
            Route("PATCH", item, self._change("CartItemUpdate", _quantity), key),
            Route("DELETE", item, self._change("CartItemRemove", _nothing), key),
            Route("PUT", f"{cart}/address", self._change("CartSetAddress", _address), key),
            Route("GET", f"{cart}/shipping-options", self.shipping_options, key),
            Route(
                "PUT", f"{cart}/shipping-option", self._change("CartSetShippingOption", _shipping_option), key
            ),
            Route("POST", f"{cart}/coupon", self._change("CartApplyCoupon", _coupon), key),
            Route("POST", f"{cart}/checkout", self.check_out, key, creates=True, key_reused=_KEY_REUSED),
            Route("GET", f"{PREFIX}/orders/{{id}}", self.order, key),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Answer the cart as it comes to now."""
        found = await self._execute(*self._admitted(request, "Cart"), _named(request))
        if found is None:
            raise NotFound("cart")
        return _answer(found)

    async def shipping_options(self, request: web.Request) -> web.Response:
        """Answer the ways in which the cart can travel."""
        found = await self._execute(*self._admitted(request, "ShippingOptions"), _named(request))
        return _answer({"shipping_options": found})

    async def check_out(self, request: web.Request) -> web.Response:
        """Make an order of the cart and answer it with its token."""
        scope, operation = self._admitted(request, "CartCheckout")
        body = await read_json_object(request)
        # Forms send what was left out as an empty text.
        given = {name: body[name] for name in _CHECKOUT if body.get(name) not in (None, "")}
        try:
            made = await self._execute(scope, operation, {**_named(request), "input": given})
        except RuleViolation as refusal:
            return render_object(refusal)
        return _answer({**made["order"], "token": made["token"]}, 201)

    async def order(self, request: web.Request) -> web.Response:
        """Answer an order to who holds its token, or to the customer whose own token stands beside the key."""
        scope, operation = self._admitted(request, "Order")
        token = request.query.get("token", "")
        if not token and scope.actor.user_id is None:
            raise MalformedRequest("token is required")
        found = await self._execute(scope, operation, {**_named(request), "token": token or None})
        if found is None:
            raise NotFound("order")
        return _answer(found)

    def _change(self, name: str, read: Read, status: int = 200) -> Handler:
        async def change(request: web.Request) -> web.Response:
            scope, operation = self._admitted(request, name)
            variables = {**_named(request), **await read(request)}
            return _answer(await self._execute(scope, operation, variables), status)

        return change

    def _admitted(self, request: web.Request, what: str) -> tuple[Scope, FacadeOperation]:
        scope, operation = scope_of(request), self.operations[f"Storefront{what}"]
        authorize(scope, operation)
        return scope, operation

    async def _execute(self, scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any]) -> Any:
        try:
            data = await execute(scope, operation, variables)
        except ValidationFailed as error:
            raise translated(error, _CODES) from error
        return data[operation.fields[0]]


def _answer(body: Any, status: int = 200) -> web.Response:
    return json_response(body, status=status, headers=_NOT_STORED)


def _named(request: web.Request) -> dict[str, str]:
    """Give the ids in the address as variables; what is no id names nothing, which the operation finds out."""
    return dict(request.match_info)


async def _nothing(request: web.Request) -> dict[str, Any]:
    return {}


async def _new_cart(request: web.Request) -> dict[str, Any]:
    body = await read_json_object(request, empty=True)
    given: dict[str, Any] = {}
    if body.get("items") is not None:
        items = body["items"]
        if not isinstance(items, list):
            raise ValidationFailed("items is no list", field="items")
        given["items"] = [_picked(item, _ITEM) if isinstance(item, dict) else item for item in items]
    if body.get("customer_email") is not None:
        given["customer_email"] = body["customer_email"]
    return {"input": given}


async def _item(request: web.Request) -> dict[str, Any]:
    return {"input": _picked(await read_json_object(request), _ITEM)}


async def _quantity(request: web.Request) -> dict[str, Any]:
    return {"quantity": (await read_json_object(request)).get("quantity")}


async def _address(request: web.Request) -> dict[str, Any]:
    return {"input": _picked(await read_json_object(request), _ADDRESS)}


async def _shipping_option(request: web.Request) -> dict[str, Any]:
    shipping = (await read_json_object(request)).get("shipping_id")
    if shipping in (None, ""):
        raise ValidationFailed("shipping_id is required", fields={"shipping_id": REQUIRED})
    return {"shipping_id": shipping}


async def _coupon(request: web.Request) -> dict[str, Any]:
    """Read `{code}`; an empty one, or null, takes the coupon off."""
    body = await read_json_object(request)
    if "code" not in body:
        raise ValidationFailed("code is required", fields={"code": REQUIRED})
    return {"code": "" if body["code"] is None else body["code"]}


def _picked(body: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: body[name] for name in names if name in body}
