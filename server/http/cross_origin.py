"""Configure CORS (cross-origin resource sharing) for the families that browsers call."""

from __future__ import annotations

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


def allow_cross_origin(app: web.Application, origins: tuple[str, ...]) -> None:
    """Answer CORS preflights and add CORS headers for the cross-origin families; call it after all routes were added.

    Credentials mode is off: clients send their credential in a header, never a cookie, so any origin may be allowed.
    """
    options = aiohttp_cors.ResourceOptions(  # type: ignore[no-untyped-call]
        expose_headers=EXPOSED, allow_headers="*", allow_methods="*", max_age=PREFLIGHT_SECONDS
    )
    cors = aiohttp_cors.setup(app, defaults=dict.fromkeys(origins, options))
    for resource in list(app.router.resources()):
        if isinstance(resource, web.Resource) and family_of(resource.canonical).is_cross_origin:
            cors.add(resource)
    _handle_other_responses(app, frozenset(origins))


def _handle_other_responses(app: web.Application, origins: frozenset[str]) -> None:
    """Add the headers to 404 and 405 of the families, and to preflights of unknown paths: a page would see a network error instead.

    Skip aiohttp-cors for requests without Origin, which it would look up in vain.
    """
    handler = app.on_response_prepare.pop()

    async def add_cors_headers(request: web.Request, response: web.StreamResponse) -> None:
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None:
            return
        await handler(request, response)
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

    app.on_response_prepare.append(add_cors_headers)
