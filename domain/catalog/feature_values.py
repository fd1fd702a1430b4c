"""Read and write the feature values of products; variants that don't exist yet are created by name.

    S E B A   a variant, by its name (or its id as `variant`); an unknown name creates a variant, as in CS-Cart
    M         any number of variants, by their names (`values`) or ids (`variants`)
    T         the text
    N O       a number: the text as sent, and its integer part for filters and sorting; N may have variants, as S
    D         a date (`2026-01-31`, or Unix seconds): the date, and its first second as a number
    C         a checkbox: `Y` or `N`

A feature that is not named keeps its value; a null or empty value deletes it. In the legacy API the digits of a variant's id mean that
variant, and other digits name none (docs/reference/legacy.md#products).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from domain.catalog.product_draft import ProductDraft
from kernel.clock import parse_date, parse_unix
from kernel.fields import flag, name_text, text
from kernel.ids import Reference, parse_reference, uuid7
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models.connection.database import fetch
from models.references import FEATURE, NOT_FOUND, find_ids, missing_message
from models.rows import insert_rows

INTERCHANGEABLE_TYPES = ("S", "E", "B", "A")
"""The types whose values are one variant."""
MULTIPLE, NUMBER_OR_VARIANT, GROUP = "M", "N", "G"
TYPES_WITH_VARIANTS = (*INTERCHANGEABLE_TYPES, MULTIPLE, NUMBER_OR_VARIANT)
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?")
_MAX_TEXT = 10_000


@dataclass(frozen=True, slots=True)
class ParsedFeatureValue:
    """The value of one feature of one product.

    `variants` are ids, and the names of variants to be created: one, except for type `M` (`is_multiple`).
    """

    feature_id: int
    value: str = ""
    value_int: int | None = None
    variants: tuple[int | str, ...] = ()
    is_multiple: bool = False
    is_deleted: bool = False


class _MissingVariant(InvalidValue):
    """Digits that are no variant's id; the message is the whole of the error."""


@dataclass(frozen=True, slots=True)
class FeatureDefinition:
    """A feature as needed to validate its values: its type and its variants by name and by reference."""

    id: int
    type: str
    by_name: Mapping[str, int]
    by_reference: Mapping[Reference, int]


_FEATURES = """
SELECT f.id, f.type, v.id AS variant_id, v.public_id AS variant_public_id, v.name
FROM features f LEFT JOIN feature_variants v ON v.tenant_id = f.tenant_id AND v.feature_id = f.id
WHERE f.tenant_id = $1 AND f.id = ANY($2::bigint[]) ORDER BY v.position, v.id
"""
# Adding variants locks the feature's row, so that two imports don't create the same one twice.
_LOCK_FEATURES = "SELECT id FROM features WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id FOR NO KEY UPDATE"
_ADD_VARIANTS = """
INSERT INTO feature_variants (tenant_id, public_id, feature_id, name, position)
SELECT $1, g.public_id, g.feature_id, g.name, coalesce(m.latest, -1) + row_number() OVER (PARTITION BY g.feature_id ORDER BY g.ordinal)
FROM unnest($2::uuid[], $3::bigint[], $4::text[]) WITH ORDINALITY AS g (public_id, feature_id, name, ordinal)
LEFT JOIN LATERAL (SELECT max(position) AS latest FROM feature_variants v WHERE v.tenant_id = $1 AND v.feature_id = g.feature_id)
    AS m ON true
RETURNING feature_id, name, id
"""
_DELETE = """
DELETE FROM feature_values v USING unnest($2::bigint[], $3::bigint[]) AS g (product_id, feature_id)
WHERE v.tenant_id = $1 AND v.product_id = g.product_id AND v.feature_id = g.feature_id RETURNING v.product_id
"""
# The values of type M exist already: the chosen variants replace those of before.
_REPLACE_CHOICES = """
WITH chosen AS (
    SELECT v.id AS feature_value_id, g.variant_id, g.public_id, g.product_id
    FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[]) AS g (public_id, product_id, feature_id, variant_id)
    JOIN feature_values v ON v.tenant_id = $1 AND v.product_id = g.product_id AND v.feature_id = g.feature_id
), deleted AS (
    DELETE FROM feature_value_variants k USING chosen c
    WHERE k.tenant_id = $1 AND k.feature_value_id = c.feature_value_id
        AND (k.feature_value_id, k.variant_id) NOT IN (SELECT o.feature_value_id, o.variant_id FROM chosen o)
    RETURNING c.product_id
), added AS (
    INSERT INTO feature_value_variants (tenant_id, public_id, feature_value_id, variant_id)
    SELECT $1, c.public_id, c.feature_value_id, c.variant_id FROM chosen c WHERE NOT EXISTS (
        SELECT FROM feature_value_variants k
        WHERE k.tenant_id = $1 AND k.feature_value_id = c.feature_value_id AND k.variant_id = c.variant_id
    )
    ON CONFLICT (tenant_id, feature_value_id, variant_id) DO NOTHING
    RETURNING feature_value_id
)
SELECT product_id FROM deleted UNION SELECT c.product_id FROM added JOIN chosen c USING (feature_value_id)
"""


