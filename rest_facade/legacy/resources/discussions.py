"""Describe discussions: what is said of products, categories, pages, orders and the store itself."""

from __future__ import annotations

from dataclasses import replace

from kernel.codes import (
    DISCUSSION_OBJECT_TYPES,
    DISCUSSION_TYPES,
    SWITCH_STATUSES,
    CodeTable,
)
from rest_facade.legacy.resource import QueryFilter, RecordField, Resource, id_field
from rest_facade.legacy.value_types import ID, SMALL_NUMBER, TEXT, UNIX, code, if_given

_STATUS = CodeTable("status", {**SWITCH_STATUSES.labels, "P": ("pending",)})

_RATING = if_given(replace(SMALL_NUMBER, show=lambda rating: str(rating or 0)))
"""From 1 to 5 stars; 0 says that there is none."""

_AUTHOR = replace(ID, show=lambda number: str(number or 0))

DISCUSSIONS = Resource(
    path="discussions",
    key="post_id",
    thing="discussion",
    area="products",
    operations="Discussion",
    does=("list", "show", "create", "delete"),
    fields=(
        id_field("post_id"),
        RecordField("thread_id", ID, "thread_id", "thread_id"),
        RecordField("object_type", if_given(code(DISCUSSION_OBJECT_TYPES)), "object_type", "object_type"),
        RecordField("object_id", ID, "object_id", "object_id"),
        RecordField("type", if_given(code(DISCUSSION_TYPES)), "type", "thread_type"),
        RecordField("name", TEXT, "name", "name"),
        RecordField("message", TEXT, "message", "message"),
        RecordField("rating_value", _RATING, "rating", "stars"),
        RecordField("user_id", _AUTHOR, "customer_id", "author_id"),
        RecordField("ip_address", TEXT, "ip_address", "ip_address", right="sees_addresses"),
        RecordField("status", code(_STATUS), "status", "status"),
        RecordField("timestamp", UNIX, filters="created_at"),
    ),
    says={"review": "discussion", "object": "object_id", "thread": "thread_id", "user": "user_id"},
    filters=(QueryFilter("q", "search", TEXT, many=False),),
    sorts={
        "timestamp": "CREATED_AT",
        "date": "CREATED_AT",
        "post_id": "ID",
        "name": "NAME",
        "rating_value": "RATING",
        "status": "STATUS",
    },
    default_sort=("timestamp", "desc"),
    rights={"sees_addresses": lambda scope: scope.actor.holds("manage_products")},
)
