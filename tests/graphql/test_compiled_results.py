"""The caller's own account and carts, which no entity query reads: compiled queries return what the executor returns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLObjectType,
    get_named_type,
)

from domain.promotions.promotions import PROMOTION_RECORDS
from kernel.ids import uuid7
from kernel.scope import Actor, ActorKind, Scope, active_scope
from models.connection import database
from models.reading.answer_size import AnswerLimits, AnswerTooLarge, limited_answer
from models.reading.response_shapes import NotCompiled
from resolvers import root
from resolvers.engine.compile import CompiledQuery, QueryCompiler
from resolvers.engine.executor import ExecutionContext, execute_document
from resolvers.engine.prepare import prepare_document
from tests.docs.storefront_guide import PAGE, read_guide
from tests.graphql.full_selections import single_record_fields
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import open_storefront
from tests.webhooks.kit import emit_events

JSON_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS
OPERATIONS = {block.name: block.text for block in read_guide(PAGE) if block.language == "graphql"}
SAVE_ADDRESS = """
INSERT INTO user_addresses (tenant_id, public_id, user_id, name, is_default_shipping) VALUES ($1, gen_random_uuid(), $2, 'Bia', true)
"""
SELL_OUT = "UPDATE products SET on_hand = reserved WHERE tenant_id = $1 AND public_id = $2"
CART = """
query($id: ID!) {
  basket: cart(id: $id) {
    __typename
    number: id
    updated_at
    address { city }
    shipping_option { name shipping_method { name } }
    items {
      __typename id quantity option_values chosen product { name category { name } } combination { sku } options { name option { id } }
    }
    warnings { code item { id product { id } } product { name } }
    gifts { name product { id } }
  }
}
"""
SEVERAL = """
query($id: ID!) {
  cart(id: $id) {
    items { product { id slug } same: product { name main_image { url } category { name } } }
    again: items { product { id } }
    warnings { item { product { id slug } } }
  }
}
"""

EVENTS = """
query($after: String, $first: Int, $types: [String!]) {
  feed: events(after: $after, first: $first, types: $types) {
    __typename
    edges {
      cursor
      node {
        __typename name: event id created_at tenant_id subject_type subject_id sequence data cursor
        product { id name category { name } } order { id items { name } } user { email }
      }
    }
    page_info { has_next_page has_previous_page start_cursor end_cursor }
  }
}
"""


def _customer(sample: SampleStore) -> Scope:
    actor = Actor(ActorKind.CUSTOMER, user_id=sample.bia.number, user_public_id=UUID(sample.bia.id), session_id=1)
    return replace(sample.scope, family="graphql", actor=actor)


def _guest(sample: SampleStore) -> Scope:
    return sample.as_storefront(scopes=frozenset({"storefront:read", "storefront:cart"}))


def _compile(text: str, variables: dict[str, Any], *, native: bool = True) -> tuple[Any, CompiledQuery | None]:
    schema = root.public_schema()
    prepared = prepare_document(schema, text, limited=True)
    assert prepared.errors == (), prepared.errors
    operation = prepared.operation(None)
    assert operation is not None
    return prepared, QueryCompiler(schema, native=native).compile_query(prepared, operation, variables)


async def _both(scope: Scope, text: str, **variables: Any) -> tuple[Any, Any, int]:
    """Return the compiled data, the executor's, and the number of statements of the first."""
    prepared, compiled = _compile(text, variables)
    _, plain = _compile(text, variables, native=False)
    assert compiled is not None
    assert plain is not None
    with active_scope(scope):
        expected = await execute_document(root.public_schema(), prepared, ExecutionContext(scope), variables)
        assert not expected.errors
        with database.count_statements() as counted:
            data = await compiled.run(scope)
        assert orjson.dumps(await plain.run(scope)) == orjson.dumps(expected.data)
    return (
        orjson.loads(orjson.dumps(data, option=JSON_OPTIONS)),
        orjson.loads(orjson.dumps(expected.data)),
        counted.count,
    )


async def test_an_account_with_orders_and_addresses_is_that_of_the_executor(sample: SampleStore) -> None:
    shop = (await open_storefront(sample)).as_customer(sample.bia)
    await shop.order((sample.mug, 1))
    await shop.cart((sample.mug, 2))
    await sample.execute(SAVE_ADDRESS, sample.store.id, sample.bia.number)
    data, expected, statements = await _both(_customer(sample), OPERATIONS["Account"], first=10)
    assert data == expected
    assert list(data["me"]) == list(expected["me"])
    assert data["me"]["orders"]["edges"]
    assert data["me"]["addresses"]
    assert data["sessions"]
    assert statements == 3


