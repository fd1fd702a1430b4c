"""Assemble what can be asked and done about carts, and what shoppers may ask about orders they placed."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.carts import change, checkout, placed
from domain.carts.locked import find_cart
from domain.carts.record import show_cart, way_record
from domain.carts.totals import ways_for
from models import reading
from models.reading import Row
from resolvers.changes import renamed, words
from schema.fields import root
from schema.inputs.carts import CartAddressInput, CartCheckoutInput, CartInput, CartItemInput
from schema.inputs.given import provided
from schema.scalars import BigInt, Ident
from schema.selection import asked, selection_below
from schema.types.carts import (
    CHANGE_CARTS,
    CHECK_OUT,
    SEE_CARTS,
    CartCheckoutObject,
    CartObject,
    PlacedOrderObject,
    ShippingOptionObject,
)

_SEE_PLACED = Access(
    privileges=("view_orders",),
    app_scope="read_orders",
    customer=True,
    storefront=placed.CHECKOUT,
    note="The order's token opens it; a customer's own token opens that customer's.",
)
_ITEM_WORDS = {"product_id": "product"}
_CHECKOUT_WORDS = {"customer_id": "customer", "payment_id": "payment"}


def _items(given: dict[str, Any]) -> dict[str, Any]:
    if given.get("items") is not None:
        given["items"] = [_item(item) for item in given["items"]]
    return given


def _item(given: dict[str, Any]) -> dict[str, Any]:
    return {_ITEM_WORDS.get(name, name): value for name, value in given.items()}


@strawberry.type
class CartQueries:
    """What can be asked."""

    @root(SEE_CARTS, "One cart by its id, added up now; null when there is none.")
    async def cart(self, info: Info, id: Ident) -> CartObject | None:
        """Show a cart."""
        return await show_cart(info.context.scope, id)  # type: ignore[return-value]

    @root(SEE_CARTS, "The ways in which what a cart holds can travel to its address, and their prices now.")
    async def cart_shipping_options(self, info: Info, id: Ident) -> list[ShippingOptionObject]:
        """Quote the cart's delivery."""
        scope = info.context.scope
        cart = await find_cart(scope, id)
        return [way_record(way) for way in await ways_for(scope, cart)]  # type: ignore[misc]

    @root(_SEE_PLACED, "An order for whoever placed it through a storefront; null when there is none.")
    async def placed_order(self, info: Info, id: Ident, token: str | None = None) -> PlacedOrderObject | None:
        """Show an order by its token."""
        scope = info.context.scope
        condition = placed.by_token(scope, id, token)
        if condition is None:
            return None
        return await reading.one_where(scope, selection_below(info), condition)  # type: ignore[return-value]


@strawberry.type
class CartMutations:
    """What can be done with carts."""

    @root(CHANGE_CARTS, "Make a cart.")
    async def cart_create(self, info: Info, input: CartInput | None = None) -> CartObject:
        """Make a cart."""
        given = _items(provided(input)) if input is not None else {}
        return await change.create_cart(info.context.scope, given)  # type: ignore[return-value]

    @root(CHANGE_CARTS, "Put units of a product into a cart; more of what is in it already is added up.")
    async def cart_item_add(self, info: Info, id: Ident, input: CartItemInput) -> CartObject:
        """Put something in."""
        return await change.add_item(info.context.scope, id, renamed(input, _ITEM_WORDS))  # type: ignore[return-value]

    @root(CHANGE_CARTS, "Set how many units an item of a cart holds, 1 or more.")
    async def cart_item_update(
        self, info: Info, id: Ident, item_id: Ident, quantity: BigInt | None
    ) -> CartObject:
        """Change a quantity."""
        given = {"quantity": quantity}
        return await change.update_item(info.context.scope, id, item_id, given)  # type: ignore[return-value]

    @root(CHANGE_CARTS, "Take an item out of a cart.")
    async def cart_item_remove(self, info: Info, id: Ident, item_id: Ident) -> CartObject:
        """Take something out."""
        return await change.remove_item(info.context.scope, id, item_id)  # type: ignore[return-value]

    @root(CHANGE_CARTS, "Say where a cart goes; the address given replaces the one there was.")
    async def cart_set_address(self, info: Info, id: Ident, input: CartAddressInput) -> CartObject:
        """Set the address."""
        return await change.set_address(info.context.scope, id, provided(input))  # type: ignore[return-value]

    @root(CHANGE_CARTS, "Say whose cart it is, by e-mail; an empty one takes it off.")
    async def cart_set_customer_email(self, info: Info, id: Ident, email: str) -> CartObject:
        """Set the e-mail."""
        return await change.set_customer_email(info.context.scope, id, email)  # type: ignore[return-value]

    @root(CHANGE_CARTS, "Choose one of the ways that `cart_shipping_options` offers.")
    async def cart_set_shipping_option(self, info: Info, id: Ident, shipping_id: Ident) -> CartObject:
        """Choose the delivery."""
        return await change.set_shipping_option(info.context.scope, id, shipping_id)  # type: ignore[return-value]

    @root(CHANGE_CARTS, "Let a cart bear a coupon; an empty code takes it off.")
    async def cart_apply_coupon(self, info: Info, id: Ident, code: str) -> CartObject:
        """Apply a coupon."""
        return await change.apply_coupon(info.context.scope, id, code)  # type: ignore[return-value]

    @root(
        CHECK_OUT,
        "Make an order of a cart, once: its stock is held, totals are computed, `order.created` and `checkout.completed` are recorded.",
    )
    async def cart_checkout(self, info: Info, id: Ident, input: CartCheckoutInput) -> CartCheckoutObject:
        """Order the cart."""
        scope = info.context.scope
        with words(_CHECKOUT_WORDS):
            ordered = await checkout.check_out(scope, id, renamed(input, _CHECKOUT_WORDS))
        result = Row(token=ordered.token)
        if asked(info, "order"):
            result["order"] = await reading.one(scope, selection_below(info, "order"), ordered.id)
        return result  # type: ignore[return-value]


QUERIES = (CartQueries,)
MUTATIONS = (CartMutations,)
