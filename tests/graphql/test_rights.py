"""Every kind of caller walks the whole schema and sees what it declares, and nothing of another store."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import GraphQLObjectType, get_named_type

from auth.access import Access
from models import database
from resolvers import root
from schema.fields import ACCESS, declared_field, entity_of, source_of
from tests.graphql.conftest import Ask, Filled
from tests.graphql.walk import lists, selected, singles

SCHEMA = root.public_schema()
CALLERS = [
    "admin", "clerk", "nobody_admin", "vendor", "customer", "app", "app_without", "storefront", "storefront_without", "anonymous",
]  # fmt: skip


def _access(name: str) -> Access:
    assert SCHEMA.query_type is not None
    declared = declared_field(SCHEMA.query_type.fields[name])
    assert declared is not None
    access: Access = declared.metadata[ACCESS]
    return access


def _refused_fields(name: str, scope: Any) -> set[str]:
    """Give the fields of the root field's type that the caller must not see."""
    assert SCHEMA.query_type is not None
    type_ = get_named_type(SCHEMA.query_type.fields[name].type)
    assert isinstance(type_, GraphQLObjectType)
    refused = set()
    for key, field in type_.fields.items():
        guard = getattr(source_of(field), "guard", None)
        entity = (
            entity_of(get_named_type(field.type))
            if isinstance(get_named_type(field.type), GraphQLObjectType)
            else None
        )
        hidden = entity is not None and not entity.visible.access.allows(scope)  # type: ignore[attr-defined]
        if (guard is not None and not guard.allows(scope)) or hidden:
            refused.add(key)
    return refused


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("name", lists(SCHEMA))
async def test_a_list_is_open_to_those_it_declares(name: str, caller: str, filled: Filled, ask: Ask) -> None:
    scope = filled.callers[caller]
    answer = await ask(scope, f"{{ {name} {{ {selected(SCHEMA, name, 1)} }} }}")
    if not _access(name).allows(scope):
        assert answer.data is None
        assert answer.codes() == ["UNAUTHENTICATED" if caller == "anonymous" else "FORBIDDEN"]
        return
    assert answer.data is not None
    refused = {error["path"][-1] for error in answer.errors}
    assert set(answer.codes()) <= {"FORBIDDEN"}
    if answer.data[name]:
        assert _refused_fields(name, scope) - refused <= {
            key for key in _refused_fields(name, scope) if key not in answer.data[name][0]
        }
    assert refused <= _refused_fields(name, scope)
    for row in answer.data[name]:
        assert all(row.get(key) is None for key in _refused_fields(name, scope))


@pytest.mark.parametrize("name", singles(SCHEMA))
async def test_an_administrator_with_all_privileges_sees_everything(
    name: str, filled: Filled, ask: Ask
) -> None:
    answer = await ask(
        filled.callers["admin"],
        f"query ($id: ID!) {{ {name}(id: $id) {{ {selected(SCHEMA, name, 2)} }} }}",
        id=filled.ids[name],
    )
    assert answer.errors == []
    assert str(answer.data[name]["id"]) == filled.ids[name]


@pytest.mark.parametrize("name", singles(SCHEMA))
async def test_another_stores_record_is_absent(
    name: str, filled: Filled, other_filled: Filled, ask: Ask
) -> None:
    for caller in ("admin", "vendor", "customer", "app", "storefront"):
        scope = filled.callers[caller]
        if _access(name).allows(scope):
            for foreign in (other_filled.ids[name], str(other_filled.numbers.get(name, 10**15))):
                answer = await ask(scope, f"query ($id: ID!) {{ {name}(id: $id) {{ id }} }}", id=foreign)
                assert (answer.data, answer.errors) == ({name: None}, [])


@pytest.mark.parametrize("name", lists(SCHEMA))
async def test_a_list_never_shows_another_stores_rows(
    name: str, filled: Filled, other_filled: Filled, ask: Ask
) -> None:
    assert SCHEMA.query_type is not None
    if "id" not in get_named_type(SCHEMA.query_type.fields[name].type).fields:
        pytest.skip("its rows have no id")
    answer = await ask(filled.callers["admin"], f"{{ {name} {{ id }} }}")
    shown = {row["id"] for row in answer.data[name]}
    assert shown.isdisjoint(other_filled.ids.values())


