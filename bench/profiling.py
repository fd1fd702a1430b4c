"""Say where the server's time goes at one item: CPU a request, and how it divides among the parts of the program."""

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

from bench import load, starting
from bench.database import Size, make_database, running_postgres
from bench.load import WrongAnswer
from bench.measuring import CONNECTIONS, signed_in
from bench.servers import ROOT, Server
from bench.work import Facts, Item

_SHOWN = 40
_DUMP_SECONDS = 30.0

# Function → its file, line, name; calls, primitive calls, own seconds, seconds with what it calls, callers.
Stats = dict[tuple[str, int, str], tuple[int, int, float, float, Any]]


def profile(contestant: str, items: Sequence[Item], seconds: float) -> None:
    """Measure items plainly, then under cProfile, and print where the time went. Only Vitrine can be looked into."""
    if contestant != "vitrine":
        raise WrongAnswer("only vitrine can be profiled")
    size = Size()
    with TemporaryDirectory(prefix="vitrine-profile-") as folder, running_postgres() as (postgres, log):
        filled = asyncio.run(make_database(postgres, log, "bench_main", size))
        written = Path(folder) / "profile"
        with starting.vitrine(filled, profile=written) as server:
            facts = Facts(size)
            for item in items:
                facts.token = signed_in(server, facts)
                print(_report(server, item, item.asks["vitrine"](facts), seconds, written), flush=True)
                written.unlink()


def _report(server: Server, item: Item, requests: Any, seconds: float, path: Path) -> str:
    def run(first: int, long: float = seconds) -> load.Sample:
        return load.run(server.address, requests, connections=CONNECTIONS, seconds=long, first=first)

    run(100, 1.0)
    before = server.cpu_seconds
    plain = run(5_000)
    cpu = (server.cpu_seconds - before) / (plain.rate * seconds)
    server.process.send_signal(signal.SIGUSR1)
    under = run(40_000)
    server.process.send_signal(signal.SIGUSR2)
    stats = _read(path)
    requests_done = under.rate * seconds
    return "\n".join(
        [
            f"{item.name}, {item.title}: {plain.rate:,.0f} requests a second, {cpu * 1e6:,.0f} µs of CPU a request",
            f"(under the profiler {under.rate:,.0f}; its times are too long for small functions, the shares are what counts)",
            "",
            *_by_part(stats, requests_done),
            "",
            *_by_function(stats, requests_done),
            "",
        ]
    )


def _read(path: Path) -> Stats:
    deadline = time.monotonic() + _DUMP_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise WrongAnswer("the server wrote no profile")
        time.sleep(0.1)
    found: Any = pstats.Stats(str(path))
    stats: Stats = found.stats
    return stats


def _part(file: str, name: str) -> str:
    """Name the part of the program that a function belongs to: a package, or a floor and module of ours."""
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


def _by_part(stats: Stats, requests: float) -> list[str]:
    own: dict[str, float] = defaultdict(float)
    for (file, _, name), (_, _, seconds, _, _) in stats.items():
        own[_part(file, name)] += seconds
    total = sum(own.values())
    return [
        f"  {share / total:6.1%} {share / requests * 1e6:8.1f} µs  {part}"
        for part, share in sorted(own.items(), key=lambda pair: -pair[1])
        if share / total > 0.005
    ]


def _by_function(stats: Stats, requests: float) -> list[str]:
    lines = ["  own µs  with what it calls  calls   (each a request)"]
    ordered = sorted(stats.items(), key=lambda pair: -pair[1][2])[:_SHOWN]
    for (file, line, name), (calls, _, own, whole, _) in ordered:
        place = name if file == "~" else f"{Path(file).parent.name}/{Path(file).name}:{line} {name}"
        lines.append(
            f"{own / requests * 1e6:8.1f} {whole / requests * 1e6:19.1f} {calls / requests:6.1f}   {place}"
        )
    return lines
