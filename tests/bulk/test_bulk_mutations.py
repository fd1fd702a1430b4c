"""Bulk mutations: results by line, resuming, what is refused (docs/reference/bulk.md#bulk-mutations)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from domain.bulk import operations, uploads
from domain.bulk.files import ResultFile
from kernel.errors import Unavailable
from resolvers import bulk_mutations
from tests.bulk.conftest import CREATE_MUTATION, Bulk
from tests.harness.clients import NewApp, NewClient
from tests.harness.http import Client
from tests.harness.oauth import graphql_error
from tests.harness.records import add_product, insert
from tests.harness.scopes import execute, rows, value

CREATE = "mutation ($input: ProductInput!) { product_create(input: $input) { id name } }"
STOCK = "mutation ($id: ID!, $stock: BigInt!) { product_update(id: $id, input: {stock: $stock}) { stock } }"

WAREHOUSE_STOCK = """mutation ($id: ID!, $stock: [WarehouseStockInput!]!) {
    product_warehouse_stock_set(id: $id, stock: $stock) { stock } }"""


def product(number: int, **fields: Any) -> dict[str, Any]:
    return {"input": {"name": f"Caneca {number}", "sku": f"CAN-{number}", "price_cents": 100 * number, **fields}}


async def names(client: Client) -> list[str]:
    return [row["name"] for row in await rows(client.store, "select name from products order by id")]


# --- Results ----------------------------------------------------------------------------------------------------------


async def test_a_mutation_is_executed_for_each_line_in_order(bulk: Bulk, admin: Client):
    operation, results = await bulk.mutate(admin, CREATE, [product(n) for n in range(1, 251)])
    assert (operation["state"], operation["object_count"], operation["error_count"]) == ("completed", 250, 0)
    assert await names(admin) == [f"Caneca {n}" for n in range(1, 251)]
    ids = [str(row["public_id"]) for row in await rows(admin.store, "select public_id from products order by id")]
    assert results == [
        {"line": n, "data": {"product_create": {"id": id, "name": f"Caneca {n}"}}} for n, id in enumerate(ids, 1)
    ]
    assert await value(admin.store, "select count(*) from outbox_events where name = 'product.created'") == 250
    assert await value(admin.store, "select count(*) from bulk_results") == 0
    assert not list(bulk.folder.rglob("*.upload*"))


async def test_a_refused_line_changes_nothing_and_says_why(bulk: Bulk, admin: Client):
    lines = [product(1), product(2, price_cents=-5), product(3, sku="CAN-1"), product(4, category_id="x"), product(5)]
    operation, results = await bulk.mutate(admin, CREATE, lines)
    assert (operation["state"], operation["object_count"], operation["error_count"]) == ("completed", 5, 3)
    assert await names(admin) == ["Caneca 1", "Caneca 5"]
    refused = {
        result["line"]: result["errors"][0]["extensions"]["details"]["fields"]
        for result in results
        if "errors" in result
    }
    assert refused == {2: {"price_cents": "price_invalid"}, 3: {"sku": "sku_taken"}, 4: {"category_id": "not_found"}}


async def test_the_stock_of_many_products_is_set_and_exported_by_warehouse(bulk: Bulk, admin: Client) -> None:
    warehouse = await insert(admin.store, "warehouses", name="Centro")
    products = [await add_product(admin.store) for _ in range(3)]
    stock = [[{"warehouse_id": warehouse.id, "quantity": number}] for number in range(3)]
    lines = [{"id": product.id, "stock": each} for product, each in zip(products, stock, strict=True)]
    operation, results = await bulk.mutate(admin, WAREHOUSE_STOCK, lines)
    assert (operation["state"], operation["error_count"]) == ("completed", 0)
    assert [result["data"]["product_warehouse_stock_set"]["stock"] for result in results] == [0, 1, 2]
    operation = await bulk.create(admin, "{ products { id warehouse_stock { warehouse_id quantity } } }")
    await bulk.work()
    exported = await bulk.results(admin, await bulk.show(admin, operation["id"]))
    assert {row["id"]: row["warehouse_stock"] for row in exported} == {line["id"]: line["stock"] for line in lines}


@pytest.mark.parametrize(
    "line, message, code",
    [
        (b"{", "line 2: the line is not JSON", "VALIDATION_FAILED"),
        (b"[1]", "line 2: the line is not a JSON object", "VALIDATION_FAILED"),
        (b'{"input": {"name": "\xe9"}}', "line 2: the line is not JSON", "VALIDATION_FAILED"),
        (b'{"input": {"name": "\\u0000"}}', "line 2: the line holds", "VALIDATION_FAILED"),
        (b'{"input": {"name": "\\ud800"}}', "line 2: the line is not JSON", "VALIDATION_FAILED"),
        ('{"input": {}}'.encode("utf-16"), "line 2: the line is not JSON", "VALIDATION_FAILED"),
        (b'{"x": "' + b"y" * uploads.MAX_LINE_BYTES + b'"}', "line 2 is longer than 2097152 bytes", "TOO_LARGE"),
        (b"[" * 100_000, "line 2: the line holds more than 25000 values", "VALIDATION_FAILED"),
        (b'{"other": 1}', "Variable '$input'", "VALIDATION_FAILED"),
        (b'{"input": {"name": "C", "price_cents": 1e400}}', "line 2: the line is not JSON", "VALIDATION_FAILED"),
    ],
)  # fmt: skip
async def test_a_broken_line_is_refused_and_the_others_are_executed(
    bulk: Bulk, admin: Client, line: bytes, message: str, code: str
):
    content = b'{"input": {"name": "Antes", "price_cents": 1}}\n' + line.replace(b"\n", b"") + b"\n"
    content += b'{"input": {"name": "Depois", "price_cents": 1}}'
    operation, results = await bulk.mutate(admin, CREATE, content)
    assert (operation["state"], operation["error_count"]) == ("completed", 1)
    assert await names(admin) == ["Antes", "Depois"]
    [error] = results[1]["errors"]
    assert (results[1]["line"], error["extensions"]["code"]) == (2, code)
    assert error["message"].startswith(message), error


async def test_blank_lines_and_other_ends_of_lines_are_accepted(bulk: Bulk, admin: Client):
    first, second = b'{"input": {"name": "A", "price_cents": 1}}', b'{"input": {"name": "B", "price_cents": 1}}'
    operation, results = await bulk.mutate(admin, CREATE, b"\xef\xbb\xbf" + first + b"\r\n\r\n  \n" + second)
    assert await names(admin) == ["A", "B"]
    assert [result["line"] for result in results] == [1, 4]
    assert operation["object_count"] == 2


async def test_an_empty_file_does_nothing(bulk: Bulk, admin: Client):
    operation, results = await bulk.mutate(admin, CREATE, b"")
    assert (operation["state"], operation["object_count"], results) == ("completed", 0, [])


# --- All or nothing ---------------------------------------------------------------------------------------------------


async def test_all_or_nothing_undoes_all_lines_when_one_is_refused(bulk: Bulk, admin: Client):
    operation, results = await bulk.mutate(admin, CREATE, [product(1), product(2), product(3, name="")], all=True)
    assert (operation["state"], operation["error_code"], results) == ("failed", "RULE_VIOLATION", [])
    assert operation["error_message"].startswith("line 3: ")
    assert await names(admin) == []
    assert await value(admin.store, "select count(*) from outbox_events") == 0


async def test_all_or_nothing_executes_all_lines(bulk: Bulk, admin: Client):
    operation, results = await bulk.mutate(admin, CREATE, [product(n) for n in range(1, 131)], all=True)
    assert (operation["state"], operation["object_count"]) == ("completed", 130)
    assert [result["line"] for result in results] == list(range(1, 131))
    assert len(await names(admin)) == 130


async def test_all_or_nothing_has_a_limit_of_lines(bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bulk_mutations, "MAX_ATOMIC_LINES", 5)
    operation, _ = await bulk.mutate(admin, CREATE, [product(n) for n in range(1, 8)], all=True)
    assert (operation["state"], operation["error_code"]) == ("failed", "TOO_LARGE")
    assert await names(admin) == []


# --- Resuming ---------------------------------------------------------------------------------------------------------


async def test_a_worker_that_takes_over_repeats_no_line(bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bulk_mutations, "BATCH_LINES", 10)
    created = await bulk.create_mutation(admin, CREATE, [product(n) for n in range(1, 36)])
    save_results = operations.save_results
    batches = []

    async def crash(*arguments: Any) -> Any:
        batches.append(1)
        if len(batches) == 3:
            raise ConnectionError("the worker is gone")
        return await save_results(*arguments)

    monkeypatch.setattr(operations, "save_results", crash)
    monkeypatch.setattr(operations, "end", _nothing)
    await bulk.work()
    assert len(await names(admin)) == 20
    monkeypatch.undo()
    monkeypatch.setattr(bulk_mutations, "BATCH_LINES", 10)
    await execute(admin.store, "update bulk_operations set due_at = now() - interval '1 second'")
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["object_count"]) == ("completed", 35)
    assert await names(admin) == [f"Caneca {n}" for n in range(1, 36)]
    assert [result["line"] for result in await bulk.results(admin, operation)] == list(range(1, 36))


async def _nothing(*arguments: Any, **options: Any) -> None:
    pass


async def test_a_batch_of_a_worker_that_lost_its_claim_is_rolled_back(
    bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch
):
    created = await bulk.create_mutation(admin, CREATE, [product(1), product(2)])
    save_results = operations.save_results

    async def lose(scope: Any, operation: Any, saved: Any) -> Any:
        from dataclasses import replace

        from kernel.ids import uuid7

        return await save_results(scope, replace(operation, claim=uuid7()), saved)

    monkeypatch.setattr(operations, "save_results", lose)
    await bulk.work()
    assert await names(admin) == []
    assert (await bulk.show(admin, created["id"]))["state"] == "running"


async def test_a_cancelled_mutation_stops_between_batches_and_keeps_its_results(
    bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bulk_mutations, "BATCH_LINES", 10)
    created = await bulk.create_mutation(admin, CREATE, [product(n) for n in range(1, 36)])
    check_rights = operations.check_rights

    async def cancel(*arguments: Any) -> None:
        await check_rights(*arguments)
        await bulk.cancel(admin, created["id"])

    monkeypatch.setattr(operations, "check_rights", cancel)
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["object_count"]) == ("cancelled", 10)
    assert len(await names(admin)) == 10
    assert [result["line"] for result in await bulk.results(admin, operation)] == list(range(1, 11))


async def test_withdrawn_rights_stop_a_mutation_between_batches(
    bulk: Bulk, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bulk_mutations, "BATCH_LINES", 10)
    editor = await new_client("manage_products")
    created = await bulk.create_mutation(editor, CREATE, [product(n) for n in range(1, 36)])
    save_results = operations.save_results

    async def withdraw(*arguments: Any) -> Any:
        await execute(editor.store, "update users set privileges = '{}' where id = $1", editor.user.number)
        return await save_results(*arguments)

    monkeypatch.setattr(operations, "save_results", withdraw)
    await bulk.work()
    operation = await bulk.show(editor, created["id"])
    assert (operation["state"], operation["error_code"], operation["object_count"]) == ("failed", "FORBIDDEN", 10)
    assert len(await names(editor)) == 10
    assert len(await bulk.results(editor, operation)) == 10


async def test_a_worker_that_stops_leaves_the_operation_to_the_next_at_once(
    bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch
):
    created = await interrupt(bulk, admin, monkeypatch, asyncio.CancelledError())
    assert await bulk.work() == 1
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["object_count"]) == ("completed", 20)


async def test_an_operation_that_can_not_go_on_has_the_result_of_the_lines_before(
    bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch
):
    created = await interrupt(bulk, admin, monkeypatch, Unavailable())
    await execute(admin.store, "update bulk_operations set due_at = now() - interval '1 second', tries = 3")
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["object_count"]) == ("failed", 10), operation
    assert operation["error_message"] == "the operation was interrupted 3 times"
    assert [result["line"] for result in await bulk.results(admin, operation)] == list(range(1, 11))


async def interrupt(bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> Any:
    """Create a mutation of 20 lines, and interrupt it after the first ten."""
    check_rights, batches = operations.check_rights, []

    async def stop(*arguments: Any) -> None:
        batches.append(1)
        if len(batches) == 2:
            raise error
        await check_rights(*arguments)

    created = await bulk.create_mutation(admin, CREATE, [product(n) for n in range(1, 21)])
    with monkeypatch.context() as patch:
        patch.setattr(bulk_mutations, "BATCH_LINES", 10)
        patch.setattr(operations, "check_rights", stop)
        try:
            await bulk.work()
        except asyncio.CancelledError:
            assert isinstance(error, asyncio.CancelledError)
    assert len(await names(admin)) == 10
    return created


async def test_cancelling_does_not_lose_the_result_that_is_being_written(
    bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch
):
    created = await bulk.create_mutation(admin, CREATE, [product(1)])
    complete = ResultFile.complete

    async def cancel_and_complete(file: ResultFile) -> None:
        await bulk.cancel(admin, created["id"])
        await asyncio.sleep(0.3)
        await complete(file)

    monkeypatch.setattr(ResultFile, "complete", cancel_and_complete)
    monkeypatch.setattr(operations, "LEASE", timedelta(seconds=0.4))
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], len(await bulk.results(admin, operation))) == ("completed", 1), operation


async def test_a_batch_ends_with_as_much_as_it_keeps_in_memory(
    bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch
):
    record = await add_product(admin.store, description="x" * 600)
    save_results, batches = operations.save_results, []

    async def save(scope: Any, operation: Any, saved: Any) -> Any:
        batches.append(saved.lines)
        return await save_results(scope, operation, saved)

    monkeypatch.setattr(operations, "save_results", save)
    monkeypatch.setattr(bulk_mutations, "BATCH_BYTES", 1_000)
    text = "mutation ($id: ID!) { product_update(id: $id, input: {}) { description } }"
    operation, results = await bulk.mutate(admin, text, [{"id": record.id}] * 3)
    assert (operation["state"], len(results), batches) == ("completed", 3, [2, 1])


async def test_a_line_with_too_large_lists_is_refused(bulk: Bulk, admin: Client):
    record = await add_product(admin.store)
    related = "related(first: $n) { related(first: $n) { related(first: $n) { id } } }"
    text = f"mutation ($id: ID!, $n: Int!) {{ product_update(id: $id, input: {{}}) {{ {related} }} }}"
    _, results = await bulk.mutate(admin, text, [{"id": record.id, "n": 100}, {"id": record.id, "n": 1}])
    assert results[0]["errors"][0]["extensions"]["code"] == "QUERY_TOO_COMPLEX"
    assert results[1]["data"] == {"product_update": {"related": []}}


# --- Who, and what is refused -----------------------------------------------------------------------------------------


async def test_an_app_writes_with_its_scopes(bulk: Bulk, new_app: NewApp):
    app = await new_app("write_products")
    record = await add_product(app.store)
    operation, results = await bulk.mutate(app, STOCK, [{"id": record.id, "stock": 7}])
    assert (operation["state"], results[0]["data"]) == ("completed", {"product_update": {"stock": 7}})


async def test_a_vendor_writes_its_own_products_only(bulk: Bulk, sample: Any):
    client = await sample.client(sample.vendor_user)
    own, other = await sample.add_product(), await sample.add_product(vendor_id=sample.rival.number)
    _, results = await bulk.mutate(client, STOCK, [{"id": own.id, "stock": 7}, {"id": other.id, "stock": 8}])
    assert results[0]["data"] == {"product_update": {"stock": 7}}
    assert results[1]["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_another_stores_records_are_not_found(bulk: Bulk, admin: Client, other_admin: Client):
    theirs = await add_product(other_admin.store)
    _, results = await bulk.mutate(admin, STOCK, [{"id": theirs.id, "stock": 7}])
    assert results[0]["errors"][0]["extensions"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    "mutation, message",
    [
        ("{ products { id } }", "mutation: expected a mutation, not a query"),
        ("mutation { product_delete(id: 1) { id } }", "mutation: a bulk mutation has variables"),
        (
            "mutation ($id: ID!) { a: product_delete(id: $id) { id } b: product_delete(id: $id) { id } }",
            "mutation: a bulk mutation has one root field",
        ),
        ("mutation ($id: ID!) { nothing(id: $id) }", "mutation: Cannot query field 'nothing'"),
        ("mutation ($id: ID!) { bulk_operation_cancel(id: $id) { id } }", "mutation: bulk_operation_cancel can't be executed in bulk"),
        (
            "mutation ($p: String!) { sign_in(identifier: $p, password: $p) { access_token } }",
            "mutation: sign_in can't be executed in bulk",
        ),
        ("mutation ($id: ID!) { session_end(id: $id) { id } }", "mutation: session_end can't be executed in bulk"),
        ("mutation ($x: Boolean!) { __typename @include(if: $x) }", "mutation: __typename can't be executed in bulk"),
        ("mutation ($id: ID!) { payment_cancel(payment_id: $id) { id } }", "mutation: payment_cancel can't be executed in bulk"),
        ("mutation ($i: CreditCheckInput!) { credit_check(input: $i) { score } }", "mutation: credit_check can't be executed in bulk"),
    ],
)  # fmt: skip
async def test_what_is_no_bulk_mutation_is_refused_at_once(bulk: Bulk, admin: Client, mutation: str, message: str):
    upload = await bulk.upload(admin, b"{}")
    error = await graphql_error(admin, CREATE_MUTATION, text=mutation, upload=upload, all=False)
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("VALIDATION_FAILED", "mutation"), error
    assert error["message"].startswith(message), error


async def test_what_the_caller_may_not_write_is_refused_at_once(bulk: Bulk, new_client: NewClient):
    clerk = await new_client("manage_users")
    upload = await bulk.upload(clerk, b"{}")
    error = await graphql_error(clerk, CREATE_MUTATION, text=CREATE, upload=upload, all=False)
    assert error["extensions"]["code"] == "FORBIDDEN"


async def test_an_upload_is_its_callers_alone(bulk: Bulk, admin: Client, other_admin: Client, new_app: NewApp):
    upload = await bulk.upload(admin, b"{}")
    for caller in (other_admin, await new_app()):
        error = await graphql_error(caller, CREATE_MUTATION, text=CREATE, upload=upload, all=False)
        assert error["extensions"]["details"]["fields"] == {"upload": "not_found"}, caller
    for unknown in ("x", "../../etc/passwd", "01a20470-18ea-7000-8000-000000000000", ""):
        error = await graphql_error(admin, CREATE_MUTATION, text=CREATE, upload=unknown, all=False)
        assert error["extensions"]["details"]["fields"] == {"upload": "not_found"}, unknown
