"""The readable entity of the points ledger: visible rows, filters and sort orders."""

from __future__ import annotations

from domain.filters import created_range, exact, ids, optional_references, references, sorts
from domain.visibility import VisibleRows
from models.reading.queries import Entity

POINT_ENTRIES = Entity(
    table="point_entries",
    visible=VisibleRows(
        admin=("view_users",), app="read_users", vendor="t.user_id = {user}", customer="t.user_id = {user}"
    ),
    filters={
        "id": ids("entries"),
        "user_id": references("users", "changes the points of any of these users"),
        "order_id": optional_references("orders", "for any of these orders; 0 means for none"),
        **exact("point_entry_kind", kind="any of these kinds"),
        **created_range(),
    },
    sorts=sorts("created_at", "id"),
    default_sort="-created_at",
)
