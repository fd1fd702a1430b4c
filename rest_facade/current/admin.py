"""Be the administrative routes over the shop's records, `/api/v1/admin` (decisions section 6).

Lists are `{<collection>: [...], total, page, per_page}`. Administrators and apps alike are let in, as far as their rights go.
"""

from __future__ import annotations

from collections.abc import Mapping

from resolvers.execute import FacadeOperation
from rest_facade.collections import COLLECTIONS, Collection
from rest_facade.records import Records, order_status
from rest_facade.routing import Needs, Route

PREFIX = "/api/v1/admin"


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the routes of every collection."""
    found: list[Route] = []
    for collection in COLLECTIONS:
        found += _routes_of(collection, operations)
    set_status = order_status(operations["AdminOrderSetStatus"])
    return [*found, Route("PUT", f"{PREFIX}/orders/{{id}}/status", set_status, Needs.ADMIN)]


def _routes_of(collection: Collection, operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List a collection's routes: lists and single records always, changes where it takes them."""
    records = Records(collection, "Admin", operations)
    all_, single = f"{PREFIX}/{collection.name}", f"{PREFIX}/{collection.name}/{{id}}"
    reads = [Route("GET", all_, records.list, Needs.ADMIN), Route("GET", single, records.show, Needs.ADMIN)]
    if not collection.body:
        return reads
    return [
        *reads,
        Route("POST", all_, records.create, Needs.ADMIN, creates=True),
        # Both partial (decisions section 6).
        Route("PUT", single, records.update, Needs.ADMIN),
        Route("PATCH", single, records.update, Needs.ADMIN),
        Route("DELETE", single, records.delete, Needs.ADMIN),
    ]
