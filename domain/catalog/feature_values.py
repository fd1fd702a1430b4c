"""Give products their features' values: texts, numbers, dates, yes or no, and variants, which are made when a new one is named.

    S E B A   a variant, by its name (or its id as `variant`); a name nobody used yet becomes a new variant, as in CS-Cart
    T         the text
    N         a number: the text as given, and its whole part for filters and order
    D         a date (`2026-01-31`, or Unix seconds): the date, and its first second as a number
    C         yes or no: `Y` or `N`

A feature that is not named keeps its value; a null or empty value takes it away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from domain.catalog.product_draft import ProductDraft
from domain.fields import flag, name_text, text
from domain.references import FEATURE, NOT_FOUND, look_up, missing_text
from kernel.clock import from_unix, parse_date
from kernel.ids import Reference, parse_reference, uuid7
from kernel.scope import Scope
from kernel.text import Malformed, shown
from models.database import execute, rows

BY_VARIANT = ("S", "E", "B", "A")
GROUP = "G"
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?")
_MAX_TEXT = 10_000


@dataclass(frozen=True, slots=True)
class Value:
    """Hold what one product has for one feature; `variant` is a name until it is tied to a variant's id."""

    feature_id: int
    value: str = ""
    value_int: int | None = None
    variant: str | None = None
    variant_id: int | None = None
    is_gone: bool = False


@dataclass(frozen=True, slots=True)
class KnownFeature:
    """Describe a feature as far as its values need it: its type and its variants by name and by reference."""

    id: int
    type: str
    by_name: Mapping[str, int]
    by_reference: Mapping[Reference, int]


_FEATURES = """
SELECT f.id, f.type, v.id AS variant_id, v.public_id AS variant_public_id, v.name
FROM features f LEFT JOIN feature_variants v ON v.tenant_id = f.tenant_id AND v.feature_id = f.id
WHERE f.tenant_id = $1 AND f.id = ANY($2::bigint[]) ORDER BY v.position, v.id
"""
# Whoever adds variants to a feature holds its row, so that two imports don't make the same one twice.
_LOCK_FEATURES = (
    "SELECT id FROM features WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id FOR NO KEY UPDATE"
)
_ADD_VARIANTS = """
INSERT INTO feature_variants (tenant_id, public_id, feature_id, name, position)
SELECT $1, g.public_id, g.feature_id, g.name, coalesce(m.latest, -1) + row_number() OVER (PARTITION BY g.feature_id ORDER BY g.place)
FROM unnest($2::uuid[], $3::bigint[], $4::text[]) WITH ORDINALITY AS g (public_id, feature_id, name, place)
LEFT JOIN LATERAL (SELECT max(position) AS latest FROM feature_variants v WHERE v.tenant_id = $1 AND v.feature_id = g.feature_id)
    AS m ON true
RETURNING feature_id, name, id
"""
_FORGET = """
DELETE FROM feature_values v USING unnest($2::bigint[], $3::bigint[]) AS g (product_id, feature_id)
WHERE v.tenant_id = $1 AND v.product_id = g.product_id AND v.feature_id = g.feature_id
"""
_REMEMBER = """
INSERT INTO feature_values (tenant_id, public_id, product_id, feature_id, variant_id, value, value_int)
SELECT $1, g.public_id, g.product_id, g.feature_id, g.variant_id, g.value, g.value_int
FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[])
    AS g (public_id, product_id, feature_id, variant_id, value, value_int)
ON CONFLICT (tenant_id, product_id, feature_id)
    DO UPDATE SET variant_id = excluded.variant_id, value = excluded.value, value_int = excluded.value_int
"""


async def read_values(scope: Scope, drafts: Sequence[ProductDraft]) -> dict[int, dict[int, Value]]:
    """Read the features of drafts, by the draft's place and the feature's id; what is wrong is collected in the draft."""
    named = [entry.get("feature") for draft in drafts for entry in draft.features or ()]
    if not named:
        return {}
    ids = await look_up(scope, FEATURE, [reference for reference in named if reference is not None])
    known = await _known(scope, list(set(ids.values())))
    values: dict[int, dict[int, Value]] = {}
    for place, draft in enumerate(drafts):
        for entry in draft.features or ():
            reference = entry.get("feature")
            if reference not in ids:
                draft.wrong["features"] = (NOT_FOUND, missing_text(FEATURE, [reference]))
                continue
            feature = known[ids[reference]]
            try:
                values.setdefault(place, {})[feature.id] = value_of(feature, entry)
            except Malformed as error:
                draft.wrong["features"] = ("feature_invalid", f"the value of feature {reference} {error}")
    return values


