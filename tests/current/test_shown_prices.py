"""Every list, search, page and cart, of GraphQL and of REST, shows a caller one price for a product: the one that is charged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from auth.storefront_keys import create_storefront_key
from domain.promotions.promotions import PROMOTION_RECORDS
from kernel.scope import active_scope
from models.tables.catalog import ProductCategory
from tests.graphql.test_combination_pricing import add_combination, add_option
from tests.harness.http import Client, bearer
from tests.harness.oauth import issue_tokens, register_app
from tests.harness.records import Record
from tests.harness.storefront import StorefrontClient

CATALOGUE = """query($id: ID!, $category: ID!, $other: ID!) {
    product(id: $id) { ...P combinations { pricing { price_cents } } } products(filter: {id: [$id]}) { ...P }
    product_page(filter: {id: [$id]}) { items { ...P } } product_connection(filter: {id: [$id]}) { edges { node { ...P } } }
    product_search(query: "camiseta") { edges { node { ...P } } }
    category(id: $category) { products { edges { node { ...P } } } below: products(include_descendants: true) { edges { node { ...P } } } }
    other: product(id: $other) { related(first: 10) { ...P } } }
fragment P on Product { id pricing { price_cents base_cents discount_cents promotions { name } } price_range { min_cents max_cents } }"""
CART = """mutation($items: [CartItemInput!]!) { cart_create(input: {items: $items}) { id items { price_cents
    product { id pricing { price_cents base_cents discount_cents promotions { name } } } combination { pricing { price_cents } } } } }"""


WISHLIST = """{ me { wishlist(first: 10) { edges { node {
    id pricing { price_cents base_cents discount_cents promotions { name } } } } } } }"""


@pytest.fixture
async def shirt(storefront: StorefrontClient) -> Record:
    """A product in two sizes at one price, lowered for all, for customers, and for those of the wholesale group."""
    sample = storefront.sample
    shirt = await sample.add_product(name="Camiseta", price_cents=9_999, on_hand=50, category_id=sample.kitchen.number)
    await sample.execute("DELETE FROM product_categories WHERE product_id = $1", shirt.number)
    await sample.add(ProductCategory, product_id=shirt.number, category_id=sample.kitchen.number)
    size, sizes = await add_option(sample, shirt, "Tamanho", {"P": (0, "A"), "G": (0, "A")}, inventory=True)
    for variant in sizes.values():
        await add_combination(sample, shirt, size, variant)
    with active_scope(sample.scope):
        for name, discount, conditions in (
            ("Todos", "10%", {}),
            ("Cadastro", "1.00", {"registered": "Y"}),
            ("Atacado", "12.5%", {"usergroup": [sample.wholesale.number]}),
        ):
            await PROMOTION_RECORDS.create(
                sample.scope,
                {"zone": "catalog", "name": name, "conditions": conditions, "bonuses": {"product_discount": discount}},
            )
    return shirt


def records_of(value: Any, product: str) -> Iterator[Any]:
    """Yield the records of a product anywhere in an answer."""
    if isinstance(value, list):
        for item in value:
            yield from records_of(item, product)
    elif isinstance(value, dict):
        if value.get("id") == product and "pricing" in value:
            yield value
        for item in value.values():
            yield from records_of(item, product)


async def test_all_families_show_a_caller_the_price_that_is_charged(
    storefront: StorefrontClient, shirt: Record
) -> None:
    sample = storefront.sample
    neighbour = await sample.add_product(name="Outra", category_id=sample.kitchen.number)
    with active_scope(sample.scope):
        key = (await create_storefront_key(sample.scope, {})).key
    installer = await sample.client(sample.owner)
    app_tokens = await issue_tokens(
        installer, await register_app(installer, scopes=["read_products"]), ["read_products"]
    )
    app = Client(sample.http, sample.store, bearer(app_tokens["access_token"]), sample.ip)
    charged = {}
    for name, person in (("guest", None), ("customer", sample.bia), ("wholesale", sample.caio)):
        headers = {"X-API-Key": key} | (bearer(await sample.token(person)) if person else {})
        graph, rest = Client(sample.http, sample.store, headers, sample.ip), storefront.as_customer(person)

        async def ask(text: str, graph: Client = graph, **variables: Any) -> Any:
            answer = await graph.post("/graphql", {"query": text, "variables": variables})
            assert "errors" not in answer.body, answer.body
            return answer.body["data"]

        shown = await ask(CATALOGUE, id=shirt.id, category=sample.kitchen.id, other=neighbour.id)
        records = list(records_of(shown, shirt.id))
        assert len(records) == 8, name
        prices = [record["pricing"] for record in records]
        for path in (
            "products",
            "search?q=camiseta",
            f"categories/{sample.kitchen.id}/products",
            f"products/{shirt.id}",
        ):
            [record] = records_of((await rest.get(path)).body, shirt.id)
            prices.append(record["pricing"])
        if person is None:
            for path in ("?search=camiseta", f"/{shirt.id}"):
                [record] = records_of((await app.get(f"/api/storefront/products{path}")).body, shirt.id)
                prices.append(record["pricing"])
        options = await ask(
            "query($id: ID!) { product(id: $id) { combinations { choices { option_id variant_id } } } }", id=shirt.id
        )
        [choice] = options["product"]["combinations"][0]["choices"]
        item = {"product_id": shirt.id, "quantity": 1, "options": {choice["option_id"]: choice["variant_id"]}}
        cart = (await ask(CART, items=[item]))["cart_create"]
        prices += [record["pricing"] for record in records_of(cart, shirt.id)]
        if person is not None:
            await ask("mutation($ids: [ID!]!) { wishlist_add(product_ids: $ids) { id } }", ids=[shirt.id])
            prices += [record["pricing"] for record in records_of(await ask(WISHLIST), shirt.id)]
        assert len(prices) == (15 if person is None else 14), name
        assert all(price == prices[0] for price in prices), (name, prices)
        cents = prices[0]["price_cents"]
        assert {record["price_range"]["min_cents"] for record in records} == {cents}, name
        assert {record["price_range"]["max_cents"] for record in records} == {cents}, name
        assert {each["pricing"]["price_cents"] for each in shown["product"]["combinations"]} == {cents}, name
        assert [(line["price_cents"], line["combination"]["pricing"]["price_cents"]) for line in cart["items"]] == [
            (cents, cents)
        ], name
        assert (await rest.get(f"carts/{cart['id']}")).body["items"][0]["price_cents"] == cents, name
        made = await rest.post("carts", {"items": [item]})
        assert made.body["items"][0]["price_cents"] == cents, name
        charged[name] = (cents, [promotion["name"] for promotion in prices[0]["promotions"]])
    assert charged == {
        "guest": (8_999, ["Todos"]),
        "customer": (8_899, ["Todos", "Cadastro"]),
        "wholesale": (7_787, ["Todos", "Cadastro", "Atacado"]),
    }
