"""A storefront key can access what a customer can, and no more, at any depth."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from graphql import GraphQLObjectType

from auth.schemes import authenticate
from auth.storefront_keys import create_storefront_key
from kernel.scope import active_scope
from resolvers import root
from schema.fields import ACCESS, strawberry_field
from tests.graphql.full_selections import full_selection, list_fields
from tests.harness.sample_store import SampleStore

DEPTH = 3
# The mutations of a storefront, and those of registration, which need no credential.
CART_MUTATIONS = {
    "cart_create",
    "cart_file_upload",
    "cart_file_upload_create",
    "cart_file_upload_complete",
    "cart_file_delete",
    "cart_item_add",
    "cart_item_update",
    "cart_item_remove",
    "cart_items_add",
    "cart_items_update",
    "cart_items_remove",
    "cart_set_address",
    "cart_set_customer_email",
    "cart_set_shipping_option",
    "cart_apply_coupon",
    "cart_set_points",
    "cart_merge",
    "order_reorder",
    "cart_checkout",
    "newsletter_subscribe",
    "newsletter_confirm",
    "newsletter_cancel",
    "stock_notice_request",
    "stock_notice_confirm",
    "stock_notice_cancel",
}
SIGN_IN_MUTATIONS = {
    "sign_in",
    "sign_in_verify",
    "sign_in_with_key",
    "session_refresh",
    "sign_out",
    "vendor_sign_up",
    "user_register",
    "email_verify",
    "email_resend",
    "password_forgot",
    "password_reset",
}


def key_fields(type_: GraphQLObjectType | None) -> set[str]:
    """Name the root fields that storefront keys may use."""
    assert type_ is not None
    names = set()
    for name, field in type_.fields.items():
        declared = strawberry_field(field)
        assert declared is not None, name
        access = declared.metadata[ACCESS]
        if access.storefront or access.anonymous:
            names.add(name)
    return names


def test_storefront_keys_can_change_only_carts() -> None:
    # By the order's token.
    payments = {"payment_create", "payment_cancel"}
    assert key_fields(root.public_schema().mutation_type) == CART_MUTATIONS | SIGN_IN_MUTATIONS | payments


def test_storefront_keys_cannot_list_carts_orders_or_users() -> None:
    names = key_fields(root.public_schema().query_type)
    assert {"cart", "placed_order", "products"} <= names
    assert not names & {"carts", "orders", "order", "users", "user", "payments", "shipments", "audit_entries"}


def texts(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for value in data.values():
            yield from texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from texts(value)
    elif data is not None:
        yield str(data)


def key_lists() -> list[str]:
    """List the root fields that read entities."""
    schema = root.public_schema()
    assert schema.query_type is not None
    fields = schema.query_type.fields
    return sorted(
        name for name in set(list_fields(schema)) & key_fields(schema.query_type) if "limit" in fields[name].args
    )


@pytest.mark.parametrize("name", key_lists())
async def test_nested_fields_do_not_leak_users_or_hidden_records(sample: SampleStore, name: str) -> None:
    scope = sample.scope
    with active_scope(scope):
        key = (await create_storefront_key(scope, {})).key
    query = f"{{ {name}(limit: 3) {{ {full_selection(root.public_schema(), name, DEPTH)} }} }}"
    answer = await sample.post("/graphql", {"query": query}, auth=None, headers={"X-API-Key": key})
    codes = {error["extensions"]["code"] for error in answer.body.get("errors", ())}
    assert codes <= {"FORBIDDEN"}, answer.body["errors"]
    secret = {
        "caio@example.com", "bia@example.com", "guest@example.com", "olga@example.com", "sol@example.com", "lua@example.com",
        "52998224725", "11222333000181", "Vaso", "Oculta", "Reis", "Lima", sample.caio.id, sample.bia.id, sample.order.id, sample.secret.id,
    }  # fmt: skip
    assert not set(texts(answer.body.get("data"))) & secret


# --- A key with a token ------------------------------------------------------------------------------------------------


async def make_key(sample: SampleStore, **fields: Any) -> str:
    with active_scope(sample.scope):
        return (await create_storefront_key(sample.scope, fields)).key


async def test_a_key_with_a_token_has_to_be_valid_and_the_rights_are_the_tokens(sample: SampleStore) -> None:
    query = {"query": "{ me { id } }"}
    key = await make_key(sample, scopes=["storefront:read"])
    both = await sample.post("/graphql", query, auth="bearer", headers={"X-API-Key": key})
    assert both.body["data"]["me"]["id"] == sample.owner.id
    for name, wrong in (("unknown", "sfk_wrong"), ("app's", "vat_live_x"), ("empty", ""), ("changed", key[:-1] + "?")):
        refused = await sample.post("/graphql", query, auth="bearer", headers={"X-API-Key": wrong})
        assert (refused.status, refused.body["error"]) == (401, "invalid_api_key"), name
    wrong_token = await sample.post(
        "/graphql", query, auth=None, headers={"X-API-Key": key, "Authorization": "Bearer wrong"}
    )
    assert (wrong_token.status, wrong_token.body["error"]) == (401, "invalid or expired token")


@pytest.mark.parametrize(
    "limits, text",
    [
        ({"rate_limit": 3, "per_address": 0}, "more than 3 requests a minute with this key"),
        ({"rate_limit": 9, "per_address": 3}, "more than 3 requests a minute with this key from this address"),
    ],
)
async def test_the_limits_of_a_key_count_with_a_token(sample: SampleStore, limits: dict[str, int], text: str) -> None:
    key = await make_key(sample, **limits)
    answers = [
        await sample.post("/graphql", {"query": "{ me { id } }"}, auth="bearer", headers={"X-API-Key": key})
        for _ in range(4)
    ]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[0].headers["X-RateLimit-Limit"] == str(limits["rate_limit"])
    assert answers[3].body["detail"] == text
    alone = await sample.post("/graphql", {"query": "{ me { id } }"}, auth="bearer")
    assert alone.status == 200


async def test_the_same_key_in_both_headers_counts_once(sample: SampleStore) -> None:
    key = await make_key(sample, rate_limit=2, per_address=0)
    headers = {"X-API-Key": key, "Authorization": f"Bearer {key}"}
    answers = [
        await sample.post("/graphql", {"query": "{ store { id } }"}, auth=None, headers=headers) for _ in range(3)
    ]
    assert [answer.status for answer in answers] == [200, 200, 429]


@pytest.mark.parametrize("needs", ["storefront_key", "graphql"])
async def test_a_caller_with_key_and_token_is_verified_no_longer_than_the_token(
    sample: SampleStore, needs: str
) -> None:
    await sample.token(sample.owner)
    tokens = sample.tokens[sample.owner.number]
    headers = {"X-API-Key": await make_key(sample), "Authorization": f"Bearer {tokens.access_token}"}
    now = tokens.expires_at - timedelta(seconds=10)
    caller = await authenticate(
        sample.store, needs, headers, now=now, client_ip=sample.ip, request_id="test", family="graphql"
    )
    assert caller.verified_until is not None
    assert caller.verified_until <= tokens.expires_at
