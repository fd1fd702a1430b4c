"""Describe ways to pay."""

from __future__ import annotations

from kernel.codes import PAYMENT_STATUSES
from rest_facade.legacy.resource import QueryFilter, RecordField, Resource, id_field
from rest_facade.legacy.value_types import (
    ID,
    IDS,
    MONEY,
    SMALL_NUMBER,
    TEXT,
    ValueType,
    code,
    if_given,
    object_from,
)

_SECRETS = ValueType(show=lambda params: params or {}, read=object_from)
"""The settings of a processor: secrets come as `****`, which sent back leaves them as they are."""

PAYMENTS = Resource(
    path="payments",
    key="payment_id",
    thing="payment",
    area="payments",
    operations="Payment",
    fields=(
        id_field("payment_id"),
        RecordField("company_id", ID, "vendor_id", "seller_id"),
        RecordField("payment", TEXT, "name", "name"),
        RecordField("description", TEXT, "description", "description"),
        RecordField("instructions", TEXT, "instructions", "instructions"),
        RecordField("processor_type", if_given(TEXT), "processor", "processor"),
        RecordField("processor_params", _SECRETS, "processor_params"),
        RecordField("a_surcharge", if_given(MONEY), "surcharge_cents", "surcharge_cents"),
        # Hundredths of a percent are to a percent what cents are to an amount.
        RecordField("p_surcharge", if_given(MONEY), "surcharge_percent", "surcharge_percent"),
        RecordField("tax_ids", IDS, "tax_ids", "tax_id"),
        RecordField("position", if_given(SMALL_NUMBER), "position", "position"),
        RecordField("status", code(PAYMENT_STATUSES), "status", "status"),
    ),
    required={"payment": "payment is required"},
    says={"payment method": "payment", "vendor": "company_id", "tax": "tax_ids", "taxes": "tax_ids"},
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    sorts={"position": "POSITION", "payment": "NAME", "payment_id": "ID"},
    default_sort=("position", "asc"),
)
