"""Keep the outbox: what happened, written in the transaction in which it happened."""

from __future__ import annotations

from tortoise import fields

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
