"""Back up the whole database into one file, and restore it (docs/tutorials/operator.md#back-up).

A backup is made while the processes run: pg_dump and the checksums of the tables read one exported snapshot, as the role `vitrine_backup`,
which sees every store's rows and writes none (`models/connection/roles.py`). A restore is one transaction, checksums included, so that an
interrupted or failed one leaves the database as it was.
"""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import asyncpg

from auth.secrets import key_id
from kernel.clock import now
from kernel.settings import Settings
from models import migrate
from models.quoting import literal, quoted
from models.role_privileges import MANAGED_POLICIES
from models.table_contents import DIGEST_SETTINGS, Table, connect_unlimited, digest, digest_sql, read_tables
from server.operations.all_stores import reading_role
from server.operations.archives import ArchiveError, new_archive, open_archive, read_chunks, write_manifest
from server.operations.media_contents import AVIF_IS_DUE, ContentCount, find_contents, read_contents, write_contents
from server.operations.postgres_programs import CHUNK_BYTES, Programs, find_programs, running

KIND = "backup of a database"
DUMP, SECRET_KEYS = "database.dump", "secret_keys.json"
BACKUP_RUN = "backup"
"""The row of `job_runs` with the times of the last backup."""

_APPLICATION = "vitrine backup"
# Emitted by pg_restore of PostgreSQL 17 and newer, unknown to older servers.
_TRANSACTION_TIMEOUT = b"SET transaction_timeout = 0;\n"
_TRANSACTION_TIMEOUT_VERSION = 17
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
_RECORD = """
    insert into job_runs (name, due_at, started_at, finished_at) values ($1, $3, $2, $3)
    on conflict (name) do update set due_at = excluded.due_at, started_at = excluded.started_at, finished_at = excluded.finished_at
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


# --- Backing up ------------------------------------------------------------------------------------------------------------


async def back_up(
    settings: Settings, url: str, path: Path, *, with_secret_keys: bool = False, with_media: bool = False
) -> Backup:
    """Write the database at the owner's URL to a new file; raises ArchiveError and ProgramError.

    `with_secret_keys` adds VITRINE_SECRET_KEY and its fallbacks, `with_media` the contents of media files; otherwise they have to be kept
    apart.
    """
    started_at = now()
    async with connect_unlimited(url, _APPLICATION) as connection:
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
        await connection.execute(_RECORD, BACKUP_RUN, started_at, now())
    return _backup(manifest, media, has_secret_keys=with_secret_keys)


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
        "structure": json.loads(await connection.fetchval(_structure_sql(schema))),
    }


def _structure_sql(schema: str) -> str:
    managed = f"ARRAY[{', '.join(map(literal, MANAGED_POLICIES))}]::name[]"
    return _STRUCTURE.format(managed=managed, schema=literal(quoted(schema)))


def _backup(manifest: Mapping[str, Any], media: ContentCount, *, has_secret_keys: bool) -> Backup:
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


# --- Restoring -------------------------------------------------------------------------------------------------------------


async def restore(url: str, path: Path, *, replace: bool = False) -> Backup:
    """Restore a backup into the database at the owner's URL, in one transaction; then apply newer migrations and grant the roles.

    `replace` drops what the schema contains. Raises ArchiveError, ProgramError, or MigrationError after the restore.
    """
    with open_archive(path, KIND) as (archive, manifest):
        async with connect_unlimited(url, _APPLICATION) as connection:
            major = connection.get_server_version().major
            if major < manifest["postgresql"]:
                raise ArchiveError(
                    f"{path} is of PostgreSQL {manifest['postgresql']}; this server is {major}, and a dump can't be restored on an"
                    " older one (vitrine tenant export and import move stores to it)"
                )
            await _reject_contents(connection, manifest["schema"], replace=replace)
        await _restore_dump(find_programs(major), url, archive, manifest, server_major=major)
        has_secret_keys = SECRET_KEYS in archive.namelist()
        media = await read_contents(archive)
    await migrate.migrate(url)
    async with connect_unlimited(url, _APPLICATION) as connection:
        time = datetime.fromisoformat(manifest["created_at"])
        await connection.execute(_RECORD, BACKUP_RUN, time, time)
    return _backup(manifest, media, has_secret_keys=has_secret_keys)


async def _reject_contents(connection: asyncpg.Connection, schema: str, *, replace: bool) -> None:
    tables = await connection.fetchval(
        "select count(*) from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = $1 and c.relkind in ('r', 'p', 'v', 'm', 'f')",
        schema,
    )
    if not tables:
        return
    if not replace:
        raise ArchiveError(
            f"the database isn't empty ({tables} tables): restore into a new one, or let --replace delete everything in it"
        )
    others = await connection.fetchval(
        "select count(*) from pg_catalog.pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid() and usesysid is not null"
    )
    if others:
        raise ArchiveError(f"other sessions use the database ({others}): stop serve and worker first")


async def _restore_dump(
    programs: Programs, url: str, archive: zipfile.ZipFile, manifest: Mapping[str, Any], *, server_major: int
) -> None:
    """Run the dump's script as one transaction, in which the contents are compared before the tables get row-level security."""
    schema = quoted(manifest["schema"])
    with NamedTemporaryFile("w", suffix=".list") as entries:
        entries.writelines(f"{line}\n" for line in await _restored_entries(programs, archive))
        entries.flush()
        options = ("--no-owner", "--no-privileges", f"--use-list={entries.name}", "--file=-")
        drops_timeout = programs.major >= _TRANSACTION_TIMEOUT_VERSION > server_major

        async def copy(*sections: str) -> None:
            arguments = (*(f"--section={section}" for section in sections), *options)
            await _copy_script(programs, arguments, archive, psql, without_timeout=drops_timeout)

        psql_options = ("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-")
        async with running(programs, "psql", *psql_options, url=url, writes=True) as psql:
            # Not `--single-transaction`, which would commit when this process ends early.
            await _send(psql, f"BEGIN; DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema};\n")
            if manifest["schema"] == "public":
                await _send(psql, "GRANT USAGE ON SCHEMA public TO PUBLIC;\n")
            await copy("pre-data", "data")
            await _send(psql, "\n".join(_comparisons(manifest)))
            await _send(psql, _changes_without_sizes(manifest))
            await copy("post-data")
            await _send(psql, f"{_structure_comparison(manifest)}\nCOMMIT;\n")


