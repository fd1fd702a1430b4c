"""Make, change and delete features, the variants they offer and the categories they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain import audit
from domain.catalog.feature_values import BY_VARIANT, GROUP
from domain.fields import (
    MAX_INTEGER,
    Given,
    InputField,
    code_in,
    flag,
    name_text,
    read_fields,
    short_text,
    whole,
)
from domain.references import CATEGORY, FEATURE, NOT_FOUND, find, resolve_all, resolve_optional
from kernel.codes import FEATURE_TYPES, SWITCH_STATUSES
from kernel.errors import RuleViolation, ValidationFailed
from kernel.ids import parse_reference, uuid7
from kernel.scope import Scope
from models.catalog import Feature
from models.database import execute, row, rows, transaction, value

FEATURE_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "type": InputField("type", code_in(FEATURE_TYPES), code="type_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
    "position": InputField("position", whole(), code="position_invalid"),
    "prefix": InputField("prefix", short_text),
    "suffix": InputField("suffix", short_text),
    "comparison": InputField("comparison", flag),
    "display_on_product": InputField("display_on_product", flag),
    "display_on_catalog": InputField("display_on_catalog", flag),
}
VARIANT_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "position": InputField("position", whole(0, MAX_INTEGER), code="position_invalid"),
}
MAX_VARIANTS = 2_000

_LOCK = "SELECT type FROM features WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"
_HAS_VALUES = "SELECT EXISTS (SELECT 1 FROM feature_values WHERE tenant_id = $1 AND feature_id = $2)"
_VARIANTS = "SELECT id, public_id, name FROM feature_variants WHERE tenant_id = $1 AND feature_id = $2 ORDER BY position, id"
_DROP_VARIANTS = (
    "DELETE FROM feature_variants WHERE tenant_id = $1 AND feature_id = $2 AND id <> ALL($3::bigint[])"
)
_CHANGE_VARIANTS = """
UPDATE feature_variants v SET name = g.name, position = g.position
FROM unnest($2::bigint[], $3::text[], $4::int[]) AS g (id, name, position)
WHERE v.tenant_id = $1 AND v.id = g.id
"""
_ADD_VARIANTS = """
INSERT INTO feature_variants (tenant_id, public_id, feature_id, name, position)
SELECT $1, g.public_id, $2, g.name, g.position FROM unnest($3::uuid[], $4::text[], $5::int[]) AS g (public_id, name, position)
"""
_CATEGORIES = """
WITH dropped AS (
    DELETE FROM feature_categories WHERE tenant_id = $1 AND feature_id = $2 AND category_id <> ALL($4::bigint[])
)
INSERT INTO feature_categories (tenant_id, public_id, feature_id, category_id)
SELECT $1, g.public_id, $2, g.category_id FROM unnest($3::uuid[], $4::bigint[]) AS g (public_id, category_id)
ON CONFLICT (tenant_id, feature_id, category_id) DO NOTHING
"""


async def create_feature(scope: Scope, given: Given) -> int:
    """Make a feature and give its internal id.

    Keys: `name`*, `type`, `group` (a feature of type `G`), `status`, `position`, `prefix`, `suffix`, `comparison`,
    `display_on_product`, `display_on_catalog`, `categories` (none: every category), `variants` (names, or
    `{name, position?}`).
    """
    columns = read_fields(FEATURE_FIELDS, given, creating=True)
    async with transaction(scope):
        columns |= await _group(scope, given)
        feature = Feature(**columns, created_at=scope.now, updated_at=scope.now)
        await feature.save()
        feature_id: int = feature.id
        await _write_parts(scope, feature_id, columns.get("type", "T"), given)
        await audit.record(scope, "feature.created", "feature", feature.public_id)
    return feature_id


async def update_feature(scope: Scope, feature: object, given: Given) -> int:
    """Change a feature partially and give its internal id.

    `variants` list every variant that is to remain, known by `id`, else by name; products lose the values of those left out, as the
    contract says of options. `categories` replace those there are. Raises RuleViolation when the type would change under the values
    products have.
    """
    columns = read_fields(FEATURE_FIELDS, given)
    async with transaction(scope):
        feature_id = await find(scope, FEATURE, feature)
        before: str = await value(_LOCK, scope.store.id, feature_id)
        columns |= await _group(scope, given, own_id=feature_id)
        await _refuse_other_type(scope, feature_id, before, columns.get("type", before))
        await Feature.filter(id=feature_id).update(**columns, updated_at=scope.now)
        await _write_parts(scope, feature_id, columns.get("type", before), given)
        await audit.record(
            scope, "feature.updated", "feature", feature_id, {"fields": sorted(map(str, given))}
        )
    return feature_id


async def delete_feature(scope: Scope, feature: object) -> None:
    """Hide a feature; of a group, the features in it stay and stand alone."""
    async with transaction(scope):
        feature_id = await find(scope, FEATURE, feature)
        await Feature.filter(parent_id=feature_id).update(parent_id=None, updated_at=scope.now)
        await Feature.filter(id=feature_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "feature.deleted", "feature", feature_id)


async def _group(scope: Scope, given: Given, *, own_id: int | None = None) -> dict[str, Any]:
    if "group" not in given:
        return {}
    group_id = await resolve_optional(scope, FEATURE, given["group"], field="group")
    if group_id is not None:
        found = await row(
            "SELECT type FROM features WHERE tenant_id = $1 AND id = $2", scope.store.id, group_id
        )
        if found is None or found["type"] != GROUP or group_id == own_id:
            raise ValidationFailed(
                f"feature {given['group']} is not a group", field="group", code="group_invalid"
            )
    return {"parent_id": group_id}


async def _refuse_other_type(scope: Scope, feature_id: int, before: str, after: str) -> None:
    """Refuse a type in which the values products have could not be read; one kind of variants is as good as another."""
    if before == after or (before in BY_VARIANT and after in BY_VARIANT):
        return
    if await value(_HAS_VALUES, scope.store.id, feature_id):
        raise RuleViolation(
            f"products have values of the feature; its type can't go from {before} to {after}",
            reason="feature_in_use",
        )


async def _write_parts(scope: Scope, feature_id: int, type_: str, given: Given) -> None:
    if given.get("categories") is not None:
        found = await resolve_all(scope, CATEGORY, given["categories"], field="categories")
        ids = sorted(set(found.values()))
        await execute(_CATEGORIES, scope.store.id, feature_id, [uuid7() for _ in ids], ids)
    if given.get("variants") is not None:
        await _replace_variants(scope, feature_id, type_, given["variants"])


async def _replace_variants(scope: Scope, feature_id: int, type_: str, given: Sequence[Given | str]) -> None:
    if given and type_ not in BY_VARIANT:
        raise ValidationFailed(
            f"a feature of type {type_} has no variants", field="variants", code="variants_invalid"
        )
    if len(given) > MAX_VARIANTS:
        raise ValidationFailed(
            f"there are {len(given)} variants; expected at most {MAX_VARIANTS}",
            field="variants",
            code="too_many",
        )
    known = await rows(_VARIANTS, scope.store.id, feature_id)
    by_name = {variant["name"]: variant["id"] for variant in reversed(known)}
    by_reference = {variant[key]: variant["id"] for variant in known for key in ("id", "public_id")}
    kept: dict[int, tuple[str, int]] = {}
    new: list[tuple[str, int]] = []
    for place, written in enumerate(given):
        entry = {"name": written} if isinstance(written, str) else written
        columns = read_fields(VARIANT_FIELDS, entry, creating="id" not in entry)
        variant_id = _known_variant(entry, columns, by_reference, by_name)
        position = columns.get("position", place)
        if variant_id is None:
            new.append((columns["name"], position))
        else:
            name = columns.get("name") or next(v["name"] for v in known if v["id"] == variant_id)
            kept[variant_id] = (name, position)
    await execute(_DROP_VARIANTS, scope.store.id, feature_id, list(kept))
    await execute(
        _CHANGE_VARIANTS,
        scope.store.id,
        list(kept),
        [name for name, _ in kept.values()],
        [position for _, position in kept.values()],
    )
    await execute(
        _ADD_VARIANTS,
        scope.store.id,
        feature_id,
        [uuid7() for _ in new],
        [name for name, _ in new],
        [position for _, position in new],
    )


def _known_variant(
    entry: Given, columns: Mapping[str, Any], by_reference: Mapping[Any, int], by_name: Mapping[str, int]
) -> int | None:
    if entry.get("id") is None:
        return by_name.get(columns["name"])
    found = by_reference.get(parse_reference(entry["id"]))
    if found is None:
        raise ValidationFailed(f"variant {entry['id']} not found", field="variants", code=NOT_FOUND)
    return found
