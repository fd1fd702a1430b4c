"""Render pictures in processes of their own, and keep the files for the next demo store."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from server.demo.pictures.pictures import Picture

_PROCESSES = 2
_TIMEOUT_SECONDS = 120.0


async def render_pictures(pictures: Sequence[Picture], folder: Path) -> dict[Picture, Path]:
    """Return the file of each picture in the folder; those that aren't there yet are rendered."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    paths = {picture: folder / _file_name(picture) for picture in pictures}
    missing = [_request(picture, path) for picture, path in paths.items() if not path.exists()]
    parts = [part for i in range(_PROCESSES) if (part := missing[i::_PROCESSES])]
    async with asyncio.timeout(_TIMEOUT_SECONDS):
        # No process is left behind by the failure of another one.
        for failure in await asyncio.gather(*map(_run_child, parts), return_exceptions=True):
            if failure is not None:
                raise failure
    return paths


def _file_name(picture: Picture) -> str:
    """Return a name that differs when the drawing or the program that renders it differs."""
    content = f"{version('pyvips-binary')} {picture.scale} {picture.svg}"
    return f"{hashlib.sha256(content.encode()).hexdigest()}.{picture.format}"


def _request(picture: Picture, path: Path) -> dict[str, Any]:
    return {"svg": picture.svg, "scale": picture.scale, "format": picture.format, "path": str(path)}


async def _run_child(requests: Sequence[dict[str, Any]]) -> None:
    # One thread each: the pictures are shared out to as many processes as there are cores.
    environment = os.environ | {"VIPS_CONCURRENCY": "1"}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "server.demo.pictures.child", stdin=PIPE, stdout=DEVNULL, stderr=PIPE, env=environment
    )
    try:
        _, errors = await child.communicate(json.dumps(requests).encode())
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise RuntimeError(f"pictures of the demo can't be rendered: {errors.decode(errors='replace').strip()[-500:]}")
