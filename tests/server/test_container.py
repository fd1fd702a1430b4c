"""The image is built from the Containerfile and started, where buildah is installed on Debian and this is root; elsewhere it isn't tried.

No registry of images is asked: the base is made of the files of Debian's Python here. The build runs in a chroot, which needs no namespaces
and no other privileges than those of root. What pip and npm need to reach their registries is mounted.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.test_tutorials import free_port
from tests.harness.programs import ROOT

BASE = "docker.io/library/python:3.11-slim-bookworm"
PACKAGES = (
    *("python3", "python3-venv", "bash", "dash", "coreutils", "passwd", "findutils", "grep", "sed", "tar", "gzip"),
    *("libc-bin", "libstdc++6", "base-files", "base-passwd"),
)
LINKS = (
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/etc/passwd",
    "/etc/group",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/ld.so.cache",
)
CHROOT = ("--isolation", "chroot")
# Where a machine says how its registries are reached, besides the environment and local folders of packages.
CONFIGURATION = ("/etc/ssl/certs", "/etc/pip.conf", "/etc/xdg/pip", "~/.config/pip", "~/.npmrc")
PASSED = ("HTTPS_PROXY", "NODE_EXTRA_CA_CERTS", "PIP_INDEX_URL", "SSL_CERT_FILE")


def why_not() -> str:
    """Return why the image can't be built here; "" if it can."""
    if shutil.which("buildah") is None or shutil.which("apt-cache") is None:
        return "the image isn't built: buildah is not installed (apt-get install buildah)"
    if os.geteuid() != 0:
        return "the image isn't built: only root can make its base"
    if not Path("/usr/bin/python3.11").exists() or not Path("/usr/share/doc/python3-venv").exists():
        return "the image isn't built: Debian's python3.11 and python3-venv are not installed"
    return ""


pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.slow(seconds=300),
    pytest.mark.timeout(1_800),
]


class Buildah:
    """Buildah with a storage of its own."""

    def __init__(self, folder: Path) -> None:
        self.command = ("buildah", "--root", str(folder / "storage"), "--runroot", str(folder / "run"))

    def __call__(self, *arguments: str) -> str:
        done = subprocess.run([*self.command, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=1_500)
        if done.returncode:
            pytest.fail(f"buildah {arguments[0]}: {done.stdout[-2_000:]}\n{done.stderr[-2_000:]}")
        return done.stdout.strip()


@pytest.fixture
def buildah() -> Iterator[Buildah]:
    # In the checkout: the files of a test run may be in memory.
    folder = ROOT / ".vitrine" / "build" / "container"
    folder.mkdir(parents=True, exist_ok=True)
    tool = Buildah(folder)
    yield tool
    tool("rm", "--all")
    tool("rmi", "--all", "--force")
    shutil.rmtree(folder)


def test_the_image_is_built_and_serves(buildah: Buildah):
    make_base(buildah)
    mounts = [f"{path}:{path}:ro" for path in registry_settings()]
    buildah(
        "bud", "--layers", *CHROOT, "--network", "host", "--pull-never", "--format", "docker", "--file", "Containerfile",
        "--tag", "vitrine",
        *(option for mount in mounts for option in ("--volume", mount)),
        *(option for name in PASSED if name in os.environ for option in ("--env", f"{name}={os.environ[name]}")),
        ".",
    )  # fmt: skip
    image = json.loads(buildah("inspect", "--type", "image", "vitrine"))["Docker"]["config"]
    assert (image["Entrypoint"], image["Cmd"], image["User"]) == (["vitrine"], ["serve"], "10001:10001")
    assert image["Healthcheck"]["Test"][0] == "CMD"
    container, port = buildah("from", "--pull-never", "vitrine"), free_port()
    variables = (f"PORT={port}", "VITRINE_METRICS_PORT=0", "VITRINE_SECRET_KEY=" + "0123456789" * 4)
    settings = tuple(option for variable in variables for option in ("--env", variable))
    command = [*buildah.command, "run", *CHROOT, *settings, container, "--", *image["Entrypoint"], *image["Cmd"]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as serving:
        try:
            assert wait_until_ready(serving, port)["status"] == "ok"
            check = image["Healthcheck"]["Test"][1:]
            buildah("run", *CHROOT, *settings, container, "--", *check)
        finally:
            stop_database(buildah, container)
            os.killpg(serving.pid, signal.SIGTERM)


def stop_database(buildah: Buildah, container: str) -> None:
    """Stop the container's PostgreSQL: in a chroot it outlives the container."""
    command = [
        *buildah.command,
        "run",
        *CHROOT,
        container,
        "--",
        "cat",
        "/var/lib/vitrine/postgres/data/postmaster.pid",
    ]
    read = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if not read.returncode:
        os.kill(int(read.stdout.split()[0]), signal.SIGINT)


def registry_settings() -> list[Path]:
    """Return the files and folders from which pip and npm know where packages are, and local folders of packages."""
    files = [Path(name).expanduser() for name in CONFIGURATION]
    configured = subprocess.check_output([sys.executable, "-m", "pip", "config", "list"], text=True)
    # A folder of an index is read with its neighbours, to which it links.
    local = {Path(*Path(path).parts[:3]) for path in re.findall(r"(?<=[ '])(?:file://)?(/(?!etc/)[^ ']+)", configured)}
    return [path for path in (*files, *sorted(local)) if path.exists()]


def make_base(buildah: Buildah) -> None:
    """Commit an image with the files of the packages and of those that they need."""
    options = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    needed = subprocess.check_output(
        ["apt-cache", "depends", "--recurse", "--installed", *options, *PACKAGES], text=True, stderr=subprocess.DEVNULL
    )
    packages = sorted({line for line in needed.splitlines() if line and line[0].isalpha()})
    listed = subprocess.run(
        ["dpkg-query", "--listfiles", *packages], capture_output=True, text=True, check=False
    ).stdout
    paths = {Path(line) for line in listed.splitlines() if line.startswith("/")}
    files = sorted(str(path) for path in paths if path.is_symlink() or path.is_file())
    container = buildah("from", "scratch")
    root = Path(buildah("mount", container))
    # `/bin` and the like are links to folders of `/usr`, through which the files of packages are named.
    for name in (
        "tmp",
        "root",
        "proc",
        "sys",
        "dev",
        *(f"usr/{name}" for name in ("bin", "sbin", "lib", "lib64", "local/bin")),
    ):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3.11")
    for file in (*LINKS, *files):
        copy = root / file.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy, follow_symlinks=False)
    buildah("umount", container)
    buildah("commit", "--quiet", container, BASE)


def wait_until_ready(serving: subprocess.Popen[bytes], port: str) -> dict[str, object]:
    """Return the answer of `/health/ready` as soon as it is 200."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and serving.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=5) as response:
                answer: dict[str, object] = json.load(response)
                return answer
        except OSError:
            time.sleep(0.2)
    os.killpg(serving.pid, signal.SIGTERM)
    assert serving.stdout is not None
    raise AssertionError(serving.stdout.read()[-3_000:])
