"""Parse the values shared by conditions and bonuses: amounts, flags, lists, and references resolved in bulk afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any
from uuid import UUID

from domain.promotions.feature_conditions import FeatureCondition, resolve_features
from kernel.event_loop import in_parts, off_loop
from kernel.ids import PublicId, parse_reference
from kernel.money import parse_cents
from kernel.scope import Scope
from kernel.text import InvalidValue, has_forbidden_characters, nfc, repr_value
from models.references import ReferenceType, find_public_ids, resolve_all

MAX_VALUES = 1_000
_NUMBERS_AT_ONCE = 10_000
_DECIMAL = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,20})?")
_FLAGS: Mapping[str, bool] = {"y": True, "1": True, "true": True, "n": False, "0": False, "false": False}


def amount_cents(value: object) -> int:
    """Parse an amount of money, `"100.00"`, into cents."""
    try:
        return parse_cents(value, field="")
    except InvalidValue as error:
        raise InvalidValue(str(error).strip()) from error


def decimal(value: object) -> Decimal:
    """Parse a non-negative decimal number, as a number or text."""
    text = repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text.strip()):
        raise InvalidValue(f"is {repr_value(value)}; expected a number such as 10 or 7.5")
    return Decimal(text.strip())


def thousandths(value: object) -> int:
    """Parse a percentage into thousandths of a percent; finer values are rejected."""
    number = decimal(value) * 1_000
    if number != number.to_integral_value():
        raise InvalidValue(f"is {repr_value(value)}; expected at most three decimal places")
    return int(number)


def kilograms(value: object) -> int:
    """Parse kilograms into grams, rounded."""
    return int((decimal(value) * 1_000).to_integral_value(ROUND_HALF_UP))


def whole_number(value: object) -> int:
    """Parse a whole number, zero or more."""
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise InvalidValue(f"is {repr_value(value)}; expected a whole number")
    return int(text)


def flag(value: object) -> bool:
    """Parse a boolean: `Y`, `N`, 1, 0, true, false."""
    code = str(value).strip().lower() if isinstance(value, str | int) else ""
    if code not in _FLAGS:
        raise InvalidValue(f"is {repr_value(value)}; expected Y or N")
    return _FLAGS[code]


def values_of(value: object) -> list[Any]:
    """Return the values of a list, of a PHP map with numeric keys, of a comma-separated text, or a single value."""
    if value is None or value == "":
        return []
    values: list[Any]
    if isinstance(value, Mapping):
        is_single = any(name in value for name in ("product_id", "condition", "bonus"))
        values = [value] if is_single else list(value.values())
    elif isinstance(value, str):
        values = [part.strip() for part in value.split(",") if part.strip()]
    else:
        values = list(value) if isinstance(value, list) else [value]
    if len(values) > MAX_VALUES:
        raise InvalidValue(f"has {len(values)} values; expected at most {MAX_VALUES}")
    return values


def texts_of(value: object) -> list[str]:
    """Return the texts of a value, as in `values_of`."""
    items = values_of(value)
    for item in items:
        if not isinstance(item, str | int) or isinstance(item, bool) or len(str(item)) > 255:
            raise InvalidValue(f"is {repr_value(item)}; expected a text")
        if has_forbidden_characters(str(item)):
            raise InvalidValue(f"is {repr_value(item)}; expected a text")
    return [nfc(str(item).strip()) for item in items]


class PendingReferences:
    """The references of a promotion, resolved with one statement per record type; with `uuid_only` a number names no record.

    `features` are the conditions whose values depend on the feature.
    """

    def __init__(self, *, uuid_only: bool) -> None:
        self._uuid_only = uuid_only
        self._pending: list[tuple[ReferenceType, list[Any]]] = []
        self.features: list[FeatureCondition] = []

    def add(self, type_: ReferenceType, values: list[Any], name: str, *, in_objects: bool = False) -> list[Any]:
        """Add references, with `in_objects` those in the `id` of each object; `resolve` replaces them by internal ids in place."""
        for index, value in enumerate(values):
            reference = _reference(value) if in_objects else value
            if isinstance(reference, bool) or parse_reference(reference) is None:
                raise InvalidValue(f"hold {name} with {repr_value(reference)}; expected an id")
            if self._uuid_only:
                values[index] = _with_reference(value, PublicId(reference))
        self._pending.append((type_, values))
        return values

    def references(self) -> Iterator[tuple[ReferenceType, Any]]:
        """Yield the references with the types of their records."""
        return ((type_, _reference(value)) for type_, values in self._pending for value in values)

    async def resolve(self, scope: Scope, *, field: str) -> None:
        """Replace the references by internal ids. Raises ValidationFailed naming missing ones."""
        by_type: dict[ReferenceType, list[Any]] = {}
        for type_, reference in self.references():
            by_type.setdefault(type_, []).append(reference)
        for type_, references in by_type.items():
            self._replace(type_, await resolve_all(scope, type_, references, field=field))
        await resolve_features(scope, self.features, name=field)

    async def show(self, scope: Scope, size: int) -> None:
        """Replace the references by the IDs that are shown, those of deleted records included; a missing record keeps its reference.

        `size` is that of the texts that they are of.
        """
        for type_, numbers in (await off_loop(size, self._numbers)).items():
            ids: dict[int, UUID] = {}
            async for part in in_parts(list(numbers), _NUMBERS_AT_ONCE):
                ids |= await find_public_ids(scope, type_, part)
            await off_loop(size, partial(self._show, type_, ids))

    def _numbers(self) -> dict[ReferenceType, set[int]]:
        """Return the numbers among the references by the types of their records."""
        by_type: dict[ReferenceType, set[int]] = {}
        for type_, reference in self.references():
            if isinstance(number := parse_reference(reference), int):
                by_type.setdefault(type_, set()).add(number)
        return by_type

    def _show(self, type_: ReferenceType, ids: Mapping[Any, UUID]) -> None:
        references = {reference for each, reference in self.references() if each is type_}
        self._replace(type_, {each: str(ids.get(parse_reference(each), each)) for each in references})

    def _replace(self, type_: ReferenceType, ids: Mapping[Any, Any]) -> None:
        for pending_type, values in self._pending:
            if pending_type is type_:
                values[:] = [_with_reference(value, ids[_reference(value)]) for value in values]


def _reference(value: Any) -> Any:
    return value["id"] if isinstance(value, dict) else value


def _with_reference(value: Any, reference: object) -> Any:
    return {**value, "id": reference} if isinstance(value, dict) else reference
