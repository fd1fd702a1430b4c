"""Keep what buyers say: one thread for each thing spoken of, made with its first post."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain import audit
from domain.fields import Given, InputField, code_in, moment, read_fields, short_text, text, whole
from domain.references import (
    CATEGORY,
    NOT_FOUND,
    ORDER,
    PAGE,
    PRODUCT,
    REVIEW,
    THREAD,
    USER,
    ReferenceType,
    find,
    resolve,
    resolve_optional,
)
from domain.store_settings import setting
from kernel.codes import DISCUSSION_OBJECT_TYPES, DISCUSSION_TYPES, SWITCH_STATUSES, CodeTable
from kernel.errors import NotFound, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import ActorKind, Scope
from models.database import execute, row, transaction, value
from models.marketplace import DiscussionPost

REVIEW_STATUSES = CodeTable("status", {**SWITCH_STATUSES.labels, "P": ("pending",)})
AWAITING = "P"
STORE_ITSELF = 0

# What a thread may be about; the store itself (`E`, testimonials) has no record to look for.
OBJECTS: Mapping[str, ReferenceType] = {"P": PRODUCT, "C": CATEGORY, "A": PAGE, "O": ORDER}

REVIEW_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", short_text),
    "message": InputField("message", text(20_000)),
    "rating": InputField("rating", whole(1, 5, nullable=True), code="rating_invalid"),
}
# What staff may set besides.
STAFF_FIELDS: Mapping[str, InputField] = {
    **REVIEW_FIELDS,
    "status": InputField("status", code_in(REVIEW_STATUSES), code="status_invalid"),
    "ip_address": InputField("ip_address", short_text),
    "created_at": InputField("created_at", moment),
}
THREAD_FIELDS: Mapping[str, InputField] = {
    "object_type": InputField("object_type", code_in(DISCUSSION_OBJECT_TYPES), code="object_type_invalid"),
    "type": InputField("type", code_in(DISCUSSION_TYPES), code="type_invalid"),
}

# The update that changes nothing makes RETURNING give the thread that is there already.
_THREAD = """
INSERT INTO discussion_threads (tenant_id, public_id, object_type, object_id, type) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id, object_type, object_id) DO UPDATE SET object_type = excluded.object_type
RETURNING id, type
"""
_THREAD_THERE = "SELECT type, object_type, object_id FROM discussion_threads WHERE tenant_id = $1 AND id = $2"
_OWN_ORDER = "SELECT EXISTS (SELECT 1 FROM orders WHERE tenant_id = $1 AND id = $2 AND user_id = $3)"
_AUTHOR = "SELECT name FROM users WHERE tenant_id = $1 AND id = $2"
_POST = """
SELECT p.user_id, t.type FROM discussion_posts p JOIN discussion_threads t ON t.tenant_id = p.tenant_id AND t.id = p.thread_id
WHERE p.tenant_id = $1 AND p.id = $2 FOR NO KEY UPDATE OF p
"""


@dataclass(frozen=True, slots=True)
class Thread:
    """Name a thread and what its posts hold: `C` comments, `R` ratings, `B` both."""

    id: int
    type: str
    object_type: str
    object_id: int


async def create_review(scope: Scope, given: Given) -> int:
    """Write a post and give its internal id.

    It is about a `product`, or an `object` of an `object_type` (`P`, `C`, `O`; `E` is the store itself), or goes into a `thread`.
    Keys: `name` (else the author's), `message`, `rating` (1 to 5), `user`; staff also `status`, `type` of a new thread,
    `ip_address`, `created_at`. A customer writes as itself, and where the store says so waits for approval.
    """
    columns = read_fields(STAFF_FIELDS if _is_staff(scope) else REVIEW_FIELDS, given)
    async with transaction(scope):
        thread = await _thread(scope, given)
        await _refuse_foreign_order(scope, thread)
        _check_content(thread, columns)
        columns["user_id"] = await _author(scope, given)
        if columns["user_id"] is not None and not columns.get("name"):
            columns["name"] = await value(_AUTHOR, scope.store.id, columns["user_id"])
        if not _is_staff(scope) and setting(scope, "reviews_need_approval"):
            columns["status"] = AWAITING
        defaults = {"ip_address": scope.client_ip, "created_at": scope.now, "updated_at": scope.now}
        post = DiscussionPost(thread_id=thread.id, **{**defaults, **columns})
        await post.save()
        post_id: int = post.id
        if _is_staff(scope):
            await audit.record(scope, "review.created", "review", post.public_id)
    return post_id


async def update_review(scope: Scope, review: object, given: Given) -> int:
    """Change a post partially and give its internal id; a customer reaches its own only."""
    columns = read_fields(STAFF_FIELDS if _is_staff(scope) else REVIEW_FIELDS, given)
    async with transaction(scope):
        post_id, thread_type = await _reach(scope, review)
        _refuse_rating(thread_type, columns)
        if not _is_staff(scope) and setting(scope, "reviews_need_approval"):
            columns["status"] = AWAITING
        await DiscussionPost.filter(id=post_id).update(**columns, updated_at=scope.now)
        if _is_staff(scope):
            await audit.record(scope, "review.updated", "review", post_id, {"fields": sorted(columns)})
    return post_id


async def delete_review(scope: Scope, review: object) -> None:
    """Remove a post; a customer reaches its own only."""
    async with transaction(scope):
        post_id, _ = await _reach(scope, review)
        if _is_staff(scope):
            await audit.record(scope, "review.deleted", "review", post_id)
        await execute(
            "DELETE FROM discussion_posts WHERE tenant_id = $1 AND id = $2", scope.store.id, post_id
        )


def _is_staff(scope: Scope) -> bool:
    return scope.actor.kind in (ActorKind.ADMIN, ActorKind.SYSTEM, ActorKind.APP)


async def _reach(scope: Scope, review: object) -> tuple[int, str]:
    post_id = await find(scope, REVIEW, review)
    found = await row(_POST, scope.store.id, post_id)
    if found is None or (not _is_staff(scope) and found["user_id"] != scope.actor.user_id):
        raise NotFound("review")
    return post_id, found["type"]


async def _author(scope: Scope, given: Given) -> int | None:
    if not _is_staff(scope):
        return scope.actor.user_id
    return await resolve_optional(scope, USER, given.get("user"), field="user")


async def _thread(scope: Scope, given: Given) -> Thread:
    """Give the thread to write into, made when it is the first post about its object."""
    if given.get("thread") is not None:
        thread_id = await resolve(scope, THREAD, given["thread"], field="thread")
        there = await row(_THREAD_THERE, scope.store.id, thread_id)
        assert there is not None  # resolved above, and threads are never removed
        return Thread(thread_id, there["type"], there["object_type"], there["object_id"])
    object_type, object_id = await _object(scope, given)
    kind = read_fields(THREAD_FIELDS, given).get("type", "B") if _is_staff(scope) else "B"
    found = await row(_THREAD, scope.store.id, uuid7(), object_type, object_id, kind)
    assert found is not None  # an upsert always returns its row
    return Thread(found["id"], found["type"], object_type, object_id)


async def _object(scope: Scope, given: Given) -> tuple[str, int]:
    if given.get("product") is not None:
        return "P", await resolve(scope, PRODUCT, given["product"], field="product")
    object_type = read_fields(THREAD_FIELDS, given).get("object_type")
    if object_type is None:
        raise ValidationFailed("object_type is required", field="object_type", code="required")
    if object_type == "E":
        return object_type, STORE_ITSELF
    if given.get("object") is None:
        raise ValidationFailed("object is required", field="object", code="required")
    if object_type not in OBJECTS:
        raise ValidationFailed(
            f"there is no object of type {object_type} to write about", field="object", code=NOT_FOUND
        )
    return object_type, await resolve(scope, OBJECTS[object_type], given.get("object"), field="object")


async def _refuse_foreign_order(scope: Scope, thread: Thread) -> None:
    """Refuse a customer who writes about somebody else's order, as if there were none."""
    if _is_staff(scope) or thread.object_type != "O":
        return
    if not await value(_OWN_ORDER, scope.store.id, thread.object_id, scope.actor.user_id):
        raise ValidationFailed("order not found", field="object", code=NOT_FOUND)


def _check_content(thread: Thread, columns: Mapping[str, Any]) -> None:
    """Refuse a post that says nothing of what its thread collects."""
    _refuse_rating(thread.type, columns)
    message, rating = columns.get("message", "").strip(), columns.get("rating")
    if thread.type == "R" and rating is None:
        raise ValidationFailed("rating is required", field="rating", code="required")
    if thread.type != "R" and not message and rating is None:
        raise ValidationFailed("message is required", field="message", code="required")


def _refuse_rating(thread_type: str, columns: Mapping[str, Any]) -> None:
    if thread_type == "C" and columns.get("rating") is not None:
        raise ValidationFailed(
            "the thread takes comments without a rating", field="rating", code="rating_invalid"
        )
