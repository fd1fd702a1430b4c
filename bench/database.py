"""Start a dedicated PostgreSQL and fill databases with deterministic data."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from auth.passwords import hash_password
from kernel.ids import uuid7
from kernel.signatures import token_hash
from models.migrate import migrate
from server.embedded_postgres import EmbeddedPostgres, EmbeddedServer
from server.embedded_postgres.data_folder import OWNER

SQL = Path(__file__).parent / "sql"
PASSWORD = "correct horse battery"
API_KEY = "the key of the bench's administrator"
# Typical production settings for this machine. fsync and synchronous_commit stay on: W1 and A1 wait for the disk, as in production.
OPTIONS: Mapping[str, str] = {"max_connections": "200", "shared_buffers": "512MB", "max_wal_size": "2GB"}


@dataclass(frozen=True)
class Size:
    """The number of records in a database; products, users and orders are per store, and two carts per order."""

    stores: int = 1
    products: int = 10_000
    users: int = 5_000
    orders: int = 20_000


@dataclass(frozen=True)
class BenchDatabase:
    """A filled database; `log` is the server's log, for counting statements."""

    server: EmbeddedServer
    name: str
    size: Size
    log: Path

    @property
    def cpu_seconds(self) -> float:
        """Return the user and system time of PostgreSQL's processes so far, those that have ended included."""
        data_folder = self.log.parent / "data"
        postmaster = int((data_folder / "postmaster.pid").read_text(encoding="ascii").split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text(encoding="ascii").split()
        return cpu_seconds(postmaster, with_ended=True) + sum(cpu_seconds(int(child)) for child in children)

    @property
    def owner_url(self) -> str:
        return self.server.url(self.name)

    @property
    def superuser_url(self) -> str:
        return self.server.superuser_url(self.name)


def cpu_seconds(process: int, *, with_ended: bool = False) -> float:
    """Return the user and system time of a process with all threads (proc(5), /proc/pid/stat); 0 for one that is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_ended else 13])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running_postgres() -> Iterator[tuple[EmbeddedServer, Path]]:
    """Run a PostgreSQL in a temporary folder; yields the server and its log."""
    with tempfile.TemporaryDirectory(prefix="vitrine-bench-") as folder:
        data_folder = Path(folder) / "postgres"
        postgres = EmbeddedPostgres(data_folder, options=OPTIONS)
        try:
            yield postgres.start(), data_folder / "log"
        finally:
            postgres.stop()


async def create_database(server: EmbeddedServer, log: Path, name: str, size: Size) -> BenchDatabase:
    """Create, migrate and fill a database."""
    started_at = time.monotonic()
    connection = await asyncpg.connect(server.superuser_url())
    try:
        await connection.execute(f"create database {name} owner {OWNER}")
    finally:
        await connection.close()
    database = BenchDatabase(server, name, size, log)
    await migrate(database.owner_url)
    connection = await asyncpg.connect(database.superuser_url)
    try:
        await _fill(connection, size)
        await connection.execute((SQL / "writes.sql").read_text(encoding="utf-8"))
    finally:
        await connection.close()
    print(f"  {name}: {size} in {time.monotonic() - started_at:.0f} s", flush=True)
    return database


async def add_stores(database: BenchDatabase, first: int, size: Size) -> None:
    """Fill a database with stores of another size, from the number `first` to that of `size`."""
    connection = await asyncpg.connect(database.superuser_url)
    try:
        await _fill(connection, size, first)
    finally:
        await connection.close()


async def _fill(connection: asyncpg.Connection, size: Size, first: int = 1) -> None:
    numbers = (first, size.stores, size.products, size.users, size.orders)
    for statement in _statements():
        await connection.execute(_with_numbers(statement, numbers))
    await connection.execute("select setval(pg_get_serial_sequence('tenants', 'id'), (select max(id) from tenants))")
    await connection.execute(
        "update users set password_hash = $1 where tenant_id >= $2", await hash_password(PASSWORD), first
    )
    await connection.execute(
        "insert into api_keys (tenant_id, public_id, user_id, key_hash, hint, name)"
        " select id, $1, owner_id, $2, 'ator', 'bench' from tenants where id >= $3",
        uuid7(),
        token_hash(API_KEY),
        first,
    )
    await connection.execute("vacuum analyze")
    await connection.execute("checkpoint")


def _with_numbers(statement: str, numbers: tuple[int, ...]) -> str:
    """Replace the parameters by literals: each statement uses only some, which PostgreSQL does not accept."""
    return re.sub(r"\$(\d)(?:::bigint)?", lambda match: f"{numbers[int(match[1]) - 1]}::bigint", statement)


def _statements() -> list[str]:
    return re.split(r"^-- name: .*$", (SQL / "fill.sql").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]


class StatementLog:
    """Counts the statements that reach the server in its log, for every contestant in the same way."""

    _STATEMENT = re.compile(r"LOG:  (?:execute [^:]*|statement): ([^\n]*)")

    def __init__(self, database: BenchDatabase) -> None:
        self.database = database

    async def enable(self, enabled: bool) -> None:
        connection = await asyncpg.connect(self.database.superuser_url)
        try:
            if enabled:
                await connection.execute("alter system set log_statement = 'all'")
            else:
                await connection.execute("alter system reset log_statement")
            await connection.execute("select pg_reload_conf()")
        finally:
            await connection.close()
        await asyncio.sleep(0.3)  # every backend reloads its settings before its next statement

    def position(self) -> int:
        return self.database.log.stat().st_size

    def since(self, position: int) -> list[str]:
        with self.database.log.open("rb") as file:
            file.seek(position)
            return self._STATEMENT.findall(file.read().decode("utf-8", errors="replace"))
