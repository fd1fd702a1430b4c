"""Describe users and their usergroup memberships."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kernel.codes import MEMBERSHIP_STATUSES, USER_STATUSES, USER_TYPES
from kernel.ids import parse_reference
from kernel.json_schema import enum, object_schema
from rest_facade.legacy import value_types as types
from rest_facade.legacy.reshape import is_cscart
from rest_facade.legacy.resource import (
    IN_CSCART,
    SEARCH,
    ActionRoute,
    NestedList,
    Record,
    RecordField,
    Resource,
    id_field,
    same_names,
)
from rest_facade.legacy.resources.order_parts import ADDRESS, address_fields, flatten_address
from rest_facade.legacy.value_schemas import WRITTEN_ID

_MEMBERSHIP = types.code(MEMBERSHIP_STATUSES)

MEMBERSHIPS = Resource(
    path="usergroups",
    privilege_area="users",
    actions=(),
    fields=(id_field("usergroup_id"), RecordField("status", _MEMBERSHIP, filter_name="status")),
    always_keyed=True,
    unwrapped=True,
)


def _render_membership(user: Record, path: Mapping[str, str]) -> dict[str, Any]:
    """Render the updated membership, identified in the path by number or UUID."""
    reference = parse_reference(path["group_id"])
    return next(
        {"user_id": user["user_id"], "usergroup_id": membership["usergroup_id"], "status": membership["status"]}
        for membership in user["usergroups"]
        if reference in (membership["usergroup_id"], parse_reference(membership["usergroup"]["id"]))
    )


def _profile_address(prefix: str, kind: str) -> list[RecordField]:
    fields = address_fields(prefix, kind, path=f"default_{kind}_address", filterable=False)
    return [replace(field, permission=IN_CSCART) for field in fields]


def _flatten_addresses(user: Record) -> None:
    """Move the default addresses into the record, as CS-Cart's profiles have them."""
    flatten_address(user, "b", user.pop("default_billing_address"))
    flatten_address(user, "s", user.pop("default_shipping_address"))


USERS = Resource(
    path="users",
    privilege_area="users",
    results={"create": "user_id: number profile_id: number"},
    fields=(
        id_field("user_id"),
        RecordField("email", types.EMAIL, "email", "email"),
        RecordField("user_type", types.code(USER_TYPES), "user_type", "user_type"),
        RecordField("status", types.code(USER_STATUSES), "status", "status"),
        *same_names(types.TEXT, "firstname", "lastname"),
        RecordField("phone", types.PHONE, "phone", "phone"),
        RecordField("company_id", types.ID, "vendor_id", "employer_id"),
        RecordField("company", types.TEXT, "company_name", "company_name"),
        RecordField("company_name", types.TEXT, filter_name="vendor_name"),
        RecordField("CNPJ", types.document(14), "cnpj", "cnpj"),
        RecordField("CPF", types.document(11), "cpf", "cpf"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
        RecordField("is_root", types.FLAG, filter_name="is_owner"),
        RecordField("points", types.INTEGER, "points", "points"),
    ),
    detail_fields=(
        *_profile_address("b", "billing"),
        *_profile_address("s", "shipping"),
    ),
    extra_selection=" ".join(
        f"default_{kind}_address @include(if: ${IN_CSCART}) {ADDRESS}" for kind in ("billing", "shipping")
    ),
    permissions={IN_CSCART: is_cscart},
    cscart_complete=_flatten_addresses,
    # Forms send it back empty.
    input_fields=(RecordField("password", types.optional(types.TEXT), "password"),),
    required=("email", "password"),
    cscart_defaults={"password": None},
    message_terms={
        "vendor": "company_id",
        **{
            f"{kind}_address.{name}": f"{kind[0]}_{name}"
            for kind in ("billing", "shipping")
            for name in ("state", "phone")
        },
    },
    filters=(SEARCH,),
    sorts=dict(
        user_id="ID", id="ID", email="EMAIL", name="NAME", status="STATUS", timestamp="CREATED_AT", date="CREATED_AT"
    ),
    default_sort=("timestamp", "desc"),
    subroutes=(
        NestedList("usergroups", "UserUsergroups", MEMBERSHIPS),
        ActionRoute(
            method="PUT",
            path="usergroups/{group_id}",
            operation="UsergroupMembershipSet",
            result="user_id: number usergroups { usergroup_id: usergroup_number status usergroup { id } }",
            path_arguments={"user_id": "id", "usergroup_id": "group_id"},
            body_fields=(RecordField("status", _MEMBERSHIP, "status"),),
            required=("status",),
            render_result=_render_membership,
            result_schema=object_schema(
                user_id=WRITTEN_ID, usergroup_id=WRITTEN_ID, status=enum(MEMBERSHIP_STATUSES.codes)
            ),
        ),
    ),
)
