"""A storefront key sees what a shopper may and no more, wherever in the tree it looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from graphql import GraphQLObjectType

from auth.storefront_keys import create_storefront_key
from kernel.scope import entered
from resolvers import root
from schema.fields import ACCESS, declared_field
from tests.graphql.walk import lists, selected
from tests.shop import Shop

DEPTH = 3
# What somebody may do who shops, and, without any credential, who wants an account.
SHOPS = {
    "cart_create",
    "cart_item_add",
    "cart_item_update",
    "cart_item_remove",
    "cart_set_address",
    "cart_set_customer_email",
    "cart_set_shipping_option",
    "cart_apply_coupon",
    "cart_checkout",
}
ENTERS = {"user_register", "email_verify", "email_resend", "password_forgot", "password_reset"}


def open_fields(type_: GraphQLObjectType | None) -> set[str]:
    """Name the root fields that storefront keys may use."""
    assert type_ is not None
    found = set()
    for name, field in type_.fields.items():
        declared = declared_field(field)
        assert declared is not None
        access = declared.metadata[ACCESS]
        if access.storefront or access.anonymous:
            found.add(name)
    return found


def test_keys_change_nothing_but_carts() -> None:
    assert open_fields(root.public_schema().mutation_type) == SHOPS | ENTERS


def test_keys_list_no_carts_orders_or_people() -> None:
    found = open_fields(root.public_schema().query_type)
    assert {"cart", "placed_order", "products"} <= found
    assert not found & {"carts", "orders", "order", "users", "user", "payments", "shipments", "audit_entries"}


def texts(found: Any) -> Iterator[str]:
    if isinstance(found, dict):
        for value in found.values():
            yield from texts(value)
    elif isinstance(found, list):
        for value in found:
            yield from texts(value)
    elif found is not None:
        yield str(found)


def open_lists() -> list[str]:
    """List the fields that read entities; what is quoted for a cart needs its id."""
    schema = root.public_schema()
    assert schema.query_type is not None
    fields = schema.query_type.fields
    return sorted(
        name for name in set(lists(schema)) & open_fields(schema.query_type) if "limit" in fields[name].args
    )


@pytest.mark.parametrize("name", open_lists())
async def test_nothing_below_tells_of_people_or_of_what_is_hidden(shop: Shop, name: str) -> None:
    scope = shop.scope()
    with entered(scope):
        key = (await create_storefront_key(scope, {})).key
    query = f"{{ {name}(limit: 3) {{ {selected(root.public_schema(), name, DEPTH)} }} }}"
    answer = await shop.post("/graphql", {"query": query}, auth=None, headers={"X-API-Key": key})
    codes = {error["extensions"]["code"] for error in answer.body.get("errors", ())}
    assert codes <= {"FORBIDDEN"}, answer.body["errors"]
    secret = {
        "caio@example.com", "bia@example.com", "guest@example.com", "olga@example.com", "sol@example.com", "lua@example.com",
        "52998224725", "11222333000181", "Vaso", "Oculta", "Reis", "Lima", shop.caio.id, shop.bia.id, shop.order.id, shop.secret.id,
    }  # fmt: skip
    assert not set(texts(answer.body.get("data"))) & secret
