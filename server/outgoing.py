"""Send HTTP requests to addresses that stores and apps chose, protected against SSRF.

Each host name is resolved once per attempt, its addresses are checked, and the connection goes to the checked address: DNS rebinding
gains nothing. Connections are not reused, so every attempt resolves again. No proxy, cookies or redirects; response bodies are not
decompressed, because a small one may expand a thousandfold.
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
from domain.outgoing.calls import AddressNotAllowed, OutgoingResponse, RequestFailed
from domain.outgoing.targets import is_public_address, parse_target
from kernel.text import InvalidValue

# A lookup blocks a thread while a name server is slow; this many keep others from waiting.
_LOOKUP_THREADS = 32
_MAX_HEADER_BYTES = 16_384

Lookup: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""Return the IP addresses of a host name; raises OSError when there are none."""


@asynccontextmanager
async def outgoing_client(
    *, allows_private: bool, lookup: Lookup | None = None, trust: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Provide the domain with an HTTP client; `lookup` and `trust` default to the system's."""
    executor = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="vitrine-lookup")
    resolver = _CheckedResolver(lookup or _threaded_lookup(executor), allows_private)
    connector = TCPConnector(
        resolver=resolver,
        use_dns_cache=False,
        force_close=True,
        limit=0,
        # aiohttp's own context is the system's too; another one would read every certificate authority again.
        ssl=trust or True,
    )
    try:
        async with ClientSession(
            connector=connector,
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            max_line_size=_MAX_HEADER_BYTES,
            max_field_size=_MAX_HEADER_BYTES,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
        ) as session:
            calls.configure(_Client(session, allows_private), allows_private=allows_private)
            yield
    finally:
        calls.configure(None)
        executor.shutdown(wait=False, cancel_futures=True)


def _threaded_lookup(executor: ThreadPoolExecutor) -> Lookup:
    async def resolve(host: str, port: int) -> list[str]:
        # Not the loop's own: uvloop resolves names in four threads shared with file access.
        infos = await asyncio.get_running_loop().run_in_executor(
            executor, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        return list(dict.fromkeys(str(info[4][0]) for info in infos))

    return resolve


class _CheckedResolver(AbstractResolver):
    """Resolve a host name only when all its addresses are allowed."""

    def __init__(self, lookup: Lookup, allows_private: bool) -> None:
        self._lookup = lookup
        self._allows_private = allows_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses; reject the name when any address is private: mixing them indicates an attack.

        The error doesn't name the address: it would show apps and stores where internal names lead.
        """
        addresses = await self._lookup(host, port)
        if not addresses:
            raise OSError(f"{host} has no address")
        for address in addresses:
            if not self._allows_private and not is_public_address(address):
                raise AddressNotAllowed(f"{host} is not at an address of the public internet")
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
        """Do nothing; required by aiohttp."""


class _Client:
    """Send one request without retrying; a `calls.HttpCaller`."""

    def __init__(self, session: ClientSession, allows_private: bool) -> None:
        self._session = session
        self._allows_private = allows_private

    async def __call__(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        timeout: float,
        connect_timeout: float,
        max_bytes: int,
    ) -> OutgoingResponse:
        address = self._parse_address(url)
        # `connect` covers lookup, connection and TLS. aiohttp rounds longer timeouts up by default.
        times = ClientTimeout(total=timeout, connect=connect_timeout, ceil_threshold=float("inf"))
        try:
            async with self._session.request(
                method, address, headers=headers, data=body or None, allow_redirects=False, timeout=times
            ) as response:
                received, is_truncated = await _read_body(response.content, max_bytes) if max_bytes else (b"", True)
                response_headers = {name.lower(): value for name, value in response.headers.items()}
                return OutgoingResponse(response.status, response_headers, received, is_truncated)
        except AddressNotAllowed:
            raise
        except (ServerTimeoutError, TimeoutError) as error:
            raise RequestFailed("timed out", timed_out=True) from error
        except InvalidURL as error:
            raise AddressNotAllowed("the address can't be called") from error
        except (ClientError, OSError, ValueError) as error:
            raise RequestFailed(_reason(error)) from error

    def _parse_address(self, url: str) -> URL:
        try:
            target = parse_target(url, allows_private=self._allows_private)
            address = URL(url, encoded=True)
        except (InvalidValue, ValueError) as error:
            raise AddressNotAllowed(f"the address {error}") from error
        # URL parsers that disagree are a known way around SSRF checks.
        # The host as written: `host` decodes an international name, and fails at what decodes to none.
        host = (address.raw_host or "").lower()
        if (address.scheme, host, address.port) != (target.scheme, target.host, target.port):
            raise AddressNotAllowed("the address can be read in two ways")
        return address


async def _read_body(content: object, max_bytes: int) -> tuple[bytes, bool]:
    received = bytearray()
    async for part in content.iter_any():  # type: ignore[attr-defined]  # aiohttp's StreamReader
        received += part
        if len(received) > max_bytes:
            return bytes(received[:max_bytes]), True
    return bytes(received), False


def _reason(error: BaseException) -> str:
    """Describe the error without revealing anything about our network."""
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
