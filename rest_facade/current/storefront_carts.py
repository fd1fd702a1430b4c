"""Serve carts and checkout of headless storefronts, `/api/v1/storefront` (docs/reference/current.md#carts).

Every change returns the whole cart. Errors have the simple format, except checkout errors of a store rule: `{error: {code, message,
details}}`, with a Portuguese message for the customer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from kernel.errors import Conflict, MalformedRequest, NotFound, RuleViolation, ValidationFailed
from kernel.received_files import ReceivedFile
from kernel.scope import Scope
from kernel.text import repr_value
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.bodies import MULTIPART, RECEIVE_FORM, read_json_object
from rest_facade.current.errors import render_object
from rest_facade.current.storefront import PREFIX
from rest_facade.field_errors import REQUIRED, with_field_codes
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Handler, Route

_ITEM = ("product_id", "quantity", "options")
_ADDRESS = ("name", "street", "number", "complement", "district", "city", "state", "zipcode", "country", "phone")
_NO_CUSTOMER = {"customer_email": "required"}
_CHECKOUT = ("customer_id", "customer_email", "customer_name", "payment_id", "notes")
_CODES = {
    "quantity": "quantity_invalid",
    "items.quantity": "quantity_invalid",
    "customer_email": "email_invalid",
    "code": "code_invalid",
}
_UPLOAD = ("file_name", "mime_type", "bytes")
_REUSED = "idempotency key reused with a different checkout session"

_MAX_POINTS = 2**31 - 1

ParseRequest = Callable[[web.Request], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class CartHandlers:
    """Serve carts and the orders created from them."""

    operations: Mapping[str, FacadeOperation] = field(repr=False)

    def routes(self) -> list[Route]:
        """List the routes."""
        cart, order = f"{PREFIX}/carts/{{id}}", f"{PREFIX}/orders/{{id}}"
        item = f"{cart}/items/{{item_id}}"
        key, change = Credential.STOREFRONT_KEY, self._change_handler
        return [
            Route("POST", f"{PREFIX}/carts", change("CartCreate", _parse_new_cart, 201), key, creates=True),
            Route("GET", cart, self.show, key),
            Route("POST", f"{cart}/files", self.upload, key, creates=True, takes_files=True),
            Route("DELETE", f"{cart}/files/{{file_id}}", self.delete_file, key),
            Route(
                "POST", f"{cart}/file-uploads", change("CartFileUploadCreate", _parse_upload, 201), key, creates=True
            ),
            Route("POST", f"{cart}/file-uploads/{{file_id}}", change("CartFileUploadComplete", _no_input), key),
            Route("POST", f"{cart}/items", change("CartItemAdd", _parse_item, 201), key, creates=True),
            Route("PATCH", item, change("CartItemUpdate", _parse_quantity), key),
            Route("DELETE", item, change("CartItemRemove", _no_input), key),
            Route("PUT", f"{cart}/address", change("CartSetAddress", _parse_address), key),
            Route("GET", f"{cart}/shipping-options", self.shipping_options, key),
            Route("PUT", f"{cart}/shipping-option", change("CartSetShippingOption", _parse_shipping), key),
            Route("POST", f"{cart}/coupon", change("CartApplyCoupon", _parse_coupon), key),
            Route("POST", f"{cart}/points", change("CartSetPoints", _parse_points), key),
            Route("POST", f"{cart}/checkout", self.check_out, key, creates=True, key_reuse_message=_REUSED),
            Route("GET", order, self.order, key),
        ]

    async def show(self, request: web.Request) -> web.Response:
        """Return the cart with current totals."""
        return json_response(await self._find_cart(request))

    async def upload(self, request: web.Request) -> web.Response:
        """Store the file of a form with `option_id` and `file`, and return it."""
        scope, operation = self._authorize(request, "CartFileUpload")
        if request.content_type != MULTIPART:
            raise MalformedRequest(detail="expected multipart/form-data with option_id and file")
        if (await self._find_cart(request))["status"] == "ordered":  # before the body is received
            raise Conflict("cart_already_ordered", reason="cart_already_ordered")
        form = await request.app[RECEIVE_FORM](request)
        option, file = form.get("option_id"), form.get("file")
        missing = {
            name: REQUIRED
            for name, is_sent in (("option_id", isinstance(option, str)), ("file", isinstance(file, ReceivedFile)))
            if not is_sent
        }
        if missing:
            raise ValidationFailed(f"{' and '.join(missing)} is required", fields=missing)
        values = {**_path_ids(request), "option_id": option, "file": file}
        return json_response(await self._execute(scope, operation, values), status=201)

    async def delete_file(self, request: web.Request) -> web.Response:
        """Delete a file that no line of the cart names."""
        await self._execute(*self._authorize(request, "CartFileDelete"), _path_ids(request))
        return web.Response(status=204)

    async def shipping_options(self, request: web.Request) -> web.Response:
        """Return the shipping options of the cart."""
        options = await self._execute(*self._authorize(request, "ShippingOptions"), _path_ids(request))
        return json_response({"shipping_options": options})

    async def check_out(self, request: web.Request) -> web.Response:
        """Create an order from the cart and return it with its token."""
        scope, operation = self._authorize(request, "CartCheckout")
        body = await read_json_object(request)
        # Forms send omitted fields as empty texts.
        values = {name: body[name] for name in _CHECKOUT if body.get(name) not in (None, "")}
        try:
            result = await self._execute(scope, operation, {**_path_ids(request), "input": values})
        except RuleViolation as error:
            return render_object(error)
        except ValidationFailed as error:
            if error.fields == _NO_CUSTOMER:
                # The contract has a text of its own, which names both fields.
                raise MalformedRequest(error.message) from error
            raise
        return json_response({**result["order"], "token": result["token"]}, status=201)

    async def order(self, request: web.Request) -> web.Response:
        """Return an order, authorized by its token or by the customer's own access token."""
        scope, operation = self._authorize(request, "Order")
        token = request.query.get("token", "")
        if not token and scope.actor.user_id is None:
            raise MalformedRequest("token is required")
        order = await self._execute(scope, operation, {**_path_ids(request), "token": token or None})
        if order is None:
            raise NotFound("order")
        return json_response(order)

    async def _find_cart(self, request: web.Request) -> Any:
        cart = await self._execute(*self._authorize(request, "Cart"), _path_ids(request))
        if cart is None:
            raise NotFound("cart")
        return cart

    def _change_handler(self, name: str, parse: ParseRequest, status: int = 200) -> Handler:
        async def change(request: web.Request) -> web.Response:
            scope, operation = self._authorize(request, name)
            variables = {**_path_ids(request), **await parse(request)}
            return json_response(await self._execute(scope, operation, variables), status=status)

        return change

    def _authorize(self, request: web.Request, suffix: str) -> tuple[Scope, FacadeOperation]:
        operation = self.operations[f"Storefront{suffix}"]
        return authorize(request[SCOPE], operation), operation

    async def _execute(self, scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any]) -> Any:
        """Execute an operation and return its first field; validation errors get specific field codes."""
        try:
            data = await execute(scope, operation, variables)
        except ValidationFailed as error:
            raise with_field_codes(error, _CODES) from error
        return data[operation.fields[0]]


