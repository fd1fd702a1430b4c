"""Make, change and delete options, their variants, and which products offer a shared one.

An option belongs to one product, or is shared: then it names the products that offer it. A combination or an exception that names a
shared option makes its product offer it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from domain import audit
from domain.catalog.offered import BY_VARIANT, owner_named
from domain.catalog.product_draft import image_url
from domain.fields import Given, InputField, code_in, flag, name_text, read_fields, short_text, text, whole
from domain.references import OPTION, PRODUCT, VENDOR, find, resolve_all, resolve_optional
from kernel.codes import MODIFIER_TYPES, OPTION_TYPES, SWITCH_STATUSES
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.ids import parse_reference, uuid7
from kernel.money import MAX_CENTS
from kernel.scope import ActorKind, Scope
from models.database import execute, row, rows, transaction, value
from models.options import Option

OPTION_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "type": InputField("type", code_in(OPTION_TYPES), code="type_invalid"),
    "required": InputField("required", flag),
    "inventory": InputField("inventory", flag, code="inventory_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
    "position": InputField("position", whole(), code="position_invalid"),
    "description": InputField("description", text()),
}
VARIANT_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "modifier": InputField("modifier", whole(-MAX_CENTS, MAX_CENTS), code="modifier_invalid"),
    "modifier_type": InputField("modifier_type", code_in(MODIFIER_TYPES), code="modifier_type_invalid"),
    "position": InputField("position", whole(), code="position_invalid"),
    "image_url": InputField("image_url", lambda given: image_url(given) if given else "", code="url_invalid"),
    "image_alt": InputField("image_alt", short_text),
}
_NEW_VARIANT: Mapping[str, Any] = {
    "modifier": 0,
    "modifier_type": "A",
    "position": 0,
    "image_url": "",
    "image_alt": "",
}
MAX_VARIANTS = 500
MAX_PRODUCTS = 1_000

_LOCK = """
SELECT id, public_id, product_id, vendor_id, type, inventory FROM options WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE
"""
_VARIANTS = """
SELECT id, public_id, name, modifier, modifier_type, position, image_url, image_alt FROM option_variants
WHERE tenant_id = $1 AND option_id = $2 ORDER BY position, id
"""
# In the order of the ids, as orders lock combinations too.
_HIDE_COMBINATIONS = """
WITH locked AS (
    SELECT c.id FROM combinations c WHERE c.tenant_id = $1 AND c.deleted_at IS NULL AND c.id IN (
        SELECT k.combination_id FROM combination_choices k
        WHERE k.tenant_id = $1 AND k.option_id = $2 AND ($3::bigint[] IS NULL OR k.variant_id = ANY($3::bigint[])))
    ORDER BY c.id FOR NO KEY UPDATE
)
UPDATE combinations c SET deleted_at = $4, updated_at = $4 FROM locked WHERE c.tenant_id = $1 AND c.id = locked.id
"""
_DROP_EXCEPTIONS = """
DELETE FROM option_exceptions e WHERE e.tenant_id = $1 AND e.id IN (
    SELECT k.exception_id FROM exception_choices k
    WHERE k.tenant_id = $1 AND k.option_id = $2 AND ($3::bigint[] IS NULL OR k.variant_id = ANY($3::bigint[])))
"""
_DROP_VARIANTS = (
    "DELETE FROM option_variants WHERE tenant_id = $1 AND option_id = $2 AND id = ANY($3::bigint[])"
)
_CHANGE_VARIANTS = """
UPDATE option_variants v SET name = g.name, modifier = g.modifier, modifier_type = g.modifier_type, position = g.position,
    image_url = g.image_url, image_alt = g.image_alt
FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::int[], $7::text[], $8::text[])
    AS g (id, name, modifier, modifier_type, position, image_url, image_alt)
WHERE v.tenant_id = $1 AND v.id = g.id
"""
_ADD_VARIANTS = """
INSERT INTO option_variants (tenant_id, public_id, option_id, name, modifier, modifier_type, position, image_url, image_alt)
SELECT $1, g.public_id, $2, g.name, g.modifier, g.modifier_type, g.position, g.image_url, g.image_alt
FROM unnest($3::uuid[], $4::text[], $5::bigint[], $6::text[], $7::int[], $8::text[], $9::text[])
    AS g (public_id, name, modifier, modifier_type, position, image_url, image_alt)
