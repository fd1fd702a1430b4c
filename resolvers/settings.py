"""Answer questions about settings, which are no rows: they are read from the store in scope, sought and ordered here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import strawberry
from strawberry import UNSET, Info

from auth.access import Access
from domain import settings
from domain.settings import SettingRecord
from kernel.ids import parse_reference
from kernel.scope import Scope
from kernel.text import fold
from models.reading import Row
from resolvers.reads import DEFAULT_SIZE, MAX_PUBLIC
from resolvers.stores import as_it_is_now
from schema.fields import root
from schema.filters import window
from schema.inputs.settings import SettingFilter, SettingInput, SettingSort
from schema.scalars import Ident
from schema.types.settings import READ_SETTINGS, SettingObject, SettingPageObject

_WRITE = Access(privileges=("manage_settings",))
_DEFAULT_SORT = "section"


def _is_named(record: SettingRecord, named: list[str]) -> bool:
    return any(parse_reference(each) in (record.number, record.id) for each in named)


def _speaks_of(record: SettingRecord, text: str) -> bool:
    return fold(text) in fold(f"{record.name} {record.description}")


_CONDITIONS: Mapping[str, Callable[[SettingRecord, Any], bool]] = {
    "id": _is_named,
    "name": lambda record, names: record.name in names,
    "section": lambda record, sections: record.section in sections,
    "type": lambda record, types: record.type in types,
    "value": lambda record, values: record.value in values,
    "description": lambda record, texts: record.description in texts,
    "search": _speaks_of,
}


async def _found(scope: Scope, given: SettingFilter | None, sort: SettingSort | None) -> list[SettingRecord]:
    asked = {
        name: value
        for name in _CONDITIONS
        if given is not None and (value := getattr(given, name)) is not UNSET and value is not None
    }
    records = [
        record
        for record in await settings.settings_of(scope)
        if all(_CONDITIONS[name](record, value) for name, value in asked.items())
    ]
    order = str(sort.value) if sort is not None else _DEFAULT_SORT
    by = order.lstrip("-")
    return sorted(records, key=lambda each: (getattr(each, by), each.number), reverse=order.startswith("-"))


def _shown(record: SettingRecord) -> Any:
    return Row(asdict(record) | {"variants": [Row(value=each, name=each) for each in record.variants]})


@strawberry.type
class SettingQueries:
    """What can be asked about settings."""

    @root(READ_SETTINGS, "One setting by its id or name; null when there is none.")
    async def setting(self, info: Info, id: Ident) -> SettingObject | None:
        """Show a setting."""
        record = await settings.find_setting(info.context.scope, id)
        return _shown(record) if record is not None else None

    @root(READ_SETTINGS, "A list of the store's settings.")
    async def settings(
        self,
        info: Info,
        limit: int = DEFAULT_SIZE,
        offset: int = 0,
        filter: SettingFilter | None = None,
        sort: SettingSort | None = None,
    ) -> list[SettingObject]:
        """List settings."""
        window(limit, offset, MAX_PUBLIC)
        found = await _found(info.context.scope, filter, sort)
        return [_shown(record) for record in found[offset : offset + limit]]

    @root(READ_SETTINGS, "A numbered page of the store's settings, with their number.")
    async def setting_page(
        self,
        info: Info,
        page: int = 1,
        per_page: int = DEFAULT_SIZE,
        filter: SettingFilter | None = None,
        sort: SettingSort | None = None,
    ) -> SettingPageObject:
        """Show a page of settings."""
        window(per_page, 0, MAX_PUBLIC, "per_page")
        window(page, 0, 2**31 - 1, "page")
        page = max(page, 1)
        found = await _found(info.context.scope, filter, sort)
        start = (page - 1) * per_page
        items = [_shown(record) for record in found[start : start + per_page]]
        shown: Any = Row(items=items, total=len(found), page=page, per_page=per_page)
        return shown  # type: ignore[no-any-return]


@strawberry.type
class SettingMutations:
    """What can be done with settings."""

    @root(_WRITE, "Set a setting; a value it can't have is refused, and a secret's mask leaves it as it is.")
    async def setting_update(self, info: Info, id: Ident, input: SettingInput) -> SettingObject | None:
        """Set a setting."""
        scope = info.context.scope
        value = None if input.value is UNSET else input.value
        number = await settings.update_setting(scope, id, value)
        record = await settings.find_setting(await as_it_is_now(scope), number)
        return _shown(record) if record is not None else None


QUERIES = (SettingQueries,)
MUTATIONS = (SettingMutations,)
