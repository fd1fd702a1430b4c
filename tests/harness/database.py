"""Every test run has its own PostgreSQL server, every process its own database, every test its own stores.

The server is started by the first process that needs it and stopped by the last (also under pytest-xdist). One database is migrated
and copied for each process. Nothing is truncated: a test uses its own stores, so tests can run concurrently.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import asyncpg
import pytest

from auth.configuration import configure
from auth.signing_keys import process_key_ring
from kernel.ids import uuid7
from kernel.scope import Scope, Store
from models.connection import database as models_database
from models.migrate import migrate
from resolvers.engine import compile as query_compiler
from server.embedded_postgres import EmbeddedPostgres, EmbeddedServer
from server.embedded_postgres.data_folder import OWNER
from server.embedded_postgres.locks import FileLock, exclusive_lock
from tests.harness.orm import use_models
from tests.harness.scopes import system_scope
from tests.system.installed_postgres import use_installed_postgres
from tests.system.pgbouncer import PROGRAM as PGBOUNCER
from tests.system.pgbouncer import ROLE_STATEMENTS, PgBouncer

use_installed_postgres()

# `VITRINE_COMPILED_READS=0 make test` runs everything through the executor: both ways must pass.
query_compiler.set_enabled(os.environ.get("VITRINE_COMPILED_READS") != "0")

SECRET = b"the secret of the tests, 32 bytes"
TEMPLATE = "vitrine_template"
WAIT_SECONDS = 120
# Durability is not needed; connections for a dozen processes are.
OPTIONS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "300",
    # A replica that was killed or delayed (tests/models/test_replicas.py) finds what the tests of all processes wrote meanwhile.
    "wal_keep_size": "2GB",
    "shared_buffers": "64MB",
}

needs_pgbouncer = pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed: apt-get install pgbouncer")

needs_session = pytest.mark.skipif(
    os.environ.get("VITRINE_TEST_POOLER", "0") != "0",
    reason="needs temporary tables or prepared statements of a session",
)

NewStore: TypeAlias = Callable[..., Awaitable[Store]]


@pytest.fixture(autouse=True, scope="session")
def deployment_secret() -> None:
    """Configure the deployment's secret."""
    configure(SECRET)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Share one server among the processes of this run."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # each worker has a folder of its own below the run's
    folder, lock = base / "postgres", base / "postgres.lock"
    postgres = EmbeddedPostgres(folder, options=OPTIONS)
    with exclusive_lock(lock, WAIT_SECONDS):
        server = postgres.start()
    try:
        yield server
    finally:
        with exclusive_lock(lock, WAIT_SECONDS):
            postgres.stop()
            _remove_unused(folder)


def _remove_unused(folder: Path) -> None:
    users = FileLock(folder / "users.lock")
    try:
        if users.try_exclusive():
            shutil.rmtree(folder, ignore_errors=True)  # pytest keeps the folders of three runs: without this one
    finally:
        users.close()


@pytest.fixture(scope="session")
def database_name() -> str:
    """Return the name of the database that only this process uses."""
    return f"vitrine_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"


