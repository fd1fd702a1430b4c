"""Define the endpoints of events, and what was delivered to them."""

from __future__ import annotations

import strawberry

from auth.access import Access
from domain.webhooks.read import EVENT_DELIVERIES, EVENT_ENDPOINTS, of_app, of_event, of_installation
from models.reading import ToOne
from schema.fields import column, entity, part, relation
from schema.scalars import BigInt, Ident, Json, SwitchStatus, Time

MANAGE_ENDPOINTS = Access(privileges=("manage_apps",), any_app=True)
ONLY_APPS = Access(any_app=True, admin=False)


@entity(EVENT_ENDPOINTS, "EventEndpoint", "An address that an installed app is told events at.")
class EventEndpoint:
    """A row of `event_endpoints`."""

    id: Ident = column("public_id", "The UUID.")
    installed_app_id: Ident = column(of_installation("public_id"), "The installed app.")
    client_id: str = column(of_app("client_id"), "The app's client id.")
    url: str = column(description="Where events are posted.")
    events: list[str] = column(description="What it is told of.")
    query: str | None = column(
        description="The GraphQL selection that makes `data`; null for the data as documented."
    )
    status: SwitchStatus = column(description="Whether it is told anything.")
    disabled_reason: str = column(
        description="Why it is disabled: `manual`, `gone` (it answered 410), `failing` (for 5 days); empty while it is not."
    )
    last_success_at: Time | None = column(description="When it last took a delivery.")
    last_failure_at: Time | None = column(description="When it last did not.")
    failing_since: Time | None = column(description="The first failure since the last success.")
    paused_until: Time | None = column(description="When it is tried again after many failures in a row.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(EVENT_DELIVERIES, "EventDelivery", "One event on its way to one endpoint.")
class EventDelivery:
    """A row of `event_deliveries`."""

    id: Ident = column("public_id", "The UUID of the delivery.")
    event_id: str = column(
        f"('evt_' || replace({of_event('public_id')}::text, '-', ''))",
        "The id of the event, the same on every try.",
    )
    event: str = column("name", "What happened.")
    subject_type: str = column(of_event("subject_type"), "The kind of record that it is about.")
    subject_id: Ident = column(of_event("subject_id"), "The record that it is about.")
    sequence: BigInt = column(of_event("sequence"), "Its number among the events of the subject, from 1.")
    endpoint: EventEndpoint | None = relation(ToOne("endpoint_id"), "Where it goes.")
    state: str = column(
        description="`pending` (not tried yet), `delivering`, `delivered`, `failed` (tried again at `next_try_at`), `dead` (given up)"
        " or `cancelled`."
    )
    tries: int = column(description="How often it was tried.")
    next_try_at: Time | None = column(
        "(CASE WHEN t.state = 'delivering' THEN NULL ELSE t.due_at END)", "When it is tried next."
    )
    last_status: int | None = column(description="The HTTP status of the last answer.")
    last_error: str = column(description="What went wrong last; empty when all went well.")
    attempts: Json = column(description="Each try: `number`, `at`, `status`, `error`, `duration_ms`.")
    created_at: Time = column(description="When it was queued.")
    delivered_at: Time | None = column(description="When it was taken.")


@part("EventsReplayed", "What a replay has queued.", access=MANAGE_ENDPOINTS)
class EventsReplayed:
    """A number of events."""

    replayed: int = strawberry.field(description="How many events are sent (again), at most 10,000.")


@part("RotatedSecret", "An app's new secret.", access=ONLY_APPS)
class RotatedSecret:
    """The one time the secret is shown."""

    client_secret: str = strawberry.field(description="The new secret. Shown this once.")
    previous_valid_until: Time | None = strawberry.field(
        description="Until when the secret before it is good; null when it ended at once."
    )
