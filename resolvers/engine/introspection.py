"""Execute introspection off the event loop, and cache its results, which are the same for every caller.

The standard introspection query takes half a second: on the event loop no other request would be served meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson
from graphql import ExecutionResult, FieldNode, GraphQLSchema, OperationDefinitionNode, OperationType, execute

from kernel.cache import BoundedCache
from kernel.work_queues import WorkQueue
from resolvers.engine.executor import OffLoopExecutor
from resolvers.engine.limits import INTROSPECTION_FIELDS
from resolvers.engine.prepare import MAX_ERRORS, PreparedDocument

# Cache bounds: results (of up to a megabyte each), and the length of a document with its variables.
MAX_CACHED_RESULTS = 16
MAX_KEY_LENGTH = 20_000
_INTROSPECTIONS = WorkQueue("introspections", most_waiting=1)


def is_introspection(operation: OperationDefinitionNode) -> bool:
    """Return whether a query selects `__schema` or `__type`, and nothing else but `__typename`, without fragments at its root."""
    if operation.operation is not OperationType.QUERY:
        return False
    nodes = operation.selection_set.selections
    names = {node.name.value if isinstance(node, FieldNode) else "" for node in nodes}
    return not names.isdisjoint(INTROSPECTION_FIELDS) and names <= {*INTROSPECTION_FIELDS, "__typename"}


def _looks_up_types(operation: OperationDefinitionNode) -> bool:
    """Return whether an introspection selects leaves of types by their names alone: at most `MAX_TYPE_SELECTIONS` small objects."""
    for node in operation.selection_set.selections:
        if not isinstance(node, FieldNode) or node.name.value == "__schema":
            return False
        below = node.selection_set.selections if node.selection_set else ()
        if not all(isinstance(each, FieldNode) and each.selection_set is None for each in below):
            return False
    return True


class Introspector:
    """Execute introspection of one schema in a thread; results are cached.

    What looks up types by name is neither: clients send several at once, and it takes no time.
    """

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._results: BoundedCache[tuple[str, str, bytes], ExecutionResult] = BoundedCache(MAX_CACHED_RESULTS)

    async def execute(
        self, prepared: PreparedDocument, operation: OperationDefinitionNode, variables: Mapping[str, Any] | None
    ) -> ExecutionResult:
        """Execute the operation; the data of a result without errors is serialized JSON.

        Raises `RateLimited` when another introspection of the caller waits already.
        """
        assert prepared.document is not None
        assert prepared.document.loc is not None
        name = operation.name.value if operation.name else ""
        if _looks_up_types(operation):
            return self._execute(prepared, name or None, variables)
        text = prepared.document.loc.source.body
        key = (text, name, orjson.dumps(variables or {}, option=orjson.OPT_SORT_KEYS))

        async def execute() -> ExecutionResult:
            result = await _INTROSPECTIONS.run(partial(self._execute, prepared, name or None, variables))
            if not result.errors:
                data: Any = orjson.Fragment(orjson.dumps(result.data))
                result = ExecutionResult(data, None)
                if len(text) + len(key[2]) <= MAX_KEY_LENGTH:
                    self._results.keep(key, result)
            return result

        return await self._results.find_or_make(key, execute)

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
