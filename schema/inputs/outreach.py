"""Define the inputs of newsletter subscribers and callback requests."""

from __future__ import annotations

from schema.enums import CallRequestStatus, SwitchStatus
from schema.inputs.optional_fields import input_type, optional_field
from schema.scalars import ID


@input_type
class SubscriberInput:
    """A newsletter subscriber. `email` is required on creation; an existing subscriber stays unchanged."""

    email: str | None = optional_field("The e-mail address.")
    lang_code: str | None = optional_field("The subscriber's language code; defaults to the store's first language.")
    status: SwitchStatus | None = optional_field("The status code.")


@input_type
class CallRequestInput:
    """A callback request. `phone` is required on creation."""

    name: str | None = optional_field("The contact person.")
    phone: str | None = optional_field("The phone number.")
    time_from: str | None = optional_field("The start of the preferred time, as free text.")
    time_to: str | None = optional_field("The end of the preferred time, as free text.")
    product_id: ID | None = optional_field("The related product.")
    order_id: ID | None = optional_field("The related order.")
    notes: str | None = optional_field("The customer's notes.")
    status: CallRequestStatus | None = optional_field("The status code.")
