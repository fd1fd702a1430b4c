"""Run coroutine functions with values that Hypothesis generates and shrinks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


async def fuzz(
    run: Callable[..., Coroutine[Any, Any, None]], examples: int, *strategies: st.SearchStrategy[Any]
) -> None:
    """Run a coroutine function on the current event loop with generated arguments; Hypothesis works in a thread."""
    loop = asyncio.get_running_loop()

    @settings(max_examples=examples, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.tuples(*strategies))
    def each(arguments: tuple[Any, ...]) -> None:
        asyncio.run_coroutine_threadsafe(run(*arguments), loop).result()

    await asyncio.to_thread(each)
