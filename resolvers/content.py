"""Assemble what can be asked and done about languages, pages and blocks."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.content import blocks, languages, pages
from domain.content.read import BLOCKS, LANGUAGES, PAGES
from models import reading
from models.reading import Where
from resolvers.reads import reads
from resolvers.writes import Writer, writes
from schema.fields import root
from schema.inputs.content import BlockInput, LanguageInput, PageInput
from schema.scalars import Ident, reference
from schema.selection import selection_below
from schema.types.content import BlockObject, LanguageObject, PageObject

_WRITE = Access(privileges=("manage_content",), app_scope="write_content")


def _page(given: dict[str, Any]) -> dict[str, Any]:
    return {name: None if name == "parent" and value == "0" else value for name, value in given.items()}


LANGUAGE_WRITER = Writer(
    create=languages.create_language,
    update=languages.update_language,
    delete=languages.delete_language,
    access=_WRITE,
    texts=("Add a language.", "Change a language.", "Delete a language that is not the only one."),
)
PAGE_WRITER = Writer(
    create=pages.create_page,
    update=pages.update_page,
    delete=pages.delete_page,
    access=_WRITE,
    words={"parent_id": "parent", "vendor_id": "vendor"},
    adjust=_page,
    texts=(
        "Make a page.",
        "Change a page; it can't be moved below itself.",
        "Delete a page; those below it move up to where it stood.",
    ),
)
BLOCK_WRITER = Writer(
    create=blocks.create_block,
    update=blocks.update_block,
    delete=blocks.delete_block,
    access=_WRITE,
    texts=("Make a block.", "Change a block.", "Delete a block."),
)


@strawberry.type
class LanguageQueries:
    """How else a language is found."""

    @root(
        LANGUAGES.visible.access,  # type: ignore[attr-defined]
        "One language by its id or its code.",
        internal=True,
    )
    async def language_named(self, info: Info, id: Ident) -> LanguageObject | None:
        """Find a language as the legacy layer names it."""
        known = reference(id)
        condition = Where("t.code = {}", (id.lower(),)) if known is None else reading.by_reference(known)
        found: Any = await reading.one_where(info.context.scope, selection_below(info), condition)
        return found  # type: ignore[no-any-return]


QUERIES = (
    LanguageQueries,
    reads(LanguageObject, LANGUAGES, "language", "languages"),
    reads(PageObject, PAGES, "page", "pages"),
    reads(BlockObject, BLOCKS, "block", "blocks"),
)
MUTATIONS = (
    writes(LanguageObject, LANGUAGES, "language", LanguageInput, LANGUAGE_WRITER),
    writes(PageObject, PAGES, "page", PageInput, PAGE_WRITER),
    writes(BlockObject, BLOCKS, "block", BlockInput, BLOCK_WRITER),
)
