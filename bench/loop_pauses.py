"""Print the longest pause of the server's event loop, in milliseconds, for each of the worst requests: `python -m bench.loop_pauses`.

A real server in production mode on its own core; each request is sent three times, and the shortest of the three longest pauses counts.
Other load on the machine makes the pauses longer. The memory is the growth of the process to its peak.
"""

from __future__ import annotations

import asyncio
import http.client
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from bench import launchers
from bench.database import BenchDatabase, Size, create_database, running_postgres
from bench.measurement import sign_in
from bench.requests import RequestData
from bench.servers import Server
from bench.watched_server import PAUSE
from bench.worst_requests import FILL, GROUPS, FilledRecords, WorstRequest

TIMES = 3
SIZE = Size(products=1_000, users=500, orders=500)


def main() -> int:
    with running_postgres() as (postgres, log):
        database = asyncio.run(create_database(postgres, log, "loop_pauses", SIZE))
        records = asyncio.run(_fill(database))
        with watched_server(database) as (server, pauses):
            _print_pauses(server, pauses, records, RequestData(SIZE))
    return 0


async def _fill(database: BenchDatabase) -> FilledRecords:
    connection = await asyncpg.connect(database.superuser_url)
    try:
        [store] = await connection.fetch("SELECT min(id) AS id FROM tenants")
        many, long = await connection.fetch(
            "SELECT id, public_id FROM products WHERE tenant_id = $1 ORDER BY id LIMIT 2", store["id"]
        )
        for statement in FILL:
            await connection.execute(statement, store["id"], many["id"], long["id"])
        await connection.execute("ANALYZE")
        return FilledRecords(str(many["public_id"]), str(long["public_id"]))
    finally:
        await connection.close()


@contextmanager
def watched_server(database: BenchDatabase) -> Iterator[tuple[Server, Path]]:
    """Run a server whose longest pause is in the file yielded with it."""
    with tempfile.TemporaryDirectory(prefix="vitrine-pauses-") as folder:
        path = Path(folder) / "pause"
        path.write_bytes(PAUSE.pack(0))
        with launchers.vitrine(database, pauses=path) as server:
            yield server, path


def _print_pauses(server: Server, path: Path, records: FilledRecords, data: RequestData) -> None:
    print(f"{'request':45s} {'pause ms':>8s} {'total ms':>9s} {'MiB':>5s}  answer")
    for group in GROUPS.values():
        headers = {"bearer": {"Authorization": f"Bearer {sign_in(server, data)}"}, "basic": data.basic}
        for name, request in group(records):
            pause, seconds, growth, answer = float("inf"), 0.0, 0.0, ""
            for _ in range(TIMES):
                before = server.memory_mb
                reset_peak(server)
                reset_pause(path)
                seconds, answer = _send(server, request, {"X-Tenant-ID": data.store_id, **headers[request.auth]})
                pause = min(pause, read_pause(path))
                growth = max(growth, peak_mb(server) - before)
            print(f"{name:45s} {pause * 1e3:8.1f} {seconds * 1e3:9.0f} {growth:5.0f}  {answer}", flush=True)


def _send(server: Server, request: WorstRequest, headers: dict[str, str]) -> tuple[float, str]:
    connection = http.client.HTTPConnection(*server.address, timeout=60)
    started = time.monotonic()
    try:
        connection.request(request.method, request.path, request.body, {**headers, **request.headers})
        response = connection.getresponse()
        size = len(response.read())
        return time.monotonic() - started, f"{response.status}, {size:,} bytes"
    finally:
        connection.close()


def read_pause(path: Path) -> float:
    """Return the longest pause since the last reset, in seconds."""
    seconds: float = PAUSE.unpack(path.read_bytes())[0]
    return seconds


def reset_pause(path: Path) -> None:
    """Write zero in place: the server has the file mapped into its memory."""
    with path.open("r+b") as file:
        file.write(PAUSE.pack(0))


def reset_peak(server: Server) -> None:
    """Reset the peak of the resident memory (proc(5), /proc/pid/clear_refs)."""
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5", encoding="ascii")


def peak_mb(server: Server) -> float:
    """Return the highest resident memory since the last reset, in MB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


if __name__ == "__main__":
    sys.exit(main())
