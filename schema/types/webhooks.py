"""Define webhook endpoints, webhook deliveries and client secret rotation."""

from __future__ import annotations

from auth.access import Access
from domain.webhooks.read import (
    ATTEMPTS_OF_DELIVERY,
    DELIVERY_ATTEMPTS,
    EVENT_DELIVERIES,
    EVENT_ENDPOINTS,
    of_app,
    of_event,
    of_installation,
)
from models.reading.queries import ToMany, ToOne
from schema.enums import DeliveryState, SwitchStatus
from schema.fields import column, computed, entity_type, object_type, output_field, relation
from schema.inputs import input_type, optional_field
from schema.scalars import ID, JSON, BigInt, DateTime
from schema.types.apps import InstalledAppObject
from schema.unset import Unset

MANAGE_ENDPOINTS = Access(privileges=("manage_apps",), any_app=True)
APPS_ONLY = Access(any_app=True, admin=False)


@entity_type(EVENT_ENDPOINTS, "EventEndpoint", times="created_at updated_at")
class EventEndpointObject:
    """A webhook endpoint of an installed app."""

    id: ID = column("public_id", "The unique ID (UUID).")
    installed_app_id: ID = column(of_installation("public_id"), "The installed app.")
    installed_app: InstalledAppObject | None = relation(ToOne("installation_id"), "The installed app.")
    client_id: str = column(of_app("client_id"), "The app's OAuth client ID.")
    url: str = column(description="The URL events are posted to.")
    events: list[str] = column(description="The subscribed events.")
    query: str | None = column(
        description="The GraphQL selection that produces `data`; null for the default event data."
    )
    status: SwitchStatus = column(description="Whether deliveries are enabled.")
    disabled_reason: str = column(
        description="Why the endpoint is disabled: `manual`, `gone` (it responded with 410) or `failing` (for 5 days);"
        " empty while enabled.",
        unset=Unset.LATER,
    )
    last_success_at: DateTime | None = column(description="When a delivery last succeeded.")
    last_failure_at: DateTime | None = column(description="When a delivery last failed.")
    failing_since: DateTime | None = column(description="The first failure since the last success.")
    paused_until: DateTime | None = column(description="When deliveries resume after many consecutive failures.")


@entity_type(DELIVERY_ATTEMPTS, "DeliveryAttempt")
class DeliveryAttemptObject:
    """An attempt to deliver an event."""

    number: int = computed("(t.attempt ->> 'number')::int", "The number of the attempt, from 1.")
    at: DateTime = computed("(t.attempt ->> 'at')::timestamptz", "When it ended.")
    status: int | None = column(
        "(t.attempt ->> 'status')::int", "The HTTP status of the response; null without a response."
    )
    error: str = computed("t.attempt ->> 'error'", "The error; empty if none.", unset=Unset.NULL)
    duration_ms: int = computed("(t.attempt ->> 'duration_ms')::int", "How long it took, in milliseconds.")


@entity_type(EVENT_DELIVERIES, "EventDelivery")
class EventDeliveryObject:
    """The webhook delivery of one event to one endpoint."""

    id: ID = column("public_id", "The unique delivery ID (UUID).")
    event_id: str = column(
        f"('evt_' || replace({of_event('public_id')}::text, '-', ''))", "The event ID, the same for every attempt."
    )
    event: str = column("name", "The event name.")
    subject_type: str = column(of_event("subject_type"), "The type of the event's subject.")
    subject_id: ID = column(of_event("subject_id"), "The ID of the event's subject.")
    sequence: BigInt = column(of_event("sequence"), "The sequence number among the subject's events, starting at 1.")
    endpoint: EventEndpointObject | None = relation(ToOne("endpoint_id"), "The webhook endpoint.")
    state: DeliveryState = column(description="The state of the delivery.")
    tries: int = column(description="The number of delivery attempts.")
    next_try_at: DateTime | None = column(
        "(CASE WHEN t.state = 'delivering' THEN NULL ELSE t.due_at END)", "When the next attempt is due."
    )
    last_status: int | None = column(description="The HTTP status of the last response.")
    last_error: str = column(description="The last error; empty if none.", unset=Unset.LATER)
    attempt_list: list[DeliveryAttemptObject] = relation(
        ToMany("l.id", "t.position", through=ATTEMPTS_OF_DELIVERY), "The newest 50 delivery attempts, oldest first."
    )
    attempts: JSON = column(
        description="The delivery attempts: `number`, `at`, `status`, `error`, `duration_ms`.",
        deprecated="Use `attempt_list`, which is typed.",
    )
    created_at: DateTime = column(description="When the delivery was queued.")
    delivered_at: DateTime | None = column(description="When the delivery succeeded.")


@object_type("EventsReplayed", access=MANAGE_ENDPOINTS)
class EventsReplayedObject:
    """The result of an event replay."""

    replayed: int = output_field("The number of events queued for delivery, at most 10,000.")


@object_type("RotatedSecret", access=APPS_ONLY)
class RotatedSecretObject:
    """An app's rotated client secret."""

    client_secret: str = output_field("The new client secret. Returned only once.")
    previous_valid_until: DateTime | None = output_field(
        "When the previous secret expires; null if it was revoked immediately."
    )


@input_type
class EventEndpointInput:
    """A webhook endpoint. `url`, `events` and, of administrators, `installed_app_id` are required on creation."""

    installed_app_id: ID | None = optional_field(
        "The installed app; required on creation by an administrator, optional for the app itself."
    )
    url: str | None = optional_field("The https URL events are posted to; must be publicly reachable.")
    events: list[str] | None = optional_field(
        "The names of events (docs/reference/shared.md#events), such as `order.created`; each requires the scope that reads its subject."
    )
    query: str | None = optional_field(
        "A GraphQL selection on the events' subject (`{ id total_cents }`), executed as the app; its result becomes `data`."
    )
    status: SwitchStatus | None = optional_field("Whether deliveries are enabled.", text_internally=True)
