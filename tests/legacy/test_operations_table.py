"""Hold the mounted routes against the contract's table "Operations per entity", cell by cell.

Without a credential a route that is there answers 401, for that is asked before anything else; what is not there answers 405 with
`Allow` where the address has other methods, and 404 where it has none, both with the layer's error object.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.shop import Shop

BASES = ("/api", "/api/v1.0", "/api/2.0", "/api/2")
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
MISSING = "Authentication required. Use Basic with email and API key or a Bearer JWT."

# What an entity's two addresses take: the collection, and one record.
FIVE = ("GET POST", "GET PUT DELETE")
NO_UPDATE = ("GET POST", "GET DELETE")
NO_DELETE = ("GET POST", "GET PUT")
READ_ONLY = ("GET", "GET")
NO_SINGLE = ("GET POST", "")
NO_CREATION = ("GET", "GET PUT")

ENTITIES: dict[str, tuple[str, str]] = {
    "products": FIVE,
    "orders": FIVE,
    "users": FIVE,
    "categories": FIVE,
    "features": FIVE,
    "options": FIVE,
    "payments": FIVE,
    "shippings": FIVE,
    "taxes": FIVE,
    "pages": FIVE,
    "blocks": FIVE,
    "promotions": FIVE,
    "destinations": READ_ONLY,
    "languages": READ_ONLY,
    "settings": NO_CREATION,
    "subscribers": NO_UPDATE,
    "call_requests": NO_UPDATE,
    "shipments": FIVE,
    "statuses": FIVE,
    "usergroups": FIVE,
    "managers": FIVE,
    "combinations": FIVE,
    "exceptions": NO_UPDATE,
    "stores": FIVE,
    "vendors": FIVE,
    "discussions": NO_UPDATE,
    "business_partners": NO_DELETE,
    "payment_codes": NO_SINGLE,
    "mix_products": NO_SINGLE,
    "manager_transactions": NO_SINGLE,
    "extra_order_fields": ("", "PUT"),
    "warehouses": FIVE,
}
# Single addresses, of the table and of the parts of the contract that stand behind it.
ADDRESSES: dict[str, str] = {
    "products/1/discussions": "GET",
    "products/1/features": "GET",
    "users/1/usergroups": "GET",
    "users/1/usergroups/1": "PUT",
    "categories/1/products": "GET",
    "delivery_methods": "GET",
    "credit_score": "POST",
    "sellers_availability": "GET",
    "order_limit": "PUT",
    "notifications": "GET",
    "products/1/options/combinations": "GET POST",
    "products/1/options/combinations/1": "GET PUT DELETE",
    # To the router the last segment is a record's name too, which no record has.
    "products/1/options/combinations/batch": "GET POST PUT DELETE",
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
# Doors that ask for no credential: what they answer to an empty body.
DOORS = {"auth_tokens": "POST", "vendor_login": "POST PUT", "vendor_signup": "POST"}


def cells() -> Iterator[tuple[str, frozenset[str]]]:
    """Give every address of the tables with the methods that it takes."""
    for entity, (collection, single) in ENTITIES.items():
        yield entity, frozenset(collection.split())
        yield f"{entity}/1", frozenset(single.split())
    for address, methods in ADDRESSES.items():
        yield address, frozenset(methods.split())


CELLS = list(cells())


@pytest.mark.parametrize("address, methods", CELLS, ids=[address for address, _ in CELLS])
async def test_an_address_takes_what_the_table_says_and_nothing_else(
    shop: Shop, address: str, methods: frozenset[str]
) -> None:
    allowed = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
    for base in BASES:
        for method in METHODS:
            answer = await shop.call(method, f"{base}/{address}", auth=None)
            what = f"{method} {base}/{address}"
            if method in methods:
                assert (answer.status, answer.body) == (401, {"status": 401, "message": MISSING}), what
            elif methods:
                refused = {"status": 405, "message": "Method not allowed"}
                assert (answer.status, answer.body) == (405, refused), what
                assert answer.headers["Allow"] == allowed, what
            else:
                unknown = {"status": 404, "message": "Route not found"}
                assert (answer.status, answer.body) == (404, unknown), what


@pytest.mark.parametrize("address", DOORS)
async def test_a_door_takes_what_the_table_says_and_nothing_else(shop: Shop, address: str) -> None:
    methods = DOORS[address].split()
    for base in BASES:
        for method in METHODS:
            answer = await shop.call(method, f"{base}/{address}", {}, auth=None)
            if method in methods:
                # Only PUT vendor_login, which never tells whether an account exists, takes an empty body.
                assert answer.status in (200, 400), (method, base, answer.raw)
            else:
                assert answer.status == 405, (method, base)
                assert answer.headers["Allow"] == ", ".join(sorted(methods))
                assert answer.body == {"status": 405, "message": "Method not allowed"}


@pytest.mark.parametrize("entity", ENTITIES)
async def test_lists_and_records_of_the_table_answer_an_administrator(shop: Shop, entity: str) -> None:
    collection, single = ENTITIES[entity]
    if "GET" in collection.split():
        answer = await shop.get(f"/api/{entity}")
        assert answer.status == 200
        assert answer.body
    if "GET" in single.split():
        missing = await shop.get(f"/api/{entity}/9000000000000")
        assert (missing.status, missing.body["status"]) == (404, 404)
        assert missing.body["message"].endswith(" not found")
