"""Reports: JSON with every sample, and Markdown tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import bars as bars_
from bench import storefront
from bench.bars import Bar
from bench.measurement import Result
from bench.workloads import WORKLOADS

MAX_P99_RATIO = 5.0
"""The maximum ratio of p99 to p50."""

_TITLES = {item.name: item.title for item in (*WORKLOADS, *storefront.workloads())}


def write(
    folder: Path, about: Mapping[str, Any], results: Sequence[Result], bars: Sequence[Bar], growth: str = ""
) -> Path:
    """Save a run; return the path of its table."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{datetime.now(UTC):%Y-%m-%dT%H%M}-{str(about['commit']).removesuffix('+changes')}"
    content = {
        "about": about,
        "bars": [bar.as_json for bar in bars],
        "results": [result.as_json for result in results],
    }
    (folder / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    table = folder / f"{name}.md"
    table.write_text(markdown(about, results, bars) + growth, encoding="utf-8")
    return table


def markdown(about: Mapping[str, Any], results: Sequence[Result], bars: Sequence[Bar] = ()) -> str:
    """Return the tables of a run."""
    lines = ["# Benchmark", "", *(f"* {name}: {_plain(value)}" for name, value in about.items()), ""]
    if bars:
        lines.append(bars_.table(bars))
    if results:
        lines += [*_rates(results), "", *_details(results), ""]
    return "\n".join(lines)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {element}" for name, element in value.items())
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    return str(value)


def _rates(results: Sequence[Result]) -> list[str]:
    contestants = list(dict.fromkeys(result.contestant for result in results))
    medians = {(result.item, result.contestant): result.median("rate") for result in results}
    styles = {result.item: result.style for result in results if result.style}
    lines = [
        "## Requests per second",
        "",
        f"| | | {' | '.join(contestants)} | style of the limit | vitrine / limit | vitrine / obvious | vitrine / postgraphile |",
        f"|---|---|{'---:|' * (len(contestants) + 4)}",
    ]
    for item in dict.fromkeys(result.item for result in results):
        rates = [medians.get((item, name)) for name in contestants]
        vitrine = medians.get((item, "vitrine"))
        lines.append(
            f"| {item} | {_TITLES[item]} | {' | '.join(_number(rate) for rate in rates)} "
            f"| {styles.get(item, '')} | {_ratio(vitrine, medians.get((item, 'limit')))} "
            f"| {_ratio(vitrine, medians.get((item, 'obvious')))} "
            f"| {_ratio(vitrine, medians.get((item, 'postgraphile')))} |"
        )
    return lines


def _number(rate: float | None) -> str:
    if rate is None:
        return "–"
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _ratio(rate: float | None, other: float | None) -> str:
    return f"{rate / other:.2f}" if rate and other else "–"


def _details(results: Sequence[Result]) -> list[str]:
    lines = [
        "## Latency, processor, statements, size, memory",
        "",
        f"p99 should stay under {MAX_P99_RATIO:g} times p50. CPU is the server's per request.",
        "Statements include BEGIN, COMMIT and the binding of connections to a store.",
        "",
        "| | | p50 ms | p99 ms | p99 / p50 | CPU µs | database's CPU µs | statements per request | bytes | memory MB | spread of rounds |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for result in results:
        values = result.as_json
        database = f"{values['database_us']:,.0f}" if result.database_us else "–"
        rates = [sample.rate for sample in result.samples]
        lines.append(
            f"| {result.item} | {result.contestant} | {values['p50_ms']:.2f} | {values['p99_ms']:.2f} "
            f"| {result.median('p99') / result.median('p50'):.1f} | {values['cpu_us']:,.0f} | {database} "
            f"| {_statements(result)} | {values['bytes']:,} "
            f"| {values['memory_mb']:.0f} | {(max(rates) - min(rates)) / result.median('rate'):.0%} |"
        )
    return lines


def _statements(result: Result) -> str:
    return "?" if result.statements is None else f"{result.statements:g}"


def growth_table(title: str, rows: Iterable[Sequence[object]], heads: Sequence[str]) -> str:
    """Return a table of the growth measurements."""
    lines = [f"## {title}", "", f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n" + "\n".join(lines) + "\n"
