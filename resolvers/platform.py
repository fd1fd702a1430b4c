"""The GraphQL schema of the platform's operator: what stores use, for `/graphql` of VITRINE_STORE_METRICS_PORT (docs/metrics.md).

It only reads what `vitrine tenant stats` and `limit` print, nothing of a store's records. Strawberry executes it: the engine is for what
belongs to one store.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import Any

import strawberry
from graphql import GraphQLError
from strawberry.extensions import MaxAliasesLimiter, MaxTokensLimiter, QueryDepthLimiter
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from domain import hosts, store_limits, store_usage, stores
from kernel.clock import now
from kernel.errors import ValidationFailed
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, active_scope
from resolvers.engine.executor import format_document_error, format_error
from schema.declaration import declare
from schema.introspection import restore_is_one_of
from schema.scalars import ID, SCALARS
from schema.types.platform import STORE_MEASURE, PlatformStoreObject, StoreMeasure, StoreUsageObject

MOST_STORES = 1_000


def _field(resolver: Callable[..., Any]) -> Any:
    return strawberry.field(resolver, description=resolver.__doc__)


@declare
class PlatformQueries:
    """Queries of the platform's operator."""

    @_field
    async def stores(
        self, top: int = 20, hours: int = 24, sort: StoreMeasure = StoreMeasure("cpu_seconds")
    ) -> list[StoreUsageObject]:
        """Return the stores that used most of a measure in the last `hours` (1 to 2,160), `top` of them (1 to 1,000)."""
        if not 1 <= top <= MOST_STORES:
            raise ValidationFailed(f"top must be from 1 to {MOST_STORES}", field="top")
        rows = await store_usage.sum_usage(_since(hours), sort=sort, top=top)
        return [{**row, "store_id": row["public_id"]} for row in rows]  # type: ignore[misc]

    @_field
    async def store(self, id: ID, hours: int = 24) -> PlatformStoreObject:
        """Return a store, with what it used in each of the last `hours` (1 to 2,160)."""
        since = _since(hours)
        scope = Scope(store=await stores.find_store(id), actor=SYSTEM, request_id=f"platform-{uuid7()}", now=now())
        return await _describe(scope, since)  # type: ignore[return-value]


async def _describe(scope: Scope, since: datetime) -> dict[str, Any]:
    store = scope.store
    with active_scope(scope):
        limits = await store_limits.find_limits(scope)
        hours = await store_usage.list_hours(scope, since)
    return {
        "store_id": store.public_id,
        "name": store.name,
        "status": store.status,
        "read_only": store.is_read_only,
        "hosts": [each["host"] for each in await hosts.find_hosts(scope) if each["proof"] is None],
        "limits": limits,
        "hours": hours,
    }


def _since(hours: int) -> datetime:
    if not 1 <= hours <= store_usage.MOST_HOURS:
        raise ValidationFailed(f"hours must be from 1 to {store_usage.MOST_HOURS}", field="hours")
    return now() - timedelta(hours=hours)


class _Schema(strawberry.Schema):
    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Leave the log to `format_error`."""


@lru_cache(maxsize=1)
def schema() -> strawberry.Schema:
    """Return the schema, built once."""
    built = _Schema(
        declare(type("Query", (PlatformQueries,), {}), description="What the stores of this platform use."),
        config=StrawberryConfig(
            auto_camel_case=False, default_resolver=dict.__getitem__, scalar_map=SCALARS | {StoreMeasure: STORE_MEASURE}
        ),
        extensions=[
            partial(MaxTokensLimiter, max_token_count=2_000),
            partial(MaxAliasesLimiter, max_alias_count=20),
            partial(QueryDepthLimiter, max_depth=15),
        ],
    )
    restore_is_one_of()
    return built


async def execute(document: str, variables: dict[str, Any] | None, operation: str | None) -> dict[str, Any]:
    """Execute a document; return the response of GraphQL over HTTP."""
    result = await schema().execute(document, variables, operation_name=operation)
    errors = result.errors or []
    if any(error.path is None for error in errors):
        return {"errors": [format_document_error(error, None) for error in errors]}
    return {"data": result.data} | ({"errors": [format_error(error, None) for error in errors]} if errors else {})
