"""The bars of docs/performance.md: what the measured numbers have to reach, each printed as met or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.measurement import Result
from bench.workloads import WORKLOADS

# Vitrine's rate relative to PostGraphile's, where PostGraphile has the workload.
READ_RATIO, WRITE_RATIO = 2.0, 1.1
# The rate relative to that of the fastest hand-written handler.
HANDLER_RATIOS: Mapping[str, float] = {"Q3": 0.55, "Q4": 0.55, "W8": 0.5}
ONE_PRODUCT_RATIO = 0.7
MAX_GROWTH: Mapping[str, float] = {"stores": 0.10, "products": 0.15, "pages": 0.10}
MAX_START_SECONDS = 1.5
MAX_IDLE_MB = 100.0


@dataclass(frozen=True)
class Bar:
    """A bar, what was measured and what is required, both with their unit, and whether it is met."""

    name: str
    measured: str
    required: str
    is_met: bool

    @property
    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "measured": self.measured, "required": self.required, "met": self.is_met}


def ratio_bars(results: Sequence[Result]) -> list[Bar]:
    """Compare the rates of a run's contestants; what was not measured has no bar."""
    rates = {(result.item, result.contestant): result.median("rate") for result in results}
    bars = [
        _at_least(f"{item}, of the handler", rates.get((item, "vitrine")), rates.get((item, "limit")), ratio)
        for item, ratio in HANDLER_RATIOS.items()
    ]
    bars += [
        _at_least(
            f"{item.name}, of PostGraphile",
            rates.get((item.name, "vitrine")),
            rates.get((item.name, "postgraphile")),
            WRITE_RATIO if item.writes else READ_RATIO,
        )
        for item in WORKLOADS
    ]
    one, many = rates.get(("W6", "vitrine")), rates.get(("W7", "vitrine"))
    bars.append(_at_least("50 buyers of one product, of 50 buyers of 50", one, many, ONE_PRODUCT_RATIO))
    return [bar for bar in bars if bar is not None]


def _at_least(name: str, rate: float | None, other: float | None, required: float) -> Bar | None:
    if not rate or not other:
        return None
    return Bar(name, f"{rate / other:.2f}", f"at least {required:g}", rate / other >= required)


def at_least(name: str, result: Result, other: Result, required: float) -> Bar:
    """Compare what two contestants do in a second of CPU time, PostgreSQL's included; their rates are shown besides."""
    ratio = other.total_cpu_us / result.total_cpu_us
    rates = result.median("rate") / other.median("rate")
    return Bar(name, f"{ratio:.2f} (rate {rates:.2f})", f"at least {required:g}", ratio >= required)


def growth_bar(name: str, kind: str, cpu_us: Sequence[float]) -> Bar:
    """Compare the CPU time of the last size with that of the first; `kind` is a key of MAX_GROWTH."""
    growth = cpu_us[-1] / cpu_us[0] - 1
    return Bar(
        f"{name}: CPU per request",
        f"{growth:+.0%}",
        f"at most +{MAX_GROWTH[kind]:.0%}",
        cpu_us[-1] <= cpu_us[0] * (1 + MAX_GROWTH[kind]),
    )


def start_bars(seconds: float, idle_mb: float) -> list[Bar]:
    """Compare the time to the first answer and the memory of an idle process."""
    return [
        Bar(
            "start to first answer",
            f"{seconds:.2f} s",
            f"at most {MAX_START_SECONDS:g} s",
            seconds <= MAX_START_SECONDS,
        ),
        Bar("idle process", f"{idle_mb:.0f} MB", f"below {MAX_IDLE_MB:.0f} MB", idle_mb < MAX_IDLE_MB),
    ]


def table(bars: Iterable[Bar]) -> str:
    """Return the table of the bars."""
    lines = ["## Bars", "", "| bar | measured | required | |", "|---|---:|---:|---|"]
    lines += [
        f"| {bar.name} | {bar.measured} | {bar.required} | {'met' if bar.is_met else '**not met**'} |" for bar in bars
    ]
    return "\n".join(lines) + "\n"
