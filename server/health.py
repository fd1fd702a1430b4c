"""Answer those who watch over the server: `/health/live` while it runs, `/health/ready` while it can serve."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

from aiohttp import web

from rest_facade.responses import json_response

# Each check by its name, and whether it is as it should be.
Checks = Callable[[], Awaitable[dict[str, bool]]]

CHECK_SECONDS = 3.0
REMEMBER_SECONDS = 1.0


class Readiness:
    """Know whether requests should come here; `stopping` says no before the server stops taking them."""

    def __init__(self, checks: Checks | None = None) -> None:
        self._checks = checks
        self._last: dict[str, bool] = {}
        self._last_at = -REMEMBER_SECONDS
        self._lock = asyncio.Lock()
        self.stopping = False

    def add_routes(self, app: web.Application) -> None:
        """Add the two addresses."""
        app.router.add_get("/health/live", self.live)
        app.router.add_get("/health/ready", self.ready)

    async def live(self, request: web.Request) -> web.Response:
        """Answer 200 as long as anything is answered."""
        return json_response({"status": "ok"})

    async def ready(self, request: web.Request) -> web.Response:
        """Answer 200 when every check passes, else 503; `checks` says which one failed and nothing of why."""
        checks = {"serving": not self.stopping, **await self._checked()}
        passed = all(checks.values())
        body = {
            "status": "ok" if passed else "unavailable",
            "checks": {name: "ok" if fine else "failed" for name, fine in checks.items()},
        }
        return json_response(body, status=200 if passed else 503, headers={"Cache-Control": "no-store"})

    async def _checked(self) -> dict[str, bool]:
        """Run the checks, at most once a second however many ask: the address is open to everybody."""
        if self._checks is None:
            return {}
        async with self._lock:
            if monotonic() - self._last_at >= REMEMBER_SECONDS:
                try:
                    async with asyncio.timeout(CHECK_SECONDS):
                        self._last = await self._checks()
                except TimeoutError:
                    self._last = {"answer": False}
                self._last_at = monotonic()
            return self._last