async def write_values(scope: Scope, values: Mapping[int, Mapping[int, Value]]) -> None:
    """Write values, by product and feature; variants that are new are made."""
    given = [(product, value) for product, of_product in values.items() for value in of_product.values()]
    gone = [(product, value) for product, value in given if value.is_gone]
    kept = [(product, value) for product, value in given if not value.is_gone]
    if gone:
        await execute(
            _FORGET, scope.store.id, [product for product, _ in gone], [value.feature_id for _, value in gone]
        )
    if kept:
        variants = await _variants(scope, [value for _, value in kept])
        await execute(
            _REMEMBER,
            scope.store.id,
            [uuid7() for _ in kept],
            [product for product, _ in kept],
            [value.feature_id for _, value in kept],
            [variants.get((value.feature_id, value.variant or ""), value.variant_id) for _, value in kept],
            [value.value for _, value in kept],
            [value.value_int for _, value in kept],
        )


def value_of(feature: KnownFeature, entry: Mapping[str, Any]) -> Value:
    """Read one value as its feature's type wants it; Malformed for what it can't be, and for a group, which has no value."""
    variant = entry.get("variant")
    given = entry.get("value")
    if variant is None and (given is None or given == ""):
        return Value(feature.id, is_gone=True)
    if feature.type in BY_VARIANT:
        return _by_variant(feature, variant, given)
    read = _READERS.get(feature.type)
    if read is None:
        raise Malformed("can't be set: the feature is a group")
    written, number = read(given)
    return Value(feature.id, written, number)


# --- By type ---------------------------------------------------------------------------------------------------------------


def _by_variant(feature: KnownFeature, variant: object, given: object) -> Value:
    if variant is not None:
        reference = parse_reference(variant)
        found = feature.by_reference.get(reference) if reference is not None else None
        if found is None:
            raise Malformed(f"is variant {variant}; expected one of the feature's own")
        return Value(feature.id, variant_id=found)
    name = str(name_text(str(given) if isinstance(given, int) else given))
    known = feature.by_name.get(name)
    return Value(feature.id, variant_id=known, variant=None if known is not None else name)


def _text(given: object) -> tuple[str, int | None]:
    return str(text(_MAX_TEXT)(str(given) if isinstance(given, int | float) else given)), None


def _number(given: object) -> tuple[str, int | None]:
    written = str(given) if isinstance(given, int | float) and not isinstance(given, bool) else given
    if not isinstance(written, str) or not _NUMBER.fullmatch(written):
        raise Malformed(f"is {shown(given)}; expected a number such as 12.5")
    return written, int(Decimal(written))


def _date(given: object) -> tuple[str, int | None]:
    try:
        moment = from_unix(given)
    except Malformed:
        day = parse_date(given, field="value")
        moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return start.date().isoformat(), int(start.timestamp())


def _checkbox(given: object) -> tuple[str, int | None]:
    return ("Y" if flag(given) else "N"), None


_READERS: Mapping[str, Callable[[object], tuple[str, int | None]]] = {
    "T": _text,
    "N": _number,
    "D": _date,
    "C": _checkbox,
}


# --- Variants --------------------------------------------------------------------------------------------------------------


async def _known(scope: Scope, ids: list[int]) -> dict[int, KnownFeature]:
    types: dict[int, str] = {}
    by_name: dict[int, dict[str, int]] = {}
    by_reference: dict[int, dict[Reference, int]] = {}
    for row in await rows(_FEATURES, scope.store.id, ids):
        types[row["id"]] = row["type"]
        names = by_name.setdefault(row["id"], {})
        references = by_reference.setdefault(row["id"], {})
        if row["variant_id"] is not None:
            names.setdefault(row["name"], row["variant_id"])
            references[row["variant_id"]] = references[row["variant_public_id"]] = row["variant_id"]
    return {
        feature: KnownFeature(feature, type_, by_name[feature], by_reference[feature])
        for feature, type_ in types.items()
    }


async def _variants(scope: Scope, values: Sequence[Value]) -> dict[tuple[int, str], int]:
    """Give the variants named, making those that are new."""
    named = {(value.feature_id, value.variant) for value in values if value.variant is not None}
    if not named:
        return {}
    features = sorted({feature for feature, _ in named})
    await rows(_LOCK_FEATURES, scope.store.id, features)
    known = await _known(scope, features)
    variants = {
        (feature.id, name): variant for feature in known.values() for name, variant in feature.by_name.items()
    }
    new = sorted(key for key in named if key not in variants)
    if new:
        made = await rows(
            _ADD_VARIANTS,
            scope.store.id,
            [uuid7() for _ in new],
            [feature for feature, _ in new],
            [name for _, name in new],
        )
        variants |= {(row["feature_id"], row["name"]): row["id"] for row in made}
    return variants
