"""Admin routes over a store with data created through other APIs."""

from tests.harness.product_records import DEFAULTS
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import unused_ip

ADMIN = "/api/v1/admin"


async def test_a_vendor_product_has_every_field(sample: SampleStore) -> None:
    shown = (await sample.get(f"{ADMIN}/products/{sample.mug.id}", auth="bearer")).body
    assert {name: shown[name] for name in shown.keys() - {"created_at", "updated_at"}} == DEFAULTS | {
        "id": sample.mug.id,
        "name": "Caneca de Ágata",
        "sku": "CAN-1",
        "slug": "caneca-de-agata",
        "description": "<p>Esmaltada</p>",
        "short_description": "Uma caneca",
        "price_cents": 4_990,
        "compare_at_cents": 5_990,
        "stock": 47,
        "weight_grams": 350,
        "category_id": sample.kitchen.id,
        "category": {"id": sample.kitchen.id, "name": "Cozinha"},
        "images": [
            {"url": "https://img.example.com/caneca.jpg", "alt": "Caneca"},
            {"url": "https://img.example.com/caneca-2.jpg", "alt": ""},
        ],
    }


async def test_an_order_of_two_vendors_has_all_items(sample: SampleStore) -> None:
    shown = (await sample.get(f"{ADMIN}/orders/{sample.shared_order.id}", auth="bearer")).body
    assert shown["items"] == [
        {"product_id": sample.mug.id, "name": "Caneca de Ágata", "quantity": 1, "price_cents": 4_990},
        {"product_id": sample.plate.id, "name": "Prato Raso", "quantity": 3, "price_cents": 2_500},
    ]
    assert shown["subtotal_cents"] == 12_490
    assert shown["total_cents"] == 12_490 + shown["shipping_cents"]
    assert shown["customer"] == {"id": sample.bia.id, "name": "Bia Lima", "email": "bia@example.com"}


async def test_the_owner_has_all_privileges_and_other_users_do_not(sample: SampleStore) -> None:
    for path in ("products", "categories", "orders", "users", "customers"):
        assert (await sample.get(f"{ADMIN}/{path}", auth="bearer")).status == 200
        for person in (sample.vendor_user, sample.caio):
            answer = await sample.get(f"{ADMIN}/{path}", auth="bearer", by=person)
            assert (answer.status, answer.body) == (403, {"error": "insufficient permissions"}), (path, person)
        staff = await sample.get(f"{ADMIN}/{path}", auth="bearer", by=sample.staff)
        assert staff.status == (200 if path == "orders" else 403)
    # API keys are accepted only by the legacy API.
    answer = await sample.get(f"{ADMIN}/products", auth="basic")
    assert (answer.status, answer.body) == (401, {"error": "invalid authorization format"})


async def test_the_store_host_needs_no_tenant_header(sample: SampleStore, other_sample: SampleStore) -> None:
    token = f"Bearer {await sample.token(sample.owner)}"
    own = {"Host": sample.host, "Authorization": token, "X-Forwarded-For": unused_ip()}
    response = await sample.http.get(f"{ADMIN}/products/{sample.mug.id}", headers=own)
    assert response.status == 200
    response = await sample.http.get(f"{ADMIN}/products", headers=own | {"Host": other_sample.host})
    assert (response.status, await response.json()) == (403, {"error": "token not valid for this storefront"})
    headers = own | {"X-Tenant-ID": str(other_sample.store.public_id)}
    response = await sample.http.get(f"{ADMIN}/products", headers=headers)
    assert (response.status, await response.json()) == (403, {"error": "token not valid for this storefront"})
    response = await sample.http.post("/api/v1/auth/login", headers=headers, json={})
    assert (response.status, await response.json()) == (404, {"error": "tenant not found"})


async def test_reactivating_an_order_without_stock_is_rejected(sample: SampleStore) -> None:
    status = f"{ADMIN}/orders/{sample.order.id}/status"
    assert (await sample.put(status, {"status": "D"}, auth="bearer")).status == 200
    product = f"{ADMIN}/products/{sample.mug.id}"
    assert (await sample.patch(product, {"stock": 1}, auth="bearer")).body["stock"] == 1
    answer = await sample.put(status, {"status": "paid"}, auth="bearer")
    assert (answer.status, answer.body["error"]) == (422, "out_of_stock")
    assert (await sample.get(product, auth="bearer")).body["stock"] == 1
    assert (await sample.patch(product, {"stock": 2}, auth="bearer")).status == 200
    assert (await sample.put(status, {"status": "paid"}, auth="bearer")).body["status"] == "P"
    assert (await sample.get(product, auth="bearer")).body["stock"] == 0
