"""List the admin routes of collections, `/api/v1/admin` (docs/reference/current.md#admin-records).

Lists are `{<collection>: [...], total, page, per_page}`. Administrators and apps may call them, according to their privileges and
scopes.
"""

from __future__ import annotations

from collections.abc import Mapping

from resolvers.execute import FacadeOperation
from rest_facade.collections import COLLECTIONS
from rest_facade.records import CollectionHandlers, order_status_handler
from rest_facade.routing import Credential, Route

PREFIX = "/api/v1/admin"


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes of every collection."""
    listed: list[Route] = []
    for collection in COLLECTIONS:
        records = CollectionHandlers(collection, "Admin", operations)
        listed += records.routes(f"{PREFIX}/{collection.name}", Credential.ADMIN)
    set_status = order_status_handler(operations["AdminOrderSetStatus"])
    return [*listed, Route("PUT", f"{PREFIX}/orders/{{id}}/status", set_status, Credential.ADMIN)]
