"""Queryable fields of bulk operations: every caller sees its own."""

from __future__ import annotations

from domain.filters import exact, ids, sorts
from domain.visibility import VisibleRows
from models.reading.queries import Entity

_OWN = "t.user_id = {user}"

BULK_OPERATIONS = Entity(
    table="bulk_operations",
    visible=VisibleRows(admin_rows=_OWN, own_app="t.installation_id = {installation}", vendor=_OWN),
    filters={
        "id": ids("bulk operations"),
        **exact("bulk_operation_kind", kind="of any of these kinds"),
        **exact("bulk_operation_state", state="in any of these states"),
    },
    sorts=sorts("id"),
    default_sort="-id",
)
