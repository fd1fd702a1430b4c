"""Features, their variants and the categories they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain.catalog.feature_values import GROUP, INTERCHANGEABLE_TYPES, MULTIPLE, TYPES_WITH_VARIANTS
from domain.records import Change, RecordType
from kernel.codes import FEATURE_TYPES, SWITCH_STATUSES
from kernel.errors import RuleViolation, ValidationFailed
from kernel.fields import (
    MAX_INTEGER,
    InputField,
    InputValues,
    check_count,
    code_in,
    flag,
    integer,
    name_text,
    read_fields,
    short_text,
)
from kernel.ids import parse_reference
from kernel.scope import Scope
from models.connection.database import execute, fetch, fetchval
from models.references import CATEGORY, FEATURE, NOT_FOUND, resolve_all, resolve_optional
from models.rows import delete_rows, insert_rows, update_rows
from models.tables.catalog import Feature

FEATURE_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "type": InputField("type", code_in(FEATURE_TYPES), code="type_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
    "position": InputField("position", integer(), code="position_invalid"),
    "prefix": InputField("prefix", short_text),
    "suffix": InputField("suffix", short_text),
    "comparison": InputField("comparison", flag),
    "display_on_product": InputField("display_on_product", flag),
    "display_on_catalog": InputField("display_on_catalog", flag),
    "filterable": InputField("filterable", flag),
}
VARIANT_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "position": InputField("position", integer(0, MAX_INTEGER), code="position_invalid"),
}
MAX_VARIANTS = 2_000

# Locked until the end of the transaction, so that the group stays one.
_TYPE = "SELECT type FROM features WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR SHARE"
_LOCK = "SELECT type, filterable FROM features WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"
_IN_VARIATIONS = """
EXISTS (SELECT FROM variation_group_features f JOIN variation_groups g ON g.tenant_id = f.tenant_id AND g.id = f.group_id
    WHERE f.tenant_id = $1 AND f.feature_id = $2 AND g.deleted_at IS NULL)
"""
_IS_IN_VARIATIONS = f"SELECT {_IN_VARIATIONS}"  # constant
_WHY_TYPE_STAYS = f"""
SELECT CASE
    WHEN EXISTS (SELECT FROM feature_values WHERE tenant_id = $1 AND feature_id = $2) THEN 'products have values of the feature'
    WHEN $3 = 'G' AND EXISTS (SELECT FROM features WHERE tenant_id = $1 AND parent_id = $2 AND deleted_at IS NULL)
        THEN 'features are in the group'
    WHEN {_IN_VARIATIONS} THEN 'variation groups have the feature'
END
"""  # constants
_VARIANT_IN_VARIATIONS = """
SELECT v.variant_id FROM variation_group_features f
JOIN variation_group_products m ON m.tenant_id = f.tenant_id AND m.group_id = f.group_id
JOIN feature_values v ON v.tenant_id = m.tenant_id AND v.product_id = m.product_id AND v.feature_id = f.feature_id
WHERE f.tenant_id = $1 AND f.feature_id = $2 AND v.variant_id <> ALL($3::bigint[]) LIMIT 1
"""
_VARIANTS = (
    "SELECT id, public_id, name FROM feature_variants WHERE tenant_id = $1 AND feature_id = $2 ORDER BY position, id"
)
_DELETE_VARIANTS = "DELETE FROM feature_variants WHERE tenant_id = $1 AND feature_id = $2 AND id <> ALL($3::bigint[])"
_LEAVE_GROUP = "UPDATE features SET parent_id = NULL, updated_at = $3 WHERE tenant_id = $1 AND parent_id = $2"
_DELETE_EMPTY_VALUES = """
DELETE FROM feature_values v WHERE v.tenant_id = $1 AND v.feature_id = $2
    AND NOT EXISTS (SELECT 1 FROM feature_value_variants k WHERE k.tenant_id = $1 AND k.feature_value_id = v.id)
"""


async def _prepare(change: Change) -> None:
    scope, group = change.scope, change.values.get("group")
    if "group" in change.values:
        group_id = await resolve_optional(scope, FEATURE, group, field="group")
        if group_id is not None:
            type_ = await fetchval(_TYPE, scope.store.id, group_id)
            if type_ != GROUP or group_id == change.record_id:
                raise ValidationFailed(f"feature {group} is not a group", field="group", code="group_invalid")
        change.columns["parent_id"] = group_id
    if change.merged["filterable"] and change.merged["type"] not in TYPES_WITH_VARIANTS:
        message = f"a feature of type {change.merged['type']} has no variants to filter by"
        raise ValidationFailed(message, field="filterable", code="filterable_invalid")
    if not change.is_new:
        await _check_type_change(scope, change.record_id, change.current["type"], change.merged["type"])


async def _detach(scope: Scope, feature_id: int) -> None:
    """Keep the features of a deleted group without a group, and delete the products' values of a deleted feature."""
    await fetch(_LOCK, scope.store.id, feature_id)
    if await fetchval(_IS_IN_VARIATIONS, scope.store.id, feature_id):
        raise RuleViolation("variation groups have the feature", reason="feature_in_use")
    await execute(_LEAVE_GROUP, scope.store.id, feature_id, scope.now)
    await delete_rows(scope, "feature_values", feature_id=feature_id)


