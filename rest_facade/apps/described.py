"""Describe the app integration routes for readers."""

from __future__ import annotations

from rest_facade.apps.shop import ADMIN, ORDERS, PRODUCTS, STOREFRONT, USERS
from rest_facade.apps.webhooks import PATH as WEBHOOKS
from rest_facade.deliveries_described import endpoint_routes
from rest_facade.described import TEXT, YES_NO, Answer, Key, Told, given
from rest_facade.shop_described import STATUS_BODY, collection_routes, listing_query


def told() -> dict[Key, Told]:
    """Give the description of every route of the family."""
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
        **endpoint_routes(WEBHOOKS, "App", "limit"),
        ("POST", f"{WEBHOOKS}/rotate-secret"): Told(
            "Give the app a new client secret for its present one",
            Answer("AppClientSecretRotate"),
            body=given("client_secret", client_secret=TEXT, immediate=YES_NO),
        ),
    }
