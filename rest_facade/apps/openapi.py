"""Describe the app integration routes for readers."""

from __future__ import annotations

from rest_facade.apps.shop import ADMIN, ORDERS, PRODUCTS, STOREFRONT, USERS
from rest_facade.apps.webhooks import PATH as WEBHOOKS
from rest_facade.openapi import TEXT, YES_NO, Key, OperationResult, RouteDocs, given
from rest_facade.shop_described import STATUS_BODY, collection_routes, listing_query
from rest_facade.webhooks_openapi import endpoint_routes


def told() -> dict[Key, RouteDocs]:
    """Give the description of every route of the family."""
    products = collection_routes(PRODUCTS, "App", ADMIN)
    return {
        ("GET", f"{STOREFRONT}/products"): RouteDocs(
            "List products", OperationResult("AppProducts"), query=listing_query(PRODUCTS.listing)
        ),
        ("GET", f"{STOREFRONT}/products/{{id}}"): RouteDocs(
            "Show one product", OperationResult("AppProduct", first=True)
        ),
        ("POST", f"{ADMIN}/products"): products["POST", f"{ADMIN}/products"],
        ("PUT", f"{ADMIN}/products/{{id}}"): products["PUT", f"{ADMIN}/products/{{id}}"],
        **collection_routes(ORDERS, "App", ADMIN),
        ("PUT", f"{ADMIN}/orders/{{id}}/status"): RouteDocs(
            "Set the status of an order", OperationResult("AppOrderSetStatus"), body=STATUS_BODY
        ),
        **collection_routes(USERS, "App", ADMIN),
        **endpoint_routes(WEBHOOKS, "App", "limit"),
        ("POST", f"{WEBHOOKS}/rotate-secret"): RouteDocs(
            "Give the app a new client secret for its present one",
            OperationResult("AppClientSecretRotate"),
            body=given("client_secret", client_secret=TEXT, immediate=YES_NO),
        ),
    }
