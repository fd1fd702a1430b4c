"""Queryable fields of users, usergroups, subscribers and call requests: visibility, filters and sort orders."""

from __future__ import annotations

from domain.filters import (
    created_range,
    exact,
    exact_normalized,
    exact_second,
    full_text_search,
    has_vendor_name,
    ids,
    optional_references,
    references,
    sorts,
    statuses,
    substring,
)
from domain.visibility import VisibleRows
from kernel.fields import normalize_email
from kernel.text import fold
from models.reading.queries import Condition, Entity, EntityFilter, Sort, any_of, flag

_USER_ROWS = VisibleRows(admin=("view_users",), app="read_users", vendor="t.id = {user}", customer="t.id = {user}")

IS_OWNER = "coalesce(t.id = (SELECT s.owner_id FROM tenants s WHERE s.id = t.tenant_id), false)"

USERS = Entity(
    table="users",
    visible=_USER_ROWS,
    filters={
        "id": ids("users"),
        "user_type": EntityFilter("user_type", any_of("t.user_type"), "any of these types", many=True),
        "role": EntityFilter("role", any_of("t.user_type"), "any of these roles", many=True),
        "status": statuses("user_status"),
        "email": exact_normalized("t.email", normalize_email, "exact e-mail"),
        "search": EntityFilter(
            "text", full_text_search("search_users"), "words, or beginnings of words, of name or e-mail"
        ),
        "vendor_id": references("vendors", "works for any of these vendors"),
        **created_range(),
        **exact("text", "firstname", "lastname", "phone", "cpf", "cnpj", "company_name", internal=True),
        "employer_id": optional_references(
            "vendors", "works for any of these vendors; 0 means for none", internal=True
        ),
        "vendor_name": EntityFilter(
            "text", has_vendor_name, "exact name of the vendor worked for", many=True, internal=True
        ),
        "is_owner": EntityFilter("boolean", flag(IS_OWNER), "owns the store", internal=True),
        **exact("big_int", "points", internal=True),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts={
        **sorts("created_at", "name"),
        "email": Sort("coalesce(t.email, '')", "text", "e-mail"),
        **sorts("status"),
        "role": Sort("t.user_type", "text", "role code"),
        # Without an index, which every sign-in would have to update.
        "last_login": Sort("coalesce(t.last_login_at, 'epoch')", "timestamptz", "last sign-in, none lowest"),
        **sorts("id"),
    },
    default_sort="-created_at",
)

_IS_MEMBER = (
    "EXISTS (SELECT 1 FROM usergroup_memberships m WHERE m.tenant_id = t.tenant_id AND m.usergroup_id = t.id"
    " AND m.user_id = {user})"
)

USERGROUPS = Entity(
    table="usergroups",
    visible=VisibleRows(admin=("view_users",), app="read_users", vendor=_IS_MEMBER, customer=_IS_MEMBER),
    filters={
        "id": ids("groups"),
        **exact("usergroup_type", type="any of these types"),
        "status": statuses("usergroup_status"),
        **exact("text", "name"),
        "search": substring("name", "t.name"),
        "privilege": EntityFilter(
            "text",
            lambda names: Condition("t.privileges && {}::text[]", (names,)),
            "gives any of these privileges",
            many=True,
        ),
    },
    sorts=sorts("name", "type", "status", "id"),
    default_sort="id",
)

MEMBERSHIPS = Entity(
    table="usergroup_memberships",
    visible=VisibleRows(
        admin=("view_users",), app="read_users", vendor="t.user_id = {user}", customer="t.user_id = {user}"
    ),
)

_OUTREACH = VisibleRows(admin=("view_users",), app="read_users")

SUBSCRIBERS = Entity(
    table="subscribers",
    visible=_OUTREACH,
    filters={
        "id": ids("subscribers"),
        "status": statuses(),
        **exact("text", email="exact e-mail, in lower case", lang_code="any of these languages"),
        "search": EntityFilter(
            "text",
            lambda text: Condition("strpos(t.email, lower({}::text)) > 0", (text.strip(),)),
            "part of the e-mail",
        ),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts=sorts("created_at", ("email", "e-mail"), "status", "id"),
    default_sort="-created_at",
)

CALL_REQUESTS = Entity(
    table="call_requests",
    visible=_OUTREACH,
    filters={
        "id": ids("requests"),
        "status": statuses("call_request_status"),
        "product_id": optional_references("products", "about any of these products; 0 means about none"),
        "order_id": optional_references("orders", "about any of these orders; 0 means about none"),
        "search": EntityFilter(
            "text",
            lambda text: Condition(
                "strpos(vitrine_fold(t.name), {}::text) > 0 OR strpos(t.phone, {}::text) > 0",
                (fold(text), text.strip()),
            ),
            "part of the name or of the phone",
        ),
        **exact("text", "name", "phone", "time_from", "time_to", "notes", internal=True),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts={"created_at": Sort("t.created_at", "timestamptz", "time of the request"), **sorts("name", "status", "id")},
    default_sort="-created_at",
)
