"""Health checks: `/health/live` while the process runs, `/health/ready` while it can serve."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

from aiohttp import web

from rest_facade.responses import json_response
from rest_facade.routing import IS_UNLOGGED

# Check name → whether it passed, or a word for why not.
Checks = Callable[[], Awaitable[dict[str, bool | str]]]

CHECK_SECONDS = 3.0
CACHE_SECONDS = 1.0


class Readiness:
    """Report whether the server should receive requests; `stopping` fails readiness before the sockets close (VITRINE_DRAIN_TIME).

    Proxies ask each half second: the access log gets a line only where the status of readiness differs from the last one.
    """

    def __init__(self, checks: Checks | None = None) -> None:
        self._checks = checks
        self._last: dict[str, bool | str] = {}
        self._last_at = -CACHE_SECONDS
        self._lock = asyncio.Lock()
        self._logged_status = 0
        self.stopping = False

    def add_routes(self, app: web.Application) -> None:
        """Add the two routes."""
        app.router.add_get("/health/live", self.live)
        app.router.add_get("/health/ready", self.ready)

    async def live(self, request: web.Request) -> web.Response:
        """Return 200."""
        request[IS_UNLOGGED] = True
        return json_response({"status": "ok"})

    async def ready(self, request: web.Request) -> web.Response:
        """Return 200 when every check passes, else 503; `checks` names the failed ones, with a word for the reason at most."""
        if self.stopping:  # at once: the proxy in front has VITRINE_DRAIN_TIME to notice
            checks: dict[str, bool | str] = {"serving": "stopping", **(self._last or await self._run_checks())}
        else:
            checks = {"serving": True, **await self._run_checks()}
        passed = all(result is True for result in checks.values())
        body = {
            "status": "ok" if passed else "unavailable",
            "checks": {name: "ok" if result is True else result or "failed" for name, result in checks.items()},
        }
        status = 200 if passed else 503
        if status == self._logged_status:
            request[IS_UNLOGGED] = True
        self._logged_status = status
        return json_response(body, status=status)

    async def _run_checks(self) -> dict[str, bool | str]:
        """Run the checks, cached for a second because the route is public."""
        if self._checks is None:
            return {}
        async with self._lock:
            if monotonic() - self._last_at >= CACHE_SECONDS:
                try:
                    async with asyncio.timeout(CHECK_SECONDS):
                        self._last = await self._checks()
                except TimeoutError:
                    self._last = {"answer": False}
                self._last_at = monotonic()
            return self._last


HEALTH = web.AppKey("health", Readiness)
