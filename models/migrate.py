"""Bring the tables up to date, as their owner, one process at a time.

Tortoise knows the migrations and their order; running them is ours, because its own runner takes no lock, records a migration
outside of the transaction it ran in, and prints "no applied migrations" when it may not read its own table.
"""

from __future__ import annotations

import logging
from typing import Any

import asyncpg
from tortoise.context import TortoiseContext
from tortoise.migrations.autodetector import MigrationAutodetector
from tortoise.migrations.loader import MigrationLoader
from tortoise.migrations.migration import Migration
from tortoise.migrations.operations import AlterModelOptions, RunSQL
from tortoise.migrations.recorder import MigrationRecorder

from models import MODEL_MODULES
from models.failures import translated
from models.migrations._operations import StateOnly
from models.roles import OLDEST_POSTGRESQL, ensure_roles, rights_version, set_rights

APP_LABEL = "models"
APPS: dict[str, dict[str, Any]] = {APP_LABEL: {"models": MODEL_MODULES, "migrations": "models.migrations"}}
# Any number that nothing else in the database locks.
LOCK = 0x5649_5452_494E_45  # "VITRINE"

logger = logging.getLogger("vitrine.database")


class CannotMigrate(RuntimeError):
    """Say why the database can't be brought up to date."""


async def migrate(url: str) -> list[str]:
    """Apply what is pending and set each role's rights; give the names of what was applied.

    `url` is the owner's. Several processes may call at once: they wait for each other.
    """
    with translated():
        connection = await _connect(url)
        try:
            await connection.execute("select pg_advisory_lock($1)", LOCK)
            return await _migrate(connection)
        finally:
            await connection.close()  # and with it the lock


async def pending(url: str) -> list[str]:
    """Give the names of the migrations that were not applied yet, in their order; needs only the right to read."""
    with translated():
        connection = await _connect(url)
        try:
            applied = await _applied(connection)
        finally:
            await connection.close()
    return [migration.name for migration in await known() if migration.name not in applied]


async def revert(url: str, name: str) -> None:
    """Undo the migration, which must be the last one applied. What its tables hold is lost."""
    connection = await _connect(url)
    try:
        await connection.execute("select pg_advisory_lock($1)", LOCK)
        applied = await _applied(connection)
        migrations = [migration for migration in await known() if migration.name in applied]
        if not migrations or migrations[-1].name != name:
            raise CannotMigrate(f"{name} is not the last migration applied")
        async with connection.transaction():
            for operation in reversed(_sql_of(migrations[-1])):
                await connection.execute(operation.reverse_sql)
            await connection.execute(
                "delete from tortoise_migrations where app = $1 and name = $2", APP_LABEL, name
            )
    finally:
        await connection.close()


async def known() -> list[Migration]:
    """Give the migrations on disk in the order in which they apply."""
    loader = MigrationLoader(APPS, _Unrecorded())
    await loader.build_graph()
    (leaf,) = loader.graph.leaf_nodes(APP_LABEL)
    return [loader.disk_migrations[key] for key in loader.graph.forwards_plan(leaf)]


async def unwritten_changes() -> list[str]:
    """Give what Tortoise's `makemigrations` would write: empty when models and migrations agree.

    A changed docstring is no change, although Tortoise keeps its first line.
    """
    context = TortoiseContext()
    with context:
        await context.init(
            config={
                "connections": {
                    "default": {"engine": "models.engine", "credentials": {"settings": None, "role": None}}
                },
                "apps": APPS,
            },
            init_connections=False,
        )
        assert context.apps is not None
        writers = await MigrationAutodetector(context.apps, APPS).changes()
    return [
        operation.describe()
        for writer in writers
        for operation in writer.operations
        if not isinstance(operation, AlterModelOptions)
    ]


async def _connect(url: str) -> asyncpg.Connection:
    connection = await asyncpg.connect(
        url, timeout=30, server_settings={"application_name": "vitrine migrate"}
    )
    if connection.get_server_version().major < OLDEST_POSTGRESQL:
        await connection.close()
        raise CannotMigrate(f"PostgreSQL {OLDEST_POSTGRESQL} or newer is needed")
    if await connection.fetchval("show server_encoding") != "UTF8":
        await connection.close()
        raise CannotMigrate("the database's encoding must be UTF8")
    return connection


async def _migrate(connection: asyncpg.Connection) -> list[str]:
    await connection.execute("""
        create table if not exists tortoise_migrations (
            id integer generated by default as identity primary key,
            app varchar(255) not null,
            name varchar(255) not null,
            applied_at timestamptz not null,
            unique (app, name)
        )""")
    applied = await _applied(connection)
    names: list[str] = []
    # A change of a table waits for those who use it, and all who come later wait behind it: rather fail and be called again.
    await connection.execute("set lock_timeout = '15s'")
    for migration in await known():
        if migration.name in applied:
            continue
        logger.info("migrating: %s", migration.name)
        async with connection.transaction():
            for operation in _sql_of(migration):
                parts = operation.sql if isinstance(operation.sql, list | tuple) else [operation.sql]
                for part in parts:
                    await connection.execute(part)
            await connection.execute(
                "insert into tortoise_migrations (app, name, applied_at) values ($1, $2, now())",
                APP_LABEL,
                migration.name,
            )
        names.append(migration.name)
    await _update_rights(connection, changed=bool(names))
    return names


async def _update_rights(connection: asyncpg.Connection, *, changed: bool) -> None:
    with_roles = await ensure_roles(connection)
    version = rights_version(with_roles)
    current = await connection.fetchval("select obj_description('tortoise_migrations'::regclass)")
    if not changed and current == f"rights {version}":
        return  # setting them again would lock every table for nothing
    async with connection.transaction():
        await set_rights(connection, with_roles=with_roles)
        await connection.execute(f"comment on table tortoise_migrations is 'rights {version}'")


async def _applied(connection: asyncpg.Connection) -> set[str]:
    if await connection.fetchval("select to_regclass('tortoise_migrations')") is None:
        return set()
    found = await connection.fetch("select name from tortoise_migrations where app = $1", APP_LABEL)
    return {record["name"] for record in found}


def _sql_of(migration: Migration) -> list[RunSQL]:
    """Give the SQL of a migration; refuse operations that would let Tortoise write it."""
    for operation in migration.operations:
        if not isinstance(operation, RunSQL | StateOnly):
            raise CannotMigrate(f"{migration.name}: {operation.describe()} is neither RunSQL nor StateOnly")
    return [operation for operation in migration.operations if isinstance(operation, RunSQL)]


class _Unrecorded(MigrationRecorder):
    """Tell Tortoise's loader of no applied migrations: it shall only read the disk."""

    def __init__(self) -> None:
        super().__init__(connection=None)

    async def applied_migrations(self) -> list[Any]:
        """Give nothing."""
        return []
