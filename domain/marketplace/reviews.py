"""Reviews and comments: one thread per subject, created with its first post (docs/reference/legacy.md#discussions)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.catalog.listing import OPEN_RECORDS
from domain.media.images import read_image, resolve_rows
from domain.store_settings import setting
from kernel.codes import DISCUSSION_OBJECT_TYPES, DISCUSSION_TYPES, SWITCH_STATUSES, CodeTable
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import (
    FieldErrors,
    InputField,
    InputValues,
    check_count,
    code_in,
    integer,
    raise_field_errors,
    read_fields,
    short_text,
    text,
    timestamp,
)
from kernel.ids import uuid7
from kernel.scope import STAFF_OR_APP, Scope
from models import audit
from models.connection.database import fetch, fetchrow, fetchval, transaction
from models.numbers import take_number
from models.references import (
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
    reject_missing,
    resolve,
    resolve_optional,
)
from models.rows import delete_rows, insert_row, insert_rows, update_row

REVIEW_STATUSES = CodeTable("status", {**SWITCH_STATUSES.labels, "P": ("pending",)})
PENDING = "P"
STORE_OBJECT_ID = 0
MAX_IMAGES = 10

# The subjects of a thread; the store itself (`E`, testimonials) has no record to look up.
SUBJECT_TYPES: Mapping[str, ReferenceType] = {"P": PRODUCT, "C": CATEGORY, "A": PAGE, "O": ORDER}

REVIEW_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", short_text),
    "message": InputField("message", text(20_000)),
    "rating": InputField("rating", integer(1, 5, nullable=True), code="rating_invalid"),
}
# Fields that only staff may set.
STAFF_FIELDS: Mapping[str, InputField] = {
    **REVIEW_FIELDS,
    "status": InputField("status", code_in(REVIEW_STATUSES), code="status_invalid"),
    "ip_address": InputField("ip_address", short_text),
    "created_at": InputField("created_at", timestamp),
}
THREAD_FIELDS: Mapping[str, InputField] = {
    "object_type": InputField("object_type", code_in(DISCUSSION_OBJECT_TYPES), code="object_type_invalid"),
    "type": InputField("type", code_in(DISCUSSION_TYPES), code="type_invalid"),
}

# Without an attempt to insert an existing thread, which would lock the counter of threads. One that was inserted since the statement
# began is updated without effect, because RETURNING then returns it.
_UPSERT_THREAD = """
WITH existing AS (
    SELECT id, type FROM discussion_threads WHERE tenant_id = $1 AND object_type = $3 AND object_id = $4
), inserted AS (
    INSERT INTO discussion_threads (tenant_id, public_id, object_type, object_id, type)
    SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (SELECT FROM existing)
    ON CONFLICT (tenant_id, object_type, object_id) DO UPDATE SET object_type = excluded.object_type
    RETURNING id, type
)
SELECT id, type FROM existing UNION ALL SELECT id, type FROM inserted
"""
_THREAD_BY_ID = "SELECT type, object_type, object_id FROM discussion_threads WHERE tenant_id = $1 AND id = $2"
# What a customer may review, by table: what shoppers open, and its own orders.
_REVIEWABLE = {**OPEN_RECORDS, "orders": "t.user_id = $3"}
_IS_REVIEWABLE = """
SELECT EXISTS (
    SELECT FROM {table} t WHERE t.tenant_id = $1 AND t.id = $2 AND t.deleted_at IS NULL AND $3::bigint IS NOT NULL AND {condition}
)
"""
# The newest one: of before reviews were unique, and of imported ones, there may be several.
_OWN_POST = """
SELECT id FROM discussion_posts WHERE tenant_id = $1 AND thread_id = $2 AND user_id = $3 ORDER BY id DESC LIMIT 1 FOR NO KEY UPDATE
"""
# Unlike DO NOTHING it returns the id.
_RETURN_OWN_POST = (
    "ON CONFLICT (tenant_id, thread_id, user_id) WHERE one_per_user DO UPDATE SET thread_id = excluded.thread_id"
)
_AUTHOR = "SELECT name FROM users WHERE tenant_id = $1 AND id = $2"
_IMAGES = """
SELECT position, image_url, image_alt, media_id FROM review_images WHERE tenant_id = $1 AND post_id = $2 ORDER BY position, id
"""
_POST = """
SELECT p.user_id, t.type FROM discussion_posts p JOIN discussion_threads t ON t.tenant_id = p.tenant_id AND t.id = p.thread_id
WHERE p.tenant_id = $1 AND p.id = $2 FOR NO KEY UPDATE OF p
"""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread and the type of its posts: `C` comments, `R` ratings, `B` both."""

    id: int
    type: str
    object_type: str
    object_id: int


