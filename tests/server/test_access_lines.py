"""Lines of finished requests are written a few at a time, whole, in order, and none is lost at the end."""

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
    """Run a program; gives what it logged and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", PREPARED + program], cwd=ROOT, capture_output=True, timeout=60, check=True
    )
    return [orjson.loads(line) for line in done.stderr.splitlines()], done.stdout.decode().strip()


def test_lines_are_written_together_and_no_write_is_longer_than_a_pipe_keeps_whole():
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


def test_a_line_longer_than_that_is_written_alone():
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


def test_what_happens_meanwhile_stands_behind_them():
    lines, _ = run("""
async def main():
    logging.access({"number": 1})
    logging.event("meanwhile")
    logging.access({"number": 2})
    logging.failure("accident", ValueError())
    await asyncio.sleep(0.2)
asyncio.run(main())
""")
    assert [line.get("number", line["event"]) for line in lines] == [1, "meanwhile", 2, "accident"]


def test_none_is_lost_when_the_program_ends_or_another_loop_begins():
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


def test_without_a_loop_a_line_is_written_at_once():
    lines, printed = run("""
logging.access({"number": 1})
print(len(writes))
""")
    assert (len(lines), printed) == (1, "1")
