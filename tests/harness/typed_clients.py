"""The typed clients (clients/), built, installed into empty projects, and used by the programs in tests/clients/typed.

Each is built and compiled once in a test run; its processes share the folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clients.build import build_python, build_typescript
from server.assets.build import ROOT
from server.embedded_postgres.locks import exclusive_lock
from tests.harness.packages import COMMAND, TYPED_NODE, TYPED_PYTHON, Packages, node_tools, run

# How long another process may take to build or compile.
WAIT_SECONDS = 240
SOURCES = ROOT / "tests" / "clients" / "typed"


class TypedClient(ABC):
    """A built package in a project that has nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.once("installed", self.install)

    def once(self, name: str, action: Callable[[], None]) -> None:
        """Do what no other process of the test run has done; after a failure the next one tries again."""
        with exclusive_lock(self.folder.with_suffix(".lock"), WAIT_SECONDS):
            done = self.folder.with_suffix(f".{name}")
            if not done.exists():
                action()
                done.touch()

    async def __call__(self, scenario: str, **parameters: Any) -> Any:
        """Run a scenario and return its result."""
        arguments = (scenario, json.dumps(parameters))
        return json.loads(await asyncio.to_thread(run, *self.program, *arguments, cwd=self.folder))

    @abstractmethod
    def install(self) -> None:
        """Build the package and install it."""

    @property
    @abstractmethod
    def program(self) -> list[str | Path]:
        """Return the command of the program with the scenarios."""

    @abstractmethod
    def check_types(self) -> None:
        """Check package and program with the strictest options."""


class PythonClient(TypedClient):
    """The wheel in an empty virtual environment; its dependencies and mypy are those of the lock file."""

    def install(self) -> None:
        wheel = build_python(self.folder)
        environment = self.folder / "environment"
        run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=self.folder)
        (packages,) = (TYPED_PYTHON.folder / "environment").glob("lib/python*/site-packages")
        (installed,) = environment.glob("lib/python*/site-packages")
        (installed / "dependencies.pth").write_text(f"{packages}\n", encoding="utf-8")
        pip = ("-m", "pip", "--python", self.python, "--disable-pip-version-check", "install", "--no-index")
        run(sys.executable, *pip, wheel, cwd=self.folder)
        shutil.copyfile(SOURCES / "scenarios.py", self.folder / "scenarios.py")

    @property
    def python(self) -> Path:
        """Return the interpreter of the environment."""
        return self.folder / "environment" / "bin" / "python"

    @property
    def program(self) -> list[str | Path]:
        return [self.python, "scenarios.py"]

    def check_types(self) -> None:
        for checked in (["scenarios.py"], ["--package", "vitrine_client"]):
            run(self.python, "-m", "mypy", "--strict", *checked, cwd=self.folder)


class TypeScriptClient(TypedClient):
    """The npm package in an empty project; the compiler is that of the package's lock file."""

    def install(self) -> None:
        package = build_typescript(self.folder, node_tools())
        self.project.mkdir()
        (self.project / "package.json").write_text(
            '{"name": "empty", "private": true, "type": "module"}', encoding="utf-8"
        )
        run(*node_tools().npm, "install", "--offline", "--no-audit", "--no-fund", package, cwd=self.project)
        for name in ("scenarios.ts", "tsconfig.json"):
            shutil.copyfile(SOURCES / name, self.project / name)
        # A type of another package, to which the client's documents must be assignable.
        types = Path("node_modules", "@graphql-typed-document-node")
        (self.project / types).symlink_to(TYPED_NODE.folder / types)

    @property
    def project(self) -> Path:
        """Return the project's folder."""
        return self.folder / "project"

    @property
    def program(self) -> list[str | Path]:
        self.once("compiled", self.compile)
        return [*node_tools().node, self.compiled]

    @property
    def compiled(self) -> Path:
        """Return the address of the compiled program."""
        return self.project / "scenarios.js"

    def compile(self) -> None:
        """Compile the program; raise if its types or those of the package are wrong."""
        compiler = TYPED_NODE.folder / "node_modules" / "typescript" / "bin" / "tsc"
        run(*node_tools().node, compiler, "--project", self.project, cwd=self.project)

    def check_types(self) -> None:
        self.once("compiled", self.compile)
        assert self.compiled.is_file()


_KINDS: dict[str, tuple[type[TypedClient], Packages]] = {
    "python": (PythonClient, TYPED_PYTHON),
    "typescript": (TypeScriptClient, TYPED_NODE),
}


@pytest.fixture(scope="session", params=_KINDS)
def typed_client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TypedClient:
    """Return an installed client, one after the other."""
    kind, packages = _KINDS[request.param]
    if not packages.is_installed():
        pytest.skip(f"{packages.title}: not installed ({COMMAND})")
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / f"typed_{request.param}"
    folder.mkdir(exist_ok=True)
    return kind(folder)
