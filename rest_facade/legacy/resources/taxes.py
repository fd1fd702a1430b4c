"""Describe taxes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from kernel.codes import SWITCH_STATUSES, TAX_ADDRESS_TYPES, TAX_RATE_TYPES
from kernel.text import Malformed, shown
from rest_facade.legacy.reshape import row_shower
from rest_facade.legacy.resource import QueryFilter, Record, RecordField, Resource, id_field
from rest_facade.legacy.resources.shippings import entries_of
from rest_facade.legacy.value_types import (
    ABSENT,
    FLAG,
    ID,
    SMALL_NUMBER,
    TEXT,
    ValueType,
    code,
    id_from,
    if_given,
)

_DECIMAL = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,20})?")


def _rate_shown(thousandths: int) -> str:
    """Write a rate with two places, or three where it is that fine: `18.00`, `7.125`."""
    units, rest = divmod(thousandths, 1_000)
    return f"{units}.{rest:03d}" if rest % 10 else f"{units}.{rest // 10:02d}"


def _rate_from(value: Any, label: str) -> int:
    """Read a percentage or an amount into thousandths; a finer one is refused."""
    text = repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if isinstance(text, str) and _DECIMAL.fullmatch(text.strip()):
        thousandths = Decimal(text.strip()) * 1_000
        if thousandths == thousandths.to_integral_value():
            return int(thousandths)
    raise Malformed(
        f'{label} is {shown(value)}; expected a rate such as "18.00", of at most three decimal places'
    )


_RATE = ValueType(show=_rate_shown, read=_rate_from, seek=lambda text: _rate_from(text, "the rate"))
_RATE_TYPE = if_given(code(TAX_RATE_TYPES))

_show_rate = row_shower((RecordField("destination_id", ID), RecordField("rate_value", _RATE)))


def _rates_shown(rates: list[Record]) -> list[Record]:
    return [_show_rate(rate) for rate in rates]


def _rates_from(value: Any, label: str) -> list[Record]:
    """Read `[{destination_id, rate_type?, rate_value}]`, or a map of destinations to such objects or to the rate alone."""
    return [_one_from(key, entry, label) for key, entry in entries_of(value, label)]


def _one_from(key: Any, entry: Any, label: str) -> Record:
    given = entry if isinstance(entry, Mapping) else {"rate_value": entry}
    named = id_from(given.get("destination_id", key), f"{label}: destination_id")
    if named is None or named is ABSENT:
        raise Malformed(f"{label}: destination_id is required")
    rate: Record = {
        "destination_id": named,
        "rate_value": _rate_from(given.get("rate_value"), f"{label}: rate_value"),
    }
    assert _RATE_TYPE.read is not None
    kind = _RATE_TYPE.read(given.get("rate_type"), f"{label}: rate_type")
    return rate if kind is ABSENT else {**rate, "rate_type": kind}


TAXES = Resource(
    path="taxes",
    key="tax_id",
    thing="tax",
    area="payments",
    operations="Tax",
    fields=(
        id_field("tax_id"),
        RecordField("tax", TEXT, "name", "name"),
        RecordField("address_type", if_given(code(TAX_ADDRESS_TYPES)), "address_type", "address_type"),
        RecordField("rate_type", _RATE_TYPE, "rate_type", "rate_type"),
        RecordField("rate_value", if_given(_RATE), "rate_value", "rate_value"),
        RecordField("price_includes_tax", FLAG, "price_includes_tax", "price_includes_tax"),
        RecordField("regnumber", TEXT, "regnumber", "regnumber"),
        RecordField("priority", if_given(SMALL_NUMBER), "priority", "priority"),
        RecordField("status", code(SWITCH_STATUSES), "status", "status"),
        RecordField("rates", ValueType(show=_rates_shown, read=_rates_from), "rates"),
    ),
    required={"tax": "tax is required"},
    says={"destination": "destination_id"},
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    sorts={"priority": "PRIORITY", "tax": "NAME", "tax_id": "ID"},
    default_sort=("priority", "asc"),
)
