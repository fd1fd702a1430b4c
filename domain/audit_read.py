"""Queryable fields of the audit log: visibility, filters and sort orders."""

from __future__ import annotations

from domain.filters import ids, references, sorts
from domain.visibility import VisibleRows
from models.reading.queries import Entity, EntityFilter, Sort, any_of, compares

AUDIT_ENTRIES = Entity(
    table="audit_entries",
    visible=VisibleRows(admin=("view_settings",)),
    filters={
        "id": ids("entries"),
        "action": EntityFilter("text", any_of("t.action"), "any of these actions, such as `user.deleted`", many=True),
        "subject_type": EntityFilter("text", any_of("t.subject_type"), "about any of these record types", many=True),
        "subject_id": EntityFilter("text", any_of("t.subject_id"), "about any of these records", many=True),
        "user_id": references("users", "done by any of these users"),
        "created_from": EntityFilter("time", compares("t.at", ">="), "done at or after this time"),
        "created_before": EntityFilter("time", compares("t.at", "<"), "done before this time"),
    },
    sorts={"at": Sort("t.at", "timestamptz", "time"), **sorts("id")},
    default_sort="-at",
)
