"""What `LoopPauses` measures: the CPU time of each round of the event loop."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from tests.hostile.loop_pauses import LoopPauses, unit_of_work

# `unit_of_work` takes the shortest of three.
WORKS = 3


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """Don't measure a collection of what other tests left, which takes as long as ten units of work."""
    gc.disable()
    yield
    gc.enable()


async def test_the_work_of_one_round_is_one_pause():
    with LoopPauses() as pauses:
        await asyncio.sleep(0)
        for _ in range(2):
            unit_of_work()
        await asyncio.sleep(0)
    assert pauses.longest >= 2 * WORKS * unit_of_work() * 0.7


async def test_the_work_of_several_rounds_is_several_pauses():
    with LoopPauses() as pauses:
        for _ in range(6):
            await asyncio.sleep(0)
            unit_of_work()
        await asyncio.sleep(0)
    assert 0.7 * WORKS * unit_of_work() <= pauses.longest <= 4 * WORKS * unit_of_work()


async def test_waiting_is_no_pause():
    with LoopPauses() as pauses:
        await asyncio.sleep(0.05)
    assert pauses.longest < unit_of_work()
