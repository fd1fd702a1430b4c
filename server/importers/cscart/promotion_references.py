"""Find the numbers of records that a promotion names by UUID, as another Vitrine store's may: numbers are brought, UUIDs are not."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from domain.promotions.bonuses import parse_bonuses
from domain.promotions.conditions import parse_conditions
from domain.promotions.values import PendingReferences
from kernel.text import InvalidValue
from server.importers.cscart.entities import ENTITIES
from server.importers.cscart.source import NotOffered, Source, SourceError
from server.importers.cscart.values import Record, text

_TERMS = ("conditions", "bonuses")
_UUID = re.compile("-".join(f"[0-9a-fA-F]{{{length}}}" for length in (8, 4, 4, 4, 12)))
_BY_TABLE = {entity.kind.own.name: entity for entity in ENTITIES}


async def name_by_number(source: Source, promotion: Record) -> Record:
    """Return a promotion whose records are named by their numbers, which the source is asked for.

    The UUID of a record that the source doesn't have stays. Raises SourceError for a variant, which can't be asked for.
    """
    terms = {name: promotion.get(name) for name in _TERMS}
    if not _UUID.search(str(terms)):
        return promotion
    pending = _references_of(promotion)
    for condition in pending.features:
        if named := [value for value in condition.texts if _UUID.fullmatch(value)]:
            raise SourceError(f"conditions name the variant {named[0]} by UUID; expected its number or name")
    numbers: dict[str, str] = {}
    for type_, reference in pending.references():
        if isinstance(reference, str) and _UUID.fullmatch(reference):
            entity = _BY_TABLE[type_.table]
            with suppress(NotOffered):
                numbers[reference] = text(await source.fetch(f"{entity.name}/{reference}"), entity.key)
    return {**promotion, **{name: _replace(value, numbers) for name, value in terms.items()}}


def _references_of(promotion: Record) -> PendingReferences:
    """Return the references of a promotion; of an invalid one, which its conversion reports, those before the error."""
    pending = PendingReferences(uuid_only=False)
    zone = text(promotion, "zone") or "cart"
    with suppress(InvalidValue):
        parse_conditions(promotion.get("conditions"), zone, pending)
        parse_bonuses(promotion.get("bonuses"), zone, pending)
    return pending


def _replace(value: Any, numbers: dict[str, str]) -> Any:
    """Return conditions or bonuses with the numbers in place of these UUIDs."""
    if isinstance(value, str):
        return _UUID.sub(lambda match: numbers.get(match.group(), match.group()), value)
    if isinstance(value, list):
        return [_replace(member, numbers) for member in value]
    if isinstance(value, dict):
        return {name: _replace(member, numbers) for name, member in value.items()}
    return value
