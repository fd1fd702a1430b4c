"""Facets of the product search are exact: compared with a model that counts in Python, over generated catalogues, choices and callers."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from models.tables.catalog import (
    Category,
    Feature,
    FeatureValue,
    FeatureValueVariant,
    FeatureVariant,
    ProductCategory,
    ProductTag,
)
from models.tables.marketplace import DiscussionPost, DiscussionThread, Vendor
from models.tables.options import Combination
from resolvers.engine import compile as query_compiler
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore

DOCUMENT = """
query Search($query: String, $filter: ProductSearchFilter) {
  product_search(query: $query, filter: $filter, first: 1000) {
    total edges { node { id } }
    facets {
      categories { category_id category { id name } name count }
      vendors { vendor_id vendor { id name } name count }
      prices { from_cents to_cents count }
      ratings { rating_from count }
      availability { is_available count }
      features { feature_id feature { id name } name values { variant_id variant { id name } name count } }
      tags { name count }
    }
  }
}
"""
# What the model counts, read by the owner; which products count, the caller's own list says.
CATALOGUE = """
{
  products(limit: 40) {
    id name description price_cents is_available average_rating tags vendor { id } categories { path { id parent_id } }
    features { feature { id filterable } variant { id } variants { id } }
  }
}
"""
TAGS = ("azul", "feito à mão", "novo")
PRICES = (0, 500, 999, 1_000, 1_999, 2_000, 5_000, 123_456, 10**15)


@dataclass
class Catalogue:
    """A store with what its products are chosen by."""

    sample: SampleStore
    categories: list[Record]
    vendors: list[Record]
    variants: dict[Record, list[Record]]


@pytest.fixture
async def catalogue(sample: SampleStore) -> Catalogue:
    rng = random.Random(15)
    await sample.execute("update products set deleted_at = now()")
    categories = await _categories(sample)
    vendors = [await sample.add(Vendor, name=f"Loja {n}", email=f"v{n}@example.com", status="ADA"[n]) for n in range(3)]
    vendors.append(sample.vendor)
    variants = await _features(sample)
    made = Catalogue(sample, categories, vendors, variants)
    for number in range(40):
        await _product(made, rng, number)
    return made


async def _categories(sample: SampleStore) -> list[Record]:
    made: list[Record] = []
    for number, (parent, status) in enumerate([(None, "A"), (0, "A"), (1, "A"), (0, "H"), (None, "D"), (3, "A")]):
        parent_id = None if parent is None else made[parent].number
        category = await sample.add(
            Category, name=f"Categoria {number}", parent_id=parent_id, position=number, status=status
        )
        path = str(category.number)
        if parent is not None:
            above = (await sample.rows("select id_path from categories where id = $1", parent_id))[0]["id_path"]
            path = f"{above}/{path}"
        await sample.execute("update categories set id_path = $2 where id = $1", category.number, path)
        made.append(category)
    return made


async def _features(sample: SampleStore) -> dict[Record, list[Record]]:
    made = {}
    for name, type_, filterable, status in (
        ("Cor", "S", True, "A"),
        ("Material", "M", True, "A"),
        ("Voltagem", "E", False, "A"),
        ("Oculta", "S", True, "D"),
    ):
        feature = await sample.add(Feature, name=name, type=type_, filterable=filterable, status=status)
        made[feature] = [
            await sample.add(FeatureVariant, feature_id=feature.number, name=f"{name} {n}", position=n)
            for n in range(3)
        ]
    return made


async def _product(made: Catalogue, rng: random.Random, number: int) -> None:
    sample = made.sample
    product = await sample.add_product(
        name=rng.choice(["Caneca", "Caneca azul", "Prato"]),
        description=rng.choice(["", "azul", "caneca"]),
        price_cents=rng.choice(PRICES),
        status=rng.choice("AAAH"),
        vendor_id=rng.choice([vendor.number for vendor in made.vendors]),
        on_hand=rng.choice([0, 1, 5]),
        min_quantity=rng.choice([0, 0, 3]),
        tracking=rng.choice("BBD"),
    )
    for category in rng.sample(made.categories, rng.randrange(3)):
        await sample.add(ProductCategory, product_id=product.number, category_id=category.number)
    for feature, variants in made.variants.items():
        chosen = rng.sample(variants, rng.randrange(3))
        if not chosen:
            continue
        is_multiple = variants is list(made.variants.values())[1]
        value = await sample.add(
            FeatureValue,
            product_id=product.number,
            feature_id=feature.number,
            variant_id=None if is_multiple else chosen[0].number,
        )
        for variant in chosen if is_multiple else ():
            await sample.add(FeatureValueVariant, feature_value_id=value.number, variant_id=variant.number)
    for tag in rng.sample(TAGS, rng.randrange(3)):
        await sample.add(ProductTag, product_id=product.number, tag=tag)
    if rng.random() < 0.3:
        await sample.add(Combination, product_id=product.number, hash=f"{number + 1}_1", on_hand=rng.choice([0, 4]))
    if rng.random() < 0.6:
        thread = await sample.add(DiscussionThread, object_type="P", object_id=product.number)
        for _ in range(rng.randrange(4)):
            rating = rng.choice([None, 1, 2, 3, 4, 5])
            await sample.add(DiscussionPost, thread_id=thread.number, rating=rating, status=rng.choice("AAD"))


# --- the model --------------------------------------------------------------------------------------------------------


def _matches(product: Any, name: str, value: Any) -> bool:
    if name == "below_category_id":
        return bool(_above(product) & set(value))
    if name == "vendor_id":
        return product["vendor"] is not None and product["vendor"]["id"] in value
    if name == "price":
        low, high = value
        return (low is None or product["price_cents"] >= low) and (high is None or product["price_cents"] <= high)
    if name == "rating_from":
        return (product["average_rating"] or 0) >= value
    if name == "is_available":
        return product["is_available"] is value
    if name == "tag":
        return bool(set(product["tags"]) & {tag.lower() for tag in value})
    return bool(_variants(product) & set(value))


def _above(product: Any) -> set[str]:
    return {category["id"] for placement in product["categories"] for category in placement["path"]}


def _variants(product: Any) -> set[str]:
    chosen = set()
    for value in product["features"]:
        if value["feature"] is not None and value["feature"]["filterable"]:
            chosen |= {variant["id"] for variant in [*value["variants"], *filter(None, [value["variant"]])]}
    return chosen


def _left(products: Iterable[Any], choices: Mapping[str, Any], without: str = "") -> list[Any]:
    return [
        product
        for product in products
        if all(_matches(product, name, value) for name, value in choices.items() if name != without)
    ]


def _step(price: int) -> tuple[int, int | None]:
    bounds = [0, *(digit * 10**power for power in range(3, 16) for digit in (1, 2, 5))][:38]
    low = max(bound for bound in bounds if bound <= price)
    high = min((bound for bound in bounds if bound > price), default=None)
    return low, None if high is None else high - 1


def _counts(values: Iterable[Any]) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


def _expected(products: list[Any], choices: Mapping[str, Any], shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facets; `shown` are the records that the caller sees: vendors, categories by their parents, variants by features."""
    parents = choices.get("below_category_id", [None])
    below = {category for parent in parents for category in shown["categories"].get(parent, ())}
    ratings = [product["average_rating"] or 0 for product in _left(products, choices, "rating_from")]
    return {
        "categories": {
            category: count
            for category, count in _counts(
                category for product in _left(products, choices, "below_category_id") for category in _above(product)
            ).items()
            if category in below
        },
        "vendors": {
            vendor: count
            for vendor, count in _counts(
                product["vendor"]["id"] for product in _left(products, choices, "vendor_id") if product["vendor"]
            ).items()
            if vendor in shown["vendors"]
        },
        "prices": _counts(_step(product["price_cents"]) for product in _left(products, choices, "price")),
        "ratings": {rating: count for rating in range(1, 6) if (count := sum(1 for mean in ratings if mean >= rating))},
        "availability": _counts(product["is_available"] for product in _left(products, choices, "is_available")),
        "tags": _counts(tag for product in _left(products, choices, "tag") for tag in product["tags"]),
        "features": {
            (feature, variant): count
            for feature, variants in shown["features"].items()
            for variant, count in _counts(
                variant for product in _left(products, choices, feature) for variant in _variants(product)
            ).items()
            if variant in variants
        },
    }


