"""Admin routes over a store with data created through other APIs."""

from tests.product_records import DEFAULTS
from tests.shop import Shop

ADMIN = "/api/v1/admin"


async def test_a_vendor_product_has_every_field(shop: Shop) -> None:
    shown = (await shop.get(f"{ADMIN}/products/{shop.mug.id}", auth="bearer")).body
    assert {name: shown[name] for name in shown.keys() - {"created_at", "updated_at"}} == DEFAULTS | {
        "id": shop.mug.id,
        "name": "Caneca de Ágata",
        "sku": "CAN-1",
        "slug": "caneca-de-agata",
        "description": "<p>Esmaltada</p>",
        "short_description": "Uma caneca",
        "price_cents": 4_990,
        "compare_at_cents": 5_990,
        "stock": 47,
        "category_id": shop.kitchen.id,
        "category": {"id": shop.kitchen.id, "name": "Cozinha"},
        "images": [
            {"url": "https://img.example.com/caneca.jpg", "alt": "Caneca"},
            {"url": "https://img.example.com/caneca-2.jpg", "alt": ""},
        ],
    }


async def test_an_order_of_two_vendors_has_all_items(shop: Shop) -> None:
    shown = (await shop.get(f"{ADMIN}/orders/{shop.shared_order.id}", auth="bearer")).body
    assert shown["items"] == [
        {"product_id": shop.mug.id, "name": "Caneca de Ágata", "quantity": 1, "price_cents": 4_990},
        {"product_id": shop.plate.id, "name": "Prato Raso", "quantity": 3, "price_cents": 2_500},
    ]
    assert shown["subtotal_cents"] == 12_490
    assert shown["total_cents"] == 12_490 + shown["shipping_cents"]
    assert shown["customer"] == {"id": shop.bia.id, "name": "Bia Lima", "email": "bia@example.com"}


async def test_the_owner_has_all_privileges_and_other_users_do_not(shop: Shop) -> None:
    for path in ("products", "categories", "orders", "users", "customers"):
        assert (await shop.get(f"{ADMIN}/{path}", auth="bearer")).status == 200
        for person in (shop.seller, shop.caio):
            answer = await shop.get(f"{ADMIN}/{path}", auth="bearer", by=person)
            assert (answer.status, answer.body) == (403, {"error": "insufficient permissions"})
        staff = await shop.get(f"{ADMIN}/{path}", auth="bearer", by=shop.staff)
        assert staff.status == (200 if path == "orders" else 403)
    # API keys are accepted only by the legacy API.
    answer = await shop.get(f"{ADMIN}/products", auth="basic")
    assert (answer.status, answer.body) == (401, {"error": "invalid authorization format"})


async def test_the_store_host_needs_no_tenant_header(shop: Shop, other_shop: Shop) -> None:
    token = f"Bearer {await shop.token(shop.owner)}"
    own = {"Host": shop.host, "Authorization": token}
    response = await shop.client.get(f"{ADMIN}/products/{shop.mug.id}", headers=own)
    assert response.status == 200
    response = await shop.client.get(f"{ADMIN}/products", headers=own | {"Host": other_shop.host})
    assert (response.status, await response.json()) == (403, {"error": "token not valid for this storefront"})
    headers = own | {"X-Tenant-ID": str(other_shop.store.public_id)}
    response = await shop.client.get(f"{ADMIN}/products", headers=headers)
    assert (response.status, await response.json()) == (403, {"error": "token not valid for this storefront"})
    response = await shop.client.post("/api/v1/auth/login", headers=headers, json={})
    assert (response.status, await response.json()) == (404, {"error": "tenant not found"})


async def test_reactivating_an_order_without_stock_is_rejected(shop: Shop) -> None:
    status = f"{ADMIN}/orders/{shop.order.id}/status"
    assert (await shop.put(status, {"status": "D"}, auth="bearer")).status == 200
    product = f"{ADMIN}/products/{shop.mug.id}"
    assert (await shop.patch(product, {"stock": 1}, auth="bearer")).body["stock"] == 1
    answer = await shop.put(status, {"status": "paid"}, auth="bearer")
    assert (answer.status, answer.body["error"]) == (422, "out_of_stock")
    assert (await shop.get(product, auth="bearer")).body["stock"] == 1
    assert (await shop.patch(product, {"stock": 2}, auth="bearer")).status == 200
    assert (await shop.put(status, {"status": "paid"}, auth="bearer")).body["status"] == "P"
    assert (await shop.get(product, auth="bearer")).body["stock"] == 0
