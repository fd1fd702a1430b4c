"""Move one store between installations: `vitrine tenant export` and `import` (docs/deploy.md#move-a-store).

The file holds the rows of every table of stores, as PostgreSQL's COPY writes them, in one snapshot, with a checksum each. Ids, numbers and
UUIDs stay; only the store's own id, which no client sees, and those of apps are the importing installation's. Encrypted values are
under a transfer key, which is in a file of its own. An import is one transaction, and is committed when every checksum is right. The
contents of media files are read after the snapshot, and stored before that transaction.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import zipfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, time_ns
from typing import Any
from uuid import UUID

import asyncpg

from auth.secrets import key_id, secret_keys, use_secret_keys
from auth.store_resolution import CHANNEL
from domain.reencryption import ENCRYPTED_COLUMNS, reencrypt_relation
from kernel.scope import Store
from kernel.setting_types import MIN_SECRET_LENGTH
from models import migrate
from models.connection.catalog_versions import UNUSED
from models.table_contents import OF_STORE, STORES, Digest, Table, columns_sql, connect_unlimited, digest, read_tables
from server.embedded_postgres.data_folder import sync_folder
from server.operations.app_copies import NONE, write_apps
from server.operations.archives import TABLE_FORM, ArchiveError, new_archive, open_archive, read_chunks, write_manifest
from server.operations.media_contents import AVIF_IS_DUE, ContentCount, find_contents, read_contents, write_contents
from server.operations.written_files import named_in_errors

KIND = "export of a store"
_FORM = {
    "store": {"id": int, "public_id": UUID, "name": str, "hosts": [str]},
    "key_id": str,
    "tables": {str: TABLE_FORM},
}
_COUNTED = frozenset({"store_usage", "schema_usage"})
NOT_MOVED = _COUNTED | {"search_entries", "search_words", "unlisted_products", "catalogue_versions"}
"""Tables of stores that triggers fill from the others, in the importing installation too, and what each installation counts."""

HOSTS, APPS, COUNTERS = "store_hosts", "apps", "number_counters"
_APP = "app_id"
# What else belongs to the store with the id {0}.
_PLATFORM_ROWS: Mapping[str, str] = {
    STORES: "t.id = {0}",
    HOSTS: "t.store_id = {0}",
    APPS: "(t.registered_in = {0} OR t.id IN (SELECT i.app_id FROM app_installations i WHERE i.tenant_id = {0}))",
}
_SET_BY_INSTALLATION = frozenset({OF_STORE, "store_id"})
# Of the row in `tenants`: its id, whether it is read-only, which it isn't after the move, and the state of another kind of move.
_STORE_STATE = {"id", "is_read_only", "move"}
_KEY_BYTES = 48
# A changed status reaches every process within a second (domain/stores.py).
_STATUS_SECONDS = 1.0
_POLL_SECONDS = 0.1
_FEW_IDS = 10_000
# Longer than a request may take by default.
_TRANSACTION_SECONDS = 40
_TRANSACTIONS = """
    select coalesce(array_agg(l.virtualtransaction), '{}')
    from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'virtualxid' and l.mode = 'ExclusiveLock' and l.granted and a.datname = current_database()
        and l.pid <> pg_catalog.pg_backend_pid()
"""


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one table that move with a store: the columns in the file, and those in its checksum."""

    table: Table
    columns: tuple[str, ...]
    compared: tuple[str, ...]
    condition: str

    def where(self, store_id: int) -> str:
        """Return the condition on the rows `t` of a store."""
        return self.condition.format(int(store_id))

    @property
    def copy_name(self) -> str:
        """Return the name of the temporary table with the rows."""
        return f"moving_{self.table.name}"


@dataclass(frozen=True, slots=True)
class Moved:
    """What was exported or imported."""

    public_id: UUID
    name: str
    hosts: tuple[str, ...]
    tables: Mapping[str, Digest]
    media: ContentCount

    @property
    def rows(self) -> int:
        """Return the number of rows of all tables."""
        return sum(digest.rows for digest in self.tables.values())


