"""Describe taxes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from kernel.codes import SWITCH_STATUSES, TAX_ADDRESS_TYPES, TAX_RATE_TYPES
from kernel.json_schema import enum, named, object_schema, one_of
from kernel.text import InvalidValue, repr_value
from rest_facade.legacy import value_types as types
from rest_facade.legacy.record_schemas import rows_type
from rest_facade.legacy.resource import SEARCH, Record, RecordField, Resource, id_field, selection_of
from rest_facade.legacy.resources.shippings import rate_entries
from rest_facade.legacy.value_schemas import RATE, RATE_INPUT, rows_of

_DECIMAL = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,20})?")


def _render_rate(thousandths: int) -> str:
    """Format a rate with two decimals, or three if needed: `18.00`, `7.125`."""
    units, rest = divmod(thousandths, 1_000)
    return f"{units}.{rest:03d}" if rest % 10 else f"{units}.{rest // 10:02d}"


def _parse_rate(value: Any, label: str) -> int:
    """Parse a percentage or amount into thousandths; more decimals are rejected."""
    text = repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if isinstance(text, str) and _DECIMAL.fullmatch(text.strip()):
        thousandths = Decimal(text.strip()) * 1_000
        if thousandths == thousandths.to_integral_value():
            return int(thousandths)
    raise InvalidValue(
        f'{label} is {repr_value(value)}; expected a rate such as "18.00", of at most three decimal places'
    )


TAX_RATE = types.ValueType(
    render=_render_rate,
    parse=_parse_rate,
    parse_filter=lambda text: _parse_rate(text, "the rate"),
    schema=RATE,
    body_schema=RATE_INPUT,
)
_RATE_TYPE = types.optional(types.code(TAX_RATE_TYPES))

_RATE_ROW = (
    RecordField("destination_id", types.ID),
    RecordField("rate_type", types.RAW),
    RecordField("rate_value", TAX_RATE),
)


def _parse_rates(value: Any, label: str) -> list[Record]:
    """Parse `[{destination_id, rate_type?, rate_value}]`, or a map of destinations to such objects or to the rate alone."""
    return [_parse_entry(key, entry, label) for key, entry in rate_entries(value, label)]


def _parse_entry(key: Any, entry: Any, label: str) -> Record:
    members = entry if isinstance(entry, Mapping) else {"rate_value": entry}
    destination = types.parse_id(members.get("destination_id", key), f"{label}: destination_id")
    if destination is None or destination is types.ABSENT:
        raise InvalidValue(f"{label}: destination_id is required")
    rate: Record = {
        "destination_id": destination,
        "rate_value": _parse_rate(members.get("rate_value"), f"{label}: rate_value"),
    }
    assert _RATE_TYPE.parse is not None
    rate_type = _RATE_TYPE.parse(members.get("rate_type"), f"{label}: rate_type")
    return rate if rate_type is types.ABSENT else {**rate, "rate_type": rate_type}


_RATE_ROW_INPUT = named(
    "TaxRateBody",
    object_schema(
        "rate_value", destination_id=types.ID.body_schema, rate_type=enum(TAX_RATE_TYPES.codes), rate_value=RATE_INPUT
    ),
)

TAXES = Resource(
    path="taxes",
    privilege_area="payments",
    texts=("tax",),
    fields=(
        id_field("tax_id"),
        RecordField("tax", types.TEXT, "name", "name"),
        RecordField("address_type", types.optional(types.code(TAX_ADDRESS_TYPES)), "address_type", "address_type"),
        RecordField("rate_type", _RATE_TYPE, "rate_type", "rate_type"),
        RecordField("rate_value", types.optional(TAX_RATE), "rate_value", "rate_value"),
        RecordField("price_includes_tax", types.FLAG, "price_includes_tax", "price_includes_tax"),
        RecordField("regnumber", types.TEXT, "regnumber", "regnumber"),
        RecordField("priority", types.optional(types.INTEGER), "priority", "priority"),
        RecordField("status", types.code(SWITCH_STATUSES), "status", "status"),
        RecordField(
            "rates",
            rows_type("TaxRate", _RATE_ROW, _parse_rates, body_schema=rows_of(one_of(_RATE_ROW_INPUT, RATE_INPUT))),
            "rates",
            source=f"rates {selection_of(_RATE_ROW)}",
        ),
    ),
    required=("tax",),
    message_terms={"destination": "destination_id"},
    filters=(SEARCH,),
    sorts={"priority": "PRIORITY", "tax": "NAME", "tax_id": "ID"},
)
