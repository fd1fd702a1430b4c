"""What binding each transaction to its store costs a request: `python -m bench.binding` (docs/scaling.md#what-it-costs).

Servers that bind each transaction, one directly and one through PgBouncer, read one product by id (Q3) from the same
database, in alternating rounds: always for the same store, and each time for the next of many. The CPU time per request of the server, of
PostgreSQL and of PgBouncer depends little on other load.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from bench import launchers, load, machine
from bench.database import BenchDatabase, Size, create_database, running_postgres
from bench.growth import rotating_requests, signed_in_stores
from bench.measurement import CONNECTIONS
from bench.servers import Server
from bench.workloads import WORKLOADS
from tests.system.pgbouncer import PROGRAM, ROLE_STATEMENTS, PgBouncer

_SIZE = Size(stores=100, products=100, users=20, orders=20)
_Q3 = next(item for item in WORKLOADS if item.name == "Q3")


@dataclass
class Series:
    """The CPU time per request of a server, of PostgreSQL and of PgBouncer in µs, by round."""

    name: str
    server: Server
    requests: Sequence[bytes]
    pooler: Callable[[], float]
    rounds: list[tuple[float, float, float]] = field(default_factory=list)
    _sent: int = 0

    def measure(self, database: BenchDatabase, seconds: float) -> None:
        """Run a round."""
        before = self._seconds(database)
        sample = load.run(
            self.server.address, self.requests, connections=CONNECTIONS, seconds=seconds, first=self._sent
        )
        self._sent += sample.sent
        server, postgres, pooler = (
            (now - earlier) / sample.sent * 1e6 for now, earlier in zip(self._seconds(database), before, strict=True)
        )
        self.rounds.append((server, postgres, pooler))

    def _seconds(self, database: BenchDatabase) -> tuple[float, float, float]:
        return self.server.cpu_seconds, database.cpu_seconds, self.pooler()


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="bench.binding", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2.0)
    arguments = parser.parse_args()
    machine.pin_to_load_core()
    with running_postgres() as (server, log), ExitStack() as stack:
        database = asyncio.run(create_database(server, log, "bench_binding", _SIZE))
        series = _series(stack, database)
        for each in series:
            each.measure(database, arguments.seconds)  # warm-up
            each.rounds.clear()
        for number in range(arguments.rounds):
            for each in series[:: 1 if number % 2 else -1]:
                each.measure(database, arguments.seconds)
    print("| Q3 | server | PostgreSQL | PgBouncer | together |")
    print("|---|---:|---:|---:|---:|")
    for each in series:
        parts = [statistics.median(values) for values in zip(*each.rounds, strict=True)]
        total = statistics.median(map(sum, each.rounds))
        print(f"| {each.name} | {' | '.join(f'{part:,.0f}' for part in parts)} | {total:,.0f} |")


def _series(stack: ExitStack, database: BenchDatabase) -> list[Series]:
    series: list[Series] = []

    def add(name: str, server: Server, pooler: Callable[[], float] = lambda: 0.0) -> None:
        stores = signed_in_stores(server, _SIZE)
        one = _Q3.requests_by_contestant["vitrine"](stores[0])
        series.append(Series(f"{name}, same store", server, one, pooler))
        rotating = [request for requests in rotating_requests(stores, _Q3) for request in requests]
        series.append(Series(f"{name}, next store each time", server, rotating, pooler))

    add("transaction", stack.enter_context(launchers.vitrine(database)))
    if PROGRAM is not None:
        pooler = stack.enter_context(_running_pooler(database))
        settings = {"VITRINE_POOLER_URL": pooler.url(database.name)}
        name = f"transaction, PgBouncer {'.'.join(map(str, pooler.version))}"
        add(name, stack.enter_context(launchers.vitrine(database, settings=settings)), lambda: pooler.cpu_seconds)
    return series


@contextmanager
def _running_pooler(database: BenchDatabase) -> Iterator[PgBouncer]:
    async def create_role() -> None:
        connection = await asyncpg.connect(database.superuser_url)
        for statement in ROLE_STATEMENTS:
            await connection.execute(statement)
        await connection.close()

    asyncio.run(create_role())
    with tempfile.TemporaryDirectory(prefix="vitrine-bench-pgbouncer-") as folder:
        pooler = PgBouncer(Path(folder), database.server.socket_dir, database.server.port)
        pooler.start()
        try:
            yield pooler
        finally:
            pooler.kill()


if __name__ == "__main__":
    main()
