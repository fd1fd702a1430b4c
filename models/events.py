"""Keep the outbox, what happened, written in the transaction in which it happened; and its way to those who want to be told."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField

from kernel.clock import now
from models.base import StoreManager, StoreModel


class OutboxEvent(StoreModel):
    """Something that happened to one subject. `sequence` counts the events of the subject from 1."""

    name = fields.TextField()
    subject_type = fields.TextField()
    subject_id = fields.UUIDField()
    sequence = fields.BigIntField()
    data = fields.JSONField[dict[str, object]]()
    request_id = fields.TextField(default="")
    created_at = fields.DatetimeField(default=now)
    dispatched_at = fields.DatetimeField(null=True)

    class Meta:
        table = "outbox_events"
        manager = StoreManager()


class EventSequence(StoreModel):
    """The number of the latest event of a subject; its row is the lock that keeps the numbers without gaps or repeats."""

    subject_type = fields.TextField()
    subject_id = fields.UUIDField()
    # The column is `latest`, which Tortoise keeps for a method of its own.
    latest_number = fields.BigIntField(default=0, source_field="latest")

    class Meta:
        table = "event_sequences"
        manager = StoreManager()


class EventEndpoint(StoreModel):
    """An address that an installed app wants to be told events at. `failing_since` is the first failure since the last success."""

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

    class Meta:
        table = "event_endpoints"
        manager = StoreManager()


class EventDelivery(StoreModel):
    """One event on its way to one endpoint. `due_at` is null when it is over; `attempts` holds what came of each try."""

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

    class Meta:
        table = "event_deliveries"
        manager = StoreManager()
