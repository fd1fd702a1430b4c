"""Describe ways to pay."""

from __future__ import annotations

from kernel.letters import PAYMENT_LETTERS
from rest_facade.legacy.kinds import ID, IDS, MONEY, SMALL_NUMBER, TEXT, Kind, if_given, letter, object_from
from rest_facade.legacy.resource import Field, Filter, Resource, id_field

_SECRETS = Kind(show=lambda params: params or {}, read=object_from)
"""The settings of a processor: secrets come as `****`, which sent back leaves them as they are."""

PAYMENTS = Resource(
    path="payments",
    key="payment_id",
    thing="payment",
    area="payments",
    operations="Payment",
    fields=(
        id_field("payment_id"),
        Field("company_id", ID, "vendor_id", "seller_id"),
        Field("payment", TEXT, "name", "name"),
        Field("description", TEXT, "description", "description"),
        Field("instructions", TEXT, "instructions", "instructions"),
        Field("processor_type", if_given(TEXT), "processor", "processor"),
        Field("processor_params", _SECRETS, "processor_params"),
        Field("a_surcharge", if_given(MONEY), "surcharge_cents", "surcharge_cents"),
        # Hundredths of a percent are to a percent what cents are to an amount.
        Field("p_surcharge", if_given(MONEY), "surcharge_percent", "surcharge_percent"),
        Field("tax_ids", IDS, "tax_ids", "tax_id"),
        Field("position", if_given(SMALL_NUMBER), "position", "position"),
        Field("status", letter(PAYMENT_LETTERS), "status", "status"),
    ),
    required={"payment": "payment is required"},
    says={"payment method": "payment", "vendor": "company_id", "tax": "tax_ids", "taxes": "tax_ids"},
    filters=(Filter("q", "search", TEXT, many=False),),
    sorts={"position": "POSITION", "payment": "NAME", "payment_id": "ID"},
    default_sort=("position", "asc"),
)
