"""Shipping methods. Prices are quoted in `quotes` and totalled in `domain.purchase.totals`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from auth.secrets import DecryptionError
from domain.carriers.params import SOURCES, decrypt_params, encrypt_params, mask_params, read_params
from domain.carriers.source import TABLE
from domain.records import Change, RecordType
from domain.shipping.rates import write_rates
from domain.taxes.taxes import taxes_writer
from kernel.codes import RATE_CALCULATION_TYPES, SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.fields import MAX_QUANTITY, InputField, cents, code_in, integer, name_text, one_of, short_text, text
from kernel.text import InvalidValue, repr_value
from models.connection.database import fetchrow
from models.references import VENDOR
from models.rows import delete_rows
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
    "rate_source": InputField("rate_source", one_of(TABLE, *SOURCES), code="rate_source_invalid"),
}

_LOCK = """
SELECT min_weight_grams, max_weight_grams FROM shipping_methods WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE
"""


_STORED_SOURCE = (
    "SELECT rate_source, rate_params FROM shipping_methods WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"
)


async def _set_source(change: Change) -> None:
    """Validate and encrypt the parameters of the source of rates; another source or parameter makes kept quotes void."""
    if not {"rate_source", "rate_params"} & change.values.keys():
        return
    row = None if change.is_new else await fetchrow(_STORED_SOURCE, change.scope.store.id, change.record_id)
    stored = _stored_params(row["rate_params"]) if row is not None else {}
    present = row["rate_source"] if row is not None else TABLE
    source = change.columns.get("rate_source", present)
    masked = change.values.get("rate_params", mask_params(stored) if source == present else None)
    params = read_params(source, masked, stored if source == present else {})
    if params != stored:
        change.columns["rate_params"] = encrypt_params(params) if params else None
    if row is not None and (params != stored or source != present):
        await delete_rows(change.scope, "carrier_quotes", shipping_method_id=change.record_id)


def _stored_params(sealed: bytes | None) -> dict[str, Any]:
    """Return the stored parameters, none if they can't be decrypted: then they are to be entered again."""
    try:
        return decrypt_params(sealed)
    except DecryptionError:
        return {}


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
    prepare=_set_source,
    after_save=_write_parts,
)
"""`max_weight_grams` 0 means any, `free_from_cents` null never free; `rates` as in `rates.write_rates`. Orders keep the amounts charged.

`rate_params` are those of `carriers.params.SOURCES`; a token equal to the mask stays as it is.
"""
