"""A whole cluster on one machine: HAProxy, two groups of web processes, two workers, PgBouncer, PostgreSQL with a standby, Redis.

Every part is restarted and killed in turn. A restart of a part that has a twin, or that hands its sockets over, may fail no request at all;
after a kill those may fail that were in flight on the killed process: for the web by 502 or a closed connection, for PgBouncer by 503 with
Retry-After. The exceptions are parts that exist once: while the primary is away requests may be answered 503 with Retry-After, while
HAProxy is away they get no answer.
"""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import asyncpg

from bench.servers import stable_port
from server.embedded_postgres import EmbeddedServer
from server.embedded_postgres.data_folder import DATABASE
from tests.system import haproxy, pgbouncer, redis_server
from tests.system.haproxy import HAProxy
from tests.system.pgbouncer import ROLE_STATEMENTS, PgBouncer
from tests.system.soak.calls import BAD_GATEWAY, NO_ANSWER, UNAVAILABLE
from tests.system.soak.deployment import Deployment, Disk
from tests.system.soak.faults import MAX_START_SECONDS, NOTHING, Fault, redis_faults
from tests.system.standby import Standby

GROUPS = 2
WEB_PROCESSES = 2
_POOL = 20
_RESTART_PAUSE = 0.1
# HAProxy closes the connection to the client, or answers for the server that is gone.
_CUT_OFF = frozenset((NO_ANSWER, BAD_GATEWAY))
_AWAY = frozenset((UNAVAILABLE,))


def missing_programs() -> list[str]:
    """Return the programs that the cluster needs and that are not installed, with their Debian packages."""
    programs = {
        "HAProxy (haproxy)": haproxy.PROGRAM,
        "PgBouncer (pgbouncer)": pgbouncer.PROGRAM,
        "Redis (redis-server)": redis_server.PROGRAM,
    }
    return [name for name, program in programs.items() if program is None]


class Cluster(Deployment):
    """The deployment: its address is HAProxy's."""

    # A process forgets what it remembers after 5 s where a notification is lost (docs/deploy.md#several-machines).
    stale_seconds = 5.0
    # No process lives long enough.
    judges_memory = False

    def __init__(self, kind: str, disk: Disk, logs: Path) -> None:
        super().__init__(kind, disk, logs)
        ports = [stable_port() for _ in range(GROUPS)]
        self.webs = [self._service(f"web {number}", "serve", PORT=str(port)) for number, port in enumerate(ports, 1)]
        self.group_urls = [f"http://127.0.0.1:{port}" for port in ports]
        self.haproxy = HAProxy(disk.folder, ports, self.port)
        self.pgbouncer: PgBouncer
        self.standby: Standby

    @property
    def max_connections(self) -> int:
        """Return the most connections that the pooler opens, with those that listen; twice, for what starts and ends."""
        return _POOL + 2 * (GROUPS * WEB_PROCESSES + len(self.workers))

    async def start(self) -> None:
        """Start everything, HAProxy last."""
        await super().start()
        await self.haproxy.start()

    async def start_database(self) -> None:
        """Start PostgreSQL, its standby and the pooler."""
        await super().start_database()
        url = self.superuser_url()
        running = self._running()
        assert url is not None
        assert running is not None
        connection = await asyncpg.connect(url)
        for statement in (*ROLE_STATEMENTS, "alter system set wal_keep_size = '512MB'", "select pg_reload_conf()"):
            await connection.execute(statement)
        await connection.close()
        server = EmbeddedServer(running.socket_dir, running.port)
        self.standby = Standby(self._subfolder("standby"), server.socket_dir, server.port)
        await asyncio.to_thread(self.standby.create)
        await self.standby.start()
        folder = self._subfolder("pgbouncer")
        self.pgbouncer = PgBouncer(folder, server.socket_dir, server.port, options={"default_pool_size": _POOL})
        self.pgbouncer.start()
        self.environment["VITRINE_POOLER_URL"] = self.pgbouncer.url(DATABASE)
        self.environment["VITRINE_REPLICA_URL"] = self.standby.url(DATABASE)
        self.environment["VITRINE_METRICS_PORT"] = "0"

    async def stop_database(self) -> None:
        """Stop the pooler, the standby and PostgreSQL."""
        await self.haproxy.kill()
        if hasattr(self, "pgbouncer"):
            self.pgbouncer.kill()
        if hasattr(self, "standby"):
            self.standby.kill()
        await super().stop_database()

    def _subfolder(self, name: str) -> Path:
        folder = self.disk.folder / name
        folder.mkdir()
        return folder


