"""Describe subscribers and requests to be called."""

from __future__ import annotations

from dataclasses import replace

from kernel.letters import CALL_REQUEST_LETTERS, SWITCH_LETTERS
from rest_facade.legacy.kinds import EMAIL, ID, TEXT, UNIX, letter
from rest_facade.legacy.resource import Field, Filter, Resource, id_field

_SEARCH = Filter("q", "search", TEXT, many=False)
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
        Field("email", EMAIL, "email", "email"),
        Field("lang_code", replace(TEXT, seek=str.lower), "lang_code", "lang_code"),
        Field("status", letter(SWITCH_LETTERS), "status", "status"),
        Field("timestamp", UNIX, filters="created_at"),
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
        Field("name", TEXT, "name", "name"),
        Field("phone", TEXT, "phone", "phone"),
        Field("time_from", TEXT, "time_from", "time_from"),
        Field("time_to", TEXT, "time_to", "time_to"),
        Field("product_id", ID, "product_id", "product_id"),
        Field("order_id", ID, "order_id", "order_id"),
        Field("notes", TEXT, "notes", "notes"),
        Field("status", letter(CALL_REQUEST_LETTERS), "status", "status"),
        Field("timestamp", UNIX, filters="created_at"),
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
