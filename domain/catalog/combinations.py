"""Create, update and delete option combinations, one at a time or up to 500 of a product at once, all or nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from domain import event_types, events
from domain.catalog.options import link_options
from domain.catalog.product_options import (
    MAX_CHOICES,
    EditableProduct,
    LoadedOption,
    OptionsByReference,
    VariantPairs,
    combination_hash,
    find_editable_product,
    load_product_options,
    load_shared_options,
    reference_text,
    resolve_editable_product,
)
from domain.media.images import read_image, resolve_rows
from domain.media.received import store_images
from kernel.errors import Conflict, NotFound, ValidationFailed
from kernel.fields import (
    MAX_QUANTITY,
    FieldErrors,
    FieldReader,
    InputField,
    InputValues,
    check_count,
    integer,
    raise_field_errors,
    read_fields,
    read_with_errors,
)
from kernel.ids import parse_reference, split_reference
from kernel.money import MAX_CENTS
from kernel.product_fields import PRODUCT_FIELDS, trimmed
from kernel.scope import ActorKind, Scope
from kernel.text import repr_value
from models import audit
from models.connection.database import UniqueViolation, fetch, fetchrow, fetchval, transaction
from models.references import COMBINATION, NOT_FOUND, find
from models.rows import delete_rows, insert_rows, insert_sql, rows_json, update_row


def _or_products(read: FieldReader) -> FieldReader:
    """Return a reader of a combination's own value; null and a blank text for its product's."""

    def read_own(value: object) -> object:
        own = None if value is None else read(value)
        return None if own == "" else own

    return read_own


FREIGHT_FIELDS: Mapping[str, InputField] = {
    name: replace(PRODUCT_FIELDS[name], read=_or_products(PRODUCT_FIELDS[name].read))
    for name in ("length_mm", "width_mm", "height_mm", "gtin", "shipping_freight_cents")
}
"""What carriers ask of a combination; null for what its product has."""
COMBINATION_FIELDS: Mapping[str, InputField] = {
    "sku": InputField("sku", trimmed, code="sku_invalid"),
    # Available stock; stored as this plus the units reserved by open orders, as for products.
    "stock": InputField("stock", integer(0, MAX_QUANTITY), code="stock_invalid"),
    **{
        name: InputField("price_cents", integer(-MAX_CENTS, MAX_CENTS), code="price_invalid")
        for name in ("price_cents", "modifier_cents")
    },
    "position": InputField("position", integer(), code="position_invalid"),
    **FREIGHT_FIELDS,
}
MAX_BATCH = 500
_HASH = re.compile(r"[0-9_]{3,1000}")
_NO_IMAGE: Mapping[str, Any] = {"image_url": "", "image_alt": "", "image_width": 0, "image_height": 0, "media_id": None}
_NEW: Mapping[str, Any] = {
    "sku": "",
    "on_hand": 0,
    "price_cents": 0,
    "position": 0,
    **dict.fromkeys(FREIGHT_FIELDS),
    **_NO_IMAGE,
}

_LOCK_PRODUCT = "SELECT id FROM products WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"
_EXISTING = "SELECT id, hash, sku FROM combinations WHERE tenant_id = $1 AND product_id = $2 AND deleted_at IS NULL"
_INSERT = f"""
WITH inserted AS (
    {insert_sql("combinations", ("product_id", "hash", "created_at", "updated_at", *_NEW))} RETURNING id, hash
), choices AS (
    INSERT INTO combination_choices (tenant_id, public_id, combination_id, option_id, variant_id)
    SELECT $1, c.public_id, inserted.id, c.option_id, c.variant_id
    FROM jsonb_to_recordset($3::text::jsonb) AS c (public_id uuid, hash text, option_id bigint, variant_id bigint)
    JOIN inserted USING (hash)
)
SELECT id, hash FROM inserted
"""
_PRODUCT_OF = "SELECT product_id FROM combinations WHERE tenant_id = $1 AND id = $2"
_LOCK = """
SELECT c.id, c.public_id, c.product_id, c.hash, c.reserved, c.image_url, p.public_id AS product_public_id, p.vendor_id
FROM combinations c JOIN products p ON p.tenant_id = c.tenant_id AND p.id = c.product_id
WHERE c.tenant_id = $1 AND c.id = $2 AND c.deleted_at IS NULL AND p.deleted_at IS NULL FOR NO KEY UPDATE OF c
"""
_FIND_BY_HASH = """
SELECT c.id FROM combinations c JOIN products p ON p.tenant_id = c.tenant_id AND p.id = c.product_id AND p.deleted_at IS NULL
WHERE c.tenant_id = $1 AND (c.hash = $2 OR c.id = $6 OR c.public_id = $7) AND c.deleted_at IS NULL
    AND ($3::bigint IS NULL OR c.product_id = $3) AND ($4::uuid IS NULL OR p.public_id = $4)
    AND ($5::bigint IS NULL OR p.vendor_id = $5)
