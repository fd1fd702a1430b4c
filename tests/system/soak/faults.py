"""The faults of a run, when they happen, and how long the service takes to recover."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic

import aiohttp
import orjson

from tests.system.soak.calls import TRANSIENT, Timeline
from tests.system.soak.deployment import EXTERNAL, Deployment
from tests.system.soak.model import Findings
from tests.system.soak.receiver import Receiver
from tests.system.soak.stores import Store

# From the end of a fault until reads and writes succeed three times in a row.
MAX_RECOVERY_SECONDS = 60.0
# A new web master, when its orphans have finished: the program starts twice, which takes a minute on a busy machine.
MAX_START_SECONDS = 180.0
# Until a new event arrives: a killed worker's deliveries wait for the end of their lease, 60 s (docs/reference/shared.md).
MAX_EVENT_SECONDS = 120.0
_CALM_SECONDS = 5.0
_SUCCESSES = 3
_PROBE_SECONDS = 5.0
_SLOW_SECONDS = 0.15
# After a process was killed, until HAProxy has noticed, on a machine whose cores are busy.
IN_FLIGHT_SECONDS = 1.0
NOTHING: frozenset[int] = frozenset()


async def _nothing() -> None:
    """Leave it to the service manager."""


@dataclass(frozen=True)
class Fault:
    """A fault: `begin`, `seconds` later `end`.

    Until the recovery requests may fail with the statuses in `excuses` (0: no answer); `in_flight`: only those that were under way when it
    began.
    """

    name: str
    seconds: float
    begin: Callable[[], Awaitable[None]]
    end: Callable[[], Awaitable[None]] = _nothing
    excuses: frozenset[int] = TRANSIENT
    in_flight: bool = False
    max_recovery: float = MAX_RECOVERY_SECONDS

    @property
    def accepted(self) -> str:
        """Say which failures are no findings."""
        names = [str(status) if status else "no answer" for status in sorted(self.excuses, reverse=True)]
        return f"{' or '.join(names)}{' in flight' if self.in_flight else ''}" if names else "none"


@dataclass
class FaultRecord:
    """How often a fault happened, and the seconds from its end until requests and until events got through again.

    `times` are those from its beginning until requests got through (monotonic seconds).
    """

    fault: Fault
    count: int = 0
    service: list[float] = field(default_factory=list)
    events: list[float] = field(default_factory=list)
    times: list[tuple[float, float]] = field(default_factory=list)


def faults_of(deployment: Deployment, receiver: Receiver) -> tuple[list[Fault], list[str]]:
    """Return the faults that this deployment can suffer, and why others are skipped."""
    chosen, skipped = _postgres_faults(deployment), []
    if deployment.disk.reason:
        skipped.append(f"full disk: {deployment.disk.reason}")
    else:
        chosen.append(_full_disk(deployment))
    chosen += _process_faults(deployment)
    if deployment.kind == EXTERNAL:
        chosen += _connection_faults(deployment)
    if deployment.redis is None:
        skipped.append("Redis stopped and started: redis-server is not installed")
    chosen += redis_faults(deployment)

    async def hang() -> None:
        receiver.hang()

    async def respond() -> None:
        receiver.respond()

    chosen.append(Fault("webhook receiver hangs", 12, hang, respond, excuses=NOTHING))
    return chosen, skipped


def redis_faults(deployment: Deployment) -> list[Fault]:
    """Return the faults of Redis, which no request notices."""
    redis = deployment.redis
    if redis is None:
        return []

    async def stop() -> None:
        redis.kill()

    async def freeze() -> None:
        redis.freeze()

    async def thaw() -> None:
        redis.thaw()

    return [
        Fault("Redis stopped and started", 6, stop, redis.start, excuses=NOTHING),
        Fault("Redis silent", 6, freeze, thaw, excuses=NOTHING),
    ]


def _process_faults(deployment: Deployment) -> list[Fault]:
    async def kill_web() -> None:
        # Never the oldest: its memory is measured from the warm-up to the end.
        for pid in deployment.webs[0].children()[1:][-1:]:
            os.kill(pid, signal.SIGKILL)

    async def kill_worker() -> None:
        deployment.workers[-1].kill()

    faults = [Fault("kill -9 of a web process", 3, kill_web)]
    if deployment.workers:
        faults.append(Fault("kill -9 of a worker", 3, kill_worker, excuses=NOTHING))
    return faults


def kill_master(deployment: Deployment) -> Fault:
    """Return the fault that replaces all web processes, which is done once, before memory is measured."""

    async def kill() -> None:
        deployment.webs[0].kill()

    return Fault("kill -9 of the web master", 2, kill, max_recovery=MAX_START_SECONDS)


def _postgres_faults(deployment: Deployment) -> list[Fault]:
    def stop_with(number: signal.Signals) -> Callable[[], Awaitable[None]]:
        async def stop() -> None:
            deployment.signal_postgres(number)

        return stop

    restart = deployment.restart_postgres
    return [
        Fault("PostgreSQL killed (-9)", 2, stop_with(signal.SIGKILL), restart),
        Fault("PostgreSQL restarted", 2, stop_with(signal.SIGINT), restart),
    ]


def _connection_faults(deployment: Deployment) -> list[Fault]:
    proxy = deployment.proxy

    async def slow() -> None:
        proxy.delay = _SLOW_SECONDS

    async def cut() -> None:
        proxy.cut()

    async def silence() -> None:
        proxy.silence()

    async def silence_and_cut() -> None:
        proxy.cut()
        await asyncio.sleep(0.2)
        proxy.restore()

    async def restore() -> None:
        proxy.restore()

    return [
        Fault("slow database connections", 8, slow, restore),
        Fault("cut database connections", 4, cut, restore),
        Fault("database connections cut once", 0, silence_and_cut),
        Fault("silent database connections", 8, silence, restore),
    ]


def _full_disk(deployment: Deployment) -> Fault:
    async def fill() -> None:
        deployment.disk.fill()

    async def free() -> None:
        deployment.disk.free()
        # It panics when it cannot write its log, and cannot start again before there is space.
        await asyncio.sleep(1)
        await deployment.restart_postgres()

    return Fault("full disk", 6, fill, free)


class Director:
    """Let faults happen one after another, and measure each recovery."""

    def __init__(
        self,
        deployment: Deployment,
        faults: list[Fault],
        receiver: Receiver,
        store: Store,
        timeline: Timeline,
        findings: Findings,
    ) -> None:
        self._deployment = deployment
        self._faults = faults
        self._receiver = receiver
        self._store = store
        self._timeline = timeline
        self._findings = findings
        self._price = 1_000
        self._watchers: list[asyncio.Task[None]] = []
        self.records: dict[str, FaultRecord] = {}

    async def run(self, until: float) -> None:
        """Inject faults until shortly before `until` (monotonic seconds), all once and then in any order."""
        waiting = list(self._faults)
        while True:
            fault = waiting.pop(0)
            if monotonic() + _CALM_SECONDS + fault.seconds + 3 > until:
                return
            await asyncio.sleep(_CALM_SECONDS)
            await self.inject(fault)
            waiting = waiting or random.sample(self._faults, len(self._faults))

    async def inject(self, fault: Fault) -> None:
        """Let a fault happen and wait for the recovery of requests; that of events is watched meanwhile."""
        record = self.records.setdefault(fault.name, FaultRecord(fault))
        record.count += 1
        began_at = monotonic()
        self._timeline.open(fault.excuses, fault.name)
        await fault.begin()
        if fault.in_flight:
            await asyncio.sleep(IN_FLIGHT_SECONDS)
            self._timeline.close()
        await asyncio.sleep(fault.seconds)
        ended_at = monotonic()
        await fault.end()
        recovered_at, price = await self._recover(monotonic() + fault.max_recovery)
        if not fault.in_flight:
            self._timeline.close()
        record.times.append((began_at, monotonic()))
        if recovered_at is None:
            text = f"requests failed {fault.max_recovery:.0f} s after the end of: {fault.name}"
            self._findings.add("recovery", text)
            return
        record.service.append(recovered_at - ended_at)
        self._watchers.append(asyncio.create_task(self._watch_event(fault, record, price, ended_at)))

    async def finish(self) -> None:
        """Wait for the events of all probes."""
        await asyncio.gather(*self._watchers)

    async def _recover(self, deadline: float) -> tuple[float | None, int]:
        """Return when the first of three successes in a row happened, and the price that the last of them set."""
        successes, first = 0, None
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_PROBE_SECONDS)) as session:
            while monotonic() < deadline:
                began = monotonic()
                if await self._probe(session):
                    first = first if successes else began
                    successes += 1
                    if successes == _SUCCESSES:
                        return first, self._price
                else:
                    successes = 0
                await asyncio.sleep(0.2)
        return None, 0

    async def _probe(self, session: aiohttp.ClientSession) -> bool:
        """Ask for readiness, write and read, each on a connection of its own."""
        store, base = self._store, self._deployment.base_url
        assert store.probe is not None
        self._price += 1
        path = f"{base}/api/admin/products/{store.probe.id}"
        headers = {
            **store.app,
            "X-Tenant-ID": store.model.tenant_id,
            "Connection": "close",
            "Content-Type": "application/json",
        }
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with session.get(f"{base}/health/ready", headers={"Connection": "close"}) as ready:
                if ready.status != 200:
                    return False
            async with session.put(path, data=orjson.dumps({"price_cents": self._price}), headers=headers) as written:
                if written.status != 200:
                    return False
                changed = await written.json()
            async with session.get(f"{base}/api/storefront/products/{store.probe.id}", headers=headers) as shown:
                return shown.status == 200 and (await shown.json())["price_cents"] == changed["price_cents"]
        return False

    async def _watch_event(self, fault: Fault, record: FaultRecord, price: int, ended_at: float) -> None:
        """Measure when the event of the last probe arrives; a later one shows that events flow too."""
        assert self._store.probe is not None
        deadline = monotonic() + MAX_EVENT_SECONDS
        while monotonic() < deadline:
            seen, at = self._receiver.last_prices.get(self._store.probe.id, (0, 0.0))
            if seen >= price:
                record.events.append(max(0.0, at - ended_at))
                return
            await asyncio.sleep(0.1)
        text = f"an event had not arrived {MAX_EVENT_SECONDS:.0f} s after the end of: {fault.name}"
        self._findings.add("recovery", text)
