"""Print the report of a deployment's run."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from bench.soak.calls import Tally
from bench.soak.deployment import Deployment
from bench.soak.faults import FaultRecord
from bench.soak.model import Findings, StoreModel
from bench.soak.observation import Observation

_COLUMNS = 8


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
    events = sum(store.received_events.total() for store in stores)
    distinct = sum(len(sequences) for store in stores for sequences in store.sequences.values())
    return [
        f"{deployment.kind}: {tally.total:,} requests in {seconds:.0f} s ({tally.total / seconds:.0f} a second),"
        f" {tally.retries:,} retries, {tally.replays:,} replays, slowest answer {tally.slowest:.1f} s",
        *_answers(tally),
        f"  orders {placed:,} placed, {refused:,} refused for want of stock, in {len(stores)} stores",
        f"  events {events:,} deliveries received; {distinct:,} different ones of orders and products",
        *_faults(records),
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


def _faults(records: Mapping[str, FaultRecord]) -> list[str]:
    rows = ["  fault                             times   requests recover   events recover (longest, s)"]
    for name, record in sorted(records.items()):
        service, events = (f"{max(values):.1f}" if values else "–" for values in (record.service, record.events))
        rows.append(f"  {name:<33} {record.count:>5} {service:>18} {events:>16}")
    return rows


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
