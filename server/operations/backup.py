"""Back up the whole database into one file (docs/tutorials/operator.md#back-up); `server.operations.restore` restores it.

A backup is made while the processes run: pg_dump and the checksums of the tables read one exported snapshot, as the role `vitrine_backup`,
which sees every store's rows and writes none (`models/connection/roles.py`).
"""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg

from auth.secrets import key_id
from kernel.clock import now
from kernel.settings import Settings
from models import migrate
from models.quoting import literal, quoted
from models.role_privileges import MANAGED_POLICIES
from models.table_contents import connect_unlimited, digest, read_tables
from server.operations.all_stores import reading_role
from server.operations.archives import new_archive, write_manifest
from server.operations.media_contents import ContentCount, find_contents, write_contents
from server.operations.postgres_programs import CHUNK_BYTES, Programs, find_programs, running

KIND = "backup of a database"
DUMP, SECRET_KEYS = "database.dump", "secret_keys.json"
BACKUP_RUN = "backup"
"""The row of `job_runs` with the times of the last backup."""
APPLICATION = "vitrine backup"
RECORD = """
    insert into job_runs (name, due_at, started_at, finished_at) values ($1, $3, $2, $3)
    on conflict (name) do update set due_at = excluded.due_at, started_at = excluded.started_at, finished_at = excluded.finished_at
"""

_APPLIED = "select name from tortoise_migrations where app = $1 order by name"
# Row-level security of every table, and the number of objects that a dump could lack.
_STRUCTURE = """
    select jsonb_build_object(
        'row_security', (
            select jsonb_object_agg(c.relname, array[c.relrowsecurity::text, c.relforcerowsecurity::text] || array(
                select p.polname::text from pg_catalog.pg_policy p
                where p.polrelid = c.oid and p.polname <> all({managed}) order by 1
            ))
            from pg_catalog.pg_class c where c.relnamespace = {schema}::regnamespace and c.relkind = 'r'
        ),
        'indexes', (
            select count(*) from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid
            where c.relnamespace = {schema}::regnamespace
        ),
        'constraints', (
            select count(*) from pg_catalog.pg_constraint where connamespace = {schema}::regnamespace and contype <> 'n'
        ),
        'triggers', (
            select count(*) from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
            where c.relnamespace = {schema}::regnamespace and not t.tgisinternal
        )
    )::text
"""


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made or restored; `key_ids` name the secret keys that its encrypted values need.

    `media` are the contents of media files in it, `media_left` the number of those that are not.
    """

    created_at: str
    stores: int
    rows: int
    key_ids: tuple[str, ...]
    has_secret_keys: bool
    media: ContentCount
    media_left: int


def default_name(time: datetime) -> str:
    """Return the name of a backup in a folder."""
    return f"vitrine-{time:%Y%m%dT%H%M%SZ}.backup"


async def back_up(
    settings: Settings, url: str, path: Path, *, with_secret_keys: bool = False, with_media: bool = False
) -> Backup:
    """Write the database at the owner's URL to a new file; raises ArchiveError and ProgramError.

    `with_secret_keys` adds VITRINE_SECRET_KEY and its fallbacks, `with_media` the contents of media files; otherwise they have to be kept
    apart.
    """
    started_at = now()
    async with connect_unlimited(url, APPLICATION) as connection:
        programs = find_programs(connection.get_server_version().major)
        role = await reading_role(connection)
        with new_archive(path) as archive:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                if role is not None:
                    await connection.execute(f"set local role {role}")
                contents = await _write_dump(connection, programs, url, archive, role)
                files = await find_contents(connection)
            media = await write_contents(archive, files if with_media else ())
            if with_secret_keys:
                keys = [settings.secret_key, *settings.secret_key_fallbacks]
                archive.writestr(SECRET_KEYS, json.dumps(keys))
            key_ids = [key_id(key).hex() for key in settings.secret_keys]
            counts = {"files": media.files, "bytes": media.bytes, "left": 0 if with_media else len(files)}
            manifest = write_manifest(archive, KIND, **contents, key_ids=key_ids, media=counts)
        await connection.execute(RECORD, BACKUP_RUN, started_at, now())
    return describe_backup(manifest, media, has_secret_keys=with_secret_keys)


async def _write_dump(
    connection: asyncpg.Connection, programs: Programs, url: str, archive: zipfile.ZipFile, role: str | None
) -> dict[str, Any]:
    """Write what pg_dump reads in the connection's snapshot; return what a restore compares."""
    snapshot = await connection.fetchval("select pg_catalog.pg_export_snapshot()")
    schema = await connection.fetchval("select current_schema()::text")
    arguments = ["--format=custom", f"--snapshot={snapshot}", f"--schema={quoted(schema)}"]
    if role is not None:
        arguments += [f"--role={role}", "--enable-row-security"]
    async with running(programs, "pg_dump", *arguments, url=url) as dump:
        storing = asyncio.ensure_future(_store_output(dump, archive))
        try:
            contents = await _describe_contents(connection, schema)
            await storing
        finally:
            storing.cancel()
            await asyncio.wait([storing])  # the archive can't be closed before
    return {"postgresql": connection.get_server_version().major, "schema": schema, **contents}


async def _store_output(process: asyncio.subprocess.Process, archive: zipfile.ZipFile) -> None:
    assert process.stdout is not None
    # Not compressed again: a ZipInfo of its own is stored as it is.
    with archive.open(zipfile.ZipInfo(DUMP), "w", force_zip64=True) as member:
        while chunk := await process.stdout.read(CHUNK_BYTES):
            member.write(chunk)


async def _describe_contents(connection: asyncpg.Connection, schema: str) -> dict[str, Any]:
    tables = await read_tables(connection)
    digests = {table.name: await digest(connection, table.qualified_name, table.columns) for table in tables}
    return {
        "migrations": [row["name"] for row in await connection.fetch(_APPLIED, migrate.APP_LABEL)],
        "tables": {table.name: {"columns": table.columns, **digests[table.name]._asdict()} for table in tables},
        "structure": json.loads(await connection.fetchval(structure_sql(schema))),
    }


def structure_sql(schema: str) -> str:
    """Return the statement that describes what a dump could lack: row-level security, indexes, constraints and triggers, as JSON text."""
    managed = f"ARRAY[{', '.join(map(literal, MANAGED_POLICIES))}]::name[]"
    return _STRUCTURE.format(managed=managed, schema=literal(quoted(schema)))


def describe_backup(manifest: Mapping[str, Any], media: ContentCount, *, has_secret_keys: bool) -> Backup:
    """Return what a manifest says of its backup."""
    tables = manifest["tables"]
    return Backup(
        manifest["created_at"],
        tables["tenants"]["rows"],
        sum(table["rows"] for table in tables.values()),
        tuple(manifest["key_ids"]),
        has_secret_keys,
        media,
        manifest.get("media", {}).get("left", 0),
    )
