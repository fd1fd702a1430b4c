"""Queryable fields of users, usergroups, subscribers and call requests: visibility, filters and sort orders."""

from __future__ import annotations

from domain.filters import (
    BY_CREATED,
    BY_ID,
    BY_NAME,
    BY_STATUS,
    exact_integer,
    exact_second,
    exact_text,
    full_text_search,
    has_vendor_name,
    ids,
    optional_references,
    references,
    statuses,
    substring,
)
from domain.visibility import VisibleRows
from models.queries import Condition, Entity, EntityFilter, Sort, any_of, compares, flag

_USER_ROWS = VisibleRows(
    admin=("view_users",), app="read_users", vendor="t.id = {user}", customer="t.id = {user}"
)

IS_OWNER = "coalesce(t.id = (SELECT s.owner_id FROM tenants s WHERE s.id = t.tenant_id), false)"

USERS = Entity(
    name="user",
    table="users",
    base_condition="t.deleted_at IS NULL",
    visible=_USER_ROWS,
    filters={
        "id": ids("users"),
        "user_type": EntityFilter("user_type", any_of("t.user_type"), "any of these types", many=True),
        "role": EntityFilter("role", any_of("t.user_type"), "any of these roles", many=True),
        "status": statuses("user_status"),
        "email": EntityFilter(
            "text",
            lambda v: any_of("t.email")([x.strip().lower() for x in (v if isinstance(v, list) else [v])]),
            "exact e-mail",
            many=True,
        ),
        "search": EntityFilter(
            "text", full_text_search("search_users"), "words, or beginnings of words, of name or e-mail"
        ),
        "vendor_id": references("t.vendor_id", "vendors", "works for any of these vendors"),
        "created_from": EntityFilter("time", compares("t.created_at", ">="), "created at or after this time"),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), "created before this time"),
        "firstname": exact_text("t.firstname", "first name", internal=True),
        "lastname": exact_text("t.lastname", "last name", internal=True),
        "phone": exact_text("t.phone", "phone, digits only", internal=True),
        "cpf": exact_text("t.cpf", "CPF, without punctuation", internal=True),
        "cnpj": exact_text("t.cnpj", "CNPJ, without punctuation", internal=True),
        "company_name": exact_text("t.company_name", "company name", internal=True),
        "employer_id": optional_references(
            "t.vendor_id", "vendors", "works for any of these vendors; 0 means for none", internal=True
        ),
        "vendor_name": EntityFilter(
            "text",
            has_vendor_name("t.vendor_id"),
            "exact name of the vendor worked for",
            many=True,
            internal=True,
        ),
        "is_owner": EntityFilter("boolean", flag(IS_OWNER), "owns the store", internal=True),
        "points": exact_integer("t.points", "reward points", internal=True),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts={
        "created_at": BY_CREATED,
        "name": BY_NAME,
        "email": Sort("coalesce(t.email, '')", "text", "e-mail"),
        "status": BY_STATUS,
        "role": Sort("t.user_type", "text", "role code"),
        # Without an index, which every sign-in would have to update.
        "last_login": Sort("coalesce(t.last_login_at, 'epoch')", "timestamptz", "last sign-in, none lowest"),
        "id": BY_ID,
    },
    default_sort="-created_at",
)

USERGROUPS = Entity(
    name="usergroup",
    table="usergroups",
    base_condition="t.deleted_at IS NULL",
    visible=VisibleRows(admin=("view_users",), app="read_users"),
    filters={
        "id": ids("groups"),
        "type": EntityFilter("text", any_of("t.type"), "any of these types", many=True),
        "status": statuses("usergroup_status"),
        "name": exact_text("t.name", "name"),
        "search": substring("name", "t.name"),
        "privilege": EntityFilter(
            "text",
            lambda names: Condition("t.privileges && {}::text[]", (names,)),
            "gives any of these privileges",
            many=True,
        ),
    },
    sorts={"name": BY_NAME, "type": Sort("t.type", "text", "type"), "status": BY_STATUS, "id": BY_ID},
    default_sort="id",
)

MEMBERSHIPS = Entity(
    name="membership",
    table="usergroup_memberships",
    visible=VisibleRows(admin=("view_users",), app="read_users"),
)

_OUTREACH = VisibleRows(admin=("view_users",), app="read_users")

SUBSCRIBERS = Entity(
    name="subscriber",
    table="subscribers",
    base_condition="t.deleted_at IS NULL",
    visible=_OUTREACH,
    filters={
        "id": ids("subscribers"),
        "status": statuses(),
        "email": exact_text("t.email", "e-mail, in lower case"),
        "lang_code": EntityFilter("text", any_of("t.lang_code"), "any of these languages", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Condition("strpos(t.email, lower({}::text)) > 0", (text.strip(),)),
            "part of the e-mail",
        ),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts={
        "created_at": BY_CREATED,
        "email": Sort("t.email", "text", "e-mail"),
        "status": BY_STATUS,
        "id": BY_ID,
    },
    default_sort="-created_at",
)

CALL_REQUESTS = Entity(
    name="call request",
    table="call_requests",
    base_condition="t.deleted_at IS NULL",
    visible=_OUTREACH,
    filters={
        "id": ids("requests"),
        "status": statuses("call_request_status"),
        "product_id": optional_references(
            "t.product_id", "products", "about any of these products; 0 means about none"
        ),
        "order_id": optional_references(
            "t.order_id", "orders", "about any of these orders; 0 means about none"
        ),
        "search": EntityFilter(
            "text",
            lambda text: Condition(
                "strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0 OR strpos(t.phone, {}::text) > 0",
                (text, text.strip()),
            ),
            "part of the name or of the phone",
        ),
        "name": exact_text("t.name", "name", internal=True),
        "phone": exact_text("t.phone", "phone", internal=True),
        "time_from": exact_text("t.time_from", "earliest hour", internal=True),
        "time_to": exact_text("t.time_to", "latest hour", internal=True),
        "notes": exact_text("t.notes", "notes", internal=True),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of the request"),
        "name": BY_NAME,
        "status": BY_STATUS,
        "id": BY_ID,
    },
    default_sort="-created_at",
)
