"""Which callers see images and media files, and what lists of files are filtered and sorted by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.filters import exact_second, ids, sorts
from domain.media.addresses import source_digest
from domain.visibility import RowsOfRecord, VisibleRows
from kernel.ids import Reference
from kernel.scope import ActorKind, Scope
from models.reading.queries import Condition, Entity, EntityFilter, any_of

# An image is reached only through its record, whose rows are already filtered.
IMAGES = Entity(table="media_files", visible=RowsOfRecord())


def _uploaded_by(column: str, caller: str) -> str:
    """Return the condition for the files that a caller uploaded, also where another had the same content before."""
    return (
        f"t.{column} = {caller} OR EXISTS (SELECT FROM media_files c"
        f" WHERE c.tenant_id = t.tenant_id AND c.original_id = t.id AND c.{column} = {caller})"
    )


def _is_own(scope: Scope) -> Condition:
    """Return the condition for the files that the caller made, which for staff and apps are all."""
    actor = scope.actor
    if actor.kind is ActorKind.VENDOR:
        return Condition("t.vendor_id = {}::bigint", (actor.vendor_id,))
    if actor.kind is ActorKind.CUSTOMER:
        return Condition("t.user_id = {}::bigint", (actor.user_id,))
    return Condition("true")


def own_text(column: str, others: str = "''") -> Callable[[Scope], Condition]:
    """Build the expression of what the maker of a file said of it: who uploaded the same content sees the file without that."""

    def build(scope: Scope) -> Condition:
        own = _is_own(scope)
        return Condition(f"CASE WHEN {own.sql} THEN t.{column} ELSE {others} END", own.params)

    return build


def _of_content(reference: Reference) -> Condition:
    """Return the condition for the file of an id, also where another one had its content before."""
    return Condition(
        "t.id = (SELECT coalesce(c.original_id, c.id) FROM media_files c WHERE c.tenant_id = {tenant} AND c.public_id = {})",
        (reference,),
    )


def _from_sources(value: Any) -> Condition:
    urls = value if isinstance(value, list) else [value]
    # The index has digests.
    return Condition(
        "md5(t.source_url) = ANY({}::text[]) AND t.source_url = ANY({}::text[])", ([*map(source_digest, urls)], urls)
    )


def _own_from_sources(scope: Scope, value: Any) -> Condition:
    own, sources = _is_own(scope), _from_sources(value)
    return Condition(f"{own.sql} AND {sources.sql}", (*own.params, *sources.params))


MEDIA_FILES = Entity(
    table="media_files",
    visible=VisibleRows(
        admin=("view_products", "view_catalog", "view_content", "view_marketplace", "view_users", "view_settings"),
        app="read_products",
        vendor=_uploaded_by("vendor_id", "{company}"),
        customer=_uploaded_by("user_id", "{user}"),
    ),
    base_condition="t.original_id IS NULL AND t.unused_since IS DISTINCT FROM '-infinity'",
    filters={
        "id": ids("media files"),
        "status": EntityFilter("media_status", any_of("t.status", skewed=True), "any of these statuses", many=True),
        "source_url": EntityFilter(
            "text", _from_sources, "fetched from any of these URLs", many=True, build_for=_own_from_sources
        ),
        "sha256": EntityFilter("text", any_of("t.sha256"), "with any of these contents, by their SHA-256", many=True),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts=sorts("created_at", "id"),
    id_key=_of_content,
)
