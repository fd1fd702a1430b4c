"""Say how each contestant is started: the real programs, with the settings of production."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from bench.database import Filled
from bench.servers import ROOT, NotStarted, Server, free_port, started
from server.embedded_postgres.data_folder import OWNER

Start = Callable[[Filled], AbstractContextManager[Server]]

SECRET = "a secret of the bench, not one of anybody's shop"
_POSTGRAPHILE = Path(__file__).parent / "postgraphile"
_WORK = ROOT / ".vitrine" / "build" / "bench" / "postgraphile"
_INSTALL_FILES = (".npmrc", "package.json", "package-lock.json")
_INSTALL_SECONDS = 600


def vitrine(filled: Filled, *, profile: Path | None = None) -> AbstractContextManager[Server]:
    """Run `vitrine serve` in production: every check and count is on, the rates are high enough to let the load through."""
    port = free_port()
    environment = {
        "VITRINE_ENV": "production",
        "DATABASE_URL": filled.owner_url,
        "VITRINE_SECRET_KEY": SECRET,
        "PORT": str(port),
        "VITRINE_BIND": "127.0.0.1",
        "VITRINE_BASE_URL": f"http://localhost:{port}",
        "VITRINE_IP_RATE": "1000000000",
        "VITRINE_LEGACY_RATE": "1000000000",
        # Sign-in counts by address: each of A1's requests comes through a proxy from another one.
        "VITRINE_TRUSTED_PROXIES": "127.0.0.0/8",
    }
    if profile is not None:
        command = [sys.executable, "-m", "bench.profiled", "serve"]
        environment["BENCH_PROFILE"] = str(profile)
    else:
        command = [sys.executable, "-m", "server.cli", "serve"]
    return started("vitrine", command, environment, port=port)


def limit(filled: Filled) -> AbstractContextManager[Server]:
    """Run the hand-written handlers."""
    port = free_port()
    command = [sys.executable, "-m", "bench.contestants.limit"]
    return started("limit", command, _environment(filled, port), port=port, path="/")


def obvious(filled: Filled) -> AbstractContextManager[Server]:
    """Run the server of the tutorials."""
    port = free_port()
    command = [sys.executable, "-m", "bench.contestants.obvious"]
    return started("obvious", command, _environment(filled, port), port=port, path="/")


def postgraphile(filled: Filled) -> AbstractContextManager[Server]:
    """Run PostGraphile, installed first where it is not; raises NotStarted when it can't be."""
    node = _installed()
    port = free_port()
    environment = {**_environment(filled, port), "NODE_ENV": "production", "GRAPHILE_ENV": "production"}
    return started(
        "postgraphile", [node, "server.mjs"], environment, port=port, folder=_WORK, path="/graphql"
    )


def _environment(filled: Filled, port: int) -> dict[str, str]:
    return {
        "BENCH_PORT": str(port),
        "BENCH_SOCKET": str(filled.server.socket_dir),
        "BENCH_PG_PORT": str(filled.server.port),
        "BENCH_DATABASE": filled.name,
        "BENCH_USER": OWNER,
        "BENCH_STORE": "1",
    }


def _installed() -> Path:
    """Install the locked packages, Node among them, unless those of this very lock are there; give Node's path."""
    npm = shutil.which("npm")
    if npm is None:
        raise NotStarted("postgraphile is left out: there is no npm to install it with")
    digest = hashlib.sha256(
        b"".join((_POSTGRAPHILE / name).read_bytes() for name in _INSTALL_FILES)
    ).hexdigest()
    marker = _WORK / "installed"
    if not marker.is_file() or marker.read_text(encoding="ascii") != digest:
        _install(npm)
        marker.write_text(digest, encoding="ascii")
    shutil.copyfile(_POSTGRAPHILE / "server.mjs", _WORK / "server.mjs")
    node = next(_WORK.glob("node_modules/node-linux-*/bin/node"), None)
    if node is None:
        raise NotStarted("postgraphile is left out: no Node 22 for this machine came with its packages")
    return node


def _install(npm: str) -> None:
    print("  installing PostGraphile and Node 22 (a minute, the first time) ...", flush=True)
    _WORK.mkdir(parents=True, exist_ok=True)
    for name in _INSTALL_FILES:
        shutil.copyfile(_POSTGRAPHILE / name, _WORK / name)
    environment = os.environ | {"npm_config_cache": str(_WORK.parents[1] / "npm-cache")}
    try:
        done = subprocess.run(
            [npm, "ci"], cwd=_WORK, env=environment, capture_output=True, text=True, timeout=_INSTALL_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise NotStarted(f"postgraphile is left out: npm ci took longer than {_INSTALL_SECONDS} s") from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "npm error" in line]
        raise NotStarted(f"postgraphile is left out: npm ci failed: {' '.join(said[:2])[:200]}")


CONTESTANTS: Mapping[str, Start] = {
    "limit": limit,
    "obvious": obvious,
    "postgraphile": postgraphile,
    "vitrine": vitrine,
}
