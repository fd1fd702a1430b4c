"""Convert destinations, taxes, shipping and payment methods, and promotions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from domain.destinations.destinations import DESTINATION_FIELDS
from domain.imports.numbered import ImportKind, ImportTable, Row, Rows
from domain.payments.methods import PAYMENT_METHOD_FIELDS
from domain.promotions.promotions import PROMOTION_FIELDS, PROMOTION_RECORDS
from domain.records import Change
from domain.shipping.methods import SHIPPING_METHOD_FIELDS
from domain.shipping.rates import RATE_FIELDS
from domain.taxes.taxes import TAX_FIELDS
from kernel.fields import read_fields
from models.tables.payments import PaymentMethod
from models.tables.promotions import Promotion
from models.tables.shipping import Destination, DestinationZipcode, ShippingMethod, ShippingRate
from models.tables.taxes import PaymentMethodTax, ShippingMethodTax, Tax, TaxRate
from server.importers.cscart.context import Context
from server.importers.cscart.values import (
    NotBrought,
    Record,
    as_number,
    cents,
    decimal,
    entries,
    flag,
    grams,
    integer,
    items,
    moment,
    numbers,
    objects,
    own_number,
    position,
    rounded,
    text,
)

_FIXED = "F"

# --- Destinations ----------------------------------------------------------------------------------------------------------------

DESTINATION = ImportKind(
    "destination", ImportTable(Destination), ImportTable(DestinationZipcode, owner="destination_id")
)


def convert_destination(context: Context, record: Record) -> Rows:
    """Convert a destination."""
    number = own_number(record, "destination_id")
    values = {
        "name": text(record, "destination"),
        "status": text(record, "status", "A"),
        "countries": items(record.get("countries")),
        "states": items(record.get("states")),
        "cities": items(record.get("cities")),
        "zipcodes": objects(record.get("zipcodes")),
    }
    columns = context.columns(DESTINATION_FIELDS, values)
    ranges = [
        {"destination_id": number, "zipcode_from": first, "zipcode_to": last} for first, last in columns.pop("zipcodes")
    ]
    return {"destinations": [{"id": number, **columns, **context.times(None)}], "destination_zipcodes": ranges}


# --- Taxes -----------------------------------------------------------------------------------------------------------------------

TAX = ImportKind("tax", ImportTable(Tax), ImportTable(TaxRate, owner="tax_id"))


def convert_tax(context: Context, record: Record) -> Rows:
    """Convert a tax; rates are in thousandths of a percent or of the currency unit."""
    number = own_number(record, "tax_id")
    values = {
        "name": text(record, "tax"),
        "regnumber": text(record, "regnumber"),
        "address_type": text(record, "address_type") or "S",
        "rate_type": text(record, "rate_type") or "P",
        "rate_value": rounded(record, "rate_value", 1_000),
        "price_includes_tax": flag(record, "price_includes_tax"),
        "priority": position(record, "priority"),
        "status": "A" if text(record, "status", "A") == "A" else "D",
    }
    rates: dict[int, Row] = {}
    for destination, rate in _by_destination(context, record.get("rates")):
        type_ = text(rate, "rate_type") or values["rate_type"]
        rate_values = {"rate_type": type_, "rate_value": rounded(rate, "rate_value", 1_000)}
        fields = {name: TAX_FIELDS[name] for name in rate_values}
        rates[destination] = {"tax_id": number, "destination_id": destination, **read_fields(fields, rate_values)}
    row = {"id": number, **context.columns(TAX_FIELDS, values), **context.times(None)}
    return {"taxes": [row], "tax_rates": list(rates.values())}


def _by_destination(context: Context, rates: object) -> Iterator[tuple[int, Record]]:
    """Yield the rates of destinations that are here: a list, or a map whose keys are destinations; a plain value is `rate_value`."""
    for key, entry in entries(rates).items():
        rate = entry if isinstance(entry, dict) else {"rate_value": entry}
        destination = as_number(rate.get("destination_id", key if isinstance(rates, dict) else None))
        if destination is None:
            continue
        for present in context.present([destination], "the rate of destination", "destinations"):
            yield present, rate


# --- Shipping methods ------------------------------------------------------------------------------------------------------------

SHIPPING = ImportKind(
    "shipping",
    ImportTable(ShippingMethod),
    ImportTable(ShippingRate, owner="shipping_method_id"),
    ImportTable(ShippingMethodTax, owner="shipping_method_id"),
)
_PRICES = ("base_cents", "per_kg_cents", "per_item_cents")
_NO_PRICE = dict.fromkeys(_PRICES, 0)


def convert_shipping(context: Context, record: Record) -> Rows:
    """Convert a shipping method with its rates."""
    method = own_number(record, "shipping_id")
    values = {
        "name": text(record, "shipping"),
        "description": text(record, "description"),
        "delivery_time": text(record, "delivery_time"),
        "rate_calculation": text(record, "rate_calculation") or "M",
        "min_weight_grams": grams(record, "min_weight"),
        "max_weight_grams": grams(record, "max_weight"),
        "free_from_cents": cents(record, "free_from") or None,
        "position": position(record),
        "status": "A" if text(record, "status", "A") == "A" else "D",
        "service": entries(record.get("service")),
    }
    columns = context.columns(SHIPPING_METHOD_FIELDS, values)
    own_price, rates = _shipping_rates(context, method, record.get("rates"))
    taxes = context.present(numbers(record, "tax_ids"), "tax", "taxes")
    row = {
        "id": method,
        **columns,
        **own_price,
        "vendor_id": context.optional(record, "company_id", "vendors"),
        **context.times(None),
    }
    return {
        "shipping_methods": [row],
        "shipping_rates": rates,
        "shipping_method_taxes": [{"shipping_method_id": method, "tax_id": tax} for tax in taxes],
    }


def _shipping_rates(context: Context, method: int, value: object) -> tuple[Row, list[Row]]:
    """Return the method's own price and the rows of its rates."""
    own_price: Row = dict(_NO_PRICE)
    for entry in objects(value):
        if as_number(entry.get("destination_id", -1)) is None:
            own_price = {name: price for name, price in _price(context, entry).items() if name in _PRICES}
    rates = {
        destination: {
            "shipping_method_id": method,
            "destination_id": destination,
            **read_fields(RATE_FIELDS, _price(context, rate)),
        }
        for destination, rate in _by_destination(context, value)
        if "rate_value" not in rate or rate["rate_value"] not in (None, "", [])
    }
    return own_price, list(rates.values())


