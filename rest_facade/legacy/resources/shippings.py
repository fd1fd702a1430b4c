"""Describe ways to deliver and the destinations they have rates for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.codes import RATE_CALCULATION_TYPES, SWITCH_STATUSES
from kernel.text import Malformed, shown
from rest_facade.legacy.reshape import row_shower
from rest_facade.legacy.resource import QueryFilter, Record, RecordField, Resource, id_field
from rest_facade.legacy.value_types import (
    ABSENT,
    ID,
    IDS,
    MONEY,
    OBJECT,
    OPTIONAL_MONEY,
    PLAIN,
    SMALL_NUMBER,
    TEXT,
    WEIGHT,
    ValueType,
    code,
    id_from,
    if_given,
    listed,
)

_RATE = (
    RecordField("destination_id", ID),
    RecordField("base", MONEY, "base_cents"),
    RecordField("per_kg", MONEY, "per_kg_cents"),
    RecordField("per_item", MONEY, "per_item_cents"),
    RecordField("max_weight", WEIGHT, "max_weight_grams"),
)
_show_rate = row_shower(_RATE)


def _rates_shown(rates: list[Record]) -> list[Record]:
    """Show what a method asks at each destination; what it asks where it has no rates stands first, at destination 0."""
    return [{field.name: rate[field.name] for field in _RATE} for rate in map(_show_rate, rates)]


def entries_of(value: Any, label: str) -> list[tuple[Any, Any]]:
    """Give the rates of a body with the destinations that key them: an array, or a map keyed by destination_id."""
    if isinstance(value, Mapping):
        return list(value.items())
    if value in (None, ""):
        return []
    if not isinstance(value, list):
        raise Malformed(f"{label} is {shown(value)}; expected an array of rates")
    return [(None, entry) for entry in listed(value)]


def _rates_from(value: Any, label: str) -> list[Record]:
    """Read all rates; the method's own prices are nothing unless an entry for destination 0 says otherwise."""
    rates = [_rate_from(key, entry, label) for key, entry in entries_of(value, label)]
    if any(rate["destination_id"] is None for rate in rates):
        return rates
    return [{"destination_id": None}, *rates]


def _rate_from(key: Any, entry: Any, label: str) -> Record:
    if not isinstance(entry, Mapping):
        raise Malformed(f"{label} holds {shown(entry)}; expected objects such as {{destination_id, base}}")
    named = id_from(entry.get("destination_id", key), f"{label}: destination_id")
    rate: Record = {"destination_id": None if named is ABSENT else named}
    for field in _RATE[1:]:
        if entry.get(field.name) not in (None, ""):
            assert field.writes is not None
            assert field.kind.read is not None
            rate[field.writes] = field.kind.read(entry[field.name], f"{label}: {field.name}")
    return rate


SHIPPINGS = Resource(
    path="shippings",
    key="shipping_id",
    thing="shipping",
    area="shipping",
    operations="Shipping",
    fields=(
        id_field("shipping_id"),
        RecordField("company_id", ID, "vendor_id", "seller_id"),
        RecordField("shipping", TEXT, "name", "name"),
        RecordField("delivery_time", TEXT, "delivery_time", "delivery_time"),
        RecordField(
            "rate_calculation",
            if_given(code(RATE_CALCULATION_TYPES)),
            "rate_calculation",
            "rate_calculation",
        ),
        RecordField("min_weight", if_given(WEIGHT), "min_weight_grams", "min_weight_grams"),
        RecordField("max_weight", if_given(WEIGHT), "max_weight_grams", "max_weight_grams"),
        RecordField("free_from", OPTIONAL_MONEY, "free_from_cents", "free_from_cents"),
        RecordField("tax_ids", IDS, "tax_ids", "tax_id"),
        RecordField("position", if_given(SMALL_NUMBER), "position", "position"),
        RecordField("status", code(SWITCH_STATUSES), "status", "status"),
        RecordField("rates", ValueType(show=_rates_shown, read=_rates_from), "rates"),
        RecordField("service", OBJECT, "service"),
    ),
    required={"shipping": "shipping is required"},
    says={
        "shipping method": "shipping",
        "vendor": "company_id",
        "tax": "tax_ids",
        "taxes": "tax_ids",
        "destination": "destination_id",
    },
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    sorts={"position": "POSITION", "shipping": "NAME", "shipping_id": "ID"},
    default_sort=("position", "asc"),
)

DESTINATIONS = Resource(
    path="destinations",
    key="destination_id",
    thing="destination",
    area="shipping",
    operations="Destination",
    does=("list", "show"),
    fields=(
        id_field("destination_id"),
        RecordField("destination", TEXT, filters="name"),
        RecordField("status", code(SWITCH_STATUSES), filters="status"),
        RecordField("countries", ValueType(seek=str.upper), filters="country"),
        RecordField("states", ValueType(seek=str.upper), filters="state"),
        # An array of `{zipcode_from, zipcode_to}`, as warehouses have them.
        RecordField("zipcodes", PLAIN),
        RecordField("cities", TEXT, filters="city"),
    ),
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    sorts={"destination_id": "ID", "destination": "NAME"},
    default_sort=("destination_id", "asc"),
)
