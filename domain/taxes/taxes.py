"""Taxes, their rates per destination, and their assignment to products, shipping methods and payment methods.

Rates are in thousandths: of a percent (`P`), or of the currency unit (`F`), where they must be whole cents.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from domain.destinations.rates import check_rate_count, resolve_destinations
from domain.records import Change, RecordType
from kernel.codes import SWITCH_STATUSES, TAX_ADDRESS_TYPES, TAX_RATE_TYPES
from kernel.errors import ValidationFailed
from kernel.fields import MAX_INTEGER, InputField, code_in, flag, integer, name_text, read_fields, short_text
from kernel.money import MAX_CENTS
from kernel.scope import Scope
from kernel.text import repr_value
from models.references import TAX, resolve_all
from models.rows import delete_rows, replace_rows
from models.tables.taxes import Tax

FIXED = "F"
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
# The columns of the records that have taxes, by association table.
_OWNERS: Mapping[str, str] = {
    "product_taxes": "product_id",
    "shipping_method_taxes": "shipping_method_id",
    "payment_method_taxes": "payment_method_id",
}


async def _delete_links(scope: Scope, tax_id: int) -> None:
    for table in _OWNERS:
        await delete_rows(scope, table, tax_id=tax_id)


def taxes_writer(table: str) -> Callable[[Change], Awaitable[None]]:
    """Return a hook that replaces the taxes of a record by those of the input (`taxes`), if it has any."""

    async def write(change: Change) -> None:
        if change.values.get("taxes") is not None:
            change.has_changed |= await set_taxes(change.scope, table, change.record_id, change.values["taxes"])

    return write


async def set_taxes(scope: Scope, table: str, owner_id: int, values: object) -> bool:
    """Replace the taxes of one record (`table` is a key of `_OWNERS`); return whether they were others.

    Raises ValidationFailed naming missing ones.
    """
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) > MAX_TAXES:
        raise ValidationFailed(
            f"taxes is {repr_value(values)}; expected a list of at most {MAX_TAXES}", field="taxes", code="invalid"
        )
    ids_by_reference = await resolve_all(scope, TAX, values, field="taxes")
    return bool(await set_taxes_in_bulk(scope, table, {owner_id: ids_by_reference.values()}))


async def set_taxes_in_bulk(scope: Scope, table: str, taxes: Mapping[int, Iterable[int]]) -> set[int]:
    """Replace the taxes of several records in one statement, tax ids by owner id; return the owners that had others."""
    column = _OWNERS[table]
    rows = [{column: owner, "tax_id": tax} for owner, tax_ids in taxes.items() for tax in dict.fromkeys(tax_ids)]
    return await replace_rows(scope, table, column, list(taxes), rows, key="tax_id")


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
    check_rate_count(rates)
    rate_columns = []
    for entry in rates:
        columns = {"rate_type": defaults["rate_type"], "rate_value": 0, **read_fields(_RATE_FIELDS, entry)}
        _check_rate(columns, "rates")
        rate_columns.append(columns)
    destinations = await resolve_destinations(change.scope, rates)
    rows = [
        {"destination_id": destination, **columns}
        for destination, columns in zip(destinations, rate_columns, strict=True)
    ]
    await change.replace_part("tax_rates", "tax_id", rows, key="destination_id")


TAX_RECORDS = RecordType(
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
