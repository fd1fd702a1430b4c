"""The units, container files and configurations in the repository are valid and agree with the program."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from kernel.settings import SETTINGS, Settings
from server import cli
from server.process import FINISH_SECONDS
from server.workers.webhooks import STOP_SECONDS
from tests.server.haproxy import needs_haproxy
from tests.server.test_main import running
from tests.server.test_processes import PRODUCTION
from tests.server.units import directives_of
from tests.system.haproxy import CONFIGURATION, PROGRAM

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
TIMERS = sorted((DEPLOY / "systemd").glob("*.timer"))
SETTING_NAMES = {setting.name for setting in SETTINGS}
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
OWN = {name: service for name, service in COMPOSE["services"].items() if service["image"] == "vitrine"}


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Containerfile, with continued lines joined."""
    text = re.sub(r"\\\n", " ", (ROOT / "Containerfile").read_text(encoding="utf-8"))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def runs(command: list[str]) -> bool:
    """Return whether the program has the command."""
    try:
        cli.parser().parse_args(command)
    except SystemExit:
        return False
    return True


# --- systemd ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_units(tmp_path: Path):
    copies = []
    for unit in (*UNITS, *TIMERS):
        text = unit.read_text(encoding="utf-8").replace("/opt/vitrine/.venv/bin/vitrine", "/bin/true")
        copies.append(tmp_path / unit.name)
        copies[-1].write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, copies)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if "vitrine" in line]) == (0, []), done.stderr


def test_units_run_commands_without_privileges_and_wait_long_enough():
    assert [unit.name for unit in UNITS] == [
        "vitrine-cells-sync.service",
        "vitrine-cells.service",
        "vitrine-migrate.service",
        "vitrine-web.service",
        "vitrine-worker@.service",
    ]
    needed = {"serve": Settings().drain_time + FINISH_SECONDS, "worker": STOP_SECONDS, "migrate": 0, "cells": 0}
    for unit in UNITS:
        values = {name: each[-1] for name, each in directives_of(unit.name).items()}
        program, *command = shlex.split(values["ExecStart"])
        assert program == "/opt/vitrine/.venv/bin/vitrine", unit
        assert runs(command), unit
        assert (values["User"], values["NoNewPrivileges"], values["CapabilityBoundingSet"]) == ("vitrine", "yes", ""), (
            unit
        )
        if values["Type"] != "oneshot":
            assert float(values["TimeoutStopSec"]) > needed[command[0]], unit
            assert values["Restart"] == "always", unit


def test_each_timer_starts_its_unit_and_those_without_are_started_by_themselves():
    timed = {timer.with_suffix(".service") for timer in TIMERS}
    assert timed <= set(UNITS)
    for unit in UNITS:
        assert ("WantedBy" in directives_of(unit.name)) == (unit not in timed), unit
    for timer in TIMERS:
        assert "WantedBy=timers.target" in timer.read_text(encoding="utf-8"), timer


def test_the_environment_file_names_settings():
    lines = (DEPLOY / "vitrine.env.example").read_text(encoding="utf-8").splitlines()
    names = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}
    assert names <= SETTING_NAMES
    assert {"DATABASE_URL", "VITRINE_SECRET_KEY"} <= names


# --- containers ------------------------------------------------------------------------------------------------------


def test_the_image_runs_without_root_and_names_its_versions():
    stages = [value for name, value in instructions() if name == "FROM"]
    required = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    for stage in stages:
        version = re.match(r"docker\.io/library/python:(\d+\.\d+)-slim-bookworm\b", stage)
        assert version is not None, stage
        assert f">={version[1]}" == required, stage
    final = instructions()[max(index for index, (name, _) in enumerate(instructions()) if name == "FROM") :]
    values = dict(final)
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", values["USER"])
    assert final.index(("USER", values["USER"])) < [name for name, _ in final].index("ENTRYPOINT")
    assert runs(json.loads(values["CMD"]))
    assert json.loads(values["ENTRYPOINT"]) == ["vitrine"]
    variables = {pair.partition("=")[0] for pair in shlex.split(values["ENV"])}
    assert variables - SETTING_NAMES == {"PATH", "PYTHONDONTWRITEBYTECODE"}


def test_what_the_image_copies_exists_and_is_not_ignored():
    ignored = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    sources = [
        source
        for name, value in instructions()
        if name == "COPY" and "--from" not in value
        for source in value.split()[:-1]
    ]
    assert sources
    for source in sources:
        assert (ROOT / source).exists()
        assert source not in ignored
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert not set(packages["targets"]["wheel"]["packages"]) & set(ignored)
    assert {".git", ".vitrine"} <= set(ignored)  # history and secrets stay outside


