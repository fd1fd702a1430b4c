"""Shipping methods. Prices are quoted in `quotes` and totalled in `domain.purchase.totals`."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from domain.records import Change, RecordType
from domain.shipping.rates import write_rates
from domain.taxes.taxes import taxes_writer
from kernel.codes import RATE_CALCULATION_TYPES, SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.fields import MAX_QUANTITY, InputField, cents, code_in, integer, name_text, short_text, text
from kernel.text import InvalidValue, repr_value
from models.references import VENDOR
from models.tables.shipping import ShippingMethod

MAX_SERVICE_BYTES = 100_000


def _service_object(value: object) -> object:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or len(orjson.dumps(value)) > MAX_SERVICE_BYTES:
        raise InvalidValue(f"is {repr_value(value)}; expected an object of at most {MAX_SERVICE_BYTES} bytes")
    return dict(value)


SHIPPING_METHOD_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "description": InputField("description", text()),
    "delivery_time": InputField("delivery_time", short_text),
    "rate_calculation": InputField("rate_calculation", code_in(RATE_CALCULATION_TYPES), code="rate_invalid"),
    "min_weight_grams": InputField("min_weight_grams", integer(0, MAX_QUANTITY), code="weight_invalid"),
    "max_weight_grams": InputField("max_weight_grams", integer(0, MAX_QUANTITY), code="weight_invalid"),
    "base_cents": InputField("base_cents", cents(), code="price_invalid"),
    "per_kg_cents": InputField("per_kg_cents", cents(), code="price_invalid"),
    "per_item_cents": InputField("per_item_cents", cents(), code="price_invalid"),
    "free_from_cents": InputField("free_from_cents", cents(nullable=True), code="price_invalid"),
    "position": InputField("position", integer(), code="position_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
    "service": InputField("service", _service_object, code="service_invalid"),
}

_LOCK = """
SELECT min_weight_grams, max_weight_grams FROM shipping_methods WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE
"""


async def _write_parts(change: Change) -> None:
    await write_rates(change)
    await _write_taxes(change)


_write_taxes = taxes_writer("shipping_method_taxes")


def _check_weights(change: Change) -> None:
    minimum, maximum = change.merged["min_weight_grams"], change.merged["max_weight_grams"]
    if maximum and minimum > maximum:
        raise ValidationFailed(
            f"min_weight_grams is {minimum}; expected at most max_weight_grams, {maximum}",
            field="min_weight_grams",
            code="weight_invalid",
        )


SHIPPING_METHOD_RECORDS = RecordType(
    ShippingMethod,
    SHIPPING_METHOD_FIELDS,
    references={"vendor": VENDOR},
    audit_input=True,
    lock_row=_LOCK,
    defaults={"min_weight_grams": 0, "max_weight_grams": 0},
    check=_check_weights,
    after_save=_write_parts,
)
"""`max_weight_grams` 0 means any, `free_from_cents` null never free; `rates` as in `rates.write_rates`. Orders keep the amounts charged."""
