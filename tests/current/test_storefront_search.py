"""`GET /api/v1/storefront/search`: parameters, facets and errors (docs/reference/current.md#search)."""

from __future__ import annotations

import pytest

from models.tables.catalog import Feature, FeatureValue, FeatureVariant
from tests.harness.product_records import PRODUCT_RECORD
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient


async def test_a_page_has_records_facets_and_the_corrected_query(storefront: StorefrontClient) -> None:
    answer = await storefront.get("search", params={"q": "canecaz"})
    assert answer.status == 200, answer
    assert {name: answer.body[name] for name in ("total", "page", "limit", "corrected_query")} == {
        "total": 1,
        "page": 1,
        "limit": 20,
        "corrected_query": "caneca",
    }
    [product] = answer.body["products"]
    assert set(product) == PRODUCT_RECORD | {"pricing"}
    sample = storefront.sample
    assert answer.body["facets"] == {
        "categories": [{"category_id": sample.home.id, "name": "Casa", "count": 1}],
        "vendors": [{"vendor_id": sample.vendor.id, "name": "Ateliê Sol", "count": 1}],
        "prices": [{"from_cents": 2000, "to_cents": 4999, "count": 1}],
        "ratings": [{"rating_from": rating, "count": 1} for rating in (5, 4, 3, 2, 1)],
        "availability": [{"is_available": True, "count": 1}],
        "features": [],
        "tags": [],
    }


async def test_pages_are_numbered_and_linked(storefront: StorefrontClient) -> None:
    names = []
    for page in (1, 2, 3):
        answer = await storefront.get("search", params={"q": "de caneca", "limit": "1", "page": str(page)})
        assert answer.body["total"] == 1, page
        names += [product["name"] for product in answer.body["products"]]
    assert names == ["Caneca de Ágata"]
    await storefront.sample.execute("update products set description = 'loja'")
    answer = await storefront.get("search", params={"q": "loja", "limit": "1", "page": "2", "sort_by": "name"})
    assert [product["name"] for product in answer.body["products"]] == ["Livro de Receitas"]
    assert [relation in answer.headers["Link"] for relation in ('rel="prev"', 'rel="next"')] == [True, True]


async def test_choices_narrow_the_search_down(storefront: StorefrontClient) -> None:
    sample = storefront.sample
    await sample.execute("update products set description = 'loja'")
    color, wood, steel = await _feature(sample)
    await sample.execute(
        "insert into product_tags (tenant_id, public_id, product_id, tag)"
        " select tenant_id, vitrine_uuid7(), id, 'novo' from products where name = 'Prato Raso'"
    )
    rows = await sample.rows(
        "select public_id::text, slug from categories union all select public_id::text, slug from vendors"
    )
    slugs = {row["public_id"]: row["slug"] for row in rows}
    choices = {
        f"vendor_id={sample.vendor.id}": {"Caneca de Ágata", "Livro de Receitas"},
        f"vendor_id={sample.vendor.id},{sample.rival.id}": {"Caneca de Ágata", "Livro de Receitas", "Prato Raso"},
        f"vendor_id={UNKNOWN_ID}": set(),
        f"vendor_slug={slugs[sample.rival.id]}": {"Prato Raso"},
        f"vendor_slug={slugs[sample.rival.id]},nada&vendor_id={sample.vendor.id}": {
            "Caneca de Ágata",
            "Livro de Receitas",
            "Prato Raso",
        },
        f"below_category_slug={slugs[sample.home.id]}": {"Caneca de Ágata", "Prato Raso"},
        "below_category_slug=nada": set(),
        f"below_category_id={sample.home.id}": {"Caneca de Ágata", "Prato Raso"},
        "price_from=1000&price_to=2999": {"Livro de Receitas", "Prato Raso"},
        "rating_from=5": {"Caneca de Ágata"},
        "is_available=false": set(),
        f"features={color}:{wood}": {"Caneca de Ágata"},
        f"features={color}:{wood},{steel}": {"Caneca de Ágata", "Prato Raso"},
        f"features={color}:{UNKNOWN_ID}": set(),
        "tag=Novo,nenhuma": {"Prato Raso"},
        "tag=nenhuma": set(),
        "status=H": set(),
        "created_before=2001-01-01": set(),
    }
    prices = {row["name"]: row["price_cents"] for row in await sample.rows("select name, price_cents from products")}
    choices["price_from=1000&price_to=2999"] = {
        name for name, price in prices.items() if 1000 <= price <= 2999 and name != "Vaso"
    }
    for query, expected in choices.items():
        answer = await storefront.get(f"search?q=loja&{query}")
        assert answer.status == 200, (query, expected, answer)
        assert {product["name"] for product in answer.body["products"]} == expected, query
        assert answer.body["total"] == len(expected)


async def test_a_choice_or_a_category_needs_no_words(storefront: StorefrontClient) -> None:
    kitchen = storefront.sample.kitchen.id
    for query, path in (("price_from=0", "products"), (f"category_id={kitchen}", f"categories/{kitchen}/products")):
        browsed, listed = await storefront.get(f"search?{query}"), await storefront.get(path)
        assert (browsed.status, browsed.body["total"]) == (200, listed.body["total"]), (query, path)
        assert browsed.body["facets"]["vendors"], (query, path)
    for query in ("", "q=", "q=%20&price_from=0", "category_id=", "sort_by=name"):
        refused = await storefront.get(f"search?{query}")
        assert (refused.status, refused.body["error"]) == (400, "invalid q"), query


async def _feature(sample: SampleStore) -> tuple[str, str, str]:
    feature = await sample.add(Feature, name="Cor", type="S", filterable=True)
    variants = [await sample.add(FeatureVariant, feature_id=feature.number, name=name) for name in ("Madeira", "Aço")]
    for product, variant in zip(("Caneca de Ágata", "Prato Raso"), variants, strict=True):
        [row] = await sample.rows("select id from products where name = $1", product)
        await sample.add(FeatureValue, product_id=row["id"], feature_id=feature.number, variant_id=variant.number)
    return feature.id, variants[0].id, variants[1].id


@pytest.mark.parametrize(
    "query, error",
    [
        ("q=", "invalid q"),
        (f"q={'x' * 201}", "invalid q"),
        ("q=x&price_from=-1", "invalid price_from"),
        ("q=x&price_to=dez", "invalid price_to"),
        ("q=x&price_to=9999999999999999999", "invalid price_to"),
        ("q=x&rating_from=6", "invalid rating_from"),
        ("q=x&is_available=talvez", "invalid is_available"),
        ("q=x&features=abc", "invalid features"),
        ("q=x&sort_by=relevance", "invalid sort_by"),
        ("q=x&page=0", "invalid page"),
        (f"q=x&vendor_id={','.join(['a'] * 101)}", "validation_failed"),
        (f"q=x&features={';'.join(f'{n}:1' for n in range(11))}", "validation_failed"),
    ],
)
async def test_an_invalid_parameter_is_400(storefront: StorefrontClient, query: str, error: str) -> None:
    answer = await storefront.get(f"search?{query}")
    assert (answer.status, answer.body["error"]) == (400, error), answer


async def test_the_last_possible_page_is_empty(storefront: StorefrontClient) -> None:
    answer = await storefront.get(f"search?q=caneca&page={2**31 - 1}&limit=100")
    assert (answer.status, answer.body["products"], answer.body["total"]) == (200, [], 1)