"""
_PICTURE = "UPDATE option_variants SET image_url = $3 WHERE tenant_id = $1 AND id = $2"
_IN_USE = """
SELECT EXISTS (SELECT 1 FROM combination_choices k JOIN combinations c ON c.tenant_id = k.tenant_id AND c.id = k.combination_id
    WHERE k.tenant_id = $1 AND k.option_id = $2 AND c.deleted_at IS NULL)
"""
_LINKS = """
INSERT INTO product_options (tenant_id, public_id, product_id, option_id)
SELECT $1, g.public_id, g.product_id, g.option_id FROM unnest($2::uuid[], $3::bigint[], $4::bigint[])
    AS g (public_id, product_id, option_id)
ON CONFLICT (tenant_id, product_id, option_id) DO NOTHING
"""
_LINKED = "SELECT product_id FROM product_options WHERE tenant_id = $1 AND option_id = $2"
_UNLINK = (
    "DELETE FROM product_options WHERE tenant_id = $1 AND option_id = $2 AND product_id = ANY($3::bigint[])"
)
_USED_BY = """
SELECT DISTINCT c.product_id FROM combination_choices k
JOIN combinations c ON c.tenant_id = k.tenant_id AND c.id = k.combination_id AND c.deleted_at IS NULL
WHERE k.tenant_id = $1 AND k.option_id = $2 AND c.product_id = ANY($3::bigint[])
"""


async def create_option(scope: Scope, given: Given) -> int:
    """Make an option and give its internal id.

    Keys: `name`*, `type` (`S`), `product` (null: shared), `vendor` of a shared one, `products` that offer a shared one, `required`,
    `inventory` (yes unless said, where the type has variants), `status`, `position`, `description`, and
    `variants [{name, modifier, modifier_type, position, image_url, image_alt}]`.

    Raises ValidationFailed.
    """
    columns = read_fields(OPTION_FIELDS, given, creating=True)
    _check_inventory(columns, columns.get("type", "S"))
    columns.setdefault("inventory", columns.get("type", "S") in BY_VARIANT)
    async with transaction(scope):
        columns |= await _belongs(scope, given)
        option = Option(**columns, created_at=scope.now, updated_at=scope.now)
        await option.save()
        option_id: int = option.id
        await _offer(scope, option_id, columns["product_id"], columns["vendor_id"], given)
        if given.get("variants") is not None:
            # There are none yet that an id could name.
            new = [{**variant, "id": None} for variant in given["variants"]]
            await _replace_variants(scope, option_id, columns.get("type", "S"), new)
        await _picture(scope, option_id, given.get("variant_pictures") or ())
        await audit.record(scope, "option.created", "option", option.public_id)
    return option_id


async def update_option(scope: Scope, option: object, given: Given) -> int:
    """Change an option partially and give its internal id.

    `variants` list every variant that is to remain, known by `id`, else by name; with those left out go the combinations and
    exceptions that hold them (contract, Option update body). Raises NotFound (for a vendor also where the option is another's),
    ValidationFailed, and RuleViolation `option_in_use` for what combinations rule out.
    """
    columns = read_fields(OPTION_FIELDS, given)
    async with transaction(scope):
        held = await _reach(scope, option)
        type_ = columns.get("type", held["type"])
        _check_inventory(columns, type_)
        if type_ not in BY_VARIANT:
            columns["inventory"] = False
        if held["inventory"] and not columns.get("inventory", True):
            await _refuse_in_use(scope, held["id"], "it can't leave the inventory")
        if "product" in given:
            columns |= await _moved(scope, held, given)
        elif "vendor" in given and held["product_id"] is None and scope.actor.kind is not ActorKind.VENDOR:
            columns["vendor_id"] = await resolve_optional(scope, VENDOR, given["vendor"], field="vendor")
            linked = await rows(_LINKED, scope.store.id, held["id"])
            await _refuse_foreign(scope, {each["product_id"] for each in linked}, columns["vendor_id"])
        product_id = columns.get("product_id", held["product_id"])
        await Option.filter(id=held["id"]).update(**columns, updated_at=scope.now)
        await _offer(scope, held["id"], product_id, columns.get("vendor_id", held["vendor_id"]), given)
        if type_ not in BY_VARIANT and held["type"] in BY_VARIANT:
            await _replace_variants(scope, held["id"], held["type"], ())
        if given.get("variants") is not None:
            await _replace_variants(scope, held["id"], type_, given["variants"])
        await _picture(scope, held["id"], given.get("variant_pictures") or ())
        await audit.record(
            scope, "option.updated", "option", held["public_id"], {"fields": sorted(map(str, given))}
        )
    option_id: int = held["id"]
    return option_id


async def delete_option(scope: Scope, option: object) -> None:
    """Hide an option; combinations and exceptions that hold it go with it, and orders go on showing what was chosen."""
    async with transaction(scope):
        held = await _reach(scope, option)
        await execute(_HIDE_COMBINATIONS, scope.store.id, held["id"], None, scope.now)
        await execute(_DROP_EXCEPTIONS, scope.store.id, held["id"], None)
        await execute(
            "DELETE FROM product_options WHERE tenant_id = $1 AND option_id = $2", scope.store.id, held["id"]
        )
        await Option.filter(id=held["id"]).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "option.deleted", "option", held["public_id"])


async def offer(scope: Scope, product_ids: Iterable[int], option_ids: Iterable[int]) -> None:
    """Make products offer options, each the one beside it in the other list."""
    products, options = list(product_ids), list(option_ids)
    if products:
        await execute(_LINKS, scope.store.id, [uuid7() for _ in products], products, options)


async def _reach(scope: Scope, option: object) -> Mapping[str, Any]:
    """Lock an option that the caller may change."""
    held = await row(_LOCK, scope.store.id, await find(scope, OPTION, option))
    if held is None or (scope.actor.kind is ActorKind.VENDOR and held["vendor_id"] != scope.actor.company_id):
        raise NotFound("option")
    return dict(held)


def _check_inventory(columns: Mapping[str, Any], type_: str) -> None:
    if columns.get("inventory") and type_ not in BY_VARIANT:
        raise ValidationFailed(
            f"inventory is Y for type {type_}; expected it only for {', '.join(BY_VARIANT)}",
            field="inventory",
            code="inventory_invalid",
        )


async def _refuse_in_use(scope: Scope, option_id: int, why: str) -> None:
    if await value(_IN_USE, scope.store.id, option_id):
        raise RuleViolation(f"combinations hold the option; {why}", reason="option_in_use")


# --- Whose it is -------------------------------------------------------------------------------------------------------------


async def _belongs(scope: Scope, given: Given) -> dict[str, Any]:
    """Give the product and the vendor of a new option."""
    if given.get("product") is not None:
        owner = await owner_named(scope, given["product"])
        return {"product_id": owner.id, "vendor_id": owner.vendor_id}
    if scope.actor.kind is ActorKind.VENDOR:
        return {"product_id": None, "vendor_id": scope.actor.company_id}
    vendor = await resolve_optional(scope, VENDOR, given.get("vendor"), field="vendor")
    return {"product_id": None, "vendor_id": vendor}


async def _moved(scope: Scope, held: Mapping[str, Any], given: Given) -> dict[str, Any]:
    """Give the columns of another product; combinations keep an option where it is."""
    belongs = await _belongs(scope, given)
    if belongs["product_id"] == held["product_id"]:
        return {}
    await _refuse_in_use(scope, held["id"], "it can't go to another product")
    await execute(_DROP_EXCEPTIONS, scope.store.id, held["id"], None)
    if held["product_id"] is not None:
        await execute(_UNLINK, scope.store.id, held["id"], [held["product_id"]])
    return belongs


async def _offer(
    scope: Scope, option_id: int, product_id: int | None, vendor_id: int | None, given: Given
) -> None:
    if product_id is not None:
        linked = [each["product_id"] for each in await rows(_LINKED, scope.store.id, option_id)]
        await execute(_UNLINK, scope.store.id, option_id, [each for each in linked if each != product_id])
        await offer(scope, [product_id], [option_id])
    elif given.get("products") is not None:
        await _share(scope, option_id, vendor_id, given["products"])


async def _share(scope: Scope, option_id: int, vendor_id: int | None, products: Sequence[object]) -> None:
    """Let exactly these products offer a shared option."""
    if len(products) > MAX_PRODUCTS:
        raise ValidationFailed(
            f"there are {len(products)} products; expected at most {MAX_PRODUCTS}",
            field="products",
            code="too_many",
        )
    wanted = set((await resolve_all(scope, PRODUCT, products, field="products")).values())
    await _refuse_foreign(scope, wanted, vendor_id)
    linked = {each["product_id"] for each in await rows(_LINKED, scope.store.id, option_id)}
    gone = sorted(linked - wanted)
    used = await rows(_USED_BY, scope.store.id, option_id, gone)
    if used:
        raise RuleViolation(
            "combinations of a product left out hold the option; it can't be taken from there",
            reason="option_in_use",
        )
    await execute(_UNLINK, scope.store.id, option_id, gone)
    new = sorted(wanted - linked)
    await offer(scope, new, [option_id] * len(new))


async def _refuse_foreign(scope: Scope, products: set[int], vendor_id: int | None) -> None:
    """Refuse products of another vendor than the option's."""
    if vendor_id is None:
        return
    foreign = await value(
        "SELECT count(*) FROM products WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND vendor_id IS DISTINCT FROM $3",
        scope.store.id,
        sorted(products),
        vendor_id,
    )
    if foreign:
        raise ValidationFailed("product not found", field="products", code="not_found")


# --- Variants ----------------------------------------------------------------------------------------------------------------


async def _replace_variants(scope: Scope, option_id: int, type_: str, given: Sequence[Given]) -> None:
    if given and type_ not in BY_VARIANT:
        if scope.family == "legacy":
            return  # CS-Cart's clients send them whatever the type is
        raise ValidationFailed(
            f"an option of type {type_} has no variants", field="variants", code="variants_invalid"
        )
    if len(given) > MAX_VARIANTS:
        raise ValidationFailed(
            f"there are {len(given)} variants; expected at most {MAX_VARIANTS}",
            field="variants",
            code="too_many",
        )
    known = {variant["id"]: dict(variant) for variant in await rows(_VARIANTS, scope.store.id, option_id)}
    by_reference = {variant[key]: variant["id"] for variant in known.values() for key in ("id", "public_id")}
    by_name = {variant["name"]: variant["id"] for variant in reversed(list(known.values()))}
    kept: dict[int, dict[str, Any]] = {}
    new: list[dict[str, Any]] = []
    for place, entry in enumerate(given):
        columns = read_fields(VARIANT_FIELDS, entry, creating=entry.get("id") is None)
        variant_id = _known_variant(entry, columns, by_reference, by_name, kept)
        if variant_id is None:
            new.append({**_NEW_VARIANT, "position": place, **columns})
        else:
            kept[variant_id] = {**known[variant_id], **columns}
    await _drop_variants(scope, option_id, [variant for variant in known if variant not in kept])
    await execute(_CHANGE_VARIANTS, scope.store.id, list(kept), *_columns(list(kept.values())))
    await execute(_ADD_VARIANTS, scope.store.id, option_id, [uuid7() for _ in new], *_columns(new))


async def _drop_variants(scope: Scope, option_id: int, gone: list[int]) -> None:
    if gone:
        await execute(_HIDE_COMBINATIONS, scope.store.id, option_id, gone, scope.now)
        await execute(_DROP_EXCEPTIONS, scope.store.id, option_id, gone)
        await execute(_DROP_VARIANTS, scope.store.id, option_id, gone)


async def _picture(scope: Scope, option_id: int, pictures: Sequence[Given]) -> None:
    """Give variants their pictures; each is named by its id, else by its place from 0."""
    if not pictures:
        return
    known = await rows(_VARIANTS, scope.store.id, option_id)
    by_name = {str(place): variant["id"] for place, variant in enumerate(known)}
    by_name |= {str(variant[key]): variant["id"] for variant in known for key in ("id", "public_id")}
    for picture in pictures:
        columns = read_fields({"url": VARIANT_FIELDS["image_url"]}, picture)
        variant_id = by_name.get(str(picture["variant"]).lower())
        if variant_id is None:
            raise ValidationFailed(
                f"variant {picture['variant']} not found", field="variant_pictures", code="not_found"
            )
        await execute(_PICTURE, scope.store.id, variant_id, columns["image_url"])


def _columns(variants: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    return [[variant[name] for variant in variants] for name in VARIANT_FIELDS]


def _known_variant(
    entry: Given,
    columns: Mapping[str, Any],
    by_reference: Mapping[Any, int],
    by_name: Mapping[str, int],
    kept: Mapping[int, object],
) -> int | None:
    if entry.get("id") is None:
        found = by_name.get(columns["name"])
        return None if found in kept else found
    found = by_reference.get(parse_reference(entry["id"]))
    if found is None or found in kept:
        why = "not found" if found is None else "is named twice"
        raise ValidationFailed(f"variant {entry['id']} {why}", field="variants", code="not_found")
    return found
