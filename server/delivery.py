"""Deliver events until told to stop: hand them out, post what is due, write down what came of it. Any number of workers may.

Three loops share the work. One hands events out when PostgreSQL says that there are some (or looks, every second); one claims what is due
and posts it, many at a time; one writes outcomes down, as many as there are at once. A database that is away is waited for: outcomes are
kept meanwhile, so that what was delivered is not delivered again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from time import monotonic
from typing import Any, TypeAlias

from auth.secrets import Unreadable
from domain import events
from domain.outgoing import calls
from domain.outgoing.calls import NotAllowed, NotReached
from domain.webhooks import claims, fan_out, settling
from domain.webhooks.claims import Claimed
from domain.webhooks.envelope import EventRecord, written
from domain.webhooks.schedule import retry_after
from domain.webhooks.settling import AttemptResult, AttemptVerdict
from domain.webhooks.shapes import in_order
from kernel import logging
from kernel.clock import now
from kernel.errors import DomainError, Forbidden
from kernel.ids import request_id_from, uuid7
from models import database

# Deliveries under way in this process; endpoints that fail right now get at most half of the places.
MOST_IN_FLIGHT = 256
LONGEST_PAUSE = 1.0
SHORTEST_PAUSE = 0.02
PAUSE_AFTER_FAILURE = 1.0
# When told to stop, what is under way gets this long; the rest is given back.
STOP_SECONDS = 5.0
_SETTLED_AT_ONCE = 500
_LAST_TRIES = 3

Select: TypeAlias = Callable[[Claimed], Awaitable[Mapping[str, Any]]]
"""Make the data of a delivery whose endpoint has a query; raises `DomainError` where it may not have it."""


class Deliverer:
    """Deliver in this process; `run` returns after `stop`, with nothing half done."""

    def __init__(
        self,
        select: Select,
        *,
        lease: timedelta = claims.LEASE,
        most: int = MOST_IN_FLIGHT,
        timeout: float = calls.TIMEOUT_SECONDS,
        connect_timeout: float = calls.CONNECT_SECONDS,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self._select = select
        self._lease = lease
        self._most = most
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._stop_seconds = stop_seconds
        self._stopping = asyncio.Event()
        self._told = asyncio.Event()
        self._due = asyncio.Event()
        self._done = asyncio.Event()
        self._is_over = False
        self._outcomes: list[AttemptResult] = []
        self._under_way: dict[asyncio.Task[None], Claimed] = {}

    def stop(self) -> None:
        """Begin no more deliveries; what is under way is finished or given back."""
        self._stopping.set()
        self._told.set()
        self._due.set()

    async def run(self) -> None:
        """Deliver until `stop`; a failure of the database is survived."""
        listening = asyncio.create_task(self._listen())
        writing = asyncio.create_task(self._write_down())
        try:
            await asyncio.gather(self._keep(self._hand_out), self._keep(self._deliver))
            await self._finish()
        finally:
            listening.cancel()
            self._is_over = True
            self._done.set()
            await writing

    async def _listen(self) -> None:
        """Hear of new events; returns when the server has confirmed, and a database that is away is tried again."""
        await database.listen(events.CHANNEL, self._hear, after_gap=lambda: self._hear(""))

    def _hear(self, _: str) -> None:
        self._told.set()
        self._due.set()

    async def _keep(self, once: Callable[[], Awaitable[None]]) -> None:
        while not self._stopping.is_set():
            try:
                await once()
            except Exception as error:
                logging.failure("deliveries had to wait", error)
                await self._sleep(self._stopping, PAUSE_AFTER_FAILURE)

    # --- Handing out ---------------------------------------------------------------------------------------------------

    async def _hand_out(self) -> None:
        self._told.clear()
        if self._stopping.is_set():
            return
        count, deliveries = await fan_out.hand_out()
        if deliveries:
            self._due.set()
        if count < fan_out.AT_ONCE:
            await self._sleep(self._told, LONGEST_PAUSE)

    # --- Delivering ----------------------------------------------------------------------------------------------------

    async def _deliver(self) -> None:
        self._due.clear()
        if self._stopping.is_set():
            return
        free = self._most - len(self._under_way)
        claimed: list[Claimed] = []
        if free:
            troubled = max(1, self._most // 2 - len(self._under_way))
            claimed = await claims.claim(uuid7(), free, troubled, lease=self._lease)
        for each in claimed:
            task = asyncio.create_task(self._try(each))
            self._under_way[task] = each
            task.add_done_callback(self._forget)
        if not claimed:
            left = await claims.seconds_until_due() if free else None
            pause = LONGEST_PAUSE if left is None else min(left, LONGEST_PAUSE)
            await self._sleep(self._due, max(pause, SHORTEST_PAUSE))

    def _forget(self, task: asyncio.Task[None]) -> None:
        claimed = self._under_way.pop(task)
        if task.cancelled():
            self._tell(AttemptResult(claimed, AttemptVerdict.GIVEN_BACK, now()))
        elif (error := task.exception()) is not None:
            # Not the receiver's fault, and the next try may go better; but it has to count, or it would be tried for ever.
            logging.failure("a delivery could not be made", error, delivery=claimed.number)
            self._tell(AttemptResult(claimed, AttemptVerdict.FAILED, now(), error="it could not be made"))

    async def _try(self, claimed: Claimed) -> None:
        began, at = monotonic(), now()

        def outcome(verdict: AttemptVerdict, **how: Any) -> None:
            milliseconds = round((monotonic() - began) * 1_000)
            self._tell(AttemptResult(claimed, verdict, at, milliseconds=milliseconds, **how))

        if not claimed.is_allowed:
            return outcome(AttemptVerdict.NOT_ALLOWED)
        try:
            data = await self._data(claimed)
            post = written(_told(claimed, data), claimed.secrets(at), at)
        except Forbidden as refusal:
            return outcome(AttemptVerdict.NOT_ALLOWED, error=f"the query was refused: {refusal.message}")
        except DomainError as refusal:
            return outcome(AttemptVerdict.FAILED, error=f"the query failed: {refusal.message}")
        except Unreadable:
            return outcome(
                AttemptVerdict.FAILED, error="the app's secret was made with another VITRINE_SECRET_KEY"
            )
        try:
            answer = await calls.post(
                claimed.url,
                headers=post.headers,
                body=post.body,
                timeout=self._timeout,
                connect_timeout=self._connect_timeout,
                most=0,
            )
        except (NotAllowed, NotReached) as error:
            return outcome(AttemptVerdict.FAILED, error=str(error))
        if 200 <= answer.status < 300:
            return outcome(AttemptVerdict.TAKEN, status=answer.status)
        asked = retry_after(answer.status, answer.headers.get("retry-after"), at)
        return outcome(
            AttemptVerdict.FAILED, status=answer.status, error=f"answered {answer.status}", asked=asked
        )

    async def _data(self, claimed: Claimed) -> Mapping[str, Any]:
        if claimed.query is not None:
            return await self._select(claimed)
        return in_order(claimed.name, claimed.data)

    # --- Writing down --------------------------------------------------------------------------------------------------

    def _tell(self, outcome: AttemptResult) -> None:
        self._outcomes.append(outcome)
        self._done.set()

    async def _write_down(self) -> None:
        while not self._is_over:
            await self._done.wait()
            await self._settle_some()
        for _ in range(_LAST_TRIES):
            # What can't be written down any more is delivered again when its lease ends.
            if await self._settle_some():
                return

    async def _settle_some(self) -> bool:
        """Write down what there is; False when the database did not take it, which is kept and tried again."""
        self._done.clear()
        while self._outcomes:
            some = self._outcomes[:_SETTLED_AT_ONCE]
            try:
                await settling.settle(some)
            except Exception as error:
                logging.failure("outcomes of deliveries were not written down", error, outcomes=len(some))
                self._done.set()
                await asyncio.sleep(PAUSE_AFTER_FAILURE)
                return False
            del self._outcomes[: len(some)]
            # Their endpoints have places again.
            self._due.set()
        return True

    async def _finish(self) -> None:
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=self._stop_seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    @staticmethod
    async def _sleep(event: asyncio.Event, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass


def _told(claimed: Claimed, data: Mapping[str, Any]) -> EventRecord:
    return EventRecord(
        id=claimed.event_id,
        name=claimed.name,
        sequence=claimed.sequence,
        at=claimed.at,
        tenant_id=claimed.store,
        app_id=claimed.client_id,
        # What the importer or a job wrote may be no header.
        request_id=request_id_from(claimed.request_id),
        data=data,
    )
