"""Describe the app integration routes for readers."""

from __future__ import annotations

from rest_facade.apps.shop import ADMIN, ORDERS, PRODUCTS, STOREFRONT, USERS
from rest_facade.described import Answer, Key, Told
from rest_facade.shop_described import STATUS_BODY, collection_routes, listing_query


def told() -> dict[Key, Told]:
    """Give the description of the routes over the shop's records."""
    products = collection_routes(PRODUCTS, "App", ADMIN)
    return {
        ("GET", f"{STOREFRONT}/products"): Told(
            "List products", Answer("AppProducts"), query=listing_query(PRODUCTS.listing)
        ),
        ("GET", f"{STOREFRONT}/products/{{id}}"): Told("Show one product", Answer("AppProduct", first=True)),
        ("POST", f"{ADMIN}/products"): products["POST", f"{ADMIN}/products"],
        ("PUT", f"{ADMIN}/products/{{id}}"): products["PUT", f"{ADMIN}/products/{{id}}"],
        **collection_routes(ORDERS, "App", ADMIN),
        ("PUT", f"{ADMIN}/orders/{{id}}/status"): Told(
            "Set the status of an order", Answer("AppOrderSetStatus"), body=STATUS_BODY
        ),
        **collection_routes(USERS, "App", ADMIN),
    }
