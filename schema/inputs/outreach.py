"""Define what is given to change subscribers and requests to be called."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field
from schema.scalars import CallRequestStatus, Ident, SwitchStatus


@strawberry.input(
    description="A subscriber. Creation needs `email`; one that is there already stays as it is."
)
class SubscriberInput:
    """Fields of a subscriber."""

    email: str | None = given_field("The e-mail address.")
    lang_code: str | None = given_field("The language it is written to in; the store's first unless given.")
    status: SwitchStatus | None = given_field("The status letter.")


@strawberry.input(description="A request to be called. Creation needs `phone`.")
class CallRequestInput:
    """Fields of a request to be called."""

    name: str | None = given_field("Whom to ask for.")
    phone: str | None = given_field("The phone number.")
    time_from: str | None = given_field("From when on, as the person says it.")
    time_to: str | None = given_field("Until when, as the person says it.")
    product_id: Ident | None = given_field("The product it is about.")
    order_id: Ident | None = given_field("The order it is about.")
    notes: str | None = given_field("What it is about.")
    status: CallRequestStatus | None = given_field("The status letter.")
