"""Bulk queries: what they read, whose rights they have, what is refused (docs/reference/bulk.md#bulk-queries)."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Coroutine
from contextvars import Context
from pathlib import Path
from typing import Any

import pytest

from auth.credential_cache import process_cache
from domain.bulk import operations
from models.connection import database
from resolvers import bulk_queries
from tests.bulk.conftest import Bulk
from tests.harness.clients import NewApp, NewClient
from tests.harness.http import Client
from tests.harness.oauth import UNINSTALL, graphql_result, issue_tokens, refresh_tokens, register_app
from tests.harness.records import add_category, add_product
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import execute, rows, system_scope, value

PRODUCTS = "{ products { id name price_cents created_at images { url } category { name } } }"


def by_id(records: list[Any]) -> dict[str, Any]:
    return {record["id"]: record for record in records}


async def meanwhile(work: Coroutine[Any, Any, Any]) -> Any:
    """Do something outside of the transaction of the operation that is running."""
    return await asyncio.create_task(work, context=Context())


async def add_products(client: Client, count: int) -> None:
    for _ in range(count):
        await add_product(client.store)


# --- What is read -----------------------------------------------------------------------------------------------------


async def test_a_list_is_read_to_its_end_in_the_form_of_graphql(bulk: Bulk, sample: SampleStore):
    client = await sample.client(sample.owner)
    for _ in range(120):
        await sample.add_product()
    lines = await bulk.result(client, PRODUCTS)
    expected = await graphql_result(client, PRODUCTS.replace("products", "products(limit: 200)"))
    assert len(lines) > 120
    assert by_id(lines) == by_id(expected)


async def test_a_connection_is_read_as_its_records(bulk: Bulk, sample: SampleStore):
    client = await sample.client(sample.owner)
    lines = await bulk.result(client, "{ product_connection { edges { node { id sku } } } }")
    assert by_id(lines) == by_id(await graphql_result(client, "{ products(limit: 1000) { id sku } }"))


async def test_filters_and_sorts_apply(bulk: Bulk, admin: Client):
    await add_products(admin, 3)
    await add_product(admin.store, status="H")
    query = "{{ {}(filter: {{status: [A]}}, sort: NAME_DESC{}) {{ id name }} }}"
    lines = await bulk.result(admin, query.format("products", ""))
    assert len(lines) == 3
    assert lines == await graphql_result(admin, query.format("products", ", limit: 1000"))


async def test_records_of_a_nested_connection_are_lines_with_the_id_of_their_parent(bulk: Bulk, admin: Client):
    shoes, hats = await add_category(admin.store, name="Calçados"), await add_category(admin.store, name="Chapéus")
    owners = {}
    for position in range(130):
        category = shoes if position % 2 else hats
        product = await add_product(admin.store)
        owners[product.id] = category.id
        await execute(
            admin.store,
            "insert into product_categories (tenant_id, public_id, product_id, category_id, position)"
            " values ($1, gen_random_uuid(), $2, $3, $4)",
            admin.store.id,
            product.number,
            category.number,
            1_000 - position,
        )
    lines = await bulk.result(
        admin, "{ categories { id name products { edges { node { id } } page_info { end_cursor } } } }"
    )
    parents = {line["id"]: line for line in lines if "__parentId" not in line}
    children = [line for line in lines if "__parentId" in line]
    assert {line["name"] for line in parents.values()} == {"Calçados", "Chapéus"}
    assert all(set(line) == {"id", "name"} for line in parents.values())
    assert {line["id"]: line["__parentId"] for line in children} == owners
    # In the order of the connection, and after their parents.
    assert [line["id"] for line in children] == list(reversed(owners))
    first_child = next(index for index, line in enumerate(lines) if "__parentId" in line)
    assert all("__parentId" in line for line in lines[first_child:])
    operation = (await graphql_result(admin, "{ bulk_operations { object_count root_object_count } }"))[0]
    assert operation == {"object_count": 132, "root_object_count": 2}


async def test_filters_of_nested_connections_apply(bulk: Bulk, sample: SampleStore):
    client = await sample.client(sample.owner)
    lines = await bulk.result(
        client,
        '{ users { id orders(filter: {status: ["O"]}, sort: CREATED_AT_DESC) { edges { node { id number status } } } } }',
    )
    orders = [line for line in lines if "__parentId" in line]
    expected = await graphql_result(client, '{ orders(filter: {status: ["O"]}, limit: 100) { id user { id } } }')
    assert orders
    assert {order["id"]: order["__parentId"] for order in orders} == {
        order["id"]: order["user"]["id"] for order in expected if order["user"]
    }


async def test_several_root_fields_are_read_in_one_snapshot(bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch):
    await add_products(admin, 60)
    await add_category(admin.store, name="Antes")

    async def changing(*arguments: Any) -> None:
        # Between the parts of the first field another transaction commits.
        await meanwhile(add_category(admin.store, name="Depois"))
        await meanwhile(add_product(admin.store))

    monkeypatch.setattr(bulk_queries, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr(operations, "check_rights", changing)
    lines = await bulk.result(admin, "{ products { __typename id } categories { __typename name } }")
    assert [line["__typename"] for line in lines] == ["Product"] * 60 + ["Category"]
    assert await value(admin.store, "select count(*) from products") > 60


async def test_a_part_takes_the_same_number_of_statements_whatever_its_size(bulk: Bulk, admin: Client):
    query = "{ products { id images { url } category { id name parent { id name } } features { value } } }"

    async def statements() -> int:
        await bulk.create(admin, query)
        with database.count_statements() as counted:
            await bulk.work()
        return counted.count

    await add_products(admin, 2)
    await statements()
    few = await statements()
    await add_products(admin, 46)
    assert await statements() == few


async def test_a_record_that_is_too_large_for_its_part_is_read_apart(
    bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch
):
    from models.reading import bulk_reads
    from models.reading.answer_size import AnswerLimits

    await add_products(admin, 20)
    monkeypatch.setattr(bulk_reads, "RECORD_LIMITS", AnswerLimits(max_objects=3, max_bytes=10_000))
    assert len(await bulk.result(admin, "{ products { id name } }")) == 20
    monkeypatch.setattr(bulk_reads, "RECORD_LIMITS", AnswerLimits(max_objects=0, max_bytes=10_000))
    created = await bulk.create(admin, "{ products { id name } }")
    await bulk.work()
    assert (await bulk.show(admin, created["id"]))["error_code"] == "QUERY_TOO_COMPLEX"


# --- Who reads --------------------------------------------------------------------------------------------------------


async def test_every_caller_reads_what_its_lists_show(bulk: Bulk, sample: SampleStore):
    for user in (sample.owner, sample.staff, sample.vendor_user):
        client = await sample.client(user)
        lines = await bulk.result(client, "{ orders { id total_cents items { product_id } } }")
        expected = await graphql_result(client, "{ orders(limit: 50) { id total_cents items { product_id } } }")
        assert by_id(lines) == by_id(expected), user
        assert lines, user


async def test_an_app_reads_with_its_scopes(bulk: Bulk, new_app: NewApp):
    app = await new_app("read_products")
    await add_product(app.store)
    assert len(await bulk.result(app, "{ products { id } }")) == 1
    error = await bulk.refusal(app, "{ orders { id } }")
    assert (error["extensions"]["code"], error["extensions"]["details"]["scope"]) == ("FORBIDDEN", "read_orders")


@pytest.mark.parametrize(
    "query",
    [
        "{ users { id } }",
        "{ orders { id user { id point_entries { id } } } }",
        "{ orders { id payment_method { processor } } }",
    ],
    ids=["root field", "relation", "field"],
)
async def test_what_the_caller_may_not_read_is_refused_at_once(bulk: Bulk, new_client: NewClient, query: str):
    clerk = await new_client("view_orders")
    assert (await bulk.refusal(clerk, query))["extensions"]["code"] == "FORBIDDEN"
    assert await value(clerk.store, "select count(*) from bulk_operations") == 0


async def test_customers_and_storefront_keys_have_no_bulk_operations(
    bulk: Bulk, new_client: NewClient, storefront: Any
):
    customer = await new_client(user_type="C")
    key = Client(storefront.sample.http, storefront.sample.store, {"X-API-Key": storefront.key})
    for caller in (customer, key):
        assert (await bulk.refusal(caller, "{ products { id } }"))["extensions"]["code"] == "FORBIDDEN"


async def test_operations_and_their_results_are_seen_by_their_caller_alone(
    bulk: Bulk, admin: Client, other_admin: Client, new_client: NewClient, new_app: NewApp
):
    created = await bulk.create(admin, "{ products { id } }")
    app = await new_app()
    for stranger in (other_admin, await new_client("view_catalog"), app):
        assert await bulk.show(stranger, created["id"]) is None
        assert await graphql_result(stranger, "{ bulk_operations { id } }") == []
        body = (
            await stranger.post(
                "/graphql", {"query": 'mutation {{ bulk_operation_cancel(id: "{}") {{ id }} }}'.format(created["id"])}
            )
        ).body
        assert body["errors"][0]["extensions"]["code"] == "NOT_FOUND", stranger
    await bulk.work()
    assert (await bulk.show(admin, created["id"]))["state"] == "completed"


async def test_another_stores_records_are_not_read(bulk: Bulk, sample: SampleStore, other_sample: SampleStore):
    client = await sample.client(sample.owner)
    await other_sample.add_product(name="Alheia")
    lines = await bulk.result(client, "{ products { id name } }")
    assert {line["id"] for line in lines} == {
        str(row["public_id"]) for row in await sample.rows("select public_id from products where deleted_at is null")
    }


async def test_withdrawn_rights_stop_an_operation_that_has_not_begun(bulk: Bulk, new_client: NewClient):
    clerk = await new_client("view_orders")
    created = await bulk.create(clerk, "{ orders { id } }")
    await execute(clerk.store, "update users set privileges = '{}' where id = $1", clerk.user.number)
    await bulk.work()
    rows_ = await rows(clerk.store, "select state, error_code from bulk_operations")
    assert [tuple(row) for row in rows_] == [("failed", "FORBIDDEN")]
    assert not list(bulk.folder.rglob(f"{created['id']}*"))


async def test_rights_that_a_query_does_not_need_stop_it_too(bulk: Bulk, new_client: NewClient):
    clerk = await new_client("view_orders", "view_products")
    created = await bulk.create(clerk, "{ products { id } }")
    await execute(clerk.store, "update users set privileges = '{view_products}' where id = $1", clerk.user.number)
    await bulk.work()
    operation = await bulk.show(clerk, created["id"])
    assert (operation["state"], operation["error_message"]) == ("failed", "rights of the caller were withdrawn")


async def test_a_token_with_fewer_scopes_than_an_operation_gets_no_link_to_its_result(bulk: Bulk, admin: Client):
    app = await register_app(admin, scopes=["read_orders", "read_products"])
    tokens = await issue_tokens(admin, app, ["read_orders", "read_products"])
    narrow = await refresh_tokens(admin, tokens["refresh_token"], scope="read_products")
    wide, caller = (admin.with_token(each["access_token"]) for each in (tokens, narrow.body))
    of_all = await bulk.create(wide, "{ orders { id } }")
    assert await bulk.work() == 1
    of_products = await bulk.create(caller, "{ products { id } }")
    assert await bulk.work() == 1
    for client, operation, has_link in (
        (wide, of_all, True),
        (wide, of_products, True),
        (caller, of_all, False),
        (caller, of_products, True),
    ):
        shown = await bulk.show(client, operation["id"])
        assert shown["state"] == "completed", operation
        assert (shown["result"] is not None) is has_link, operation


async def test_a_user_who_lost_rights_gets_no_link_to_the_result_of_before(bulk: Bulk, new_client: NewClient):
    clerk = await new_client("view_orders", "view_products")
    created = await bulk.create(clerk, "{ orders { id } }")
    await bulk.work()
    for privileges, has_link in (("view_orders,view_products,view_users", True), ("view_products", False)):
        await execute(clerk.store, f"update users set privileges = '{{{privileges}}}' where id = $1", clerk.user.number)
        process_cache().clear()
        shown = await bulk.show(clerk, created["id"])
        assert (shown["state"], shown["result"] is not None) == ("completed", has_link), privileges


async def test_a_vendors_user_gets_no_link_to_the_result_of_another_vendor(bulk: Bulk, sample: SampleStore):
    vendor = await sample.client(sample.vendor_user)
    created = await bulk.create(vendor, "{ products { id } }")
    await bulk.work()
    assert (await bulk.show(vendor, created["id"]))["result"] is not None
    await sample.execute(
        "update users set vendor_id = $2 where id = $1", sample.vendor_user.number, sample.rival.number
    )
    process_cache().clear()
    assert (await bulk.show(vendor, created["id"]))["result"] is None


async def test_a_removed_app_reads_nothing_more(bulk: Bulk, admin: Client, new_app: NewApp):
    app = await new_app()
    await bulk.create(app, "{ products { id } }")
    installed = (await graphql_result(admin, "{ installed_apps { id } }"))[0]
    await graphql_result(admin, UNINSTALL, id=installed["id"])
    await bulk.work()
    states = await rows(admin.store, "select state, error_code, error_message from bulk_operations")
    assert [tuple(row) for row in states] == [("failed", "FORBIDDEN", "token revoked: app removed")]


async def test_withdrawn_rights_stop_a_running_operation(
    bulk: Bulk, admin: Client, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
):
    clerk = await new_client("view_orders", "view_products")
    await add_products(clerk, 60)
    created = await bulk.create(clerk, "{ products { id } }")
    report = operations.report

    async def withdraw(*arguments: Any) -> None:
        await report(*arguments)
        sql = "update users set privileges = '{view_products}' where id = $1"
        await meanwhile(execute(clerk.store, sql, clerk.user.number))

    monkeypatch.setattr(bulk_queries, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr(operations, "report", withdraw)
    await bulk.work()
    operation = await bulk.show(clerk, created["id"])
    assert (operation["state"], operation["error_code"]) == ("failed", "FORBIDDEN")
    assert operation["error_message"] == "rights of the caller were withdrawn"
    assert operation["result"] is None
    assert not list(bulk.folder.rglob("*.*"))


# --- What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query, message",
    [
        ("mutation { product_delete(id: 1) { id } }", "query: expected a query, not a mutation"),
        ("query A { products { id } } query B { products { id } }", "query: expected one operation, not 2"),
        ("{ product(id: 1) { id } }", "query: product is not a list or connection of records"),
        ("{ product_page { items { id } } }", "query: product_page is not a list or connection of records"),
        ("{ me { id } }", "query: me is not a list or connection of records"),
        ("{ __typename }", "query: __typename is not a list or connection of records"),
        ("{ products { nothing } }", "query: Cannot query field 'nothing' on type 'Product'."),
        ("{ products {", "query: Syntax Error"),
        ("fragment F on Product { id }", "query: "),
        ("query ($n: Int) { products { id } }", "query: "),
        ("query ($ids: [ID!]) { products(filter: {id: $ids}) { id } }", "query: a bulk query has no variables"),
        ("{ products(limit: 10) { id } }", "query: a bulk query reads all records"),
        ("{ products(offset: 10) { id } }", "query: a bulk query reads all records"),
        ("{ products(limit: 9999) { id } }", "query: limit is 9999; expected 0 to 1000"),
        ("{ products { id related(first: 101) { id } } }", "query: first is 101; expected 1 to 100"),
        ("{ categories { id products(first: 101) { edges { node { id } } } } }", "query: first is 101; expected 0 to 100"),
        ("{ product_connection(last: 5) { edges { node { id } } } }", "query: a bulk query reads all records"),
        ("{ product_connection { page_info { has_next_page } } }", "query: product_connection selects no records"),
        ("{ categories { id products(first: 5) { edges { node { id } } } } }", "query: a bulk query reads all records"),
        ("{ categories { products { edges { node { id } } } } }", "query: select the id of categories"),
        ("{ categories { id: slug products { edges { node { id } } } } }", "query: select the id of categories"),
        ("{ categories { id products { page_info { end_cursor } } } }", "query: products selects no records"),
        (
            "{ products { id category { id products { edges { node { id } } } } } }",
            "query: the connection products is nested too deep",
        ),
        (
            "{ categories { id products { edges { node { category { products { page_info { end_cursor } } } } } } } }",
            "query: the connection products is nested too deep",
        ),
        ("{ payment_methods { id processor_params } }", "query: payment_methods has a field that can't be read in bulk"),
        ("{ " + " ".join(f"a{n}: products {{ id }}" for n in range(6)) + " }", "query: a bulk query has 1 to 5 root fields, not 6"),
        ("", "query: "),
        ("{ products(filter: {search: \"\\u0000\"}) { id } }", "a string must not hold NUL"),
    ],
)  # fmt: skip
async def test_what_is_no_bulk_query_is_refused_at_once(bulk: Bulk, admin: Client, query: str, message: str):
    error = await bulk.refusal(admin, query)
    assert error["extensions"]["code"] == "VALIDATION_FAILED", error
    assert error["message"].startswith(message), error
    assert await value(admin.store, "select count(*) from bulk_operations") == 0


async def test_a_caller_has_one_bulk_query_at_a_time(bulk: Bulk, admin: Client, new_app: NewApp):
    await bulk.create(admin, "{ products { id } }")
    error = await bulk.refusal(admin, "{ products { id } }")
    assert error["extensions"]["code"] == "CONFLICT"
    assert error["extensions"]["details"]["reason"] == "bulk_operation_running"
    await bulk.create(await new_app(), "{ products { id } }")
    assert await bulk.work() == 2
    await bulk.create(admin, "{ products { id } }")
    await bulk.work()


# --- Its life ---------------------------------------------------------------------------------------------------------


async def test_an_operation_that_has_not_begun_is_cancelled_at_once(bulk: Bulk, admin: Client):
    created = await bulk.create(admin, "{ products { id } }")
    assert (await bulk.cancel(admin, created["id"]))["state"] == "cancelled"
    assert await bulk.work() == 0
    assert (await bulk.cancel(admin, created["id"]))["state"] == "cancelled"


async def test_a_running_operation_stops_when_it_is_cancelled(
    bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch
):
    await add_products(admin, 60)
    created = await bulk.create(admin, "{ products { id } }")
    check_rights = operations.check_rights

    async def cancel(*arguments: Any) -> None:
        await check_rights(*arguments)
        assert (await meanwhile(bulk.cancel(admin, created["id"])))["state"] == "cancelling"

    monkeypatch.setattr(bulk_queries, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr(operations, "check_rights", cancel)
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["result"]) == ("cancelled", None)
    assert not list(bulk.folder.rglob("*.*"))
    await bulk.create(admin, "{ products { id } }")


async def test_a_worker_that_lost_its_claim_leaves_the_operation_alone(
    bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch
):
    await add_products(admin, 60)
    created = await bulk.create(admin, "{ products { id } }")
    check_rights = operations.check_rights
    taken_over: list[Any] = []

    async def take_over(*arguments: Any) -> None:
        await check_rights(*arguments)
        if not taken_over:
            await meanwhile(execute(admin.store, "update bulk_operations set due_at = now() - interval '1 second'"))
            taken_over.append(await operations.claim())

    monkeypatch.setattr(bulk_queries, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr(operations, "check_rights", take_over)
    await bulk.work()
    assert (await bulk.show(admin, created["id"]))["state"] == "running"
    await execute(admin.store, "update bulk_operations set due_at = now() - interval '1 second'")
    await bulk.work()
    assert (await bulk.show(admin, created["id"]))["object_count"] == 60


async def test_an_operation_that_is_interrupted_again_and_again_fails(bulk: Bulk, admin: Client):
    created = await bulk.create(admin, "{ products { id } }")
    for repetition in range(operations.MAX_TRIES):
        assert await operations.claim() is not None, repetition
        await execute(admin.store, "update bulk_operations set due_at = now() - interval '1 second'")
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["error_message"]) == ("failed", "the operation was interrupted 3 times")


async def test_results_are_deleted_with_their_operation_after_seven_days(bulk: Bulk, admin: Client):
    from domain.jobs import delete_expired_data

    created = await bulk.create(admin, "{ products { id } }")
    await bulk.work()
    await delete_expired_data(system_scope(admin.store))
    assert (await bulk.show(admin, created["id"]))["state"] == "completed"
    assert len(list(bulk.folder.rglob("*.*"))) == 2
    await execute(admin.store, "update bulk_operations set expires_at = now() - interval '1 second'")
    await delete_expired_data(system_scope(admin.store))
    assert await bulk.show(admin, created["id"]) is None
    assert not list(bulk.folder.rglob("*.*"))


async def test_a_full_disk_fails_the_operation(bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", fail)
    created = await bulk.create(admin, "{ products { id } }")
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["error_code"]) == ("failed", "STORAGE_FULL")