async def store_parts(connection: asyncpg.Connection) -> tuple[Part, ...]:
    """Return what moves with a store, each table after those it references; the counters last, because inserted rows raise them."""
    parts = [_part(table) for table in await read_tables(connection) if _moves(table)]
    return tuple(sorted(parts, key=lambda part: part.table.name == COUNTERS))


async def move_parts(connection: asyncpg.Connection) -> tuple[Part, ...]:
    """Return what is copied without triggers: what they fill too, but not what each installation counts."""
    tables = [table for table in await read_tables(connection) if table.is_of_store or table.name in _PLATFORM_ROWS]
    return tuple(_part(table) for table in tables if table.name not in _COUNTED)


def _moves(table: Table) -> bool:
    return table.name in _PLATFORM_ROWS or (table.is_of_store and table.name not in NOT_MOVED)


def _part(table: Table) -> Part:
    condition = _PLATFORM_ROWS.get(table.name, f"t.{OF_STORE} = {{0}}")
    columns = tuple(column for column in table.columns if column not in _SET_BY_INSTALLATION)
    changed = {column.column for column in ENCRYPTED_COLUMNS if column.table == table.name} | {_APP}
    changed |= _STORE_STATE if table.name == STORES else set()
    compared = tuple(column for column in columns if column not in changed)
    return Part(table, columns, compared, condition)


async def raise_sequence(connection: asyncpg.Connection, part: Part) -> None:
    """Raise the sequence of a table's ids past those of the loaded rows.

    Other stores draw ids meanwhile: `setval` could set back what they have drawn since `last_value` was read, so it is used where they
    would have to draw thousands within that moment.
    """
    sequence = part.table.sequence
    if sequence is None:
        return
    await connection.execute(
        f"SELECT CASE WHEN gap > {_FEW_IDS} THEN setval($1::regclass, id)"
        " ELSE (SELECT count(nextval($1::regclass)) FROM generate_series(1, gap)) END"
        " FROM (SELECT m.id, m.id - s.last_value + (NOT s.is_called)::int AS gap"
        f" FROM (SELECT max(id) AS id FROM {part.copy_name}) m, {sequence} s) g WHERE gap > 0",
        sequence,
    )


async def wait_for_transactions(connection: asyncpg.Connection) -> None:
    """Wait until every transaction of the database has ended that may have begun before the store's status changed.

    Raises ArchiveError after 40 s.
    """
    await asyncio.sleep(_STATUS_SECONDS)
    running = set(await connection.fetchval(_TRANSACTIONS))
    deadline = monotonic() + _TRANSACTION_SECONDS
    while running := running & set(await connection.fetchval(_TRANSACTIONS)):
        if monotonic() > deadline:
            raise ArchiveError(
                f"{len(running)} transactions have been open for {_TRANSACTION_SECONDS} s: end them, and repeat this"
            )
        await asyncio.sleep(_POLL_SECONDS)


# --- Exporting -------------------------------------------------------------------------------------------------------------


async def export_store(url: str, store: Store, hosts: tuple[str, ...], path: Path, key_path: Path) -> Moved:
    """Write the store's rows, read in one snapshot at the owner's URL, to a new file, and its transfer key to another.

    An existing key file is used. Raises ArchiveError, and when a value can't be read with any configured key.
    """
    key, created_at = _transfer_key(key_path)
    try:
        with new_archive(path) as archive, _encrypting_with(key):
            async with connect_owner(url, store.id) as connection, connection.transaction(isolation="repeatable_read"):
                parts = await store_parts(connection)
                tables = {part.table.name: await _export_part(connection, archive, part, store.id) for part in parts}
                contents = await find_contents(connection, store.id)
            media = await write_contents(archive, contents)
            write_manifest(
                archive,
                KIND,
                store={"id": store.id, "public_id": str(store.public_id), "name": store.name, "hosts": hosts},
                migrations=[migration.name for migration in migrate.disk_migrations()],
                key_id=key_id(key).hex(),
                media={"files": media.files, "bytes": media.bytes},
                tables={
                    part.table.name: {"columns": part.columns, **tables[part.table.name]._asdict()} for part in parts
                },
            )
    except BaseException:
        _forget_transfer_key(key_path, created_at)
        raise
    return Moved(store.public_id, store.name, hosts, tables, media)


