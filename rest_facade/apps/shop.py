"""Be the routes of apps over the shop's records: the contract's table, App integration REST routes.

Lists are `{<collection>: [...], total, page, limit}` (decisions section 6, App lists). Every route takes an app's token alone; which
scope it needs is said by the root field of its operation.
"""

from __future__ import annotations

from collections.abc import Mapping

from resolvers.execute import FacadeOperation
from rest_facade import collections
from rest_facade.records import Records, order_status
from rest_facade.routing import Needs, Route

ADMIN, STOREFRONT = "/api/admin", "/api/storefront"

PRODUCTS = collections.PRODUCTS.listed(size="limit", always={"status": "A"})
ORDERS = collections.ORDERS.listed(size="limit")
USERS = collections.USERS.listed(size="limit")


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes."""
    products, orders, users = (
        Records(collection, "App", operations) for collection in (PRODUCTS, ORDERS, USERS)
    )
    return [
        Route("GET", f"{STOREFRONT}/products", products.list, Needs.APP),
        Route("GET", f"{STOREFRONT}/products/{{id}}", products.show, Needs.APP),
        Route("POST", f"{ADMIN}/products", products.create, Needs.APP, creates=True),
        Route("PUT", f"{ADMIN}/products/{{id}}", products.update, Needs.APP),
        Route("GET", f"{ADMIN}/orders", orders.list, Needs.APP),
        Route("GET", f"{ADMIN}/orders/{{id}}", orders.show, Needs.APP),
        Route(
            "PUT", f"{ADMIN}/orders/{{id}}/status", order_status(operations["AppOrderSetStatus"]), Needs.APP
        ),
        Route("GET", f"{ADMIN}/users", users.list, Needs.APP),
        Route("GET", f"{ADMIN}/users/{{id}}", users.show, Needs.APP),
    ]
