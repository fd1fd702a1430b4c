"""Declare what of event endpoints and deliveries can be read: an app sees its own, administrators see all of the store's."""

from __future__ import annotations

from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, any_of, named, refers_to

STATES = ("pending", "delivering", "delivered", "failed", "dead", "cancelled")


def of_installation(column: str) -> str:
    """Write the expression for a column of the endpoint's installation."""
    return f"(SELECT i.{column} FROM app_installations i WHERE i.tenant_id = t.tenant_id AND i.id = t.installation_id)"


def of_app(column: str) -> str:
    """Write the expression for a column of the endpoint's app."""
    return (
        f"(SELECT a.{column} FROM app_installations i JOIN apps a ON a.id = i.app_id"
        " WHERE i.tenant_id = t.tenant_id AND i.id = t.installation_id)"
    )


def of_event(column: str) -> str:
    """Write the expression for a column of the delivered event."""
    return f"(SELECT e.{column} FROM outbox_events e WHERE e.tenant_id = t.tenant_id AND e.id = t.event_id)"


EVENT_ENDPOINTS = Entity(
    name="event endpoint",
    table="event_endpoints",
    # With a removed app go its endpoints.
    alive="t.deleted_at IS NULL AND EXISTS (SELECT 1 FROM app_installations i"
    " WHERE i.tenant_id = t.tenant_id AND i.id = t.installation_id AND i.removed_at IS NULL)",
    visible=Rows(admin=("view_apps",), own_app="t.installation_id = {installation}"),
    filters={
        "id": EntityFilter("id", named, "any of these endpoints", many=True),
        "installed_app_id": EntityFilter(
            "id",
            refers_to("t.installation_id", "app_installations"),
            "of any of these installed apps",
            many=True,
        ),
        "status": EntityFilter("switch_status", any_of("t.status"), "in any of these states", many=True),
    },
    sorts={"id": Sort("t.id", "bigint", "order of entry")},
    default_sort="-id",
)

EVENT_DELIVERIES = Entity(
    name="event delivery",
    table="event_deliveries",
    visible=Rows(
        admin=("view_apps",),
        own_app="t.endpoint_id IN (SELECT p.id FROM event_endpoints p WHERE p.tenant_id = t.tenant_id"
        " AND p.installation_id = {installation} AND p.deleted_at IS NULL)",
    ),
    filters={
        "id": EntityFilter("id", named, "any of these deliveries", many=True),
        "endpoint_id": EntityFilter(
            "id", refers_to("t.endpoint_id", "event_endpoints"), "to any of these endpoints", many=True
        ),
        "event": EntityFilter("text", any_of("t.name"), "of any of these events", many=True),
        "state": EntityFilter("text", any_of("t.state"), "in any of these states", many=True),
    },
    sorts={"id": Sort("t.id", "bigint", "order of entry")},
    default_sort="-id",
)
