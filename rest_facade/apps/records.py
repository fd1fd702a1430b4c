"""List the app routes for products, orders and users.

Lists are `{<collection>: [...], total, page, limit}` (docs/reference/apps.md#lists). Every route requires an app token; the root
field of its operation checks the scope.
"""

from __future__ import annotations

from collections.abc import Mapping

from resolvers.execute import FacadeOperation
from rest_facade import collections
from rest_facade.records import CollectionHandlers, order_status_handler
from rest_facade.routing import Credential, Route

ADMIN, STOREFRONT = "/api/admin", "/api/storefront"

PRODUCTS = collections.PRODUCTS.with_listing(size_parameter="limit", only_listed=True)
ORDERS = collections.ORDERS.with_listing(size_parameter="limit")
USERS = collections.USERS.with_listing(size_parameter="limit")


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes."""
    products, orders, users = (
        CollectionHandlers(collection, "App", operations) for collection in (PRODUCTS, ORDERS, USERS)
    )
    return [
        Route("GET", f"{STOREFRONT}/products", products.list, Credential.APP),
        Route("GET", f"{STOREFRONT}/products/{{id}}", products.show, Credential.APP),
        Route("POST", f"{ADMIN}/products", products.create, Credential.APP, creates=True),
        Route("PUT", f"{ADMIN}/products/{{id}}", products.update, Credential.APP),
        Route("GET", f"{ADMIN}/orders", orders.list, Credential.APP),
        Route("GET", f"{ADMIN}/orders/{{id}}", orders.show, Credential.APP),
        Route(
            "PUT",
            f"{ADMIN}/orders/{{id}}/status",
            order_status_handler(operations["AppOrderSetStatus"]),
            Credential.APP,
        ),
        Route("GET", f"{ADMIN}/users", users.list, Credential.APP),
        Route("GET", f"{ADMIN}/users/{{id}}", users.show, Credential.APP),
    ]
