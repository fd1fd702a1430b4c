"""Make, once for each resource, the functions that turn GraphQL's records into legacy ones and bodies into GraphQL's inputs.

Pure: descriptions in, functions out. A row costs one loop over a tuple of the fields that change; the rest is as GraphQL's aliases
left it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from kernel.errors import ValidationFailed
from kernel.text import Malformed, shown
from rest_facade.legacy.resource import Given, Record, RecordField
from rest_facade.legacy.value_types import ABSENT

ShowRow: TypeAlias = Callable[[Record], Record]
Touch: TypeAlias = Callable[[Record], None]
ReadBody: TypeAlias = Callable[[Given], dict[str, Any]]
Rename: TypeAlias = Callable[[str], str]


def row_shower(
    fields: Iterable[RecordField], *, prepare: Touch | None = None, complete: Touch | None = None
) -> ShowRow:
    """Make the function that turns a GraphQL row into the legacy record, in place.

    A field that the caller has no right to is not in the row, and stays away.
    """
    described = tuple(fields)
    guarded = {field.name for field in described if field.right is not None}
    conversions = tuple(
        (field.name, field.kind.show)
        for field in described
        if field.kind.show is not None and field.name not in guarded
    )
    guarded_conversions = tuple(
        (field.name, field.kind.show)
        for field in described
        if field.kind.show is not None and field.name in guarded
    )

    def show(row: Record) -> Record:
        if prepare is not None:
            prepare(row)
        for name, convert in conversions:
            row[name] = convert(row[name])
        for name, convert in guarded_conversions:
            if name in row:
                row[name] = convert(row[name])
        if complete is not None:
            complete(row)
        return row

    return show


def body_reader(fields: Iterable[RecordField]) -> ReadBody:
    """Make the function that turns a body into GraphQL's input; what no field takes is ignored (contract, Conventions 4)."""
    taken = tuple(
        (field.name, field.kind.read, tuple(field.writes.split(".")), field.label or field.name, field.within)
        for field in fields
        if field.writes is not None and field.kind.read is not None
    )

    def read(body: Given) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name, read_value, place, label, within in taken:
            holder = _holder(body, name, within)
            if holder is None:
                continue
            try:
                value = read_value(holder[name], label)
            except Malformed as error:
                raise ValidationFailed(str(error), field=name) from error
            if value is not ABSENT:
                _put(given, place, value)
        return given

    return read


def require(body: Given, required: Mapping[str, str]) -> None:
    """Refuse a body that lacks what creation needs; null and the empty text are as good as nothing."""
    for name, message in required.items():
        if body.get(name) in (None, ""):
            raise ValidationFailed(message, fields={name: "required"})


def renamer(fields: Iterable[RecordField], says: Mapping[str, str]) -> Rename:
    """Make the function that lets messages from below name fields as legacy bodies do (`price_cents is …` → `price is …`).

    Only a sentence's first word is a field's name.
    """
    words = {field.writes.rpartition(".")[2]: field.label or field.name for field in fields if field.writes}
    words = {below: legacy for below, legacy in {**words, **says}.items() if below != legacy}
    longest_first = sorted(words, key=len, reverse=True)
    pattern = re.compile(rf"(^|; )({'|'.join(map(re.escape, longest_first))})(?= )") if words else None

    def rename(message: str) -> str:
        return (
            pattern.sub(lambda found: found[1] + words[found[2]], message) if pattern is not None else message
        )

    return rename


def _holder(body: Given, name: str, within: str | None) -> Given | None:
    """Give the object that holds the field: the one it may stand in, else the body; None where neither does."""
    if within is not None:
        inner = body.get(within)
        if isinstance(inner, Mapping):
            if name in inner:
                return inner
        elif inner not in (None, "", []):
            raise ValidationFailed(f"{within} is {shown(inner)}; expected an object", field=within)
    return body if name in body else None


def _put(given: dict[str, Any], place: tuple[str, ...], value: Any) -> None:
    for step in place[:-1]:
        given = given.setdefault(step, {})
    last = place[-1]
    known = given.get(last)
    if isinstance(known, dict) and isinstance(value, dict):
        known.update(value)
    else:
        given[last] = value
