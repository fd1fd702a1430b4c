"""Describe users and their places in usergroups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.codes import MEMBERSHIP_STATUSES, USER_STATUSES, USER_TYPES
from rest_facade.legacy.resource import Action, Nested, QueryFilter, Record, RecordField, Resource, id_field
from rest_facade.legacy.value_types import (
    EMAIL,
    FLAG,
    ID,
    NUMBER,
    PHONE,
    TEXT,
    UNIX,
    code,
    document,
)

_MEMBERSHIP = code(MEMBERSHIP_STATUSES)

MEMBERSHIPS = Resource(
    path="usergroups",
    key="usergroup_id",
    thing="usergroup",
    area="users",
    does=(),
    fields=(id_field("usergroup_id"), RecordField("status", _MEMBERSHIP)),
    always_keyed=True,
    bare=True,
)


def _membership_shown(user: Record, address: Mapping[str, str]) -> dict[str, Any]:
    """Show the membership that was set, which the address names by number or UUID."""
    named = address["group_id"].lower()
    return next(
        {
            "user_id": str(user["user_id"]),
            "usergroup_id": str(place["usergroup_id"]),
            "status": place["status"],
        }
        for place in user["usergroups"]
        if named in (str(place["usergroup_id"]), place["usergroup"]["id"])
    )


USERS = Resource(
    path="users",
    key="user_id",
    thing="user",
    area="users",
    operations="User",
    fields=(
        id_field("user_id"),
        RecordField("email", EMAIL, "email", "email"),
        RecordField("user_type", code(USER_TYPES), "user_type", "user_type"),
        RecordField("status", code(USER_STATUSES), "status", "status"),
        RecordField("firstname", TEXT, "firstname", "firstname"),
        RecordField("lastname", TEXT, "lastname", "lastname"),
        RecordField("phone", PHONE, "phone", "phone"),
        RecordField("company_id", ID, "vendor_id", "employer_id"),
        RecordField("company", TEXT, "company_name", "company_name"),
        RecordField("company_name", TEXT, filters="vendor_name"),
        RecordField("CNPJ", document(14), "cnpj", "cnpj"),
        RecordField("CPF", document(11), "cpf", "cpf"),
        RecordField("timestamp", UNIX, filters="created_at"),
        RecordField("is_root", FLAG, filters="is_owner"),
        RecordField("points", NUMBER, filters="points"),
    ),
    inputs=(RecordField("password", TEXT, "password"),),
    required={"email": "email is required", "password": "password is required"},
    says={"vendor": "company_id"},
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    sorts={
        "user_id": "ID",
        "id": "ID",
        "email": "EMAIL",
        "name": "NAME",
        "status": "STATUS",
        "timestamp": "CREATED_AT",
        "date": "CREATED_AT",
    },
    default_sort=("timestamp", "desc"),
    below=(
        Nested(path="usergroups", operation="UserUsergroups", of=MEMBERSHIPS),
        Action(
            method="PUT",
            path="usergroups/{group_id}",
            operation="UserUsergroupSet",
            arguments={"user_id": "id", "usergroup_id": "group_id"},
            takes=(RecordField("status", _MEMBERSHIP, "status"),),
            required={"status": "status is required"},
            answers=_membership_shown,
        ),
    ),
)
