"""The systemd units of deploy/ run as their user, where only StateDirectory can be written to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import NamedTemporaryFile

import aiohttp
import asyncpg
import pytest
from yarl import URL

from bench.servers import free_port
from domain.mails import outbox
from kernel.scope import active_scope
from kernel.settings import Settings
from models.connection.database import DatabaseSettings
from server.embedded_postgres import EmbeddedServer
from tests.bulk.conftest import UPLOAD, Bulk, bulk
from tests.harness.database import connected_to_new_database
from tests.harness.http import Client, ServeApplication
from tests.harness.oauth import graphql_result
from tests.harness.records import add_product
from tests.harness.sample_store import SampleStore, filled_store
from tests.harness.storefront import open_storefront
from tests.server.command_line import SECRET
from tests.server.units import Unit, inside, make_state, why_not

pytestmark = [pytest.mark.skipif(bool(why_not()), reason=why_not()), pytest.mark.slow(seconds=5)]
__all__ = ["bulk"]

WEB, WORKER, MIGRATE = "vitrine-web.service", "vitrine-worker@.service", "vitrine-migrate.service"
CELLS, SYNC = "vitrine-cells.service", "vitrine-cells-sync.service"
_SECONDS = 60
_ADD_USER = """
insert into platform_users (public_id, email, name, password_hash) values (gen_random_uuid(), 'ana@unit.example', 'Ana', 'x')
"""
_FIRST_STORE = 6_000_000
# Prints the folders of the arguments in which a file can be created.
_TRY = """
import sys, tempfile
for folder in sys.argv[1:]:
    try:
        tempfile.TemporaryFile(dir=folder).close()
        print(folder)
    except OSError:
        pass
"""


def unit(name: str, folder: Path, database_url: str, **settings: str) -> Unit:
    secret = {"VITRINE_SECRET_KEY": SECRET, "VITRINE_METRICS_PORT": "0", "VITRINE_DRAIN_TIME": "0"}
    return Unit(name, make_state(folder / "state", name), database_url, secret | settings)


@pytest.mark.parametrize("name", [WEB, WORKER, CELLS])
async def test_a_unit_may_write_to_its_state_and_temporary_folders_only(name: str, tmp_path: Path, database_url: str):
    state = "/var/lib/vitrine-cells" if name == CELLS else "/var/lib/vitrine"
    folders = ["/", "/etc", "/opt/vitrine", "/var/lib", "/var/log", "/tmp", state]
    async with unit(name, tmp_path, database_url).running("-c", _TRY, *folders) as process:
        out, err = await process.communicate()
    assert (out.decode().split(), err.decode()) == (["/tmp", state], "")


async def test_the_unit_of_migrations_ends_successfully(tmp_path: Path, database_url: str):
    async with unit(MIGRATE, tmp_path, database_url).running() as process:
        _, err = await process.communicate()
    assert process.returncode == 0, err.decode()


async def test_the_unit_of_all_cells_copies_what_they_have_in_common(
    tmp_path: Path, database_url: str, migrated_database_url: str
):
    first, second = [await asyncpg.connect(url) for url in (database_url, migrated_database_url)]
    await first.execute(_ADD_USER)
    try:
        with NamedTemporaryFile("w", dir="/dev/shm", suffix=".conf") as file:  # the unit has a /tmp of its own
            file.write(f"one {inside(database_url)}\ntwo {inside(migrated_database_url)}\n")
            file.flush()
            Path(file.name).chmod(0o644)
            async with unit(SYNC, tmp_path, database_url, VITRINE_CELLS_FILE=file.name).running() as process:
                _, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        assert await second.fetchval("select count(*) from platform_users where email = 'ana@unit.example'") == 1
    finally:
        await first.execute("delete from platform_users where email = 'ana@unit.example'")
        await first.close()
        await second.close()


async def test_the_worker_writes_files_of_bulk_operations_within_its_unit(
    tmp_path: Path, database_url: str, bulk: Bulk, admin: Client
):
    await add_product(admin.store)
    created = await bulk.create(admin, "{ products { id } }")
    worker = unit(WORKER, tmp_path, database_url)
    async with worker.running() as process, asyncio.timeout(_SECONDS):
        while (operation := await bulk.show(admin, created["id"]))["state"] in ("pending", "running"):
            assert process.returncode is None, await process.communicate()
            await asyncio.sleep(0.1)
    assert (operation["state"], operation["object_count"]) == ("completed", 1)
    (file,) = (worker.state / "storage" / "bulk").rglob("*.jsonl")
    assert file.stat().st_size == operation["file_size"]
    assert process.returncode == 0


async def test_the_worker_writes_mails_that_lead_to_the_order(
    tmp_path: Path, postgres: EmbeddedServer, database: DatabaseSettings, serve_application: ServeApplication
):
    # The worker would first write the mails of the stores of all other tests.
    async with connected_to_new_database(postgres, database, first_store=_FIRST_STORE) as url:
        sample = await filled_store(await serve_application(Settings(ip_rate=0, failed_auth_rate=0)))
        await _check_mail_of_order(tmp_path, url, sample)


async def _check_mail_of_order(tmp_path: Path, database_url: str, sample: SampleStore) -> None:
    shop = await open_storefront(sample)
    order = (await shop.order((sample.mug, 1), customer_email="ana@example.com")).body
    worker = unit(
        WORKER, tmp_path, database_url, VITRINE_EXAMPLE_STOREFRONT="1", VITRINE_BASE_URL="https://shop.example"
    )
    async with worker.running() as process, asyncio.timeout(_SECONDS):
        while not await sample.value("select count(*) from mails"):
            assert process.returncode is None, await process.communicate()
            await asyncio.sleep(0.1)
    with active_scope(sample.scope):
        bodies = [mail.body for mail in await outbox.list_latest(sample.scope)]
    assert any(f"/pedido#id={order['id']}&token=" in body for body in bodies), bodies


async def test_the_web_process_serves_and_takes_uploads_within_its_unit(
    tmp_path: Path, database_url: str, bulk: Bulk, admin: Client
):
    port = free_port()
    web = unit(WEB, tmp_path, database_url, PORT=str(port), VITRINE_BIND="127.0.0.1")
    upload = URL((await graphql_result(admin, UPLOAD))["url"])
    async with web.running() as process, asyncio.timeout(_SECONDS), aiohttp.ClientSession() as client:
        while not await is_ready(client, port):
            assert process.returncode is None, await process.communicate()
            await asyncio.sleep(0.1)
        address = URL(f"http://127.0.0.1:{port}").join(upload.relative() if upload.absolute else upload)
        async with client.put(address, data=b'{"n": 1}\n') as response:
            assert response.status == 201, await response.text()
    assert [file.read_bytes() for file in (web.state / "storage").rglob("*.upload")] == [b'{"n": 1}\n']
    assert process.returncode == 0


async def is_ready(client: aiohttp.ClientSession, port: int) -> bool:
    try:
        async with client.get(f"http://127.0.0.1:{port}/health/ready") as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False
