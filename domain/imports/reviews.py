"""Import reviews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from domain.imports.references import begin_import, find_imported_ids, store_external_ids
from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import execute, fetch, transaction
from models.numbers import take_numbers

_SUBJECTS = """
SELECT o.id, o.user_id, o.firstname,
    (SELECT l.product_id FROM order_lines l WHERE l.tenant_id = o.tenant_id AND l.order_id = o.id ORDER BY l.position LIMIT 1) AS product_id
FROM orders o WHERE o.tenant_id = $1 AND o.id = ANY($2::bigint[])
"""
_THREADS = """
INSERT INTO discussion_threads (tenant_id, public_id, object_type, object_id, type)
SELECT $1, wanted.public_id, wanted.object_type, wanted.object_id, 'B'
FROM unnest($2::uuid[], $3::text[], $4::bigint[]) AS wanted (public_id, object_type, object_id)
ON CONFLICT (tenant_id, object_type, object_id) DO NOTHING
"""
_THREAD_IDS = """
SELECT t.id, t.object_type, t.object_id FROM discussion_threads t
JOIN unnest($2::text[], $3::bigint[]) AS wanted (object_type, object_id) USING (object_type, object_id)
WHERE t.tenant_id = $1
"""
_POSTS = """
INSERT INTO discussion_posts (tenant_id, id, public_id, thread_id, user_id, name, message, rating, created_at, updated_at)
SELECT $1, d.id, d.public_id, d.thread_id, d.user_id, d.name, d.message, d.rating, d.created_at, d.updated_at
FROM jsonb_populate_recordset(NULL::discussion_posts, $2::text::jsonb) AS d
"""


async def import_reviews(scope: Scope, source: str, records: Sequence[Mapping[str, Any]]) -> int:
    """Import reviews `{external_id, order, message, rating, created_at, updated_at}`; return how many were new.

    A review is about the first product of its `order` (an external id), or about the order itself if that has no lines.
    """
    async with transaction(scope):
        unknown = await begin_import(scope, source, "review", records)
        if not unknown:
            return 0
        numbers = await take_numbers(scope, {"discussion_posts": len(unknown)})
        new = [{**row, "id": number} for row, number in zip(unknown, numbers["discussion_posts"], strict=True)]
        orders = await find_imported_ids(scope, source, "order", {row["order"] for row in new})
        subject_rows = await fetch(_SUBJECTS, scope.store.id, list(orders.values()))
        subjects = {inserted_row["id"]: inserted_row for inserted_row in subject_rows}
        subject_by_review = {row["external_id"]: _subject(subjects[orders[row["order"]]]) for row in new}
        threads = await _threads(scope, sorted(set(subject_by_review.values())))
        for row in new:
            order = subjects[orders[row["order"]]]
            row["thread_id"] = threads[subject_by_review[row["external_id"]]]
            row["user_id"], row["name"] = order["user_id"], order["firstname"]
        await execute(_POSTS, scope.store.id, orjson.dumps(new).decode())
        await store_external_ids(scope, source, "review", {row["external_id"]: row["id"] for row in new})
    return len(new)


def _subject(order: Any) -> tuple[str, int]:
    return ("O", order["id"]) if order["product_id"] is None else ("P", order["product_id"])


async def _threads(scope: Scope, subjects: list[tuple[str, int]]) -> dict[tuple[str, int], int]:
    types, object_ids = [object_type for object_type, _ in subjects], [object_id for _, object_id in subjects]
    await execute(_THREADS, scope.store.id, [uuid7() for _ in subjects], types, object_ids)
    thread_rows = await fetch(_THREAD_IDS, scope.store.id, types, object_ids)
    return {(thread["object_type"], thread["object_id"]): thread["id"] for thread in thread_rows}