async def _check_type_change(scope: Scope, feature_id: int, before: str, after: str) -> None:
    """Refuse a type that doesn't fit what refers to the feature; the types with one variant are interchangeable."""
    if before == after or (before in INTERCHANGEABLE_TYPES and after in INTERCHANGEABLE_TYPES):
        return
    if reason := await fetchval(_WHY_TYPE_STAYS, scope.store.id, feature_id, before):
        raise RuleViolation(f"{reason}; its type can't go from {before} to {after}", reason="feature_in_use")


async def _write_parts(change: Change) -> None:
    scope, values = change.scope, change.values
    if values.get("categories") is not None:
        category_ids = await resolve_all(scope, CATEGORY, values["categories"], field="categories")
        rows = [{"category_id": number} for number in sorted(set(category_ids.values()))]
        await change.replace_part("feature_categories", "feature_id", rows, key="category_id")
    if values.get("variants") is not None:
        variants = values["variants"]
        if change.is_new:
            # No variant exists yet, so ids are ignored.
            variants = [item if isinstance(item, str) else {**item, "id": None} for item in variants]
        change.has_changed |= await _replace_variants(scope, change.record_id, change.merged["type"], variants)
    elif change.merged["type"] not in TYPES_WITH_VARIANTS and change.current["type"] in TYPES_WITH_VARIANTS:
        await _replace_variants(scope, change.record_id, change.merged["type"], ())


async def _replace_variants(scope: Scope, feature_id: int, type_: str, values: Sequence[InputValues | str]) -> bool:
    """Replace the variants of a feature; return whether one was added, changed or deleted."""
    if values and type_ not in TYPES_WITH_VARIANTS:
        raise ValidationFailed(f"a feature of type {type_} has no variants", field="variants", code="variants_invalid")
    check_count(values, MAX_VARIANTS, "variants", field="variants")
    existing = await fetch(_VARIANTS, scope.store.id, feature_id)
    by_name = {variant["name"]: variant["id"] for variant in reversed(existing)}
    names = {variant["id"]: variant["name"] for variant in existing}
    by_reference = {variant[key]: variant["id"] for variant in existing for key in ("id", "public_id")}
    kept: dict[int, dict[str, Any]] = {}
    new: list[dict[str, Any]] = []
    for index, item in enumerate(values):
        entry = {"name": item} if isinstance(item, str) else item
        read = read_fields(VARIANT_FIELDS, entry, creating=entry.get("id") is None, within="variants")
        columns = {"position": index, **read}
        variant_id = _match_variant(entry, columns, by_reference, by_name, kept)
        if variant_id is None:
            new.append({"feature_id": feature_id, "name": columns["name"], "position": columns["position"]})
        else:
            name = columns.get("name") or names[variant_id]
            kept[variant_id] = {"id": variant_id, "name": name, "position": columns["position"]}
    if len(kept) < len(existing) and await fetchval(_VARIANT_IN_VARIATIONS, scope.store.id, feature_id, list(kept)):
        raise RuleViolation("variation groups have products of a variant left out", reason="feature_in_use")
    deleted = await execute(_DELETE_VARIANTS, scope.store.id, feature_id, list(kept))
    if deleted and type_ == MULTIPLE:
        await execute(_DELETE_EMPTY_VALUES, scope.store.id, feature_id)
    changed = await update_rows(scope, "feature_variants", list(kept.values()))
    await insert_rows(scope, "feature_variants", new)
    return bool(deleted or changed or new)


def _match_variant(
    entry: InputValues,
    columns: Mapping[str, Any],
    by_reference: Mapping[Any, int],
    by_name: Mapping[str, int],
    kept: Mapping[int, Mapping[str, Any]],
) -> int | None:
    """Return the variant that the entry is: that of its id, else that of its name unless an earlier entry has renamed it."""
    if entry.get("id") is None:
        named = by_name.get(columns["name"])
        renamed = named is not None and kept.get(named, columns)["name"] != columns["name"]
        return None if renamed else named
    variant_id = by_reference.get(parse_reference(entry["id"]))
    if variant_id is None:
        raise ValidationFailed(f"variant {entry['id']} not found", field="variants", code=NOT_FOUND)
    if variant_id in kept:
        raise ValidationFailed(f"variant {entry['id']} is named twice", field="variants", code="duplicate")
    return variant_id


FEATURE_RECORDS = RecordType(
    Feature,
    FEATURE_FIELDS,
    audit_input=True,
    lock_row=_LOCK,
    defaults={"type": "T", "filterable": False},
    prepare=_prepare,
    after_save=_write_parts,
    before_delete=_detach,
)
"""`group` is a feature of type `G`; `categories` replaces the existing ones (none: every category). `variants` (names, or `{id?, name,
position?}`) lists every variant to keep, matched by `id`, else by name; omitted variants are deleted with the products' values. A type that
doesn't fit what refers to the feature is refused, and the deletion of what variation groups need (docs/reference/legacy.md#features)."""
