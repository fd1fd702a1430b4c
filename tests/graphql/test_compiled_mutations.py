"""Mutations that return the changed record are answered by a compiled read; everything else is completed by the executor."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from auth.privileges import ALL
from kernel.scope import ActorKind, Scope, active_scope
from resolvers import query_compiler, root
from resolvers.operations import OperationExecutor
from schema.documents import prepare_document
from schema.execution import execute_document, format_error
from tests.harness.sample_store import SampleStore

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
WITH_REFUSED_FIELD = "mutation($id: ID!) { product_update(id: $id, input: { stock: 9 }) { id stock on_hand } }"
ORDER = 'mutation($id: ID!) { order_update(id: $id, input: { notes: "Portão azul" }) { id } }'
WITHOUT_VARIABLE = "mutation($id: ID!, $stock: BigInt!) { product_update(id: $id, input: { stock: $stock }) { id } }"
TWO = "mutation($id: ID!) { a: product_update(id: $id, input: {}) { id } b: product_update(id: $id, input: {}) { id } }"
WRITER = frozenset({"write_products", "write_inventory"})


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the contexts of the operations that the executor completes from now on."""
    contexts: list[Any] = []

    async def record(schema: Any, prepared: Any, context: Any, *arguments: Any) -> Any:
        contexts.append(context)
        return await execute_document(schema, prepared, context, *arguments)

    monkeypatch.setattr("resolvers.operations.execute_document", record)
    return contexts


def _admin(sample: SampleStore) -> Scope:
    return sample.as_admin(privileges=ALL)


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
    assert [context.outcome is not None for context in executed] == [text is not WITHOUT_VARIABLE, False]


async def test_a_refused_field_is_an_error_at_its_path_and_the_resolver_runs_once(
    sample: SampleStore, executed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = sample.as_actor(ActorKind.APP, app_id=1, scopes=WRITER)
    answer = await _execute(app, WITH_REFUSED_FIELD, id=sample.mug.id)
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
