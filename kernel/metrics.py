"""Count and measure what this process does, for `/metrics` (docs/metrics.md).

Instruments are declared where they are used and registered by name. They are plain dictionaries of numbers, because the request path uses
them: a histogram takes a quarter of a microsecond. `snapshot` returns the values of a process as data, `Totals` adds those of several
processes, and `server/metrics.py` writes them in Prometheus's format.

Labels are taken from closed sets (route templates, never paths; names declared in the code), so the number of series is bounded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import orjson

Labels: TypeAlias = tuple[str, ...]
# By instrument: the values by labels. A histogram's value is its counts by bucket, the last without a bound, and the sum.
Values: TypeAlias = dict[Labels, Any]
Snapshot: TypeAlias = dict[str, Values]

# Seconds: from a statement that is answered from memory to a request that times out.
DURATIONS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True, eq=False)
class Counter:
    """A number that only grows, by labels."""

    name: str
    help: str
    labels: Labels
    values: Values

    def add(self, *labels: str, amount: float = 1) -> None:
        """Add to the value of the labels."""
        self.values[labels] = self.values.get(labels, 0) + amount


class Histogram:
    """Durations in seconds by labels, as cumulative buckets and a sum."""

    __slots__ = ("bounds", "help", "labels", "name", "values")

    def __init__(self, name: str, help_: str, labels: Labels, bounds: tuple[float, ...]) -> None:
        self.name = name
        self.help = help_
        self.labels = labels
        self.bounds = bounds
        self.values: Values = {}

    def child(self, *labels: str) -> list[float]:
        """Return the counts and the sum of the labels, for `observe`."""
        value: list[float] | None = self.values.get(labels)
        if value is None:
            value = self.values[labels] = [0] * (len(self.bounds) + 2)
        return value

    def observe(self, child: list[float], seconds: float) -> None:
        """Count a duration."""
        child[bisect_left(self.bounds, seconds)] += 1
        child[-1] += seconds


@dataclass(slots=True, eq=False)
class Gauge:
    """A value at the time of the collection, by labels, which `read` returns. Those of several processes are added; of `largest` ones
    one is taken. One that `counts` only grows.
    """

    name: str
    help: str
    labels: Labels
    read: Callable[[], Mapping[Labels, float]]
    largest: bool = False
    counts: bool = False


Instrument: TypeAlias = Counter | Histogram | Gauge
DeclaredInstrument = TypeVar("DeclaredInstrument", Counter, Histogram, Gauge)
_instruments: dict[str, Instrument] = {}


def counter(name: str, help_: str, *labels: str) -> Counter:
    """Declare a counter."""
    return _register(Counter(name, help_, labels, {} if labels else {(): 0}))


def histogram(name: str, help_: str, *labels: str, bounds: tuple[float, ...] = DURATIONS) -> Histogram:
    """Declare a histogram."""
    return _register(Histogram(name, help_, labels, bounds))


def gauge(
    name: str,
    help_: str,
    *labels: str,
    read: Callable[[], Mapping[Labels, float]] = dict,
    largest: bool = False,
    counts: bool = False,
) -> Gauge:
    """Declare a gauge; without `read` it has no value until one is assigned."""
    return _register(Gauge(name, help_, labels, read, largest, counts))


def _register(instrument: DeclaredInstrument) -> DeclaredInstrument:
    if instrument.name in _instruments:
        raise ValueError(f"the metric {instrument.name} is declared twice")
    _instruments[instrument.name] = instrument
    return instrument


def instruments() -> Mapping[str, Instrument]:
    """Return the declared instruments by name."""
    return _instruments


def snapshot() -> Snapshot:
    """Return the values of this process; a gauge that can't be read has none."""
    values: Snapshot = {}
    for name, instrument in _instruments.items():
        if isinstance(instrument, Gauge):
            values[name] = dict(instrument.read())
        elif isinstance(instrument, Histogram):
            values[name] = {labels: list(value) for labels, value in instrument.values.items()}
        else:
            values[name] = dict(instrument.values)
    return values


def to_json(values: Snapshot) -> bytes:
    """Serialize values, for another process, as one line."""
    return orjson.dumps({name: list(each.items()) for name, each in values.items()}, option=orjson.OPT_APPEND_NEWLINE)


def from_json(line: bytes) -> Snapshot:
    """Return the values of `to_json`."""
    return {name: {tuple(labels): value for labels, value in each} for name, each in orjson.loads(line).items()}


class Totals:
    """The values of several processes together. What an ended process had counted stays in the totals."""

    def __init__(self) -> None:
        self._latest: dict[str, Snapshot] = {}
        self._ended: Snapshot = {}

    def update(self, process: str, values: Snapshot) -> None:
        """Keep the values of a process."""
        self._latest[process] = values

    def end(self, process: str) -> None:
        """Keep what the process counted, without its gauges."""
        values = self._latest.pop(process, {})
        counted = {name: each for name, each in values.items() if not isinstance(_instruments.get(name), Gauge)}
        _add(self._ended, counted)

    def sum(self) -> Snapshot:
        """Return the values of all processes together."""
        total: Snapshot = {}
        for values in (self._ended, *self._latest.values()):
            _add(total, values)
        return total


def _add(total: Snapshot, values: Snapshot) -> None:
    for name, each in values.items():
        instrument = _instruments.get(name)
        into = total.setdefault(name, {})
        for labels, value in each.items():
            known = into.get(labels)
            if isinstance(value, list):
                into[labels] = list(value) if known is None else [a + b for a, b in zip(known, value, strict=True)]
            elif isinstance(instrument, Gauge) and instrument.largest:
                into[labels] = value if known is None else max(known, value)
            else:
                into[labels] = value + (known or 0)
