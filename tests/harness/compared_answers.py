"""Let the executor complete the results of compiled mutations once more, and compare the answers."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import orjson
import pytest

from resolvers.engine.compile import MutationPlan
from resolvers.engine.complete import ResultBuilder
from resolvers.engine.executor import ExecutionContext, Outcome, ReadRecord, execute_document, format_error
from resolvers.engine.run import OperationExecutor

_FORMAT = orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS
_result: ContextVar[list[Any] | None] = ContextVar("vitrine_result", default=None)


def compare_answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Compare the answers of mutations from now on, except changed records; return those that differ."""
    different: list[str] = []
    execute, build, run = OperationExecutor._execute, ResultBuilder.build, MutationPlan.run

    async def recorded_build(self: ResultBuilder, scope: Any, result: Any) -> Any:
        results = _result.get()
        if results is not None:
            results.append(result)
        return await build(self, scope, result)

    async def linked_run(self: MutationPlan, context: ExecutionContext, variables: Any) -> Any:
        answer = await run(self, context, variables)
        for link in context.links:
            link()
        return answer

    async def compared(self: Any, scope: Any, prepared: Any, operation: Any, variables: Any, *root: Any) -> Any:
        results: list[Any] = []
        token = _result.set(results)
        try:
            answer = await execute(self, scope, prepared, operation, variables, *root)
        finally:
            _result.reset(token)
        if operation.operation.value != "mutation" or len(results) != 1 or _has_record(results[0]):
            return answer
        context = ExecutionContext(scope, public=self._public, outcome=Outcome(results[0]))
        name = operation.name.value if operation.name else None
        with self._limited():
            expected = await execute_document(self._schema, prepared, context, variables, name)
        field = operation.selection_set.selections[0].name.value
        if _shown(answer) != _shown(expected):
            different.append(f"{field}: {_shown(answer)!r} instead of {_shown(expected)!r}")
        return answer

    monkeypatch.setattr(MutationPlan, "run", linked_run)
    monkeypatch.setattr(ResultBuilder, "build", recorded_build)
    monkeypatch.setattr(OperationExecutor, "_execute", compared)
    return different


def _has_record(result: Any) -> bool:
    """Return whether a result holds a record that a compiled reader has read, and that the executor can't complete."""
    members = result.values() if isinstance(result, dict) else ()
    return any(isinstance(value, ReadRecord) for value in (result, *members))


def _shown(answer: Any) -> bytes:
    """Return data and errors as a client gets them, in their order."""
    errors = [format_error(error, None) for error in answer.errors or ()]
    return orjson.dumps({"data": answer.data, "errors": errors}, option=_FORMAT)
