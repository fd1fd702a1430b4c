"""Resolve languages, language variables, pages, blocks, redirects and menus."""

from __future__ import annotations

from typing import Any

from strawberry import Info

from auth.access import Access
from domain.content.blocks import BLOCK_RECORDS
from domain.content.language_variables import (
    LANGUAGE_VARIABLE_RECORDS,
    delete_language_variables,
    find_language_variable,
    put_language_variable,
)
from domain.content.languages import LANGUAGE_RECORDS, default_language
from domain.content.menus import MENU_RECORDS
from domain.content.pages import PAGE_RECORDS
from domain.content.read import LANGUAGE_VARIABLES, LANGUAGES
from domain.content.redirects import REDIRECT_RECORDS
from kernel.errors import NotFound
from models.reading import row_reads
from models.reading.queries import Condition, by_id
from resolvers.engine.complete import load_record
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import DeletedRecordObject, deleted_record
from schema.declaration import declare
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.scalars import ID, parse_id
from schema.selection import requested_shape
from schema.types.content import (
    BlockInput,
    BlockObject,
    LanguageInput,
    LanguageObject,
    LanguageVariableInput,
    LanguageVariableObject,
    PageInput,
    PageObject,
)
from schema.types.menus import MenuCreateInput, MenuInput, MenuObject
from schema.types.redirects import RedirectCreateInput, RedirectInput, RedirectObject

_WRITE = Access(privileges=("manage_content",), app_scope="write_content")


def _page_fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: None if name == "parent" and value == "0" else value for name, value in fields.items()}


@declare
class LanguageQueries:
    """Further queries about languages."""

    @root_field(Access(anonymous=True), internal=True)
    async def default_language(self, info: Info) -> str:
        """Return the code of the store's first language, in which the texts of its records are."""
        return await default_language(info.context.scope)

    @root_field(LANGUAGES.visible.access, internal=True)  # type: ignore[attr-defined]
    async def language_named(self, info: Info, id: ID) -> LanguageObject | None:
        """Return a language by ID or code."""
        reference = parse_id(id)
        condition = Condition("t.code = {}", (id.lower(),)) if reference is None else by_id(reference)
        record: Any = await row_reads.fetch_first(info.context.scope, requested_shape(info), condition)
        return record  # type: ignore[no-any-return]


@declare
class LanguageVariableQueries:
    """Further queries about language variables."""

    @root_field(LANGUAGE_VARIABLES.visible.access, internal=True)  # type: ignore[attr-defined]
    async def language_variable_named(
        self, info: Info, id: ID, lang_code: str | None = None
    ) -> LanguageVariableObject | None:
        """Return a language variable by ID, or by name in a language."""
        scope = info.context.scope
        try:
            condition = by_id(await find_language_variable(scope, id, lang_code))
        except NotFound:
            return None
        record: Any = await row_reads.fetch_first(scope, requested_shape(info), condition)
        return record  # type: ignore[no-any-return]


@declare
class LanguageVariableMutations:
    """Mutations of language variables by name, for the legacy API."""

    @root_field(_WRITE, internal=True)
    async def language_variable_named_update(
        self,
        info: Info,
        id: ID,
        input: LanguageVariableInput,
        lang_code: str | None = None,
        creates: bool | None = None,
    ) -> LanguageVariableObject | None:
        """Update a language variable, named by ID, or by name in a language; `creates`: create the one of that name."""
        scope, fields = info.context.scope, provided_fields(input)
        if creates:
            number = await put_language_variable(scope, id, lang_code, fields)
        else:
            subject = await find_language_variable(scope, id, lang_code)
            number = await LANGUAGE_VARIABLE_RECORDS.update(scope, subject, fields)
        return await load_record(info, number)  # type: ignore[no-any-return]

    @root_field(_WRITE, internal=True)
    async def language_variable_named_delete(
        self, info: Info, id: ID, lang_code: str | None = None, in_all: bool | None = None
    ) -> DeletedRecordObject:
        """Delete a language variable, named by ID, or by name in a language; `in_all`: without a language in all of them."""
        scope = info.context.scope
        if in_all and lang_code is None and parse_id(id) is None:
            await delete_language_variables(scope, id)
        else:
            await LANGUAGE_VARIABLE_RECORDS.delete(scope, await find_language_variable(scope, id, lang_code))
        return deleted_record(id)  # type: ignore[no-any-return]


QUERIES = (
    LanguageVariableQueries,
    build_entity_queries(LanguageVariableObject),
    LanguageQueries,
    build_entity_queries(LanguageObject),
    build_entity_queries(PageObject),
    build_entity_queries(BlockObject),
    build_entity_queries(RedirectObject),
    build_entity_queries(MenuObject),
)
MUTATIONS = (
    LanguageVariableMutations,
    build_entity_mutations(LanguageVariableObject, LanguageVariableInput, LANGUAGE_VARIABLE_RECORDS, _WRITE),
    build_entity_mutations(
        LanguageObject,
        LanguageInput,
        LANGUAGE_RECORDS,
        _WRITE,
        create_description="Add a language.",
        delete_description="Delete a language; the last one can't be deleted.",
    ),
    build_entity_mutations(
        PageObject,
        PageInput,
        PAGE_RECORDS,
        _WRITE,
        transform=_page_fields,
        update_description="Update a page; it can't be moved below itself.",
        delete_description="Delete a page; its subpages move to its parent.",
    ),
    build_entity_mutations(BlockObject, BlockInput, BLOCK_RECORDS, _WRITE),
    build_entity_mutations(RedirectObject, RedirectInput, REDIRECT_RECORDS, _WRITE, create_type=RedirectCreateInput),
    build_entity_mutations(
        MenuObject,
        MenuInput,
        MENU_RECORDS,
        _WRITE,
        create_type=MenuCreateInput,
        update_description="Update a menu; omitted fields stay unchanged, `items` replace all of its items.",
    ),
)
