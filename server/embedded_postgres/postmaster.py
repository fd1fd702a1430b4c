"""The server's processes: found, started, waited for, stopped."""

import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from server.embedded_postgres.account import ServiceAccount
from server.embedded_postgres.data_folder import complaint, environment
from server.embedded_postgres.errors import EmbeddedPostgresError
from server.embedded_postgres.layout import PORT, Layout, remove_socket_folder, socket_folder
from server.embedded_postgres.locks import FileLock

SETTINGS = {"shared_buffers": "256MB", "max_connections": "100", "timezone": "UTC", "log_timezone": "UTC"}
LARGEST_LOG = 10 * 1024 * 1024
START_SECONDS = 300.0  # recovery after a crash replays up to a gigabyte of WAL
STOP_SECONDS = 60.0
ORPHAN_SECONDS = 1.0  # how long children of a killed postmaster may take to notice
PAUSE = 0.01
SSL_REQUEST = 80877103  # PostgreSQL documentation, "Message Formats"


@dataclass(frozen=True)
class Running:
    """What `postmaster.pid` says about a server."""

    pid: int
    socket_dir: Path
    port: int
    is_ready: bool

    @property
    def socket(self) -> Path:
        """Return the socket on which the server listens."""
        return self.socket_dir / f".s.PGSQL.{self.port}"


def recorded(layout: Layout) -> Running | None:
    """Read `postmaster.pid`: process id, data, start time, port, socket folder, address, shared memory, state."""
    try:
        lines = read_plain(layout.data / "postmaster.pid").splitlines()
        state = lines[7].strip() if len(lines) > 7 else "starting"
        return Running(int(lines[0]), Path(lines[4]), int(lines[3]), is_ready=state == "ready")
    except (OSError, ValueError, IndexError):
        return None


def read_plain(path: Path) -> str:
    """Read a small file that must not be a symbolic link."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), errors="surrogateescape") as file:
        return file.read()


def find(layout: Layout) -> Running | None:
    """Return the recorded server if that process lives and is this folder's PostgreSQL, not a later owner of its id."""
    running = recorded(layout)
    return running if running and is_ours(running.pid, layout) else None


def is_ours(pid: int, layout: Layout) -> bool:
    """Tell a process of this folder's server by its command line, which names the cluster (a zombie has none)."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    program = Path(os.fsdecode(line.split(b"\0")[0])).name
    return program.split(":")[0] == "postgres" and layout.name.encode() in line


def family(layout: Layout) -> list[int]:
    """Return every process of this folder's server, orphans of a killed postmaster included."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if is_ours(pid, layout)]


def wait_for_place(layout: Layout, lock: FileLock, *, alone: bool) -> Running | None:
    """Return the running server, or None with `server.lock` taken once no process of one is left."""
    begun = lost = time.monotonic()
    while not lock.try_exclusive():
        now = time.monotonic()
        running = find(layout)
        if running and running.is_ready:
            if running.socket.exists():
                if answers(running):
                    return running
            elif alone:
                stop(layout)
            else:
                raise EmbeddedPostgresError(
                    f"{layout.folder}: the socket {running.socket} was removed under a running PostgreSQL; "
                    "stop the other commands that use it, then try again"
                )
        if running:
            lost = now  # starting, or stopping: it will tell
        elif now - lost > ORPHAN_SECONDS:
            end_orphans(layout)
            lost = now
        if now - begun > START_SECONDS:
            raise EmbeddedPostgresError(
                f"{layout.folder}: PostgreSQL was not ready within {START_SECONDS:.0f} seconds; "
                f"{complaint(tail(layout.log, 0))} ({layout.log})"
            )
        time.sleep(PAUSE)
    return None


