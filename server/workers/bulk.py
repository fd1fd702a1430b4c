"""Execute bulk operations until stopped: claim one that is due, run it as its caller, end it. Any number of workers share them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from domain.bulk import operations
from domain.bulk.operations import BulkProgress, Cancelled, ClaimedOperation, ClaimLost
from domain.stores import find_store
from kernel import logging
from kernel.clock import now
from kernel.errors import DomainError, RuleViolation, TenantClosed, Unavailable
from kernel.event_loop import end_tasks, wait_at_most
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, active_scope
from kernel.store_usage import measured
from resolvers.engine.executor import graphql_error_code
from server.workers.failures import logged_failures

# Operations at once in this process: a long one doesn't keep the others waiting.
MAX_RUNNING = 2
PAUSE = 1.0
PAUSE_AFTER_FAILURE = 2.0
STOP_SECONDS = 5.0
UNEXPECTED = "an unexpected error occurred"

Run = Callable[[Scope, ClaimedOperation, BulkProgress], Awaitable[None]]
"""Execute an operation as the caller in the scope, and end it. Raises its `DomainError`, `Cancelled` or `ClaimLost`."""


class BulkWorker:
    """Execute bulk operations in this process; `runs` are the functions by kind. `run` returns after `stop`."""

    def __init__(
        self, runs: Mapping[str, Run], *, max_running: int = MAX_RUNNING, stop_seconds: float = STOP_SECONDS
    ) -> None:
        self._runs = runs
        self._max_running = max_running
        self._stop_seconds = stop_seconds
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Claim no more; current operations get a few seconds, then another worker begins them again."""
        self._stopping.set()

    async def run(self) -> None:
        """Execute operations until `stop`; database errors are logged and retried."""
        loops = [asyncio.create_task(self._repeat()) for _ in range(self._max_running)]
        await self._stopping.wait()
        await end_tasks(loops, self._stop_seconds)

    async def _repeat(self) -> None:
        while not self._stopping.is_set():
            pause = PAUSE_AFTER_FAILURE
            with logged_failures("bulk operations delayed"):
                pause = 0.0 if await self.run_next() else PAUSE
            await wait_at_most(self._stopping, pause)

    async def run_next(self) -> bool:
        """Execute a due operation; return False when there is none."""
        claimed = await operations.claim()
        if claimed is None:
            return False
        store = await find_store(claimed.store_id)
        scope = Scope(store, SYSTEM, f"bulk-{uuid7()}", now(), family="graphql")
        with active_scope(scope):
            try:
                await measured(store.id, self._execute(scope, claimed))
            except asyncio.CancelledError:
                await asyncio.shield(operations.release(scope, claimed))
                raise
            except ClaimLost:
                logging.event(
                    "bulk operation lost to another worker", level="warning", operation=str(claimed.public_id)
                )
        return True

    async def _execute(self, scope: Scope, claimed: ClaimedOperation) -> None:
        """Run a claimed operation, and end it with its error; what may succeed later is left to the next attempt."""
        progress = BulkProgress()
        try:
            await self._run_or_keep(scope, claimed, progress)
        except Cancelled:
            await operations.end(scope, claimed, "cancelled", progress)
        except Unavailable as error:
            # When the lease expires it is due again.
            logging.failure("bulk operation interrupted", error, operation=str(claimed.public_id))
        except DomainError as error:
            await operations.end(
                scope, claimed, "failed", progress, code=graphql_error_code(error), message=error.message
            )
        except ClaimLost:
            raise
        except Exception as error:
            logging.failure("bulk operation failed", error, operation=str(claimed.public_id))
            await operations.end(scope, claimed, "failed", progress, code="INTERNAL", message=UNEXPECTED)

    async def _run_or_keep(self, scope: Scope, claimed: ClaimedOperation, progress: BulkProgress) -> None:
        """Run an operation; of one that ends before its end, keep the result of the lines that took effect."""
        try:
            await self._run_as_caller(scope, claimed, progress)
        except Exception as error:
            if not isinstance(error, ClaimLost | Unavailable):
                await operations.keep_saved(scope, claimed, progress)
            raise

    async def _run_as_caller(self, scope: Scope, claimed: ClaimedOperation, progress: BulkProgress) -> None:
        if claimed.tries > operations.MAX_TRIES:
            raise RuleViolation(f"the operation was interrupted {operations.MAX_TRIES} times")
        if scope.store.status == "S":
            raise TenantClosed("tenant_suspended", "the store is suspended")
        caller = await operations.as_caller(scope, claimed)
        with active_scope(caller):
            await self._runs[claimed.kind](caller, claimed, progress)
