"""Call addresses that stores and apps chose, over aiohttp: each name is looked up here, checked, and connected to as it was checked.

A name is looked up once a try and the connection goes to what was found, so that a name which leads elsewhere a moment later gains
nothing (DNS rebinding). Connections are not kept: every try begins with the lookup. No proxy, no cookies, no redirects; bodies are
read as sent, for what is packed may be a thousand times larger.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeAlias

from aiohttp import (
    ClientError,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    InvalidURL,
    ServerTimeoutError,
    TCPConnector,
)
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from domain.outgoing import calls
from domain.outgoing.calls import NotAllowed, NotReached, OutgoingResponse
from domain.outgoing.targets import is_outside, read_target
from kernel.text import Malformed

# Looking a name up takes a thread for as long as a slow name server likes; so many slow ones don't keep the others waiting.
_LOOKUPS = 32
_MOST_HEADER_BYTES = 16_384

Lookup: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""Give the IP addresses of a name; raises OSError when it has none."""


@asynccontextmanager
async def calling(
    *, allows_private: bool, lookup: Lookup | None = None, trust: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Let the domain call out meanwhile; `lookup` and `trust` are the system's own unless given."""
    executor = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="vitrine-lookup")
    checked = _CheckedNames(lookup or _looked_up_in(executor), allows_private)
    connector = TCPConnector(
        resolver=checked,
        use_dns_cache=False,
        force_close=True,
        limit=0,
        # Made once: making it reads every certificate authority.
        ssl=trust or ssl.create_default_context(),
    )
    try:
        async with ClientSession(
            connector=connector,
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            max_line_size=_MOST_HEADER_BYTES,
            max_field_size=_MOST_HEADER_BYTES,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
        ) as session:
            calls.use(_Client(session, allows_private), allows_private=allows_private)
            yield
    finally:
        calls.use(None)
        executor.shutdown(wait=False, cancel_futures=True)


def _looked_up_in(executor: ThreadPoolExecutor) -> Lookup:
    async def lookup(host: str, port: int) -> list[str]:
        # Not the loop's own: uvloop looks names up in four threads that files are read in too.
        found = await asyncio.get_running_loop().run_in_executor(
            executor, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))

    return lookup


class _CheckedNames(AbstractResolver):
    """Give aiohttp the addresses of a name when all of them may be called, and the numbers themselves."""

    def __init__(self, lookup: Lookup, allows_private: bool) -> None:
        self._lookup = lookup
        self._allows_private = allows_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Look the name up and refuse it when any address lies inside: whoever mixes them means harm."""
        addresses = await self._lookup(host, port)
        if not addresses:
            raise OSError(f"{host} has no address")
        for address in addresses:
            if not self._allows_private and not is_outside(address):
                raise NotAllowed(f"{host} leads to {address}, which is not an address of the public internet")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Release nothing."""


class _Client:
    """Call one address, once; a `calls.Caller`."""

    def __init__(self, session: ClientSession, allows_private: bool) -> None:
        self._session = session
        self._allows_private = allows_private

    async def __call__(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        timeout: float,
        connect_timeout: float,
        most: int,
    ) -> OutgoingResponse:
        address = self._checked(url)
        # To connect: looking the name up, the connection and TLS. aiohttp rounds longer times up unless told otherwise.
        times = ClientTimeout(total=timeout, connect=connect_timeout, ceil_threshold=float("inf"))
        try:
            async with self._session.request(
                method,
                address,
                headers=headers,
                data=body,
                allow_redirects=False,
                timeout=times,
            ) as response:
                kept, is_cut = await _body(response.content, most) if most else (b"", True)
                answered = {name.lower(): value for name, value in response.headers.items()}
                return OutgoingResponse(response.status, answered, kept, is_cut)
        except NotAllowed:
            raise
        except (ServerTimeoutError, TimeoutError) as error:
            raise NotReached("timed out", timed_out=True) from error
        except InvalidURL as error:
            raise NotAllowed("the address can't be called") from error
        except (ClientError, OSError, ValueError) as error:
            raise NotReached(_reason(error)) from error

    def _checked(self, url: str) -> URL:
        try:
            target = read_target(url, allows_private=self._allows_private)
            address = URL(url, encoded=True)
        except (Malformed, ValueError) as error:
            raise NotAllowed(f"the address {error}") from error
        # Two readers of addresses that disagree are how such checks are passed by.
        if (address.scheme, address.host, address.port) != (target.scheme, target.host, target.port):
            raise NotAllowed("the address can be read in two ways")
        return address


async def _body(content: object, most: int) -> tuple[bytes, bool]:
    kept = bytearray()
    async for part in content.iter_any():  # type: ignore[attr-defined]  # aiohttp's StreamReader
        kept += part
        if len(kept) > most:
            return bytes(kept[:most]), True
    return bytes(kept), False


def _reason(error: BaseException) -> str:
    """Say what went wrong in words that tell nothing of our own machine."""
    cause = getattr(error, "os_error", None) or error
    if isinstance(cause, socket.gaierror):
        return "the name was not found"
    if isinstance(cause, ssl.SSLError | ssl.CertificateError):
        return f"TLS failed: {getattr(cause, 'verify_message', '') or cause.reason or 'no common terms'}"
    if isinstance(cause, ConnectionRefusedError):
        return "the connection was refused"
    if isinstance(cause, ConnectionResetError | BrokenPipeError):
        return "the connection was lost"
    return f"no answer ({type(error).__name__})"
