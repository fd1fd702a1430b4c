"""Run `vitrine` and record the longest pause of its event loop, in seconds, as a double in the file BENCH_PAUSES."""

from __future__ import annotations

import asyncio
import mmap
import os
import struct
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import uvloop

from server import cli

PAUSE = struct.Struct("d")
_INTERVAL = 0.001
_run = uvloop.run


async def _watched(main: Coroutine[Any, Any, Any]) -> Any:
    watching = asyncio.create_task(_watch(Path(os.environ["BENCH_PAUSES"])))
    try:
        return await main
    finally:
        watching.cancel()


async def _watch(path: Path) -> None:
    """Sleep for a millisecond again and again; what a sleep takes longer is a pause of the loop."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), PAUSE.size) as shared:
        before = time.monotonic()
        while True:
            await asyncio.sleep(_INTERVAL)
            now = time.monotonic()
            if now - before - _INTERVAL > PAUSE.unpack_from(shared)[0]:
                PAUSE.pack_into(shared, 0, now - before - _INTERVAL)
            before = now


def _run_watched(main: Coroutine[Any, Any, Any], **options: Any) -> Any:
    return _run(_watched(main), **options)


if __name__ == "__main__":
    uvloop.run = _run_watched
    sys.exit(cli.main())