async def _restored_entries(programs: Programs, archive: zipfile.ZipFile) -> list[str]:
    """Return the entries of the dump without those that `migrate` makes for the roles of this server."""
    async with running(programs, "pg_restore", "--list", writes=True) as process:
        assert process.stdout is not None
        listed, _ = await asyncio.gather(process.stdout.read(), _feed(process, archive))
    lines = listed.decode().splitlines()
    managed = {f" {policy} " for policy in MANAGED_POLICIES}
    return [
        line
        for line in lines
        if not (" POLICY " in line and any(policy in line for policy in managed))
        and " COMMENT " not in line
        and " SCHEMA - " not in line
    ]


async def _copy_script(
    programs: Programs,
    arguments: Iterable[str],
    archive: zipfile.ZipFile,
    psql: asyncio.subprocess.Process,
    *,
    without_timeout: bool,
) -> None:
    async with running(programs, "pg_restore", *arguments, writes=True) as process:

        async def copy() -> None:
            assert process.stdout is not None
            assert psql.stdin is not None
            is_first = without_timeout
            while chunk := await process.stdout.read(CHUNK_BYTES):
                psql.stdin.write(chunk.replace(_TRANSACTION_TIMEOUT, b"") if is_first else chunk)
                is_first = False
                await psql.stdin.drain()

        await asyncio.gather(copy(), _feed(process, archive))


async def _feed(process: asyncio.subprocess.Process, archive: zipfile.ZipFile) -> None:
    """Write the dump to a program that may not need all of it."""
    assert process.stdin is not None
    for chunk in read_chunks(archive, DUMP):
        try:
            process.stdin.write(chunk)
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            break
    process.stdin.close()


async def _send(psql: asyncio.subprocess.Process, sql: str) -> None:
    assert psql.stdin is not None
    psql.stdin.write(sql.encode())
    await psql.stdin.drain()


def _comparisons(manifest: Mapping[str, Any]) -> Iterable[str]:
    """Yield statements that fail where a table's rows aren't those of the backup."""
    for name, value in DIGEST_SETTINGS.items():
        yield f"SET LOCAL {name} = {literal(value)};"
    for name, expected in manifest["tables"].items():
        table = Table(quoted(manifest["schema"]), name, tuple(expected["columns"]), ())
        actual = digest_sql(table.qualified_name, table.columns)
        same = f"(d.rows, d.checksum) = ({int(expected['rows'])}, {literal(expected['checksum'])})"
        yield _assertion(f"SELECT {same} FROM ({actual}) d", f"the rows of {name} differ from the backup's")


def _changes_without_sizes(manifest: Mapping[str, Any]) -> str:
    """Return the statement that has sizes rendered again where contents are restored, which come without; empty for a database alone."""
    is_known = "avif_due_at" in manifest["tables"].get("media_files", {}).get("columns", ())
    if not is_known or not manifest.get("media", {}).get("files"):
        return ""
    return AVIF_IS_DUE.format(table=f"{quoted(manifest['schema'])}.media_files") + ";\n"


def _structure_comparison(manifest: Mapping[str, Any]) -> str:
    expected = literal(json.dumps(manifest["structure"]))
    return _assertion(
        f"SELECT ({_structure_sql(manifest['schema'])})::jsonb = {expected}::jsonb",
        "indexes, constraints, triggers or policies differ from the backup's",
    )


def _assertion(condition: str, message: str) -> str:
    body = f"BEGIN IF ({condition}) IS NOT TRUE THEN RAISE EXCEPTION USING MESSAGE = {literal(message)}; END IF; END"
    return f"DO {literal(body)};"


def read_secret_keys(path: Path) -> list[str]:
    """Return the secret keys in a backup, the present one first; [] if it has none."""
    with open_archive(path, KIND) as (archive, _):
        if SECRET_KEYS not in archive.namelist():
            return []
        keys: list[str] = json.loads(archive.read(SECRET_KEYS))
        return keys


def missing_keys(backup: Backup, settings: Settings) -> list[str]:
    """Return the ids of the backup's secret keys that the settings lack."""
    configured = {key_id(key).hex() for key in settings.secret_keys}
    return [key for key in backup.key_ids if key not in configured]
