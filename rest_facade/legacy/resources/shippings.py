"""Describe ways to deliver and the destinations they have rates for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.letters import RATE_CALCULATION_LETTERS, SWITCH_LETTERS
from kernel.text import Malformed, shown
from rest_facade.legacy.kinds import (
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
    Kind,
    id_from,
    if_given,
    letter,
    listed,
)
from rest_facade.legacy.reshape import row_shower
from rest_facade.legacy.resource import Field, Filter, Record, Resource, id_field

_RATE = (
    Field("destination_id", ID),
    Field("base", MONEY, "base_cents"),
    Field("per_kg", MONEY, "per_kg_cents"),
    Field("per_item", MONEY, "per_item_cents"),
    Field("max_weight", WEIGHT, "max_weight_grams"),
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
        Field("company_id", ID, "vendor_id", "seller_id"),
        Field("shipping", TEXT, "name", "name"),
        Field("delivery_time", TEXT, "delivery_time", "delivery_time"),
        Field(
            "rate_calculation",
            if_given(letter(RATE_CALCULATION_LETTERS)),
            "rate_calculation",
            "rate_calculation",
        ),
        Field("min_weight", if_given(WEIGHT), "min_weight_grams", "min_weight_grams"),
        Field("max_weight", if_given(WEIGHT), "max_weight_grams", "max_weight_grams"),
        Field("free_from", OPTIONAL_MONEY, "free_from_cents", "free_from_cents"),
        Field("tax_ids", IDS, "tax_ids", "tax_id"),
        Field("position", if_given(SMALL_NUMBER), "position", "position"),
        Field("status", letter(SWITCH_LETTERS), "status", "status"),
        Field("rates", Kind(show=_rates_shown, read=_rates_from), "rates"),
        Field("service", OBJECT, "service"),
    ),
    required={"shipping": "shipping is required"},
    says={
        "shipping method": "shipping",
        "vendor": "company_id",
        "tax": "tax_ids",
        "taxes": "tax_ids",
        "destination": "destination_id",
    },
    filters=(Filter("q", "search", TEXT, many=False),),
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
        Field("destination", TEXT, filters="name"),
        Field("status", letter(SWITCH_LETTERS), filters="status"),
        Field("countries", Kind(seek=str.upper), filters="country"),
        Field("states", Kind(seek=str.upper), filters="state"),
        # An array of `{zipcode_from, zipcode_to}`, as warehouses have them.
        Field("zipcodes", PLAIN),
        Field("cities", TEXT, filters="city"),
    ),
    filters=(Filter("q", "search", TEXT, many=False),),
    sorts={"destination_id": "ID", "destination": "NAME"},
    default_sort=("destination_id", "asc"),
)
