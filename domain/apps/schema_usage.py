"""The use of the GraphQL schema: how often each app and storefront key used a root field or a deprecated field, and when last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from domain.apps.read import ADMINISTRATORS
from domain.filters import exact, ids, optional_references, sorts
from kernel.scope import Scope, active_scope
from models.connection.database import execute
from models.reading.queries import Entity, Sort
from models.rows import json_text

RETENTION = timedelta(days=90)
"""After its last use a row is deleted (`domain.retention`)."""

SCHEMA_USAGE = Entity(
    table="schema_usage",
    visible=ADMINISTRATORS,
    filters={
        "id": ids("entries"),
        **exact("text", field="any of these fields, such as `Query.products`", caller="any of these kinds of caller"),
        **exact("boolean", is_deprecated="of deprecated fields"),
        "installed_app_id": optional_references(
            "app_installations", "by any of these apps; 0 means by none", column="t.installation_id"
        ),
        "storefront_key_id": optional_references(
            "storefront_keys", "with any of these keys; 0 means without one", column="t.storefront_key_id"
        ),
    },
    sorts={
        **sorts("field"),
        "uses": Sort("t.uses", "bigint", "uses"),
        "last_used_at": Sort("t.last_used_at", "timestamptz", "last used at"),
        **sorts("id"),
    },
    default_sort="-uses",
)

# The caller may be deleted since, and the store may have moved. In one order, so that processes don't wait for each other in a circle.
_STORE = """
INSERT INTO schema_usage AS u (
    tenant_id, public_id, field, is_deprecated, caller, installation_id, storefront_key_id, uses, first_used_at, last_used_at
)
SELECT $1, vitrine_uuid7(), r.field, r.is_deprecated, r.caller, r.installation_id, r.storefront_key_id, r.uses, $3, $3
FROM jsonb_to_recordset($2::text::jsonb) AS r (
    field text, is_deprecated boolean, caller text, installation_id bigint, storefront_key_id bigint, uses bigint
)
WHERE (r.installation_id IS NULL
        OR EXISTS (SELECT FROM app_installations i WHERE i.tenant_id = $1 AND i.id = r.installation_id))
    AND (r.storefront_key_id IS NULL
        OR EXISTS (SELECT FROM storefront_keys k WHERE k.tenant_id = $1 AND k.id = r.storefront_key_id))
    AND EXISTS (SELECT FROM tenants s WHERE s.id = $1 AND NOT s.is_read_only)
ORDER BY r.field, r.caller, r.installation_id, r.storefront_key_id
ON CONFLICT (tenant_id, field, caller, installation_id, storefront_key_id) DO UPDATE
SET uses = u.uses + excluded.uses, is_deprecated = excluded.is_deprecated,
    last_used_at = greatest(u.last_used_at, excluded.last_used_at)
"""


@dataclass(frozen=True, slots=True)
class FieldUses:
    """How often a caller used a field."""

    field: str
    is_deprecated: bool
    caller: str
    installation_id: int | None
    storefront_key_id: int | None
    uses: int


async def store_usage(scope: Scope, rows: Sequence[FieldUses]) -> None:
    """Add uses to those stored, in one statement. A store that moves elsewhere takes none."""
    if not rows or scope.store.is_read_only:
        return
    with active_scope(scope):
        await execute(_STORE, scope.store.id, json_text([asdict(row) for row in rows]), scope.now)
