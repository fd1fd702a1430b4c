"""Read the values that conditions and bonuses share: amounts, flags, lists, and ids that are resolved together afterwards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from domain.references import ReferenceType, resolve_all
from kernel.ids import parse_reference
from kernel.money import cents_from
from kernel.scope import Scope
from kernel.text import Malformed, has_forbidden_characters, nfc, shown

MAX_VALUES = 1_000
_DECIMAL = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,20})?")
_FLAGS: Mapping[str, bool] = {"y": True, "1": True, "true": True, "n": False, "0": False, "false": False}


def amount_cents(value: object) -> int:
    """Read an amount of money, `"100.00"`, into cents."""
    try:
        return cents_from(value, field="")
    except Malformed as error:
        raise Malformed(str(error).strip()) from error


def decimal(value: object) -> Decimal:
    """Read a decimal number, zero or more, given as a number or as text."""
    text = repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text.strip()):
        raise Malformed(f"is {shown(value)}; expected a number such as 10 or 7.5")
    return Decimal(text.strip())


def thousandths(value: object) -> int:
    """Read a percentage into thousandths of a percent; finer is refused."""
    given = decimal(value) * 1_000
    if given != given.to_integral_value():
        raise Malformed(f"is {shown(value)}; expected at most three decimal places")
    return int(given)


def kilograms(value: object) -> int:
    """Read kilograms into grams, rounded."""
    return int((decimal(value) * 1_000).to_integral_value(ROUND_HALF_UP))


def flag(value: object) -> bool:
    """Read yes or no: `Y`, `N`, 1, 0, true, false."""
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    if word not in _FLAGS:
        raise Malformed(f"is {shown(value)}; expected Y or N")
    return _FLAGS[word]


def each_of(value: object) -> list[Any]:
    """Give several values: a list, PHP's map with numbers as keys, a text with commas between, or one alone."""
    if value is None or value == "":
        return []
    found: list[Any]
    if isinstance(value, Mapping):
        is_one = any(name in value for name in ("product_id", "condition", "bonus"))
        found = [value] if is_one else list(value.values())
    elif isinstance(value, str):
        found = [part.strip() for part in value.split(",") if part.strip()]
    else:
        found = list(value) if isinstance(value, list) else [value]
    if len(found) > MAX_VALUES:
        raise Malformed(f"has {len(found)} values; expected at most {MAX_VALUES}")
    return found


def words_of(value: object) -> list[str]:
    """Give several texts."""
    found = each_of(value)
    for each in found:
        if not isinstance(each, str | int) or isinstance(each, bool) or len(str(each)) > 255:
            raise Malformed(f"is {shown(each)}; expected a text")
        if has_forbidden_characters(str(each)):
            raise Malformed(f"is {shown(each)}; expected a text")
    return [nfc(str(each).strip()) for each in found]


class Unresolved:
    """Hold the references of a promotion until the database is asked, once for each kind of record."""

    def __init__(self) -> None:
        self._held: list[tuple[ReferenceType, list[Any]]] = []

    def later(self, kind: ReferenceType, values: list[Any], said: str) -> list[Any]:
        """Keep references, plain ones or objects with an `id`, for `resolve`, which puts numbers in their place."""
        for value in values:
            reference = value["id"] if isinstance(value, dict) else value
            if isinstance(reference, bool) or parse_reference(reference) is None:
                raise Malformed(f"hold {said} with {shown(reference)}; expected an id")
        self._held.append((kind, values))
        return values

    async def resolve(self, scope: Scope, *, field: str) -> None:
        """Put the internal ids in the places of the references. Raises ValidationFailed naming those not found."""
        by_kind: dict[ReferenceType, list[Any]] = {}
        for kind, values in self._held:
            by_kind.setdefault(kind, []).extend(_reference(value) for value in values)
        for kind, references in by_kind.items():
            found = await resolve_all(scope, kind, references, field=field)
            for of, values in self._held:
                if of is kind:
                    values[:] = [_settled(value, found[_reference(value)]) for value in values]


def _reference(value: Any) -> Any:
    return value["id"] if isinstance(value, dict) else value


def _settled(value: Any, number: int) -> Any:
    return {**value, "id": number} if isinstance(value, dict) else number
