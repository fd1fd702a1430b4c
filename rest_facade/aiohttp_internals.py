"""What this project uses of aiohttp beyond its documented interface; no other module does (tests/test_repository.py).

Each name has its reason here, and in tests/server/test_aiohttp_internals.py a test that fails when a version of aiohttp changes it.
The getters are used in place of functions where a request would pay for the call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from operator import attrgetter

from aiohttp import StreamReader, web
from aiohttp.http_exceptions import LineTooLong as LineTooLong
from aiohttp.http_exceptions import PayloadEncodingError as PayloadEncodingError
from yarl import URL

# `LineTooLong` names the limit that a request line or header exceeds. `PayloadEncodingError` is what the parser in Python raises for a
# malformed chunk while the body is read; where aiohttp is compiled, the request is refused instead. Neither is in the documentation.

head_waiter: Callable[[web.RequestHandler], asyncio.Future[None] | None] = attrgetter("_waiter")
"""Return what a connection waits for until the head of a request has arrived; None while a request is answered.

Only with it can a head that arrives too slowly be distinguished from a slow handler and from an idle connection.
"""

buffered_chunks: Callable[[StreamReader], Iterable[bytes]] = attrgetter("_buffer")
"""Return what has arrived of a body and wasn't read.

`read_nowait` takes three times as long: it resumes reading and parses again, although nothing can follow a complete body.
"""


def replace_url(request: web.Request, url: URL) -> None:
    """Set the relative URL of a request whose route is being searched; `clone` would return another request, which aiohttp doesn't use."""
    request._rel_url = request._cache["rel_url"] = url


class AppRunner(web.AppRunner):
    """A runner whose server can be another: aiohttp has no option for the class of connections."""

    __slots__ = ()

    def server_for(self, server: web.Server) -> web.Server:
        """Return the server to run in place of aiohttp's."""
        return server

    async def _make_server(self) -> web.Server:
        return self.server_for(await super()._make_server())
