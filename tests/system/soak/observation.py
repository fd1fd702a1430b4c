"""Record memory and database connections over time, and decide whether memory grows.

The time since the first fault (the web master's kill) is judged; its first third is warm-up. Medians of the middle and the last third are
compared for each process that lived all that time: the director never kills the oldest web process, nor the first worker. Memory grows
when the later median is above the earlier one by more than 10 %, and by more than 8 MB; by more than 30 % where thirds are shorter than
three minutes, in which bounded caches still fill. Thirds shorter than 45 s are not judged.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

from tests.system.soak.calls import Timeline
from tests.system.soak.deployment import Deployment
from tests.system.soak.model import Findings
from tests.system.soak.processes import resident_mb

SAMPLE_SECONDS = 2.0
MAX_GROWTH = 0.10
MAX_GROWTH_OF_SHORT_RUNS = 0.30
SHORT_THIRD_SECONDS = 180.0
MIN_GROWTH_MB = 8.0
MIN_THIRD_SECONDS = 45.0
MAX_LATE_START_SECONDS = 10.0
# Connections cut by a fault may take this long to end in PostgreSQL.
_SETTLE_SECONDS = 15.0


@dataclass(frozen=True)
class Growth:
    """The medians of a process's memory in MB in the middle and the last third of a run."""

    name: str
    middle: float
    last: float
    tolerance: float

    @property
    def is_growing(self) -> bool:
        """Return whether the difference is above both tolerances."""
        return self.last - self.middle > max(MIN_GROWTH_MB, self.middle * self.tolerance)


def growth_of(name: str, samples: Sequence[tuple[float, float]], began: float, ended: float) -> Growth | None:
    """Compare the thirds of a process's samples (time, MB); None for one that did not live all that time, and for a short run."""
    third = (ended - began) / 3
    # One that replaced a killed process later fills its caches in the thirds that are compared.
    if third < MIN_THIRD_SECONDS or samples[0][0] > began + MAX_LATE_START_SECONDS:
        return None
    middle = [value for at, value in samples if began + third <= at < began + 2 * third]
    last = [value for at, value in samples if at >= began + 2 * third]
    expected = third / SAMPLE_SECONDS
    if len(middle) < expected / 2 or len(last) < expected / 2:
        return None
    tolerance = MAX_GROWTH_OF_SHORT_RUNS if third < SHORT_THIRD_SECONDS else MAX_GROWTH
    return Growth(name, statistics.median(middle), statistics.median(last), tolerance)


@dataclass
class Observation:
    """The samples of a run."""

    began: float = field(default_factory=monotonic)
    """The beginning of the time that is judged."""
    ended: float = 0.0
    memory: dict[tuple[str, int], list[tuple[float, float]]] = field(default_factory=dict)
    """Per process: time and MB."""
    connections: list[tuple[float, int]] = field(default_factory=list)

    async def run(self, deployment: Deployment, timeline: Timeline, findings: Findings) -> None:
        """Sample until cancelled; report more connections than the settings allow."""
        while True:
            now = monotonic()
            for name, pid in _processes(deployment):
                memory = resident_mb(pid)
                if memory is not None:
                    self.memory.setdefault((name, pid), []).append((now, memory))
            count = await deployment.connections()
            if count is not None:
                self.connections.append((now, count))
                if count > deployment.max_connections and not timeline.covers(now - _SETTLE_SECONDS, now):
                    findings.add("connections", f"{count} are open, at most {deployment.max_connections} are allowed")
            await asyncio.sleep(SAMPLE_SECONDS)

    def growths(self) -> list[Growth]:
        """Return the growth of each process that lived through the time that is judged."""
        growths = [
            growth_of(f"{name} ({pid})", samples, self.began, self.ended or monotonic())
            for (name, pid), samples in self.memory.items()
        ]
        return [growth for growth in growths if growth is not None]

    def check(self, findings: Findings) -> None:
        """Report growing memory, and a run that was long enough but left no web process to judge."""
        growths = self.growths()
        if (self.ended - self.began) / 3 >= MIN_THIRD_SECONDS and not any(
            each.name.startswith("web (") for each in growths
        ):
            findings.add("memory", "no web process lived long enough to be judged")
        for growth in growths:
            if growth.is_growing:
                text = f"{growth.name} grew from {growth.middle:.0f} to {growth.last:.0f} MB (medians of two thirds)"
                findings.add("memory", text)


def _processes(deployment: Deployment) -> list[tuple[str, int]]:
    processes = [(f"{service.name} master", service.pid) for service in deployment.webs]
    processes += [(service.name, service.pid) for service in deployment.workers]
    return [
        *((name, pid) for name, pid in processes if pid is not None),
        *((service.name, pid) for service in deployment.webs for pid in service.children()),
    ]