@pytest.mark.parametrize(
    "malformed", ["", "x", "0", "-1", "1.5", "9" * 30, "00000000-0000-0000-0000-00000000000"]
)
async def test_a_malformed_id_is_an_absent_record(malformed: str, filled: Filled, ask: Ask) -> None:
    answer = await ask(
        filled.callers["admin"],
        "query ($id: ID!) { product(id: $id) { id } order(id: $id) { id } }",
        id=malformed,
    )
    assert (answer.data, answer.errors) == ({"product": None, "order": None}, [])


async def test_a_shopper_sees_active_products_only_and_the_same_through_every_path(
    filled: Filled, ask: Ask
) -> None:
    for caller in ("customer", "storefront"):
        answer = await ask(
            filled.callers[caller],
            "{ products { name } product_page { total } categories { name products { name } } }",
        )
        assert answer.errors == []
        assert [row["name"] for row in answer.data["products"]] == ["Caneca de Ágata"]
        assert answer.data["product_page"]["total"] == 1
        assert "Oculta" not in [row["name"] for row in answer.data["categories"]]


async def test_a_customer_sees_own_orders_and_own_account_only(filled: Filled, ask: Ask) -> None:
    customer = filled.callers["customer"]
    answer = await ask(customer, "{ orders { id customer { name } } users { id cpf } }")
    assert [row["id"] for row in answer.data["orders"]] == [filled.ids["order"]]
    assert [row["id"] for row in answer.data["users"]] == [filled.ids["customer"]]
    assert answer.data["users"][0]["cpf"] == "52998224725"
    foreign = await ask(customer, "query ($id: ID!) { order(id: $id) { id } }", id=filled.ids["mixed_order"])
    assert foreign.data == {"order": None}


async def test_a_vendor_sees_of_a_shared_order_its_own_lines_and_their_sum(filled: Filled, ask: Ask) -> None:
    answer = await ask(
        filled.callers["vendor"],
        "query ($id: ID!) { order(id: $id) { total_cents subtotal_cents items { name vendor { id } } shipments { id } } }",
        id=filled.ids["mixed_order"],
    )
    assert answer.errors == []
    assert answer.data["order"]["total_cents"] == 4990
    assert [line["name"] for line in answer.data["order"]["items"]] == ["Caneca de Ágata"]
    # The only parcel of that order holds a line of the other vendor.
    assert answer.data["order"]["shipments"] == []


async def test_an_order_shows_its_customer_under_its_own_right(filled: Filled, ask: Ask) -> None:
    clerk = filled.callers["clerk"]
    answer = await ask(
        clerk,
        "query ($id: ID!) { order(id: $id) { customer { id name email } user { id } } }",
        id=filled.ids["order"],
    )
    assert answer.data["order"]["customer"] == {
        "id": filled.ids["customer"], "name": "Caio", "email": "caio@example.com",
    }  # fmt: skip
    assert answer.data["order"]["user"] is None
    assert [error["path"] for error in answer.errors] == [["order", "user"]]


@pytest.mark.parametrize("name", lists(SCHEMA))
async def test_statements_do_not_grow_with_the_rows(name: str, filled: Filled, ask: Ask) -> None:
    text = (
        f"query ($n: Int!) {{ {name}(limit: $n) {{ {selected(SCHEMA, name, 2)} }} }}"
        if _has_limit(name)
        else None
    )
    if text is None:
        pytest.skip("not a list of records")
    counts = []
    for size in (1, 20):
        with database.counting() as counted:
            answer = await ask(filled.callers["admin"], text, n=size)
        assert answer.errors == []
        counts.append(counted.count)
    relations = text.count("{") - 2
    assert counts[0] <= counts[1] <= 1 + relations


def _has_limit(name: str) -> bool:
    assert SCHEMA.query_type is not None
    return "limit" in SCHEMA.query_type.fields[name].args