def _path_ids(request: web.Request) -> dict[str, str]:
    """Return the ids in the path as variables; the operation rejects invalid ones."""
    return dict(request.match_info)


async def _no_input(request: web.Request) -> dict[str, Any]:
    return {}


async def _parse_upload(request: web.Request) -> dict[str, Any]:
    body = await read_json_object(request)
    missing = {name: REQUIRED for name in ("option_id", *_UPLOAD) if body.get(name) in (None, "")}
    if missing:
        raise ValidationFailed(f"{' and '.join(missing)} is required", fields=missing)
    return {"option_id": body["option_id"], "input": _select(body, _UPLOAD)}


async def _parse_new_cart(request: web.Request) -> dict[str, Any]:
    body = await read_json_object(request, empty=True)
    values: dict[str, Any] = {}
    if body.get("items") is not None:
        items = body["items"]
        if not isinstance(items, list):
            raise ValidationFailed("items is no list", field="items")
        values["items"] = [_select(item, _ITEM) if isinstance(item, dict) else item for item in items]
    if body.get("customer_email") is not None:
        values["customer_email"] = body["customer_email"]
    return {"input": values}


async def _parse_item(request: web.Request) -> dict[str, Any]:
    return {"input": _select(await read_json_object(request), _ITEM)}


async def _parse_quantity(request: web.Request) -> dict[str, Any]:
    return {"quantity": (await read_json_object(request)).get("quantity")}


async def _parse_address(request: web.Request) -> dict[str, Any]:
    return {"input": _select(await read_json_object(request), _ADDRESS)}


async def _parse_shipping(request: web.Request) -> dict[str, Any]:
    shipping = (await read_json_object(request)).get("shipping_id")
    if shipping in (None, ""):
        raise ValidationFailed("shipping_id is required", fields={"shipping_id": REQUIRED})
    return {"shipping_id": shipping}


async def _parse_coupon(request: web.Request) -> dict[str, Any]:
    """Parse `{code}`; an empty or null code removes the coupon."""
    body = await read_json_object(request)
    if "code" not in body:
        raise ValidationFailed("code is required", fields={"code": REQUIRED})
    return {"code": "" if body["code"] is None else body["code"]}


async def _parse_points(request: web.Request) -> dict[str, Any]:
    """Parse `{points_to_use}`, a whole number; 0 spends none."""
    points = (await read_json_object(request)).get("points_to_use")
    if points is None:
        raise ValidationFailed("points_to_use is required", fields={"points_to_use": REQUIRED})
    if isinstance(points, bool) or not isinstance(points, int) or not 0 <= points <= _MAX_POINTS:
        raise ValidationFailed(
            f"points_to_use is {repr_value(points)}; expected a whole number from 0 to {_MAX_POINTS}",
            fields={"points_to_use": "points_invalid"},
        )
    return {"points": points}


def _select(body: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: body[name] for name in names if name in body}
