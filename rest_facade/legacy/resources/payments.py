"""Describe payment methods."""

from __future__ import annotations

from kernel.codes import PAYMENT_STATUSES
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, RecordField, Resource, id_field

_SECRETS = types.ValueType(render=lambda params: params or {}, parse=types.parse_object)
"""The settings of a payment processor: secrets are masked as `****`, which sent back leaves them unchanged."""

PAYMENTS = Resource(
    path="payments",
    key="payment_id",
    display_name="payment",
    privilege_area="payments",
    operations="Payment",
    fields=(
        id_field("payment_id"),
        RecordField("company_id", types.ID, "vendor_id", "seller_id"),
        RecordField("payment", types.TEXT, "name", "name"),
        RecordField("description", types.TEXT, "description", "description"),
        RecordField("instructions", types.TEXT, "instructions", "instructions"),
        RecordField("processor_type", types.optional(types.TEXT), "processor", "processor"),
        RecordField("processor_params", _SECRETS, "processor_params"),
        RecordField("a_surcharge", types.optional(types.MONEY), "surcharge_cents", "surcharge_cents"),
        # Percentages have the format of amounts: hundredths of a percent.
        RecordField("p_surcharge", types.optional(types.MONEY), "surcharge_percent", "surcharge_percent"),
        RecordField("tax_ids", types.IDS, "tax_ids", "tax_id"),
        RecordField("position", types.optional(types.INTEGER), "position", "position"),
        RecordField("status", types.code(PAYMENT_STATUSES), "status", "status"),
    ),
    required={"payment": "payment is required"},
    message_terms={"payment method": "payment", "vendor": "company_id", "tax": "tax_ids", "taxes": "tax_ids"},
    filters=(SEARCH,),
    sorts={"position": "POSITION", "payment": "NAME", "payment_id": "ID"},
    default_sort=("position", "asc"),
)
