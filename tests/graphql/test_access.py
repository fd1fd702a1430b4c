"""Every kind of caller sees exactly what the access rules of the schema allow, and nothing of another store."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import GraphQLObjectType, get_named_type

from auth.access import Access
from models.connection import database
from resolvers import root
from schema.fields import ACCESS, entity_of, field_source, strawberry_field
from tests.graphql.conftest import ExecuteQuery, StoreRecords
from tests.graphql.full_selections import full_selection, list_fields, result_fields, single_record_fields
from tests.harness.scopes import is_allowed

SCHEMA = root.public_schema()
CALLERS = [
    "admin", "clerk", "admin_without_privileges", "vendor", "customer", "app", "app_without",
    "storefront", "storefront_without", "anonymous",
]  # fmt: skip


def _access(name: str) -> Access:
    assert SCHEMA.query_type is not None
    declared = strawberry_field(SCHEMA.query_type.fields[name])
    assert declared is not None
    access: Access = declared.metadata[ACCESS]
    return access


def _refused_fields(name: str, scope: Any) -> set[str]:
    """Return the fields of the root field's type that the caller must not see."""
    assert SCHEMA.query_type is not None
    type_ = get_named_type(SCHEMA.query_type.fields[name].type)
    assert isinstance(type_, GraphQLObjectType)
    refused = set()
    for key, field in type_.fields.items():
        guard = getattr(field_source(field), "guard", None)
        entity = (
            entity_of(get_named_type(field.type)) if isinstance(get_named_type(field.type), GraphQLObjectType) else None
        )
        hidden = entity is not None and not is_allowed(entity.visible.access, scope)  # type: ignore[attr-defined]
        if (guard is not None and not is_allowed(guard, scope)) or hidden:
            refused.add(key)
    return refused


