"""The sessions of all users, as those who administer accounts see them."""

from __future__ import annotations

from domain.filters import ids, references, sorts
from domain.visibility import VisibleRows
from models.reading.queries import Entity, Sort

USER_SESSIONS = Entity(
    table="sessions",
    # Where users are is for people who administer them, not for programs.
    visible=VisibleRows(admin=("manage_users",), user_only=True),
    base_condition="t.ended_at IS NULL AND t.expires_at > now()",
    filters={"id": ids("sessions"), "user_id": references("users", "of any of these users")},
    sorts={"last_used_at": Sort("t.last_used_at", "timestamptz", "time"), **sorts("created_at", "id")},
    default_sort="-last_used_at",
)
