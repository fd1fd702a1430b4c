"""Declare what of the audit log can be read."""

from __future__ import annotations

from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, any_of, compares, named, refers_to

AUDIT_ENTRIES = Entity(
    name="audit entry",
    table="audit_entries",
    visible=Rows(admin=("view_settings",)),
    filters={
        "id": EntityFilter("id", named, "any of these entries", many=True),
        "action": EntityFilter(
            "text", any_of("t.action"), "any of these actions, such as `user.deleted`", many=True
        ),
        "subject_type": EntityFilter(
            "text", any_of("t.subject_type"), "about any of these kinds of record", many=True
        ),
        "subject_id": EntityFilter("text", any_of("t.subject_id"), "about any of these records", many=True),
        "user_id": EntityFilter(
            "id", refers_to("t.user_id", "users"), "done by any of these users", many=True
        ),
        "created_from": EntityFilter("time", compares("t.at", ">="), "done then or later"),
        "created_before": EntityFilter("time", compares("t.at", "<"), "done before"),
    },
    sorts={
        "at": Sort("t.at", "timestamptz", "time"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-at",
)
