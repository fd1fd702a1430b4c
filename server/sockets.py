"""Open the listening sockets before any process serves, since several processes may share them."""

from __future__ import annotations

import errno
import socket

from kernel.settings import SettingError, Settings

# As of aiohttp's sites.
_BACKLOG = 128
# A machine without IPv6 has no ::1: ignored for default addresses, an error for configured ones.
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def open_sockets(settings: Settings) -> list[socket.socket]:
    """Bind every configured address; raises SettingError when one is unavailable."""
    listeners: list[socket.socket] = []
    port = settings.port
    try:
        for address in settings.bind_addresses:
            try:
                listeners.append(_open(address, port))
            except OSError as error:
                if not settings.bind and error.errno in _ABSENT:
                    continue
                raise _setting_error(error, address, port) from error
            port = listeners[0].getsockname()[1]  # a port chosen for 0 applies to all addresses
    except BaseException:
        for listener in listeners:
            listener.close()
        raise
    if not listeners:
        raise SettingError("VITRINE_BIND is not set and this machine has none of the default addresses; set it")
    return listeners


def listen(listener: socket.socket) -> None:
    """Accept connections; raises SettingError when another program that had the address open, too, was the first to listen there.

    A socket that can't listen is closed by uvloop without an error.
    """
    try:
        listener.listen(_BACKLOG)
    except OSError as error:
        address, port = listener.getsockname()[:2]
        raise _setting_error(error, address, port) from error


def addresses_of(sockets: list[socket.socket]) -> list[str]:
    """Return the addresses as URLs."""
    names = [each.getsockname() for each in sockets]
    return [f"http://[{name[0]}]:{name[1]}" if ":" in name[0] else f"http://{name[0]}:{name[1]}" for name in names]


def _open(address: str, port: int) -> socket.socket:
    family, socket_type, protocol, _, address_info = socket.getaddrinfo(
        address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, socket_type, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # IPv4 has a socket of its own
        listener.bind(address_info)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def _setting_error(error: OSError, address: str, port: int) -> SettingError:
    if isinstance(error, socket.gaierror):
        return SettingError(f"VITRINE_BIND is {address!r}; expected an address of this machine")
    if error.errno in (errno.EADDRINUSE, errno.EACCES):
        why = "is taken by another program" if error.errno == errno.EADDRINUSE else "may not be opened by this user"
        return SettingError(f"PORT is {port}, which {why} at {address}; expected a free one")
    return SettingError(f"VITRINE_BIND is {address!r}; expected an address of this machine ({error.strerror})")
