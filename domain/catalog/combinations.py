"""Make, change and delete combinations, one at a time or up to 500 of a product at once, all or nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from domain import audit, events
from domain.catalog.offered import (
    MAX_CHOICES,
    Offered,
    Options,
    Pairs,
    ProductRef,
    find_owner,
    hash_of,
    offered_by,
    owner_named,
    shared_options,
)
from domain.catalog.options import offer
from domain.catalog.product_draft import IMAGE_FIELDS, trimmed
from domain.fields import MAX_QUANTITY, Given, InputField, check_fields, read_fields, whole
from domain.references import COMBINATION, find
from kernel.errors import Conflict, NotFound, ValidationFailed
from kernel.ids import Reference, parse_reference, uuid7
from kernel.money import MAX_CENTS
from kernel.scope import ActorKind, Scope
from kernel.text import shown
from models.database import UniqueViolation, execute, row, rows, transaction, value

COMBINATION_FIELDS: Mapping[str, InputField] = {
    "sku": InputField("sku", trimmed, code="sku_invalid"),
    # What can be sold; stored as that plus what open orders have reserved, as of products.
    "stock": InputField("stock", whole(0, MAX_QUANTITY), code="stock_invalid"),
    "price_cents": InputField("price_cents", whole(-MAX_CENTS, MAX_CENTS), code="price_invalid"),
    "position": InputField("position", whole(), code="position_invalid"),
}
MAX_BATCH = 500
_HASH = re.compile(r"[0-9_]{3,1000}")
_PICTURE = ("image_url", "image_alt", "image_width", "image_height")
_NO_PICTURE: Mapping[str, Any] = dict(zip(_PICTURE, ("", "", 0, 0), strict=True))
_NEW: Mapping[str, Any] = {"sku": "", "stock": 0, "price_cents": 0, "position": 0, **_NO_PICTURE}

_HOLD = "SELECT id FROM products WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"
_TAKEN = (
    "SELECT id, hash, sku FROM combinations WHERE tenant_id = $1 AND product_id = $2 AND deleted_at IS NULL"
)
_INSERT = """
WITH made AS (
    INSERT INTO combinations (tenant_id, public_id, product_id, hash, sku, on_hand, price_cents, position,
        image_url, image_alt, image_width, image_height, created_at, updated_at)
    SELECT $1, g.public_id, $2, g.hash, g.sku, g.stock, g.price_cents, g.position,
        g.image_url, g.image_alt, g.image_width, g.image_height, $3, $3
    FROM unnest($4::uuid[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::int[], $10::text[], $11::text[], $12::int[],
        $13::int[]) WITH ORDINALITY AS g (public_id, hash, sku, stock, price_cents, position, image_url, image_alt, image_width,
        image_height, place)
    ORDER BY g.place
    RETURNING id, hash
), chosen AS (
    INSERT INTO combination_choices (tenant_id, public_id, combination_id, option_id, variant_id)
    SELECT $1, g.public_id, made.id, g.option_id, g.variant_id
    FROM unnest($14::uuid[], $15::text[], $16::bigint[], $17::bigint[]) AS g (public_id, hash, option_id, variant_id)
    JOIN made ON made.hash = g.hash
)
SELECT id, hash FROM made
"""
_PRODUCT_OF = "SELECT product_id FROM combinations WHERE tenant_id = $1 AND id = $2"
_LOCK = """
SELECT c.id, c.public_id, c.product_id, c.hash, c.reserved, p.public_id AS product_public_id, p.vendor_id
FROM combinations c JOIN products p ON p.tenant_id = c.tenant_id AND p.id = c.product_id
WHERE c.tenant_id = $1 AND c.id = $2 AND c.deleted_at IS NULL AND p.deleted_at IS NULL FOR NO KEY UPDATE OF c
"""
_CALLED = """
SELECT c.id FROM combinations c JOIN products p ON p.tenant_id = c.tenant_id AND p.id = c.product_id AND p.deleted_at IS NULL
WHERE c.tenant_id = $1 AND (c.hash = $2 OR c.id = $6 OR c.public_id = $7) AND c.deleted_at IS NULL
    AND ($3::bigint IS NULL OR c.product_id = $3) AND ($4::uuid IS NULL OR p.public_id = $4)
    AND ($5::bigint IS NULL OR p.vendor_id = $5)
LIMIT 2
"""
_UPDATE = """
UPDATE combinations SET {columns}, updated_at = $3 WHERE tenant_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class Made:
    """Tell which combination was made."""

    id: int
    hash: str


Wrong = dict[str, tuple[str, str]]


async def create_combination(scope: Scope, given: Given) -> int:
    """Make a combination and give its internal id.

    Keys: `product`*, `choices`* (`{option: variant}`), `sku`, `stock`, `price_cents` (added to the product's price; may be below
    zero), `position`, `image {url, alt, width, height}`. Raises ValidationFailed: for a combination that exists, an option without
    inventory flag, one that is not of the product, a variant not of its option.
    """
    async with transaction(scope):
        owner = await owner_named(scope, given.get("product"))
        [made] = await _make(scope, owner, [given], alone=True)
        await _tell(scope, owner.id)
    return made.id


async def create_combinations(scope: Scope, product: object, given: Sequence[Given]) -> list[Made]:
    """Make up to 500 combinations of a product, all or none, and tell them in the order given.

    Raises NotFound for the product, and ValidationFailed whose details hold `errors [{index, field, message}]`.
    """
    if not given:
        raise ValidationFailed("combinations is required", field="combinations", code="required")
    if len(given) > MAX_BATCH:
        raise ValidationFailed(
            f"there are {len(given)} combinations; expected at most {MAX_BATCH}",
            field="combinations",
            code="too_many",
        )
    async with transaction(scope):
        owner = await find_owner(scope, product)
        if owner is None:
            raise NotFound("product")
        made = await _make(scope, owner, given)
        await _tell(scope, owner.id)
    return made


async def update_combination(
    scope: Scope, combination: object, given: Given, *, product: object | None = None
) -> int:
    """Change a combination partially (keys as in `create_combination`, without `product`) and give its internal id.

    One that is not of `product`, where that is said, isn't there.
    """
    columns = read_fields(COMBINATION_FIELDS, given)
    picture, wrong = _picture(given)
    _refuse(wrong)
    async with transaction(scope):
        held = await _reach(scope, combination, product)
        owner = ProductRef(held["product_id"], held["product_public_id"], held["vendor_id"])
        taken = [each for each in await rows(_TAKEN, scope.store.id, owner.id) if each["id"] != held["id"]]
        pairs = await _new_pairs(scope, owner, given)
        if pairs is not None and hash_of(pairs) != held["hash"]:
            if hash_of(pairs) in {each["hash"] for each in taken}:
                raise _exists()
            columns["hash"] = hash_of(pairs)
        if columns.get("sku") and columns["sku"] in {each["sku"] for each in taken}:
            raise ValidationFailed(_sku_taken(columns["sku"]), field="sku", code="sku_taken")
        if "stock" in columns:
            columns["on_hand"] = columns.pop("stock") + held["reserved"]
        await _change(scope, held["id"], {**columns, **picture})
        if "hash" in columns and pairs is not None:
            await _rewrite(scope, held["id"], pairs)
        await audit.record(
            scope,
            "combination.updated",
            "combination",
            held["public_id"],
            {"fields": sorted(map(str, given))},
        )
        await _tell(scope, owner.id)
    combination_id: int = held["id"]
    return combination_id


async def delete_combination(scope: Scope, combination: object, *, product: object | None = None) -> None:
    """Hide a combination; orders that hold it give their units back to it all the same."""
    async with transaction(scope):
        held = await _reach(scope, combination, product)
        await _change(scope, held["id"], {"deleted_at": scope.now})
        await audit.record(scope, "combination.deleted", "combination", held["public_id"])
        await _tell(scope, held["product_id"])


async def combination_called(scope: Scope, hash_: str, product: object | None = None) -> int:
    """Give the internal id of the combination that a hash names (or a number or UUID), of `product` where that is said.

    Raises NotFound, and ValidationFailed when products share the hash and none was said.
    """
    only = scope.actor.company_id if scope.actor.kind is ActorKind.VENDOR else None
    reference, itself = parse_reference(product), parse_reference(hash_)
    if itself is None and not _HASH.fullmatch(hash_):
        raise NotFound("combination")
    found = []
    if product is None or reference is not None:
        found = await rows(_CALLED, scope.store.id, hash_, *_apart(reference), only, *_apart(itself))
    if not found and product is not None:
        whosever = await rows(_CALLED, scope.store.id, hash_, None, None, only, *_apart(itself))
        if whosever:
            raise NotFound("combination") from _of_another(product)
    if not found:
        raise NotFound("combination")
    if len(found) > 1:
        raise ValidationFailed(
            "product_id is required: several products have that combination", field="product", code="required"
        )
    combination_id: int = found[0]["id"]
    return combination_id


def _of_another(product: object) -> ValidationFailed:
    """Say, as the cause of its absence, that there is such a combination, and not of the product named."""
    return ValidationFailed(
        f"product is {shown(product)}; expected that of the combination", field="product", code="not_found"
    )


def _apart(reference: Reference | None) -> tuple[int | None, UUID | None]:
    """Give a reference as number or UUID, the other one null."""
    return (
        reference if isinstance(reference, int) else None,
        reference if isinstance(reference, UUID) else None,
    )


async def _tell(scope: Scope, product: int) -> None:
    """Tell that a product has changed: its combinations are a part of it."""
    await events.products_changed(scope, {product: events.PRODUCT_UPDATED})


async def _reach(scope: Scope, combination: object, product: object | None = None) -> Mapping[str, Any]:
    """Lock a combination that the caller may change; its product before it, as orders lock them."""
    combination_id = await find(scope, COMBINATION, combination)
    await row(_HOLD, scope.store.id, await value(_PRODUCT_OF, scope.store.id, combination_id))
    held = await row(_LOCK, scope.store.id, combination_id)
    if held is None or (scope.actor.kind is ActorKind.VENDOR and held["vendor_id"] != scope.actor.company_id):
        raise NotFound("combination")
    if product is not None and parse_reference(product) not in (
        held["product_id"],
        held["product_public_id"],
    ):
        raise NotFound("combination") from _of_another(product)
    return dict(held)


async def _change(scope: Scope, combination_id: int, columns: Mapping[str, Any]) -> None:
    if columns:
        # Names of columns, from the tables of fields above.
        named = ", ".join(f"{name} = ${place}" for place, name in enumerate(columns, start=4))
        try:
            await execute(
                _UPDATE.format(columns=named), scope.store.id, combination_id, scope.now, *columns.values()
            )
        except UniqueViolation as error:
            raise _exists() from error


async def _rewrite(scope: Scope, combination_id: int, pairs: Pairs) -> None:
    await execute(
        "DELETE FROM combination_choices WHERE tenant_id = $1 AND combination_id = $2",
        scope.store.id,
        combination_id,
    )
    await execute(
        "INSERT INTO combination_choices (tenant_id, public_id, combination_id, option_id, variant_id)"
        " SELECT $1, g.public_id, $2, g.option_id, g.variant_id"
        " FROM unnest($3::uuid[], $4::bigint[], $5::bigint[]) AS g (public_id, option_id, variant_id)",
        scope.store.id,
        combination_id,
        [uuid7() for _ in pairs],
        [option for option, _ in pairs],
        [variant for _, variant in pairs],
    )


# --- Making ------------------------------------------------------------------------------------------------------------------


async def _make(
    scope: Scope, owner: ProductRef, given: Sequence[Given], *, alone: bool = False
) -> list[Made]:
    # Whoever makes combinations of a product holds its row: two that are right each by itself could be the same one.
    await row(_HOLD, scope.store.id, owner.id)
    options = await usable_options(scope, owner, given)
    taken = await rows(_TAKEN, scope.store.id, owner.id)
    hashes = {each["hash"] for each in taken}
    skus = {each["sku"] for each in taken if each["sku"]}
    ready: list[tuple[str, Pairs, dict[str, Any]]] = []
    errors: list[dict[str, Any]] = []
    for index, entry in enumerate(given):
        columns, wrong = check_fields(COMBINATION_FIELDS, entry)
        picture, of_picture = _picture(entry)
        wrong |= of_picture
        pairs, of_choices = chosen_pairs(options, entry.get("choices"), inventory=True)
        wrong |= of_choices
        hash_ = hash_of(pairs)
        if not wrong and hash_ in hashes:
            wrong["choices"] = ("combination_exists", "choices are those of a combination that exists")
        if columns.get("sku") and columns["sku"] in skus:
            wrong["sku"] = ("sku_taken", _sku_taken(columns["sku"]))
        if wrong and alone:
            _refuse(wrong)
        errors += [
            {"index": index, "field": name, "message": sentence} for name, (_, sentence) in wrong.items()
        ]
        hashes.add(hash_)
        skus |= {columns["sku"]} if columns.get("sku") else set()
        ready.append((hash_, pairs, {**_NEW, **columns, **picture}))
    if errors:
        raise ValidationFailed(
            "; ".join(f"combination {error['index']}: {error['message']}" for error in errors[:5]),
            field="combinations",
            details={"errors": errors},
        )
    await _offer_shared(scope, owner, [pairs for _, pairs, _ in ready])
    ids = await _insert(scope, owner, ready)
    await audit.record(
        scope, "combination.created", "product", owner.public_id, {"combinations": [h for h, _, _ in ready]}
    )
    return [Made(ids[hash_], hash_) for hash_, _, _ in ready]


async def _insert(
    scope: Scope, owner: ProductRef, ready: Sequence[tuple[str, Pairs, Mapping[str, Any]]]
) -> dict[str, int]:
    names = ("sku", "stock", "price_cents", "position", *_PICTURE)
    choices = [(hash_, option, variant) for hash_, pairs, _ in ready for option, variant in pairs]
    try:
        found = await rows(
            _INSERT,
            scope.store.id,
            owner.id,
            scope.now,
            [uuid7() for _ in ready],
            [hash_ for hash_, _, _ in ready],
            *([columns[name] for _, _, columns in ready] for name in names),
            [uuid7() for _ in choices],
            [hash_ for hash_, _, _ in choices],
            [option for _, option, _ in choices],
            [variant for _, _, variant in choices],
        )
    except UniqueViolation as error:
        raise Conflict("a combination was made meanwhile; try again") from error
    return {each["hash"]: each["id"] for each in found}


def _picture(given: Given) -> tuple[dict[str, Any], Wrong]:
    """Read the picture of a combination; null takes it away."""
    if "image" not in given:
        return {}, {}
    if given["image"] is None:
        return dict(_NO_PICTURE), {}
    columns, wrong = check_fields(IMAGE_FIELDS, given["image"], creating=True)
    picture = {**_NO_PICTURE, **{f"image_{name}": given_value for name, given_value in columns.items()}}
    return picture, {f"image.{name}": told for name, told in wrong.items()}


# --- Choices -----------------------------------------------------------------------------------------------------------------


async def usable_options(scope: Scope, owner: ProductRef, given: Sequence[Given]) -> Options:
    """Read the options that combinations and exceptions of a product may name: those it offers, and shared ones."""
    options = (await offered_by(scope, [owner.id]))[owner.id]
    named = {
        parse_reference(option)
        for entry in given
        if isinstance(entry.get("choices"), Mapping)
        for option in entry["choices"]
    }
    strange = {reference for reference in named if reference is not None and reference not in options}
    if strange:
        options = {**await shared_options(scope, strange, owner.vendor_id), **options}
    return options


def chosen_pairs(options: Options, choices: object, *, inventory: bool) -> tuple[Pairs, Wrong]:
    """Read `{option: variant}`; `inventory` takes only options that have that flag. What is wrong comes back under `choices`."""

    def refused(code: str, sentence: str) -> tuple[Pairs, Wrong]:
        return (), {"choices": (code, sentence)}

    if choices is None or choices == {}:
        return refused("required", "choices is required")
    if not isinstance(choices, Mapping) or len(choices) > MAX_CHOICES:
        return refused("invalid", f"choices is {shown(choices)}; expected an object of options and variants")
    pairs: dict[int, int] = {}
    for named, picked in choices.items():
        reference, wanted = parse_reference(named), parse_reference(picked)
        option: Offered | None = options.get(reference) if reference is not None else None
        if option is None:
            return refused("not_found", f"option {_said(named)} is not of the product")
        if inventory and not option.inventory:
            return refused(
                "no_inventory",
                f"option {_said(named)} takes no part in combinations: its inventory flag is N",
            )
        variant = option.variants.get(wanted) if wanted is not None else None
        if variant is None:
            return refused("not_found", f"variant {_said(picked)} is not of option {_said(named)}")
        if option.id in pairs:
            return refused("duplicate", f"option {_said(named)} is named twice")
        pairs[option.id] = variant.id
    return tuple(sorted(pairs.items())), {}


async def _new_pairs(scope: Scope, owner: ProductRef, given: Given) -> Pairs | None:
    if given.get("choices") is None:
        return None
    options = await usable_options(scope, owner, [given])
    pairs, wrong = chosen_pairs(options, given["choices"], inventory=True)
    _refuse(wrong)
    await _offer_shared(scope, owner, [pairs])
    return pairs


async def _offer_shared(scope: Scope, owner: ProductRef, several: Sequence[Pairs]) -> None:
    """Make the product offer the shared options that are used for it."""
    options = sorted({option for pairs in several for option, _ in pairs})
    await offer(scope, [owner.id] * len(options), options)


def _refuse(wrong: Wrong) -> None:
    if wrong:
        message = "; ".join(sentence for _, sentence in wrong.values())
        raise ValidationFailed(message, fields={name: code for name, (code, _) in wrong.items()})


def _exists() -> ValidationFailed:
    return ValidationFailed(
        "choices are those of a combination that exists", field="choices", code="combination_exists"
    )


def _sku_taken(sku: str) -> str:
    return f"sku is {shown(sku)}; another combination of the product has it"


def _said(reference: object) -> str:
    return str(reference) if parse_reference(reference) is not None else shown(reference)