@pytest.mark.parametrize("name", list_fields(SCHEMA))
async def test_a_list_is_available_to_the_callers_of_its_access_rule(
    name: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    query = f"{{ {name} {{ {full_selection(SCHEMA, name, 1)} }} }}"
    for caller in CALLERS:
        scope = records.callers[caller]
        answer = await execute_query(scope, query)
        if not is_allowed(_access(name), scope):
            assert answer.data == {name: None}, caller
            assert answer.codes() == ["UNAUTHENTICATED" if caller == "anonymous" else "FORBIDDEN"], caller
            continue
        assert answer.data is not None, caller
        refused, hidden = {error["path"][-1] for error in answer.errors}, _refused_fields(name, scope)
        assert set(answer.codes()) <= {"FORBIDDEN"}, caller
        if answer.data[name]:
            assert hidden - refused <= {key for key in hidden if key not in answer.data[name][0]}, caller
        assert refused <= hidden, caller
        for row in answer.data[name]:
            assert all(row.get(key) is None for key in hidden), caller


@pytest.mark.parametrize("name", result_fields(SCHEMA))
async def test_everything_of_a_result_can_be_selected(
    name: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    answer = await execute_query(records.callers["admin"], f"{{ {name} {{ {full_selection(SCHEMA, name, 3)} }} }}")
    assert answer.data is not None
    assert "INTERNAL" not in answer.codes()


@pytest.mark.parametrize("name", single_record_fields(SCHEMA))
async def test_an_administrator_with_all_privileges_sees_everything(
    name: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    answer = await execute_query(
        records.callers["admin"],
        f"query ($id: ID!) {{ {name}(id: $id) {{ {full_selection(SCHEMA, name, 2)} }} }}",
        id=records.ids[name],
    )
    assert answer.errors == []
    assert str(answer.data[name]["id"]) == records.ids[name]


@pytest.mark.parametrize("name", single_record_fields(SCHEMA))
async def test_another_stores_record_is_absent(
    name: str, records: StoreRecords, other_records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    for caller in ("admin", "vendor", "customer", "app", "storefront"):
        scope = records.callers[caller]
        if is_allowed(_access(name), scope):
            # The stores number their records alike.
            for foreign in {other_records.ids[name], str(other_records.numbers.get(name, 10**15))} - {
                records.ids[name]
            }:
                answer = await execute_query(scope, f"query ($id: ID!) {{ {name}(id: $id) {{ id }} }}", id=foreign)
                assert (answer.data, answer.errors) == ({name: None}, []), (caller, foreign)


@pytest.mark.parametrize("name", list_fields(SCHEMA))
async def test_a_list_never_shows_another_stores_rows(
    name: str, records: StoreRecords, other_records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    assert SCHEMA.query_type is not None
    if "id" not in get_named_type(SCHEMA.query_type.fields[name].type).fields:
        pytest.skip("its rows have no id")
    answer = await execute_query(records.callers["admin"], f"{{ {name} {{ id }} }}")
    shown = {row["id"] for row in answer.data[name]}
    assert shown.isdisjoint(other_records.ids.values())


@pytest.mark.parametrize("malformed", ["", "x", "0", "-1", "1.5", "9" * 30, "00000000-0000-0000-0000-00000000000"])
async def test_a_malformed_id_is_an_absent_record(
    malformed: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    answer = await execute_query(
        records.callers["admin"],
        "query ($id: ID!) { product(id: $id) { id } order(id: $id) { id } }",
        id=malformed,
    )
    assert (answer.data, answer.errors) == ({"product": None, "order": None}, [])


async def test_a_customer_sees_only_active_products_on_every_path(
    records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    for caller in ("customer", "storefront"):
        answer = await execute_query(
            records.callers[caller],
            "{ products { name } product_page { total } categories { name products { edges { node { name } } } } }",
        )
        assert answer.errors == [], caller
        assert [row["name"] for row in answer.data["products"]] == ["Caneca de Ágata"], caller
        assert answer.data["product_page"]["total"] == 1, caller
        assert "Oculta" not in [row["name"] for row in answer.data["categories"]], caller
        products = [edge["node"]["name"] for row in answer.data["categories"] for edge in row["products"]["edges"]]
        assert set(products) <= {"Caneca de Ágata"}, caller


async def test_a_customer_sees_only_their_own_orders_and_account(
    records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    customer = records.callers["customer"]
    answer = await execute_query(customer, "{ orders { id customer { name } } users { id cpf } }")
    assert [row["id"] for row in answer.data["orders"]] == [records.ids["order"]]
    assert [row["id"] for row in answer.data["users"]] == [records.ids["customer"]]
    assert answer.data["users"][0]["cpf"] == "52998224725"
    foreign = await execute_query(customer, "query ($id: ID!) { order(id: $id) { id } }", id=records.ids["mixed_order"])
    assert foreign.data == {"order": None}


async def test_a_vendor_sees_its_own_lines_and_total_of_a_multi_vendor_order(
    records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    answer = await execute_query(
        records.callers["vendor"],
        "query ($id: ID!) { order(id: $id) { total_cents subtotal_cents items { name vendor { id } } shipments { id } } }",
        id=records.ids["mixed_order"],
    )
    assert answer.errors == []
    assert answer.data["order"]["total_cents"] == 4990
    assert [line["name"] for line in answer.data["order"]["items"]] == ["Caneca de Ágata"]
    # The only shipment of that order contains a line of the other vendor.
    assert answer.data["order"]["shipments"] == []


async def test_a_vendor_sees_no_tracking_code_and_quote_of_other_vendors(
    records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    order = records.ids["mixed_order"]
    text = """query ($id: ID!) { order(id: $id) { tracking_code shipping_quote { price_cents } }
        orders(filter: {search: "BR123"}, sort: TRACKING_CODE_DESC) { id } }"""
    await records.execute("UPDATE shipments SET tracking_number = 'BR123'")
    await records.execute(
        """UPDATE orders SET tracking_code = 'BR123', shipping_quote = '{"price_cents": 990}' WHERE vendor_id IS NULL"""
    )

    async def sees(caller: str) -> tuple[Any, ...]:
        answer = await execute_query(records.callers[caller], text, id=order)
        assert answer.errors == []
        record = answer.data["order"]
        is_found = order in [each["id"] for each in answer.data["orders"]]
        return record["tracking_code"], record["shipping_quote"]["price_cents"], is_found

    assert await sees("admin") == ("BR123", 990, True)
    assert await sees("vendor") == (None, None, False)
    # A shipment with a line of its own.
    await records.execute(
        "UPDATE shipment_lines s SET order_line_id = o.id FROM order_lines l JOIN order_lines o ON o.order_id = l.order_id"
        " WHERE l.id = s.order_line_id AND o.vendor_id = $1",
        records.numbers["vendor"],
    )
    assert await sees("vendor") == ("BR123", None, True)


async def test_the_customer_of_an_order_is_readable_without_access_to_users(
    records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    clerk = records.callers["clerk"]
    answer = await execute_query(
        clerk,
        "query ($id: ID!) { order(id: $id) { customer { id name email } user { id } } }",
        id=records.ids["order"],
    )
    assert answer.data["order"]["customer"] == {
        "id": records.ids["customer"], "name": "Caio", "email": "caio@example.com",
    }  # fmt: skip
    assert answer.data["order"]["user"] is None
    assert [error["path"] for error in answer.errors] == [["order", "user"]]


@pytest.mark.parametrize("name", list_fields(SCHEMA))
async def test_lists_cause_no_n_plus_1_statements(
    name: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    text = (
        f"query ($n: Int!) {{ {name}(limit: $n) {{ {full_selection(SCHEMA, name, 2)} }} }}"
        if _has_limit(name)
        else None
    )
    if text is None:
        pytest.skip("not a list of records")
    counts = []
    for size in (1, 20):
        with database.count_statements() as counted:
            answer = await execute_query(records.callers["admin"], text, n=size)
        assert answer.errors == [], size
        counts.append(counted.count)
    relations = text.count("{") - 2
    assert counts[0] <= counts[1] <= 1 + relations


def _has_limit(name: str) -> bool:
    assert SCHEMA.query_type is not None
    return "limit" in SCHEMA.query_type.fields[name].args
