"""Describe payment methods."""

from __future__ import annotations

from kernel.codes import PAYMENT_STATUSES
from kernel.json_schema import FREE_OBJECT
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, RecordField, Resource, id_field, same_names

SECRETS = types.rendered_by(
    lambda params: params or {}, types.parse_object, schema=FREE_OBJECT, body_schema=types.OBJECT.body_schema
)
"""The settings of a payment processor or carrier: secrets are masked as `****`, which sent back leaves them unchanged."""

PAYMENTS = Resource(
    path="payments",
    privilege_area="payments",
    entity="payment_method",
    texts=("payment", "description", "instructions"),
    fields=(
        id_field("payment_id"),
        RecordField("company_id", types.ID, "vendor_id", "company_id"),
        RecordField("payment", types.TEXT, "name", "name"),
        *same_names(types.TEXT, "description", "instructions"),
        RecordField("processor_type", types.optional(types.TEXT), "processor", "processor"),
        RecordField("processor_params", SECRETS, "processor_params"),
        RecordField("a_surcharge", types.optional(types.MONEY), "surcharge_cents", "surcharge_cents"),
        # Percentages have the format of amounts: hundredths of a percent.
        RecordField("p_surcharge", types.optional(types.MONEY), "surcharge_percent", "surcharge_percent"),
        RecordField("tax_ids", types.IDS, "tax_ids", "tax_id"),
        RecordField("position", types.optional(types.INTEGER), "position", "position"),
        RecordField("status", types.code(PAYMENT_STATUSES), "status", "status", cscart_type=types.HIDDEN_AS_DISABLED),
    ),
    required=("payment",),
    message_terms={"payment method": "payment", "vendor": "company_id", "tax": "tax_ids", "taxes": "tax_ids"},
    filters=(SEARCH,),
    sorts={"position": "POSITION", "payment": "NAME", "payment_id": "ID"},
)
