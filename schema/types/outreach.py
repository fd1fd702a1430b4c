"""Define subscribers and requests to be called."""

from __future__ import annotations

import strawberry

from domain.people.read import CALL_REQUESTS, SUBSCRIBERS
from models.reading import ToOne
from schema.fields import INHERITED, column, entity, part, relation
from schema.scalars import BigInt, CallRequestStatus, Ident, SwitchStatus, Time
from schema.types.catalog import ProductObject
from schema.types.orders import OrderObject

_UNIX = "floor(extract(epoch from t.created_at))::bigint"


@entity(SUBSCRIBERS, "Subscriber", "An address that wants the shop's news.")
class SubscriberObject:
    """A row of `subscribers`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`subscriber_id`).", internal=True)
    email: str = column(description="The e-mail address.")
    lang_code: str = column(description="The language it is written to in.")
    status: SwitchStatus = column(description="The status letter.")
    created_at: Time = column(description="When it joined.")
    updated_at: Time = column(description="When it was last changed.")
    created_unix: BigInt = column(_UNIX, "Unix seconds of joining.", internal=True)


@part("Subscription", "What became of an address that was given.", access=INHERITED)
class SubscriptionObject:
    """The subscriber, and whether it is new."""

    number: BigInt = strawberry.field(description="The legacy number of the subscriber.")
    was_there: bool = strawberry.field(description="Whether the address was kept already.")


@entity(CALL_REQUESTS, "CallRequest", "Somebody who wants to be called.")
class CallRequestObject:
    """A row of `call_requests`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`request_id`).", internal=True)
    name: str = column(description="Whom to ask for.")
    phone: str = column(description="The phone number.")
    time_from: str = column(description="From when on, as the person said it.")
    time_to: str = column(description="Until when, as the person said it.")
    notes: str = column(description="What it is about.")
    status: CallRequestStatus = column(description="The status letter.")
    product: ProductObject | None = relation(ToOne("product_id"), "The product it is about.")
    order: OrderObject | None = relation(ToOne("order_id"), "The order it is about.")
    product_number: BigInt = column(
        "coalesce(t.product_id, 0)", "The legacy number of the product, or 0.", internal=True
    )
    order_number: BigInt = column(
        "coalesce(t.order_id, 0)", "The legacy number of the order, or 0.", internal=True
    )
    created_at: Time = column(description="When it was asked for.")
    updated_at: Time = column(description="When it was last changed.")
    created_unix: BigInt = column(_UNIX, "Unix seconds of the request.", internal=True)
