"""Profile the server for a workload: CPU time per request, by package and by function."""

from __future__ import annotations

import asyncio
import pstats
import re
import signal
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import launchers, load, storefront
from bench.database import Size, create_database, running_postgres
from bench.load import UnexpectedResponse
from bench.measurement import CONNECTIONS, sign_in
from bench.requests import RequestData, Workload
from bench.servers import ROOT, Server

_MAX_FUNCTIONS = 40
_DUMP_SECONDS = 30.0

# File, line, name → calls, primitive calls, own seconds, cumulative seconds, callers.
Stats = dict[tuple[str, int, str], tuple[int, int, float, float, Any]]


def profile(contestant: str, items: Sequence[Workload], seconds: float) -> None:
    """Measure workloads without and with cProfile, and print the report; only for Vitrine."""
    if contestant != "vitrine":
        raise UnexpectedResponse("only vitrine can be profiled")
    size = Size()
    with TemporaryDirectory(prefix="vitrine-profile-") as folder, running_postgres() as (postgres, log):
        database = asyncio.run(create_database(postgres, log, "bench_main", size))
        data = RequestData(size)
        has_pages = any(item.name.startswith("S") for item in items)
        if has_pages:
            data.storefront_key = asyncio.run(storefront.fill(database))
        profile_path = Path(folder) / "profile"
        uncached = {"VITRINE_CATALOGUE_CACHE_BYTES": "0"}
        with launchers.vitrine(database, profile=profile_path, settings=uncached) as server:
            for item in items:
                data.token = sign_in(server, data)
                if has_pages:
                    storefront.sign_in(server, data)
                print(
                    _report(server, item, item.requests_by_contestant["vitrine"](data), seconds, profile_path),
                    flush=True,
                )
                profile_path.unlink()


def _report(server: Server, item: Workload, requests: Any, seconds: float, path: Path) -> str:
    def run(first: int, duration: float = seconds) -> load.Sample:
        return load.run(server.address, requests, connections=CONNECTIONS, seconds=duration, first=first)

    run(100, 1.0)
    before = server.cpu_seconds
    plain = run(5_000)
    cpu = (server.cpu_seconds - before) / (plain.rate * seconds)
    server.process.send_signal(signal.SIGUSR1)
    profiled = run(40_000)
    server.process.send_signal(signal.SIGUSR2)
    stats = _read(path)
    requests_done = profiled.rate * seconds
    return "\n".join(
        [
            f"{item.name}, {item.title}: {plain.rate:,.0f} requests per second, {cpu * 1e6:,.0f} µs of CPU per request",
            f"(with the profiler {profiled.rate:,.0f}; it overestimates small functions: use the shares)",
            "",
            *_by_package(stats, requests_done),
            "",
            *_by_function(stats, requests_done),
            "",
        ]
    )


def _read(path: Path) -> Stats:
    deadline = time.monotonic() + _DUMP_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise UnexpectedResponse("the server wrote no profile")
        time.sleep(0.1)
    loaded: Any = pstats.Stats(str(path))
    stats: Stats = loaded.stats
    return stats


def _package(file: str, name: str) -> str:
    """Return the package of a function, or its module if it is ours."""
    if file == "~":
        for package in (
            "asyncpg",
            "orjson",
            "uvloop",
            "aiohttp",
            "multidict",
            "yarl",
            "propcache",
            "asyncio",
        ):
            if package in name:
                return package
        return "Python's built-in functions"
    installed = re.search(r"site-packages/([^/]+)", file)
    if installed:
        return installed[1]
    try:
        return f"vitrine: {Path(file).relative_to(ROOT).with_suffix('').as_posix()}"
    except ValueError:
        return "Python's library" if "/" in file else f"compiled: {file}"


def _by_package(stats: Stats, requests: float) -> list[str]:
    own: dict[str, float] = defaultdict(float)
    for (file, _, name), (_, _, seconds, _, _) in stats.items():
        own[_package(file, name)] += seconds
    total = sum(own.values())
    return [
        f"  {share / total:6.1%} {share / requests * 1e6:8.1f} µs  {part}"
        for part, share in sorted(own.items(), key=lambda pair: -pair[1])
        if share / total > 0.005
    ]


def _by_function(stats: Stats, requests: float) -> list[str]:
    lines = ["  own µs      cumulative µs  calls   (per request)"]
    ordered = sorted(stats.items(), key=lambda pair: -pair[1][2])[:_MAX_FUNCTIONS]
    for (file, line, name), (calls, _, own, cumulative, _) in ordered:
        location = name if file == "~" else f"{Path(file).parent.name}/{Path(file).name}:{line} {name}"
        lines.append(
            f"{own / requests * 1e6:8.1f} {cumulative / requests * 1e6:19.1f} {calls / requests:6.1f}   {location}"
        )
    return lines
