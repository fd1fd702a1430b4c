"""Packages that tests run and `clients.build` builds with: `python -m tests.harness.packages` installs them in folders of their own.

Tests are skipped where their packages are not installed.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import pytest

from clients.build import OLDEST_NODE, TYPESCRIPT
from server.assets import build
from server.assets.build import ROOT, BuildFailed, Tools

BUILD = ROOT / ".vitrine" / "build"
COMMAND = "python -m tests.harness.packages"
SECONDS = 240


@dataclass(frozen=True)
class Packages(ABC):
    """Locked packages, and the files of `sources` that use them."""

    title: str
    sources: Path

    @property
    def folder(self) -> Path:
        """Return where they are installed."""
        return BUILD / "-".join(self.sources.relative_to(ROOT).parts).removeprefix("tests-")

    @abstractmethod
    def is_installed(self) -> bool:
        """Return whether the packages of the present lock file are installed."""

    @abstractmethod
    def install(self) -> None:
        """Install them; raise `BuildFailed` or OSError."""

    def open(self, folder: Path) -> Path:
        """Copy the files into a test's folder, where programs find the packages, or skip the test without them."""
        if not self.is_installed():
            pytest.skip(f"{self.title}: not installed ({COMMAND})")
        shutil.copytree(
            self.sources, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "node_modules")
        )
        return folder


class NodePackages(Packages):
    """Packages of npm; their scripts are run with `node`."""

    def is_installed(self) -> bool:
        return build.is_installed(self.sources, self.folder)

    def install(self) -> None:
        build.install(node_tools(), self.sources, self.folder)

    def open(self, folder: Path) -> Path:
        super().open(folder)
        (folder / "node_modules").symlink_to(self.folder / "node_modules")
        return folder


class PythonPackages(Packages):
    """Packages of a lock file that can't be installed together with ours; their scripts are run with `python`."""

    @property
    def python(self) -> Path:
        """Return the interpreter that sees them."""
        return self.folder / "environment" / "bin" / "python"

    def is_installed(self) -> bool:
        marker = self.folder / "installed"
        return marker.is_file() and marker.read_text(encoding="ascii") == self._lock_digest()

    def install(self) -> None:
        marker = self.folder / "installed"
        marker.unlink(missing_ok=True)
        environment = self.folder / "environment"
        create: list[str | Path] = [sys.executable, "-m", "venv", "--clear", "--without-pip", environment]
        build.run("creating an environment", create, self.folder)
        pip: list[str | Path] = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            self.python,
            "--disable-pip-version-check",
            "--no-input",
        ]
        requirements: list[str | Path] = ["--require-hashes", "--requirement", self.sources / "requirements.lock"]
        build.run("pip install", [*pip, "install", *requirements], self.folder)
        marker.write_text(self._lock_digest(), encoding="ascii")

    def _lock_digest(self) -> str:
        # The environment is that of one interpreter.
        lock = (self.sources / "requirements.lock").read_bytes()
        return hashlib.sha256(lock + sys.version.encode()).hexdigest()


def node_tools() -> Tools:
    """Return Node and npm."""
    return build.machine_tools(OLDEST_NODE) or build.packaged_tools()


def run(*command: str | Path, cwd: Path) -> str:
    """Run a program that must succeed; return what it printed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def run_node(script: str | Path, *arguments: str | Path, cwd: Path) -> str:
    """Run a script with Node, which must succeed; return what it printed."""
    return run(*node_tools().node, script, *arguments, cwd=cwd)


GENERATORS = NodePackages("client generators", ROOT / "tests" / "openapi" / "generators")
CLIENTS = NodePackages("clients", ROOT / "tests" / "clients" / "packages")
EXAMPLE = NodePackages("example storefront", ROOT / "examples" / "storefront")
BACK_OFFICE = NodePackages("back office", ROOT / "backoffice")
ARIADNE = PythonPackages("ariadne-codegen", ROOT / "tests" / "clients" / "ariadne")
TYPED_NODE = NodePackages("the typed client's generators", TYPESCRIPT)
TYPED_PYTHON = PythonPackages("the typed client's dependencies and mypy", ROOT / "tests" / "clients" / "typed")


def main() -> int:
    """Install what is missing; a failure is reported and leaves the tests that need it out."""
    for packages in (GENERATORS, CLIENTS, EXAMPLE, BACK_OFFICE, ARIADNE, TYPED_NODE, TYPED_PYTHON):
        if packages.is_installed():
            continue
        print(f"Installing {packages.title} into .vitrine/build/ for the tests ...", flush=True)
        try:
            packages.folder.mkdir(parents=True, exist_ok=True)
            packages.install()
        except (BuildFailed, OSError) as error:
            print(f"{packages.title}: not installed, so their tests are skipped: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