@pytest.mark.parametrize("name", ["guide", "everything"])
async def test_a_cart_is_that_of_the_executor(sample: SampleStore, name: str) -> None:
    shop = await open_storefront(sample)
    cart = await shop.cart((sample.mug, 1))
    text, key = (OPERATIONS["CartPage"], "cart") if name == "guide" else (CART, "id")
    await sample.execute(
        SELL_OUT,
        sample.store.id,
        UUID(sample.mug.id),
    )
    data, expected, _ = await _both(_guest(sample), text, **{key: cart})
    assert data == expected
    [(_, shown)] = data.items()
    assert list(shown) == list(next(iter(expected.values())))
    assert [warning["code"] for warning in shown["warnings"]] == ["OUT_OF_STOCK"]
    assert shown["warnings"][0]["item"]["id"] == shown["items"][0]["id"]


async def test_products_of_a_cart_may_be_selected_several_times(sample: SampleStore) -> None:
    shop = await open_storefront(sample)
    cart = await shop.cart((sample.mug, 1), (sample.plate, 2))
    await sample.execute(
        "UPDATE products SET status = 'D' WHERE tenant_id = $1 AND public_id = $2", sample.store.id, UUID(sample.mug.id)
    )
    for caller, is_hidden in ((_guest(sample), True), (sample.scope, False)):
        data, expected, _ = await _both(caller, SEVERAL, id=cart)
        assert data == expected, (caller, is_hidden)
        assert [item["product"] is None for item in data["cart"]["items"]] == [is_hidden, False]
        assert data["cart"]["warnings"][0]["item"]["product"] == data["cart"]["items"][0]["product"], (
            caller,
            is_hidden,
        )


async def test_the_products_of_a_cart_count_toward_the_limits_of_its_answer(sample: SampleStore) -> None:
    shop = await open_storefront(sample)
    cart = await shop.cart((sample.mug, 1), (sample.plate, 2))
    _, compiled = _compile(SEVERAL, {"id": cart})
    assert compiled is not None
    scope = _guest(sample)
    for limits, is_refused in (
        (AnswerLimits(1_000, 10_000), False),
        (AnswerLimits(1_000, 100), True),
        (AnswerLimits(2, 10_000), True),
    ):
        with (
            active_scope(scope),
            limited_answer(limits),
            pytest.raises((NotCompiled, AnswerTooLarge)) if is_refused else nullcontext(),
        ):
            await compiled.run(scope)


async def test_results_that_are_objects_show_the_name_of_their_type(sample: SampleStore) -> None:
    data, expected, _ = await _both(
        _customer(sample), "{ two_factor { __typename enabled } sessions { __typename id } }"
    )
    assert data == expected
    assert data["two_factor"]["__typename"] == "TwoFactorState"


async def test_a_cart_with_shipping_and_promotions_takes_one_statement(sample: SampleStore) -> None:
    shop = await open_storefront(sample)
    with active_scope(sample.scope):
        for zone, bonus in (("catalog", "product_discount"), ("cart", "order_discount")):
            fields = {"name": zone, "zone": zone, "bonuses": {bonus: "10%"}}
            await PROMOTION_RECORDS.create(sample.scope, fields)
    products = [await sample.add_product() for _ in range(3)]
    for count in (1, 3):
        cart = await shop.cart(*[(product, 2) for product in products[:count]])
        data, expected, statements = await _both(_guest(sample), OPERATIONS["CartPage"], cart=cart)
        assert data == expected, count
        assert data["cart"]["discount_cents"] > 0, count
        assert data["cart"]["shipping_cents"] > 0, count
        assert statements == 1, count  # with its products; the executor has read the terms of its price


async def test_a_cart_that_does_not_exist_is_null(sample: SampleStore) -> None:
    data, expected, _ = await _both(_guest(sample), OPERATIONS["CartPage"], cart=str(UUID(int=7)))
    assert data == expected == {"cart": None}


async def test_what_a_caller_may_not_read_is_left_to_the_executor(sample: SampleStore) -> None:
    _, compiled = _compile("{ me { id } }", {})
    assert compiled is not None
    scope = sample.as_storefront()
    with active_scope(scope), pytest.raises(NotCompiled):
        await compiled.run(scope)


