"""Make the endpoints of events and the deliveries to them; let an app have two secrets for a day."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import AddField, Operation

from models.migrations._operations import StateOnly, field, run_files, store_model

PREVIOUS_SECRET = {
    "previous_secret_hash": "bytes?",
    "previous_secret_sealed": "bytes?",
    "previous_secret_until": "moment?",
}


class Migration(Base):
    """Follow the options."""

    dependencies: list[tuple[str, str]] = [("models", "0007_options")]  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0008_deliveries", backward="0008_deliveries_reverse.sql"),
        StateOnly(
            *(AddField("App", name, field(name, written)) for name, written in PREVIOUS_SECRET.items()),
            store_model(
                "EventEndpoint",
                "event_endpoints",
                installation="-> AppInstallation.event_endpoints",
                url="text",
                events="text[]",
                query="text?",
                status="text",
                disabled_reason="text",
                created_at="moment",
                updated_at="moment",
                deleted_at="moment?",
                last_success_at="moment?",
                last_failure_at="moment?",
                failing_since="moment?",
                failures="int",
                paused_until="moment?",
                claimed_at="moment?",
            ),
            store_model(
                "EventDelivery",
                "event_deliveries",
                event="-> OutboxEvent.deliveries",
                endpoint="-> EventEndpoint.deliveries",
                name="text",
                state="text",
                tries="int",
                due_at="moment?",
                claim="uuid?",
                last_status="int?",
                last_error="text",
                attempts="json",
                created_at="moment",
                updated_at="moment",
                delivered_at="moment?",
            ),
        ),
    ]