async def create_review(scope: Scope, values: InputValues) -> int:
    """Create a post and return its internal id; a user's second review of a product changes the first instead.

    It is about a `product`, or an `object` of an `object_type` (`P`, `C`, `A`, `O`; `E` is the store itself), or goes into a `thread`.
    Keys: `name` (default: the author's), `message`, `rating` (1 to 5), `user`; for staff also `status`, `type` of a new thread,
    `ip_address`, `created_at`; `images`, of customers only uploaded files. A customer is always the author, and its post waits for
    approval if the store requires it.
    """
    columns = read_fields(STAFF_FIELDS if _is_staff(scope) else REVIEW_FIELDS, values)
    async with transaction(scope):
        thread = await _thread(scope, values)
        await _check_subject(scope, thread, values)
        if scope.family != "legacy":
            _check_content(thread, columns)
        else:
            _check_rating(thread.type, columns)  # CS-Cart takes posts without content
        author = await _author(scope, values)
        one_per_user = author is not None and thread.object_type == "P" and thread.type != "C"
        if one_per_user and (own := await fetchval(_OWN_POST, scope.store.id, thread.id, author)):
            return await _change(scope, own, columns, values)
        if author is not None and not columns.get("name"):
            columns["name"] = await fetchval(_AUTHOR, scope.store.id, author)
        return await _insert(scope, columns, values, thread_id=thread.id, user_id=author, one_per_user=one_per_user)


async def update_review(scope: Scope, review: object, values: InputValues) -> int:
    """Update a post partially and return its internal id; a customer can update only its own."""
    columns = read_fields(STAFF_FIELDS if _is_staff(scope) else REVIEW_FIELDS, values)
    async with transaction(scope):
        post_id, thread_type = await _find_editable(scope, review)
        _check_rating(thread_type, columns)
        return await _change(scope, post_id, columns, values)


async def delete_review(scope: Scope, review: object) -> None:
    """Delete a post; a customer can delete only its own."""
    async with transaction(scope):
        post_id, _ = await _find_editable(scope, review)
        if _is_staff(scope):
            await audit.record(scope, "review.deleted", "review", post_id)
        await delete_rows(scope, "discussion_posts", id=post_id)


async def _insert(scope: Scope, columns: Mapping[str, Any], values: InputValues, **place: Any) -> int:
    """Insert a post and return its id, or change the review that the user has written at the same time, and return that one's."""
    row = {"ip_address": scope.client_ip, "created_at": scope.now, "updated_at": scope.now, **columns, **place}
    if not _is_staff(scope) and setting(scope, "reviews_need_approval"):
        row["status"] = PENDING
    number, public_id = await take_number(scope, "discussion_posts"), uuid7()
    post_id: int = await insert_row(
        scope, "discussion_posts", id=number, public_id=public_id, **row, conflict=_RETURN_OWN_POST
    )
    if post_id != number:
        return await _change(scope, post_id, columns, values)
    await _replace_images(scope, post_id, values)
    if _is_staff(scope):
        await audit.record(scope, "review.created", "review", public_id)
    return post_id


async def _change(scope: Scope, post_id: int, columns: Mapping[str, Any], values: InputValues) -> int:
    """Change a post, and return its id; what a customer changed may have to be approved again."""
    has_other_images = await _replace_images(scope, post_id, values)
    if await update_row(scope, "discussion_posts", post_id, touch=has_other_images, **columns, updated_at=scope.now):
        if _is_staff(scope):
            await audit.record_update(scope, "review", post_id, columns)
        elif setting(scope, "reviews_need_approval"):
            await update_row(scope, "discussion_posts", post_id, status=PENDING)
    return post_id


