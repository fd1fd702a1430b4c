"""Execute introspection off the event loop, and cache its results, which are the same for every caller.

The standard introspection query takes half a second: on the event loop no other request would be served meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import orjson
from graphql import ExecutionResult, FieldNode, GraphQLSchema, OperationDefinitionNode, OperationType, execute

from schema.documents import INTROSPECTION_FIELDS, MAX_ERRORS, PreparedDocument
from schema.execution import OffLoopExecutor

# Cache bounds: results (of up to a megabyte each), and the length of variables in a key.
MAX_CACHED_RESULTS = 16
MAX_VARIABLES_LENGTH = 4096


def is_introspection(operation: OperationDefinitionNode) -> bool:
    """Return whether a query selects `__schema` or `__type`, and nothing else but `__typename`, without fragments at its root."""
    if operation.operation is not OperationType.QUERY:
        return False
    nodes = operation.selection_set.selections
    names = {node.name.value if isinstance(node, FieldNode) else "" for node in nodes}
    return not names.isdisjoint(INTROSPECTION_FIELDS) and names <= {*INTROSPECTION_FIELDS, "__typename"}


class Introspector:
    """Execute introspection of one schema in a thread, one document at a time; results are cached (LRU)."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._results: OrderedDict[tuple[int, str, bytes], tuple[PreparedDocument, bytes]] = OrderedDict()
        self._lock = asyncio.Lock()

    async def execute(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, variables: Mapping[str, Any] | None
    ) -> ExecutionResult:
        """Execute the operation; the data of a result without errors is serialized JSON."""
        name = operation.name.value if operation.name else ""
        key = (id(prepared), name, orjson.dumps(variables or {}, option=orjson.OPT_SORT_KEYS))
        async with self._lock:
            cached = self._results.get(key)
            # The entry references the document, so that its id can't be reused by another one.
            if cached is None or cached[0] is not prepared:
                result = await asyncio.to_thread(self._execute, prepared, name or None, variables)
                if result.errors:
                    return result
                cached = (prepared, orjson.dumps(result.data))
                if len(key[2]) <= MAX_VARIABLES_LENGTH:
                    self._results[key] = cached
            if key in self._results:
                self._results.move_to_end(key)
            while len(self._results) > MAX_CACHED_RESULTS:
                self._results.popitem(last=False)
        data: Any = orjson.Fragment(cached[1])
        return ExecutionResult(data, None)

    def __len__(self) -> int:
        """Return the number of cached results."""
        return len(self._results)

    def _execute(
        self, prepared: PreparedDocument, name: str | None, variables: Mapping[str, Any] | None
    ) -> ExecutionResult:
        assert prepared.document is not None
        result = execute(
            self._schema,
            prepared.document,
            variable_values=dict(variables) if variables else None,
            operation_name=name,
            max_coercion_errors=MAX_ERRORS,
            executor_class=OffLoopExecutor,
        )
        assert isinstance(result, ExecutionResult)  # no resolver of introspection is a coroutine
        return result
