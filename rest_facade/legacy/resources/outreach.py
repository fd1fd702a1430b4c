"""Describe subscribers and requests to be called."""

from __future__ import annotations

from dataclasses import replace

from kernel.codes import CALL_REQUEST_STATUSES, SWITCH_STATUSES
from rest_facade.legacy.resource import QueryFilter, RecordField, Resource, id_field
from rest_facade.legacy.value_types import EMAIL, ID, TEXT, UNIX, code

_SEARCH = QueryFilter("q", "search", TEXT, many=False)
_DOES = ("list", "show", "create", "delete")

SUBSCRIBERS = Resource(
    path="subscribers",
    key="subscriber_id",
    thing="subscriber",
    area="users",
    operations="Subscriber",
    does=_DOES,
    fields=(
        id_field("subscriber_id"),
        RecordField("email", EMAIL, "email", "email"),
        RecordField("lang_code", replace(TEXT, seek=str.lower), "lang_code", "lang_code"),
        RecordField("status", code(SWITCH_STATUSES), "status", "status"),
        RecordField("timestamp", UNIX, filters="created_at"),
    ),
    required={"email": "email is required"},
    filters=(_SEARCH,),
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
    thing="call request",
    area="users",
    operations="CallRequest",
    does=_DOES,
    fields=(
        id_field("request_id"),
        RecordField("name", TEXT, "name", "name"),
        RecordField("phone", TEXT, "phone", "phone"),
        RecordField("time_from", TEXT, "time_from", "time_from"),
        RecordField("time_to", TEXT, "time_to", "time_to"),
        RecordField("product_id", ID, "product_id", "product_id"),
        RecordField("order_id", ID, "order_id", "order_id"),
        RecordField("notes", TEXT, "notes", "notes"),
        RecordField("status", code(CALL_REQUEST_STATUSES), "status", "status"),
        RecordField("timestamp", UNIX, filters="created_at"),
    ),
    required={"phone": "phone is required"},
    says={"product": "product_id", "order": "order_id"},
    filters=(_SEARCH,),
    sorts={
        "timestamp": "CREATED_AT",
        "date": "CREATED_AT",
        "name": "NAME",
        "status": "STATUS",
        "request_id": "ID",
    },
    default_sort=("timestamp", "desc"),
)
