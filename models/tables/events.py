"""The transactional outbox, webhook endpoints and webhook deliveries."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField

from kernel.clock import now
from models.tables.base import StoreModel


class OutboxEvent(StoreModel, table="outbox_events"):
    """An event of a subject, inserted in the transaction of the change. `sequence` counts the events of the subject from 1.

    `position` is its place in the store's event feed (`domain.event_feed`), null until it is assigned.
    """

    name = fields.TextField()
    subject_type = fields.TextField()
    subject_id = fields.UUIDField()
    sequence = fields.BigIntField()
    data = fields.JSONField[dict[str, object]]()
    request_id = fields.TextField(default="")
    created_at = fields.DatetimeField(default=now)
    dispatched_at = fields.DatetimeField(null=True)
    traceparent = fields.TextField(null=True)
    position = fields.BigIntField(null=True)


class EventSequence(StoreModel, table="event_sequences"):
    """The latest sequence number of a subject; its row lock prevents gaps and duplicates."""

    subject_type = fields.TextField()
    subject_id = fields.UUIDField()
    # The column is `latest`, which in Tortoise is a method.
    latest_number = fields.BigIntField(default=0, source_field="latest")


class EventEndpoint(StoreModel, table="event_endpoints"):
    """A webhook endpoint of an installed app. `failing_since` is the first failure since the last success."""

    installation = fields.ForeignKeyField("models.AppInstallation", related_name="event_endpoints")
    url = fields.TextField()
    events = ArrayField(element_type="text")
    query = fields.TextField(null=True)
    status = fields.TextField(default="A")
    disabled_reason = fields.TextField(default="")
    created_at = fields.DatetimeField(default=now)
    updated_at = fields.DatetimeField(default=now)
    deleted_at = fields.DatetimeField(null=True)
    last_success_at = fields.DatetimeField(null=True)
    last_failure_at = fields.DatetimeField(null=True)
    failing_since = fields.DatetimeField(null=True)
    failures = fields.IntField(default=0)
    paused_until = fields.DatetimeField(null=True)
    claimed_at = fields.DatetimeField(null=True)


class EventDelivery(StoreModel, table="event_deliveries"):
    """A webhook delivery. `due_at` is null once it is delivered or has failed; `attempts` are the results of the delivery attempts."""

    event = fields.ForeignKeyField("models.OutboxEvent", related_name="deliveries")
    endpoint = fields.ForeignKeyField("models.EventEndpoint", related_name="deliveries")
    name = fields.TextField()
    state = fields.TextField(default="pending")
    tries = fields.IntField(default=0)
    due_at = fields.DatetimeField(null=True)
    claim = fields.UUIDField(null=True)
    last_status = fields.IntField(null=True)
    last_error = fields.TextField(default="")
    attempts = fields.JSONField[list[object]](default=list)
    created_at = fields.DatetimeField(default=now)
    updated_at = fields.DatetimeField(default=now)
    delivered_at = fields.DatetimeField(null=True)
