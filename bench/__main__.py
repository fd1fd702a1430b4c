"""Measure Vitrine beside what bounds it and what it competes with: `make bench`, `make bench BENCH_ARGS='--quick --only Q1,Q3'`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench import growth, machine, profiling, reporting
from bench.database import OPTIONS, Filled, Size, StatementLog, make_database, running_postgres
from bench.load import WrongAnswer, ask
from bench.measuring import CONNECTIONS, Different, Measuring, Pace, Result
from bench.servers import ROOT, NotStarted, Server
from bench.starting import CONTESTANTS
from bench.work import ITEMS, Facts, Item, http

KEPT = Path(__file__).parent / "results"
NOT_KEPT = ROOT / ".vitrine" / "build" / "bench" / "results"
LONGEST_SECONDS = 2 * 3_600
FULL, QUICK = Pace(5, 4.0), Pace(2, 1.0)


def main() -> int:
    asked = _arguments()
    # Ended from outside or by its own alarm, it still stops what it started.
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, _stop)
    signal.alarm(LONGEST_SECONDS)
    machine.stay_on_load_core()
    pace = QUICK if asked.quick else FULL
    pace = Pace(asked.rounds or pace.rounds, asked.seconds or pace.seconds)
    items = [item for item in ITEMS if asked.only is None or item.name in asked.only]
    try:
        if asked.profile:
            profiling.profile(asked.profile[0], _items(asked.profile[1]), asked.seconds or 5.0)
        else:
            _measure(asked, items, pace)
    except (WrongAnswer, Different, NotStarted) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


def _stop(number: int, _frame: Any) -> None:
    for other in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(other, signal.SIG_IGN)
    sys.exit(f"bench: stopped by {signal.Signals(number).name}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    names = [item.name for item in ITEMS]

    def of(known: list[str]) -> Any:
        def read(text: str) -> list[str]:
            unknown = [name for name in text.split(",") if name not in known]
            if unknown:
                raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
            return text.split(",")

        return read

    parser.add_argument(
        "--quick", action="store_true", help="short rounds; the results are not kept in bench/results"
    )
    parser.add_argument("--only", type=of(names), help=f"some of {','.join(names)}")
    parser.add_argument(
        "--contestants", type=of(list(CONTESTANTS)), default=list(CONTESTANTS), help="some of them"
    )
    parser.add_argument("--rounds", type=int, help="how often each is measured")
    parser.add_argument("--seconds", type=float, help="how long each time")
    parser.add_argument(
        "--growth", action="store_true", help="also measure over growing numbers of products and stores"
    )
    parser.add_argument("--growth-only", action="store_true", help="measure that alone")
    parser.add_argument("--products", type=int, help="how many products the store has (10,000)")
    parser.add_argument(
        "--profile", nargs=2, metavar=("CONTESTANT", "ITEMS"), help="say where its time goes instead"
    )
    return parser.parse_args()


def _items(names: str) -> list[Item]:
    found = [item for item in ITEMS if item.name in names.split(",")]
    if not found:
        raise WrongAnswer(f"no item is named {names}; known: {','.join(item.name for item in ITEMS)}")
    return found


def _measure(asked: argparse.Namespace, items: list[Item], pace: Pace) -> None:
    about: dict[str, Any] = {
        **machine.described(),
        "pace": f"{pace.rounds} rounds of {pace.seconds:g} s each, medians; {CONNECTIONS} connections",
        "cores": f"server on core {machine.SERVER_CORE}, database and load on core {machine.LOAD_CORE}",
        "database": "PostgreSQL 18 of the run's own on a Unix socket, fsync on, "
        + ", ".join(f"{name}={value}" for name, value in OPTIONS.items()),
    }
    results: list[Result] = []
    grown = ""
    with running_postgres() as (server, log):
        if not asked.growth_only:
            size = Size(products=asked.products) if asked.products else Size()
            filled = asyncio.run(make_database(server, log, "bench_main", size))
            about["size"] = str(size)
            results = _contest(filled, asked.contestants, items, pace, about)
        if asked.growth or asked.growth_only:
            grown = growth.measured(server, log, pace, quick=asked.quick)
    table = reporting.write(NOT_KEPT if asked.quick else KEPT, about, results, grown)
    print(table.read_text(encoding="utf-8"))
    print(f"kept in {table}")


def _contest(
    filled: Filled, names: list[str], items: list[Item], pace: Pace, about: dict[str, Any]
) -> list[Result]:
    results: list[Result] = []
    with _servers(filled, names, about) as servers:
        if "limit" in servers:
            styles = ask(servers["limit"].address, http("GET", "/", {})).body.decode()
            about["the limit's way to build JSON"] = styles.translate({ord(each): None for each in '{}"'})
        measuring = Measuring(servers, Facts(filled.size), StatementLog(filled), pace)
        for item in items:
            if not any(name in item.asks for name in servers):
                continue
            done = measuring.measure(item)
            results += done
            shown = ", ".join(f"{each.contestant} {each.median('rate'):,.0f}" for each in done)
            print(f"  {item.name}: {shown}", flush=True)
    return results


@contextmanager
def _servers(filled: Filled, names: list[str], about: dict[str, Any]) -> Iterator[Mapping[str, Server]]:
    """Run the contestants; one from elsewhere that can't be had is left out, and the result says so."""
    about["left out"] = []
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        for name in names:
            try:
                servers[name] = stack.enter_context(CONTESTANTS[name](filled))
            except NotStarted as error:
                if name != "postgraphile":
                    raise
                about["left out"].append(str(error))
                print(f"  {error}", flush=True)
        yield servers


if __name__ == "__main__":
    sys.exit(main())
