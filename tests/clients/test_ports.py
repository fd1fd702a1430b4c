"""What the storefronts of other platforms ask for is one operation each: whole records, the demo store's data, generated types.

`ports/*.graphql` are their needs in our words, `*.json` the operations in the order of a visit, with their variables as in
docs/building-a-storefront.md.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from graphql import parse, print_ast, separate_operations

from auth.app_scopes import STOREFRONT_SCOPES
from auth.storefront_keys import create_storefront_key
from kernel.scope import Store, active_scope
from tests.clients.test_clients import SCHEMA, TSC
from tests.current.test_registration import mailed_token
from tests.docs.storefront_guide import Answers, configuration
from tests.docs.test_building_a_storefront import MAX_STATEMENTS, demo_store
from tests.harness.http import Client, HttpClient, bearer
from tests.harness.packages import CLIENTS, run_node
from tests.harness.payments import enabled_sandbox
from tests.harness.scopes import system_scope

__all__ = ["demo_store"]  # fixtures
pytestmark = pytest.mark.slow(seconds=15)

PORTS = Path(__file__).parent / "ports"
CODEGEN = "node_modules/@graphql-codegen/cli/cjs/bin.js"
# Of 15: the last is called by webhooks. Of 39: the countries of a channel, which is always Brazil, the billing address of a cart, which a
# payment takes here, and a cart that stays a guest's when its customer signs out are missing.
OPERATIONS = {"vercel_commerce": 14, "saleor_storefront": 36}


def operations_of(port: str) -> Mapping[str, str]:
    """Return the operations of a port, each with its fragments, by their names."""
    document = parse((PORTS / f"{port}.graphql").read_text("utf-8"))
    return {name: print_ast(part) for name, part in separate_operations(document).items()}


async def visit(port: str, client: Client, key: str) -> Answers:
    """Execute the operations of a port in their order; what was answered is complete."""
    operations, answers = operations_of(port), Answers()
    for name, variables in json.loads((PORTS / f"{port}.json").read_text("utf-8")):
        needs_mail = "$mailed_token" in variables.values()
        known = {"mailed_token": await mailed_token(client.store, "email_verification")} if needs_mail else {}
        signed_in = bearer(answers.access_token) if answers.access_token else {}
        caller = replace(client, credentials={"X-API-Key": key} | signed_in)
        response = await caller.post(
            "/graphql", {"query": operations[name], "variables": answers.fill(variables, known)}
        )
        assert response.status == 200, (name, response)
        assert "errors" not in response.body, (name, response.body)
        assert None not in response.body["data"].values(), (name, response.body)
        if operations[name].startswith("query"):
            assert response.statements <= MAX_STATEMENTS, name
        answers.add(name, response.body["data"])
    assert answers.data.keys() == operations.keys()
    return answers


@pytest.fixture
async def key(demo_store: Store) -> str:
    scope = system_scope(demo_store)
    with active_scope(scope):
        return (await create_storefront_key(scope, {"scopes": list(STOREFRONT_SCOPES)})).key


async def test_the_data_layer_of_vercel_commerce_is_one_operation_each(
    http: HttpClient, demo_store: Store, key: str
) -> None:
    answers = await visit("vercel_commerce", Client(http, demo_store), key)
    products = [edge["node"] for edge in answers.find("GetProducts", "product_search.edges")]
    assert len(products) > 20
    prices = [product["price_range"]["min_cents"] for product in products]
    assert prices == sorted(prices, reverse=True)
    lines = answers.find("GetCart", "cart.items")
    assert [line["quantity"] for line in lines] == [3, 2]
    assert [line["combination"] is not None and line["product"]["images"] != [] for line in lines] == [True, True]
    assert len(answers.find("RemoveFromCart", "cart_items_remove.items")) == 1


async def test_the_pages_and_the_checkout_of_saleor_storefront_are_one_operation_each(
    http: HttpClient, demo_store: Store, key: str
) -> None:
    with enabled_sandbox():
        answers = await visit("saleor_storefront", Client(http, demo_store), key)
    counts = [
        answers.find("ProductListPaginated", "product_connection"),
        answers.find("SearchProducts", "product_search"),
    ]
    assert all(page["total_count"] >= len(page["edges"]) > 0 for page in counts), counts
    assert answers.find("CheckoutAddPromoCode", "cart_apply_coupon.discount_cents") > 0
    assert answers.find("CheckoutRemovePromoCode", "cart_apply_coupon.discount_cents") == 0
    order = answers.find("Order", "placed_order")
    assert (order["customer"]["email"], order["items"][0]["quantity"]) == ("ana@example.com", 2)
    assert answers.find("TransactionProcess", "payment.status") == "PENDING"
    assert [address["complement"] for address in answers.find("User", "me.addresses")] == ["ap. 12"]


@pytest.mark.parametrize("port", OPERATIONS)
async def test_nothing_in_the_generated_types_of_a_port_is_any(port: str, tmp_path: Path) -> None:
    folder, operations = CLIENTS.open(tmp_path), operations_of(port)
    assert len(operations) >= OPERATIONS[port]
    (folder / "src").mkdir()
    sources = "\n".join(f"export const {name} = graphql(/* GraphQL */ `{text}`);" for name, text in operations.items())
    (folder / "src" / "operations.ts").write_text(f'import {{ graphql }} from "./gql";\n{sources}\n', "utf-8")
    (folder / "src" / "usage.ts").write_text((PORTS / "nothing_is_any.ts").read_text("utf-8"), "utf-8")
    _, _, config = configuration("schema:").partition("\n")
    (folder / "codegen.yml").write_text(f"schema: {SCHEMA}\n{config}", encoding="utf-8")
    await asyncio.to_thread(run_node, CODEGEN, "--config", "codegen.yml", cwd=folder)
    project: dict[str, Any] = json.loads((folder / "tsconfig.json").read_text("utf-8")) | {"files": ["src/usage.ts"]}
    (folder / "tsconfig.json").write_text(json.dumps(project), encoding="utf-8")
    await asyncio.to_thread(run_node, TSC, "--project", "tsconfig.json", cwd=folder)