def _flat(facets: Any) -> dict[str, Any]:
    for values, name in (
        (facets["categories"], "category"),
        (facets["vendors"], "vendor"),
        (facets["features"], "feature"),
    ):
        for value in values:
            assert value[name] == {"id": value[f"{name}_id"], "name": value["name"]}
    return {
        "categories": {value["category_id"]: value["count"] for value in facets["categories"]},
        "vendors": {value["vendor_id"]: value["count"] for value in facets["vendors"]},
        "prices": {(value["from_cents"], value["to_cents"]): value["count"] for value in facets["prices"]},
        "ratings": {value["rating_from"]: value["count"] for value in facets["ratings"]},
        "availability": {value["is_available"]: value["count"] for value in facets["availability"]},
        "tags": {value["name"]: value["count"] for value in facets["tags"]},
        "features": {
            (feature["feature_id"], value["variant_id"]): value["count"]
            for feature in facets["features"]
            for value in feature["values"]
        },
    }


def _choices(made: Catalogue, rng: random.Random) -> dict[str, Any]:
    """Return random choices as the model reads them, those of features by the id of the feature."""
    features = {
        feature.id: [variant.id for variant in variants] for feature, variants in list(made.variants.items())[:2]
    }
    options: dict[str, Any] = {
        "below_category_id": [rng.choice(made.categories[:3]).id],
        "vendor_id": [vendor.id for vendor in rng.sample(made.vendors, 2)],
        "price": rng.choice([(1_000, None), (None, 1_999), (500, 5_000)]),
        "rating_from": rng.choice([2, 3, 4]),
        "is_available": rng.random() < 0.7,
        "tag": [tag.upper() for tag in rng.sample(TAGS, 2)],
        **{feature: rng.sample(variants, 2) for feature, variants in features.items()},
    }
    return {name: options[name] for name in rng.sample(list(options), rng.choice([0, 1, 1, 2, 3, 5]))}