async def read_feature_values(scope: Scope, drafts: Sequence[ProductDraft]) -> dict[int, dict[int, ParsedFeatureValue]]:
    """Read the features of drafts, by the draft's index and the feature's id; errors are collected in the draft."""
    references = [entry.get("feature") for draft in drafts for entry in draft.features or ()]
    ids = await find_ids(scope, FEATURE, [reference for reference in references if reference is not None])
    definitions = await load_definitions(scope, list(set(ids.values())))
    values: dict[int, dict[int, ParsedFeatureValue]] = {}
    for index, draft in enumerate(drafts):
        for entry in draft.features or ():
            reference = entry.get("feature")
            if reference not in ids:
                draft.errors["features"] = (NOT_FOUND, missing_message(FEATURE, [reference]))
                continue
            feature = definitions[ids[reference]]
            try:
                value = parse_feature_value(feature, entry, is_legacy=scope.family == "legacy")
                values.setdefault(index, {})[feature.id] = value
            except _MissingVariant as error:
                draft.errors["features"] = (NOT_FOUND, str(error))
            except InvalidValue as error:
                draft.errors["features"] = ("feature_invalid", f"the value of feature {reference} {error}")
    return values


async def write_feature_values(scope: Scope, values: Mapping[int, Mapping[int, ParsedFeatureValue]]) -> set[int]:
    """Write values, by product and feature, and return the products that had others; new variants are created."""
    flat = [(product, value) for product, of_product in values.items() for value in of_product.values()]
    deleted = [(product, value) for product, value in flat if value.is_deleted]
    kept = [(product, value) for product, value in flat if not value.is_deleted]
    changed: set[int] = set()
    if deleted:
        of_products, of_features = [product for product, _ in deleted], [value.feature_id for _, value in deleted]
        changed |= {row["product_id"] for row in await fetch(_DELETE, scope.store.id, of_products, of_features)}
    if kept:
        created = await _create_variants(scope, [value for _, value in kept])

        def ids(value: ParsedFeatureValue) -> list[int]:
            return [created[value.feature_id, item] if isinstance(item, str) else item for item in value.variants]

        rows = [
            {
                "product_id": product,
                "feature_id": value.feature_id,
                "variant_id": None if value.is_multiple or not value.variants else ids(value)[0],
                "value": value.value,
                "value_int": value.value_int,
            }
            for product, value in kept
        ]
        changed |= await insert_rows(scope, "feature_values", rows, unique=("product_id", "feature_id"))
        changed |= await _write_choices(
            scope,
            [(product, value.feature_id, id_) for product, value in kept if value.is_multiple for id_ in ids(value)],
        )
    return changed


async def _write_choices(scope: Scope, choices: Sequence[tuple[int, int, int]]) -> set[int]:
    """Write the variants of values of type `M`, product, feature and variant; return the products that had others."""
    if not choices:
        return set()
    products, features, variants = zip(*dict.fromkeys(choices), strict=True)
    public_ids = [uuid7() for _ in products]
    rows = await fetch(_REPLACE_CHOICES, scope.store.id, public_ids, list(products), list(features), list(variants))
    return {row["product_id"] for row in rows}


def parse_feature_value(
    feature: FeatureDefinition, entry: Mapping[str, Any], *, is_legacy: bool = False
) -> ParsedFeatureValue:
    """Parse one value by its feature's type; raises InvalidValue for an invalid value, and for a group, which has none."""
    references = [entry["variant"]] if entry.get("variant") is not None else entry.get("variants") or []
    value = entry.get("value")
    texts = entry.get("values") or ([] if value is None or value == "" else [value])
    if not references and not texts:
        return ParsedFeatureValue(feature.id, is_deleted=True)
    if feature.type in TYPES_WITH_VARIANTS:
        chosen: list[int | str | None] = [_referenced(feature, reference) for reference in references]
        chosen = chosen or [_named(feature, text, is_legacy=is_legacy) for text in texts]
        variants = tuple(item for item in dict.fromkeys(chosen) if item is not None)
        if feature.type == MULTIPLE:
            return ParsedFeatureValue(feature.id, variants=variants, is_multiple=True)
        if len(chosen) > 1:
            raise InvalidValue(f"holds {len(chosen)} variants; expected one")
        if variants:
            return ParsedFeatureValue(feature.id, variants=variants)
    if not texts or len(texts) > 1:
        raise InvalidValue(f"is a variant; a feature of type {feature.type} has none")
    value = texts[0]
    read = _READERS.get(feature.type)
    if read is None:
        raise InvalidValue("can't be set: the feature is a group")
    text_value, number = read(value)
    return ParsedFeatureValue(feature.id, text_value, number)


