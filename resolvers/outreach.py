"""Assemble what can be asked and done about subscribers and requests to be called."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.people import outreach
from domain.people.read import CALL_REQUESTS, SUBSCRIBERS
from models.reading import Row
from resolvers.changes import renamed
from resolvers.reads import reads
from resolvers.writes import Writer, writes
from schema.fields import root
from schema.inputs.outreach import CallRequestInput, SubscriberInput
from schema.types.outreach import CallRequestObject, SubscriberObject, SubscriptionObject

_WRITE = Access(privileges=("manage_users",), app_scope="write_users")

SUBSCRIBER_WRITER = Writer(
    create=outreach.create_subscriber,
    update=outreach.update_subscriber,
    delete=outreach.delete_subscriber,
    access=_WRITE,
    texts=(
        "Keep an address that wants the shop's news; one that is there already stays as it is.",
        "Change a subscriber.",
        "Erase a subscriber.",
    ),
)
CALL_REQUEST_WRITER = Writer(
    create=outreach.create_call_request,
    update=outreach.update_call_request,
    delete=outreach.delete_call_request,
    access=_WRITE,
    words={"product_id": "product", "order_id": "order"},
    texts=(
        "Note that somebody wants to be called.",
        "Change a request to be called.",
        "Erase a request to be called.",
    ),
)


@strawberry.type
class OutreachMutations:
    """What else can be done with subscribers."""

    @root(_WRITE, "Keep an address, and tell whether it was there already.", internal=True)
    async def subscriber_add(self, info: Info, input: SubscriberInput) -> SubscriptionObject:
        """Keep an address."""
        number, was_there = await outreach.subscribe(info.context.scope, renamed(input, {}))
        shown: Any = Row(number=number, was_there=was_there)
        return shown  # type: ignore[no-any-return]


QUERIES = (
    reads(SubscriberObject, SUBSCRIBERS, "subscriber", "subscribers"),
    reads(CallRequestObject, CALL_REQUESTS, "call_request", "call_requests"),
)
MUTATIONS = (
    OutreachMutations,
    writes(SubscriberObject, SUBSCRIBERS, "subscriber", SubscriberInput, SUBSCRIBER_WRITER),
    writes(CallRequestObject, CALL_REQUESTS, "call_request", CallRequestInput, CALL_REQUEST_WRITER),
)
