"""Compose the application: families, middleware, routes. Nothing happens at import."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import hdrs, web

import rest_facade.apps
import rest_facade.current
import rest_facade.legacy
from kernel.settings import Settings
from rest_facade.bodies import MAX_BYTES
from rest_facade.responses import PUT_HEADERS
from rest_facade.routing import Route
from server import credit_bureau, graphql_view, mail_page, mounting
from server.connections import PIPELINE
from server.cross_origin import allow_cross_origin
from server.health import Checks, Readiness
from server.limits import Counters, ProcessCounters
from server.middleware import rates, request_id
from server.middleware.authentication import Authenticate, Directory
from server.middleware.pipeline import pipeline
from server.openapi import reader

SETTINGS = web.AppKey("settings", Settings)
COUNTERS = web.AppKey("counters", Counters)
HEALTH = web.AppKey("health", Readiness)
# Instead of the versions of Python and aiohttp, which only help who looks for known holes.
SERVER_NAME = "vitrine"


def facade_routes() -> list[Route]:
    """List the routes of the three facades."""
    return [*rest_facade.current.routes(), *rest_facade.apps.routes(), *rest_facade.legacy.routes()]


def create_app(
    settings: Settings,
    *,
    directory: Directory,
    authenticate: Authenticate,
    counters: Counters | None = None,
    checks: Checks | None = None,
    rate_of: rates.RateOf = rates.default_rate_of,
    routes: Iterable[Route] | None = None,
) -> web.Application:
    """Make the application from what it needs; `routes` replaces those of the facades in tests of the middleware.

    `checks` is what readiness rests on. `rate_of` gives the requests a minute of an app or storefront key.
    """
    app = web.Application(client_max_size=MAX_BYTES)
    app[SETTINGS] = settings
    app[COUNTERS] = counters if counters is not None else ProcessCounters()
    app[HEALTH] = Readiness(checks)

    app[HEALTH].add_routes(app)
    mounting.mount(app, facade_routes() if routes is None else routes)
    graphql_view.add_routes(app)
    reader.add_routes(app)
    if settings.is_private_development:
        mail_page.add_routes(app)
        credit_bureau.add_routes(app)
    allow_cross_origin(app, settings.cors_origins)

    terms_of = mounting.settle(app)
    limits = rates.Rates(settings, app[COUNTERS], rate_of)
    app[PIPELINE] = pipeline(settings, terms_of, limits, directory, authenticate)
    app.middlewares.append(app[PIPELINE])

    def put_headers(request: web.Request, response: web.StreamResponse) -> None:
        response.headers[hdrs.SERVER] = SERVER_NAME
        request_id.put(request, response)
        rates.put(request, response)
        terms = terms_of.get(request.match_info.route)
        if terms is not None and terms.family.is_cross_origin:
            # aiohttp-cors repeats the origin in its answer, and doesn't tell caches that it does.
            response.headers.add(hdrs.VARY, hdrs.ORIGIN)

    async def put_on_others(request: web.Request, response: web.StreamResponse) -> None:
        put_headers(request, response)

    app[PUT_HEADERS] = put_headers
    app.on_response_prepare.append(put_on_others)
    return app
