"""Compose the application from families, middleware and routes; importing has no side effects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from aiohttp import hdrs, web

import rest_facade.apps
import rest_facade.current
import rest_facade.legacy
from auth.store_resolution import CachedStoreResolver
from kernel.errors import TenantClosed, TenantNotFound
from kernel.settings import Settings
from models.reading.answer_size import AnswerLimits
from resolvers.engine import compile as query_compiler
from rest_facade.bodies import MAX_BYTES, RECEIVE_FORM
from rest_facade.responses import REQUEST_SECONDS
from rest_facade.routing import Route
from server import authorization_metadata, back_office, credit_bureau, example_storefront, mail_page, payment_page
from server.demo import DEMO_STORE_ID
from server.domain_settings import shows_example_storefront
from server.http import (
    bulk_files,
    event_streams,
    graphql_sockets,
    graphql_streams,
    graphql_view,
    host_checks,
    limits,
    media_files,
    media_uploads,
    option_files,
)
from server.http.authentication import Authenticate, Authenticator
from server.http.catalog_cache import CATALOGUE_CACHE, REQUEST_CACHE, CatalogueCache, RequestCache
from server.http.connections import SETTINGS as SETTINGS
from server.http.cross_origin import allow_cross_origin
from server.http.forms import receive_form
from server.http.health import HEALTH, Checks, Readiness
from server.http.limits import Counters, ProcessCounters
from server.http.pipeline import common_headers, pipeline
from server.http.playground import STORE_KEY, OfferedStore
from server.http.routes import add_routes, route_policies
from server.http.script_address import add_spellings
from server.http.served_methods import ServedMethods
from server.openapi import page

COUNTERS = web.AppKey("counters", Counters)


def facade_routes() -> list[Route]:
    """List the routes of the three facades."""
    return [*rest_facade.current.routes(), *rest_facade.apps.routes(), *rest_facade.legacy.routes()]


def create_app(
    settings: Settings,
    *,
    store_resolver: CachedStoreResolver,
    authenticate: Authenticate,
    counters: Counters | None = None,
    checks: Checks | None = None,
    limit_of: limits.LimitOf = limits.default_limit_of,
    routes: Iterable[Route] | None = None,
    anonymous_introspection: bool = False,
) -> web.Application:
    """Create the application; `routes` replaces the facades' routes in tests of the middleware.

    `checks` are the readiness checks; `limit_of` returns the rate limit of an app or storefront key;
    `anonymous_introspection` answers introspection without a credential.
    """
    app = web.Application(client_max_size=MAX_BYTES)
    app[SETTINGS] = settings
    app[COUNTERS] = counters if counters is not None else ProcessCounters()
    app[HEALTH] = Readiness(checks)
    app[CATALOGUE_CACHE] = CatalogueCache(settings.catalogue_cache_bytes)
    app[REQUEST_CACHE] = RequestCache()

    app[HEALTH].add_routes(app)
    declared = facade_routes() if routes is None else list(routes)
    add_routes(app, declared)
    add_spellings(app.router, (route.path for route in declared))
    if not settings.compiled_reads:
        query_compiler.set_enabled(False)
    answer_limits = AnswerLimits(settings.graphql_max_objects, settings.graphql_max_bytes)
    graphql_view.add_routes(app, answer_limits, anonymous_introspection=anonymous_introspection)
    app[STORE_KEY] = _offered_store(settings, store_resolver)
    back_office.add_routes(app, settings, store_resolver, app[STORE_KEY])
    page.add_routes(app)
    authorization_metadata.add_routes(app, settings)
    host_checks.add_routes(app, settings, store_resolver)
    bulk_files.add_routes(app)
    media_uploads.add_routes(app)
    option_files.add_routes(app)
    media_files.add_routes(app, has_public_storage=settings.media_public)
    if settings.is_private_development:
        mail_page.add_routes(app)
        credit_bureau.add_routes(app)
    if settings.has_sandbox and settings.is_production:
        payment_page.add_production_routes(app)
    elif settings.has_sandbox:
        payment_page.add_routes(app, local_only=settings.is_private_development)
    example_storefront.add_routes(app, settings, store_resolver)
    add_cross_origin_headers = allow_cross_origin(app, settings.cors_origins)

    policies = route_policies(app)
    limiter = limits.RateLimiter(settings, app[COUNTERS], limit_of)
    app[REQUEST_SECONDS] = settings.request_timeout
    app[RECEIVE_FORM] = receive_form
    authenticator = Authenticator(store_resolver, authenticate)
    served = ServedMethods(app.router, policies, store_resolver)
    app.middlewares.append(
        pipeline(settings, policies, limiter, authenticator, served, app[CATALOGUE_CACHE], app[HEALTH])
    )
    event_streams.add_streams(app, limiter, authenticator)
    app[graphql_view.SEND_RESULTS] = graphql_streams.send_results
    app[graphql_view.OPEN_SOCKET] = graphql_sockets.open_socket

    app.on_response_prepare.append(common_headers(policies, add_cross_origin_headers))
    return app


def _offered_store(
    settings: Settings, store_resolver: CachedStoreResolver
) -> Callable[[web.Request], Awaitable[OfferedStore]]:
    """Return the function that finds the store of the playground's page."""

    async def find(request: web.Request) -> OfferedStore:
        host = request.headers.get(hdrs.HOST, "")
        is_shared = store_resolver.is_shared(host)
        for store_id in (None, *([DEMO_STORE_ID] if is_shared and settings.is_private_development else [])):
            try:
                store = await store_resolver.resolve(host, store_id, public=True)
            except (TenantNotFound, TenantClosed):
                continue
            is_public = shows_example_storefront(settings, store)
            token = await example_storefront.storefront_key(store) if is_public else ""
            # A store's own address names it.
            return OfferedStore(str(store.public_id) if is_shared else "", store_id is not None, token)
        return OfferedStore(is_needed=is_shared)

    return find
