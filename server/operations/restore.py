"""Restore a backup of the whole database (`server.operations.backup`).

A restore is one transaction, checksums included, so that an interrupted or failed one leaves the database as it was.
"""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeVar

import asyncpg

from auth.secrets import key_id
from kernel.settings import Settings
from models import migrate
from models.connection.catalog_versions import UNUSED
from models.quoting import literal, quoted
from models.role_privileges import MANAGED_POLICIES
from models.table_contents import DIGEST_SETTINGS, Table, connect_unlimited, digest_sql
from server.operations.archives import TABLE_FORM, ArchiveError, damage_reported, open_archive, read_chunks
from server.operations.backup import (
    APPLICATION,
    BACKUP_RUN,
    DUMP,
    KIND,
    RECORD,
    SECRET_KEYS,
    Backup,
    describe_backup,
    structure_sql,
)
from server.operations.json_forms import check_form
from server.operations.media_contents import AVIF_IS_DUE, read_contents
from server.operations.postgres_programs import CHUNK_BYTES, EndedEarly, Programs, find_programs, running, write_to

T = TypeVar("T")

# Emitted by pg_restore of PostgreSQL 17 and newer, unknown to older servers.
_TRANSACTION_TIMEOUT = b"SET transaction_timeout = 0;\n"
_TRANSACTION_TIMEOUT_VERSION = 17
_FORM = {
    "postgresql": int,
    "schema": str,
    "tables": {str: TABLE_FORM, "tenants": TABLE_FORM},
    "structure": dict,
    "key_ids": [str],
    "media?": {"files?": int, "left?": int},
}


async def restore(url: str, path: Path, *, replace: bool = False) -> Backup:
    """Restore a backup into the database at the owner's URL, in one transaction; then apply newer migrations and grant the roles.

    `replace` drops what the schema contains. Raises ArchiveError, ProgramError, or MigrationError after the restore.
    """
    with open_archive(path, KIND, _FORM) as (archive, manifest):
        async with connect_unlimited(url, APPLICATION) as connection:
            major = connection.get_server_version().major
            if major < manifest["postgresql"]:
                raise ArchiveError(
                    f"{path} is of PostgreSQL {manifest['postgresql']}; this server is {major}, and a dump can't be restored on an"
                    " older one (vitrine tenant export and import move stores to it)"
                )
            await _reject_contents(connection, manifest["schema"], replace=replace)
        programs = find_programs(major)
        # Before the rows, which stay away when a content is damaged or the storage doesn't answer.
        media = await read_contents(archive)
        await _restore_dump(programs, url, archive, manifest, server_major=major)
        has_secret_keys = SECRET_KEYS in archive.namelist()
    await migrate.migrate(url)
    async with connect_unlimited(url, APPLICATION) as connection:
        time = datetime.fromisoformat(manifest["created_at"])
        await connection.execute(RECORD, BACKUP_RUN, time, time)
    return describe_backup(manifest, media, has_secret_keys=has_secret_keys)


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
            await _send(psql, _later_catalogues(manifest))
            await copy("post-data")
            await _send(psql, f"{_structure_comparison(manifest)}\nCOMMIT;\n")


async def _restored_entries(programs: Programs, archive: zipfile.ZipFile) -> list[str]:
    """Return the entries of the dump without those that `migrate` makes for the roles of this server."""
    async with running(programs, "pg_restore", "--list", writes=True) as process:
        assert process.stdout is not None
        listed = await _together(process.stdout.read(), _feed(process, archive))
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
            is_first = without_timeout
            while chunk := await process.stdout.read(CHUNK_BYTES):
                await write_to(psql, chunk.replace(_TRANSACTION_TIMEOUT, b"") if is_first else chunk)
                is_first = False

        await _together(copy(), _feed(process, archive))


async def _together(first: Awaitable[T], second: Awaitable[object]) -> T:
    """Return what the first returns; when one of them fails, the other one is cancelled, and has ended."""
    tasks = asyncio.ensure_future(first), asyncio.ensure_future(second)
    try:
        result, _ = await asyncio.gather(*tasks)
        return result
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _feed(process: asyncio.subprocess.Process, archive: zipfile.ZipFile) -> None:
    """Write the dump to a program that may not need all of it."""
    assert process.stdin is not None
    with suppress(EndedEarly):
        for chunk in read_chunks(archive, DUMP):
            await write_to(process, chunk)
    process.stdin.close()


async def _send(psql: asyncio.subprocess.Process, sql: str) -> None:
    await write_to(psql, sql.encode())


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


def _later_catalogues(manifest: Mapping[str, Any]) -> str:
    """Return the statement that moves the version of each catalogue beyond those that were given out since the backup.

    Else changes would lead to one of them again, and clients with an answer of it would take that for the present one.
    """
    if "catalogue_versions" not in manifest["tables"]:
        return ""
    table = f"{quoted(manifest['schema'])}.catalogue_versions"
    return f"UPDATE {table} SET version = version + {UNUSED};\n"


def _structure_comparison(manifest: Mapping[str, Any]) -> str:
    expected = literal(json.dumps(manifest["structure"]))
    return _assertion(
        f"SELECT ({structure_sql(manifest['schema'])})::jsonb = {expected}::jsonb",
        "indexes, constraints, triggers or policies differ from the backup's",
    )


def _assertion(condition: str, message: str) -> str:
    body = f"BEGIN IF ({condition}) IS NOT TRUE THEN RAISE EXCEPTION USING MESSAGE = {literal(message)}; END IF; END"
    return f"DO {literal(body)};"


def read_secret_keys(path: Path) -> list[str]:
    """Return the secret keys in a backup, the present one first; [] if it has none."""
    with open_archive(path, KIND, _FORM) as (archive, _):
        if SECRET_KEYS not in archive.namelist():
            return []
        with damage_reported(path):
            keys: list[str] = json.loads(archive.read(SECRET_KEYS))
            check_form(keys, [str], SECRET_KEYS)
        return keys


def missing_keys(backup: Backup, settings: Settings) -> list[str]:
    """Return the ids of the backup's secret keys that the settings lack."""
    configured = {key_id(key).hex() for key in settings.secret_keys}
    return [key for key in backup.key_ids if key not in configured]
