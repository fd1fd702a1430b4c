"""Measure what an operation costs in a store, by the sizes of the store's lists (docs/reference/shared.md#graphql-limits)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from graphql import GraphQLSchema, OperationDefinitionNode

from kernel.cache import BoundedCache
from kernel.scope import Scope
from models.connection.database import fetchrow
from models.reading.read_statements import MAX_COUNTED
from resolvers.engine.limits import check_cost
from resolvers.engine.prepare import PreparedDocument, size_variables
from resolvers.engine.query_cost import CostCalculator, ListSize, OperationCost
from schema.pagination import MAX_PAGE_SIZE

LIFETIME = timedelta(minutes=10)
"""How long the sizes of a store's lists are kept: a list that has grown meanwhile costs too little."""
_MAX_STORES = 1_000
# The number of cached costs per document, keyed by the store and the list sizes in its variables.
_MAX_CACHED_COSTS = 100
_UNKNOWN: Mapping[str, ListSize] = MappingProxyType({})


class StoreCost(NamedTuple):
    """The cost of an operation in a store, and until when it may be used again."""

    cost: int
    expires_at: datetime


@dataclass(slots=True)
class _StoreLists:
    """The sizes of a store's lists by the SQL that counts them, as far as documents have asked for them."""

    expires_at: datetime
    sizes: dict[str, ListSize] = field(default_factory=dict)


_STORES: BoundedCache[UUID, _StoreLists] = BoundedCache(_MAX_STORES)


async def measure_cost(
    scope: Scope,
    schema: GraphQLSchema,
    prepared: PreparedDocument,
    operation: OperationDefinitionNode,
    variables: Mapping[str, Any],
) -> StoreCost:
    """Return the cost of an operation in the scope's store, in one statement at most; raise `TooComplex` for one over the limit."""
    store = _STORES.find(scope.store.public_id)
    if store is None or store.expires_at <= scope.now:
        store = _StoreLists(scope.now + LIFETIME)
        _STORES.keep(scope.store.public_id, store)
    name = operation.name.value if operation.name else None
    asked = size_variables(schema, prepared, operation, variables)
    key = (name, scope.store.public_id, store.expires_at, *asked.items())
    cost = prepared.costs.get(key)
    if cost is None:
        measured = calculate_cost(schema, prepared, operation, variables, store.sizes)
        if measured.uncounted:
            store.sizes |= await _count(scope, measured.uncounted)
            measured = calculate_cost(schema, prepared, operation, variables, store.sizes)
        check_cost(measured.fields)
        cost = measured.fields.total()
        if len(prepared.costs) >= _MAX_CACHED_COSTS:
            prepared.costs.clear()
        prepared.costs[key] = cost
    return StoreCost(cost, store.expires_at)


def calculate_cost(
    schema: GraphQLSchema,
    prepared: PreparedDocument,
    operation: OperationDefinitionNode,
    variables: Mapping[str, Any],
    sizes: Mapping[str, ListSize] = _UNKNOWN,
) -> OperationCost:
    """Return what an operation costs with these sizes of a store's lists, by default in any store.

    Sizes in variables are coerced first: `100.0` is 100.
    """
    assert prepared.scanned is not None
    scanned = prepared.scanned.operation(operation.name.value if operation.name else None)
    assert scanned is not None
    asked = size_variables(schema, prepared, operation, variables)
    return CostCalculator(schema, prepared.scanned, scanned, asked, sizes).cost()


async def _count(scope: Scope, statements: Iterable[str]) -> dict[str, ListSize]:
    counted = sorted(statements)
    row = await fetchrow(f"SELECT {', '.join([f'({sql})' for sql in counted])}", scope.store.id)
    assert row is not None
    # A parent with an unusual number of records must not keep clients from reading all others.
    return {
        sql: ListSize(min(most, MAX_PAGE_SIZE), total / max(1, parents), total if total < MAX_COUNTED else math.inf)
        for sql, (most, total, parents) in zip(counted, tuple(row), strict=True)
    }
