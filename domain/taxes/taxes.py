"""Taxes, their rates per destination, and their assignment to products, shipping methods and payment methods.

Rates are in thousandths: of a percent (`P`), or of the currency unit (`F`), where they must be whole cents.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from domain.records import Change, RecordType
from kernel.codes import SWITCH_STATUSES, TAX_ADDRESS_TYPES, TAX_RATE_TYPES
from kernel.errors import ValidationFailed
from kernel.fields import MAX_INTEGER, InputField, code_in, flag, integer, name_text, read_fields, short_text
from kernel.ids import uuid7
from kernel.money import MAX_CENTS
from kernel.scope import Scope
from kernel.text import repr_value
from models.database import execute
from models.references import DESTINATION, TAX, resolve_all
from models.taxes import Tax

FIXED = "F"
MAX_RATES = 1_000
MAX_TAXES = 50
_THOUSANDTHS_IN_A_CENT = 10
_HUNDRED_PERCENT = 100_000

_RATE_TYPE = InputField("rate_type", code_in(TAX_RATE_TYPES), code="rate_invalid")
_RATE_VALUE = InputField("rate_value", integer(0, MAX_CENTS * _THOUSANDTHS_IN_A_CENT), code="rate_invalid")
TAX_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "regnumber": InputField("regnumber", short_text),
    "address_type": InputField("address_type", code_in(TAX_ADDRESS_TYPES), code="address_type_invalid"),
    "rate_type": _RATE_TYPE,
    "rate_value": _RATE_VALUE,
    "price_includes_tax": InputField("price_includes_tax", flag),
    "priority": InputField("priority", integer(0, MAX_INTEGER), code="priority_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}
_RATE_FIELDS: Mapping[str, InputField] = {"rate_type": _RATE_TYPE, "rate_value": _RATE_VALUE}
_DEFAULTS: Mapping[str, Any] = {"rate_type": "P", "rate_value": 0}

_LOCK = "SELECT rate_type, rate_value FROM taxes WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"
_REPLACE_RATES = """
WITH dropped AS (DELETE FROM tax_rates WHERE tenant_id = $1 AND tax_id = $2 AND destination_id <> ALL($4::bigint[]))
INSERT INTO tax_rates (tenant_id, public_id, tax_id, destination_id, rate_type, rate_value)
SELECT $1, g.public_id, $2, g.destination_id, g.rate_type, g.rate_value
FROM unnest($3::uuid[], $4::bigint[], $5::text[], $6::bigint[]) AS g (public_id, destination_id, rate_type, rate_value)
ON CONFLICT (tenant_id, tax_id, destination_id) DO UPDATE SET rate_type = excluded.rate_type, rate_value = excluded.rate_value
"""
# The table and the column are constants of `REPLACE_LINKS_BY_TABLE`.
_REPLACE_LINKS = """
WITH input AS (SELECT * FROM unnest($3::uuid[], $4::bigint[], $5::bigint[]) AS g (public_id, owner, tax_id)), dropped AS (
    DELETE FROM {table} x WHERE x.tenant_id = $1 AND x.{column} = ANY($2::bigint[])
        AND NOT EXISTS (SELECT 1 FROM input WHERE input.owner = x.{column} AND input.tax_id = x.tax_id)
)
INSERT INTO {table} (tenant_id, public_id, {column}, tax_id) SELECT $1, input.public_id, input.owner, input.tax_id FROM input
ON CONFLICT (tenant_id, {column}, tax_id) DO NOTHING
"""
REPLACE_LINKS_BY_TABLE: Mapping[str, str] = {
    table: _REPLACE_LINKS.replace("{table}", table).replace("{column}", column)
    for table, column in (
        ("product_taxes", "product_id"),
        ("shipping_method_taxes", "shipping_method_id"),
        ("payment_method_taxes", "payment_method_id"),
    )
}


async def _delete_links(scope: Scope, tax_id: int) -> None:
    for table in REPLACE_LINKS_BY_TABLE:
        await execute(f"DELETE FROM {table} WHERE tenant_id = $1 AND tax_id = $2", scope.store.id, tax_id)


def taxes_writer(table: str) -> Callable[[Change], Awaitable[None]]:
    """Return a hook that replaces the taxes of a record by those of the input (`taxes`), if it has any."""

    async def write(change: Change) -> None:
        if change.values.get("taxes") is not None:
            await set_taxes(change.scope, table, change.record_id, change.values["taxes"])

    return write


async def set_taxes(scope: Scope, table: str, owner_id: int, values: object) -> None:
    """Replace the taxes of one record (`table` is a key of `REPLACE_LINKS_BY_TABLE`). Raises ValidationFailed naming missing ones."""
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) > MAX_TAXES:
        raise ValidationFailed(
            f"taxes is {repr_value(values)}; expected a list of at most {MAX_TAXES}",
            field="taxes",
            code="invalid",
        )
    ids_by_reference = await resolve_all(scope, TAX, values, field="taxes")
    await set_taxes_in_bulk(scope, table, {owner_id: ids_by_reference.values()})


async def set_taxes_in_bulk(scope: Scope, table: str, taxes: Mapping[int, Iterable[int]]) -> None:
    """Replace the taxes of several records in one statement: tax ids by owner id."""
    pairs = [(owner, tax) for owner, tax_ids in taxes.items() for tax in dict.fromkeys(tax_ids)]
    await execute(
        REPLACE_LINKS_BY_TABLE[table],
        scope.store.id,
        list(taxes),
        [uuid7() for _ in pairs],
        [owner for owner, _ in pairs],
        [tax for _, tax in pairs],
    )


def _check_rate(columns: Mapping[str, Any], field: str) -> None:
    rate_type, value = columns["rate_type"], columns["rate_value"]
    if rate_type == FIXED and value % _THOUSANDTHS_IN_A_CENT:
        raise ValidationFailed(
            f"{field} is {value} thousandths; expected whole cents for the rate_type F",
            field=field,
            code="rate_invalid",
        )
    if rate_type != FIXED and value > _HUNDRED_PERCENT * 10:
        raise ValidationFailed(
            f"{field} is {value} thousandths of a percent; expected at most {_HUNDRED_PERCENT * 10}",
            field=field,
            code="rate_invalid",
        )


async def _write_rates(change: Change) -> None:
    rates, defaults = change.values.get("rates"), change.merged
    if rates is None:
        return
    if len(rates) > MAX_RATES:
        raise ValidationFailed(
            f"rates has {len(rates)} entries; expected at most {MAX_RATES}", field="rates", code="too_many"
        )
    rate_columns = []
    for entry in rates:
        columns = {"rate_type": defaults["rate_type"], "rate_value": 0, **read_fields(_RATE_FIELDS, entry)}
        _check_rate(columns, "rates")
        rate_columns.append(columns)
    references = [entry.get("destination") for entry in rates]
    ids_by_reference = await resolve_all(change.scope, DESTINATION, references, field="destination")
    ids = [ids_by_reference[reference] for reference in references]
    if len(set(ids)) < len(ids):
        raise ValidationFailed("rates names a destination twice; expected each once", field="rates", code="duplicate")
    await execute(
        _REPLACE_RATES,
        change.scope.store.id,
        change.record_id,
        [uuid7() for _ in ids],
        ids,
        [columns["rate_type"] for columns in rate_columns],
        [columns["rate_value"] for columns in rate_columns],
    )


TAX_RECORDS = RecordType(
    TAX,
    Tax,
    TAX_FIELDS,
    audit_input=True,
    lock_row=_LOCK,
    defaults=_DEFAULTS,
    check=lambda change: _check_rate(change.merged, "rate_value"),
    after_save=_write_rates,
    before_delete=_delete_links,
)
"""The lowest `priority` applies first; `rates [{destination, rate_type?, rate_value}]` replace the existing ones. Orders keep the taxes
charged."""