# --- By type ---------------------------------------------------------------------------------------------------------------


def _referenced(feature: FeatureDefinition, reference: object) -> int:
    """Return the id of a variant named by its number or UUID."""
    parsed = parse_reference(reference)
    variant_id = feature.by_reference.get(parsed) if parsed is not None else None
    if variant_id is None:
        raise InvalidValue(f"is variant {reference}; expected one of the feature's own")
    return variant_id


def _named(feature: FeatureDefinition, value: object, *, is_legacy: bool) -> int | str | None:
    """Return the id of the variant that a text means, or the name of a new one; None for a number of type `N`."""
    name = str(name_text(str(value) if isinstance(value, int) else value))
    is_number = name.isascii() and name.isdigit()
    if is_legacy and is_number and len(name) < 19 and int(name) in feature.by_reference:
        return feature.by_reference[int(name)]
    if name in feature.by_name:
        return feature.by_name[name]
    if feature.type == NUMBER_OR_VARIANT and (_NUMBER.fullmatch(name) or not feature.by_name):
        return None
    if is_legacy and is_number:
        raise _MissingVariant(f"variant {name} not found")
    return name


def _text(value: object) -> tuple[str, int | None]:
    return str(text(_MAX_TEXT)(str(value) if isinstance(value, int | float) else value)), None


def _number(value: object) -> tuple[str, int | None]:
    number_text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(number_text, str) or not _NUMBER.fullmatch(number_text):
        raise InvalidValue(f"is {repr_value(value)}; expected a number such as 12.5")
    return number_text, int(Decimal(number_text))


def _date(value: object) -> tuple[str, int | None]:
    try:
        parsed = parse_unix(value)
    except InvalidValue:
        try:
            day = parse_date(value)
        except InvalidValue as error:
            raise InvalidValue(str(error).removeprefix("date ")) from error
        parsed = datetime(day.year, day.month, day.day, tzinfo=UTC)
    start = parsed.replace(hour=0, minute=0, second=0, microsecond=0)
    return start.date().isoformat(), int(start.timestamp())


def _checkbox(value: object) -> tuple[str, int | None]:
    try:
        return ("Y" if flag(value) else "N"), None
    except InvalidValue as error:
        raise InvalidValue(f"is {repr_value(value)}; expected Y or N") from error


_READERS: Mapping[str, Callable[[object], tuple[str, int | None]]] = {
    "T": _text,
    "N": _number,
    "O": _number,
    "D": _date,
    "C": _checkbox,
}


# --- Variants --------------------------------------------------------------------------------------------------------------


async def load_definitions(scope: Scope, ids: list[int]) -> dict[int, FeatureDefinition]:
    """Return the features with these ids that exist, by id."""
    types: dict[int, str] = {}
    by_name: dict[int, dict[str, int]] = {}
    by_reference: dict[int, dict[Reference, int]] = {}
    for row in await fetch(_FEATURES, scope.store.id, ids):
        types[row["id"]] = row["type"]
        names = by_name.setdefault(row["id"], {})
        references = by_reference.setdefault(row["id"], {})
        if row["variant_id"] is not None:
            names.setdefault(row["name"], row["variant_id"])
            references[row["variant_id"]] = references[row["variant_public_id"]] = row["variant_id"]
    return {
        feature: FeatureDefinition(feature, type_, by_name[feature], by_reference[feature])
        for feature, type_ in types.items()
    }


async def _create_variants(scope: Scope, values: Sequence[ParsedFeatureValue]) -> dict[tuple[int, str], int]:
    """Return the ids of the variants that are given by name, by feature and name; creates missing ones."""
    keys = {(value.feature_id, item) for value in values for item in value.variants if isinstance(item, str)}
    if not keys:
        return {}
    features = sorted({feature for feature, _ in keys})
    await fetch(_LOCK_FEATURES, scope.store.id, features)
    definitions = await load_definitions(scope, features)
    variants = {
        (feature.id, name): variant for feature in definitions.values() for name, variant in feature.by_name.items()
    }
    new = sorted(key for key in keys if key not in variants)
    if new:
        created = await fetch(
            _ADD_VARIANTS,
            scope.store.id,
            [uuid7() for _ in new],
            [feature for feature, _ in new],
            [name for _, name in new],
        )
        variants |= {(row["feature_id"], row["name"]): row["id"] for row in created}
    return variants
