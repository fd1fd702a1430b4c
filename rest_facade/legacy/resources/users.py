"""Describe users and their places in usergroups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.letters import MEMBERSHIP_LETTERS, USER_LETTERS, USER_TYPE_LETTERS
from rest_facade.legacy.kinds import (
    EMAIL,
    FLAG,
    ID,
    NUMBER,
    PHONE,
    TEXT,
    UNIX,
    document,
    letter,
)
from rest_facade.legacy.resource import Action, Field, Filter, Nested, Record, Resource, id_field

_MEMBERSHIP = letter(MEMBERSHIP_LETTERS)

MEMBERSHIPS = Resource(
    path="usergroups",
    key="usergroup_id",
    thing="usergroup",
    area="users",
    does=(),
    fields=(id_field("usergroup_id"), Field("status", _MEMBERSHIP)),
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
        Field("email", EMAIL, "email", "email"),
        Field("user_type", letter(USER_TYPE_LETTERS), "user_type", "user_type"),
        Field("status", letter(USER_LETTERS), "status", "status"),
        Field("firstname", TEXT, "firstname", "firstname"),
        Field("lastname", TEXT, "lastname", "lastname"),
        Field("phone", PHONE, "phone", "phone"),
        Field("company_id", ID, "vendor_id", "employer_id"),
        Field("company", TEXT, "company_name", "company_name"),
        Field("company_name", TEXT, filters="vendor_name"),
        Field("CNPJ", document(14), "cnpj", "cnpj"),
        Field("CPF", document(11), "cpf", "cpf"),
        Field("timestamp", UNIX, filters="created_at"),
        Field("is_root", FLAG, filters="is_owner"),
        Field("points", NUMBER, filters="points"),
    ),
    inputs=(Field("password", TEXT, "password"),),
    required={"email": "email is required", "password": "password is required"},
    says={"vendor": "company_id"},
    filters=(Filter("q", "search", TEXT, many=False),),
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
            takes=(Field("status", _MEMBERSHIP, "status"),),
            required={"status": "status is required"},
            answers=_membership_shown,
        ),
    ),
)