def _filter(choices: Mapping[str, Any]) -> dict[str, Any]:
    plain = {
        name: choices[name]
        for name in ("below_category_id", "vendor_id", "rating_from", "is_available", "tag")
        if name in choices
    }
    low, high = choices.get("price", (None, None))
    features = [
        {"feature_id": name, "variant_ids": value}
        for name, value in choices.items()
        if name not in plain and name != "price"
    ]
    return {**plain, "price_from": low, "price_to": high, "features": features}


def _by_slug(filter: dict[str, Any], slugs: Mapping[str, str]) -> dict[str, Any]:
    """Name the first category and the first vendor by their slugs instead of their ids."""
    named = dict(filter)
    for name in ("below_category", "vendor"):
        first, *others = named.pop(f"{name}_id", None) or [None]
        if first is not None:
            named |= {f"{name}_slug": [slugs[first]], f"{name}_id": others or None}
    return named


async def test_facets_are_those_of_a_model(catalogue: Catalogue) -> None:
    rng, sample = random.Random(2026), catalogue.sample

    async def ask(document: str, *, by: Any, **variables: Any) -> Any:
        answer = await sample.post("/graphql", {"query": document, "variables": variables}, auth="bearer", by=by)
        assert "errors" not in answer.body, answer.body
        return answer.body["data"]

    everything = (await ask(CATALOGUE, by=sample.owner))["products"]
    named = await ask("{ categories(limit: 100) { id slug } vendors(limit: 100) { id slug } }", by=sample.owner)
    slugs = {record["id"]: record["slug"] for records in named.values() for record in records}
    for caller in (sample.owner, sample.caio, sample.vendor_user):
        listed = {product["id"] for product in (await ask("{ products(limit: 100) { id } }", by=caller))["products"]}
        products = [product for product in everything if product["id"] in listed]
        assert products, caller
        shown = await _shown(partial(ask, by=caller))
        for number in range(25):
            choices = _choices(catalogue, rng)
            query = (None, "caneca", "azul")[number % 3]
            result = [
                product
                for product in products
                if query is None or query in f"{product['name']} {product['description']}".lower()
            ]
            filter = _by_slug(_filter(choices), slugs) if number % 2 else _filter(choices)
            answer = (await ask(DOCUMENT, by=caller, query=query, filter=filter))["product_search"]
            left = _left(result, choices)
            assert {edge["node"]["id"] for edge in answer["edges"]} == {product["id"] for product in left}, (
                caller,
                number,
                choices,
            )
            assert answer["total"] == len(left), (caller, number)
            assert _flat(answer["facets"]) == _expected(result, choices, shown), (caller, number, (query, choices))


async def _shown(ask: Any) -> dict[str, Any]:
    data = await ask(
        "{ vendors(limit: 100) { id } categories(limit: 100) { id parent_id } features(limit: 100) { id filterable variants { id } } }"
    )
    categories: dict[str | None, list[str]] = {}
    for category in data["categories"]:
        categories.setdefault(category["parent_id"], []).append(category["id"])
    features = {
        feature["id"]: {variant["id"] for variant in feature["variants"]}
        for feature in data["features"]
        if feature["filterable"]
    }
    return {"vendors": {vendor["id"] for vendor in data["vendors"]}, "categories": categories, "features": features}


