"""An embedded PostgreSQL whose postmaster is gone is started again (docs/deploy.md#processes)."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from kernel import logging
from kernel.settings import Settings
from server.database import FOLDER, DatabaseLocation, database_location, readiness_checks
from server.embedded_postgres import EmbeddedPostgresError
from tests.server.embedded import READ, WRITE, copy_used_folder, fresh_folder, query
from tests.server.middleware_server import LogLines

pytestmark = pytest.mark.slow

GONE = "the embedded PostgreSQL is gone and is started again"
FAILED = "the embedded PostgreSQL did not start"
AGAIN = "the embedded PostgreSQL runs again"


@pytest.fixture
def lines():
    lines = LogLines()
    before = logging.set_sink(lines.raw.append)
    yield lines
    logging.set_sink(before)


@pytest.fixture
def settings():
    with fresh_folder() as folder:
        copy_used_folder(folder)
        yield Settings(data_dir=folder.parent)


def kill_postmaster(settings: Settings) -> None:
    pid = int((settings.data_dir / FOLDER / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)


async def wait_for_event(lines: LogLines, event: str, count: int = 1) -> None:
    async with asyncio.timeout(30):
        while len(lines.all(event)) < count:
            await asyncio.sleep(0.05)


async def test_a_killed_postmaster_is_started_again_with_its_data(settings, lines):
    async with database_location(settings) as location:
        await query(location.owner_url, *WRITE)
        for number in (1, 2):
            kill_postmaster(settings)
            started = time.monotonic()
            await wait_for_event(lines, AGAIN, number)
            assert time.monotonic() - started < 20, number
            assert await query(location.owner_url, READ) == 7, number
        assert [line["pause"] for line in lines.all(GONE)] == [0.0, 0.5]


async def test_a_start_that_fails_is_tried_again_with_growing_pauses(settings, lines, monkeypatch):
    monkeypatch.setattr("server.database._POSTGRES_CHECK_SECONDS", 0.05)
    monkeypatch.setattr("server.database._FIRST_PAUSE", 0.1)
    monkeypatch.setattr("server.database._LONGEST_PAUSE", 0.2)
    async with database_location(settings):
        with monkeypatch.context() as broken:

            def fail(*_: object) -> None:
                raise EmbeddedPostgresError("the disk is full")

            broken.setattr("server.embedded_postgres.postmaster.start", fail)
            kill_postmaster(settings)
            await wait_for_event(lines, FAILED, 4)
        await wait_for_event(lines, AGAIN)
        assert [line["pause"] for line in lines.all(GONE)][:4] == [0.0, 0.1, 0.2, 0.2]
        assert lines.all(FAILED)[0]["reason"] == "the disk is full"


async def test_readiness_reports_the_restart(settings, monkeypatch):
    monkeypatch.setattr("server.database._POSTGRES_CHECK_SECONDS", 3600)

    async def unreachable() -> None:
        raise OSError

    monkeypatch.setattr("models.connection.database.check_role", unreachable)
    async with database_location(settings) as location:
        check = readiness_checks(location)
        assert await check() == {"database": False, "migrations": False}
        kill_postmaster(settings)
        await asyncio.sleep(0.2)
        assert await check() == {"database": "restarting", "migrations": False}
        external = DatabaseLocation(location.owner_url, location.serving_url, is_embedded=False)
        assert await readiness_checks(external)() == {"database": False, "migrations": False}


async def test_deleted_data_is_not_replaced_by_an_empty_database(settings, lines):
    async with database_location(settings):
        data = Path(settings.data_dir / FOLDER / "data")
        kill_postmaster(settings)
        shutil.move(data, settings.data_dir / "moved")
        await wait_for_event(lines, "the data of the embedded PostgreSQL is gone: restart the program")
        assert not data.exists()
