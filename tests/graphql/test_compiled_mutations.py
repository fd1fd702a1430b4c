"""The compiled answers of mutations are those of the executor: data, errors, and what the caller may not see."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import orjson
import pytest

from auth.privileges import ALL
from kernel.scope import ActorKind, Scope, active_scope
from resolvers import root
from resolvers.engine import compile as query_compiler
from resolvers.engine.executor import execute_document, format_error
from resolvers.engine.prepare import prepare_document
from resolvers.engine.run import OperationExecutor
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import open_storefront

JSON_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS
EVERYTHING = """
mutation Change($id: ID!, $stock: BigInt!, $hide: Boolean = true) {
  changed: product_update(id: $id, input: { stock: $stock, free_shipping: true }) {
    ...Product again: stock
    reserved @skip(if: $hide)
  }
}
fragment Product on Product {
  __typename number: id name stock on_hand price_cents created_at
  category { name parent { name } } vendor { name } images { url position }
  pricing { __typename base_cents }
}
"""
BAD_STOCK = "mutation($id: ID!) { product_update(id: $id, input: { stock: -5 }) { id } }"
ABSENT = 'mutation { product_update(id: "0190a000-0000-7000-8000-000000000000", input: { stock: 1 }) { id } }'
WITH_REFUSED_FIELD = (
    "mutation($id: ID!) { product_update(id: $id, input: { stock: 9 }) { id stock vendor { name cnpj } } }"
)
ORDER = 'mutation($id: ID!) { order_update(id: $id, input: { notes: "Portão azul" }) { id } }'
WITHOUT_VARIABLE = "mutation($id: ID!, $stock: BigInt!) { product_update(id: $id, input: { stock: $stock }) { id } }"
TWO = "mutation($id: ID!) { a: product_update(id: $id, input: {}) { id } b: product_update(id: $id, input: {}) { id } }"
WRITER = frozenset({"read_products", "write_products", "write_inventory"})
DELETE = "mutation($id: ID!) { gone: product_delete(id: $id) { __typename again: id id } }"
UPSERT = """
mutation($rows: [ProductUpsertInput!]!) {
  product_bulk_upsert(rows: $rows, error_policy: REJECT_FAILED) { __typename index id created error { __typename code fields { field } } }
}
"""
NEW_KEY = """
mutation { storefront_key_create(input: { name: "Loja" }) { key storefront_key { __typename name scopes created_at ...Id } } }
fragment Id on StorefrontKey { number: id }
"""
CREATE_CART = """
mutation($items: [CartItemInput!]) {
  cart_create(input: { items: $items }) {
    __typename status updated_at shipping_option { name } gifts { name }
    items { name quantity product { slug category { name } main_image { url } } options { name } }
    warnings { code item { quantity product { name } } product { name } }
    shipping_options @include(if: true) { name shipping_method { name } }
  }
}
"""
RESULTS = {
    "a scalar": ("mutation { read: notifications_mark_read }", {}),
    "a message": ('mutation { sign_out(refresh_token: "x") { __typename message } }', {}),
    "a result in a result": (
        'mutation { api_key_create(name: "ERP") { key api_key { __typename id name created_at } } }',
        {},
    ),
    "a record in a result": (NEW_KEY, {}),
    "no record in a result": ("mutation { storefront_key_create(input: {}) { __typename } }", {}),
    "a list": (UPSERT, {"rows": [{"name": "Vaso", "price_cents": 100}, {"name": "", "price_cents": -1}]}),
    "a setting": (
        'mutation { setting_update(id: "order_mails", input: { value: "N" }) { name value type variants { name } } }',
        {},
    ),
    "an alias": ("mutation { out: sign_out_everywhere { text: message } }", {}),
}
CHECK_OUT = """
mutation($id: ID!, $payment: ID!, $order: Boolean = true) {
  cart_checkout(id: $id, input: { customer_email: "ana@example.com", payment_id: $payment }) {
    __typename token
    placed: order @include(if: $order) { __typename status total_cents created_at items { __typename name quantity } }
  }
}
"""
VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:]{8}Z|(?<=token\":\")[^\"]+|(?<=key\":\")[^\"]+")


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the contexts of the operations that the executor completes from now on."""
    contexts: list[Any] = []

    async def record(schema: Any, prepared: Any, context: Any, *arguments: Any) -> Any:
        contexts.append(context)
        return await execute_document(schema, prepared, context, *arguments)

    monkeypatch.setattr("resolvers.engine.run.execute_document", record)
    return contexts


