"""Benchmark Vitrine, a hand-written upper limit and competitors: `make bench`, `make bench BENCH_ARGS='--quick --only Q1,Q3'`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench import deployment, growth, machine, profiling, report, start, storefront
from bench.bars import Bar, ratio_bars
from bench.database import OPTIONS, BenchDatabase, Size, StatementLog, create_database, running_postgres
from bench.launchers import CONTESTANTS
from bench.load import UnexpectedResponse
from bench.measurement import CONNECTIONS, Measurement, ResponsesDiffer, Result, Schedule
from bench.requests import RequestData, Workload
from bench.servers import ROOT, NotStarted, Server
from bench.workloads import WORKLOADS

RESULTS = Path(__file__).parent / "results"
QUICK_RESULTS = ROOT / ".vitrine" / "build" / "bench" / "results"
MAX_SECONDS = 2 * 3_600
PAGES = storefront.workloads()
ALL = (*WORKLOADS, *PAGES)
FULL, QUICK = Schedule(5, 4.0), Schedule(2, 1.0)


def main() -> int:
    arguments = _arguments()
    # On a signal or its own alarm it still stops the processes it started.
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, _stop)
    signal.alarm(MAX_SECONDS)
    machine.pin_to_load_core()
    schedule = QUICK if arguments.quick else FULL
    schedule = Schedule(arguments.rounds or schedule.rounds, arguments.seconds or schedule.seconds)
    items = [workload for workload in ALL if arguments.only is None or workload.name in arguments.only]
    try:
        deployment.redis_url()  # a missing redis-server ends the run before the databases are filled
        if arguments.profile:
            profiling.profile(arguments.profile[0], _items(arguments.profile[1]), arguments.seconds or 5.0)
        else:
            _measure(arguments, items, schedule)
    except (UnexpectedResponse, ResponsesDiffer, NotStarted) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


def _stop(number: int, _frame: Any) -> None:
    for other in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(other, signal.SIG_IGN)
    sys.exit(f"bench: stopped by {signal.Signals(number).name}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    names = [item.name for item in ALL]

    def list_of(known: list[str]) -> Any:
        def parse(text: str) -> list[str]:
            unknown = [name for name in text.split(",") if name not in known]
            if unknown:
                raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
            return text.split(",")

        return parse

    parser.add_argument("--quick", action="store_true", help="short rounds; results are not saved in bench/results")
    parser.add_argument("--only", type=list_of(names), help=f"subset of {','.join(names)}")
    parser.add_argument(
        "--contestants",
        type=list_of(list(CONTESTANTS)),
        default=list(CONTESTANTS),
        help="subset of the contestants",
    )
    parser.add_argument("--rounds", type=int, help="number of rounds per contestant")
    parser.add_argument("--seconds", type=float, help="seconds per round")
    parser.add_argument("--no-growth", action="store_true", help="leave out growing numbers of products and stores")
    parser.add_argument("--growth-only", action="store_true", help="measure only the growth")
    parser.add_argument("--products", type=int, help="number of products in the store (10,000)")
    parser.add_argument("--profile", nargs=2, metavar=("CONTESTANT", "WORKLOADS"), help="profile instead of measuring")
    return parser.parse_args()


def _items(names: str) -> list[Workload]:
    workloads = [workload for workload in ALL if workload.name in names.split(",")]
    if not workloads:
        raise UnexpectedResponse(f"no workload is named {names}; known: {','.join(item.name for item in ALL)}")
    return workloads


def _measure(arguments: argparse.Namespace, items: list[Workload], schedule: Schedule) -> None:
    about: dict[str, Any] = {
        **machine.description(),
        "schedule": f"{schedule.rounds} rounds of {schedule.seconds:g} s each, medians; {CONNECTIONS} connections",
        "cores": f"server on core {machine.SERVER_CORE}, database, Redis and load on core {machine.LOAD_CORE}",
        "configuration": "as in deploy/: rate limits in Redis, access log, metrics; one process, no pooler",
        "database": "a dedicated PostgreSQL 18 on a Unix socket, fsync on, "
        + ", ".join(f"{name}={value}" for name, value in OPTIONS.items()),
    }
    results: list[Result] = []
    bars: list[Bar] = []
    growth_tables = ""
    with running_postgres() as (server, log):
        shared = [item for item in items if item not in PAGES]
        if shared and not arguments.growth_only:
            size = Size(products=arguments.products) if arguments.products else Size()
            database = asyncio.run(create_database(server, log, "bench_main", size))
            about["size"] = str(size)
            results = _run_contestants(database, arguments.contestants, shared, schedule, about)
            bars += ratio_bars(results)
            if "vitrine" in arguments.contestants:
                bars += start.measure(database)
        pages = [item for item in items if item in PAGES]
        if pages and not arguments.growth_only:
            page_results, page_bars = storefront.measure(server, log, schedule, pages)
            results += page_results
            bars += page_bars
        if arguments.growth_only or not (arguments.no_growth or arguments.only):
            growth_tables, growth_bars = growth.measure(server, log, schedule, quick=arguments.quick)
            bars += growth_bars
    table = report.write(QUICK_RESULTS if arguments.quick else RESULTS, about, results, bars, growth_tables)
    print(table.read_text(encoding="utf-8"))
    print(f"saved in {table}")


def _run_contestants(
    database: BenchDatabase,
    names: list[str],
    items: list[Workload],
    schedule: Schedule,
    about: dict[str, Any],
) -> list[Result]:
    results: list[Result] = []
    with _servers(database, names, about) as servers:
        measurement = Measurement(servers, RequestData(database.size), StatementLog(database), schedule)
        for item in items:
            if not any(name in item.requests_by_contestant for name in servers):
                continue
            measured = measurement.measure(item)
            results += measured
            rates = ", ".join(f"{result.contestant} {result.median('rate'):,.0f}" for result in measured)
            print(f"  {item.name}: {rates}", flush=True)
    return results


@contextmanager
def _servers(database: BenchDatabase, names: list[str], about: dict[str, Any]) -> Iterator[Mapping[str, Server]]:
    """Run the contestants; PostGraphile is left out, and listed as such, when it can't be installed."""
    about["left out"] = []
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        for name in names:
            try:
                servers[name] = stack.enter_context(CONTESTANTS[name](database))
            except NotStarted as error:
                if name != "postgraphile":
                    raise
                about["left out"].append(str(error))
                print(f"  {error}", flush=True)
        yield servers


if __name__ == "__main__":
    sys.exit(main())
