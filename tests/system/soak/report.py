"""Write the report of a deployment's run, and keep it when asked."""

from __future__ import annotations

import io
import os
import statistics
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from bench import machine
from tests.system.installed_postgres import VARIABLE
from tests.system.soak.calls import Tally
from tests.system.soak.deployment import Deployment
from tests.system.soak.faults import FaultRecord
from tests.system.soak.model import Findings, StoreModel
from tests.system.soak.observation import Observation

_COLUMNS = 8


@contextmanager
def copied_output() -> Iterator[io.StringIO]:
    """Yield what is printed inside the block, which is printed all the same."""
    copy = io.StringIO()

    class Both(io.TextIOBase):
        def write(self, text: str) -> int:
            copy.write(text)
            return shown.write(text)

        def flush(self) -> None:
            shown.flush()

    shown = sys.stdout
    with redirect_stdout(Both()):
        yield copy


def keep(folder: Path, kind: str, minutes: float, output: str) -> Path:
    """Save the output of a run with what is known of the machine; return its path."""
    about = machine.description()
    path = folder / f"{datetime.now(UTC):%Y-%m-%dT%H%M}-{about['commit'].removesuffix('+changes')}-{kind}.md"
    lines = [
        f"# {kind.capitalize()} of {minutes:g} minutes",
        "",
        *(f"* {name}: {value}" for name, value in about.items()),
        f"* PostgreSQL: {os.environ.get(VARIABLE, 'the embedded one')}",
        "",
        "```text",
        output.rstrip(),
        "```",
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def lines_of(
    deployment: Deployment,
    seconds: float,
    tally: Tally,
    stores: Sequence[StoreModel],
    records: Mapping[str, FaultRecord],
    observation: Observation,
    findings: Findings,
) -> list[str]:
    """Return the report as lines."""
    purchases = [purchase for store in stores for purchase in store.purchases.values()]
    placed = sum(purchase.status is not None for purchase in purchases)
    refused = sum(purchase.is_refused for purchase in purchases)
    pictures = sum(len(store.pictures) for store in stores)
    events = sum(store.received_events.total() for store in stores)
    distinct = sum(len(sequences) for store in stores for sequences in store.sequences.values())
    return [
        f"{deployment.kind}: {tally.total:,} requests in {seconds:.0f} s ({tally.total / seconds:.0f} a second),"
        f" {tally.retries:,} retries, {tally.replays:,} replays, slowest answer {tally.slowest:.1f} s",
        *_answers(tally),
        f"  orders {placed:,} placed, {refused:,} refused for want of stock, in {len(stores)} stores",
        *([f"  pictures {pictures:,} uploaded"] if pictures else []),
        f"  events {events:,} deliveries received; {distinct:,} different ones of orders and products",
        *_reads(tally),
        *_faults(records, tally),
        *_memory(observation),
        *_connections(deployment, observation),
        *_log(deployment),
        f"  wrong answers: {len(findings)}",
    ]


def _answers(tally: Tally) -> list[str]:
    rows = []
    for family, counts in sorted(tally.answers.items()):
        rows.append(f"  {family:<11} " + ", ".join(f"{label}: {count:,}" for label, count in sorted(counts.items())))
    return rows


def _reads(tally: Tally) -> list[str]:
    late = f"median {statistics.median(tally.stale):.3f} s, longest {max(tally.stale):.3f} s" if tally.stale else "–"
    return [f"  reads of what other requests had written {tally.reads:,}, {len(tally.stale):,} showed it late: {late}"]


def _faults(records: Mapping[str, FaultRecord], tally: Tally) -> list[str]:
    """Return a line for each fault; requests and failures are those from its beginning until requests got through again."""
    rows = [
        "  fault                             times   requests recover   events recover (longest, s)"
        "   requests   failures   longest gap   accepted failures"
    ]
    for name, record in sorted(records.items()):
        service, events = (f"{max(values):.1f}" if values else "–" for values in (record.service, record.events))
        spans = [span_of(tally.times, *times) for times in record.times]
        requests, failures = sum(span.requests for span in spans), sum(span.failures for span in spans)
        gap = max((span.longest_gap for span in spans), default=0.0)
        rows.append(
            f"  {name:<33} {record.count:>5} {service:>18} {events:>16}"
            f" {requests:>25,} {failures:>10,} {gap:>11.1f} s   {record.fault.accepted}"
        )
    return rows


@dataclass(frozen=True)
class Span:
    """The answers in a time, and the longest time in it without a successful one, in seconds."""

    requests: int
    failures: int
    longest_gap: float


def span_of(times: Sequence[tuple[float, bool]], began: float, ended: float) -> Span:
    """Return what happened in a time; `times` are those of answers in their order, with whether they were successful."""
    inside = times[bisect_left(times, (began, False)) : bisect_left(times, (ended, True))]
    successes = [began, *(at for at, is_success in inside if is_success), ended]
    gap = max(later - earlier for earlier, later in pairwise(successes))
    return Span(len(inside), sum(not is_success for _, is_success in inside), gap)


def _memory(observation: Observation) -> list[str]:
    rows = []
    measured = {growth.name: growth for growth in observation.growths()}
    for (name, pid), samples in sorted(observation.memory.items()):
        growth = measured.get(f"{name} ({pid})")
        judged = "not judged"
        if growth is not None:
            judged = f"medians {growth.middle:.1f} → {growth.last:.1f}{' GROWS' if growth.is_growing else ''}"
        rows.append(f"  memory {name}: {_over_time([value for _, value in samples])} MB; {judged}")
    return rows


def _connections(deployment: Deployment, observation: Observation) -> list[str]:
    counts = [float(count) for _, count in observation.connections]
    return [f"  connections: {_over_time(counts)} (at most {deployment.max_connections})"] if counts else []


def _over_time(values: Sequence[float]) -> str:
    """Return medians of equal parts of the time."""
    size = max(1, len(values) // _COLUMNS)
    parts = [values[start : start + size] for start in range(0, size * _COLUMNS, size)]
    return " ".join(f"{statistics.median(part):.0f}" for part in parts if part)


def _log(deployment: Deployment) -> list[str]:
    errors: Counter[str] = Counter()
    for service in deployment.services:
        errors.update(service.logged_errors())
    return (
        [f"  log errors: {', '.join(f'{event} ({count})' for event, count in errors.most_common(8))}"] if errors else []
    )
