"""Write the map of cells once, or follow the cells: `vitrine cells map`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from auth.store_resolution import CHANNEL
from models.connection.database import DatabaseSettings
from models.connection.notices import Listener
from server.operations.cells import Cell, CellError, Lines, ServedStore, merge_lines, read_map, read_stores, write_map
from server.operations.haproxy_maps import update_map

_READ_AGAIN_SECONDS = 60.0
_UNREADABLE_SECONDS = 5.0
# Notices of many stores become one reading.
_COLLECT_SECONDS = 0.3
_FAILED_SECONDS = 1.0

logger = logging.getLogger("vitrine.cells")

Stores = tuple[ServedStore, ...]


@dataclass(frozen=True, slots=True)
class MapChange:
    """What writing the map did: its lines, how many of the file and of HAProxy's map differed, and why cells couldn't be read."""

    lines: Lines
    written: int
    sent: int
    unreadable: dict[str, str]


class CellMap:
    """The map of the cells at a path, and in an HAProxy with an admin socket at another."""

    def __init__(self, cells: Sequence[Cell], path: Path, socket: Path | None) -> None:
        self._cells = cells
        self._path = path
        self._socket = socket
        self._known: dict[str, Stores | None] = {cell.name: None for cell in cells}
        self._due = asyncio.Event()
        self._problem = ""
        self._unreadable: dict[str, str] = {}

    async def update(self) -> MapChange:
        """Read all cells and write the map; raises CellError, before anything is written, for a store in two cells."""
        await asyncio.gather(*(self._read(cell) for cell in self._cells))
        return await self._write()

    async def follow(self) -> None:
        """Write the map whenever a cell says that a store has changed, and at least once a minute."""
        async with asyncio.TaskGroup() as tasks:
            for cell in self._cells:
                tasks.create_task(self._follow_cell(cell))
            while True:
                await self._due.wait()
                self._due.clear()
                if not await self._try_to_write():
                    await asyncio.sleep(_FAILED_SECONDS)
                    self._due.set()

    async def _try_to_write(self) -> bool:
        try:
            change = await self._write()
        except (CellError, OSError) as error:
            if str(error) != self._problem:
                self._problem = str(error)
                logger.warning("the map of cells was not changed: %s", error)
            return False
        self._problem = ""
        if change.written or change.sent:
            logger.info(
                "the map of cells: %d lines, %d written, %d sent", len(change.lines), change.written, change.sent
            )
        return True

    async def _follow_cell(self, cell: Cell) -> None:
        """Read a cell when its database notifies of a changed store, or after a while."""
        changed = asyncio.Event()
        listener = Listener(DatabaseSettings(cell.url), role=None)
        listening = asyncio.create_task(listener.listen(CHANNEL, lambda _: changed.set(), changed.set))
        try:
            while True:
                changed.clear()
                was_readable = cell.name not in self._unreadable
                is_readable = await self._read(cell)
                if was_readable and not is_readable:
                    reason = self._unreadable[cell.name]
                    logger.warning("the cell %s can't be read, and its lines stay: %s", cell.name, reason)
                self._due.set()
                try:
                    async with asyncio.timeout(_READ_AGAIN_SECONDS if is_readable else _UNREADABLE_SECONDS):
                        await changed.wait()
                except TimeoutError:
                    continue
                await asyncio.sleep(_COLLECT_SECONDS)
        finally:
            listening.cancel()
            await listener.close()

    async def _read(self, cell: Cell) -> bool:
        """Read what a cell serves; return whether it could be read."""
        try:
            self._known[cell.name] = await read_stores(cell)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
            self._known[cell.name] = None
            self._unreadable[cell.name] = repr(error)
            return False
        self._unreadable.pop(cell.name, None)
        return True

    async def _write(self) -> MapChange:
        present = read_map(self._path)
        lines = merge_lines(present, self._known)
        differences = len(dict(present.items() ^ lines.items()))
        if differences or not self._path.exists():
            write_map(self._path, lines)
        sent = await update_map(self._socket, self._path, lines) if self._socket is not None else 0
        return MapChange(lines, differences, sent, dict(self._unreadable))
