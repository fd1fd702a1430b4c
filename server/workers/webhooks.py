"""Deliver webhooks until stopped: fan out events, send due deliveries, store the results. Any number of workers may run.

Three loops share the work. One fans out events on a PostgreSQL notification (or polls every second); one claims due deliveries and
sends many at a time; one stores results in batches. While the database is unavailable results are buffered, so that a delivered
webhook is not sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from time import monotonic
from typing import Any, TypeAlias

from auth.secrets import DecryptionError
from domain import events
from domain.event_types import order_keys
from domain.outgoing import calls
from domain.outgoing.calls import AddressNotAllowed, RequestFailed
from domain.webhooks import attempt_results, claims, fan_out
from domain.webhooks.attempt_results import AttemptResult, AttemptVerdict
from domain.webhooks.claims import ClaimedDelivery
from domain.webhooks.endpoint_health import retry_after
from domain.webhooks.envelope import EventRecord, build_request
from kernel import logging, metrics, tracing
from kernel.clock import now
from kernel.errors import DomainError, Forbidden
from kernel.event_loop import end_tasks, wait_at_most
from kernel.ids import uuid7
from kernel.store_usage import measured, usage_of
from models.connection import database
from server.workers.failures import logged_failures

# Concurrent deliveries of this process; failing endpoints get at most half.
MAX_IN_FLIGHT = 256
MAX_PAUSE = 1.0
MIN_PAUSE = 0.02
PAUSE_AFTER_FAILURE = 1.0
# At shutdown current deliveries get this long; the rest are released.
STOP_SECONDS = 5.0
_RESULT_BATCH_SIZE = 500
_FINAL_ATTEMPTS = 3

_ATTEMPTS = metrics.counter("vitrine_delivery_attempts_total", "Attempts to deliver a webhook, by result.", "result")
_SECONDS = metrics.histogram("vitrine_delivery_seconds", "Time of an attempt to deliver a webhook.")
_EVENTS = metrics.counter("vitrine_events_total", "Events distributed to the endpoints that subscribe to them.")
metrics.gauge("vitrine_deliveries_running", "Deliveries that are being made.", read=lambda: {(): float(_Running.count)})

SelectData: TypeAlias = Callable[[ClaimedDelivery], Awaitable[Mapping[str, Any]]]
"""Build the payload of a delivery whose endpoint has a query; raises `DomainError` when it is not allowed."""


class _Running:
    """The deliveries of this process."""

    count = 0


class WebhookWorker:
    """Deliver in this process; `run` returns after `stop`, leaving nothing half done."""

    def __init__(
        self,
        select_data: SelectData,
        *,
        lease: timedelta = claims.LEASE,
        max_in_flight: int = MAX_IN_FLIGHT,
        timeout: float = calls.TIMEOUT_SECONDS,
        connect_timeout: float = calls.CONNECT_SECONDS,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self._select_data = select_data
        self._lease = lease
        self._max_in_flight = max_in_flight
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._stop_seconds = stop_seconds
        self._stopping = asyncio.Event()
        self._events_ready = asyncio.Event()
        self._due = asyncio.Event()
        self._results_ready = asyncio.Event()
        self._is_finished = False
        self._results: list[AttemptResult] = []
        self._running: dict[asyncio.Task[None], ClaimedDelivery] = {}

    def stop(self) -> None:
        """Start no more deliveries; current ones are finished or released."""
        self._stopping.set()
        self._events_ready.set()
        self._due.set()

    async def run(self) -> None:
        """Deliver until `stop`; database errors are logged and retried."""
        listener = asyncio.create_task(self._listen())
        writer = asyncio.create_task(self._store_results())
        try:
            await asyncio.gather(self._repeat(self._fan_out), self._repeat(self._deliver))
            await end_tasks(self._running, self._stop_seconds)
        finally:
            listener.cancel()
            self._is_finished = True
            self._results_ready.set()
            await writer

    async def _listen(self) -> None:
        """Subscribe to new events, retrying until the database is available."""
        await database.listen(events.CHANNEL, self._on_notification, on_missed=lambda: self._on_notification(""))

    def _on_notification(self, _: str) -> None:
        self._events_ready.set()
        self._due.set()

    async def _repeat(self, once: Callable[[], Awaitable[None]]) -> None:
        while not self._stopping.is_set():
            is_done = False
            with logged_failures("webhook deliveries delayed"):
                await once()
                is_done = True
            if not is_done:
                await wait_at_most(self._stopping, PAUSE_AFTER_FAILURE)

    # --- Fan-out -------------------------------------------------------------------------------------------------------

    async def _fan_out(self) -> None:
        self._events_ready.clear()
        if self._stopping.is_set():
            return
        result = await fan_out.fan_out_events()
        _EVENTS.add(amount=result.events)
        if result.deliveries:
            self._due.set()
        if result.events < fan_out.BATCH_SIZE:
            # The event feed locks events for a moment while it numbers them.
            await wait_at_most(self._events_ready, MIN_PAUSE if result.has_more else MAX_PAUSE)

    # --- Delivering ----------------------------------------------------------------------------------------------------

    async def _deliver(self) -> None:
        self._due.clear()
        if self._stopping.is_set():
            return
        free = self._max_in_flight - len(self._running)
        deliveries: list[ClaimedDelivery] = []
        if free:
            max_failing = max(1, self._max_in_flight // 2 - len(self._running))
            deliveries = await claims.claim(uuid7(), free, max_failing, lease=self._lease)
        for delivery in deliveries:
            task = asyncio.create_task(measured(delivery.store_id, self._attempt(delivery)))
            self._running[task] = delivery
            _Running.count += 1
            task.add_done_callback(self._on_finished)
        if not deliveries:
            left = await claims.seconds_until_due() if free else None
            pause = MAX_PAUSE if left is None else min(left, MAX_PAUSE)
            await wait_at_most(self._due, max(pause, MIN_PAUSE))

    def _on_finished(self, task: asyncio.Task[None]) -> None:
        delivery = self._running.pop(task)
        _Running.count -= 1
        if task.cancelled():
            self._add_result(AttemptResult(delivery, AttemptVerdict.RELEASED, now()))
        elif (error := task.exception()) is not None:
            # Not the receiver's fault, but it counts as a failed attempt: otherwise it would be retried forever.
            logging.failure("webhook delivery failed unexpectedly", error, delivery=delivery.id)
            self._add_result(AttemptResult(delivery, AttemptVerdict.FAILED, now(), error="it could not be made"))

    async def _attempt(self, delivery: ClaimedDelivery) -> None:
        if tracing.active is None:
            await self._attempt_once(delivery)
            return
        attributes = {"vitrine.store": str(delivery.store_public_id), "vitrine.attempt": delivery.attempts + 1}
        with tracing.active.delivery(delivery.name, delivery.traceparent, attributes) as span:
            await self._attempt_once(delivery, span)

    async def _attempt_once(self, delivery: ClaimedDelivery, span: tracing.Span | None = None) -> None:
        started, started_at = monotonic(), now()

        def outcome(verdict: AttemptVerdict, **details: Any) -> None:
            duration_ms = round((monotonic() - started) * 1_000)
            if span is not None and verdict is not AttemptVerdict.DELIVERED:
                span.fail(str(details.get("status") or verdict.name.lower()))
            self._add_result(AttemptResult(delivery, verdict, started_at, duration_ms=duration_ms, **details))

        if not delivery.is_allowed:
            return outcome(AttemptVerdict.NOT_ALLOWED)
        try:
            data = await self._data(delivery)
            request = build_request(_event_record(delivery, data), delivery.secrets(started_at), started_at)
        except Forbidden as error:
            return outcome(AttemptVerdict.NOT_ALLOWED, error=f"the query was refused: {error.message}")
        except DomainError as error:
            return outcome(AttemptVerdict.FAILED, error=f"the query failed: {error.message}")
        except DecryptionError:
            return outcome(AttemptVerdict.FAILED, error="the app's secret was made with another VITRINE_SECRET_KEY")
        try:
            response = await calls.post(
                delivery.url,
                headers=request.headers,
                body=request.body,
                timeout=self._timeout,
                connect_timeout=self._connect_timeout,
                max_bytes=0,
            )
        except (AddressNotAllowed, RequestFailed) as error:
            return outcome(AttemptVerdict.FAILED, error=str(error))
        if 200 <= response.status < 300:
            return outcome(AttemptVerdict.DELIVERED, status=response.status)
        pause = retry_after(response.status, response.headers.get("retry-after"), started_at)
        return outcome(
            AttemptVerdict.FAILED, status=response.status, error=f"answered {response.status}", retry_after=pause
        )

    async def _data(self, delivery: ClaimedDelivery) -> Mapping[str, Any]:
        if delivery.query is not None:
            return await self._select_data(delivery)
        return order_keys(delivery.name, delivery.data)

    # --- Results -------------------------------------------------------------------------------------------------------

    def _add_result(self, outcome: AttemptResult) -> None:
        _ATTEMPTS.add(outcome.verdict.name.lower())
        usage_of(outcome.delivery.store_id).webhooks += outcome.verdict is not AttemptVerdict.RELEASED
        if outcome.duration_ms:
            _SECONDS.observe(_SECONDS.child(), outcome.duration_ms / 1_000)
        self._results.append(outcome)
        self._results_ready.set()

    async def _store_results(self) -> None:
        while not self._is_finished:
            await self._results_ready.wait()
            await self._store_batch()
        for _ in range(_FINAL_ATTEMPTS):
            # Results that can't be stored are delivered again when their lease expires.
            if await self._store_batch():
                return

    async def _store_batch(self) -> bool:
        """Store the buffered results; return False when the database failed, keeping them."""
        self._results_ready.clear()
        while self._results:
            batch = self._results[:_RESULT_BATCH_SIZE]
            is_stored = False
            with logged_failures("webhook delivery results were not stored", results=len(batch)):
                await attempt_results.store_results(batch)
                is_stored = True
            if not is_stored:
                self._results_ready.set()
                await asyncio.sleep(PAUSE_AFTER_FAILURE)
                return False
            del self._results[: len(batch)]
            # Their endpoints can take more deliveries.
            self._due.set()
        return True


def _event_record(delivery: ClaimedDelivery, data: Mapping[str, Any]) -> EventRecord:
    return EventRecord(
        id=delivery.event_id,
        name=delivery.name,
        sequence=delivery.sequence,
        at=delivery.at,
        tenant_id=delivery.store_public_id,
        app_id=delivery.client_id,
        # A request id written by the importer or a job may be no valid header.
        request_id=logging.request_id_from(delivery.request_id),
        traceparent=(tracing.active and tracing.active.traceparent()) or delivery.traceparent,
        data=data,
    )
