"""Queryable fields of the log of calls to apps: an app sees its own, administrators those of the store."""

from __future__ import annotations

from domain.filters import exact, ids, references, sorts
from domain.visibility import VisibleRows
from models.reading.queries import Entity, EntityFilter, any_of

APP_CALLS = Entity(
    table="app_calls",
    visible=VisibleRows(admin=("view_apps",), own_app="t.installation_id = {installation}"),
    filters={
        "id": ids("calls"),
        "installed_app_id": references(
            "app_installations", "to any of these installed apps", column="t.installation_id"
        ),
        "call": EntityFilter("text", any_of("t.name"), "of any of these names", many=True),
        "subject_id": EntityFilter("text", any_of("t.subject_id"), "about any of these payments or charges", many=True),
        **exact("app_call_state", state="in any of these states"),
    },
    sorts=sorts("id"),
    default_sort="-id",
)
