"""Configure CORS (cross-origin resource sharing) for the families that browsers call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import aiohttp_cors
from aiohttp import hdrs, web

from server.http.families import family_of

PREFLIGHT_SECONDS = 600
EXPOSED = (
    "ETag",
    "Link",
    "X-Request-Id",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "Retry-After",
    "Idempotent-Replayed",
)
_ANY_ORIGIN = "*"
_PREFLIGHT = (
    (hdrs.ACCESS_CONTROL_REQUEST_METHOD, hdrs.ACCESS_CONTROL_ALLOW_METHODS),
    (hdrs.ACCESS_CONTROL_REQUEST_HEADERS, hdrs.ACCESS_CONTROL_ALLOW_HEADERS),
)


AddHeaders = Callable[[web.Request, web.StreamResponse], Awaitable[object]]


def allow_cross_origin(app: web.Application, origins: tuple[str, ...]) -> AddHeaders:
    """Answer CORS preflights; call it after all routes were added. Return what adds the CORS headers of the cross-origin families.

    Credentials mode is off: clients send their credential in a header, never a cookie, so any origin may be allowed.
    """
    options = aiohttp_cors.ResourceOptions(  # type: ignore[no-untyped-call]
        expose_headers=EXPOSED, allow_headers="*", allow_methods="*", max_age=PREFLIGHT_SECONDS
    )
    cors = aiohttp_cors.setup(app, defaults=dict.fromkeys(origins, options))
    for resource in list(app.router.resources()):
        if isinstance(resource, web.Resource) and family_of(resource.canonical).is_cross_origin:
            cors.add(resource)
    return _for_all_responses(app.on_response_prepare.pop(), frozenset(origins))


def _for_all_responses(add_headers: AddHeaders, origins: frozenset[str]) -> AddHeaders:
    """Add the headers to 404 and 405 of the families, and to preflights of unknown paths: a page would see a network error instead.

    Call it for requests with Origin: aiohttp-cors would look up that of others in vain.
    """

    async def add_cors_headers(request: web.Request, response: web.StreamResponse) -> None:
        origin = request.headers[hdrs.ORIGIN]
        await add_headers(request, response)
        if (
            request.match_info.http_exception is not None
            and family_of(request.path).is_cross_origin
            and (origin in origins or _ANY_ORIGIN in origins)
        ):
            response.headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = origin
            response.headers[hdrs.ACCESS_CONTROL_EXPOSE_HEADERS] = ",".join(EXPOSED)
            for asked, allowed in _PREFLIGHT if request.method == hdrs.METH_OPTIONS else ():
                if asked in request.headers:
                    response.headers[allowed] = request.headers[asked]

    return add_cors_headers
