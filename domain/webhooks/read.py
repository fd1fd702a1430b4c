"""Queryable fields of webhook endpoints and deliveries: an app sees its own, administrators those of the store."""

from __future__ import annotations

from domain.filters import exact, ids, references, sorts
from domain.visibility import VisibleRows
from models.reading.queries import Entity, EntityFilter, any_of


def of_installation(column: str) -> str:
    """Return the SQL expression of a column of the endpoint's installation."""
    return f"(SELECT i.{column} FROM app_installations i WHERE i.tenant_id = t.tenant_id AND i.id = t.installation_id)"


def of_app(column: str) -> str:
    """Return the SQL expression of a column of the endpoint's app."""
    return (
        f"(SELECT a.{column} FROM app_installations i JOIN apps a ON a.id = i.app_id"
        " WHERE i.tenant_id = t.tenant_id AND i.id = t.installation_id)"
    )


def of_event(column: str) -> str:
    """Return the SQL expression of a column of the delivered event."""
    return f"(SELECT e.{column} FROM outbox_events e WHERE e.tenant_id = t.tenant_id AND e.id = t.event_id)"


EVENT_ENDPOINTS = Entity(
    table="event_endpoints",
    # Endpoints of a removed app are not visible.
    base_condition="t.deleted_at IS NULL AND EXISTS (SELECT 1 FROM app_installations i"
    " WHERE i.tenant_id = t.tenant_id AND i.id = t.installation_id AND i.removed_at IS NULL)",
    visible=VisibleRows(admin=("view_apps",), own_app="t.installation_id = {installation}"),
    filters={
        "id": ids("endpoints"),
        "installed_app_id": references(
            "app_installations", "of any of these installed apps", column="t.installation_id"
        ),
        "status": EntityFilter("switch_status", any_of("t.status"), "in any of these states", many=True),
    },
    sorts=sorts("id"),
    default_sort="-id",
)

EVENT_DELIVERIES = Entity(
    table="event_deliveries",
    visible=VisibleRows(
        admin=("view_apps",),
        own_app="t.endpoint_id = ANY(ARRAY(SELECT p.id FROM event_endpoints p WHERE p.tenant_id = {tenant}"
        " AND p.installation_id = {installation} AND p.deleted_at IS NULL))",
    ),
    filters={
        "id": ids("deliveries"),
        "endpoint_id": references("event_endpoints", "to any of these endpoints", column="t.endpoint_id"),
        "event": EntityFilter("text", any_of("t.name"), "of any of these events", many=True),
        **exact("delivery_state", state="in any of these states"),
    },
    sorts=sorts("id"),
    default_sort="-id",
)
# Reached only through a delivery, whose rows are filtered already. Those of one delivery, oldest first; an attempt is `attempt`.
ATTEMPTS_OF_DELIVERY = (
    "event_deliveries l JOIN LATERAL (SELECT l.tenant_id, a.attempt, a.position"
    " FROM jsonb_array_elements(l.attempts) WITH ORDINALITY AS a (attempt, position)) AS t ON true"
)
DELIVERY_ATTEMPTS = Entity(table="event_deliveries", visible=VisibleRows(admin=("view_apps",), own_app="true"))
