"""The catalog of a headless storefront and its scopes (docs/reference/current.md#storefront)."""

from __future__ import annotations

import pytest

from kernel.ids import checksummed_token
from models.tables.catalog import Category
from resolvers.engine import compile as query_compiler
from tests.harness.product_records import PRODUCT_RECORD
from tests.harness.records import UNKNOWN_ID, add_product
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import BASE, StorefrontClient, open_storefront

ROUTES = {
    "storefront:read": [
        ("GET", "store"),
        ("GET", "products"),
        ("GET", f"products/{UNKNOWN_ID}"),
        ("GET", "categories"),
        ("GET", f"categories/{UNKNOWN_ID}"),
        ("GET", f"categories/{UNKNOWN_ID}/products"),
        ("GET", "search?q=x"),
        ("GET", "payment-methods"),
    ],
    "storefront:cart": [
        ("POST", "carts"),
        ("GET", f"carts/{UNKNOWN_ID}"),
        ("POST", f"carts/{UNKNOWN_ID}/items"),
        ("PATCH", f"carts/{UNKNOWN_ID}/items/{UNKNOWN_ID}"),
        ("DELETE", f"carts/{UNKNOWN_ID}/items/{UNKNOWN_ID}"),
        ("PUT", f"carts/{UNKNOWN_ID}/address"),
        ("GET", f"carts/{UNKNOWN_ID}/shipping-options"),
        ("PUT", f"carts/{UNKNOWN_ID}/shipping-option"),
        ("POST", f"carts/{UNKNOWN_ID}/coupon"),
    ],
    "storefront:checkout": [
        ("POST", f"carts/{UNKNOWN_ID}/checkout"),
        ("GET", f"orders/{UNKNOWN_ID}?token=x"),
    ],
}


async def test_the_store_record_is_returned(storefront: StorefrontClient) -> None:
    answer = await storefront.get("store")
    assert (answer.status, answer.body) == (
        200,
        {"id": str(storefront.sample.store.public_id), "name": "Loja", "currency": "BRL"},
    )


async def test_only_active_products_are_listed_in_the_app_list_format(storefront: StorefrontClient) -> None:
    answer = await storefront.get("products")
    assert answer.status == 200
    assert {name: answer.body[name] for name in ("total", "page", "limit")} == {
        "total": 3,
        "page": 1,
        "limit": 20,
    }
    assert {product["name"] for product in answer.body["products"]} == {
        "Caneca de Ágata",
        "Prato Raso",
        "Livro de Receitas",
    }
    for product in answer.body["products"]:
        assert set(product) == PRODUCT_RECORD | {"pricing"}
    assert answer.statements <= 6  # page, images, categories, total; two for promotions


@pytest.mark.parametrize(
    "query,names",
    [
        ("sort_by=price_cents&sort_order=desc", ["Caneca de Ágata", "Prato Raso", "Livro de Receitas"]),
        ("sort_by=name", ["Caneca de Ágata", "Livro de Receitas", "Prato Raso"]),
        ("search=agata", ["Caneca de Ágata"]),
        ("limit=1&page=2&sort_by=name", ["Livro de Receitas"]),
        ("limit=500&sort_by=name", ["Caneca de Ágata", "Livro de Receitas", "Prato Raso"]),
        ("status=D", []),
        ("status=H", []),
        (f"category_id={UNKNOWN_ID}", []),
        ("category_id=nonsense", []),
        ("created_before=2001-01-01", []),
        ("created_after=2001-01-01&search=livro", ["Livro de Receitas"]),
    ],
)
async def test_products_are_filtered_and_sorted(storefront: StorefrontClient, query: str, names: list[str]) -> None:
    answer = await storefront.get(f"products?{query}")
    assert answer.status == 200, answer
    assert [product["name"] for product in answer.body["products"]] == names


@pytest.mark.parametrize(
    "query,error",
    [
        ("page=0", "invalid page"),
        ("page=x", "invalid page"),
        ("limit=0", "invalid limit"),
        ("limit=-1", "invalid limit"),
        ("limit=9999999999999999999999x", "invalid limit"),
        ("sort_by=password", "invalid sort_by"),
        ("sort_by=name&sort_order=up", "invalid sort_order"),
        ("created_after=yesterday", "invalid created_after"),
        ("created_before=2026-02-30", "invalid created_before"),
        ("status=Z", "invalid status"),
    ],
)
async def test_an_invalid_parameter_is_400(storefront: StorefrontClient, query: str, error: str) -> None:
    for path in ("products", f"categories/{storefront.sample.home.id}/products", "search?q=x"):
        answer = await storefront.get(f"{path}{'&' if '?' in path else '?'}{query}")
        assert (answer.status, answer.body["error"]) == (400, error), path
        assert "detail" in answer.body, path