def cluster_faults(cluster: Cluster) -> list[Fault]:
    """Return the faults of every part, in turn."""
    return [
        *_pooler_faults(cluster),
        *_standby_faults(cluster),
        *_primary_faults(cluster),
        *_proxy_faults(cluster),
        *_worker_faults(cluster),
        *redis_faults(cluster),
        *_web_faults(cluster),
    ]


def _web_faults(cluster: Cluster) -> list[Fault]:
    first, second = cluster.webs

    async def both_up() -> None:
        await cluster.haproxy.wait_until_up(seconds=MAX_START_SECONDS)

    async def kill_process() -> None:
        os.kill(first.children()[-1], signal.SIGKILL)

    async def kill_group() -> None:
        second.kill_all()

    async def kill_master() -> None:
        first.kill()

    return [
        Fault("kill -9 of a web process", 3, kill_process, excuses=_CUT_OFF, in_flight=True),
        Fault("kill -9 of a web group", 3, kill_group, both_up, excuses=_CUT_OFF, in_flight=True),
        Fault("kill -9 of a web master", 5, kill_master, both_up, excuses=NOTHING),
        Fault("web group 1 restarted", 0, first.restart, both_up, excuses=NOTHING),
        Fault("web group 2 restarted", 0, second.restart, both_up, excuses=NOTHING),
    ]


def _pooler_faults(cluster: Cluster) -> list[Fault]:
    async def restart() -> None:
        await asyncio.to_thread(cluster.pgbouncer.restart)

    async def kill_and_start() -> None:
        cluster.pgbouncer.kill()
        await asyncio.sleep(_RESTART_PAUSE)
        await asyncio.to_thread(cluster.pgbouncer.start)

    return [
        Fault("PgBouncer restarted", 2, restart, excuses=NOTHING),
        # It is started again as soon as it is gone, as by systemd with Restart=always.
        Fault("PgBouncer killed (-9)", 0, kill_and_start, excuses=_AWAY, in_flight=True),
    ]


def _standby_faults(cluster: Cluster) -> list[Fault]:
    async def shut_down() -> None:
        await asyncio.to_thread(cluster.standby.shut_down)

    async def kill() -> None:
        cluster.standby.kill()

    async def start() -> None:
        await cluster.standby.start()

    async def freeze() -> None:
        cluster.standby.signal_all(signal.SIGSTOP)

    async def thaw() -> None:
        cluster.standby.signal_all(signal.SIGCONT)

    async def pause() -> None:
        await cluster.standby.execute("select pg_wal_replay_pause()")

    async def resume() -> None:
        await cluster.standby.execute("select pg_wal_replay_resume()")

    return [
        Fault("standby restarted", 1, shut_down, start, excuses=NOTHING),
        Fault("standby killed (-9)", 2, kill, start, excuses=NOTHING),
        Fault("standby silent", 6, freeze, thaw, excuses=NOTHING),
        Fault("standby stops replaying", 8, pause, resume, excuses=NOTHING),
    ]


def _primary_faults(cluster: Cluster) -> list[Fault]:
    async def restart() -> None:
        cluster.signal_postgres(signal.SIGINT)

    async def kill() -> None:
        cluster.signal_postgres(signal.SIGKILL)

    return [
        Fault("primary restarted", 1, restart, cluster.restart_postgres, excuses=_AWAY),
        Fault("primary killed (-9)", 1, kill, cluster.restart_postgres, excuses=_AWAY),
    ]


def _proxy_faults(cluster: Cluster) -> list[Fault]:
    return [
        Fault("HAProxy reloaded", 2, cluster.haproxy.reload, excuses=NOTHING),
        Fault("HAProxy killed (-9)", 0.2, cluster.haproxy.kill, cluster.haproxy.start, excuses=frozenset((NO_ANSWER,))),
    ]


def _worker_faults(cluster: Cluster) -> list[Fault]:
    first, second = cluster.workers

    async def kill() -> None:
        second.kill()

    return [
        Fault("worker restarted", 3, first.restart, excuses=NOTHING),
        Fault("kill -9 of a worker", 3, kill, excuses=NOTHING),
    ]
