"""The deployments under test.

external    web and two workers as in the Procfile, on a PostgreSQL that the soak starts, reached through its proxy
embedded    `vitrine serve` alone, which runs PostgreSQL and the background work itself
cluster     `tests/system/soak/cluster.py`

They keep their data on a tmpfs when the soak may mount one, whose size makes a full disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections import ChainMap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from bench.servers import stable_port
from server.embedded_postgres import EmbeddedPostgres, EmbeddedServer
from server.embedded_postgres.data_folder import DATABASE, OWNER
from server.embedded_postgres.layout import prepare_folder
from server.embedded_postgres.postmaster import RunningServer, find_server
from tests.system.installed_postgres import use_installed_postgres
from tests.system.redis_server import PROGRAM as REDIS_PROGRAM
from tests.system.redis_server import RedisServer
from tests.system.soak.processes import Service, run_command
from tests.system.soak.proxy import DatabaseProxy

EXTERNAL, EMBEDDED, CLUSTER = "external", "embedded", "cluster"
WEB_PROCESSES = 2
# Connections a process may open: VITRINE_POOL_SIZE, and 5 besides (docs/deploy.md#postgresql).
CONNECTIONS_PER_PROCESS = 10 + 5
_DISK = "size=4g"
# Small files, so that the tmpfs holds a long run.
_OPTIONS = {"max_wal_size": "128MB", "min_wal_size": "32MB", "shared_buffers": "64MB"}


class Disk:
    """A folder for data; on a tmpfs of its own where that can be mounted, so that it can be full."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="vitrine-soak-", dir="/tmp"))
        self.folder.chmod(0o755)  # PostgreSQL's account must traverse it
        self.reason = "mounting a tmpfs needs root" if os.geteuid() else ""
        if not self.reason:
            self.reason = self._mount("-t", "tmpfs", "-o", f"{_DISK},mode=755", "tmpfs", str(self.folder))

    def fill(self) -> None:
        """Leave no free page: shrink the tmpfs to what it holds."""
        for _ in range(10):
            status = os.statvfs(self.folder)
            used = (status.f_blocks - status.f_bfree) * status.f_frsize
            if not self._mount("-o", f"remount,size={used}", str(self.folder)):
                return  # else a file has grown in between

    def free(self) -> None:
        """Give the space back."""
        self._mount("-o", f"remount,{_DISK}", str(self.folder))

    def remove(self) -> None:
        """Unmount and delete the folder."""
        if not self.reason:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def _mount(*arguments: str) -> str:
        try:
            done = subprocess.run(["mount", *arguments], check=False, capture_output=True, text=True)
        except OSError as error:
            return f"mount: {error}"
        return done.stderr.strip() if done.returncode else ""