async def test_a_product_is_found_by_id_and_by_slug(storefront: StorefrontClient) -> None:
    by_id = await storefront.get(f"products/{storefront.sample.mug.id}")
    by_slug = await storefront.get("products/caneca-de-agata")
    assert by_id.status == by_slug.status == 200
    assert by_id.body == by_slug.body
    assert set(by_id.body) == PRODUCT_RECORD | {"pricing"}
    # A compiled read takes one statement, the executor one per level.
    assert by_id.statements == (1 if query_compiler._enabled else 3)


@pytest.mark.parametrize("length", [121, 255])
async def test_a_product_is_found_by_a_long_slug(storefront: StorefrontClient, length: int) -> None:
    product = await add_product(storefront.sample.store, slug="x" * length)
    assert (await storefront.get(f"products/{'x' * length}")).body["id"] == product.id


@pytest.mark.parametrize("id_or_slug", [UNKNOWN_ID, "nada", "1", "%F0%9F%98%80", "a" * 3000])
async def test_an_unknown_product_is_404(storefront: StorefrontClient, id_or_slug: str) -> None:
    answer = await storefront.get(f"products/{id_or_slug}")
    assert (answer.status, answer.body) == (404, {"error": "product not found"})


async def test_inactive_records_and_records_of_another_store_are_not_found(
    storefront: StorefrontClient, other_sample: SampleStore
) -> None:
    sample = storefront.sample
    await sample.execute("UPDATE products SET status = 'D' WHERE id = $1", sample.secret.number)
    await sample.execute("UPDATE categories SET status = 'D' WHERE id = $1", sample.hidden.number)
    for id_or_slug in (sample.secret.id, "vaso", other_sample.mug.id):
        assert (await storefront.get(f"products/{id_or_slug}")).status == 404
    for category in (
        sample.hidden.id,
        other_sample.home.id,
        UNKNOWN_ID,
        "x",
        "x" * 121,
        "%C3%A1%F0%9F%8C%B5",
    ):
        for path in (f"categories/{category}", f"categories/{category}/products"):
            answer = await storefront.get(path)
            assert (answer.status, answer.body) == (404, {"error": "category not found"}), (category, path)


async def test_categories_and_their_products_are_returned(storefront: StorefrontClient) -> None:
    listed = await storefront.get("categories?sort_by=name")
    assert [category["name"] for category in listed.body["categories"]] == ["Casa", "Cozinha"]
    assert (listed.body["total"], listed.body["page"], listed.body["limit"]) == (2, 1, 1000)
    shown = await storefront.get(f"categories/{storefront.sample.kitchen.id}")
    assert shown.body == next(category for category in listed.body["categories"] if category["name"] == "Cozinha")
    assert (await storefront.get(f"categories/{shown.body['slug']}")).body == shown.body
    inside = await storefront.get(f"categories/{storefront.sample.kitchen.id}/products")
    assert (await storefront.get(f"categories/{shown.body['slug']}/products")).body == inside.body
    assert [product["name"] for product in inside.body["products"]] == ["Caneca de Ágata"]
    assert (inside.body["total"], inside.body["limit"]) == (1, 20)
    assert inside.statements <= 5


async def test_search_matches_word_prefixes_ignoring_case_and_accents(storefront: StorefrontClient) -> None:
    for text in ("agata", "CANECA ág", "livro"):
        answer = await storefront.get("search", params={"q": text})
        assert answer.body["total"] == 1, text
    # The vase is hidden; another word resembles it.
    corrected = (await storefront.get("search", params={"q": "vaso"})).body
    assert [product["name"] for product in corrected["products"]] == ["Prato Raso"]
    assert corrected["corrected_query"] == "raso"


@pytest.mark.parametrize("query", ["", "q=", "q=%20", "search=caneca"])
async def test_an_empty_search_is_400(storefront: StorefrontClient, query: str) -> None:
    answer = await storefront.get(f"search?{query}")
    assert (answer.status, answer.body["error"]) == (400, "invalid q")


async def test_only_active_payment_methods_are_listed(storefront: StorefrontClient) -> None:
    await storefront.sample.execute(
        "UPDATE payment_methods SET status = 'D' WHERE id = $1", storefront.sample.card.number
    )
    answer = await storefront.get("payment-methods")
    assert answer.body == {
        "payment_methods": [
            {
                "id": storefront.sample.pix.id,
                "name": "Pix",
                "description": "",
                "surcharge_cents": 0,
                "surcharge_percent": 0,
            }
        ]
    }


