"""Define newsletter subscribers and callback requests."""

from __future__ import annotations

from domain.people.read import CALL_REQUESTS, SUBSCRIBERS
from models.reading.queries import ToOne
from schema.enums import CallRequestStatus, SwitchStatus
from schema.fields import (
    INHERITED,
    column,
    entity_type,
    legacy_number,
    object_type,
    output_field,
    relation,
    unix_seconds,
)
from schema.inputs import input_type, optional_copies, optional_field
from schema.scalars import ID, BigInt, DateTime
from schema.types.catalog import ProductObject
from schema.types.orders import OrderObject


@entity_type(SUBSCRIBERS, "Subscriber", key="subscriber_id")
class SubscriberObject:
    """A newsletter subscriber."""

    email: str = column(description="The e-mail address.")
    lang_code: str = column(description="The subscriber's language code.")
    status: SwitchStatus = column(description="The status code.")
    created_at: DateTime = column(description="When the subscription was created.")
    updated_at: DateTime = column(description="When the record was last updated.")
    created_unix: BigInt = unix_seconds("created_at", "When the subscription was created")


@object_type("NewsletterSubscription", access=INHERITED)
class NewsletterSubscriptionObject:
    """The result of a newsletter subscription."""

    number: BigInt = output_field("The legacy numeric ID of the subscriber.")
    was_there: bool = output_field("Whether the address was already subscribed.")


@entity_type(CALL_REQUESTS, "CallRequest", key="request_id")
class CallRequestObject:
    """A callback request of a customer."""

    name: str = column(description="The contact person.")
    phone: str = column(description="The phone number.")
    time_from: str = column(description="The start of the preferred time, as free text.")
    time_to: str = column(description="The end of the preferred time, as free text.")
    notes: str = column(description="The customer's notes.")
    status: CallRequestStatus = column(description="The status code.")
    product: ProductObject | None = relation(ToOne("product_id"), "The related product.")
    order: OrderObject | None = relation(ToOne("order_id"), "The related order.")
    product_number: BigInt = legacy_number("product_id", "the product")
    order_number: BigInt = legacy_number("order_id", "the order")
    created_at: DateTime = column(description="When the callback was requested.")
    updated_at: DateTime = column(description="When the record was last updated.")
    created_unix: BigInt = unix_seconds("created_at", "When the callback was requested")


@input_type
class SubscriberInput:
    """A newsletter subscriber. `email` is required on creation; an existing subscriber stays unchanged."""

    email: str | None = optional_field("The e-mail address.")
    lang_code: str | None = optional_field("The subscriber's language code; defaults to the store's first language.")
    status: SwitchStatus | None = optional_field("The status code.")


@input_type
@optional_copies(CallRequestObject, "name phone time_from time_to product_id order_id notes status")
class CallRequestInput:
    """A callback request. `phone` is required on creation."""

    product_id: ID | None = optional_field("The related product.")
    order_id: ID | None = optional_field("The related order.")
