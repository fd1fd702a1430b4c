"""`python -m clients.build` without a build."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from server.assets.build import ROOT


@pytest.mark.parametrize("option,code", [("--help", 0), ("--folder", 2)])
def test_an_option_is_no_folder(option: str, code: int, tmp_path: Path) -> None:
    command, environment = [sys.executable, "-m", "clients.build", option], {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == code
    assert "usage: python -m clients.build" in done.stdout + done.stderr
    assert not list(tmp_path.iterdir())
