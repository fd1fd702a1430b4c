"""Change a map of a running HAProxy by its runtime API (HAProxy 2.6, management guide, section 9.3).

Only what differs is sent: a moved store is some lines, and each is replaced in place. A transaction (`prepare map`, `commit map`) would
send all lines each time and hold them twice; that all change at once is of no use, because where a store was, it is refused until its
line has followed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from server.operations.cells import CellError, Lines

_SECONDS = 10.0
# A line of commands has to fit into HAProxy's buffer (tune.bufsize, 16 KiB).
_LINE_BYTES = 12_000


async def update_map(socket: Path, path: Path, lines: Lines) -> int:
    """Let HAProxy's map of the file have these lines; return how many were different. Raises CellError."""
    changes = _changes(str(path), await show_map(socket, path), lines)
    for batch in _batches(changes):
        if answer := " ".join((await _send(socket, batch)).split()):
            raise CellError(f"HAProxy refuses a change of its map {path}: {answer[:200]}")
    return len(changes)


async def show_map(socket: Path, path: Path) -> Lines:
    """Return the lines of HAProxy's map of the file; raises CellError."""
    answer = await _send(socket, f"show map {path}")
    rows = [line.split() for line in answer.splitlines() if line]
    if any(len(row) != 3 or not row[0].startswith("0x") for row in rows):
        raise CellError(f"HAProxy has no map {path}: {' '.join(answer.split())[:200]}")
    return {key: cell for _, key, cell in rows}


def _changes(path: str, present: Lines, lines: Lines) -> list[str]:
    added = [f"add map {path} {key} {cell}" for key, cell in lines.items() if key not in present]
    changed = [f"set map {path} {key} {cell}" for key, cell in lines.items() if present.get(key, cell) != cell]
    return [*changed, *added, *(f"del map {path} {key}" for key in present if key not in lines)]


def _batches(commands: Sequence[str]) -> list[str]:
    batches: list[str] = []
    for command in commands:
        if batches and len(batches[-1]) + len(command) < _LINE_BYTES:
            batches[-1] += f";{command}"
        else:
            batches.append(command)
    return batches


async def _send(socket: Path, commands: str) -> str:
    try:
        async with asyncio.timeout(_SECONDS):
            reader, writer = await asyncio.open_unix_connection(str(socket))
            try:
                writer.write(f"{commands}\n".encode())
                return (await reader.read()).decode(errors="replace")
            finally:
                writer.close()
    except OSError as error:
        raise CellError(f"HAProxy doesn't answer at {socket}: {error!r}") from error
