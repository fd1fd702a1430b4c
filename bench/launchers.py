"""How each contestant is started: the real programs, Vitrine with what `deploy/` ships."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from bench import deployment
from bench.database import BenchDatabase
from bench.servers import ROOT, NotStarted, Server, free_port, run_server
from server.embedded_postgres.data_folder import OWNER

Start = Callable[[BenchDatabase], AbstractContextManager[Server]]

SECRET = "a secret for benchmarks only, of no real store"
_POSTGRAPHILE = Path(__file__).parent / "postgraphile"
_WORK = ROOT / ".vitrine" / "build" / "bench" / "postgraphile"
_INSTALL_FILES = (".npmrc", "package.json", "package-lock.json")
_INSTALL_SECONDS = 600


def vitrine(
    database: BenchDatabase,
    *,
    profile: Path | None = None,
    pauses: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> AbstractContextManager[Server]:
    """Run `vitrine serve` as `deploy/` does, with these settings besides; the rate limits are above the load.

    `profile` and `pauses` are the files of `bench.profiled_server` and `bench.watched_server`.
    """
    port = free_port()
    environment = {
        **deployment.settings(),
        "VITRINE_ENV": "production",
        "DATABASE_URL": database.owner_url,
        "VITRINE_SECRET_KEY": SECRET,
        "PORT": str(port),
        "VITRINE_BASE_URL": f"http://localhost:{port}",
        "VITRINE_IP_RATE": "1000000000",
        "VITRINE_LEGACY_RATE": "1000000000",
        "VITRINE_SANDBOX_PAYMENTS": "1",
        **(settings or {}),
    }
    if profile is not None:
        command = [sys.executable, "-m", "bench.profiled_server", "serve"]
        environment["BENCH_PROFILE"] = str(profile)
    elif pauses is not None:
        command = [sys.executable, "-m", "bench.watched_server", "serve"]
        environment["BENCH_PAUSES"] = str(pauses)
    else:
        command = [sys.executable, "-m", "server.cli", "serve"]
    return run_server("vitrine", command, environment, port=port)


def limit(database: BenchDatabase) -> AbstractContextManager[Server]:
    """Run the hand-written handlers."""
    port = free_port()
    command = [sys.executable, "-m", "bench.contestants.limit"]
    environment = {**_environment(database, port), "BENCH_REDIS_URL": deployment.redis_url()}
    return run_server("limit", command, environment, port=port, path="/")


def obvious(database: BenchDatabase) -> AbstractContextManager[Server]:
    """Run the server built as in the tutorials."""
    port = free_port()
    command = [sys.executable, "-m", "bench.contestants.obvious"]
    return run_server("obvious", command, _environment(database, port), port=port, path="/")


def postgraphile(database: BenchDatabase) -> AbstractContextManager[Server]:
    """Run PostGraphile, installing it if necessary; raise NotStarted when it can't be installed."""
    node = _install_if_needed()
    port = free_port()
    environment = {**_environment(database, port), "NODE_ENV": "production", "GRAPHILE_ENV": "production"}
    return run_server("postgraphile", [node, "server.mjs"], environment, port=port, folder=_WORK, path="/graphql")


def _environment(database: BenchDatabase, port: int) -> dict[str, str]:
    return {
        "BENCH_PORT": str(port),
        "BENCH_SOCKET": str(database.server.socket_dir),
        "BENCH_PG_PORT": str(database.server.port),
        "BENCH_DATABASE": database.name,
        "BENCH_USER": OWNER,
        "BENCH_STORE": "1",
    }


def _install_if_needed() -> Path:
    """Install the locked packages, including Node, unless they are already installed; return the path of Node."""
    npm = shutil.which("npm")
    if npm is None:
        raise NotStarted("postgraphile is left out: npm is not installed")
    digest = hashlib.sha256(b"".join((_POSTGRAPHILE / name).read_bytes() for name in _INSTALL_FILES)).hexdigest()
    marker = _WORK / "installed"
    if not marker.is_file() or marker.read_text(encoding="ascii") != digest:
        _install(npm)
        marker.write_text(digest, encoding="ascii")
    shutil.copyfile(_POSTGRAPHILE / "server.mjs", _WORK / "server.mjs")
    node = next(_WORK.glob("node_modules/node-linux-*/bin/node"), None)
    if node is None:
        raise NotStarted("postgraphile is left out: its packages have no Node 22 for this machine")
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
        errors = [line for line in done.stderr.splitlines() if "npm error" in line]
        raise NotStarted(f"postgraphile is left out: npm ci failed: {' '.join(errors[:2])[:200]}")


CONTESTANTS: Mapping[str, Start] = {
    "limit": limit,
    "obvious": obvious,
    "postgraphile": postgraphile,
    "vitrine": vitrine,
}