@pytest.fixture(scope="session")
async def database_url(
    postgres: EmbeddedServer, database_name: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    """Return the owner's URL of a migrated database that only this process uses."""
    name = database_name
    base = tmp_path_factory.getbasetemp()
    lock = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "template.lock"
    connection = await asyncpg.connect(postgres.superuser_url())
    try:
        with exclusive_lock(lock, WAIT_SECONDS):
            if not await connection.fetchval("select 1 from pg_database where datname = $1", TEMPLATE):
                await connection.execute(f"create database {TEMPLATE}_new owner {OWNER}")
                await migrate(postgres.url(f"{TEMPLATE}_new"))
                await connection.execute(f"alter database {TEMPLATE}_new rename to {TEMPLATE}")
            await connection.execute(f"create database {name} owner {OWNER} template {TEMPLATE} strategy file_copy")
        yield postgres.url(name)
        await connection.execute(f"drop database {name} with (force)")
    finally:
        await connection.close()


@asynccontextmanager
async def new_database(postgres: EmbeddedServer, template: str = "template1") -> AsyncIterator[str]:
    """Create a database of the owner, a copy of the template, and drop it at the end; yield its name."""
    name = f"test_{uuid4().hex}"
    connection = await asyncpg.connect(postgres.superuser_url())
    try:
        # Without writing every page to the log, which takes twice as long.
        await connection.execute(f"create database {name} owner {OWNER} template {template} strategy file_copy")
        yield name
        await connection.execute(f"drop database {name} with (force)")
    finally:
        await connection.close()


@asynccontextmanager
async def connected_to_new_database(
    postgres: EmbeddedServer, settings: models_database.DatabaseSettings, *, first_store: int
) -> AsyncIterator[str]:
    """Connect this process with a migrated database of the caller's own; yield its URL.

    The caches of this process know the stores of other databases by their ids: `first_store` is above them. Each database has its own
    signing keys.
    """
    async with new_database(postgres, TEMPLATE) as name:
        url = postgres.url(name)
        connection = await asyncpg.connect(url)
        await connection.execute(f"alter table tenants alter id restart with {first_store}")
        await connection.close()
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(models_database, "_database", None)
            await models_database.connect(replace(settings, url=url, pooler_url=None))
            process_key_ring().clear()
            try:
                yield url
            finally:
                process_key_ring().clear()
                await models_database.close()


@pytest.fixture
async def empty_database_url(postgres: EmbeddedServer) -> AsyncIterator[str]:
    """Return the owner's URL of a database without tables."""
    async with new_database(postgres) as name:
        yield postgres.url(name)


@pytest.fixture
async def migrated_database_url(postgres: EmbeddedServer, database_url: str) -> AsyncIterator[str]:
    """Return the owner's URL of a migrated database without stores, for one test."""
    async with new_database(postgres, TEMPLATE) as name:
        yield postgres.url(name)


@contextmanager
def running_pgbouncer(postgres: EmbeddedServer, **options: str | int) -> Iterator[PgBouncer]:
    """Run a PgBouncer in transaction mode in front of the server."""
    with tempfile.TemporaryDirectory(prefix="vt-pgbouncer-") as folder:
        pooler = PgBouncer(Path(folder), postgres.socket_dir, postgres.port, options=options)
        pooler.start()
        try:
            yield pooler
        finally:
            pooler.kill()


@pytest.fixture(scope="session")
async def pooled_role(postgres: EmbeddedServer, database_url: str) -> None:
    """Create the login role of poolers; the roles that it may act as exist after the first migration."""
    connection = await asyncpg.connect(postgres.superuser_url())
    try:
        for statement in ROLE_STATEMENTS:
            await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def pooler_url(request: pytest.FixtureRequest, postgres: EmbeddedServer, database_name: str) -> Iterator[str | None]:
    """Return the URL of this process's database through PgBouncer, or None: `VITRINE_TEST_POOLER=1` runs all tests through it."""
    if os.environ.get("VITRINE_TEST_POOLER", "0") == "0":
        yield None
        return
    request.getfixturevalue("pooled_role")
    with running_pgbouncer(postgres) as pooler:
        pooler.keep_running()
        yield pooler.url(database_name)


@pytest.fixture(scope="session")
async def database(database_url: str, pooler_url: str | None) -> AsyncIterator[models_database.DatabaseSettings]:
    """Connect `models.connection.database` as the serving role, for the whole run of this process."""
    # VITRINE_PIPELINED_BINDING=0 runs all tests with the plain binding, VITRINE_TEST_POOLER=1 through PgBouncer.
    is_pipelined = os.environ.get("VITRINE_PIPELINED_BINDING", "1") != "0"
    settings = models_database.DatabaseSettings(database_url, pipelined_binding=is_pipelined, pooler_url=pooler_url)
    await models_database.connect(settings)
    await models_database.check_role()
    await use_models()
    try:
        yield settings
    finally:
        await models_database.close()


@pytest.fixture(scope="session")
async def new_store(database: models_database.DatabaseSettings) -> NewStore:
    """Return a function that creates a store: `store = await new_store(name="Loja")`."""

    async def create(**columns: Any) -> Store:
        values = {"name": "Test store", "currency": "BRL", "status": "A"} | columns
        public_id = uuid7()
        async with models_database.cross_store_connection() as connection:
            number = await connection.fetchval(
                "insert into tenants (public_id, name, currency, status) values ($1, $2, $3, $4) returning id",
                public_id,
                values["name"],
                values["currency"],
                values["status"],
            )
        return Store(number, public_id, values["name"], currency=values["currency"], status=values["status"])

    return create


@pytest.fixture
async def kill_backend(postgres: EmbeddedServer) -> AsyncIterator[Callable[[int], Awaitable[None]]]:
    """Return a function that terminates the backend with the process id, like an administrator or a crash."""
    connection = await asyncpg.connect(postgres.superuser_url())

    async def kill(pid: int) -> None:
        assert await connection.fetchval("select pg_terminate_backend($1, 5000)", pid)

    try:
        yield kill
    finally:
        await connection.close()


@pytest.fixture
async def store(new_store: NewStore) -> Store:
    """Return a new store."""
    return await new_store()


@pytest.fixture
async def other_store(new_store: NewStore) -> Store:
    """Return another new store."""
    return await new_store(name="Other store")


@pytest.fixture
def scope(store: Store) -> Scope:
    """Return a scope of the new store with all privileges."""
    return system_scope(store)


@pytest.fixture
def other_scope(other_store: Store) -> Scope:
    """Return a scope of the other store with all privileges."""
    return system_scope(other_store)