async def test_every_change_of_a_product_changes_its_entry(catalogue: Catalogue) -> None:
    """The entries that triggers keep are those that would be made now."""
    sample = catalogue.sample
    columns = "product_id, price_cents, vendor_id, rating, in_stock, status, category_ids, variant_ids, tags, name_words::text, created_at"
    statements = (
        "update products set price_cents = price_cents / 2 + 1 where id % 2 = 0",
        "update products set status = 'H' where id % 5 = 0",
        "update products set vendor_id = (select max(id) from vendors), created_at = created_at - interval '1 day' where id % 3 = 1",
        "update products set on_hand = 0, reserved = 0 where id % 3 = 0",
        "update products set min_quantity = 2, tracking = 'B' where id % 4 = 0",
        "update products set name = 'Outra ' || id, sku = 'X-' || id where id % 6 = 0",
        "update products set deleted_at = now() where id % 7 = 0",
        "update products set deleted_at = null where id % 14 = 0",
        "update combinations set on_hand = 0",
        "update combinations set on_hand = 9 where id % 2 = 0",
        "update combinations set deleted_at = now() where id % 3 = 0",
        "update discussion_posts set status = 'A'",
        "update discussion_posts set rating = 5 where id % 2 = 0",
        "delete from discussion_posts where id % 3 = 0",
        "delete from product_categories where product_id % 2 = 0",
        "update categories set id_path = '1/' || id_path where id_path <> '1'",
        "update features set filterable = not filterable",
        "delete from feature_value_variants where feature_value_id % 2 = 0",
        "delete from feature_values where product_id % 3 = 0",
        "delete from feature_variants where id % 2 = 0",
        "update product_tags set tag = tag || '!' where product_id % 2 = 0",
        "delete from product_tags where product_id % 3 = 0",
        "insert into product_tags (tenant_id, public_id, product_id, tag)"
        " select tenant_id, vitrine_uuid7(), id, 'outra' from products where deleted_at is null",
    )
    for statement in statements:
        await sample.execute(statement)
        kept = await sample.rows(f"select {columns} from search_entries order by product_id")
        await sample.execute("delete from search_entries")
        await sample.rows("select vitrine_update_search_entries($1, array(select id from products))", sample.store.id)
        made = await sample.rows(f"select {columns} from search_entries order by product_id")
        assert [tuple(row) for row in kept] == [tuple(row) for row in made], statement
        assert made, statement


async def test_facets_of_another_store_are_empty(catalogue: Catalogue, other_sample: SampleStore) -> None:
    await other_sample.execute("update products set deleted_at = now()")
    variant = next(iter(catalogue.variants.values()))[0]
    filters: tuple[dict[str, Any], ...] = (
        {},
        {"vendor_id": [catalogue.vendors[0].id]},
        {"below_category_id": [catalogue.categories[0].id]},
    )
    for filter in filters:
        answer = await other_sample.post(
            "/graphql", {"query": DOCUMENT, "variables": {"filter": filter}}, auth="bearer"
        )
        result = answer.body["data"]["product_search"]
        assert (result["total"], result["edges"]) == (0, []), filter
        assert not any(result["facets"].values()), (filter, variant)


async def test_only_features_with_variants_can_be_filterable(sample: SampleStore) -> None:
    text = "mutation($i: FeatureInput!) { feature_create(input: $i) { id filterable } }"
    for type_, is_accepted in {
        "S": True,
        "M": True,
        "N": True,
        "T": False,
        "C": False,
        "D": False,
        "O": False,
        "G": False,
    }.items():
        variables = {"i": {"name": type_, "type": type_, "filterable": True}}
        answer = (await sample.post("/graphql", {"query": text, "variables": variables}, auth="bearer")).body
        if is_accepted:
            assert answer["data"]["feature_create"]["filterable"] is True, (type_, is_accepted)
        else:
            assert answer["errors"][0]["extensions"]["field"] == "filterable", (type_, is_accepted)


async def test_the_number_of_statements_does_not_depend_on_the_values(catalogue: Catalogue) -> None:
    sample = catalogue.sample
    counts = set()
    await sample.post("/graphql", {"query": DOCUMENT}, auth="bearer")  # counts the store's lists
    for query in (None, "caneca", "azul"):
        answer = await sample.post("/graphql", {"query": DOCUMENT, "variables": {"query": query}}, auth="bearer")
        assert answer.body["data"]["product_search"]["facets"]["features"], query
        counts.add(answer.statements)
    # Whether there are promotions, the search, the records; and one for each relation: categories, vendors, features, variants.
    assert counts == {7}


async def test_compiled_searches_answer_like_the_executor(catalogue: Catalogue) -> None:
    rng, sample = random.Random(7), catalogue.sample
    # Without the records that facets refer to, which are left to the executor.
    plain = re.sub(r" (category|vendor|feature|variant) \{ id name \}", "", DOCUMENT)
    assert "category {" not in plain
    for repetition in range(10):
        variables = {"query": rng.choice([None, "caneca", "canoca"]), "filter": _filter(_choices(catalogue, rng))}
        answers = []
        for is_enabled in (True, False):
            query_compiler.set_enabled(is_enabled)
            try:
                body = {"query": plain, "variables": variables}
                answers.append((await sample.post("/graphql", body, auth="bearer")).raw)
            finally:
                query_compiler.set_enabled(True)
        assert answers[0] == answers[1], repetition
