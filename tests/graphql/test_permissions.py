"""`permissions` says what each caller may do, by the rules that the operations are checked by."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import GraphQLNonNull, GraphQLObjectType

from auth.access import Access
from kernel.scope import Scope
from resolvers import root
from tests.harness.http import Client

QUERY = "{ permissions { privileges queries mutations refused_fields } }"


async def permissions(client: Client) -> dict[str, Any]:
    answer = await client.post("/graphql", {"query": QUERY})
    assert "errors" not in answer.body, answer.body
    result: dict[str, Any] = answer.body["data"]["permissions"]
    return result


async def test_an_administrator_reads_what_its_privileges_allow(new_client: Any) -> None:
    allowed = await permissions(await new_client("view_orders", "manage_products"))
    assert {"view_orders", "manage_products"} <= set(allowed["privileges"])
    assert {"order_page", "orders", "store", "me"} <= set(allowed["queries"])
    assert "vendor_dashboard" not in allowed["queries"]
    assert {"product_update", "sign_in"} <= set(allowed["mutations"])
    assert "order_update" not in allowed["mutations"]
    assert "User.cpf" in allowed["refused_fields"]
    assert "Order.ip_address" not in allowed["refused_fields"]


async def test_customers_and_vendors_have_no_privileges(new_client: Any) -> None:
    customer = await permissions(await new_client(user_type="C"))
    assert customer["privileges"] == []
    assert "cart_create" in customer["mutations"]
    assert {"product_delete", "order_set_status"}.isdisjoint(customer["mutations"])
    assert "Order.ip_address" in customer["refused_fields"]


async def test_a_module_that_is_off_is_left_out(new_client: Any) -> None:
    client = await new_client("manage_settings", "view_payments")
    assert "gateway_notification_page" in (await permissions(client))["queries"]
    body = {
        "query": "mutation($settings: JSON!) { store_settings_update(settings: $settings) { id } }",
        "variables": {"settings": {"payment_gateway": False}},
    }
    assert "errors" not in (await client.post("/graphql", body)).body
    assert "gateway_notification_page" not in (await permissions(client))["queries"]


async def test_a_rule_that_many_fields_have_is_checked_once(new_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Access] = []
    check = Access.allows

    def allows(rule: Access, scope: Scope) -> bool:
        checked.append(rule)
        return check(rule, scope)

    client = await new_client(user_type="C")
    monkeypatch.setattr(Access, "allows", allows)
    await permissions(client)
    assert len(checked) == len(set(checked)) > 50


@pytest.mark.parametrize("privileges", [(), ("view_orders",)], ids=["none", "orders"])
async def test_what_is_named_is_what_is_not_refused(new_client: Any, privileges: tuple[str, ...]) -> None:
    client = await new_client(*privileges)
    allowed = set((await permissions(client))["queries"])
    query_type = root.public_schema().query_type
    assert query_type is not None
    for name, field in query_type.fields.items():
        if not name.endswith("_page"):
            continue
        assert isinstance(field.type, GraphQLObjectType)
        assert not any(
            isinstance(argument.type, GraphQLNonNull) and argument.default_value is None
            for argument in field.args.values()
        )
        errors = (await client.post("/graphql", {"query": f"{{ {name}(per_page: 0) {{ page }} }}"})).body.get(
            "errors", []
        )
        assert [error["extensions"]["code"] for error in errors] == ([] if name in allowed else ["FORBIDDEN"]), name
