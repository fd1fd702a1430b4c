"""Create, update and delete options and their variants, and link shared options to products.

An option belongs to one product, or is shared and lists its products. A combination or exception that uses a shared option links the
product to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from domain.catalog.product_options import (
    ANY_VARIANT,
    NO_VARIANT,
    TYPES_WITH_VARIANTS,
    load_editable,
    resolve_editable_product,
    resolve_editable_products,
)
from domain.catalog.stock import lock_stock
from domain.media.images import read_image, resolve_rows
from domain.media.received import store_images
from kernel.codes import MODIFIER_TYPES, OPTION_TYPES, SWITCH_STATUSES
from kernel.errors import RuleViolation, ValidationFailed
from kernel.fields import (
    InputField,
    InputValues,
    check_count,
    code_in,
    flag,
    integer,
    name_text,
    raise_field_errors,
    read_fields,
    short_text,
    text,
)
from kernel.ids import parse_reference
from kernel.money import MAX_CENTS
from kernel.product_fields import image_url
from kernel.received_files import MAX_BYTES
from kernel.scope import ActorKind, Scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.connection.database import execute, fetch, fetchval, transaction
from models.references import OPTION, VENDOR, resolve_optional
from models.rows import delete_rows, insert_row, insert_rows, mark_deleted, replace_rows, update_row, update_rows

_MAX_EXTENSIONS = 255


def _extensions(value: object) -> str:
    """Parse extensions separated by commas, with or without dots; whatever else a name may have after its last dot is none."""
    names = [each.strip().lower().removeprefix(".") for each in str(text(_MAX_EXTENSIONS)(value)).split(",")]
    if not all(name.isascii() and name.isalnum() for name in names if name):
        raise InvalidValue(f"is {repr_value(value)}; expected extensions such as jpg,png")
    return ",".join(dict.fromkeys(name for name in names if name))


OPTION_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "type": InputField("type", code_in(OPTION_TYPES), code="type_invalid"),
    "required": InputField("required", flag),
    "inventory": InputField("inventory", flag, code="inventory_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
    "position": InputField("position", integer(), code="position_invalid"),
    "description": InputField("description", text()),
    "allowed_extensions": InputField("allowed_extensions", _extensions, code="extensions_invalid"),
    "max_file_size": InputField("max_file_size", integer(0, MAX_BYTES // 1024), code="max_file_size_invalid"),
}
VARIANT_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "modifier": InputField("modifier", integer(-MAX_CENTS, MAX_CENTS), code="modifier_invalid"),
    "modifier_type": InputField("modifier_type", code_in(MODIFIER_TYPES), code="modifier_type_invalid"),
    "position": InputField("position", integer(), code="position_invalid"),
    "image_url": InputField("image_url", lambda url: image_url(url) if url else "", code="url_invalid"),
    "image_alt": InputField("image_alt", short_text),
}
_PICTURE_FIELDS = {"url": VARIANT_FIELDS["image_url"], "alt": VARIANT_FIELDS["image_alt"]}
_PICTURE_COLUMNS = ("id", "image_url", "image_alt", "media_id")
_NEW_VARIANT: Mapping[str, Any] = {
    "modifier": 0,
    "modifier_type": "A",
    "position": 0,
    "image_url": "",
    "image_alt": "",
    "media_id": None,
}
MAX_VARIANTS = 500
MAX_PRODUCTS = 1_000

_LOCK = """
SELECT id, public_id, product_id, vendor_id, type, inventory FROM options
WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE
"""
_VARIANTS = """
SELECT id, public_id, name, modifier, modifier_type, position, image_url, image_alt, media_id FROM option_variants
WHERE tenant_id = $1 AND option_id = $2 ORDER BY position, id
"""
_COMBINATIONS = """
SELECT k.combination_id AS id FROM combination_choices k
WHERE k.tenant_id = $1 AND k.option_id = $2 AND ($3::bigint[] IS NULL OR k.variant_id = ANY($3::bigint[]))
"""
_DELETE_COMBINATIONS = """
UPDATE combinations SET deleted_at = $3, updated_at = $3 WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND deleted_at IS NULL
"""
_DELETE_EXCEPTIONS = f"""
DELETE FROM option_exceptions e WHERE e.tenant_id = $1 AND e.id IN (
    SELECT k.exception_id FROM exception_choices k
    WHERE k.tenant_id = $1 AND k.option_id = $2 AND ($3::bigint[] IS NULL OR k.variant_id = ANY($3::bigint[]))
) OR e.tenant_id = $1 AND $3::bigint[] IS NULL
    AND e.hash ~ format('(^|_)%s_({NO_VARIANT}|{ANY_VARIANT})(_|$)', $2::bigint)
