"""What a headless storefront shows: the store, active products and categories, to a key with the scope for it."""

from __future__ import annotations

import pytest

from kernel.ids import checksummed_token
from resolvers import compiled
from tests.current.fronts import BASE, Front, open_front
from tests.shop import NOBODY, Shop

PRODUCT = {
    "id", "name", "sku", "slug", "description", "short_description", "status", "price_cents", "compare_at_cents", "currency", "stock",
    "category_id", "category", "images", "created_at", "updated_at",
}  # fmt: skip
ROUTES = {
    "storefront:read": [
        ("GET", "store"),
        ("GET", "products"),
        ("GET", f"products/{NOBODY}"),
        ("GET", "categories"),
        ("GET", f"categories/{NOBODY}"),
        ("GET", f"categories/{NOBODY}/products"),
        ("GET", "search?q=x"),
        ("GET", "payment-methods"),
    ],
    "storefront:cart": [
        ("POST", "carts"),
        ("GET", f"carts/{NOBODY}"),
        ("POST", f"carts/{NOBODY}/items"),
        ("PATCH", f"carts/{NOBODY}/items/{NOBODY}"),
        ("DELETE", f"carts/{NOBODY}/items/{NOBODY}"),
        ("PUT", f"carts/{NOBODY}/address"),
        ("GET", f"carts/{NOBODY}/shipping-options"),
        ("PUT", f"carts/{NOBODY}/shipping-option"),
        ("POST", f"carts/{NOBODY}/coupon"),
    ],
    "storefront:checkout": [("POST", f"carts/{NOBODY}/checkout"), ("GET", f"orders/{NOBODY}?token=x")],
}


async def test_the_store_says_what_it_is(front: Front) -> None:
    answer = await front.get("store")
    assert (answer.status, answer.body) == (
        200,
        {"id": str(front.shop.store.public_id), "name": "Loja", "currency": "BRL"},
    )


async def test_products_are_the_active_ones_in_the_form_of_app_lists(front: Front) -> None:
    answer = await front.get("products")
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
        assert set(product) == PRODUCT
    assert answer.statements <= 4  # the page, its pictures, its categories, their number


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
        (f"category_id={NOBODY}", []),
        ("category_id=nonsense", []),
        ("created_before=2001-01-01", []),
        ("created_after=2001-01-01&search=livro", ["Livro de Receitas"]),
    ],
)
async def test_products_are_narrowed_and_ordered(front: Front, query: str, names: list[str]) -> None:
    answer = await front.get(f"products?{query}")
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
async def test_a_wrong_parameter_is_400(front: Front, query: str, error: str) -> None:
    for path in ("products", f"categories/{front.shop.home.id}/products", "search?q=x"):
        answer = await front.get(f"{path}{'&' if '?' in path else '?'}{query}")
        assert (answer.status, answer.body["error"]) == (400, error)
        assert "detail" in answer.body


async def test_a_product_is_found_by_id_and_by_slug(front: Front) -> None:
    by_id = await front.get(f"products/{front.shop.mug.id}")
    by_slug = await front.get("products/caneca-de-agata")
    assert by_id.status == by_slug.status == 200
    assert by_id.body == by_slug.body
    assert set(by_id.body) == PRODUCT
    # All in one where reads are compiled; the executor takes one a level.
    assert by_id.statements == (1 if compiled._is_on else 3)


@pytest.mark.parametrize("named", [NOBODY, "nada", "1", "%F0%9F%98%80", "a" * 3000])
async def test_no_such_product_is_404(front: Front, named: str) -> None:
    answer = await front.get(f"products/{named}")
    assert (answer.status, answer.body) == (404, {"error": "product not found"})


async def test_what_is_not_active_or_of_another_store_is_not_there(front: Front, other_shop: Shop) -> None:
    for named in (front.shop.secret.id, "vaso", other_shop.mug.id):
        assert (await front.get(f"products/{named}")).status == 404
    for category in (front.shop.hidden.id, other_shop.home.id, NOBODY, "x"):
        for path in (f"categories/{category}", f"categories/{category}/products"):
            answer = await front.get(path)
            assert (answer.status, answer.body) == (404, {"error": "category not found"})


async def test_categories_and_what_stands_in_them(front: Front) -> None:
    listed = await front.get("categories?sort_by=name")
    assert [category["name"] for category in listed.body["categories"]] == ["Casa", "Cozinha"]
    assert (listed.body["total"], listed.body["page"], listed.body["limit"]) == (2, 1, 20)
    shown = await front.get(f"categories/{front.shop.kitchen.id}")
    assert shown.body == next(each for each in listed.body["categories"] if each["name"] == "Cozinha")
    inside = await front.get(f"categories/{front.shop.kitchen.id}/products")
    assert [product["name"] for product in inside.body["products"]] == ["Caneca de Ágata"]
    assert (inside.body["total"], inside.body["limit"]) == (1, 20)
    assert inside.statements <= 5


