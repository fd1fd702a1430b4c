"""The server's processes: find, start, wait for and stop them."""

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
from server.embedded_postgres.data_folder import environment, last_error
from server.embedded_postgres.errors import EmbeddedPostgresError
from server.embedded_postgres.layout import PORT, Layout, remove_socket_folder, socket_folder
from server.embedded_postgres.locks import FileLock

SETTINGS = {"shared_buffers": "256MB", "max_connections": "100", "timezone": "UTC", "log_timezone": "UTC"}
MAX_LOG_SIZE = 10 * 1024 * 1024
START_SECONDS = 300.0  # recovery after a crash replays up to a gigabyte of WAL
STOP_SECONDS = 60.0
ORPHAN_SECONDS = 1.0  # how long children of a killed postmaster may take to notice
PAUSE = 0.01
SSL_REQUEST = 80877103  # PostgreSQL documentation, "Message Formats"


@dataclass(frozen=True)
class RunningServer:
    """The content of `postmaster.pid`."""

    pid: int
    socket_dir: Path
    port: int
    is_ready: bool

    @property
    def socket(self) -> Path:
        """Return the server's socket."""
        return self.socket_dir / f".s.PGSQL.{self.port}"


def read_pid_file(layout: Layout) -> RunningServer | None:
    """Read `postmaster.pid`: process id, data, start time, port, socket folder, address, shared memory, status."""
    try:
        lines = read_regular_file(layout.data / "postmaster.pid").splitlines()
        state = lines[7].strip() if len(lines) > 7 else "starting"
        return RunningServer(int(lines[0]), Path(lines[4]), int(lines[3]), is_ready=state == "ready")
    except (OSError, ValueError, IndexError):
        return None


def read_regular_file(path: Path) -> str:
    """Read a small file that must not be a symbolic link."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), errors="surrogateescape") as file:
        return file.read()


def find_server(layout: Layout) -> RunningServer | None:
    """Return the recorded server if its process lives and is this folder's PostgreSQL, not a reused id."""
    running = read_pid_file(layout)
    return running if running and is_ours(running.pid, layout) else None


def is_ours(pid: int, layout: Layout) -> bool:
    """Return whether a process belongs to this folder's server, by its command line, which names the cluster (a zombie has none)."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    program = Path(os.fsdecode(line.split(b"\0")[0])).name
    return program.split(":")[0] == "postgres" and layout.name.encode() in line


def server_processes(layout: Layout) -> list[int]:
    """Return all processes of this folder's server, including orphans of a killed postmaster."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if is_ours(pid, layout)]


def find_or_lock(layout: Layout, lock: FileLock, *, is_only_user: bool) -> RunningServer | None:
    """Return the running server, or None with `server.lock` acquired once no process of one is left."""
    started = last_seen = time.monotonic()
    while not lock.try_exclusive():
        now = time.monotonic()
        running = find_server(layout)
        if running and running.is_ready:
            if running.socket.exists():
                if is_accepting(running):
                    return running
            elif is_only_user:
                stop(layout)
            else:
                raise EmbeddedPostgresError(
                    f"{layout.folder}: the socket {running.socket} was removed under a running PostgreSQL; "
                    "stop the other commands that use it, then try again"
                )
        if running:
            last_seen = now  # starting or stopping
        elif now - last_seen > ORPHAN_SECONDS:
            kill_orphans(layout)
            last_seen = now
        if now - started > START_SECONDS:
            raise EmbeddedPostgresError(
                f"{layout.folder}: PostgreSQL was not ready within {START_SECONDS:.0f} seconds; "
                f"{last_error(tail(layout.log, 0))} ({layout.log})"
            )
        time.sleep(PAUSE)
    return None


