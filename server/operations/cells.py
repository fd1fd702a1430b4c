"""Which cell serves which store (docs/scaling.md#cells): derived from what the cells' databases say themselves.

A line of the map is a store's id or a host, in lower case, and the name of the cell, which is that of its backend in HAProxy.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from kernel.errors import OperatorError
from kernel.setting_types import has_hosts
from server.operations.written_files import replaced_file

Lines = dict[str, str]
"""The names of cells by store id and host."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SECONDS = 5.0
_MOST_CHARACTERS = 1_000_000
SERVES = "coalesce(t.move->>'state', '') NOT IN ('copying', 'left')"
"""Whether the store `t` is served here: what a move copies, or has left behind, is not."""
_SERVED = f"""
SELECT t.public_id::text AS id, t.move->>'ticket' AS ticket,
    CASE WHEN t.move->>'state' IN ('arrived', 'abandoned') THEN t.move->>'at' ELSE '' END AS arrived_at,
    ARRAY(SELECT h.host FROM store_hosts h WHERE h.store_id = t.id) AS hosts
FROM tenants t WHERE {SERVES}
"""


class CellError(OperatorError):
    """The cells, or their map, can't be used; the text is for the operator."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A database with the stores that it serves; the name is that of HAProxy's backend."""

    name: str
    url: str


@dataclass(frozen=True, slots=True)
class ServedStore:
    """A store with its hosts as a cell has it; `arrived_at` is empty unless the move with the ticket brought it, or was abandoned."""

    cell: str
    id: str
    hosts: tuple[str, ...]
    ticket: str | None = None
    arrived_at: str = ""


def read_cells(path: Path) -> tuple[Cell, ...]:
    """Read a file of cells: one a line, its name and the URL of its database; raises CellError."""
    cells: dict[str, Cell] = {}
    text = _read_text(path, _MOST_CHARACTERS + 1)  # a device has no end
    if len(text) > _MOST_CHARACTERS:
        raise CellError(f"{path} has more than {_MOST_CHARACTERS:,} characters; expected a line for each cell")
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        # The line isn't quoted: it may have a password.
        if len(words) != 2 or not _NAME.fullmatch(words[0]) or not _is_url(words[1]):
            raise CellError(f"{path}, line {number}: expected the name of a cell and postgresql://…")
        if words[0] in cells:
            raise CellError(f"{path}, line {number}: the cell {words[0]} was named before")
        cells[words[0]] = Cell(*words)
    if not cells:
        raise CellError(f"{path} names no cell")
    return tuple(cells.values())


def _read_text(path: Path, most: int = -1) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(most)
    except UnicodeDecodeError as error:
        raise CellError(f"{path} is not UTF-8") from error


def _is_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        # Several hosts are no port that urlsplit can read.
        is_postgresql = url.scheme in ("postgresql", "postgres") and has_hosts(url)
        return is_postgresql and ("," in url.netloc or url.port != 0)
    except ValueError:
        return False


async def read_stores(cell: Cell) -> tuple[ServedStore, ...]:
    """Return the stores that a cell serves; raises OSError, TimeoutError or an error of asyncpg when it can't be read."""
    async with asyncio.timeout(_SECONDS):
        connection = await asyncpg.connect(cell.url, server_settings={"application_name": "vitrine cells"})
        try:
            rows = await connection.fetch(_SERVED)
        finally:
            connection.terminate()
    return tuple(
        ServedStore(cell.name, row["id"], tuple(row["hosts"]), row["ticket"], row["arrived_at"]) for row in rows
    )


def build_lines(stores: Iterable[ServedStore]) -> Lines:
    """Return the lines of all stores; raises CellError for a store or host in two cells.

    Between the two transactions of a move's switch, and as long as one cell's answer is older, both have the store: it is where it arrived.
    """
    serving: dict[str, ServedStore] = {}
    for store in stores:
        other = serving.setdefault(store.id, store)
        if other is not store:
            if store.ticket is None or store.ticket != other.ticket:
                raise CellError(f"the store {store.id} is in the cells {other.cell} and {store.cell}")
            serving[store.id] = max(other, store, key=lambda each: each.arrived_at)
    lines: Lines = {}
    for store in serving.values():
        for key in (store.id, *store.hosts):
            if lines.setdefault(key, store.cell) != store.cell:
                raise CellError(f"the address {key} is in the cells {lines[key]} and {store.cell}")
    return lines


def merge_lines(present: Lines, known: Mapping[str, tuple[ServedStore, ...] | None]) -> Lines:
    """Return the lines of the cells' stores; while a cell can't be read (None), no line of the present map goes away.

    So its stores keep their lines, and one that has just moved to it leads to the cell that it left, which answers 503.
    """
    lines = build_lines(store for stores in known.values() for store in stores or ())
    return present | lines if None in known.values() else lines


def read_map(path: Path) -> Lines:
    """Return the lines of a map file, none where there is no file."""
    try:
        text = _read_text(path)
    except FileNotFoundError:
        return {}
    return dict(words for line in text.splitlines() if len(words := line.split()) == 2)


def write_map(path: Path, lines: Lines) -> None:
    """Replace a map file, atomically."""
    with replaced_file(path) as file:
        file.writelines(f"{key} {lines[key]}\n" for key in sorted(lines))
