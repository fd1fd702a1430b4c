"""Write results down: JSON with every sample, and a table to read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.measuring import Result
from bench.work import ITEMS

# Issue 3's bars: Vitrine's rate as a part of the limit's, and at least so many times the obvious server's.
BARS: Mapping[str, float] = {"Q1": 0.7, "Q2": 0.5, "Q3": 0.4, "Q4": 0.4, "Q5": 0.7, "L1": 0.6}
OVER_OBVIOUS: Mapping[str, float] = {"Q1": 10, "Q2": 10, "Q3": 8, "Q4": 8, "Q5": 10}
MOST_SPREAD = 5.0
"""How many times p50 p99 may be."""

_TITLES = {item.name: item.title for item in ITEMS}


def write(folder: Path, about: Mapping[str, Any], results: Sequence[Result], growth: str = "") -> Path:
    """Keep a run; gives the path of its table."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{datetime.now(UTC):%Y-%m-%dT%H%M}-{str(about['commit']).removesuffix('+changes')}"
    kept = {"about": about, "results": [result.shown for result in results]}
    (folder / f"{name}.json").write_text(
        json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )
    table = folder / f"{name}.md"
    table.write_text(markdown(about, results) + growth, encoding="utf-8")
    return table


def markdown(about: Mapping[str, Any], results: Sequence[Result]) -> str:
    """Write the tables of a run."""
    lines = ["# Benchmark", "", *(f"* {name}: {_plain(value)}" for name, value in about.items()), ""]
    if results:
        lines += [*_rates(results), "", *_details(results), ""]
    return "\n".join(lines)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    return str(value)


def _rates(results: Sequence[Result]) -> list[str]:
    contestants = list(dict.fromkeys(result.contestant for result in results))
    found = {(result.item, result.contestant): result.median("rate") for result in results}
    lines = [
        "## Requests a second",
        "",
        f"| | | {' | '.join(contestants)} | vitrine / limit | bar | vitrine / obvious | bar | vitrine / postgraphile |",
        f"|---|---|{'---:|' * (len(contestants) + 5)}",
    ]
    for item in dict.fromkeys(result.item for result in results):
        rates = [found.get((item, name)) for name in contestants]
        ours = found.get((item, "vitrine"))
        lines.append(
            f"| {item} | {_TITLES[item]} | {' | '.join(_number(rate) for rate in rates)} "
            f"| {_ratio(ours, found.get((item, 'limit')))} | {_bar(BARS.get(item))} "
            f"| {_ratio(ours, found.get((item, 'obvious')))} | {_bar(OVER_OBVIOUS.get(item))} "
            f"| {_ratio(ours, found.get((item, 'postgraphile')))} |"
        )
    return lines


def _number(rate: float | None) -> str:
    if rate is None:
        return "–"
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _ratio(ours: float | None, theirs: float | None) -> str:
    return f"{ours / theirs:.2f}" if ours and theirs else "–"


def _bar(bar: float | None) -> str:
    return "" if bar is None else f"{bar:g}"


def _details(results: Sequence[Result]) -> list[str]:
    lines = [
        "## Latency, processor, statements, size, memory",
        "",
        f"p99 should stay under {MOST_SPREAD:g} times p50. CPU is the server's for a request.",
        "Statements include BEGIN and COMMIT and what binds a connection to a store.",
        "",
        "| | | p50 ms | p99 ms | p99 / p50 | CPU µs | statements a request | bytes | memory MB | spread of rounds |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for result in results:
        shown = result.shown
        rates = [sample.rate for sample in result.samples]
        lines.append(
            f"| {result.item} | {result.contestant} | {shown['p50_ms']:.2f} | {shown['p99_ms']:.2f} "
            f"| {result.median('p99') / result.median('p50'):.1f} | {shown['cpu_us']:,.0f} | {_statements(result)} | {shown['bytes']:,} "
            f"| {shown['memory_mb']:.0f} | {(max(rates) - min(rates)) / result.median('rate'):.0%} |"
        )
    return lines


def _statements(result: Result) -> str:
    return "?" if result.statements is None else f"{result.statements:g}"


def growth_table(title: str, rows: Iterable[Sequence[object]], heads: Sequence[str]) -> str:
    """Write a table of the growth."""
    lines = [f"## {title}", "", f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n" + "\n".join(lines) + "\n"
