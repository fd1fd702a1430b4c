"""Describe subscribers and call requests."""

from __future__ import annotations

from kernel.codes import CALL_REQUEST_STATUSES, SWITCH_STATUSES
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import (
    ALREADY_EXISTS,
    LANG_CODE,
    LANGUAGE,
    SEARCH,
    RecordField,
    Resource,
    id_field,
    same_names,
)

_ACTIONS = ("list", "show", "create", "delete")

SUBSCRIBERS = Resource(
    path="subscribers",
    privilege_area="users",
    root_fields={"create": "subscriber_add"},
    results={"create": f"subscriber_id: number {ALREADY_EXISTS}"},
    actions=_ACTIONS,
    fields=(
        id_field("subscriber_id"),
        RecordField("email", types.EMAIL, "email", "email"),
        LANG_CODE,
        RecordField("status", types.code(SWITCH_STATUSES), "status", "status"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
    ),
    required=("email",),
    filters=(SEARCH, LANGUAGE),
    language_field="lang_code",
    sorts=dict(timestamp="CREATED_AT", date="CREATED_AT", email="EMAIL", status="STATUS", subscriber_id="ID"),
    default_sort=("timestamp", "desc"),
)

CALL_REQUESTS = Resource(
    path="call_requests",
    key="request_id",
    privilege_area="users",
    actions=_ACTIONS,
    cscart_actions=("update",),
    fields=(
        id_field("request_id"),
        *same_names(types.TEXT, "name", "phone", "time_from", "time_to"),
        *same_names(types.ID, "product_id", "order_id"),
        RecordField("notes", types.TEXT, "notes", "notes"),
        RecordField(
            "status",
            types.code(CALL_REQUEST_STATUSES),
            "status",
            "status",
            cscart_type=types.code_name(CALL_REQUEST_STATUSES),
        ),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
    ),
    required=("phone",),
    message_terms={"product": "product_id", "order": "order_id"},
    filters=(SEARCH,),
    sorts=dict(timestamp="CREATED_AT", date="CREATED_AT", name="NAME", status="STATUS", request_id="ID"),
    default_sort=("timestamp", "desc"),
)
