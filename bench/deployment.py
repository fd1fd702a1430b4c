"""What `deploy/` ships, for the servers of the benchmark: settings of the web processes, and the Redis that counts rate limits.

The servers run with the access log and metrics on, and count in Redis. They have one core, and so one process each; the database has no
pooler, as in `deploy/systemd`.
"""

from __future__ import annotations

import asyncio
import atexit
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from bench.servers import ROOT, NotStarted, free_port
from tests.system import redis_server

_DEPLOY = ROOT / "deploy"


def settings() -> Mapping[str, str]:
    """Return the settings of a web process: those of `vitrine.env.example` with the benchmark's addresses."""
    lines = (_DEPLOY / "vitrine.env.example").read_text(encoding="utf-8").splitlines()
    shipped = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    return {
        **shipped,
        "WEB_CONCURRENCY": "1",
        "REDIS_URL": redis_url(),
        "VITRINE_METRICS_PORT": str(free_port()),
        "VITRINE_BIND": "127.0.0.1",
        # The sign-in rate limit is per address: A1's requests have different ones in X-Forwarded-For.
        "VITRINE_TRUSTED_PROXIES": "127.0.0.0/8",
    }


@cache
def redis_url() -> str:
    """Start Redis with the options of `compose.yaml`, until the process ends; raise NotStarted where it isn't installed."""
    if redis_server.PROGRAM is None:
        raise NotStarted(
            "redis-server is not installed, and deploy/ counts rate limits in it: apt-get install redis-server"
        )
    compose = yaml.safe_load((_DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    folder = tempfile.TemporaryDirectory(prefix="vitrine-bench-redis-")
    server = redis_server.RedisServer(Path(folder.name), *compose["services"]["redis"]["command"][1:])
    atexit.register(folder.cleanup)
    atexit.register(server.kill)
    asyncio.run(server.start())
    return server.url
