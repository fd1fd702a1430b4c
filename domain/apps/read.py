"""Declare what of installed apps and storefront keys can be read."""

from __future__ import annotations

from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, any_of, named

# The administration of apps takes user tokens only (decisions section 8, Access).
_ADMINISTRATORS = Rows(admin=("view_apps",), user_only=True)


def of_app(column: str) -> str:
    """Write the expression for a column of the installed app."""
    return f"(SELECT a.{column} FROM apps a WHERE a.id = t.app_id)"


INSTALLED_APPS = Entity(
    name="installed app",
    table="app_installations",
    alive="t.removed_at IS NULL",
    visible=_ADMINISTRATORS,
    filters={
        "id": EntityFilter("id", named, "any of these installations", many=True),
        "client_id": EntityFilter("text", any_of(of_app("client_id")), "any of these apps", many=True),
    },
    sorts={
        "installed_at": Sort("t.installed_at", "timestamptz", "time of installation"),
        "name": Sort(of_app("name"), "text", "name"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-installed_at",
)

STOREFRONT_KEYS = Entity(
    name="storefront key",
    table="storefront_keys",
    alive="t.revoked_at IS NULL",
    visible=_ADMINISTRATORS,
    filters={
        "id": EntityFilter("id", named, "any of these keys", many=True),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
        "name": Sort("t.name", "text", "name"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-created_at",
)