class Deployment:
    """A running deployment."""

    stale_seconds = 0.0
    """For how long a read may show what preceded a write."""
    judges_memory = True

    def __init__(self, kind: str, disk: Disk, logs: Path) -> None:
        self.kind = kind
        self.disk = disk
        self._logs = logs
        self.port = stable_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.proxy = DatabaseProxy(self._socket)
        self.redis = RedisServer(disk.folder) if REDIS_PROGRAM else None
        self._postgres = EmbeddedPostgres(disk.folder / "postgres", options=_OPTIONS)
        self.environment: dict[str, str] = {}
        self.webs = [self._service("web", "serve")]
        names = () if kind == EMBEDDED else ("worker 1", "worker 2")
        self.workers = [self._service(name, "worker") for name in names]

    @property
    def services(self) -> list[Service]:
        """Return the commands a service manager keeps running."""
        return [*self.webs, *self.workers]

    @property
    def max_connections(self) -> int:
        """Return the most database connections that the settings allow; the embedded master has its own pool."""
        processes = WEB_PROCESSES + (len(self.workers) or 1)
        return processes * CONNECTIONS_PER_PROCESS

    async def start(self) -> None:
        """Start the database, migrate it, and start the processes."""
        if self.redis is not None:
            await self.redis.start()
        self.environment.update(self._settings())
        if self.kind != EMBEDDED:
            await self.start_database()
        for service in self.services:
            service.start()

    async def start_database(self) -> None:
        """Start PostgreSQL with what belongs to it, and migrate it."""
        use_installed_postgres()
        await asyncio.to_thread(self._postgres.start)
        await self.proxy.start()
        self.environment["DATABASE_URL"] = (
            f"postgresql://{OWNER}@127.0.0.1:{self.proxy.port}/{DATABASE}?sslmode=disable"
        )
        await asyncio.to_thread(run_command, "migrate", environment=self.environment)

    async def stop(self) -> list[str]:
        """Stop everything and keep PostgreSQL's log; return what did not stop by itself."""
        late = [service.name for service in self.services if await service.stop() is None]
        if self.redis is not None:
            self.redis.kill()
        if self.kind != EMBEDDED:
            await self.stop_database()
        with contextlib.suppress(OSError):
            shutil.copyfile(self._folder() / "log", self._logs / f"{self.kind}-postgres.log")
        return late

    async def stop_database(self) -> None:
        """Stop what `start_database` has started."""
        await self.proxy.stop()
        await asyncio.to_thread(self._postgres.stop)

    def _service(self, name: str, *arguments: str, **environment: str) -> Service:
        log = self._logs / f"{self.kind}-{name.replace(' ', '-')}.log"
        return Service(name, arguments, ChainMap(environment, self.environment), log)

    # --- Database ----------------------------------------------------------------------------------------------------------

    async def restart_postgres(self) -> None:
        """Start PostgreSQL when it is gone, as its service manager would; the embedded one is restarted by Vitrine."""
        if self.kind != EMBEDDED and not self._postgres.is_running():
            await asyncio.to_thread(self._postgres.start)

    def signal_postgres(self, number: signal.Signals) -> None:
        """Send a signal to the postmaster: SIGINT is a fast shutdown, SIGKILL a crash."""
        if (running := self._running()) is not None:
            os.kill(running.pid, number)

    async def connections(self) -> int | None:
        """Count the connections of clients other than this one; None while the database does not answer."""
        url = self.superuser_url()
        if url is None:
            return None
        # InternalClientError: the database was killed while a statement was sent.
        with contextlib.suppress(
            OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError
        ):
            connection = await asyncpg.connect(url, timeout=5)
            try:
                count = await connection.fetchval(
                    "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
                    timeout=5,
                )
            finally:
                await connection.close(timeout=5)
            return int(count)
        return None

    def superuser_url(self) -> str | None:
        """Return the superuser's URL of the database, None while there is no server."""
        running = self._running()
        return None if running is None else EmbeddedServer(running.socket_dir, running.port).superuser_url(DATABASE)

    def _folder(self) -> Path:
        return self.disk.folder / "postgres"

    def _running(self) -> RunningServer | None:
        return find_server(prepare_folder(self._folder())) if self._folder().is_dir() else None

    def _socket(self) -> Path | None:
        running = self._running()
        return running.socket if running is not None else None

    def _settings(self) -> dict[str, str]:
        inherited = {
            name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH") if name in os.environ
        }
        settings = {
            "VITRINE_ENV": "production",
            "VITRINE_SECRET_KEY": secrets.token_urlsafe(48),
            "VITRINE_DATA_DIR": str(self.disk.folder),
            "VITRINE_BIND": "127.0.0.1",
            "VITRINE_BASE_URL": self.base_url,
            "PORT": str(self.port),
            "WEB_CONCURRENCY": str(WEB_PROCESSES),
            # Each request names another client address; the limits are counted but never reached.
            "VITRINE_TRUSTED_PROXIES": "127.0.0.0/8",
            "VITRINE_PRIVATE_ENDPOINTS": "1",
            # Bounded memory that is first used late is no growth: the cache is full after the warm-up.
            "VITRINE_CATALOGUE_CACHE_BYTES": str(4 * 1024 * 1024),
        }
        if self.redis is not None:
            settings["REDIS_URL"] = self.redis.url
        return {**inherited, **settings}


@asynccontextmanager
async def running_deployment(kind: str, logs: Path, create: Callable[..., Deployment]) -> AsyncIterator[Deployment]:
    """Run a deployment until the block ends."""
    disk = Disk()
    deployment = create(kind, disk, logs)
    try:
        await deployment.start()
        yield deployment
    finally:
        late = await deployment.stop()
        if late:
            print(f"  killed, because SIGTERM did not end them: {', '.join(late)}", flush=True)
        disk.remove()
