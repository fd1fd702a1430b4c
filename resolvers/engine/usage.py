"""Count which root fields and deprecated fields of the public schema each app and storefront key uses.

The fields are those of a document's text, found once while it is prepared; a request adds one to a number in memory. `flush` stores the
numbers, in one statement for each store, some at a time, and adds them to the metric.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

from graphql import (
    FragmentDefinitionNode,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
)

from domain.apps.schema_usage import FieldUses, store_usage
from kernel import logging, metrics
from kernel.clock import now
from kernel.ids import uuid7
from kernel.scope import SYSTEM, ActorKind, Scope, Store
from resolvers.engine.selected_fields import selected_fields

MAX_ENTRIES = 1_000
"""The numbers of a store between two flushes in a process: of callers and sets of fields. Further ones aren't counted."""
Fields: TypeAlias = tuple[str, ...]
Caller: TypeAlias = tuple[ActorKind, int | None, int | None]
"""The kind of caller, the installation of an app, and the storefront key, also one that was sent along with a user's token."""
Counts: TypeAlias = dict[int, tuple[Store, dict[tuple[Caller, Fields], int]]]
"""The operations of each caller with the same fields, by store."""
CONCURRENT_STORES = 4
"""How many stores' numbers are stored at a time: a thousand stores' within seconds at the end of a process."""

_USES = metrics.counter(
    "vitrine_graphql_field_uses_total",
    "Operations with a root field or a deprecated field.",
    "field",
    "caller",
    "deprecated",
)


def used_fields(
    schema: GraphQLSchema, operation: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> Fields:
    """Return what a valid operation uses: root fields, and deprecated fields and arguments, as `Type.field` and `Type.field(argument:)`."""
    deprecated = deprecated_names(schema)
    root = schema.get_root_type(operation.operation)
    used: dict[str, None] = {}
    for parent, node in selected_fields(schema, operation, fragments):
        if not isinstance(parent, GraphQLObjectType | GraphQLInterfaceType) or node.name.value not in parent.fields:
            continue  # __typename
        name = f"{parent.name}.{node.name.value}"
        arguments = (f"{name}({argument.name.value}:)" for argument in node.arguments or ())
        if parent is root or name in deprecated:
            used[name] = None
        used |= dict.fromkeys(argument for argument in arguments if argument in deprecated)
    return tuple(used)


@cache
def deprecated_names(schema: GraphQLSchema) -> frozenset[str]:
    """Return the deprecated fields and arguments of the types of a schema."""
    names = set()
    for type_ in schema.type_map.values():
        if not isinstance(type_, GraphQLObjectType | GraphQLInterfaceType):
            continue
        for name, field in type_.fields.items():
            if field.deprecation_reason is not None:
                names.add(f"{type_.name}.{name}")
            arguments = (key for key, argument in field.args.items() if argument.deprecation_reason is not None)
            names.update(f"{type_.name}.{name}({key}:)" for key in arguments)
    return frozenset(names)


class UsageCounter:
    """The uses of a process since the last flush."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._deprecated = deprecated_names(schema)
        self._counts: Counts = {}

    def count(self, scope: Scope, fields: Fields) -> None:
        """Count an operation of the scope's caller that uses these fields."""
        actor, store = scope.actor, scope.store
        key_id = actor.storefront_key_id if actor.key is None else actor.key.storefront_key_id
        if not fields or actor.kind is ActorKind.ANONYMOUS:
            return
        entry = ((actor.kind, actor.installation_id, key_id), fields)
        _, counts = self._counts.get(store.id) or self._counts.setdefault(store.id, (store, {}))
        counted = counts.get(entry, 0)
        if counted or len(counts) < MAX_ENTRIES:
            counts[entry] = counted + 1

    async def flush(self) -> None:
        """Store what was counted since the last time; a cancellation keeps what isn't stored, an error is logged and loses a store's."""
        stores, self._counts = self._counts, {}

        async def store_each() -> None:
            while stores:
                store_id, (store, counts) = stores.popitem()
                try:
                    await self._store(store, counts)
                except asyncio.CancelledError:
                    stores[store_id] = store, counts
                    raise

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(CONCURRENT_STORES):
                    tasks.create_task(store_each())
        finally:
            self._put_back(stores)

    def _put_back(self, stores: Counts) -> None:
        for store_id, (store, counts) in stores.items():
            _, newer = self._counts.setdefault(store_id, (store, {}))
            for entry, count in counts.items():
                newer[entry] = newer.get(entry, 0) + count

    async def _store(self, store: Store, counts: Mapping[tuple[Caller, Fields], int]) -> None:
        uses: Counter[tuple[str, Caller]] = Counter()
        for (caller, fields), count in counts.items():
            uses.update(dict.fromkeys(((field, caller) for field in fields), count))
        rows = [
            FieldUses(field, field in self._deprecated, kind.value, installation_id, key_id, count)
            for (field, (kind, installation_id, key_id)), count in uses.items()
        ]
        scope = Scope(store=store, actor=SYSTEM, request_id=str(uuid7()), now=now(), family="system")
        try:
            await store_usage(scope, rows)
        except Exception as error:  # a count that is lost must not end the counting
            logging.failure("the use of the schema could not be stored", error)
        for row in rows:
            _USES.add(row.field, row.caller, str(row.is_deprecated).lower(), amount=row.uses)
