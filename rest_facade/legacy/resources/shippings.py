"""Describe shipping methods and the destinations of their rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.codes import RATE_CALCULATION_TYPES, SWITCH_STATUSES
from kernel.json_schema import array, named, optional_members
from rest_facade.legacy import value_types as types
from rest_facade.legacy.record_schemas import selected_record
from rest_facade.legacy.reshape import record_renderer
from rest_facade.legacy.resource import SEARCH, Record, RecordField, Resource, id_field
from rest_facade.legacy.resources.payments import SECRETS
from rest_facade.legacy.value_schemas import rows_of

_RATE = (
    RecordField("destination_id", types.ID),
    RecordField("base", types.MONEY, "base_cents"),
    RecordField("per_kg", types.MONEY, "per_kg_cents"),
    RecordField("per_item", types.MONEY, "per_item_cents"),
    RecordField("max_weight", types.WEIGHT, "max_weight_grams"),
)
_RATE_MEMBERS = {"base_rate", "rate_value", *(field.name for field in _RATE)}
_render_rate = record_renderer(_RATE)


def _render_rates(rates: list[Record]) -> list[Record]:
    """Render a method's rates by destination; its default rate comes first, as destination 0."""
    return [{field.name: rate[field.name] for field in _RATE} for rate in map(_render_rate, rates)]


def rate_entries(value: Any, label: str) -> list[tuple[Any, Any]]:
    """Return the rates of a body with their destination keys: an array, or a map keyed by destination_id."""
    if isinstance(value, Mapping):
        return list(value.items())
    if value in (None, ""):
        return []
    if not isinstance(value, list):
        raise types.unexpected(label, value, "an array of rates")
    return [(None, entry) for entry in types.as_list(value)]


def _parse_rates(value: Any, label: str) -> list[Record]:
    """Parse all rates; the default rate is zero unless there is an entry for destination 0."""
    rates = [_parse_rate(key, entry, label) for key, entry in rate_entries(value, label)]
    if any(rate["destination_id"] is None for rate in rates):
        return rates
    return [{"destination_id": None}, *rates]


def _parse_rate(key: Any, entry: Any, label: str) -> Record:
    if not isinstance(entry, Mapping):
        raise types.unexpected(label, entry, "objects such as {destination_id, base}", verb="holds")
    # A rate of members that are not known here would be 0: shipping for nothing.
    if not entry.keys() & _RATE_MEMBERS:
        raise types.unexpected(label, dict(entry), "objects such as {destination_id, base}", verb="holds")
    if entry.get("rate_value") not in (None, "", [], {}):
        raise types.unexpected(f"{label}: rate_value", entry["rate_value"], "base, per_kg and per_item instead")
    entry = {"base": entry.get("base_rate"), **entry}
    destination = types.parse_id(entry.get("destination_id", key), f"{label}: destination_id")
    rate: Record = {"destination_id": None if destination is types.ABSENT else destination}
    for field in _RATE[1:]:
        if entry.get(field.name) not in (None, ""):
            assert field.input_path is not None
            assert field.value_type.parse is not None
            rate[field.input_path] = field.value_type.parse(entry[field.name], f"{label}: {field.name}")
    return rate


_RATES = types.rendered_by(
    _render_rates,
    _parse_rates,
    schema=array(selected_record("ShippingRate", _RATE)),
    body_schema=rows_of(
        named(
            "ShippingRateBody",
            optional_members(
                destination_id=types.ID.body_schema, **{field.name: field.value_type.body_schema for field in _RATE[1:]}
            ),
        )
    ),
)

SHIPPINGS = Resource(
    path="shippings",
    privilege_area="shipping",
    entity="shipping_method",
    texts=("shipping", "delivery_time"),
    fields=(
        id_field("shipping_id"),
        RecordField("company_id", types.ID, "vendor_id", "company_id"),
        RecordField("shipping", types.TEXT, "name", "name"),
        RecordField("delivery_time", types.TEXT, "delivery_time", "delivery_time"),
        RecordField(
            "rate_calculation",
            types.optional(types.code(RATE_CALCULATION_TYPES)),
            "rate_calculation",
            "rate_calculation",
        ),
        RecordField("min_weight", types.optional(types.WEIGHT), "min_weight_grams", "min_weight_grams"),
        RecordField("max_weight", types.optional(types.WEIGHT), "max_weight_grams", "max_weight_grams"),
        RecordField("free_from", types.OPTIONAL_MONEY, "free_from_cents", "free_from_cents"),
        RecordField("tax_ids", types.IDS, "tax_ids", "tax_id"),
        RecordField("position", types.optional(types.INTEGER), "position", "position"),
        RecordField("status", types.code(SWITCH_STATUSES), "status", "status", cscart_type=types.HIDDEN_AS_DISABLED),
        RecordField("rates", _RATES, "rates", source="price_list"),
        RecordField("service", types.OBJECT, "service"),
        RecordField("rate_source", types.TEXT, "rate_source", "rate_source"),
        RecordField("service_params", SECRETS, "rate_params"),
    ),
    required=("shipping",),
    message_terms={
        "rate_params": "service_params",
        "shipping method": "shipping",
        "vendor": "company_id",
        "tax": "tax_ids",
        "taxes": "tax_ids",
        "destination": "destination_id",
    },
    filters=(SEARCH,),
    sorts={"position": "POSITION", "shipping": "NAME", "shipping_id": "ID"},
)

DESTINATIONS = Resource(
    path="destinations",
    privilege_area="shipping",
    actions=("list", "show"),
    fields=(
        id_field("destination_id"),
        RecordField("destination", types.TEXT, filter_name="name"),
        RecordField("status", types.code(SWITCH_STATUSES), filter_name="status"),
        RecordField("countries", types.ValueType(parse_filter=str.upper), filter_name="country", source="countries"),
        RecordField("states", types.ValueType(parse_filter=str.upper), filter_name="state", source="states"),
        # An array of `{zipcode_from, zipcode_to}`, as in warehouses.
        RecordField("zipcodes", types.RAW, source="zipcodes { zipcode_from zipcode_to }"),
        RecordField("cities", types.TEXT, filter_name="city", source="cities"),
    ),
    filters=(SEARCH,),
    sorts={"destination_id": "ID", "destination": "NAME"},
)
