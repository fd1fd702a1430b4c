"""Create, update and delete shipping methods. Prices are quoted in `quotes` and totalled in `domain.orders.totals`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from domain.shipping.rates import write_rates
from domain.taxes.taxes import set_taxes
from kernel.codes import RATE_CALCULATION_TYPES, SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.fields import (
    MAX_QUANTITY,
    InputField,
    InputValues,
    cents,
    code_in,
    integer,
    name_text,
    read_fields,
    short_text,
    text,
)
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.database import fetchrow, transaction
from models.references import SHIPPING_METHOD, VENDOR, find, resolve_optional
from models.shipping import ShippingMethod

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
_NO_WEIGHTS = {"min_weight_grams": 0, "max_weight_grams": 0}


async def create_shipping_method(scope: Scope, values: InputValues) -> int:
    """Create a shipping method and return its internal id.

    Keys: `name`*, `description`, `delivery_time`, `rate_calculation`, `min_weight_grams`, `max_weight_grams` (0: any),
    `base_cents`, `per_kg_cents`, `per_item_cents`, `free_from_cents` (null: never free), `position`, `status`, `vendor`,
    `service` (an object), `rates` (see `rates.write_rates`), `taxes` (references).
    """
    columns = read_fields(SHIPPING_METHOD_FIELDS, values, creating=True)
    _check_weights({**_NO_WEIGHTS, **columns})
    async with transaction(scope):
        columns |= await _vendor(scope, values)
        method = ShippingMethod(**columns, created_at=scope.now, updated_at=scope.now)
        await method.save()
        method_id: int = method.id
        await _write_parts(scope, method_id, values)
        await audit.record(scope, "shipping_method.created", "shipping_method", method.public_id)
    return method_id


async def update_shipping_method(scope: Scope, method: object, values: InputValues) -> int:
    """Update a shipping method partially and return its internal id; orders keep the amounts charged."""
    columns = read_fields(SHIPPING_METHOD_FIELDS, values)
    async with transaction(scope):
        method_id = await find(scope, SHIPPING_METHOD, method)
        current = await fetchrow(_LOCK, scope.store.id, method_id)
        _check_weights({**(current or _NO_WEIGHTS), **columns})
        columns |= await _vendor(scope, values)
        await ShippingMethod.filter(id=method_id).update(**columns, updated_at=scope.now)
        await _write_parts(scope, method_id, values)
        await audit.record(
            scope,
            "shipping_method.updated",
            "shipping_method",
            method_id,
            {"fields": sorted(map(str, values))},
        )
    return method_id


async def delete_shipping_method(scope: Scope, method: object) -> None:
    """Soft-delete a shipping method; its orders go on showing it."""
    async with transaction(scope):
        method_id = await find(scope, SHIPPING_METHOD, method)
        await ShippingMethod.filter(id=method_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "shipping_method.deleted", "shipping_method", method_id)


async def _write_parts(scope: Scope, method_id: int, values: InputValues) -> None:
    await write_rates(scope, method_id, values)
    if values.get("taxes") is not None:
        await set_taxes(scope, "shipping_method_taxes", method_id, values["taxes"])


def _check_weights(columns: Mapping[str, Any]) -> None:
    minimum, maximum = columns["min_weight_grams"], columns["max_weight_grams"]
    if maximum and minimum > maximum:
        raise ValidationFailed(
            f"min_weight_grams is {minimum}; expected at most max_weight_grams, {maximum}",
            field="min_weight_grams",
            code="weight_invalid",
        )


async def _vendor(scope: Scope, values: InputValues) -> dict[str, Any]:
    if "vendor" not in values:
        return {}
    return {"vendor_id": await resolve_optional(scope, VENDOR, values["vendor"], field="vendor")}