def _admin(sample: SampleStore) -> Scope:
    owner = sample.owner
    return sample.as_admin(privileges=ALL, user_id=owner.number, user_public_id=UUID(owner.id))


async def _execute(scope: Scope, text: str, **variables: Any) -> Any:
    """Return data and errors as a client gets them."""
    schema = root.public_schema()
    prepared = prepare_document(schema, text, limited=True)
    assert prepared.errors == (), prepared.errors
    operation = prepared.operation(None)
    assert operation is not None
    with active_scope(scope):
        result = await OperationExecutor(schema, public=True).execute(scope, prepared, operation, variables)
    errors = [format_error(error, scope) for error in result.errors or ()]
    return orjson.loads(orjson.dumps({"data": result.data, "errors": errors}, option=JSON_OPTIONS))


async def _by_executor(monkeypatch: pytest.MonkeyPatch, scope: Scope, text: str, **variables: Any) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(query_compiler, "_enabled", False)
        return await _execute(scope, text, **variables)


async def test_the_changed_record_is_that_of_the_executor(
    sample: SampleStore, executed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = await _execute(_admin(sample), EVERYTHING, id=sample.mug.id, stock=31)
    assert executed == []
    assert answer["data"]["changed"]["stock"] == 31
    expected = await _by_executor(monkeypatch, _admin(sample), EVERYTHING, id=sample.mug.id, stock=31)
    assert len(executed) == 1
    assert answer == expected
    assert list(answer["data"]["changed"]) == list(expected["data"]["changed"])


@pytest.mark.parametrize("text", [BAD_STOCK, ABSENT, WITHOUT_VARIABLE])
async def test_an_error_is_that_of_the_executor(
    sample: SampleStore, executed: list[Any], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    variables = {"id": sample.mug.id} if "$id" in text else {}
    answer = await _execute(_admin(sample), text, **variables)
    assert answer == await _by_executor(monkeypatch, _admin(sample), text, **variables)
    assert answer["errors"]
    assert len(executed) == (2 if text is WITHOUT_VARIABLE else 1)


async def test_a_refused_field_is_an_error_at_its_path_and_the_resolver_runs_once(
    sample: SampleStore, executed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = sample.as_actor(ActorKind.APP, app_id=1, scopes=WRITER)
    answer = await _execute(app, WITH_REFUSED_FIELD, id=sample.mug.id)
    assert answer["errors"][0]["path"] == ["product_update", "vendor", "cnpj"]
    entries = await sample.value("select count(*) from audit_entries where action = 'product.updated'")
    assert answer == await _by_executor(monkeypatch, app, WITH_REFUSED_FIELD, id=sample.mug.id)
    assert [context.outcome is not None for context in executed] == [True, False]
    assert entries == 1


async def test_a_caller_who_may_not_see_the_record_gets_null(sample: SampleStore, executed: list[Any]) -> None:
    order = await sample.place_order((sample.mug, 1), user=sample.bia.number)
    app = sample.as_actor(ActorKind.APP, app_id=1, scopes=frozenset({"write_orders"}))
    answer = await _execute(app, ORDER, id=order.id)
    assert answer["data"] == {"order_update": None}
    assert await sample.value("select notes from orders where id = $1", order.number) == "Portão azul"


async def test_several_mutations_of_a_document_are_left_to_the_executor(
    sample: SampleStore, executed: list[Any]
) -> None:
    answer = await _execute(_admin(sample), TWO, id=sample.mug.id)
    assert answer["data"] == {"a": {"id": sample.mug.id}, "b": {"id": sample.mug.id}}
    assert [context.outcome for context in executed] == [None]


def _comparable(answer: Any) -> str:
    """Return an answer, in its order, without what differs from one execution to the next."""
    return VARYING.sub("x", orjson.dumps(answer).decode())


@pytest.mark.parametrize("name", RESULTS)
async def test_a_result_is_that_of_the_executor(
    sample: SampleStore, executed: list[Any], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text, variables = RESULTS[name]
    await _execute(_admin(sample), text, **variables)  # the next two change the same
    answer = await _execute(_admin(sample), text, **variables)
    assert executed == []
    assert answer["errors"] == []
    assert _comparable(answer) == _comparable(await _by_executor(monkeypatch, _admin(sample), text, **variables))


async def test_a_deletion_is_answered_as_by_the_executor(
    sample: SampleStore, executed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await sample.add_product(), await sample.add_product()
    answer = await _execute(_admin(sample), DELETE, id=first.id)
    assert answer["data"] == {"gone": {"__typename": "DeletedRecord", "again": first.id, "id": first.id}}
    assert executed == []
    expected = await _by_executor(monkeypatch, _admin(sample), DELETE, id=second.id)
    assert _comparable(answer) == _comparable(expected)
    again = await _execute(_admin(sample), DELETE, id=first.id)
    assert again["errors"]
    assert again == await _by_executor(monkeypatch, _admin(sample), DELETE, id=first.id)


@pytest.mark.parametrize("with_order", [True, False])
async def test_a_checkout_is_answered_as_by_the_executor(
    sample: SampleStore, executed: list[Any], monkeypatch: pytest.MonkeyPatch, with_order: bool
) -> None:
    shop = await open_storefront(sample)
    guest = sample.as_storefront(scopes=frozenset({"storefront:read", "storefront:cart", "storefront:checkout"}))
    carts = [await shop.cart((sample.mug, 1), (sample.plate, 2)) for _ in range(2)]
    executed.clear()
    variables = {"payment": sample.pix.id, "order": with_order}
    answer = await _execute(guest, CHECK_OUT, id=carts[0], **variables)
    assert executed == []
    assert answer["errors"] == []
    assert ("placed" in answer["data"]["cart_checkout"]) is with_order
    expected = await _by_executor(monkeypatch, guest, CHECK_OUT, id=carts[1], **variables)
    assert _comparable(answer) == _comparable(expected)
    assert (await _execute(guest, CHECK_OUT, id=carts[0], **variables))["errors"]


async def test_a_checkout_by_an_app_that_may_not_read_orders_is_refused_as_by_the_executor(
    sample: SampleStore, executed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = await open_storefront(sample)
    carts = [await shop.cart((sample.mug, 1)) for _ in range(2)]
    app = sample.as_actor(ActorKind.APP, app_id=1, scopes=frozenset({"write_orders"}))
    answers = [await _execute(app, CHECK_OUT, id=carts[0], payment=sample.pix.id)]
    answers.append(await _by_executor(monkeypatch, app, CHECK_OUT, id=carts[1], payment=sample.pix.id))
    assert answers[0]["errors"]
    assert _comparable(answers[0]) == _comparable(answers[1])


@pytest.mark.parametrize("warned", [False, True])
async def test_a_changed_cart_is_answered_as_by_the_executor(
    sample: SampleStore, executed: list[Any], monkeypatch: pytest.MonkeyPatch, warned: bool
) -> None:
    await open_storefront(sample)
    guest = sample.as_storefront(scopes=frozenset({"storefront:read", "storefront:cart"}))
    items = [
        {"product_id": sample.mug.id, "quantity": 10_000 if warned else 2},
        {"product_id": sample.plate.id, "quantity": 1},
    ]
    answer = await _execute(guest, CREATE_CART, items=items)
    assert executed == []
    assert len(answer["data"]["cart_create"]["items"]) == 2
    assert bool(answer["data"]["cart_create"]["warnings"]) is warned
    assert _comparable(answer) == _comparable(await _by_executor(monkeypatch, guest, CREATE_CART, items=items))


async def test_what_a_shopper_may_not_see_of_a_product_is_an_error_at_its_path_in_the_changed_cart(
    sample: SampleStore, executed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = CREATE_CART.replace("slug", "slug on_hand")
    guest = sample.as_storefront(scopes=frozenset({"storefront:read", "storefront:cart"}))
    items = [{"product_id": sample.mug.id, "quantity": 1}, {"product_id": sample.plate.id, "quantity": 1}]
    carts = "select count(*) from carts where tenant_id = $1"
    before = await sample.value(carts, sample.store.id)
    answer = await _execute(guest, text, items=items)
    assert [context.outcome is not None for context in executed] == [True]
    assert await sample.value(carts, sample.store.id) == before + 1
    assert [error["path"] for error in answer["errors"]] == [
        ["cart_create", "items", index, "product", "on_hand"] for index in range(2)
    ]
    assert _comparable(answer) == _comparable(await _by_executor(monkeypatch, guest, text, items=items))
