"""Bulk mutations: one mutation executed for each line of an uploaded file (docs/reference/bulk.md#bulk-mutations).

A batch of lines is one transaction, which also stores their results: a worker that takes over goes on after the last batch, so that no
line takes effect twice. Each line is a savepoint: a refused one changes nothing. With `is_atomic` all lines are one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic
from typing import Any

import orjson
from graphql import ExecutionResult, FieldNode, OperationDefinitionNode, OperationType

from auth.access import Access
from domain.bulk import operations
from domain.bulk.files import ResultFile
from domain.bulk.operations import BulkProgress, Cancelled, ClaimedOperation, SavedLines
from domain.bulk.uploads import MAX_LINE_BYTES, Line, read_lines, used_upload
from domain.store_limits import check_limit, find_left
from kernel.clock import now
from kernel.errors import DomainError, Forbidden, NotFound, RuleViolation, TooLarge, Unavailable, ValidationFailed
from kernel.request_bodies import MalformedBody, parse_json_object
from kernel.scope import ActorKind, Scope, active_scope
from kernel.work_queues import run_in_thread
from models.connection.database import retry_conflicts, transaction
from models.reading.bulk_reads import JSON_LINE, RECORD_LIMITS
from resolvers.bulk_queries import REPORT_SECONDS, documents, prepare_operation, query_error
from resolvers.engine.costs import calculate_cost
from resolvers.engine.executor import error_of, format_error, graphql_error_code
from resolvers.engine.limits import check_cost
from resolvers.engine.prepare import PreparedDocument, size_variables
from resolvers.engine.run import OperationExecutor
from schema.fields import ACCESS, CALLS_OUT, SECRET, strawberry_field

BATCH_LINES = 100
BATCH_BYTES = 4 * 1024 * 1024
# A batch holds its locks until it ends.
BATCH_SECONDS = 5.0
MAX_ATOMIC_LINES = 10_000
MAX_ATOMIC_BYTES = 64 * 1024 * 1024


class _Refused(Exception):
    """Roll back the savepoint of a line that was refused."""


@dataclass(frozen=True, slots=True)
class LineResult:
    """The result of a line: its JSON, and its error if it was refused; no JSON for a blank line."""

    number: int
    content: bytes
    error: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class BulkMutation:
    """A mutation that is executed for each line."""

    prepared: PreparedDocument
    operation: OperationDefinitionNode

    async def execute_line(self, scope: Scope, line: Line) -> LineResult:
        """Execute the mutation with the variables of a line, in a savepoint of the open transaction.

        Raise `Unavailable` when the batch has to be repeated.
        """
        if line.content is not None and not line.content.strip():
            return LineResult(line.number, b"")
        try:
            variables = _variables(line)
            self._check_sizes(variables)
        except DomainError as error:
            code = graphql_error_code(error)
            return _result(line, {"errors": [{"message": error.message, "extensions": {"code": code}}]})
        result = await self._execute(scope, variables)
        for failure in result.errors or ():
            cause = error_of(failure)
            if isinstance(cause, Unavailable):
                raise cause
        if result.errors:
            return _result(line, {"errors": [format_error(error, scope) for error in result.errors]})
        return _result(line, {"data": result.data})

    def _check_sizes(self, variables: Mapping[str, Any]) -> None:
        """Raise `TooComplex` for sizes of lists in variables with which the document is over the limit."""
        schema = documents().schema
        if size_variables(schema, self.prepared, self.operation, variables):
            check_cost(calculate_cost(schema, self.prepared, self.operation, variables).fields)

    async def _execute(self, scope: Scope, variables: Mapping[str, Any]) -> ExecutionResult:
        result = ExecutionResult(None, None)
        try:
            async with transaction(scope):
                result = await _executor().execute(scope, self.prepared, self.operation, variables)
                if result.errors:
                    raise _Refused
        except _Refused:
            pass
        return result


def check_may_mutate(scope: Scope) -> None:
    """Raise `Forbidden` for a caller who may execute no mutation in bulk, but for those that every administrator or app may."""
    root = documents().schema.mutation_type
    assert root is not None
    for name, field in root.fields.items():
        declared = strawberry_field(field)
        if declared is None or not _is_for_bulk(name, declared.metadata):
            continue
        access: Access = declared.metadata[ACCESS]
        own_rule: Mapping[ActorKind, object] = {ActorKind.ADMIN: access.privileges, ActorKind.APP: access.app_scope}
        if own_rule.get(scope.actor.kind, True):
            with suppress(DomainError):
                access.check(scope)
                return
    raise Forbidden("the caller may execute no mutation in bulk")


def _is_for_bulk(name: str, metadata: Mapping[Any, Any]) -> bool:
    # What signs in, returns a secret or calls other servers has effects outside of the transaction.
    access: Access = metadata[ACCESS]
    is_outward = access.user_only or access.anonymous or metadata[SECRET] or metadata[CALLS_OUT]
    return not (is_outward or name.startswith("bulk_"))


async def parse_mutation(scope: Scope, text: str) -> BulkMutation:
    """Return the mutation of a document that can be executed in bulk.

    Raise `ValidationFailed` for the field `mutation`, and the error of a caller who may not execute it.
    """
    prepared, operation = await prepare_operation(text, OperationType.MUTATION)
    selections = operation.selection_set.selections
    if len(selections) != 1 or not isinstance(selections[0], FieldNode):
        raise query_error("a bulk mutation has one root field", field="mutation")
    if not operation.variable_definitions:
        raise query_error("a bulk mutation has variables, of which each line has the values", field="mutation")
    name = selections[0].name.value
    root = documents().schema.mutation_type
    field = root.fields.get(name) if root is not None else None
    declared = strawberry_field(field) if field is not None else None
    if declared is None or not _is_for_bulk(name, declared.metadata):
        raise query_error(f"{name} can't be executed in bulk", field="mutation")
    access: Access = declared.metadata[ACCESS]
    access.check(scope)
    return BulkMutation(prepared, operation)


async def run(scope: Scope, operation: ClaimedOperation, progress: BulkProgress) -> None:
    """Execute a bulk mutation as the caller in the scope: all lines that are not done, then its result.

    Raise the `DomainError` that stops it, `Cancelled`, or `ClaimLost`.
    """
    mutation = await parse_mutation(scope, operation.document)
    if operation.upload is None:
        raise NotFound("upload")
    async with used_upload(scope, operation.upload, operation.claim) as (path, load):
        await operations.with_lease(scope, operation, progress, load())
        if operation.is_atomic:
            await retry_conflicts(partial(_run_atomically, scope, operation, mutation, path, progress))
        else:
            await _run_by_line(scope, operation, mutation, path, progress)


async def _run_by_line(
    scope: Scope, operation: ClaimedOperation, mutation: BulkMutation, path: Path, progress: BulkProgress
) -> None:
    await _run_in_batches(scope, operation, mutation, path, progress)
    await operations.write_saved(scope, operation, progress)
    async with transaction(scope):
        await operations.end(scope, operation, "completed", progress)
        await operations.delete_results(scope, operation)


# --- In batches -------------------------------------------------------------------------------------------------------


async def _run_in_batches(
    scope: Scope, operation: ClaimedOperation, mutation: BulkMutation, path: Path, progress: BulkProgress
) -> None:
    done, offset, saved = await operations.saved_progress(scope, operation)
    progress.object_count, progress.error_count = saved.object_count, saved.error_count
    if operation.state == "cancelling":
        raise Cancelled
    while lines := await _read(path, done, offset):
        await operations.check_rights(scope, operation)
        at = replace(scope, now=now())
        with active_scope(at):
            batch, goes_on = await retry_conflicts(partial(_run_batch, at, operation, mutation, lines))
        done, offset = done + batch.lines, batch.next_offset
        progress.object_count += batch.results
        progress.error_count += batch.errors
        if not goes_on:
            raise Cancelled


async def _run_batch(
    scope: Scope, operation: ClaimedOperation, mutation: BulkMutation, lines: list[Line]
) -> tuple[SavedLines, bool]:
    """Execute lines and store their results in one transaction; return what was done, and whether to go on."""
    started, size = monotonic(), 0
    results: list[LineResult] = []
    async with transaction(scope):
        await check_limit(scope, "bulk_rows_per_day", len(lines))
        for line in lines:
            results.append(await mutation.execute_line(scope, line))
            size += len(results[-1].content)
            if size >= BATCH_BYTES or monotonic() - started >= BATCH_SECONDS:
                break
        saved = SavedLines(
            lines[0].number,
            len(results),
            sum(bool(result.content) for result in results),
            sum(bool(result.error) for result in results),
            lines[len(results) - 1].next_offset,
            b"".join([result.content for result in results]),
        )
        return saved, await operations.save_results(scope, operation, saved)


# --- All or nothing ---------------------------------------------------------------------------------------------------


async def _run_atomically(
    scope: Scope, operation: ClaimedOperation, mutation: BulkMutation, path: Path, progress: BulkProgress
) -> None:
    """Execute all lines and end the operation in one transaction; raise the error of the first line that is refused."""
    file = ResultFile(scope.store.public_id, operation.public_id, operation.claim)
    progress.object_count = 0
    await operations.report(scope, operation, progress)
    left = await find_left(scope, "bulk_rows_per_day")
    done, offset, reported_at = 0, 0, monotonic()
    try:
        async with transaction(scope):
            while lines := await _read(path, done, offset):
                for line in lines:
                    result = await mutation.execute_line(scope, line)
                    if result.error:
                        progress.error_count = 1
                        raise RuleViolation(f"line {line.number}: {result.error}", reason=result.code.lower())
                    progress.object_count += bool(result.content)
                    _check_left(left, progress)
                    await file.write(result.content)
                    if monotonic() - reported_at >= REPORT_SECONDS:
                        await operations.report(scope, operation, progress)
                        await operations.check_rights(scope, operation)
                        reported_at = monotonic()
                done, offset = lines[-1].number, lines[-1].next_offset
                if done > MAX_ATOMIC_LINES or file.size > MAX_ATOMIC_BYTES:
                    raise TooLarge(f"all or nothing is for at most {MAX_ATOMIC_LINES} lines")
            # Before the transaction ends, since there is a result exactly when the lines took effect; its size is limited.
            await operations.with_lease(scope, operation, progress, file.complete())
            progress.file_size = file.size
            await operations.end(scope, operation, "completed", progress)
    except BaseException:
        progress.object_count = 0
        raise
    finally:
        await file.discard()


def _check_left(left: int | None, progress: BulkProgress) -> None:
    if left is not None and progress.object_count > left:
        message = f"the file has more lines than the {left} that are left of the limit bulk_rows_per_day of the store"
        raise RuleViolation(message, reason="store_limit_reached")


# --- Lines ------------------------------------------------------------------------------------------------------------


async def _read(path: Path, done: int, offset: int) -> list[Line]:
    try:
        return await run_in_thread(read_lines, path, done, offset, count=BATCH_LINES, size=BATCH_BYTES)
    except OSError as error:
        raise NotFound("upload") from error


def _variables(line: Line) -> dict[str, Any]:
    """Return the variables of a line; raise `TooLarge` and `ValidationFailed`, which name the line."""
    if line.content is None:
        raise TooLarge(f"line {line.number} is longer than {MAX_LINE_BYTES} bytes")
    try:
        return parse_json_object(line.content)
    except MalformedBody as error:
        raise ValidationFailed(f"line {line.number}: {str(error).replace('the body', 'the line')}") from error


def _result(line: Line, content: dict[str, Any]) -> LineResult:
    first = content["errors"][0] if "errors" in content else None
    return LineResult(
        line.number,
        orjson.dumps({"line": line.number, **content}, option=JSON_LINE),
        first["message"] if first is not None else "",
        first["extensions"]["code"] if first is not None else "",
    )


@lru_cache(maxsize=1)
def _executor() -> OperationExecutor:
    return OperationExecutor(documents().schema, public=True, limits=RECORD_LIMITS)
