"""Queryable fields of installed apps and storefront keys: visibility, filters and sort orders."""

from __future__ import annotations

from domain.filters import exact, ids, sorts
from domain.visibility import VisibleRows
from models.reading.queries import Entity, EntityFilter, Sort, any_of

# App administration accepts user tokens only (docs/reference/current.md#app-installation).
ADMINISTRATORS = VisibleRows(admin=("view_apps",), user_only=True)


def of_app(column: str) -> str:
    """Return the SQL expression of a column of the installed app."""
    return f"(SELECT a.{column} FROM apps a WHERE a.id = t.app_id)"


INSTALLED_APPS = Entity(
    table="app_installations",
    base_condition="t.removed_at IS NULL",
    visible=ADMINISTRATORS,
    filters={
        "id": ids("installations"),
        "client_id": EntityFilter("text", any_of(of_app("client_id")), "any of these apps", many=True),
    },
    sorts={
        "installed_at": Sort("t.installed_at", "timestamptz", "time of installation"),
        "name": Sort(of_app("name"), "text", "name"),
        **sorts("id"),
    },
    default_sort="-installed_at",
)

STOREFRONT_KEYS = Entity(
    table="storefront_keys",
    base_condition="t.revoked_at IS NULL",
    visible=ADMINISTRATORS,
    filters={"id": ids("keys"), **exact("text", "name")},
    sorts=sorts("created_at", "name", "id"),
    default_sort="-created_at",
)
