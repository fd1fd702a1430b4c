"""Check the methods of every legacy address (docs/reference/legacy.md#addresses).

Without a credential an existing route answers 401, because authentication comes first. A missing one answers 405 with `Allow` where the
address has other methods and 404 where it has none, both in the legacy error format. Methods of one dialect: test_cscart_routes.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.sample_store import SampleStore

BASES = ("/api", "/api/v1.0", "/api/2.0", "/api/2")
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
MISSING = "Authentication required. Use Basic with email and API key or a Bearer JWT."

# The methods of an entity's collection and of its records.
ALL = ("GET POST", "GET PUT DELETE")
NO_UPDATE = ("GET POST", "GET DELETE")
NO_DELETE = ("GET POST", "GET PUT")
READ_ONLY = ("GET", "GET")
COLLECTION_ONLY = ("GET POST", "")
NO_CREATE = ("GET", "GET PUT")

ENTITIES: dict[str, tuple[str, str]] = {
    "products": ALL,
    "orders": ALL,
    "users": ALL,
    "categories": ALL,
    "features": ALL,
    "options": ALL,
    "payments": ALL,
    "shippings": ALL,
    "taxes": ALL,
    "pages": ALL,
    "blocks": ALL,
    "promotions": ALL,
    "destinations": READ_ONLY,
    "carts": READ_ONLY,
    "languages": READ_ONLY,
    "langvars": ALL,
    "settings": NO_CREATE,
    "subscribers": NO_UPDATE,
    "call_requests": NO_UPDATE,
    "shipments": ALL,
    "statuses": ALL,
    "usergroups": ALL,
    "managers": ALL,
    "combinations": ALL,
    "exceptions": NO_UPDATE,
    "stores": ALL,
    "vendors": ALL,
    "discussions": NO_UPDATE,
    "business_partners": NO_DELETE,
    "payment_codes": COLLECTION_ONLY,
    "mix_products": COLLECTION_ONLY,
    "manager_transactions": COLLECTION_ONLY,
    "extra_order_fields": ("", "PUT"),
    "warehouses": ALL,
}
# Other addresses.
ADDRESSES: dict[str, str] = {
    "products/1/discussions": "GET",
    "products/1/features": "GET",
    "product_variations": "GET POST",
    "product_variations/1": "GET PUT DELETE",
    "product_variations_groups": "GET POST",
    "product_variations_groups/1": "GET PUT DELETE",
    "product_variations/1/detach_product_variation": "POST",
    "product_variations/1/set_default_product_variation": "POST",
    "product_variations/1/generate_product_variations": "POST",
    "product_variations_groups/1/product_variations": "GET POST",
    "product_variations_groups/1/product_variations/1": "GET PUT DELETE",
    "users/1/usergroups": "GET",
    "users/1/usergroups/1": "GET PUT DELETE",
    "categories/1/products": "GET",
    "categories/1/products/1": "GET",
    "products/1/discussions/1": "GET",
    "products/1/features/1": "GET PUT DELETE",
    "features/1/variants": "GET",
    "languages/1/langvars": "GET POST",
    "languages/1/langvars/x": "GET PUT DELETE",
    "stores/1/products": "GET",
    "vendors/1/products": "GET",
    "stores/1/orders": "POST",
    "vendors/1/orders": "POST",
    "delivery_methods": "GET",
    "credit_score": "POST",
    "sellers_availability": "GET",
    "order_limit": "PUT",
    "notifications": "GET",
    "products/1/options/combinations": "GET POST",
    "products/1/options/combinations/1": "GET PUT DELETE",
    "products/1/options/combinations/batch": "POST",
    "warehouses/1/delivery_areas": "GET POST",
    "warehouses/1/delivery_areas/1": "PUT DELETE",
    "warehouses/1/user_groups": "GET POST",
    "warehouses/1/user_groups/1": "PUT DELETE",
    "productBoxes": "GET",
    "productBoxes/1": "GET",
    "productBoxesDescriptions": "GET",
    "productBoxesDescriptions/1": "GET",
    "vendor_start": "GET",
    "vendor_dashboard": "GET",
    "vendor_company": "GET PUT",
    "vendor_profile": "GET PUT",
    "vendor_categories": "GET",
    "vendor_products": "GET POST",
    "vendor_product": "POST",
    "vendor_product/1": "GET PUT",
    "vendor_product_options": "GET",
    "vendor_product_attachments": "GET",
    "vendor_required_products": "GET",
    "vendor_orders": "GET",
    "vendor_order/1": "GET PUT",
}
# Routes without authentication.
PUBLIC_ROUTES = {"auth_tokens": "POST", "vendor_login": "POST PUT", "vendor_signup": "POST"}


def address_methods() -> Iterator[tuple[str, frozenset[str]]]:
    """Yield every address with its methods."""
    for entity, (collection, single) in ENTITIES.items():
        yield entity, frozenset(collection.split())
        yield f"{entity}/1", frozenset(single.split())
    for address, methods in ADDRESSES.items():
        yield address, frozenset(methods.split())


ADDRESS_METHODS = list(address_methods())


@pytest.mark.parametrize("address, methods", ADDRESS_METHODS, ids=[address for address, _ in ADDRESS_METHODS])
async def test_an_address_accepts_exactly_its_methods(
    shared_sample: SampleStore, address: str, methods: frozenset[str]
) -> None:
    allowed = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
    for base in BASES:
        for method in METHODS:
            answer = await shared_sample.request(method, f"{base}/{address}", auth=None)
            request = f"{method} {base}/{address}"
            if method in methods:
                assert (answer.status, answer.body) == (401, {"status": 401, "message": MISSING}), (
                    base,
                    method,
                    request,
                )
            elif methods:
                refused = {"status": 405, "message": "Method not allowed"}
                assert (answer.status, answer.body) == (405, refused), (base, method, request)
                assert answer.headers["Allow"] == allowed, (base, method, request)
            else:
                unknown = {"status": 404, "message": "Route not found"}
                assert (answer.status, answer.body) == (404, unknown), (base, method, request)


@pytest.mark.parametrize("address", PUBLIC_ROUTES)
async def test_a_public_route_accepts_exactly_its_methods(sample: SampleStore, address: str) -> None:
    methods = PUBLIC_ROUTES[address].split()
    for base in BASES:
        for method in METHODS:
            answer = await sample.request(method, f"{base}/{address}", {}, auth=None)
            if method in methods:
                assert answer.status in (200, 400), (method, base, answer.raw)
            else:
                assert answer.status == 405, (method, base)
                assert answer.headers["Allow"] == ", ".join(sorted(methods)), (base, method)
                assert answer.body == {"status": 405, "message": "Method not allowed"}, (base, method)


@pytest.mark.parametrize("entity", ENTITIES)
async def test_lists_and_records_are_served_to_an_administrator(shared_sample: SampleStore, entity: str) -> None:
    collection, single = ENTITIES[entity]
    if "GET" in collection.split():
        answer = await shared_sample.get(f"/api/{entity}")
        assert answer.status == 200
        assert answer.body
    if "GET" in single.split():
        missing = await shared_sample.get(f"/api/{entity}/9000000000000")
        assert (missing.status, missing.body["status"]) == (404, 404)
        assert missing.body["message"].endswith(" not found")
