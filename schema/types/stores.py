"""Define the store."""

from __future__ import annotations

from auth.access import Access
from schema.enums import StoreStatus
from schema.fields import object_type, output_field
from schema.inputs import input_type, optional_field
from schema.scalars import ID, JSON


@object_type("Store", access=Access(anonymous=True, note="The data is public."))
class StoreObject:
    """The current store."""

    id: ID = output_field("The store ID (UUID), as sent in `X-Tenant-ID`.")
    name: str = output_field("The name.")
    currency: str = output_field("The store currency, ISO 4217.")
    status: StoreStatus = output_field("The status.")
    settings: JSON | None = output_field("The store settings with secrets masked; null without `view_settings`.")


@input_type
class StoreInput:
    """Changes to the store."""

    name: str | None = optional_field("The name.")
    currency: str | None = optional_field("The currency of future sales, ISO 4217.")
    maintenance_message: str | None = optional_field(
        "The message shown to customers while the store is in maintenance."
    )
