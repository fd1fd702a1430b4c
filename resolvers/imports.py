"""Take over a marketplace, a batch a mutation (internal: importers run inside the program)."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.imports import catalogue, orders, people, reviews
from schema.fields import root
from schema.scalars import Json

_SYSTEM = Access(admin=False, note="Importers run inside the program.")


@strawberry.type
class ImportMutations:
    """Batches of records from elsewhere; `source` names where, `rows` are the plain records that `domain.imports` describes."""

    @root(_SYSTEM, "Import vendors; answers how many were new.", internal=True)
    async def import_vendors(self, info: Info, source: str, rows: Json) -> int:
        """Import vendors."""
        return await people.import_vendors(info.context.scope, source, _rows(rows))

    @root(_SYSTEM, "Import customers; answers how many were new.", internal=True)
    async def import_customers(self, info: Info, source: str, rows: Json, events: bool = False) -> int:
        """Import customers."""
        return await people.import_customers(info.context.scope, source, _rows(rows), told=events)

    @root(_SYSTEM, "Import categories; answers how many were new.", internal=True)
    async def import_categories(self, info: Info, source: str, rows: Json) -> int:
        """Import categories."""
        return await catalogue.import_categories(info.context.scope, source, _rows(rows))

    @root(_SYSTEM, "Import products; answers how many were new.", internal=True)
    async def import_products(self, info: Info, source: str, rows: Json, events: bool = False) -> int:
        """Import products."""
        return await catalogue.import_products(info.context.scope, source, _rows(rows), told=events)

    @root(_SYSTEM, "Import orders; answers how many were new.", internal=True)
    async def import_orders(self, info: Info, source: str, rows: Json, events: bool = False) -> int:
        """Import orders."""
        return await orders.import_orders(info.context.scope, source, _rows(rows), told=events)

    @root(_SYSTEM, "Import reviews; answers how many were new.", internal=True)
    async def import_reviews(self, info: Info, source: str, rows: Json) -> int:
        """Import reviews."""
        return await reviews.import_reviews(info.context.scope, source, _rows(rows))


def _rows(given: Any) -> list[dict[str, Any]]:
    return list(given)


MUTATIONS = (ImportMutations,)
