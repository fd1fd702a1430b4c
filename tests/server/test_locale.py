"""Names outside ASCII, of stores and of the checkout's folder, under locales that know only ASCII."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path
from uuid import uuid4

import pytest

from server.embedded_postgres.errors import EmbeddedPostgresError
from server.embedded_postgres.layout import prepare_folder
from tests.harness.programs import ROOT
from tests.server.command_line import Vitrine

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow]

# Installs Vitrine as pip does; what it needs is installed already.
_PIP = 'case "$*" in *--editable*) exec .venv/bin/python -m pip -qq --no-input "$@";; esac\n'


@pytest.fixture
def vitrine(tmp_path: Path, database_url: str) -> Vitrine:
    return Vitrine(tmp_path, DATABASE_URL=database_url, LC_ALL="C")


@pytest.mark.parametrize("encoding", ["", "ascii", "latin-1"])
def test_commands_print_any_name_as_utf_8_in_every_locale(vitrine: Vitrine, encoding: str):
    name = f"Loja São João € {uuid4().hex}"
    assert vitrine("tenant", "create", name).code == 0
    for options in ((), ("--json",)):
        listed = vitrine.run_subprocess("tenant", "list", *options, PYTHONIOENCODING=encoding)
        assert listed.code == 0, (options, listed.err)
        assert name in listed.out, options


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_installs_a_program_that_runs_in_a_folder_whose_name_is_not_ascii(tmp_path: Path, vitrine: Vitrine):
    checkout = tmp_path / "vitrine-ção"
    checkout.mkdir()
    for entry in ROOT.iterdir():
        if not entry.name.startswith("."):
            (checkout / entry.name).symlink_to(entry)
    venv.create(checkout / ".venv", symlinks=True)
    (checkout / ".venv" / "bin" / "pip").write_text(f"#!{checkout}/.venv/bin/python\n", encoding="utf-8")
    packages = Path(
        sysconfig.get_path("platlib", vars={"base": str(checkout / ".venv"), "platbase": str(checkout / ".venv")})
    )
    (packages / "packages.pth").write_text(sysconfig.get_path("platlib"), encoding="utf-8")
    pip = tmp_path / "pip.sh"
    pip.write_text(_PIP, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}

    made = subprocess.run(
        ["make", ".venv/.installed", f"PIP=sh {pip}"],
        cwd=checkout, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    listed = subprocess.run(
        [checkout / ".venv" / "bin" / "vitrine", "tenant", "list"],
        cwd=tmp_path, env=vitrine.environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (listed.returncode, listed.stderr) == (0, "")


def test_a_folder_that_cannot_be_named_in_utf_8_is_refused_in_one_line(tmp_path: Path, vitrine: Vitrine):
    data = tmp_path / "dados-ção"
    refused = vitrine.run_subprocess("tenant", "list", DATABASE_URL="", VITRINE_DATA_DIR=str(data), PYTHONUTF8="0")
    assert "can't be used without UTF-8; set LC_ALL=C.UTF-8" in refused.error_line
    with pytest.raises(EmbeddedPostgresError, match="can't be used without UTF-8"):
        prepare_folder(Path(os.fsdecode(os.fsencode(tmp_path) + b"/dados-\xe7")))