# --- Keys --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", list(ROUTES))
async def test_every_route_requires_its_scope(sample: SampleStore, scope: str) -> None:
    others = [other for other in ROUTES if other != scope]
    without_scope, with_scope = (
        await open_storefront(sample, scopes=others),
        await open_storefront(sample, scopes=[scope]),
    )
    for method, path in ROUTES[scope]:
        rejected = await without_scope.request(method, path, {} if method != "GET" else None)
        assert (rejected.status, rejected.body["error"]) == (403, "missing_scope"), path
        let_in = await with_scope.request(method, path, {} if method != "GET" else None)
        assert let_in.status not in (401, 403), path


async def test_a_missing_or_wrong_key_is_401(storefront: StorefrontClient) -> None:
    assert storefront.key
    wrong = [
        None,
        "",
        "sfk_x",
        "nonsense",
        checksummed_token("sfk_"),
        storefront.key[:-1] + ("y" if storefront.key.endswith("x") else "x"),
    ]
    for key in wrong:
        for routes in ROUTES.values():
            method, path = routes[0]
            headers = {} if key is None else {"X-API-Key": key}
            answer = await storefront.sample.request(method, f"{BASE}/{path}", {}, auth=None, headers=headers)
            assert (answer.status, answer.body) == (401, {"error": "invalid_api_key"}), (key, path)


async def test_a_key_is_accepted_as_bearer_or_in_both_headers(storefront: StorefrontClient) -> None:
    for headers in (
        {"Authorization": f"Bearer {storefront.key}"},
        {"X-API-Key": storefront.key, "Authorization": f"Bearer {storefront.key}"},
    ):
        answer = await storefront.sample.get(f"{BASE}/store", auth=None, headers=headers)
        assert answer.status == 200, headers


async def test_a_user_token_without_a_key_is_rejected(sample: SampleStore) -> None:
    for person in (sample.owner, sample.caio):
        answer = await sample.get(f"{BASE}/store", auth="bearer", by=person)
        assert (answer.status, answer.body) == (401, {"error": "invalid_api_key"}), person


async def test_the_customer_token_sent_with_a_key_must_be_valid(
    storefront: StorefrontClient, other_sample: SampleStore
) -> None:
    for token, status, error in (
        ("Bearer x", 401, "invalid or expired token"),
        ("Basic eDp5", 401, "invalid authorization format"),
        (f"Bearer {await other_sample.token(other_sample.caio)}", 403, "token not valid for this storefront"),
    ):
        answer = await storefront.get("store", headers={"Authorization": token})
        assert (answer.status, answer.body["error"]) == (status, error)


async def test_a_customer_token_adds_no_scope_to_the_key(sample: SampleStore) -> None:
    storefront = (await open_storefront(sample, scopes=["storefront:read"])).as_customer(sample.owner)
    assert (await storefront.post("carts", {})).body["error"] == "missing_scope"
    await sample.execute("UPDATE products SET status = 'D' WHERE id = $1", sample.secret.number)
    assert (await storefront.get(f"products/{sample.secret.id}")).status == 404


async def test_the_rate_limit_of_a_key_is_shared_by_all_customers(sample: SampleStore) -> None:
    storefront = await open_storefront(sample, rate_limit=3)
    for customer in (None, sample.caio, sample.bia):
        answer = await storefront.as_customer(customer).get("store")
        assert (answer.status, answer.headers["X-RateLimit-Limit"]) == (200, "3"), customer
    rejected = await storefront.get("store")
    assert (rejected.status, rejected.body["error"]) == (429, "rate_limit_exceeded")
    assert rejected.headers["Retry-After"] == "60"


async def test_a_key_of_another_store_is_rejected(storefront: StorefrontClient, other_sample: SampleStore) -> None:
    answer = await storefront.get("store", at=other_sample)
    assert (answer.status, answer.body) == (401, {"error": "invalid_api_key"})


async def test_a_menu_is_not_cut(storefront: StorefrontClient) -> None:
    for number in range(150):
        await storefront.sample.add(Category, name=f"Categoria {number}", id_path="")
    listed = await storefront.get("categories")
    assert (len(listed.body["categories"]), listed.body["total"], listed.body["limit"]) == (152, 152, 1000)
    assert "Link" not in listed.headers
    page = await storefront.get("categories?limit=100&page=2")
    assert (len(page.body["categories"]), page.body["limit"]) == (52, 100)
    assert 'rel="prev"' in page.headers["Link"]
    assert (await storefront.get("categories?limit=5000")).body["limit"] == 1000
