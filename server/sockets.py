"""Open the sockets to listen on, before any process serves: several processes will share them."""

from __future__ import annotations

import errno
import socket

from kernel.settings import SettingError, Settings

# A machine without IPv6 has no ::1; that is no fault of a default, only of somebody who asked for it.
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def open_sockets(settings: Settings) -> list[socket.socket]:
    """Bind every address (decisions section 9); SettingError naming what is wrong when one can't be had."""
    opened: list[socket.socket] = []
    port = settings.port
    try:
        for address in settings.bind_addresses:
            try:
                opened.append(_open(address, port))
            except OSError as error:
                if not settings.bind and error.errno in _ABSENT:
                    continue
                raise _explained(error, address, port) from error
            port = opened[0].getsockname()[1]  # what 0 became holds for the other addresses too
    except BaseException:
        for each in opened:
            each.close()
        raise
    if not opened:
        raise SettingError(
            "VITRINE_BIND is not set and this machine has none of the usual addresses; expected one"
        )
    return opened


def addresses_of(sockets: list[socket.socket]) -> list[str]:
    """Give the addresses as a browser takes them."""
    names = [each.getsockname() for each in sockets]
    return [
        f"http://[{name[0]}]:{name[1]}" if ":" in name[0] else f"http://{name[0]}:{name[1]}" for name in names
    ]


def _open(address: str, port: int) -> socket.socket:
    family, kind, protocol, _, place = socket.getaddrinfo(
        address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # IPv4 has a socket of its own
        opened.bind(place)
        opened.setblocking(False)
    except BaseException:
        opened.close()
        raise
    return opened


def _explained(error: OSError, address: str, port: int) -> SettingError:
    if isinstance(error, socket.gaierror):
        return SettingError(f"VITRINE_BIND is {address!r}; expected an address of this machine")
    if error.errno in (errno.EADDRINUSE, errno.EACCES):
        why = (
            "is taken by another program"
            if error.errno == errno.EADDRINUSE
            else "may not be opened by this user"
        )
        return SettingError(f"PORT is {port}, which {why} at {address}; expected a free one")
    return SettingError(
        f"VITRINE_BIND is {address!r}; expected an address of this machine ({error.strerror})"
    )
