"""Import records of another marketplace, one batch per mutation (internal: for the importers)."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.imports import catalog, orders, people, reviews
from schema.fields import root_field
from schema.scalars import JSON

_SYSTEM = Access(admin=False, note="Importers run in process.")


@strawberry.type
class ImportMutations:
    """Import mutations; `source` names the origin, `rows` are records as defined in `domain.imports`."""

    @root_field(_SYSTEM, internal=True)
    async def import_vendors(self, info: Info, source: str, rows: JSON) -> int:
        """Import vendors; returns the number of created records."""
        return await people.import_vendors(info.context.scope, source, _rows(rows))

    @root_field(_SYSTEM, internal=True)
    async def import_customers(self, info: Info, source: str, rows: JSON, events: bool = False) -> int:
        """Import customers; returns the number of created records."""
        return await people.import_customers(info.context.scope, source, _rows(rows), emit_events=events)

    @root_field(_SYSTEM, internal=True)
    async def import_categories(self, info: Info, source: str, rows: JSON) -> int:
        """Import categories; returns the number of created records."""
        return await catalog.import_categories(info.context.scope, source, _rows(rows))

    @root_field(_SYSTEM, internal=True)
    async def import_products(self, info: Info, source: str, rows: JSON, events: bool = False) -> int:
        """Import products; returns the number of created records."""
        return await catalog.import_products(info.context.scope, source, _rows(rows), emit_events=events)

    @root_field(_SYSTEM, internal=True)
    async def import_orders(self, info: Info, source: str, rows: JSON, events: bool = False) -> int:
        """Import orders; returns the number of created records."""
        return await orders.import_orders(info.context.scope, source, _rows(rows), emit_events=events)

    @root_field(_SYSTEM, internal=True)
    async def import_reviews(self, info: Info, source: str, rows: JSON) -> int:
        """Import reviews; returns the number of created records."""
        return await reviews.import_reviews(info.context.scope, source, _rows(rows))


def _rows(rows: Any) -> list[dict[str, Any]]:
    return list(rows)


MUTATIONS = (ImportMutations,)
