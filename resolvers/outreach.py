"""Resolve newsletter subscribers and callback requests."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.people import outreach
from models.reading.queries import Row
from resolvers.entity_mutations import RecordFunctions, build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import rename_fields
from schema.fields import root_field
from schema.types.outreach import (
    CallRequestInput,
    CallRequestObject,
    NewsletterSubscriptionObject,
    SubscriberInput,
    SubscriberObject,
)

_WRITE = Access(privileges=("manage_users",), app_scope="write_users")


_SUBSCRIBERS = RecordFunctions(
    outreach.create_subscriber, outreach.SUBSCRIBER_RECORDS.update, outreach.SUBSCRIBER_RECORDS.delete
)


@strawberry.type
class OutreachMutations:
    """Further mutations of subscribers."""

    @root_field(_WRITE, internal=True)
    async def subscriber_add(self, info: Info, input: SubscriberInput) -> NewsletterSubscriptionObject:
        """Subscribe an address and return whether it was already subscribed."""
        number, was_there = await outreach.subscribe(info.context.scope, rename_fields(input, {}))
        result: Any = Row(number=number, was_there=was_there)
        return result  # type: ignore[no-any-return]


QUERIES = (
    build_entity_queries(SubscriberObject),
    build_entity_queries(CallRequestObject),
)
MUTATIONS = (
    OutreachMutations,
    build_entity_mutations(
        SubscriberObject,
        SubscriberInput,
        _SUBSCRIBERS,
        _WRITE,
        create_description="Create a newsletter subscriber; an existing one stays unchanged.",
        delete_description="Delete a subscriber permanently.",
    ),
    build_entity_mutations(
        CallRequestObject,
        CallRequestInput,
        outreach.CALL_REQUEST_RECORDS,
        _WRITE,
        label="a callback request",
        delete_description="Delete a callback request permanently.",
    ),
)
