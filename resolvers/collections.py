"""Resolve collections and tags of products."""

from __future__ import annotations

from typing import Any

from strawberry import Info

from auth.access import Access
from domain.catalog.collections import COLLECTION_RECORDS
from domain.catalog.read import PRODUCTS
from domain.search.tags import find_tags
from models.reading.queries import Row
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from schema.declaration import declare
from schema.fields import root_field
from schema.filters import check_filter_text
from schema.pagination import MAX_PAGE_SIZE, check_page_bounds
from schema.types.collections import CollectionCreateInput, CollectionInput, CollectionObject, ProductTagObject

_WRITE = Access(privileges=("manage_catalog",), app_scope="write_categories")


@declare
class TagQueries:
    """Queries of tags."""

    @root_field(PRODUCTS.visible.access)  # type: ignore[attr-defined]
    async def product_tags(self, info: Info, search: str | None = None, first: int = 100) -> list[ProductTagObject]:
        """Return the tags of products, those of the most products first; `search` is a part of them."""
        check_page_bounds(first, 0, MAX_PAGE_SIZE, "first")
        check_filter_text("search", search or "")
        tags: Any = [Row(tag) for tag in await find_tags(info.context.scope, search or "", first)]
        return tags  # type: ignore[no-any-return]


QUERIES = (build_entity_queries(CollectionObject), TagQueries)
MUTATIONS = (
    build_entity_mutations(
        CollectionObject,
        CollectionInput,
        COLLECTION_RECORDS,
        _WRITE,
        create_type=CollectionCreateInput,
        field_names={"product_ids": "products"},
    ),
)