def answers(running: Running) -> bool:
    """Ask for encryption, which every server answers with yes or no; one that was killed a moment ago does not."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(os.fsencode(running.socket))
            client.sendall(struct.pack("!ii", 8, SSL_REQUEST))
            return client.recv(1) in (b"N", b"S")
        except OSError:
            return False


def end_orphans(layout: Layout) -> None:
    """Tell the children that a killed postmaster has left running to quit at once."""
    left = family(layout)
    if not left:
        raise EmbeddedPostgresError(
            f"{layout.folder} is in use by a PostgreSQL that can't be seen from here (another container?); "
            "stop that one first"
        )
    for pid in left:
        send(pid, signal.SIGQUIT)


def end_strays(layout: Layout) -> None:
    """End the server of a deleted folder whose place on the disk this one took: it would fight for the same names."""
    deadline = time.monotonic() + STOP_SECONDS
    while left := family(layout):
        if time.monotonic() > deadline:
            raise EmbeddedPostgresError(
                f"{layout.folder}: PostgreSQL processes {left} of a deleted folder don't end; end them, then try again"
            )
        for pid in left:
            send(pid, signal.SIGQUIT)
        time.sleep(PAUSE)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal, if the process is still there and ours to signal."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def start(layout: Layout, account: ServiceAccount, options: Mapping[str, str], lock: FileLock) -> Running:
    """Start the server, which inherits the lock, and wait until it accepts connections."""
    end_strays(layout)
    forget_reused_pid(layout)
    place = socket_folder(layout, account)
    fixed = {
        "listen_addresses": "",
        "unix_socket_directories": f'"{place}"',
        "unix_socket_permissions": "0700",
        "port": str(PORT),
        "cluster_name": layout.name,
        "update_process_title": "on",
        "logging_collector": "off",
        "log_destination": "stderr",
    }
    program = [str(layout.programs / "postgres"), "-D", str(layout.data)]
    for name, value in {**SETTINGS, **options, **fixed}.items():
        program += ["-c", f"{name}={value}"]
    log, begin = open_log(layout)
    try:
        process = subprocess.Popen(
            account.command(program, [*layout.reach, layout.data]),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=environment(),
            pass_fds=(lock.descriptor,),
            start_new_session=True,  # Ctrl-C in the terminal is for the program, which then stops the server itself
        )
    finally:
        os.close(log)
    return wait_until_ready(layout, process, begin)


def wait_until_ready(layout: Layout, process: "subprocess.Popen[bytes]", begin: int) -> Running:
    """Wait until the started server is ready; when it ends instead, or we are interrupted, leave nothing running."""
    deadline = time.monotonic() + START_SECONDS
    try:
        while process.poll() is None:
            running = recorded(layout)
            if running and running.pid == process.pid and running.is_ready:
                process.returncode = 0  # it may outlive us: no ResourceWarning; `stop` reaps it
                return running
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(
                    f"{layout.folder}: PostgreSQL was not ready within {START_SECONDS:.0f} seconds: "
                    f"{complaint(tail(layout.log, begin))} ({layout.log})"
                )
            time.sleep(PAUSE / 2)
    except BaseException:
        send(process.pid, signal.SIGINT)
        process.wait()
        raise
    reason = complaint(tail(layout.log, begin)) or f"exit code {process.returncode}"
    raise EmbeddedPostgresError(
        f"{layout.data}: PostgreSQL did not start: {reason} (all of it: {layout.log})"
    )


def forget_reused_pid(layout: Layout) -> None:
    """Replace, in a `postmaster.pid` left by a kill, an id that another process or a zombie may bear by now.

    PostgreSQL would refuse to start beside that process. The file stays, because it also names the shared memory
    by which PostgreSQL sees children of the old server; its parent's id, ours, is one it knows to ignore.
    """
    running = recorded(layout)
    if running is None or running.pid == os.getpid():
        return
    path = layout.data / "postmaster.pid"
    rest = read_plain(path).split("\n", 1)[1]
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "w", errors="surrogateescape") as file:
        file.write(f"{os.getpid()}\n{rest}")


def open_log(layout: Layout) -> tuple[int, int]:
    """Open the log for appending, a large one set aside; return its descriptor and where the new lines begin."""
    if layout.log.exists() and layout.log.stat().st_size > LARGEST_LOG:
        layout.log.replace(layout.log.with_name("log.1"))
    descriptor = os.open(layout.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    if os.geteuid() == 0:
        folder = layout.folder.stat()
        os.fchown(descriptor, folder.st_uid, folder.st_gid)
    return descriptor, os.fstat(descriptor).st_size


def tail(log: Path, begin: int) -> str:
    """Return what the server wrote from a position on, at most the last 64 KB."""
    with log.open("rb") as file:
        file.seek(max(begin, log.stat().st_size - 65536))
        return file.read().decode("utf-8", errors="replace")


def stop(layout: Layout) -> None:
    """Shut the server down fast (sessions end, everything is on disk) and wait until its last process is gone."""
    running = find(layout)
    if running is None:
        return
    send(running.pid, signal.SIGINT)
    lock = FileLock(layout.server)
    deadline = time.monotonic() + STOP_SECONDS
    try:
        while not lock.try_exclusive():
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(
                    f"{layout.folder}: PostgreSQL (process {running.pid}) is still shutting down after "
                    f"{STOP_SECONDS:.0f} seconds; it goes on by itself: {layout.log}"
                )
            time.sleep(PAUSE)
    finally:
        lock.close()
    try:
        os.waitpid(running.pid, 0)
    except ChildProcessError:
        pass  # another process started it
    remove_socket_folder(running.socket_dir)
