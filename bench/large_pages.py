"""Measure large pages of CS-Cart's dialect: `python -m bench.large_pages [--products N]`; print each bar, exit with 1 unless all are met.

One page of 50,000 of 100,000 products, and all of them, are read from a server in production mode while another client asks for a single
product again and again. Memory is the growth of the process to its peak, a delay the longest pause of the event loop. The server and this
program use a core each; other load on the machine makes the delays longer.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from bench.bars import Bar, table
from bench.database import BenchDatabase, Size, create_database, running_postgres
from bench.loop_pauses import peak_mb, read_pause, reset_pause, reset_peak, watched_server
from bench.requests import RequestData
from bench.servers import Server

PRODUCTS = 100_000
PAGES = ("items_per_page=50000", "items_per_page=50000&page=2", "items_per_page=0")
MAX_EXTRA_MIB = 64.0
MAX_PAUSE_MS = 50.0
_CHUNK = 1 << 16
_TIMEOUT_SECONDS = 300


@dataclass
class Probe:
    """A client that reads one product at a time until it is stopped; `seconds` are its waiting times."""

    server: Server
    headers: dict[str, str]
    seconds: list[float] = field(default_factory=list)

    def run_while(self, action: Callable[[], None]) -> None:
        """Send requests while an action runs."""
        stop = threading.Event()
        thread = threading.Thread(target=self._send_until, args=(stop,))
        thread.start()
        try:
            action()
        finally:
            stop.set()
            thread.join()

    def _send_until(self, stop: threading.Event) -> None:
        connection = http.client.HTTPConnection(*self.server.address, timeout=_TIMEOUT_SECONDS)
        while not stop.is_set():
            started = time.monotonic()
            connection.request("GET", "/api/products/1", headers=self.headers)
            connection.getresponse().read()
            self.seconds.append(time.monotonic() - started)
            time.sleep(0.005)
        connection.close()


@dataclass(frozen=True)
class Measurement:
    """One page: its records and bytes, what it took, and the waiting times of the other client in milliseconds."""

    page: str
    records: int
    size: int
    seconds: float
    extra_mib: float
    pause_ms: float
    waits_ms: Sequence[float]

    @property
    def bars(self) -> list[Bar]:
        """Compare the memory and the delay with what is allowed."""
        memory, pause = self.extra_mib, self.pause_ms
        return [
            Bar(
                f"{self.page}: extra memory",
                f"{memory:.1f} MiB",
                f"at most {MAX_EXTRA_MIB:g} MiB",
                memory <= MAX_EXTRA_MIB,
            ),
            Bar(
                f"{self.page}: delay of others",
                f"{pause:.1f} ms",
                f"at most {MAX_PAUSE_MS:g} ms",
                pause <= MAX_PAUSE_MS,
            ),
        ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.large_pages", description=__doc__)
    parser.add_argument("--products", type=int, default=PRODUCTS, help="products in the store")
    size = Size(products=parser.parse_args().products, users=100, orders=100)
    with running_postgres() as (postgres, log):
        database = asyncio.run(create_database(postgres, log, "large_pages", size))
        asyncio.run(_select_dialect(database))
        with watched_server(database) as (server, pauses):
            data = RequestData(size)
            headers = {"X-Tenant-ID": data.store_id, **data.basic}
            probe = Probe(server, headers)
            probe.run_while(lambda: time.sleep(3))
            probe.seconds.clear()
            reset_pause(pauses)
            probe.run_while(lambda: time.sleep(3))  # what the machine itself delays
            waits, pause = _waits([wait * 1e3 for wait in probe.seconds]), read_pause(pauses) * 1e3
            print(f"one product without a page: {waits}, longest pause {pause:.1f} ms", flush=True)
            measurements = [_measure(server, pauses, headers, page) for page in PAGES]
    bars = [bar for measurement in measurements for bar in measurement.bars]
    print(table(bars))
    return 0 if all(bar.is_met for bar in bars) else 1


async def _select_dialect(database: BenchDatabase) -> None:
    connection = await asyncpg.connect(database.superuser_url)
    try:
        await connection.execute("""update tenants set settings = settings || '{"legacy_lists": "cscart"}'""")
    finally:
        await connection.close()


def _measure(server: Server, pauses: Path, headers: dict[str, str], page: str) -> Measurement:
    probe = Probe(server, headers)
    before = server.memory_mb
    reset_peak(server)
    reset_pause(pauses)
    answer: list[tuple[int, int]] = []
    started = time.monotonic()
    probe.run_while(lambda: answer.append(_read(server, headers, f"/api/products?{page}")))
    seconds = time.monotonic() - started
    [(records, size)] = answer
    measured = Measurement(
        page,
        records,
        size,
        seconds,
        peak_mb(server) - before,
        read_pause(pauses) * 1e3,
        [wait * 1e3 for wait in probe.seconds],
    )
    print(
        f"{page}: {records:,} products, {size / 1e6:.0f} MB in {seconds:.1f} s, {measured.extra_mib:.1f} MiB,"
        f" longest pause {measured.pause_ms:.1f} ms; one product meanwhile: {_waits(measured.waits_ms)}",
        flush=True,
    )
    return measured


def _read(server: Server, headers: dict[str, str], path: str) -> tuple[int, int]:
    """Return the number of products of a page and its bytes, which are not kept."""
    connection = http.client.HTTPConnection(*server.address, timeout=_TIMEOUT_SECONDS)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    assert response.status == 200, response.status
    size, records, tail = 0, 0, b""
    while chunk := response.read(_CHUNK):
        size += len(chunk)
        text = tail + chunk
        records += text.count(b'{"product_id":')
        tail = text[-len(b'{"product_id":') + 1 :]
    connection.close()
    end = tail[tail.rfind(b"}") - 1 :]
    assert end.strip().endswith(b"}"), json.dumps(end.decode(errors="replace"))
    return records, size


def _waits(milliseconds: Sequence[float]) -> str:
    ordered = sorted(milliseconds)
    late = ordered[int(len(ordered) * 0.99)]
    return f"median {statistics.median(ordered):.1f} ms, 99 % within {late:.1f} ms, at most {ordered[-1]:.1f} ms ({len(ordered)})"


if __name__ == "__main__":
    sys.exit(main())