"""
_DELETE_VARIANTS = "DELETE FROM option_variants WHERE tenant_id = $1 AND option_id = $2 AND id = ANY($3::bigint[])"
_IN_USE = """
SELECT EXISTS (SELECT 1 FROM combination_choices k JOIN combinations c ON c.tenant_id = k.tenant_id AND c.id = k.combination_id
    WHERE k.tenant_id = $1 AND k.option_id = $2 AND c.deleted_at IS NULL)
"""
_LINKED_PRODUCTS = "SELECT product_id FROM product_options WHERE tenant_id = $1 AND option_id = $2"
_UNLINK = "DELETE FROM product_options WHERE tenant_id = $1 AND option_id = $2 AND product_id = ANY($3::bigint[])"
_PRODUCTS_IN_USE = """
SELECT DISTINCT c.product_id FROM combination_choices k
JOIN combinations c ON c.tenant_id = k.tenant_id AND c.id = k.combination_id AND c.deleted_at IS NULL
WHERE k.tenant_id = $1 AND k.option_id = $2 AND c.product_id = ANY($3::bigint[])
"""


async def create_option(scope: Scope, values: InputValues) -> int:
    """Create an option and return its internal id.

    Keys: `name`*, `type` (`S`), `product` (null: shared), `vendor` and `products` of a shared one, `required`, `inventory` (default true
    for types with variants), `status`, `position`, `description`, `variants [{name, modifier, modifier_type, position, image_url,
    image_alt}]`.
    """
    columns = read_fields(OPTION_FIELDS, values, creating=True)
    _check_inventory(columns, columns.get("type", "S"))
    await _store_images(scope, values)
    columns.setdefault("inventory", columns.get("type", "S") in TYPES_WITH_VARIANTS)
    async with transaction(scope):
        columns |= await _ownership(scope, values)
        option_id: int = await insert_row(scope, "options", **columns, created_at=scope.now, updated_at=scope.now)
        await _write_links(scope, option_id, columns["product_id"], columns["vendor_id"], values)
        # No variant exists yet, so ids are ignored.
        new = [{**variant, "id": None} for variant in values.get("variants") or ()]
        if new:
            await _replace_variants(scope, option_id, columns.get("type", "S"), new)
        await _set_images(scope, option_id, values.get("variant_pictures") or (), new)
        await audit.record(scope, "option.created", "option", option_id)
    return option_id


async def update_option(scope: Scope, option: object, values: InputValues) -> int:
    """Update an option partially and return its internal id.

    `variants` lists every variant to keep, matched by `id`, else by name; omitted variants are deleted together with the combinations and
    exceptions that contain them (docs/reference/legacy.md#options). Raises NotFound (for a vendor also for another vendor's option),
    ValidationFailed, and RuleViolation `option_in_use` for changes that existing combinations prevent.
    """
    columns = read_fields(OPTION_FIELDS, values)
    await _store_images(scope, values)
    async with transaction(scope):
        current = await load_editable(scope, OPTION, _LOCK, option)
        type_ = columns.get("type", current["type"])
        _check_inventory(columns, type_)
        if type_ not in TYPES_WITH_VARIANTS:
            columns["inventory"] = False
        if current["inventory"] and not columns.get("inventory", True):
            await _check_unused(scope, current["id"], "it can't leave the inventory")
        if "product" in values:
            columns |= await _change_product(scope, current, values)
        elif "vendor" in values and current["product_id"] is None and scope.actor.kind is not ActorKind.VENDOR:
            columns["vendor_id"] = await resolve_optional(scope, VENDOR, values["vendor"], field="vendor")
            linked = await fetch(_LINKED_PRODUCTS, scope.store.id, current["id"])
            await _check_vendor_products(scope, {link["product_id"] for link in linked}, columns["vendor_id"])
        product_id = columns.get("product_id", current["product_id"])
        vendor_id = columns.get("vendor_id", current["vendor_id"])
        changed = await _write_links(scope, current["id"], product_id, vendor_id, values)
        if type_ not in TYPES_WITH_VARIANTS and current["type"] in TYPES_WITH_VARIANTS:
            changed |= await _replace_variants(scope, current["id"], current["type"], ())
        if values.get("variants") is not None:
            changed |= await _replace_variants(scope, current["id"], type_, values["variants"])
        pictures, variants = values.get("variant_pictures") or (), values.get("variants") or ()
        changed |= await _set_images(scope, current["id"], pictures, variants)
        if await update_row(scope, "options", current["id"], touch=changed, **columns, updated_at=scope.now):
            await audit.record_update(scope, "option", current["public_id"], values)
    return int(current["id"])


async def _store_images(scope: Scope, values: InputValues) -> None:
    """Store the files that came in place of images of variants."""
    variants = values.get("variants") or ()
    await store_images(scope, [*(each.get("image") for each in variants), *(values.get("variant_pictures") or ())])


async def delete_option(scope: Scope, option: object) -> None:
    """Soft-delete an option and delete its combinations and exceptions; existing orders keep what was chosen."""
    async with transaction(scope):
        current = await load_editable(scope, OPTION, _LOCK, option)
        await _delete_combinations(scope, current["id"], None)
        await execute(_DELETE_EXCEPTIONS, scope.store.id, current["id"], None)
        await delete_rows(scope, "product_options", option_id=current["id"])
        await mark_deleted(scope, "options", current["id"])
        await audit.record(scope, "option.deleted", "option", current["public_id"])


async def link_options(scope: Scope, product_ids: Iterable[int], option_ids: Iterable[int]) -> None:
    """Link products to options, pairwise."""
    rows = [
        {"product_id": product, "option_id": option} for product, option in zip(product_ids, option_ids, strict=True)
    ]
    await insert_rows(scope, "product_options", rows, unique=("product_id", "option_id"))


def _check_inventory(columns: Mapping[str, Any], type_: str) -> None:
    if columns.get("inventory") and type_ not in TYPES_WITH_VARIANTS:
        raise ValidationFailed(
            f"inventory is Y for type {type_}; expected it only for {', '.join(TYPES_WITH_VARIANTS)}",
            field="inventory",
            code="inventory_invalid",
        )


async def _check_unused(scope: Scope, option_id: int, why: str) -> None:
    if await fetchval(_IN_USE, scope.store.id, option_id):
        raise RuleViolation(f"combinations hold the option; {why}", reason="option_in_use")


# --- Ownership ---------------------------------------------------------------------------------------------------------------


async def _ownership(scope: Scope, values: InputValues) -> dict[str, Any]:
    """Return the product and the vendor of an option."""
    if values.get("product") is not None:
        product = await resolve_editable_product(scope, values["product"])
        return {"product_id": product.id, "vendor_id": product.vendor_id}
    if scope.actor.kind is ActorKind.VENDOR:
        return {"product_id": None, "vendor_id": scope.actor.vendor_id}
    vendor = await resolve_optional(scope, VENDOR, values.get("vendor"), field="vendor")
    return {"product_id": None, "vendor_id": vendor}


async def _change_product(scope: Scope, current: Mapping[str, Any], values: InputValues) -> dict[str, Any]:
    """Return the columns for another product; options in combinations can't move."""
    ownership = await _ownership(scope, values)
    if ownership["product_id"] == current["product_id"]:
        return {}
    await _check_unused(scope, current["id"], "it can't go to another product")
    await execute(_DELETE_EXCEPTIONS, scope.store.id, current["id"], None)
    if current["product_id"] is not None:
        await execute(_UNLINK, scope.store.id, current["id"], [current["product_id"]])
    return ownership


async def _write_links(
    scope: Scope, option_id: int, product_id: int | None, vendor_id: int | None, values: InputValues
) -> bool:
    """Link the option to its product, or to those of the input; return whether they were others."""
    if product_id is not None:
        rows = [{"product_id": product_id, "option_id": option_id}]
        return bool(await replace_rows(scope, "product_options", "option_id", [option_id], rows, key="product_id"))
    if values.get("products") is not None:
        return await _replace_products(scope, option_id, vendor_id, values["products"])
    return False


async def _replace_products(scope: Scope, option_id: int, vendor_id: int | None, products: Sequence[object]) -> bool:
    """Replace the products linked to a shared option; return whether they were others."""
    check_count(products, MAX_PRODUCTS, "products", field="products")
    product_ids = set((await resolve_editable_products(scope, products, field="products")).values())
    await _check_vendor_products(scope, product_ids, vendor_id)
    current = {link["product_id"] for link in await fetch(_LINKED_PRODUCTS, scope.store.id, option_id)}
    removed = sorted(current - product_ids)
    used = await fetch(_PRODUCTS_IN_USE, scope.store.id, option_id, removed)
    if used:
        raise RuleViolation(
            "combinations of a product left out hold the option; it can't be taken from there", reason="option_in_use"
        )
    await execute(_UNLINK, scope.store.id, option_id, removed)
    new = sorted(product_ids - current)
    await link_options(scope, new, [option_id] * len(new))
    return bool(removed or new)


async def _check_vendor_products(scope: Scope, products: set[int], vendor_id: int | None) -> None:
    """Refuse products of another vendor than the option's."""
    if vendor_id is None:
        return
    foreign = await fetchval(
        "SELECT count(*) FROM products WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND vendor_id IS DISTINCT FROM $3",
        scope.store.id,
        sorted(products),
        vendor_id,
    )
    if foreign:
        raise ValidationFailed("product not found", field="products", code="not_found")


# --- Variants ----------------------------------------------------------------------------------------------------------------


async def _replace_variants(scope: Scope, option_id: int, type_: str, values: Sequence[InputValues]) -> bool:
    """Replace the variants of an option; return whether one was added, changed or deleted."""
    if values and type_ not in TYPES_WITH_VARIANTS:
        if scope.family == "legacy":
            return False  # CS-Cart clients send variants for every type
        raise ValidationFailed(f"an option of type {type_} has no variants", field="variants", code="variants_invalid")
    check_count(values, MAX_VARIANTS, "variants", field="variants")
    existing = {variant["id"]: dict(variant) for variant in await fetch(_VARIANTS, scope.store.id, option_id)}
    by_reference = {variant[key]: variant["id"] for variant in existing.values() for key in ("id", "public_id")}
    by_name = {variant["name"]: variant["id"] for variant in reversed(list(existing.values()))}
    kept: dict[int, dict[str, Any]] = {}
    new: list[dict[str, Any]] = []
    for index, variant_values in enumerate(values):
        columns = _read_variant(variant_values)
        variant_id = _match_variant(variant_values, columns, by_reference, by_name, kept)
        if variant_id is None:
            new.append({"option_id": option_id, **_NEW_VARIANT, "position": index, **columns})
        else:
            kept[variant_id] = {"id": variant_id, **columns}
    # Those that stay first, as `existing` has the link of each.
    links = {index: existing[variant_id]["image_url"] for index, variant_id in enumerate(kept)}
    await _resolve_images(scope, [*kept.values(), *new], links)
    for variant_id, columns in kept.items():
        merged = {**existing[variant_id], **columns}
        kept[variant_id] = {name: merged[name] for name in ("id", *_NEW_VARIANT, "name")}
    deleted = [variant for variant in existing if variant not in kept]
    await _delete_variants(scope, option_id, deleted)
    changed = await update_rows(scope, "option_variants", list(kept.values()))
    await insert_rows(scope, "option_variants", new)
    return bool(deleted or changed or new)


async def _delete_combinations(scope: Scope, option_id: int, variant_ids: list[int] | None) -> None:
    """Soft-delete the combinations with an option, or with any of the variants, locked first in the order of orders."""
    combinations = [row["id"] for row in await fetch(_COMBINATIONS, scope.store.id, option_id, variant_ids)]
    await lock_stock(scope, (), combinations)
    await execute(_DELETE_COMBINATIONS, scope.store.id, combinations, scope.now)


async def _delete_variants(scope: Scope, option_id: int, variant_ids: list[int]) -> None:
    if variant_ids:
        await _delete_combinations(scope, option_id, variant_ids)
        await execute(_DELETE_EXCEPTIONS, scope.store.id, option_id, variant_ids)
        await execute(_DELETE_VARIANTS, scope.store.id, option_id, variant_ids)


async def _set_images(scope: Scope, option_id: int, images: Sequence[InputValues], sent: Sequence[InputValues]) -> bool:
    """Set the images of variants, each identified by its key among those `sent`, else by its id, else by its index from 0.

    Return whether one of them was another.
    """
    if not images:
        return False
    existing = await fetch(_VARIANTS, scope.store.id, option_id)
    by_id = {str(variant[key]): variant["id"] for variant in existing for key in ("id", "public_id")}
    by_name = {variant["name"]: variant["id"] for variant in reversed(existing)}
    indexes = {str(index): variant["id"] for index, variant in enumerate(existing)}
    keys: dict[str, int] = {}
    for index, variant in enumerate(sent):
        variant_id = by_id.get(str(variant["id"]).lower()) if variant.get("id") else by_name.get(variant.get("name"))
        if variant_id is not None and variant.get("key") is not None:
            keys[variant["key"].lower()] = variant_id
        elif variant_id is not None:
            indexes[str(index)] = variant_id
    identified = indexes | by_id | keys
    stored = {variant["id"]: variant for variant in existing}
    changed: dict[int, dict[str, Any]] = {}
    for image in images:
        columns = read_fields(_PICTURE_FIELDS, image)
        variant_id = identified.get(str(image["variant"]).lower())
        if variant_id is None:
            raise ValidationFailed(f"variant {image['variant']} not found", field="variant_pictures", code="not_found")
        file = {"named": image["media_id"]} if "media_id" in image else {}
        changed[variant_id] = {"id": variant_id, "image_url": "", **columns, **file}
    links = {index: stored[each]["image_url"] for index, each in enumerate(changed)}
    await _resolve_images(scope, [*changed.values()], links)
    rows = [{name: row.get(name, stored[each][name]) for name in _PICTURE_COLUMNS} for each, row in changed.items()]
    return bool(await update_rows(scope, "option_variants", rows))


def _read_variant(values: InputValues) -> dict[str, Any]:
    """Return the columns of a variant's input; `image` takes precedence over `image_url` and `image_alt`."""
    columns = read_fields(VARIANT_FIELDS, values, creating=values.get("id") is None, within="variants")
    image, errors = read_image(values)
    raise_field_errors({f"variants.{name}": error for name, error in errors.items()})
    return columns | image


async def _resolve_images(scope: Scope, variants: Sequence[dict[str, Any]], links: Mapping[int, str]) -> None:
    """Set the files of the variants' images; `links` are those of existing ones by position."""
    errors = await resolve_rows(scope, variants, links)
    names = {"url": "image_url", "media_id": "image.media_id"}
    raise_field_errors({f"variants.{names[member]}": error for member, error in errors.values()})


def _match_variant(
    entry: InputValues,
    columns: Mapping[str, Any],
    by_reference: Mapping[Any, int],
    by_name: Mapping[str, int],
    kept: Mapping[int, object],
) -> int | None:
    if entry.get("id") is None:
        variant_id = by_name.get(columns["name"])
        return None if variant_id in kept else variant_id
    variant_id = by_reference.get(parse_reference(entry["id"]))
    if variant_id is None or variant_id in kept:
        problem = "not found" if variant_id is None else "is named twice"
        raise ValidationFailed(f"variant {entry['id']} {problem}", field="variants", code="not_found")
    return variant_id
