"""Build, once per resource, the functions that convert GraphQL records to legacy ones and legacy bodies to GraphQL inputs.

Pure functions. GraphQL aliases have renamed the fields; `kernel.record_conversion` converts the values of those that need it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

from kernel.errors import ValidationFailed
from kernel.record_conversion import RecordConversion, RecordHook
from kernel.scope import Scope, Store
from kernel.text import InvalidValue, repr_value
from rest_facade.legacy.resource import IN_CSCART, RecordField, Resource, Values, in_cscart_dialect
from rest_facade.legacy.value_types import ABSENT

ParseBody: TypeAlias = Callable[[Values], dict[str, Any]]
RenameMessage: TypeAlias = Callable[[str], str]

# The setting `legacy_dialect` is stored under its former name (domain/store_settings.py).
_DIALECT, _CSCART = "legacy_lists", "cscart"
_MAX_NAME, _MAX_NAMES = 60, 30


def is_cscart(scope: Scope) -> bool:
    """Return whether the store uses the dialect of programs written for CS-Cart (docs/reference/legacy.md#dialects)."""
    return has_cscart_dialect(scope.store)


def has_cscart_dialect(store: Store) -> bool:
    """Return whether it is the store's dialect."""
    return store.settings.get(_DIALECT) == _CSCART


def record_renderer(
    fields: Iterable[RecordField], *, prepare: RecordHook | None = None, complete: RecordHook | None = None
) -> RecordConversion:
    """Build the conversion of a GraphQL row to the legacy record.

    A field without the caller's permission is absent from the row, and stays absent.
    """
    described = tuple(fields)
    constants = {field.name: field.constant for field in described if field.constant is not None}
    conversions = {
        field.name: field.value_type.render
        for field in described
        if field.value_type.render is not None and field.name not in constants
    }
    return RecordConversion(conversions, constants=constants, prepare=prepare, complete=complete)


@dataclass(frozen=True, slots=True)
class DialectRenderer:
    """The conversions of a record in both dialects; called with a scope, it returns the store's."""

    contract: RecordConversion
    cscart: RecordConversion

    def __call__(self, scope: Scope) -> RecordConversion:
        """Return the conversion of the store's dialect."""
        return self.cscart if is_cscart(scope) else self.contract


def dialect_renderer(resource: Resource, *, single: bool = False) -> DialectRenderer:
    """Build the conversions of a resource's records in both dialects: those of lists, or the `single` ones."""
    fields, complete = (resource.single_fields, resource.complete) if single else (resource.fields, None)
    contract = record_renderer(
        _in_contract(fields), prepare=resource.prepare, complete=complete if single else _without_single_fields(fields)
    )
    complete_cscart = _complete_in_cscart(fields, (resource.cscart_complete or complete) if single else None)
    if complete_cscart is complete and not any(
        field.cscart_type or field.contract_single or field.permission == IN_CSCART for field in fields
    ):
        return DialectRenderer(contract, contract)
    cscart = record_renderer(in_cscart_dialect(fields), prepare=resource.prepare, complete=complete_cscart)
    return DialectRenderer(contract, cscart)


def _without_single_fields(fields: Iterable[RecordField]) -> RecordHook | None:
    """Return what removes from a row of the other dialect's lists the fields that only single records have there."""
    names = [field.name for field in fields if field.contract_single]

    def remove(record: dict[str, Any]) -> None:
        for name in names:
            del record[name]

    return remove if names else None


def _complete_in_cscart(fields: Iterable[RecordField], complete: RecordHook | None) -> RecordHook | None:
    """Return what runs last on a record in CS-Cart's dialect: `complete`, and what concerns whole fields."""
    described = tuple(fields)
    absent = [field.name for field in described if field.cscart_absent == "always"]
    absent_if_empty = [field.name for field in described if field.cscart_absent == "empty"]
    ids = {field.name: field.cscart_id for field in described if field.cscart_id}
    if not (absent or absent_if_empty or ids):
        return complete

    def complete_whole(record: dict[str, Any]) -> None:
        if complete is not None:
            complete(record)
        for name in absent:
            del record[name]
        for name in absent_if_empty:
            if not record[name]:
                del record[name]
        for name, id_name in ids.items():
            record[name] = record[id_name]

    return complete_whole


def body_parser(fields: Iterable[RecordField]) -> ParseBody:
    """Build the function that converts a body to a GraphQL input; unknown fields are ignored."""
    writable = tuple(
        (
            field.name,
            field.value_type.parse,
            tuple(field.input_path.split(".")),
            field.label or field.name,
            field.parent_object,
        )
        for field in fields
        if field.input_path is not None and field.value_type.parse is not None
    )

    def parse(body: Values) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, parse_value, path, label, parent_object in writable:
            container = _container_of(body, name, parent_object)
            if container is None:
                continue
            try:
                value = parse_value(container[name], label)
            except InvalidValue as error:
                raise ValidationFailed(str(error), field=name) from error
            if value is not ABSENT:
                _set_path(result, path, value)
        return result

    return parse


def dialect_body_parser(fields: Iterable[RecordField]) -> Callable[[Scope], ParseBody]:
    """Build the function that returns the parser of bodies in the store's dialect."""
    described = tuple(fields)
    contract, cscart = body_parser(_in_contract(described)), body_parser(in_cscart_dialect(described))
    return lambda scope: cscart if is_cscart(scope) else contract


def _in_contract(fields: Iterable[RecordField]) -> list[RecordField]:
    return [field for field in fields if field.permission != IN_CSCART]


def ignored_header(header: str, names: Iterable[str]) -> dict[str, str]:
    """Return a response header with names of a request that had no effect, percent-encoded: the first of them; none without names."""
    encoded = [quote(name[:_MAX_NAME], safe="[]{}.") for name in names]
    return {header: ", ".join(encoded[:_MAX_NAMES])} if encoded else {}


def dialect_ignored_fields(fields: Iterable[RecordField]) -> Callable[[Scope], Callable[[Values], list[str]]]:
    """Build the function that returns `ignored_fields` of the store's dialect."""
    described = tuple(fields)
    contract, cscart = ignored_fields(_in_contract(described)), ignored_fields(described)
    return lambda scope: cscart if is_cscart(scope) else contract


def ignored_fields(fields: Iterable[RecordField]) -> Callable[[Values], list[str]]:
    """Build the function that names the members of a body that set nothing, those of its objects as `object.member`."""
    writable = [field for field in fields if field.input_path is not None and field.value_type.parse is not None]
    names = {field.name for field in writable}
    objects = {
        parent: {field.name for field in writable if field.parent_object == parent}
        for parent in dict.fromkeys(field.parent_object for field in writable if field.parent_object)
    }

    def ignored(body: Values) -> list[str]:
        outer = [name for name in body if name not in names and name not in objects]
        inner = [
            f"{parent}.{name}"
            for parent, members in objects.items()
            for name in (body[parent] if isinstance(body.get(parent), Mapping) else ())
            if name not in members
        ]
        return outer + inner

    return ignored


def check_required(body: Values, required: Iterable[str], fields: Iterable[RecordField] = ()) -> None:
    """Raise ValidationFailed with the label of the first required field that is missing, null or empty."""
    for name in required:
        if body.get(name) in (None, ""):
            label = next((field.label for field in fields if field.name == name and field.label), name)
            raise ValidationFailed(f"{label} is required", fields={name: "required"})


def message_renamer(fields: Iterable[RecordField], message_terms: Mapping[str, str]) -> RenameMessage:
    """Build the function that replaces GraphQL field names in error messages (`price_cents is …` → `price is …`).

    Only the first word of a sentence is a field name.
    """
    names = {field.input_path: field.label or field.name for field in fields if field.input_path}
    # A nested field is named alone, or with its path where several have its name.
    terms = {path.rpartition(".")[2]: name for path, name in names.items()} | names
    terms = {term: legacy for term, legacy in {**terms, **message_terms}.items() if term != legacy}
    longest_first = sorted(terms, key=len, reverse=True)
    pattern = re.compile(rf"(^|; )({'|'.join(map(re.escape, longest_first))})(?= )") if terms else None

    def rename(message: str) -> str:
        if pattern is None:
            return message
        return pattern.sub(lambda match: match[1] + terms[match[2]], message)

    return rename


def _container_of(body: Values, name: str, parent_object: str | None) -> Values | None:
    """Return the object that contains the field: its parent object, else the body; None when neither does."""
    if parent_object is not None:
        inner = body.get(parent_object)
        if isinstance(inner, Mapping):
            if name in inner:
                return inner
        elif inner not in (None, "", []):
            raise ValidationFailed(f"{parent_object} is {repr_value(inner)}; expected an object", field=parent_object)
    return body if name in body else None


def _set_path(target: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for step in path[:-1]:
        target = target.setdefault(step, {})
    last = path[-1]
    existing = target.get(last)
    if isinstance(existing, dict) and isinstance(value, dict):
        existing.update(value)
    else:
        target[last] = value
