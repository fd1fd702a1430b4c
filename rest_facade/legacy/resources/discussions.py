"""Describe discussions: what buyers say of products."""

from __future__ import annotations

from kernel.letters import SWITCH_LETTERS, LetterTable
from rest_facade.legacy.kinds import ID, PLAIN, TEXT, UNIX, letter, shown_with
from rest_facade.legacy.resource import Field, Resource, id_field

_STATUS = LetterTable("status", {**SWITCH_LETTERS.labels, "P": ("pending",)})

DISCUSSIONS = Resource(
    path="discussions",
    key="post_id",
    thing="discussion",
    area="products",
    does=(),
    fields=(
        id_field("post_id"),
        Field("thread_id", ID),
        Field("object_type", PLAIN),
        Field("object_id", ID),
        Field("type", PLAIN),
        Field("name", TEXT),
        Field("message", TEXT),
        Field("rating_value", shown_with(lambda rating: str(rating or 0))),
        Field("user_id", shown_with(lambda number: str(number or 0)), filters=None),
        Field("ip_address", TEXT, right="sees_addresses"),
        Field("status", letter(_STATUS), filters="status"),
        Field("timestamp", UNIX),
    ),
    sorts={"timestamp": "CREATED_AT", "post_id": "ID"},
    default_sort=("timestamp", "desc"),
    rights={"sees_addresses": lambda scope: scope.actor.holds("manage_products")},
)
