"""Other commands know the address of the running server."""

from __future__ import annotations

import os
from pathlib import Path

from kernel.settings import Settings
from server.address_file import public_url, published_address


def test_the_address_of_a_server_that_runs_on_is_known_after_a_second_one_ended(tmp_path: Path):
    settings = Settings(data_dir=tmp_path)
    (tmp_path / "serving").write_text(f"{os.getppid()} http://localhost:8183\n", encoding="utf-8")
    with published_address(settings, "http://localhost:8184"):
        assert public_url(settings) == "http://localhost:8184"
    assert public_url(settings) == "http://localhost:8183"


def test_nothing_is_left_of_a_server_that_was_killed(tmp_path: Path):
    settings = Settings(data_dir=tmp_path)
    (tmp_path / "serving").write_text(
        f"{os.getpid()} http://localhost:8183\n", encoding="utf-8"
    )  # its number is used again
    with published_address(settings, "http://localhost:8184"):
        assert public_url(settings) == "http://localhost:8184"
    assert not (tmp_path / "serving").exists()
    assert public_url(settings) == "http://localhost:8000"
