"""The S3-compatible storage of the tests as a program: `python -m bench.slow_storage PORT`; `PUT /delay/<seconds>` delays its answers."""

from __future__ import annotations

import asyncio
import sys

from aiohttp import web

from tests.harness.s3_server import S3Server


class _SlowStorage:
    def __init__(self) -> None:
        self._storage = S3Server()
        self._delay = 0.0

    async def set_delay(self, request: web.Request) -> web.StreamResponse:
        """Delay each answer from now on by so many seconds."""
        self._delay = float(request.match_info["seconds"])
        return web.Response()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer as the storage, later."""
        await asyncio.sleep(self._delay)
        return await self._storage.handle(request)


def main() -> None:
    slow = _SlowStorage()
    app = web.Application(client_max_size=2**30)
    app.router.add_get("/", lambda _: _ready())
    app.router.add_put("/delay/{seconds}", slow.set_delay)
    app.router.add_route("*", "/{path:.*}", slow.handle)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)


async def _ready() -> web.Response:
    return web.Response()


if __name__ == "__main__":
    main()