async def _replace_images(scope: Scope, post_id: int, values: InputValues) -> bool:
    """Replace the pictures of a post by those of the input, if it has them; return whether they were others."""
    if values.get("images") is None:
        return False
    check_count(values["images"], MAX_IMAGES, "images", field="images")
    rows: list[dict[str, Any]] = []
    errors: FieldErrors = {}
    for image in values["images"]:
        columns, wrong = read_image({"images": image}, "images")
        rows.append(columns)
        errors |= wrong
    raise_field_errors(errors)
    stored = await fetch(_IMAGES, scope.store.id, post_id)
    refused = await resolve_rows(scope, rows)
    raise_field_errors({f"images.{name}": error for name, error in refused.values()})
    texts = {row["image_url"]: row["image_alt"] for row in stored}
    for image, row in zip(values["images"], rows, strict=True):
        if "alt" not in image:
            row["image_alt"] = texts.get(row["image_url"], "")
    wanted = [{"position": position, **row} for position, row in enumerate(rows)]
    if [dict(row) for row in stored] == wanted:
        return False
    await delete_rows(scope, "review_images", post_id=post_id)
    await insert_rows(scope, "review_images", [{"post_id": post_id, **row} for row in wanted])
    return True


def _is_staff(scope: Scope) -> bool:
    return scope.actor.kind in STAFF_OR_APP


async def _find_editable(scope: Scope, review: object) -> tuple[int, str]:
    post_id = await find(scope, REVIEW, review)
    row = await fetchrow(_POST, scope.store.id, post_id)
    if row is None or (not _is_staff(scope) and row["user_id"] != scope.actor.user_id):
        raise NotFound("review")
    return post_id, row["type"]


async def _author(scope: Scope, values: InputValues) -> int | None:
    if not _is_staff(scope):
        return scope.actor.user_id
    return await resolve_optional(scope, USER, values.get("user"), field="user")


async def _thread(scope: Scope, values: InputValues) -> Thread:
    """Return the thread to post in, created for the first post about its subject."""
    if values.get("thread") is not None:
        thread_id = await resolve(scope, THREAD, values["thread"], field="thread")
        row = await fetchrow(_THREAD_BY_ID, scope.store.id, thread_id)
        assert row is not None  # resolved above, and threads are never deleted
        return Thread(thread_id, row["type"], row["object_type"], row["object_id"])
    object_type, object_id = await _object(scope, values)
    thread_type = read_fields(THREAD_FIELDS, values).get("type", "B") if _is_staff(scope) else "B"
    row = await fetchrow(_UPSERT_THREAD, scope.store.id, uuid7(), object_type, object_id, thread_type)
    assert row is not None  # an upsert always returns its row
    return Thread(row["id"], row["type"], object_type, object_id)


async def _object(scope: Scope, values: InputValues) -> tuple[str, int]:
    if values.get("product") is not None:
        return "P", await resolve(scope, PRODUCT, values["product"], field="product")
    object_type = read_fields(THREAD_FIELDS, values).get("object_type")
    if object_type is None:
        raise ValidationFailed("object_type is required", field="object_type", code="required")
    if object_type == "E":
        return object_type, STORE_OBJECT_ID
    if values.get("object") is None:
        raise ValidationFailed("object is required", field="object", code="required")
    if object_type not in SUBJECT_TYPES:
        raise ValidationFailed(
            f"there is no object of type {object_type} to write about", field="object", code=NOT_FOUND
        )
    return object_type, await resolve(scope, SUBJECT_TYPES[object_type], values.get("object"), field="object")


async def _check_subject(scope: Scope, thread: Thread, values: InputValues) -> None:
    """Refuse a customer's review of what it can't open, or of another customer's order, as if it didn't exist."""
    subject = SUBJECT_TYPES.get(thread.object_type)
    if _is_staff(scope) or subject is None:
        return
    sql = _IS_REVIEWABLE.format(table=subject.table, condition=_REVIEWABLE[subject.table])
    if await fetchval(sql, scope.store.id, thread.object_id, scope.actor.user_id):
        return
    types = {"thread": THREAD, "product": PRODUCT, "object": subject}
    field = next(name for name in types if values.get(name) is not None)
    reject_missing(types[field], [values[field]], field=field)


def _check_content(thread: Thread, columns: Mapping[str, Any]) -> None:
    """Refuse a post without the content that its thread requires."""
    _check_rating(thread.type, columns)
    message, rating = columns.get("message", "").strip(), columns.get("rating")
    if thread.type == "R" and rating is None:
        raise ValidationFailed("rating is required", field="rating", code="required")
    if thread.type != "R" and not message and rating is None:
        raise ValidationFailed("message is required", field="message", code="required")


def _check_rating(thread_type: str, columns: Mapping[str, Any]) -> None:
    if thread_type == "C" and columns.get("rating") is not None:
        raise ValidationFailed("the thread takes comments without a rating", field="rating", code="rating_invalid")