@pytest.mark.parametrize("field", ["payment_methods { id }", "shipping_options { name }"])
def test_members_that_are_read_on_demand_need_the_executor(field: str) -> None:
    _, compiled = _compile(f"query($id: ID!) {{ cart(id: $id) {{ id {field} }} }}", {"id": str(UUID(int=7))})
    assert compiled is None


async def test_events_are_those_of_the_executor_with_their_subjects(sample: SampleStore) -> None:
    subjects = (("product", sample.mug), ("order", sample.order), ("user", sample.caio))
    for kind, record in subjects:
        name = "user.registered" if kind == "user" else f"{kind}.updated"
        await emit_events(sample.store, name, {"id": record.id}, subject=UUID(record.id))
    await emit_events(sample.store, "product.deleted")
    latest, _, statements = await _both(sample.scope, EVENTS, first=100)
    shown = [edge["node"] for edge in latest["feed"]["edges"][-4:]]
    assert [[name for name in ("product", "order", "user") if event[name] is not None] for event in shown] == [
        [kind] for kind, _ in subjects
    ] + [[]]
    for variables in ({"first": 2}, {"first": 0}, {"types": ["product.deleted"]}, {"after": "latest"}):
        data, expected, fewer = await _both(sample.scope, EVENTS, **variables)
        assert data == expected, variables
        assert list(data["feed"]) == list(expected["feed"]), variables
        assert fewer <= statements == 2 + 3 * 2, variables


@pytest.mark.parametrize("variables", [{"after": "x"}, {"types": ["x"]}, {"first": -1}, {"first": 1_001}])
async def test_refused_arguments_of_events_are_left_to_the_executor(
    sample: SampleStore, variables: dict[str, Any]
) -> None:
    _, compiled = _compile(EVENTS, variables)
    assert compiled is not None
    with active_scope(sample.scope), pytest.raises(NotCompiled):
        await compiled.run(sample.scope)


def _connections_below_records() -> Iterator[tuple[str, str, GraphQLField]]:
    """Iterate over the root fields of single records and the connections of those."""
    schema = root.public_schema()
    assert schema.query_type is not None
    for name in single_record_fields(schema):
        type_ = get_named_type(schema.query_type.fields[name].type)
        assert isinstance(type_, GraphQLObjectType), name
        yield from ((name, key, field) for key, field in type_.fields.items() if "first" in field.args)


def _arguments(field: GraphQLField) -> Iterator[str]:
    """Iterate over the arguments of a connection: one for each filter and each order."""
    for argument in ("filter", "sort"):
        if argument not in field.args:
            continue
        type_ = get_named_type(field.args[argument].type)
        if isinstance(type_, GraphQLEnumType):
            yield from (f"sort: {value}" for value in type_.values)
        else:
            assert isinstance(type_, GraphQLInputObjectType), argument
            yield from (f"filter: {{{name}: {_value(each.type)}}}" for name, each in type_.fields.items())


def _value(type_: GraphQLInputType) -> str:
    named = get_named_type(type_)
    if isinstance(named, GraphQLEnumType):
        return next(iter(named.values))
    if isinstance(named, GraphQLInputObjectType):
        return "{" + ", ".join(f"{name}: {_value(field.type)}" for name, field in list(named.fields.items())[:1]) + "}"
    texts = {
        "Boolean": "true",
        "ID": f'"{uuid7()}"',
        "DateTime": '"2026-01-31T00:00:00Z"',
        "String": '"a"',
        "OrderStatus": '"O"',
    }
    return texts.get(named.name, "1")


@pytest.mark.parametrize(
    "record, connection, field",
    [pytest.param(*each, id=".".join(each[:2])) for each in _connections_below_records()],
)
async def test_a_connection_of_one_record_has_each_filter_and_order_in_its_statement(
    scope: Scope, record: str, connection: str, field: GraphQLField
) -> None:
    with active_scope(scope):
        for arguments in _arguments(field):
            text = f'{{ {record}(id: "{uuid7()}") {{ {connection}(first: 2, {arguments}) {{ edges {{ node {{ id }} }} }} }} }}'
            _, compiled = _compile(text, {})
            assert compiled is not None, arguments
            with database.count_statements() as counted:
                assert await compiled.run(scope) == {record: None}, arguments
            assert counted.count == 1, arguments
