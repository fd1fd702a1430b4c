"""Create, update and delete option exceptions: forbidden combinations of variants (`F`), or the only allowed ones (`A`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.catalog.combinations import load_usable_options, parse_choices
from domain.catalog.options import link_options
from domain.catalog.product_options import (
    WILDCARDS,
    OptionsByReference,
    VariantPairs,
    combination_hash,
    load_editable,
    resolve_editable_product,
)
from kernel.codes import EXCEPTION_TYPES
from kernel.errors import ValidationFailed
from kernel.fields import InputField, InputValues, code_in, raise_field_errors, read_fields
from kernel.ids import parse_reference, uuid7
from kernel.scope import Scope
from models import audit
from models.connection.database import UniqueViolation, execute, fetchval, transaction
from models.references import EXCEPTION
from models.rows import delete_rows, replace_rows, update_row

EXCEPTION_FIELDS: Mapping[str, InputField] = {"type": InputField("type", code_in(EXCEPTION_TYPES), code="type_invalid")}

_INSERT = """
WITH inserted AS (
    INSERT INTO option_exceptions (tenant_id, public_id, product_id, type, hash, created_at, updated_at)
    SELECT $1, $2, p.id, coalesce($4::text, p.exception_type), $5, $6, $6 FROM products p WHERE p.tenant_id = $1 AND p.id = $3
    ON CONFLICT (tenant_id, product_id, type, hash) DO NOTHING
    RETURNING id
), choices AS (
    INSERT INTO exception_choices (tenant_id, public_id, exception_id, option_id, variant_id)
    SELECT $1, g.public_id, inserted.id, g.option_id, g.variant_id
    FROM inserted, unnest($7::uuid[], $8::bigint[], $9::bigint[]) AS g (public_id, option_id, variant_id)
)
SELECT id FROM inserted
"""
_LOAD = """
SELECT e.id, e.public_id, e.product_id, p.vendor_id FROM option_exceptions e
JOIN products p ON p.tenant_id = e.tenant_id AND p.id = e.product_id
WHERE e.tenant_id = $1 AND e.id = $2 FOR NO KEY UPDATE OF e
"""


# One that the product has of both types is left once.
_DELETE_REPEATED = """
DELETE FROM option_exceptions e USING unnest($2::bigint[], $3::text[]) AS g (product_id, type), products p
WHERE e.tenant_id = $1 AND e.product_id = g.product_id AND e.type <> g.type AND p.tenant_id = $1 AND p.id = g.product_id
    AND p.exception_type <> g.type
    AND EXISTS (SELECT FROM option_exceptions o
        WHERE o.tenant_id = $1 AND o.product_id = e.product_id AND o.type = g.type AND o.hash = e.hash)
"""
_SET_TYPES = """
UPDATE option_exceptions e SET type = g.type, updated_at = $4
FROM unnest($2::bigint[], $3::text[]) AS g (product_id, type), products p
WHERE e.tenant_id = $1 AND e.product_id = g.product_id AND e.type <> g.type AND p.tenant_id = $1 AND p.id = g.product_id
    AND p.exception_type <> g.type
"""


async def set_exception_types(scope: Scope, types: Mapping[int, str]) -> None:
    """Give the exceptions of products whose type changes the new one; the products are locked and not written yet."""
    await execute(_DELETE_REPEATED, scope.store.id, list(types), list(types.values()))
    await execute(_SET_TYPES, scope.store.id, list(types), list(types.values()), scope.now)


async def create_exception(scope: Scope, values: InputValues) -> int:
    """Create an exception and return its internal id: `product`*, `type` (default that of the product), `choices`*.

    `choices` maps options to variants, `-1` (any, which is no condition) or `-2` (the option is not selected).

    Raises ValidationFailed, also for an exception that exists.
    """
    columns = read_fields(EXCEPTION_FIELDS, values, creating=True)
    async with transaction(scope):
        product = await resolve_editable_product(scope, values.get("product"))
        options = await load_usable_options(scope, product, [values])
        pairs, wildcards = _parse_choices(options, values.get("choices"))
        public_id = uuid7()
        exception_id: int | None = await fetchval(
            _INSERT,
            scope.store.id,
            public_id,
            product.id,
            columns.get("type"),
            combination_hash([*pairs, *wildcards]),
            scope.now,
            [uuid7() for _ in pairs],
            [option for option, _ in pairs],
            [variant for _, variant in pairs],
        )
        if exception_id is None:
            raise _already_exists()
        await link_options(scope, [product.id] * len(pairs), [option for option, _ in pairs])
        await audit.record(scope, "exception.created", "option_exception", public_id)
    return exception_id


def _parse_choices(options: OptionsByReference, choices: object) -> tuple[VariantPairs, VariantPairs]:
    """Return the pairs of option and variant, and those of an option and a number that stands for any or no variant."""
    entries: Mapping[Any, Any] = choices if isinstance(choices, Mapping) else {}
    wildcards = {option: WILDCARDS[str(variant)] for option, variant in entries.items() if str(variant) in WILDCARDS}
    variants = {option: variant for option, variant in entries.items() if option not in wildcards}
    pairs: VariantPairs = ()
    if variants or not wildcards:
        pairs, errors = parse_choices(options, variants if wildcards else choices, inventory=False)
        raise_field_errors(errors)
    others: list[tuple[int, int]] = []
    for key, wildcard in wildcards.items():
        reference = parse_reference(key)
        option = options.get(reference) if reference is not None else None
        if option is None:
            raise ValidationFailed(f"option {key} is not of the product", field="choices", code="not_found")
        others.append((option.id, wildcard))
    return pairs, tuple(others)


async def update_exception(scope: Scope, exception: object, values: InputValues) -> int:
    """Update the `type` and the `choices` of an exception, and return its internal id; it keeps its `product`.

    Raises NotFound, for a vendor also for another vendor's product, and ValidationFailed.
    """
    columns = read_fields(EXCEPTION_FIELDS, values)
    async with transaction(scope):
        current = await load_editable(scope, EXCEPTION, _LOAD, exception)
        exception_id = int(current["id"])
        product = await resolve_editable_product(scope, values.get("product") or current["product_id"])
        if product.id != current["product_id"]:
            raise ValidationFailed("product is another one; an exception keeps it", field="product", code="not_found")
        pairs: VariantPairs | None = None
        if values.get("choices") is not None:
            options = await load_usable_options(scope, product, [values])
            pairs, wildcards = _parse_choices(options, values["choices"])
            columns["hash"] = combination_hash([*pairs, *wildcards])
        try:
            changed = await update_row(scope, "option_exceptions", exception_id, **columns, updated_at=scope.now)
        except UniqueViolation as error:
            raise _already_exists() from error
        if changed and pairs is not None:
            rows = [{"exception_id": exception_id, "option_id": option, "variant_id": id_} for option, id_ in pairs]
            await replace_rows(scope, "exception_choices", "exception_id", [exception_id], rows)
            await link_options(scope, [product.id] * len(pairs), [option for option, _ in pairs])
        if changed:
            await audit.record_update(scope, "option_exception", current["public_id"], values)
    return exception_id


def _already_exists() -> ValidationFailed:
    message = "choices are those of an exception that exists"
    return ValidationFailed(message, field="choices", code="exception_exists")


async def delete_exception(scope: Scope, exception: object) -> None:
    """Delete an exception; for a vendor, one of another vendor's product raises NotFound."""
    async with transaction(scope):
        current = await load_editable(scope, EXCEPTION, _LOAD, exception)
        await delete_rows(scope, "option_exceptions", id=current["id"])
        await audit.record(scope, "exception.deleted", "option_exception", current["public_id"])
