"""Tell about the store in scope."""

from __future__ import annotations

import strawberry
from strawberry import Info

from auth.access import Access
from models.reading import Row
from schema.fields import root
from schema.types.stores import Store

_ANYBODY = Access(vendor=True, customer=True, app_scope=None, storefront="storefront:read", anonymous=True)


@strawberry.type
class StoreQueries:
    """The store's root field."""

    @root(_ANYBODY, "The store that answers.")
    async def store(self, info: Info) -> Store:
        """Show the store in scope."""
        scope = info.context.scope
        store = scope.store
        settings = dict(store.settings) if scope.actor.holds("view_settings") else None
        return Row(id=store.public_id, name=store.name, currency=store.currency, status=store.status, settings=settings)  # type: ignore[return-value]


QUERIES = (StoreQueries,)
