"""Which modules of the product run for a request, warm: what runs only sometimes is left out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from tests.harness.programs import ROOT
from tests.test_repository import LAYERS

WARMING, COUNTED = 2, 3
# Called for each write where a test of the same process follows events.
_OF_OTHER_TESTS = {"server/http/event_tails.py"}


@contextmanager
def entered_modules() -> Iterator[set[str]]:
    """Collect the modules whose functions this thread calls inside the block."""
    names: dict[CodeType, str | None] = {}
    entered: set[str] = set()

    def profile(frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call":
            return
        if code not in names:
            path = code.co_filename.removeprefix(f"{ROOT}/")
            names[code] = path if path.split("/")[0] in LAYERS else None
        if names[code] is not None:
            entered.add(names[code])  # type: ignore[arg-type]  # None is left out

    previous = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield entered
    finally:
        sys.setprofile(previous)


async def modules_of(prepare: Callable[[], Awaitable[Callable[[], Awaitable[Any]]]]) -> set[str]:
    """Return the modules that each of a few warm requests enters; `prepare` returns what sends one."""
    counted: list[set[str]] = []
    for repetition in range(WARMING + COUNTED):
        send = await prepare()
        await asyncio.sleep(0.1)  # what the preparation left to do
        with entered_modules() as entered:
            response = await send()
        assert response.status < 300, (repetition, response)
        counted.append(entered)
    return set.intersection(*counted[WARMING:]) - _OF_OTHER_TESTS
