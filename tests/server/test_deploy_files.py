"""The files in deploy/ agree with each other and with the documentation."""

from __future__ import annotations

from configparser import ConfigParser
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import pytest

from kernel.settings import Settings
from server.embedded_postgres import EmbeddedServer
from server.operations.check_results import Severity
from server.operations.checks import check_settings, check_storage
from tests.harness.database import needs_pgbouncer
from tests.harness.programs import ROOT
from tests.system.pgbouncer import PROGRAM, PgBouncer, shipped_settings

UNITS = ("vitrine-web.service", "vitrine-worker@.service")


def test_a_restart_of_postgresql_is_followed_by_a_second_of_refusals_at_most():
    assert shipped_settings()["server_login_retry"] == "1"
    assert 'SERVER_LOGIN_RETRY: "1"' in (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")


def test_the_pooler_file_has_no_setting_that_debian_12_does_not_know():
    assert "max_prepared_statements" not in shipped_settings()


@needs_pgbouncer
def test_the_tests_run_the_pooler_with_the_shipped_file(tmp_path: Path, postgres: EmbeddedServer):
    assert PROGRAM is not None
    PgBouncer(tmp_path, postgres.socket_dir, postgres.port)
    written = ConfigParser(interpolation=None)
    written.read(tmp_path / "pgbouncer.ini", encoding="utf-8")
    own = {"listen_addr", "listen_port", "auth_type", "auth_file", "unix_socket_dir", "logfile", "pidfile"}
    assert {name: value for name, value in shipped_settings().items() if name not in own}.items() <= written[
        "pgbouncer"
    ].items()


@pytest.mark.parametrize("unit", UNITS)
def test_units_may_write_files(unit: str):
    lines = (ROOT / "deploy" / "systemd" / unit).read_text(encoding="utf-8").splitlines()
    assert {"ProtectSystem=strict", "StateDirectory=vitrine", "Environment=VITRINE_DATA_DIR=/var/lib/vitrine"} <= {
        *lines
    }


async def test_doctor_names_a_folder_of_files_that_cannot_be_written_to():
    result = await check_storage(Settings(storage_url="file:///dev/null/files"))
    assert (result.level, result.text) == (Severity.FAIL, "file:///dev/null/files can't be written to: Not a directory")


async def test_doctor_reports_the_free_space_for_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert (await check_storage(Settings(storage_url=tmp_path.as_uri()))).level is Severity.OK
    monkeypatch.setattr("server.operations.checks.MIN_FREE_BYTES", 2**62)
    assert (await check_storage(Settings(storage_url=tmp_path.as_uri()))).level is Severity.FAIL


@pytest.mark.parametrize(
    "bind, text",
    [
        ((), "the server listens on 0.0.0.0, ::: all clients of a proxy in front count as one address and share its limits, and"
             " without a proxy passwords and tokens are sent without TLS"),
        (("127.0.0.1",), "the server listens on 127.0.0.1: all clients of a proxy in front count as one address and share its limits"),
    ],
)  # fmt: skip
def test_doctor_warns_of_a_production_without_trusted_proxies(bind: tuple[str, ...], text: str):
    settings = Settings(env="production", secret_key="s" * 40, bind=bind)
    [result] = [result for result in check_settings(settings) if result.check == "proxies"]
    assert (result.level, result.text) == (Severity.WARN, f"VITRINE_TRUSTED_PROXIES is not set and {text}")
    trusting = replace(settings, trusted_proxies=(ip_network("10.0.0.0/8"),))
    assert "proxies" not in [result.check for result in check_settings(trusting)]
    assert "proxies" not in [result.check for result in check_settings(Settings(bind=("0.0.0.0",)))]


def test_doctor_names_a_misspelt_setting_and_a_base_url_without_tls(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VITRINE_TRUSTED_PROXY", "10.0.0.0/8")
    settings = Settings(env="production", secret_key="s" * 40, base_url="http://shop.example")
    texts = [result.text for result in check_settings(settings) if result.level is Severity.WARN]
    assert "VITRINE_TRUSTED_PROXY is not a setting; the nearest is VITRINE_TRUSTED_PROXIES" in texts
    assert "VITRINE_BASE_URL is http://shop.example; links and tokens need https" in texts