def _price(context: Context, rate: Record) -> Row:
    """Return the price of a rate; of CS-Cart's tables (by cost `C`, weight `W`, items `I`) the first step of each."""
    if "rate_value" not in rate:
        names = {"base_cents": "base", "per_kg_cents": "per_kg", "per_item_cents": "per_item"}
        return {
            **{column: cents(rate, name) for column, name in names.items()},
            "max_weight_grams": grams(rate, "max_weight"),
        }
    tables = entries(rate["rate_value"])
    price: Row = {**_NO_PRICE, "base_cents": cents(rate, "base_rate"), "max_weight_grams": 0}
    for kind, column in (("C", "base_cents"), ("W", "per_kg_cents"), ("I", "per_item_cents")):
        steps = objects(tables.get(kind))
        if not steps:
            continue
        first = steps[0]
        is_fixed = text(first, "type", _FIXED) == _FIXED
        if len(steps) > 1 or not is_fixed:
            context.note(f"rates by {kind} have steps or percentages; the first fixed step was brought")
        if is_fixed and decimal(first, "value") > 0:
            price[column if flag(first, "per_unit") else "base_cents"] += cents(first, "value")
    return price


# --- Payment methods -------------------------------------------------------------------------------------------------------------

PAYMENT = ImportKind(
    "payment",
    ImportTable(PaymentMethod, without=("processor_params", "settles_at_once", "hold_minutes")),
    ImportTable(PaymentMethodTax, owner="payment_method_id"),
)


def convert_payment(context: Context, record: Record) -> Rows:
    """Convert a payment method without `processor_params`: they contain the secrets of its processor."""
    method = own_number(record, "payment_id")
    values = {
        "name": text(record, "payment"),
        "description": text(record, "description"),
        "instructions": text(record, "instructions"),
        "processor": text(record, "processor") or text(record, "processor_type") or "offline",
        "surcharge_cents": max(0, cents(record, "a_surcharge")),
        "surcharge_percent": max(0, cents(record, "p_surcharge")),
        "position": position(record),
        "status": "A" if text(record, "status", "A") == "A" else "D",
    }
    columns = context.columns(PAYMENT_METHOD_FIELDS, values, droppable=("processor",))
    if record.get("processor_params"):
        context.note("processor_params are never brought; enter them here")
    taxes = context.present(numbers(record, "tax_ids"), "tax", "taxes")
    row = {
        "id": method,
        **columns,
        "vendor_id": context.optional(record, "company_id", "vendors"),
        **context.times(None),
    }
    return {
        "payment_methods": [row],
        "payment_method_taxes": [{"payment_method_id": method, "tax_id": tax} for tax in taxes],
    }


# --- Promotions ------------------------------------------------------------------------------------------------------------------

PROMOTION = ImportKind("promotion", ImportTable(Promotion))
_CONDITIONS = "conditions"


async def convert_promotion(context: Context, record: Record) -> Rows:
    """Convert a promotion; raises ValidationFailed for conditions or bonuses that don't exist here."""
    values: dict[str, Any] = {
        "name": text(record, "name"),
        "zone": text(record, "zone") or "cart",
        _CONDITIONS: record.get(_CONDITIONS) or {},
        "bonuses": record.get("bonuses") or {},
        "coupon_code": text(record, "coupon_code"),
        "usage_limit": max(0, integer(record, "usage_limit")),
        "from_at": moment(record, "from_date"),
        "to_at": moment(record, "to_date"),
        "priority": position(record, "priority"),
        "stop": flag(record, "stop"),
        "status": "A" if text(record, "status", "A") == "A" else "D",
    }
    if isinstance(values[_CONDITIONS], str) or isinstance(values["bonuses"], str):
        raise NotBrought("conditions and bonuses are PHP texts; expected JSON")
    columns = context.columns(PROMOTION_FIELDS, values)
    change = Change(context.scope, values, columns, PROMOTION_RECORDS.defaults, is_new=True)
    if not context.is_dry_run:  # it looks up the products and categories that the conditions name
        await PROMOTION_RECORDS.prepare(change)
    row = {
        "id": own_number(record, "promotion_id"),
        **change.columns,
        "used": max(0, integer(record, "used")),
        **context.times(None),
    }
    return {"promotions": [row]}
