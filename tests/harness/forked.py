"""Run a program of the fork server from a shell: `python -IS forked.py ADDRESS CODE ARGUMENT…` is `python -c CODE ARGUMENT…`.

Imports little, so that it starts fast. Signals are forwarded; when this process is killed, the program is.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def request(
    address: str,
    code: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: str,
    descriptors: Mapping[int, int],
    name: str = "",
) -> tuple[socket.socket, int]:
    """Start a program with descriptors of this process under other numbers, `{1: 7}` for 7 as its standard output.

    Return the connection, which reports the exit code, and the process id.
    """
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    message = {
        "code": code,
        "arguments": list(arguments),
        "environment": dict(environment),
        "folder": folder,
        "targets": list(descriptors),
        "name": name,
    }
    data = json.dumps(message).encode() + b"\n"
    sent = socket.send_fds(connection, [data], list(descriptors.values()))
    if sent < len(data):  # nothing, sent to a program that has ended already, is an error
        connection.sendall(data[sent:])
    return connection, int(receive(connection))


def receive(connection: socket.socket) -> bytes:
    """Return the next line."""
    line = b""
    while not line.endswith(b"\n"):
        part = connection.recv(1)
        if not part:
            raise EOFError("the fork server is gone")
        line += part
    return line


def main(address: str, code: str, *arguments: str) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    connection, pid = request(address, code, arguments, os.environ, os.getcwd(), {0: 0, 1: 1, 2: 2})
    for number in FORWARDED:
        signal.signal(number, lambda received, _: os.kill(pid, received))
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    status = int(receive(connection))
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
