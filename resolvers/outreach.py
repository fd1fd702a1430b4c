"""Resolve newsletter subscribers and callback requests."""

from __future__ import annotations

from typing import Any

from strawberry import Info

from auth.access import Access
from domain.people import newsletter, outreach, stock_notices
from models.reading.queries import Row
from resolvers.entity_mutations import RecordFunctions, build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import acknowledgement, rename_fields
from schema.declaration import declare
from schema.fields import root_field
from schema.scalars import ID
from schema.types.outreach import (
    CallRequestInput,
    CallRequestObject,
    NewsletterSubscriptionObject,
    SubscriberInput,
    SubscriberObject,
)
from schema.types.sessions import AcknowledgementObject

_WRITE = Access(privileges=("manage_users",), app_scope="write_users")
_SHOPPERS = Access(admin=False, customer=True, storefront="storefront:cart")


_SUBSCRIBERS = RecordFunctions(
    outreach.create_subscriber, outreach.SUBSCRIBER_RECORDS.update, outreach.SUBSCRIBER_RECORDS.delete
)


@declare
class OutreachMutations:
    """Further mutations of subscribers."""

    @root_field(_WRITE, internal=True)
    async def subscriber_add(self, info: Info, input: SubscriberInput) -> NewsletterSubscriptionObject:
        """Subscribe an address and return whether it was already subscribed."""
        number, was_there = await outreach.subscribe(info.context.scope, rename_fields(input, {}))
        result: Any = Row(number=number, was_there=was_there)
        return result  # type: ignore[no-any-return]


@declare
class NewsletterMutations:
    """Mutations of newsletter subscriptions by shoppers."""

    @root_field(_SHOPPERS)
    async def newsletter_subscribe(
        self, info: Info, email: str, lang_code: str | None = None
    ) -> AcknowledgementObject | None:
        """Mail a token to an address, which subscribes it with `newsletter_confirm`. The response is the same for subscribed addresses, to
        which nothing is sent.
        """
        await newsletter.request_subscription(info.context.scope, {"email": email, "lang_code": lang_code})
        return acknowledgement(newsletter.REQUESTED)

    @root_field(_SHOPPERS)
    async def newsletter_confirm(self, info: Info, token: str) -> AcknowledgementObject | None:
        """Subscribe the address that a token was sent to, which gets a mail with the token for `newsletter_cancel`."""
        await newsletter.confirm_subscription(info.context.scope, token)
        return acknowledgement(newsletter.CONFIRMED)

    @root_field(_SHOPPERS)
    async def newsletter_cancel(self, info: Info, token: str) -> AcknowledgementObject | None:
        """End the newsletter subscription of the address that a token was sent to."""
        await newsletter.cancel_subscription(info.context.scope, token)
        return acknowledgement(newsletter.CANCELLED)


@declare
class StockNoticeMutations:
    """Mutations of notices that a product can be bought again."""

    @root_field(_SHOPPERS)
    async def stock_notice_request(
        self, info: Info, email: str, product_id: ID, combination_id: ID | None = None
    ) -> AcknowledgementObject | None:
        """Mail a token to an address, which gets one more mail when a product that can't be bought now is back, after
        `stock_notice_confirm`. The response is the same for addresses that wait for it already, to which nothing is sent.
        """
        values = {"email": email, "product": product_id, "combination": combination_id}
        await stock_notices.request_notice(info.context.scope, values)
        return acknowledgement(stock_notices.REQUESTED)

    @root_field(_SHOPPERS)
    async def stock_notice_confirm(self, info: Info, token: str) -> AcknowledgementObject | None:
        """Confirm the notice that a token was mailed for."""
        await stock_notices.confirm_notice(info.context.scope, token)
        return acknowledgement(stock_notices.CONFIRMED)

    @root_field(_SHOPPERS)
    async def stock_notice_cancel(self, info: Info, token: str) -> AcknowledgementObject | None:
        """Cancel the notice that a token was mailed for."""
        await stock_notices.cancel_notice(info.context.scope, token)
        return acknowledgement(stock_notices.CANCELLED)


QUERIES = (
    build_entity_queries(SubscriberObject),
    build_entity_queries(CallRequestObject),
)
MUTATIONS = (
    OutreachMutations,
    NewsletterMutations,
    StockNoticeMutations,
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