def _transfer_key(path: Path) -> tuple[bytes, int]:
    """Return the key in the file and, if the file was created for it, the time of that; a use by another export changes that time."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key, used_at = _read_transfer_key(path), time_ns()
        with suppress(OSError):  # a file that can only be read was there before
            os.utime(path, ns=(used_at, used_at))
        return key, 0
    text = secrets.token_urlsafe(_KEY_BYTES)
    try:
        with named_in_errors(path), os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
            created_at = os.fstat(file.fileno()).st_mtime_ns
    except BaseException:
        path.unlink()
        raise
    sync_folder(path.parent)
    return text.encode(), created_at


def _forget_transfer_key(path: Path, created_at: int) -> None:
    with suppress(FileNotFoundError):
        if path.stat().st_mtime_ns == created_at:
            path.unlink()


def _read_transfer_key(path: Path) -> bytes:
    try:
        key = path.read_bytes().strip()
    except FileNotFoundError as error:
        raise ArchiveError(f"{path} doesn't exist; expected the key file that the export wrote") from error
    if len(key) < MIN_SECRET_LENGTH:
        raise ArchiveError(f"{path} has {len(key)} bytes; expected the key file that the export wrote")
    return key


@contextmanager
def _encrypting_with(key: bytes) -> Iterator[None]:
    """Let the keys of this installation read, and this key write."""
    own = secret_keys()
    use_secret_keys(replace(own, secret_key=key, fallbacks=own.ring))
    try:
        yield
    finally:
        use_secret_keys(own)


@contextmanager
def _also_reading(key: bytes) -> Iterator[None]:
    own = secret_keys()
    use_secret_keys(replace(own, fallbacks=(*own.fallbacks, key)))
    try:
        yield
    finally:
        use_secret_keys(own)


@asynccontextmanager
async def connect_owner(url: str, store_id: int | None = None) -> AsyncIterator[asyncpg.Connection]:
    """Yield a connection of the owner, which sees the rows of the store, without time limits.

    The server ends it within half a minute, with its locks, when the network to this program is interrupted.
    """
    settings = {"jit": "off", "tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}
    if store_id is not None:
        settings["vitrine.tenant"] = str(store_id)
    async with connect_unlimited(url, "vitrine tenant", **settings) as connection:
        yield connection


async def _export_part(connection: asyncpg.Connection, archive: zipfile.ZipFile, part: Part, store_id: int) -> Digest:
    relation, condition = part.table.qualified_name, part.where(store_id)
    result = await digest(connection, relation, part.compared, condition)
    if any(column.table == part.table.name for column in ENCRYPTED_COLUMNS):
        await connection.execute(
            f"CREATE TEMPORARY TABLE {part.copy_name} ON COMMIT DROP AS SELECT * FROM {relation} t WHERE {condition}"
        )
        await _reencrypt(connection, part)
        relation, condition = part.copy_name, "true"
    rows = (
        f"SELECT {columns_sql(part.columns)} FROM {relation} t WHERE {condition} ORDER BY {columns_sql(part.table.key)}"
    )
    with archive.open(_member(part), "w", force_zip64=True) as member:

        async def write(data: bytes) -> None:
            member.write(data)

        await connection.copy_from_query(rows, output=write)
    return result


def _member(part: Part) -> str:
    return f"tables/{part.table.name}.copy"


async def _reencrypt(connection: asyncpg.Connection, part: Part) -> None:
    for column in ENCRYPTED_COLUMNS:
        if column.table == part.table.name:
            report = await reencrypt_relation(connection, column, part.copy_name)
            if report.unreadable:
                place = report.unreadable[0].replace(part.copy_name, part.table.name)
                raise ArchiveError(
                    f"{len(report.unreadable)} encrypted values can't be read with any key, first: {place}"
                )


# --- Importing -------------------------------------------------------------------------------------------------------------


async def import_store(url: str, path: Path, key_path: Path) -> Moved:
    """Insert an exported store at the owner's URL, in one transaction.

    Raises ArchiveError for a damaged file, another migration level, a wrong key, and a store or host that exists.
    """
    key = _read_transfer_key(key_path)
    with open_archive(path, KIND, _FORM) as (archive, manifest), _also_reading(key):
        _reject_unfit(path, key_path, key, manifest)
        public_id = UUID(manifest["store"]["public_id"])
        async with connect_owner(url) as connection:
            await _reject_existing(connection, manifest["store"])
        # When the import fails afterwards, a job deletes them after a day, as those of a store that doesn't exist.
        media = await read_contents(archive, public_id)
        async with connect_owner(url) as connection, connection.transaction():
            await _reject_existing(connection, manifest["store"])
            tables = await _Import(connection, archive, manifest).run()
    store = manifest["store"]
    return Moved(public_id, store["name"], tuple(store["hosts"]), tables, media)


def _reject_unfit(path: Path, key_path: Path, key: bytes, manifest: Mapping[str, Any]) -> None:
    if manifest["key_id"] != key_id(key).hex():
        raise ArchiveError(f"{key_path} is not the key of {path}, whose id is {manifest['key_id']}")
    missing = {migration.name for migration in migrate.disk_migrations()} - set(manifest["migrations"])
    if missing:
        raise ArchiveError(
            f"{path} was made by Vitrine {manifest['version']} without the migration {min(missing)}: update that installation and"
            " export again"
        )


async def _reject_existing(connection: asyncpg.Connection, store: Mapping[str, Any]) -> None:
    if await connection.fetchval("SELECT 1 FROM tenants WHERE public_id = $1", UUID(store["public_id"])):
        raise ArchiveError(f"the store {store['public_id']} exists here")
    host = await connection.fetchval("SELECT host FROM store_hosts WHERE host = ANY($1::text[])", store["hosts"])
    if host is not None:
        raise ArchiveError(f"the address {host} is in use by another store here")


class _Import:
    """The import of one file, in an open transaction."""

    def __init__(self, connection: asyncpg.Connection, archive: zipfile.ZipFile, manifest: Mapping[str, Any]) -> None:
        self._connection = connection
        self._archive = archive
        self._manifest = manifest
        self._store_id = 0

    async def run(self) -> dict[str, Digest]:
        """Insert all rows; return what was compared with the file."""
        parts = {part.table.name: part for part in await store_parts(self._connection)}
        unknown = set(self._manifest["tables"]) ^ set(parts)
        if unknown:
            raise ArchiveError(f"{self._archive.filename} and this installation differ in the table {min(unknown)}")
        await self._insert_store(parts.pop(STORES))
        await self._insert_apps(parts.pop(APPS))
        for part in parts.values():
            await self._load(part)
            await self._insert(part)
            await self._drop(part)
        owner = "SELECT owner_id FROM moving_tenants"
        await self._connection.execute(f"UPDATE tenants SET owner_id = ({owner}) WHERE id = $1", self._store_id)
        tables = {part.table.name: await self._compare(part) for part in await store_parts(self._connection)}
        # The file has no rendered sizes.
        await self._connection.execute(
            f"{AVIF_IS_DUE.format(table='media_files')} WHERE {OF_STORE} = $1", self._store_id
        )
        # The store may have the id here that it had there: no client's answer of a version there is one of a version here.
        await self._connection.execute(
            f"INSERT INTO catalogue_versions (tenant_id, slot, version) VALUES ($1, 0, {UNUSED})", self._store_id
        )
        await self._connection.execute("SELECT pg_notify($1, $2)", CHANNEL, str(self._store_id))
        return tables

    async def _load(self, part: Part) -> None:
        """Copy the rows of a table from the file into a temporary one, and encrypt their secrets for this installation."""
        columns = self._manifest["tables"][part.table.name]["columns"]
        if tuple(columns) != part.columns:
            raise ArchiveError(
                f"{self._archive.filename} and this installation differ in the columns of {part.table.name}"
            )
        await self._connection.execute(
            f"CREATE TEMPORARY TABLE {part.copy_name} ON COMMIT DROP AS"
            f" SELECT {columns_sql(columns)} FROM {part.table.qualified_name} WITH NO DATA"
        )
        chunks = _chunks(self._archive, _member(part))
        await self._connection.copy_to_table(part.copy_name, source=chunks, columns=columns)
        await _reencrypt(self._connection, part)

    async def _drop(self, part: Part) -> None:
        await self._connection.execute(f"DROP TABLE {part.copy_name}")

    async def _insert_store(self, part: Part) -> None:
        await self._load(part)
        columns = [column for column in part.columns if column not in {*_STORE_STATE, "owner_id"}]
        self._store_id = await self._connection.fetchval(
            f"INSERT INTO tenants ({columns_sql(columns)}) SELECT {columns_sql(columns)} FROM {part.copy_name} RETURNING id"
        )
        await self._connection.fetchval("SELECT set_config('vitrine.tenant', $1, true)", str(self._store_id))

    async def _insert_apps(self, part: Part) -> None:
        """Insert the apps that this installation lacks, and note its ids of all."""
        await self._load(part)
        stores = (self._manifest["store"]["id"], self._store_id)
        await write_apps(self._connection, part.copy_name, part.columns, NONE, stores)

    async def _insert(self, part: Part) -> None:
        """Insert the rows of a loaded table."""
        name, columns = part.table.qualified_name, columns_sql(part.columns)
        if part.table.name == HOSTS:
            await self._connection.execute(
                f"INSERT INTO {name} ({columns}, store_id) SELECT {columns}, $1::bigint FROM {part.copy_name}",
                self._store_id,
            )
            return
        if _APP in part.columns:
            await self._connection.execute(
                f"UPDATE {part.copy_name} c SET app_id = ("
                "SELECT a.id FROM moving_apps m JOIN apps a ON a.public_id = m.public_id WHERE m.id = c.app_id"
                ") WHERE app_id IS NOT NULL"
            )
        # What triggers inserted: the statuses of a new store, and counters.
        await self._connection.execute(f"DELETE FROM {name} WHERE {OF_STORE} = $1", self._store_id)
        # A slug of a deleted row may be used again by another, which the trigger allows in this order only.
        order = [*(["deleted_at IS NULL"] if "deleted_at" in part.columns else []), columns_sql(part.columns[:1])]
        await self._connection.execute(
            f"INSERT INTO {name} ({OF_STORE}, {columns}) OVERRIDING SYSTEM VALUE"
            f" SELECT $1::bigint, {columns} FROM {part.copy_name} ORDER BY {', '.join(order)}",
            self._store_id,
        )
        await raise_sequence(self._connection, part)

    async def _compare(self, part: Part) -> Digest:
        """Compare the inserted rows with the file's; raises ArchiveError."""
        exported = self._manifest["tables"][part.table.name]
        expected = Digest(exported["rows"], exported["checksum"])
        if part.table.name == APPS:
            return expected  # those that were here before may differ
        actual = await digest(self._connection, part.table.qualified_name, part.compared, part.where(self._store_id))
        if actual != expected:
            raise ArchiveError(
                f"the rows of {part.table.name} differ from the export's: {actual.rows} rows, expected {expected.rows}"
            )
        return actual


async def _chunks(archive: zipfile.ZipFile, name: str) -> AsyncIterator[bytes]:
    for chunk in read_chunks(archive, name):
        yield chunk
