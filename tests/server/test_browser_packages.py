"""The browser bundles: how they are built, and that they contain no version of DOMPurify with known vulnerabilities."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from server.assets import build

# CVE-2025-26791 is repaired in 3.2.4, CVE-2026-0540 in 3.3.2.
REPAIRED = (3, 3, 2)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


def test_the_packages_of_the_bundles_are_listed() -> None:
    program = [sys.executable, build.__file__, "--packages"]
    listed = subprocess.run(program, capture_output=True, text=True, check=True).stdout.splitlines()
    versions = dict(line.rsplit(" ", 1) for line in listed)
    assert {"graphiql", "monaco-editor", "preact", "react", "swagger-ui-dist"} <= versions.keys()
    assert "esbuild" not in versions
    assert _numbers(versions["dompurify"]) >= REPAIRED


def test_the_bundles_contain_no_vulnerable_dompurify() -> None:
    version = build.built_version()
    assert version is not None
    versions = set()
    for file in (build.BUILT / version).glob("*.js"):
        text = file.read_text(encoding="utf-8")
        # Each copy assigns its version a few characters before what it removed.
        versions |= set(re.findall(r'\.version="(\d+\.\d+\.\d+)"[^"]{0,40}\.removed=\[\]', text))
    assert versions, "no bundle contains DOMPurify"
    assert {version for version in versions if _numbers(version) < REPAIRED} == set()


def test_a_build_says_that_it_begins_and_ends_quietly_when_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> build.Tools:
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "built_version", lambda: None)
    monkeypatch.setattr(build, "machine_tools", interrupted)
    monkeypatch.setattr(sys, "argv", ["build.py"])
    assert build.main() == 130
    assert "building the browser files" in capsys.readouterr().out
