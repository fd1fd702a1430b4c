"""Access log lines are written in batches, whole, in order, and none is lost at exit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson

ROOT = Path(__file__).resolve().parents[2]

PREPARED = """
import asyncio, os
from kernel import logging
writes = []
real = os.write
def noted(fd, data):
    writes.append(len(data))
    return real(fd, data)
os.write = noted
logging.configure(development=False)
"""


def run(program: str) -> tuple[list[dict[str, object]], str]:
    """Run a program; return its log lines and its output."""
    process = subprocess.run(
        [sys.executable, "-c", PREPARED + program], cwd=ROOT, capture_output=True, timeout=60, check=True
    )
    return [orjson.loads(line) for line in process.stderr.splitlines()], process.stdout.decode().strip()


def test_access_log_lines_are_buffered_and_no_write_exceeds_the_atomic_pipe_size():
    lines, printed = run("""
async def main():
    for number in range(100):
        logging.access({"number": number, "path": "/" + "x" * 100})
    await asyncio.sleep(0.2)
    print(len(writes), max(writes))
    logging.access({"number": 100})
    await asyncio.sleep(0.2)
    print(len(writes))
asyncio.run(main())
""")
    assert [line["number"] for line in lines] == list(range(101))
    first, after = printed.splitlines()
    count, longest = map(int, first.split())
    assert count < 10
    assert longest <= 4096
    assert int(after) == count + 1


def test_a_longer_line_is_written_separately():
    lines, _ = run("""
async def main():
    logging.access({"number": 1})
    logging.access({"number": 2, "path": "x" * 9000})
    logging.access({"number": 3})
    await asyncio.sleep(0.2)
    assert len(writes) == 3, writes
asyncio.run(main())
""")
    assert [line["number"] for line in lines] == [1, 2, 3]


def test_other_events_keep_their_order_among_access_log_lines():
    lines, _ = run("""
async def main():
    logging.access({"number": 1})
    logging.event("meanwhile")
    logging.access({"number": 2})
    logging.failure("unexpected error", ValueError())
    await asyncio.sleep(0.2)
asyncio.run(main())
""")
    assert [line.get("number", line["event"]) for line in lines] == [1, "meanwhile", 2, "unexpected error"]


def test_no_line_is_lost_at_exit_or_with_a_new_event_loop():
    lines, _ = run("""
async def main(number):
    logging.access({"number": number})
asyncio.run(main(1))
async def waiting():
    await main(2)
    await asyncio.sleep(0.2)
    assert len(writes) == 1, writes
asyncio.run(waiting())
asyncio.run(main(3))
raise SystemExit(0)
""")
    assert [line["number"] for line in lines] == [1, 2, 3]


def test_without_an_event_loop_a_line_is_written_immediately():
    lines, printed = run("""
logging.access({"number": 1})
print(len(writes))
""")
    assert (len(lines), printed) == (1, "1")