def is_accepting(running: RunningServer) -> bool:
    """Return whether the server answers an encryption request; a just killed one does not."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(os.fsencode(running.socket))
            client.sendall(struct.pack("!ii", 8, SSL_REQUEST))
            return client.recv(1) in (b"N", b"S")
        except OSError:
            return False


def kill_orphans(layout: Layout) -> None:
    """Quit the child processes of a killed postmaster."""
    pids = server_processes(layout)
    if not pids:
        raise EmbeddedPostgresError(
            f"{layout.folder} is in use by a PostgreSQL that can't be seen from here (another container?); "
            "stop that one first"
        )
    for pid in pids:
        send(pid, signal.SIGQUIT)


def kill_strays(layout: Layout) -> None:
    """Quit the server of a deleted folder whose inode this one reuses: it would use the same names."""
    deadline = time.monotonic() + STOP_SECONDS
    while pids := server_processes(layout):
        if time.monotonic() > deadline:
            raise EmbeddedPostgresError(
                f"{layout.folder}: PostgreSQL processes {pids} of a deleted folder don't exit; kill them, then try again"
            )
        for pid in pids:
            send(pid, signal.SIGQUIT)
        time.sleep(PAUSE)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal, if the process exists and may be signalled."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def start(layout: Layout, account: ServiceAccount, options: Mapping[str, str], lock: FileLock) -> RunningServer:
    """Start the server, which inherits the lock, and wait until it accepts connections."""
    kill_strays(layout)
    replace_reused_pid(layout)
    socket_dir = socket_folder(layout, account)
    fixed = {
        "listen_addresses": "",
        "unix_socket_directories": f'"{socket_dir}"',
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
    log, log_start = open_log(layout)
    try:
        process = subprocess.Popen(
            account.command(program, [*layout.required_paths, layout.data]),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=environment(),
            pass_fds=(lock.descriptor,),
            start_new_session=True,  # Ctrl-C goes to the program only, which stops the server itself
        )
    finally:
        os.close(log)
    return wait_until_ready(layout, process, log_start)


def wait_until_ready(layout: Layout, process: "subprocess.Popen[bytes]", log_start: int) -> RunningServer:
    """Wait until the server is ready; on failure or interruption leave nothing running."""
    deadline = time.monotonic() + START_SECONDS
    try:
        while process.poll() is None:
            running = read_pid_file(layout)
            if running and running.pid == process.pid and running.is_ready:
                process.returncode = 0  # avoids a ResourceWarning: it may outlive us; `stop` reaps it
                return running
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(
                    f"{layout.folder}: PostgreSQL was not ready within {START_SECONDS:.0f} seconds: "
                    f"{last_error(tail(layout.log, log_start))} ({layout.log})"
                )
            time.sleep(PAUSE / 2)
    except BaseException:
        send(process.pid, signal.SIGINT)
        process.wait()
        raise
    reason = last_error(tail(layout.log, log_start)) or f"exit code {process.returncode}"
    raise EmbeddedPostgresError(f"{layout.data}: PostgreSQL did not start: {reason} (full log: {layout.log})")


def replace_reused_pid(layout: Layout) -> None:
    """Replace a process id in a leftover `postmaster.pid` that another process or a zombie may have by now.

    PostgreSQL would refuse to start. The file stays, because it also names the shared memory by which PostgreSQL detects children of
    the old server; it ignores the id of its own parent, which is ours.
    """
    running = read_pid_file(layout)
    if running is None or running.pid == os.getpid():
        return
    path = layout.data / "postmaster.pid"
    rest = read_regular_file(path).split("\n", 1)[1]
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "w", errors="surrogateescape") as file:
        file.write(f"{os.getpid()}\n{rest}")


def open_log(layout: Layout) -> tuple[int, int]:
    """Open the log for appending, rotating a large one; return its descriptor and size."""
    if layout.log.exists() and layout.log.stat().st_size > MAX_LOG_SIZE:
        layout.log.replace(layout.log.with_name("log.1"))
    descriptor = os.open(layout.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    if os.geteuid() == 0:
        folder = layout.folder.stat()
        os.fchown(descriptor, folder.st_uid, folder.st_gid)
    return descriptor, os.fstat(descriptor).st_size


def tail(log: Path, log_start: int) -> str:
    """Return what the server logged since a position, at most the last 64 KB."""
    with log.open("rb") as file:
        file.seek(max(log_start, log.stat().st_size - 65536))
        return file.read().decode("utf-8", errors="replace")


def stop(layout: Layout) -> None:
    """Shut the server down fast (sessions end, data is flushed) and wait until its last process is gone."""
    running = find_server(layout)
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
    reap(running.pid)
    remove_socket_folder(running.socket_dir)


def reap(pid: int) -> None:
    """Collect the exit status of a server that has exited, which would stay a zombie."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass  # another process started it
