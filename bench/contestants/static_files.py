"""aiohttp's own static files, on uvloop with an access log: what a kept size of an image is compared with."""

from __future__ import annotations

import logging
import os

import uvloop
from aiohttp import web


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    app = web.Application()
    app.router.add_static("/files", os.environ["BENCH_FOLDER"])
    app.router.add_get("/", lambda _: _ready())
    uvloop.install()
    web.run_app(app, host="127.0.0.1", port=int(os.environ["BENCH_PORT"]), print=None)


async def _ready() -> web.Response:
    return web.Response()


if __name__ == "__main__":
    main()
