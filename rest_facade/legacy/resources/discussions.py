"""Describe discussions: what is said of products, categories, pages, orders and the store itself."""

from __future__ import annotations

from dataclasses import replace

from kernel.letters import (
    DISCUSSION_OBJECT_LETTERS,
    DISCUSSION_TYPE_LETTERS,
    SWITCH_LETTERS,
    LetterTable,
)
from rest_facade.legacy.kinds import ID, SMALL_NUMBER, TEXT, UNIX, if_given, letter
from rest_facade.legacy.resource import Field, Filter, Resource, id_field

_STATUS = LetterTable("status", {**SWITCH_LETTERS.labels, "P": ("pending",)})

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
        Field("thread_id", ID, "thread_id", "thread_id"),
        Field("object_type", if_given(letter(DISCUSSION_OBJECT_LETTERS)), "object_type", "object_type"),
        Field("object_id", ID, "object_id", "object_id"),
        Field("type", if_given(letter(DISCUSSION_TYPE_LETTERS)), "type", "thread_type"),
        Field("name", TEXT, "name", "name"),
        Field("message", TEXT, "message", "message"),
        Field("rating_value", _RATING, "rating", "stars"),
        Field("user_id", _AUTHOR, "customer_id", "author_id"),
        Field("ip_address", TEXT, "ip_address", "ip_address", right="sees_addresses"),
        Field("status", letter(_STATUS), "status", "status"),
        Field("timestamp", UNIX, filters="created_at"),
    ),
    says={"review": "discussion", "object": "object_id", "thread": "thread_id", "user": "user_id"},
    filters=(Filter("q", "search", TEXT, many=False),),
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
