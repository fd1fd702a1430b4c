"""Resolve languages, pages and blocks."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.content.blocks import BLOCK_RECORDS
from domain.content.languages import LANGUAGE_RECORDS
from domain.content.pages import PAGE_RECORDS
from domain.content.read import BLOCKS, LANGUAGES, PAGES
from models import row_reads
from models.queries import Condition, by_id
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from schema.fields import root_field
from schema.inputs.content import BlockInput, LanguageInput, PageInput
from schema.scalars import ID, parse_id
from schema.selection import requested_shape
from schema.types.content import BlockObject, LanguageObject, PageObject

_WRITE = Access(privileges=("manage_content",), app_scope="write_content")


def _page_fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: None if name == "parent" and value == "0" else value for name, value in fields.items()}


@strawberry.type
class LanguageQueries:
    """Further queries about languages."""

    @root_field(
        LANGUAGES.visible.access,  # type: ignore[attr-defined]
        "Returns a language by ID or code.",
        internal=True,
    )
    async def language_named(self, info: Info, id: ID) -> LanguageObject | None:
        """Find a language by id or code, as in the legacy API."""
        reference = parse_id(id)
        condition = Condition("t.code = {}", (id.lower(),)) if reference is None else by_id(reference)
        record: Any = await row_reads.fetch_first(info.context.scope, requested_shape(info), condition)
        return record  # type: ignore[no-any-return]


QUERIES = (
    LanguageQueries,
    build_entity_queries(LanguageObject, LANGUAGES, "language", "languages"),
    build_entity_queries(PageObject, PAGES, "page", "pages"),
    build_entity_queries(BlockObject, BLOCKS, "block", "blocks"),
)
MUTATIONS = (
    build_entity_mutations(
        LanguageObject,
        "language",
        LanguageInput,
        LANGUAGE_RECORDS,
        _WRITE,
        create_description="Add a language.",
        delete_description="Delete a language; the last one can't be deleted.",
    ),
    build_entity_mutations(
        PageObject,
        "page",
        PageInput,
        PAGE_RECORDS,
        _WRITE,
        field_names={"parent_id": "parent", "vendor_id": "vendor"},
        transform=_page_fields,
        update_description="Update a page; it can't be moved below itself.",
        delete_description="Delete a page; its subpages move to its parent.",
    ),
    build_entity_mutations(BlockObject, "block", BlockInput, BLOCK_RECORDS, _WRITE),
)
