"""Describe subscribers and call requests."""

from __future__ import annotations

from dataclasses import replace

from kernel.codes import CALL_REQUEST_STATUSES, SWITCH_STATUSES
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, RecordField, Resource, id_field

_ACTIONS = ("list", "show", "create", "delete")

SUBSCRIBERS = Resource(
    path="subscribers",
    key="subscriber_id",
    display_name="subscriber",
    privilege_area="users",
    operations="Subscriber",
    actions=_ACTIONS,
    fields=(
        id_field("subscriber_id"),
        RecordField("email", types.EMAIL, "email", "email"),
        RecordField("lang_code", replace(types.TEXT, parse_filter=str.lower), "lang_code", "lang_code"),
        RecordField("status", types.code(SWITCH_STATUSES), "status", "status"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
    ),
    required={"email": "email is required"},
    filters=(SEARCH,),
    sorts={
        "timestamp": "CREATED_AT",
        "date": "CREATED_AT",
        "email": "EMAIL",
        "status": "STATUS",
        "subscriber_id": "ID",
    },
    default_sort=("timestamp", "desc"),
)

CALL_REQUESTS = Resource(
    path="call_requests",
    key="request_id",
    display_name="call request",
    privilege_area="users",
    operations="CallRequest",
    actions=_ACTIONS,
    fields=(
        id_field("request_id"),
        RecordField("name", types.TEXT, "name", "name"),
        RecordField("phone", types.TEXT, "phone", "phone"),
        RecordField("time_from", types.TEXT, "time_from", "time_from"),
        RecordField("time_to", types.TEXT, "time_to", "time_to"),
        RecordField("product_id", types.ID, "product_id", "product_id"),
        RecordField("order_id", types.ID, "order_id", "order_id"),
        RecordField("notes", types.TEXT, "notes", "notes"),
        RecordField("status", types.code(CALL_REQUEST_STATUSES), "status", "status"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
    ),
    required={"phone": "phone is required"},
    message_terms={"product": "product_id", "order": "order_id"},
    filters=(SEARCH,),
    sorts={
        "timestamp": "CREATED_AT",
        "date": "CREATED_AT",
        "name": "NAME",
        "status": "STATUS",
        "request_id": "ID",
    },
    default_sort=("timestamp", "desc"),
)
