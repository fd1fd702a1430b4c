"""Resolve settings; they are loaded with the store, not from a table, and filtered and sorted in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from strawberry import UNSET, Info

from auth.access import Access
from domain import settings
from domain.settings import SettingRecord
from kernel.ids import parse_reference
from kernel.scope import Scope
from kernel.text import fold
from models.reading.queries import Row
from resolvers.stores import reload_store
from schema.declaration import declare
from schema.fields import root_field
from schema.filters import check_filter_size, check_filter_text
from schema.pagination import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, check_page_bounds
from schema.scalars import ID
from schema.types.stores import (
    READ_SETTINGS,
    SettingFilter,
    SettingInput,
    SettingObject,
    SettingPageObject,
    SettingSort,
)

_WRITE = Access(privileges=("manage_settings",))
_DEFAULT_SORT = "section"


def _is_named(record: SettingRecord, ids: list[str]) -> bool:
    return any(parse_reference(value) in (record.number, record.id) for value in ids)


def _contains_text(record: SettingRecord, text: str) -> bool:
    return fold(text) in fold(f"{record.name} {record.description}")


_CONDITIONS: Mapping[str, Callable[[SettingRecord, Any], bool]] = {
    "id": _is_named,
    "name": lambda record, names: record.name in names,
    "section": lambda record, sections: record.section in sections,
    "type": lambda record, types: record.type in types,
    "value": lambda record, values: record.value in values,
    "description": lambda record, texts: record.description in texts,
    "search": _contains_text,
}


async def _find_settings(scope: Scope, filter: SettingFilter | None, sort: SettingSort | None) -> list[SettingRecord]:
    conditions = {
        name: value
        for name in _CONDITIONS
        if filter is not None and (value := getattr(filter, name)) is not UNSET and value is not None
    }
    for name, value in conditions.items():
        if isinstance(value, list):
            check_filter_size(name, value)
        if name != "id":
            check_filter_text(name, value)
    records = [
        record
        for record in await settings.list_settings(scope)
        if all(_CONDITIONS[name](record, value) for name, value in conditions.items())
    ]
    order = str(sort.value) if sort is not None else _DEFAULT_SORT
    attribute = order.lstrip("-")
    return sorted(
        records, key=lambda record: (getattr(record, attribute), record.number), reverse=order.startswith("-")
    )


def _setting_row(record: SettingRecord) -> Any:
    return Row(asdict(record) | {"variants": [Row(value=value, name=value) for value in record.variants]})


@declare
class SettingQueries:
    """Queries of settings."""

    @root_field(READ_SETTINGS)
    async def setting(self, info: Info, id: ID) -> SettingObject | None:
        """Return a setting by ID or name; null if it doesn't exist."""
        record = await settings.find_setting(info.context.scope, id)
        return _setting_row(record) if record is not None else None

    @root_field(READ_SETTINGS)
    async def settings(
        self,
        info: Info,
        limit: int = DEFAULT_PAGE_SIZE,
        offset: int = 0,
        filter: SettingFilter | None = None,
        sort: SettingSort | None = None,
    ) -> list[SettingObject]:
        """Return a list of the store's settings."""
        check_page_bounds(limit, offset, MAX_PAGE_SIZE)
        records = await _find_settings(info.context.scope, filter, sort)
        return [_setting_row(record) for record in records[offset : offset + limit]]

    @root_field(READ_SETTINGS)
    async def setting_page(
        self,
        info: Info,
        page: int = 1,
        per_page: int = DEFAULT_PAGE_SIZE,
        filter: SettingFilter | None = None,
        sort: SettingSort | None = None,
    ) -> SettingPageObject:
        """Return a numbered page of the store's settings with the total count (offset pagination)."""
        check_page_bounds(per_page, 0, MAX_PAGE_SIZE, "per_page")
        check_page_bounds(page, 0, 2**31 - 1, "page")
        page = max(page, 1)
        records = await _find_settings(info.context.scope, filter, sort)
        start = (page - 1) * per_page
        items = [_setting_row(record) for record in records[start : start + per_page]]
        result: Any = Row(items=items, total=len(records), page=page, per_page=per_page)
        return result  # type: ignore[no-any-return]


@declare
class SettingMutations:
    """Mutations of settings."""

    @root_field(_WRITE)
    async def setting_update(self, info: Info, id: ID, input: SettingInput) -> SettingObject | None:
        """Update a setting; an invalid value is rejected, and a secret's mask leaves it unchanged."""
        scope = info.context.scope
        value = None if input.value is UNSET else input.value
        number = await settings.update_setting(scope, id, value)
        record = await settings.find_setting(await reload_store(scope), number)
        return _setting_row(record) if record is not None else None


QUERIES = (SettingQueries,)
MUTATIONS = (SettingMutations,)