async def test_search_finds_beginnings_of_words_without_case_and_accents(front: Front) -> None:
    for words in ("agata", "CANECA ág", "livro"):
        answer = await front.get("search", params={"q": words})
        assert answer.body["total"] == 1, words
    assert (await front.get("search", params={"q": "vaso"})).body["products"] == []


@pytest.mark.parametrize("query", ["", "q=", "q=%20", "search=caneca"])
async def test_a_search_for_nothing_is_400(front: Front, query: str) -> None:
    answer = await front.get(f"search?{query}")
    assert (answer.status, answer.body["error"]) == (400, "invalid q")


async def test_the_ways_to_pay_are_the_active_ones(front: Front) -> None:
    await front.shop.execute("UPDATE payment_methods SET status = 'D' WHERE id = $1", front.shop.card.number)
    answer = await front.get("payment-methods")
    assert answer.body == {
        "payment_methods": [
            {
                "id": front.shop.pix.id,
                "name": "Pix",
                "description": "",
                "surcharge_cents": 0,
                "surcharge_percent": 0,
            }
        ]
    }


# --- Keys --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", list(ROUTES))
async def test_every_route_asks_for_its_scope(shop: Shop, scope: str) -> None:
    others = [other for other in ROUTES if other != scope]
    without, with_it = await open_front(shop, scopes=others), await open_front(shop, scopes=[scope])
    for method, path in ROUTES[scope]:
        refused = await without.call(method, path, {} if method != "GET" else None)
        assert (refused.status, refused.body["error"]) == (403, "missing_scope"), path
        let_in = await with_it.call(method, path, {} if method != "GET" else None)
        assert let_in.status not in (401, 403), path


async def test_a_missing_or_wrong_key_is_401(front: Front) -> None:
    assert front.key
    wrong = [None, "", "sfk_x", "nonsense", checksummed_token("sfk_"), front.key[:-1] + "x"]
    for key in wrong:
        for routes in ROUTES.values():
            method, path = routes[0]
            headers = {} if key is None else {"X-API-Key": key}
            answer = await front.shop.call(method, f"{BASE}/{path}", {}, auth=None, headers=headers)
            assert (answer.status, answer.body) == (401, {"error": "invalid_api_key"}), (key, path)


async def test_a_key_may_come_as_bearer_or_in_both_headers(front: Front) -> None:
    for headers in (
        {"Authorization": f"Bearer {front.key}"},
        {"X-API-Key": front.key, "Authorization": f"Bearer {front.key}"},
    ):
        answer = await front.shop.get(f"{BASE}/store", auth=None, headers=headers)
        assert answer.status == 200


async def test_a_users_token_alone_is_no_key(shop: Shop) -> None:
    for person in (shop.owner, shop.caio):
        answer = await shop.get(f"{BASE}/store", auth="bearer", by=person)
        assert (answer.status, answer.body) == (401, {"error": "invalid_api_key"})


async def test_the_token_beside_a_key_must_be_good(front: Front, other_shop: Shop) -> None:
    for token, status, error in (
        ("Bearer x", 401, "invalid or expired token"),
        ("Basic eDp5", 401, "invalid authorization format"),
        (f"Bearer {await other_shop.token(other_shop.caio)}", 403, "token not valid for this storefront"),
    ):
        answer = await front.get("store", headers={"Authorization": token})
        assert (answer.status, answer.body["error"]) == (status, error)


async def test_a_shoppers_token_gives_the_key_no_right(shop: Shop) -> None:
    front = (await open_front(shop, scopes=["storefront:read"])).signed_in(shop.owner)
    assert (await front.post("carts", {})).body["error"] == "missing_scope"
    assert (await front.get(f"products/{shop.secret.id}")).status == 404


async def test_a_key_has_its_own_limit_whoever_shops(shop: Shop) -> None:
    front = await open_front(shop, rate_limit=3)
    for shopper in (None, shop.caio, shop.bia):
        answer = await front.signed_in(shopper).get("store")
        assert (answer.status, answer.headers["X-RateLimit-Limit"]) == (200, "3")
    refused = await front.get("store")
    assert (refused.status, refused.body["error"]) == (429, "rate_limit_exceeded")
    assert refused.headers["Retry-After"] == "60"


async def test_a_key_of_another_store_is_unknown_here(front: Front, other_shop: Shop) -> None:
    answer = await front.get("store", at=other_shop)
    assert (answer.status, answer.body) == (401, {"error": "invalid_api_key"})
