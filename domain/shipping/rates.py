"""Write the rates of shipping methods by destination."""

from __future__ import annotations

from collections.abc import Mapping

from domain.destinations.rates import check_rate_count, repeated_destination, resolve_destinations
from domain.records import Change
from kernel.fields import MAX_QUANTITY, InputField, cents, integer, read_fields
from models.rows import update_row

RATE_FIELDS: Mapping[str, InputField] = {
    "base_cents": InputField("base_cents", cents(), code="price_invalid"),
    "per_kg_cents": InputField("per_kg_cents", cents(), code="price_invalid"),
    "per_item_cents": InputField("per_item_cents", cents(), code="price_invalid"),
    "max_weight_grams": InputField("max_weight_grams", integer(0, MAX_QUANTITY), code="weight_invalid"),
}
_PRICES = ("base_cents", "per_kg_cents", "per_item_cents")


async def write_rates(change: Change) -> None:
    """Replace a changed method's rates by `rates [{destination, base_cents, per_kg_cents, per_item_cents, max_weight_grams}]`, if present.

    An entry without a destination sets the method's own prices, charged where it has no rates. Raises ValidationFailed for missing or
    repeated destinations.
    """
    scope, method_id, rates = change.scope, change.record_id, change.values.get("rates")
    if rates is None:
        return
    check_rate_count(rates)
    own_prices = [entry for entry in rates if entry.get("destination") is None]
    rates = [entry for entry in rates if entry.get("destination") is not None]
    rate_columns = [read_fields(RATE_FIELDS, entry) for entry in rates]
    if len(own_prices) > 1:
        raise repeated_destination()
    for entry in own_prices:
        columns = read_fields({name: RATE_FIELDS[name] for name in _PRICES}, entry)
        prices = {name: columns.get(name, 0) for name in _PRICES}  # the method keeps its weights
        change.has_changed |= await update_row(scope, "shipping_methods", method_id, **prices)
    rows = [
        {"destination_id": destination, **dict.fromkeys(RATE_FIELDS, 0), **columns}
        for destination, columns in zip(await resolve_destinations(scope, rates), rate_columns, strict=True)
    ]
    await change.replace_part("shipping_rates", "shipping_method_id", rows, key="destination_id")
