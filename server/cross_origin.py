"""Let pages of other origins call the families that browsers are meant for (CORS)."""

from __future__ import annotations

import aiohttp_cors
from aiohttp import hdrs, web

from server.families import family_of

PREFLIGHT_SECONDS = 600
EXPOSED = (
    "X-Request-Id",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "Retry-After",
    "Idempotent-Replayed",
)


def allow_cross_origin(app: web.Application, origins: tuple[str, ...]) -> None:
    """Answer preflights of the cross-origin families and mark their answers; call it once all their routes are there.

    Credentials mode is off: callers send their credential in a header they set, never a cookie, so any origin may be let in.
    """
    options = aiohttp_cors.ResourceOptions(  # type: ignore[no-untyped-call]
        expose_headers=EXPOSED, allow_headers="*", allow_methods="*", max_age=PREFLIGHT_SECONDS
    )
    cors = aiohttp_cors.setup(app, defaults=dict.fromkeys(origins, options))
    for resource in list(app.router.resources()):
        if isinstance(resource, web.Resource) and family_of(resource.canonical).is_cross_origin:
            cors.add(resource)
    _only_across_origins(app)


def _only_across_origins(app: web.Application) -> None:
    """Let the library look at answers to pages alone; it looks each route up before it finds that there is no origin."""
    mark = app.on_response_prepare.pop()

    async def mark_across_origins(request: web.Request, response: web.StreamResponse) -> None:
        if hdrs.ORIGIN in request.headers:
            await mark(request, response)

    app.on_response_prepare.append(mark_across_origins)