LIMIT 2
"""


@dataclass(frozen=True, slots=True)
class CreatedCombination:
    """A combination that was created."""

    id: int
    hash: str


async def create_combination(scope: Scope, values: InputValues) -> int:
    """Create a combination and return its internal id.

    Keys: `product`*, `choices`* (`{option: variant}`), `sku`, `stock`, `modifier_cents` or
    `price_cents` (added to the product's price; may be negative), `position`, those of FREIGHT_FIELDS, `image {url, alt, width, height}`.
    Raises ValidationFailed for a combination that exists, an option without inventory flag or of another product, or a variant of another
    option (docs/reference/legacy.md#combinations).
    """
    await store_images(scope, [values.get("image")])
    async with transaction(scope):
        product = await resolve_editable_product(scope, values.get("product"))
        [created] = await _create(scope, product, [values], alone=True)
        await _emit_product_updated(scope, product.id)
    return created.id


async def create_combinations(scope: Scope, product: object, inputs: Sequence[InputValues]) -> list[CreatedCombination]:
    """Create up to 500 combinations of a product, all or none, and return them in input order.

    Raises NotFound for the product, and ValidationFailed whose details contain `errors [{index, field, message}]`.
    """
    if not inputs:
        raise ValidationFailed("combinations is required", field="combinations", code="required")
    check_count(inputs, MAX_BATCH, "combinations", field="combinations")
    await store_images(scope, [values.get("image") for values in inputs])
    async with transaction(scope):
        editable = await find_editable_product(scope, product)
        if editable is None:
            raise NotFound("product")
        created = await _create(scope, editable, inputs)
        await _emit_product_updated(scope, editable.id)
    return created


async def update_combination(
    scope: Scope, combination: object, values: InputValues, *, product: object | None = None
) -> int:
    """Update a combination partially (keys as in `create_combination`, without `product`) and return its internal id.

    With `product`, a combination of another product raises NotFound.
    """
    columns = read_fields(COMBINATION_FIELDS, values)
    await store_images(scope, [values.get("image")])
    image, errors = read_image(values)
    raise_field_errors(errors)
    async with transaction(scope):
        current = await _lock_editable(scope, combination, product)
        refused = await resolve_rows(scope, [image], {0: current["image_url"]})
        raise_field_errors({f"image.{name}": error for name, error in refused.values()})
        if image and image["image_url"] != current["image_url"]:
            image = {**_NO_IMAGE, **image}
        editable = EditableProduct(current["product_id"], current["product_public_id"], current["vendor_id"])
        others = [
            other for other in await fetch(_EXISTING, scope.store.id, editable.id) if other["id"] != current["id"]
        ]
        pairs = await _new_pairs(scope, editable, values)
        if pairs is not None and combination_hash(pairs) != current["hash"]:
            if combination_hash(pairs) in {other["hash"] for other in others}:
                raise _exists()
            columns["hash"] = combination_hash(pairs)
        if columns.get("sku") and columns["sku"] in {other["sku"] for other in others}:
            raise ValidationFailed(_sku_taken(columns["sku"]), field="sku", code="sku_taken")
        if "stock" in columns:
            columns["on_hand"] = columns.pop("stock") + current["reserved"]
        changed = await _update(scope, current["id"], {**columns, **image})
        if "hash" in columns and pairs is not None:
            await _replace_choices(scope, current["id"], pairs)
        if changed:
            await audit.record_update(scope, "combination", current["public_id"], values)
            await _emit_product_updated(scope, editable.id)
    return int(current["id"])


async def delete_combination(scope: Scope, combination: object, *, product: object | None = None) -> None:
    """Soft-delete a combination; orders that contain it still return their units to it."""
    async with transaction(scope):
        current = await _lock_editable(scope, combination, product)
        await _update(scope, current["id"], {"deleted_at": scope.now})
        await audit.record(scope, "combination.deleted", "combination", current["public_id"])
        await _emit_product_updated(scope, current["product_id"])


async def find_combination_by_hash(scope: Scope, hash_: str, product: object | None = None) -> int:
    """Return the internal id of the combination with this hash (or id or UUID), optionally of a `product`.

    Raises NotFound, and ValidationFailed if several products share the hash and none was named.
    """
    own_vendor = scope.actor.vendor_id if scope.actor.kind is ActorKind.VENDOR else None
    reference, own_reference = parse_reference(product), parse_reference(hash_)
    if own_reference is None and not _HASH.fullmatch(hash_):
        raise NotFound("combination")
    matches = []
    if product is None or reference is not None:
        matches = await fetch(
            _FIND_BY_HASH,
            scope.store.id,
            hash_,
            *split_reference(reference),
            own_vendor,
            *split_reference(own_reference),
        )
    if not matches and product is not None:
        elsewhere = await fetch(
            _FIND_BY_HASH, scope.store.id, hash_, None, None, own_vendor, *split_reference(own_reference)
        )
        if elsewhere:
            raise NotFound("combination") from _other_product(product)
    if not matches:
        raise NotFound("combination")
    if len(matches) > 1:
        raise ValidationFailed(
            "product_id is required: several products have that combination", field="product", code="required"
        )
    return int(matches[0]["id"])


def _other_product(product: object) -> ValidationFailed:
    """Return the error that is the cause of NotFound for a combination of another product."""
    return ValidationFailed(
        f"product is {repr_value(product)}; expected that of the combination", field="product", code=NOT_FOUND
    )


async def _emit_product_updated(scope: Scope, product_id: int) -> None:
    """Emit `product.updated`: combinations are part of their product."""
    await events.emit_products_changed(scope, {product_id: event_types.PRODUCT_UPDATED})


async def _lock_editable(scope: Scope, combination: object, product: object | None = None) -> Mapping[str, Any]:
    """Lock a combination that the caller may edit; its product first, in the lock order of orders."""
    combination_id = await find(scope, COMBINATION, combination)
    await fetchrow(_LOCK_PRODUCT, scope.store.id, await fetchval(_PRODUCT_OF, scope.store.id, combination_id))
    current = await fetchrow(_LOCK, scope.store.id, combination_id)
    if current is None or (scope.actor.kind is ActorKind.VENDOR and current["vendor_id"] != scope.actor.vendor_id):
        raise NotFound("combination")
    if product is not None and parse_reference(product) not in (current["product_id"], current["product_public_id"]):
        raise NotFound("combination") from _other_product(product)
    return dict(current)


async def _update(scope: Scope, combination_id: int, columns: Mapping[str, Any]) -> bool:
    try:
        return await update_row(scope, "combinations", combination_id, **columns, updated_at=scope.now)
    except UniqueViolation as error:
        raise _exists() from error


async def _replace_choices(scope: Scope, combination_id: int, pairs: VariantPairs) -> None:
    rows = [{"combination_id": combination_id, "option_id": option, "variant_id": variant} for option, variant in pairs]
    await delete_rows(scope, "combination_choices", combination_id=combination_id)
    await insert_rows(scope, "combination_choices", rows)


# --- Creating ----------------------------------------------------------------------------------------------------------------


async def _create(
    scope: Scope, product: EditableProduct, inputs: Sequence[InputValues], *, alone: bool = False
) -> list[CreatedCombination]:
    # Creations lock the product's row, because two concurrent ones could create the same combination.
    await fetchrow(_LOCK_PRODUCT, scope.store.id, product.id)
    options = await load_usable_options(scope, product, inputs)
    existing = await fetch(_EXISTING, scope.store.id, product.id)
    hashes = {row["hash"] for row in existing}
    skus = {row["sku"] for row in existing if row["sku"]}
    ready: list[tuple[str, VariantPairs, dict[str, Any]]] = []
    all_errors: list[dict[str, Any]] = []
    images = [read_image(values) for values in inputs]
    refused = await resolve_rows(scope, [image for image, _ in images])
    for index, values in enumerate(inputs):
        if values.get("refused"):
            continue
        columns, errors = read_with_errors(COMBINATION_FIELDS, values)
        image, image_errors = images[index]
        errors |= image_errors
        if not image_errors and index in refused:
            member, error = refused[index]
            errors[f"image.{member}"] = error
        pairs, choice_errors = parse_choices(options, values.get("choices"), inventory=True)
        errors |= choice_errors
        hash_ = combination_hash(pairs)
        if not errors and hash_ in hashes:
            errors["choices"] = ("combination_exists", "choices are those of a combination that exists")
        if columns.get("sku") and columns["sku"] in skus:
            errors["sku"] = ("sku_taken", _sku_taken(columns["sku"]))
        if errors and alone:
            raise_field_errors(errors)
        all_errors += [{"index": index, "field": name, "message": text} for name, (_, text) in errors.items()]
        hashes.add(hash_)
        skus |= {columns["sku"]} if columns.get("sku") else set()
        ready.append((hash_, pairs, {**_NEW, **columns, **image, "on_hand": columns.get("stock", 0)}))
    if all_errors or any(values.get("refused") for values in inputs):
        raise ValidationFailed(
            "; ".join(f"combination {error['index']}: {error['message']}" for error in all_errors[:5]),
            field="combinations",
            details={"errors": all_errors},
        )
    await _link_shared_options(scope, product, [pairs for _, pairs, _ in ready])
    ids = await _insert(scope, product, ready)
    await audit.record(
        scope, "combination.created", "product", product.public_id, {"combinations": [h for h, _, _ in ready]}
    )
    return [CreatedCombination(ids[hash_], hash_) for hash_, _, _ in ready]


async def _insert(
    scope: Scope, product: EditableProduct, combinations: Sequence[tuple[str, VariantPairs, Mapping[str, Any]]]
) -> dict[str, int]:
    own = {"product_id": product.id, "created_at": scope.now, "updated_at": scope.now}
    rows = [{**columns, **own, "hash": hash_} for hash_, _, columns in combinations]
    choices = [
        {"hash": hash_, "option_id": option, "variant_id": variant}
        for hash_, pairs, _ in combinations
        for option, variant in pairs
    ]
    try:
        inserted = await fetch(_INSERT, scope.store.id, rows_json(rows), rows_json(choices))
    except UniqueViolation as error:
        raise Conflict("a combination was made meanwhile; try again") from error
    return {row["hash"]: row["id"] for row in inserted}


# --- Choices -----------------------------------------------------------------------------------------------------------------


async def load_usable_options(
    scope: Scope, product: EditableProduct, inputs: Sequence[InputValues]
) -> OptionsByReference:
    """Load the options that combinations and exceptions of a product may use: its own, and shared ones."""
    options = (await load_product_options(scope, [product.id]))[product.id]
    named = {
        parse_reference(option)
        for values in inputs
        if isinstance(values.get("choices"), Mapping)
        for option in values["choices"]
    }
    foreign = {reference for reference in named if reference is not None and reference not in options}
    if foreign:
        options = {**await load_shared_options(scope, foreign, product.vendor_id), **options}
    return options


def parse_choices(options: OptionsByReference, choices: object, *, inventory: bool) -> tuple[VariantPairs, FieldErrors]:
    """Parse `{option: variant}`; `inventory` accepts only options with that flag. Errors are returned under `choices`."""

    def error(code: str, sentence: str) -> tuple[VariantPairs, FieldErrors]:
        return (), {"choices": (code, sentence)}

    if choices is None or choices == {}:
        return error("required", "choices is required")
    if not isinstance(choices, Mapping) or len(choices) > MAX_CHOICES:
        return error("invalid", f"choices is {repr_value(choices)}; expected an object of options and variants")
    pairs: dict[int, int] = {}
    for option_key, variant_key in choices.items():
        reference, variant_reference = parse_reference(option_key), parse_reference(variant_key)
        option: LoadedOption | None = options.get(reference) if reference is not None else None
        if option is None:
            return error(NOT_FOUND, f"option {reference_text(option_key)} is not of the product")
        if inventory and not option.inventory:
            return error(
                "no_inventory",
                f"option {reference_text(option_key)} takes no part in combinations: its inventory flag is N",
            )
        variant = option.variants.get(variant_reference) if variant_reference is not None else None
        if variant is None:
            return error(
                NOT_FOUND, f"variant {reference_text(variant_key)} is not of option {reference_text(option_key)}"
            )
        if option.id in pairs:
            return error("duplicate", f"option {reference_text(option_key)} is named twice")
        pairs[option.id] = variant.id
    return tuple(sorted(pairs.items())), {}


async def _new_pairs(scope: Scope, product: EditableProduct, values: InputValues) -> VariantPairs | None:
    if values.get("choices") is None:
        return None
    options = await load_usable_options(scope, product, [values])
    pairs, errors = parse_choices(options, values["choices"], inventory=True)
    raise_field_errors(errors)
    await _link_shared_options(scope, product, [pairs])
    return pairs


async def _link_shared_options(scope: Scope, product: EditableProduct, choices: Sequence[VariantPairs]) -> None:
    """Link the product to the shared options that are used for it."""
    options = sorted({option for pairs in choices for option, _ in pairs})
    await link_options(scope, [product.id] * len(options), options)


def _exists() -> ValidationFailed:
    return ValidationFailed(
        "choices are those of a combination that exists", field="choices", code="combination_exists"
    )


def _sku_taken(sku: str) -> str:
    return f"sku is {repr_value(sku)}; another combination of the product has it"
