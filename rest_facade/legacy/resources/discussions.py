"""Describe discussions: reviews and comments on products, categories, pages, orders and the store."""

from __future__ import annotations

from dataclasses import replace

from kernel.codes import DISCUSSION_OBJECT_TYPES, DISCUSSION_TYPES, SWITCH_STATUSES, CodeTable
from kernel.scope import ActorKind
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import (
    SEARCH,
    CombinedFilter,
    QueryFilter,
    RecordField,
    Resource,
    id_field,
    same_names,
)
from rest_facade.legacy.resources.order_parts import parse_period

_STATUS = CodeTable("status", {**SWITCH_STATUSES.labels, "P": ("pending",)})

_RATING = types.optional(replace(types.INTEGER, render=lambda rating: str(rating or 0)))
"""From 1 to 5 stars; 0 means no rating."""

_AUTHOR = replace(types.ID, render=lambda number: str(number or 0))

DISCUSSIONS = Resource(
    path="discussions",
    key="post_id",
    privilege_area="products",
    entity="review",
    actions=("list", "show", "create", "delete"),
    cscart_actions=("update",),
    fields=(
        id_field("post_id"),
        RecordField("thread_id", types.ID, "thread_id", "thread_id"),
        RecordField("object_type", types.optional(types.code(DISCUSSION_OBJECT_TYPES)), "object_type", "object_type"),
        RecordField("object_id", types.ID, "object_id", "object_id"),
        RecordField("type", types.optional(types.code(DISCUSSION_TYPES)), "type", "thread_type"),
        *same_names(types.TEXT, "name", "message"),
        RecordField("rating_value", _RATING, "rating", "stars"),
        RecordField("user_id", _AUTHOR, "customer_id", "author_id", source="user_number", permission="sees_authors"),
        RecordField("ip_address", types.TEXT, "ip_address", "ip_address", permission="sees_addresses"),
        RecordField("status", types.code(_STATUS), "status", "status"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
        RecordField("company_id", types.ID, filter_name="company_id", source="vendor_number"),
    ),
    message_terms={"review": "discussion", "object": "object_id", "thread": "thread_id", "user": "user_id"},
    filters=(SEARCH,),
    # CS-Cart finds parts of them.
    cscart_filters=(
        *(QueryFilter(name, f"{name}_part", types.TEXT, multiple=False) for name in ("name", "message")),
        CombinedFilter(("period", "time_from", "time_to"), parse_period),
    ),
    sorts=dict(
        timestamp="CREATED_AT", date="CREATED_AT", post_id="ID", name="NAME", rating_value="RATING", status="STATUS"
    ),
    default_sort=("timestamp", "desc"),
    permissions={
        "sees_addresses": lambda scope: scope.actor.has_privilege("manage_products"),
        # A vendor doesn't learn which customer wrote a review.
        "sees_authors": lambda scope: scope.actor.kind is ActorKind.ADMIN,
    },
)