async def test_the_health_check_of_the_image_follows_readiness(tmp_path: Path, database_url: str):
    check = next(value for name, value in instructions() if name == "HEALTHCHECK")
    command = json.loads(check.partition("CMD ")[2])
    assert command[0] == "python"

    async def result(port: int) -> int:
        environ = {"PATH": os.environ["PATH"], "PORT": str(port)}
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command[1:], env=environ, stderr=subprocess.DEVNULL
        )
        return await process.wait()

    async with running(tmp_path, forks_children=True, DATABASE_URL=database_url, **PRODUCTION) as (process, client):
        port = client._base_url.port
        assert await result(port) == 0
        process.terminate()
        await process.communicate()
        assert await result(port) == 1


def test_compose_runs_every_part_with_settings_that_exist():
    services = COMPOSE["services"]
    assert set(services) == {"migrate", "pooler-role", "web", "worker", "postgres", "pgbouncer", "redis"}
    for name, service in OWN.items():
        assert set(service["environment"]) <= SETTING_NAMES, name
        assert runs(service.get("command", ["serve"])), name
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services), name
        for other, condition in service.get("depends_on", {}).items():
            assert condition["condition"] != "service_healthy" or "test" in services[other]["healthcheck"], name
        assert service["image"] == "vitrine" or re.search(r":v?\d[\w.-]*$", service["image"]), name
    assert [name for name, service in services.items() if "ports" in service] == ["web"]


def test_compose_and_the_image_check_readiness_alike():
    options, _, command = dict(instructions())["HEALTHCHECK"].partition("CMD")
    check = OWN["web"]["healthcheck"]
    assert check["test"] == ["CMD", *json.loads(command)]
    assert {option.split("=")[0].strip("-").replace("-", "_"): option.split("=")[1] for option in options.split()} == {
        name: str(value) for name, value in check.items() if name != "test"
    }


def test_web_processes_and_workers_of_compose_share_the_files():
    directory = re.search(r"VITRINE_DATA_DIR=(\S+)", dict(instructions()[::-1])["ENV"])
    assert directory is not None
    for name in ("web", "worker"):
        volume, target = OWN[name]["volumes"][0].split(":")
        assert volume in COMPOSE["volumes"], name
        assert Path(directory[1]).is_relative_to(target), name


def test_the_worker_of_compose_writes_the_addresses_of_its_web_processes():
    web, worker = (OWN[name]["environment"] for name in ("web", "worker"))
    for name in ("VITRINE_BASE_URL", "VITRINE_SHARED_HOSTS"):
        assert worker.get(name) == web[name], name


def test_compose_contains_no_secret_and_refuses_to_start_without():
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    for name in ("POSTGRES_PASSWORD", "VITRINE_SECRET_KEY"):
        assert f"${{{name}:?}}" in text
        assert not re.search(rf"\$\{{{name}[^:}}]|\$\{{{name}:-", text)


def test_compose_waits_as_long_as_a_server_takes_to_stop():
    assert int(OWN["web"]["stop_grace_period"].removesuffix("s")) > Settings().drain_time + FINISH_SECONDS
    assert int(OWN["worker"]["stop_grace_period"].removesuffix("s")) > STOP_SECONDS


def test_files_that_compose_mounts_exist_and_shell_accepts_them():
    mounted = [
        volume.split(":")[0]
        for service in COMPOSE["services"].values()
        for volume in service.get("volumes", ())
        if volume.startswith("./")
    ]
    assert sorted(mounted) == ["./postgres-init.sh", "./postgres-pooler.sh"]
    for path in mounted:
        subprocess.run(["sh", "-n", str(DEPLOY / path)], check=True)


# --- proxy -----------------------------------------------------------------------------------------------------------


@needs_haproxy
def test_haproxy_accepts_the_configuration():
    assert PROGRAM is not None
    done = subprocess.run([PROGRAM, "-c", "-f", str(CONFIGURATION)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_checks_of_haproxy_fail_within_the_drain_time():
    text = CONFIGURATION.read_text(encoding="utf-8")
    interval, failures = re.search(r"inter (\d+)ms fall (\d+)", text).groups()
    assert int(interval) * int(failures) / 1_000 < Settings().drain_time
    assert "uri /health/ready" in text
    assert "retry-on conn-failure" in text


def test_a_check_of_haproxy_may_take_as_long_as_a_busy_server_needs():
    text = CONFIGURATION.read_text(encoding="utf-8")
    # Without a time-out of its own a check fails after its interval.
    assert int(re.search(r"timeout check (\d+)s", text)[1]) * 1_000 > int(re.search(r"inter (\d+)ms", text)[1])
