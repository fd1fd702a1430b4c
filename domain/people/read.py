"""Declare what of users and usergroups can be read."""

from __future__ import annotations

from domain.catalog.read import _matches, in_second, refers_to_or_none, vendor_named
from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, Where, any_of, compares, flag, named, refers_to

_USER_ROWS = Rows(
    admin=("view_users",),
    app="read_users",
    vendor="t.id = {user}",
    customer="t.id = {user}",
)

IS_OWNER = "coalesce(t.id = (SELECT s.owner_id FROM tenants s WHERE s.id = t.tenant_id), false)"

USERS = Entity(
    name="user",
    table="users",
    alive="t.deleted_at IS NULL",
    visible=_USER_ROWS,
    filters={
        "id": EntityFilter("id", named, "any of these users", many=True),
        "user_type": EntityFilter("user_type", any_of("t.user_type"), "any of these types", many=True),
        "role": EntityFilter("role", any_of("t.user_type"), "any of these roles", many=True),
        "status": EntityFilter("user_status", any_of("t.status"), "any of these statuses", many=True),
        "email": EntityFilter(
            "text",
            lambda v: any_of("t.email")([x.strip().lower() for x in (v if isinstance(v, list) else [v])]),
            "exact e-mail",
            many=True,
        ),
        "search": EntityFilter(
            "text", _matches("search_users"), "words, or beginnings of words, of name or e-mail"
        ),
        "vendor_id": EntityFilter(
            "id", refers_to("t.vendor_id", "vendors"), "works for any of these vendors", many=True
        ),
        "created_from": EntityFilter("time", compares("t.created_at", ">="), "created then or later"),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), "created before"),
        "firstname": EntityFilter(
            "text", any_of("t.firstname"), "exact first name", many=True, internal=True
        ),
        "lastname": EntityFilter("text", any_of("t.lastname"), "exact last name", many=True, internal=True),
        "phone": EntityFilter(
            "text", any_of("t.phone"), "exact phone, digits only", many=True, internal=True
        ),
        "cpf": EntityFilter(
            "text", any_of("t.cpf"), "exact CPF, without punctuation", many=True, internal=True
        ),
        "cnpj": EntityFilter(
            "text", any_of("t.cnpj"), "exact CNPJ, without punctuation", many=True, internal=True
        ),
        "company_name": EntityFilter(
            "text", any_of("t.company_name"), "exact company name", many=True, internal=True
        ),
        "employer_id": EntityFilter(
            "id",
            refers_to_or_none("t.vendor_id", "vendors"),
            "works for any of these vendors; 0 means for none",
            many=True,
            internal=True,
        ),
        "vendor_name": EntityFilter(
            "text",
            vendor_named("t.vendor_id"),
            "exact name of the vendor worked for",
            many=True,
            internal=True,
        ),
        "is_owner": EntityFilter("boolean", flag(IS_OWNER), "owns the store", internal=True),
        "points": EntityFilter(
            "big_int", any_of("t.points", "bigint"), "exact reward points", many=True, internal=True
        ),
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "created in that second", many=True, internal=True
        ),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
        "name": Sort("t.name", "text", "name"),
        "email": Sort("coalesce(t.email, '')", "text", "e-mail"),
        "status": Sort("t.status", "text", "status letter"),
        "role": Sort("t.user_type", "text", "role's letter"),
        # Without an index: it would be written at every sign-in.
        "last_login": Sort("coalesce(t.last_login_at, 'epoch')", "timestamptz", "last sign-in, none lowest"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-created_at",
)

USERGROUPS = Entity(
    name="usergroup",
    table="usergroups",
    alive="t.deleted_at IS NULL",
    visible=Rows(admin=("view_users",), app="read_users"),
    filters={
        "id": EntityFilter("id", named, "any of these groups", many=True),
        "type": EntityFilter("text", any_of("t.type"), "any of these types", many=True),
        "status": EntityFilter("usergroup_status", any_of("t.status"), "any of these statuses", many=True),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Where("strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0", (text,)),
            "part of the name",
        ),
        "privilege": EntityFilter(
            "text",
            lambda names: Where("t.privileges && {}::text[]", (names,)),
            "gives any of these privileges",
            many=True,
        ),
    },
    sorts={
        "name": Sort("t.name", "text", "name"),
        "type": Sort("t.type", "text", "type"),
        "status": Sort("t.status", "text", "status letter"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="id",
)

MEMBERSHIPS = Entity(
    name="membership", table="usergroup_memberships", visible=Rows(admin=("view_users",), app="read_users")
)

# Whom the shop may write to or call.
_OUTREACH = Rows(admin=("view_users",), app="read_users")


def _exact(column: str, what: str) -> EntityFilter:
    return EntityFilter("text", any_of(column), f"exact {what}", many=True, internal=True)


SUBSCRIBERS = Entity(
    name="subscriber",
    table="subscribers",
    alive="t.deleted_at IS NULL",
    visible=_OUTREACH,
    filters={
        "id": EntityFilter("id", named, "any of these subscribers", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "email": EntityFilter("text", any_of("t.email"), "exact e-mail, in lower case", many=True),
        "lang_code": EntityFilter("text", any_of("t.lang_code"), "any of these languages", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Where("strpos(t.email, lower({}::text)) > 0", (text.strip(),)),
            "part of the e-mail",
        ),
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "joined in that second", many=True, internal=True
        ),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of joining"),
        "email": Sort("t.email", "text", "e-mail"),
        "status": Sort("t.status", "text", "status letter"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-created_at",
)

CALL_REQUESTS = Entity(
    name="call request",
    table="call_requests",
    alive="t.deleted_at IS NULL",
    visible=_OUTREACH,
    filters={
        "id": EntityFilter("id", named, "any of these requests", many=True),
        "status": EntityFilter("call_request_status", any_of("t.status"), "any of these statuses", many=True),
        "product_id": EntityFilter(
            "id",
            refers_to_or_none("t.product_id", "products"),
            "about any of these products; 0 means about none",
            many=True,
        ),
        "order_id": EntityFilter(
            "id",
            refers_to_or_none("t.order_id", "orders"),
            "about any of these orders; 0 means about none",
            many=True,
        ),
        "search": EntityFilter(
            "text",
            lambda text: Where(
                "strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0 OR strpos(t.phone, {}::text) > 0",
                (text, text.strip()),
            ),
            "part of the name or of the phone",
        ),
        "name": _exact("t.name", "name"),
        "phone": _exact("t.phone", "phone"),
        "time_from": _exact("t.time_from", "hour from which on"),
        "time_to": _exact("t.time_to", "hour until which"),
        "notes": _exact("t.notes", "notes"),
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "made in that second", many=True, internal=True
        ),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of the request"),
        "name": Sort("t.name", "text", "name"),
        "status": Sort("t.status", "text", "status letter"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-created_at",
)
