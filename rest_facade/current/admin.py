"""List the admin routes of collections, `/api/v1/admin` (docs/reference/current.md#admin-records).

Lists are `{<collection>: [...], total, page, per_page}`. Administrators and apps may call them, according to their privileges and
scopes.
"""

from __future__ import annotations

from collections.abc import Mapping

from resolvers.execute import FacadeOperation
from rest_facade.collections import COLLECTIONS, Collection
from rest_facade.records import CollectionHandlers, order_status_handler
from rest_facade.routing import Credential, Route

PREFIX = "/api/v1/admin"


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes of every collection."""
    collection_routes: list[Route] = []
    for collection in COLLECTIONS:
        collection_routes += _routes_of(collection, operations)
    set_status = order_status_handler(operations["AdminOrderSetStatus"])
    return [*collection_routes, Route("PUT", f"{PREFIX}/orders/{{id}}/status", set_status, Credential.ADMIN)]


def _routes_of(collection: Collection, operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List a collection's routes: always reads, and writes if it has writable fields."""
    records = CollectionHandlers(collection, "Admin", operations)
    base, single = f"{PREFIX}/{collection.name}", f"{PREFIX}/{collection.name}/{{id}}"
    reads = [Route("GET", base, records.list, Credential.ADMIN), Route("GET", single, records.show, Credential.ADMIN)]
    if not collection.body:
        return reads
    return [
        *reads,
        Route("POST", base, records.create, Credential.ADMIN, creates=True),
        # Both are partial updates.
        Route("PUT", single, records.update, Credential.ADMIN),
        Route("PATCH", single, records.update, Credential.ADMIN),
        Route("DELETE", single, records.delete, Credential.ADMIN),
    ]
