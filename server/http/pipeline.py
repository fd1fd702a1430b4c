"""Process each request in the order of docs/reference/shared.md#order-of-checks.

    request id → access log → errors → connections and rate of the address → [OPTIONS, unknown route, method] → concurrent requests
    → time-out → store → credential → limits of caller and store → handler → compression

This is one function because a middleware per step would cost a coroutine each and hide the order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from time import perf_counter
from urllib.parse import unquote_to_bytes

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware
from yarl import URL

from auth.lockout import count_address_attempt
from kernel import clock, tracing
from kernel.errors import (
    MalformedRequest,
    RateLimited,
    TenantClosed,
    TenantNotFound,
    Unauthenticated,
    Unavailable,
)
from kernel.ip_addresses import client_address, peer_address
from kernel.scope import Scope, activate
from kernel.settings import Settings
from kernel.store_usage import Measured, usage_of
from kernel.text import has_forbidden_characters
from models.connection.replicas import primary_only
from rest_facade.responses import TIMEOUT, add_vary, allow_header, compress, is_compressible
from rest_facade.routing import CLIENT_IP, REQUEST_ID, SCOPE, Credential
from server.http import idempotency, limits, telemetry
from server.http.authentication import Authenticator
from server.http.catalog_cache import CatalogueCache, is_cacheable
from server.http.connections import SERVER_NAME
from server.http.cross_origin import AddHeaders
from server.http.errors import error_response
from server.http.families import RouteFamily, family_of
from server.http.forms import respond_and_discard
from server.http.health import Readiness
from server.http.routes import RoutePolicy
from server.http.served_methods import ServedMethods

_SAFE_METHODS = (hdrs.METH_GET, hdrs.METH_HEAD)


def pipeline(
    settings: Settings,
    policies: Mapping[web.AbstractRoute, RoutePolicy],
    limiter: limits.RateLimiter,
    authenticator: Authenticator,
    served_methods: ServedMethods,
    catalogue: CatalogueCache,
    health: Readiness,
) -> Middleware:
    """Create the application's middleware."""
    trusted = settings.trusted_proxies

    @web.middleware
    async def serve(request: web.Request, handler: Handler) -> web.StreamResponse:
        started = perf_counter()
        current_request_id = telemetry.assign_request_id(request)
        policy = policies.get(request.match_info.route)
        family = family_of(request.path) if policy is None else policy.family
        is_excess = family.is_rate_limited and getattr(request.protocol, "is_excess", False)
        status, error_code = telemetry.CLIENT_GONE, None
        work = Measured(handle(request, handler, family, policy, current_request_id, is_excess))
        try:
            response = await work
            if is_compressible(response):
                await compress(request, response)
            status = response.status
        except Exception as error:
            if isinstance(error, ConnectionError) and request.transport is None:
                raise
            if isinstance(error, web.HTTPException) and error.status < 400:
                status = error.status
                raise
            response, error_code = error_response(error, family.error_format)
            if is_compressible(response):
                await compress(request, response)
            status = response.status
            if is_excess:
                response.force_close()
        finally:
            telemetry.count_request(policy, family.name, status, perf_counter() - started)
            telemetry.log_request(request, status, started, error_code)
            if SCOPE in request:
                usage = usage_of(request[SCOPE].store.id)
                usage.requests += 1
                usage.cpu_seconds += work.seconds
        if health.stopping:
            # A client or proxy that keeps the connection would send its next request while it closes.
            response.force_close()
        return response

    async def handle(
        request: web.Request,
        handler: Handler,
        family: RouteFamily,
        policy: RoutePolicy | None,
        current_request_id: str,
        is_excess: bool,
    ) -> web.StreamResponse:
        headers = request.headers
        forwarded_for = headers.getall(hdrs.X_FORWARDED_FOR, ()) if trusted else ()
        address = (
            client_address(request.remote, forwarded_for, trusted) if forwarded_for else peer_address(request.remote)
        )
        request[CLIENT_IP] = address
        if is_excess:
            limits.LIMITED.add("connections")
            raise RateLimited(f"more than {settings.address_connections} connections from this address", retry_after=1)
        await limiter.count_address(request, family, address)
        method, target, missing = request.method, request.raw_path, request.match_info.http_exception
        if missing is not None or (policy is not None and policy.route.serves is not None):
            missing = await served_methods.error_of(request)
        if not target.startswith(("/", "*")):
            _reject_other_host(request.url, headers.get(hdrs.HOST, ""))
        if method == hdrs.METH_OPTIONS:
            if not (family.is_cross_origin and _is_preflight(request)):
                return _options(request, missing)
            if policy is None:
                return web.Response()  # `server.http.cross_origin` adds the headers: the page then sees the 404
        if missing is not None:
            raise missing
        if policy is None:
            return await handler(request)
        if "%" in target or not target.isascii():
            _reject_unstorable(target)
        limiter.begin_request(request, family, address)
        try:
            async with asyncio.timeout(settings.request_timeout) as request[TIMEOUT]:
                if policy.route.credential is Credential.NONE or (
                    hdrs.UPGRADE in headers and authenticator.names_store_later(request, policy)
                ):
                    return await handler(request)
                try:
                    scope = await authenticator.create_scope(request, policy, address, current_request_id)
                except (TenantNotFound, TenantClosed):
                    if policy.route.attempt_limit:
                        await count_address_attempt(address, policy.route.attempt_limit, clock.now())
                    raise
                request[SCOPE] = scope
                activate(scope)  # aiohttp runs each request in a task of its own
                await limiter.count_caller(request, family, scope)
                if scope.store.limits and policy.route.credential is not Credential.SIGNATURE:
                    await limiter.begin_for_store(request, scope.store)
                primary_only.set(method not in _SAFE_METHODS and family.name != "graphql")
                return await respond(request, handler, policy, scope)
        except Unauthenticated:
            if _has_credential(request, policy):
                await limiter.count_failure(address)
            raise
        except TimeoutError as error:
            raise Unavailable() from error
        finally:
            limiter.end_request(request)

    def once(
        request: web.Request, handler: Handler, policy: RoutePolicy, scope: Scope
    ) -> Awaitable[web.StreamResponse]:
        return idempotency.handle_once(
            request,
            scope,
            policy.family.error_format,
            lambda: handler(request),
            policy.route.key_reuse_message,
            takes_files=policy.route.takes_files,
        )

    def respond(
        request: web.Request, handler: Handler, policy: RoutePolicy, scope: Scope
    ) -> Awaitable[web.StreamResponse]:
        if policy.route.takes_files:
            return respond_and_discard(request, once(request, handler, policy, scope))
        if policy.route.creates and idempotency.HEADER in request.headers:
            return once(request, handler, policy, scope)
        if policy.route.is_catalogue and is_cacheable(scope):
            return catalogue.respond(request, scope, request.path_qs, lambda: handler(request))
        return handler(request)

    if tracing.active is None:
        return serve

    @web.middleware
    async def trace(request: web.Request, handler: Handler) -> web.StreamResponse:
        assert tracing.active is not None
        policy = policies.get(request.match_info.route)
        family, method, route = policy.metric if policy is not None else (family_of(request.path).name, "", "none")
        with tracing.active.request(f"{method} {route}".strip(), request.headers) as span:
            response = await serve(request, handler)
            _describe(span, request, family, route, response.status)
            return response

    return trace


def common_headers(
    policies: Mapping[web.AbstractRoute, RoutePolicy], add_cross_origin_headers: AddHeaders
) -> AddHeaders:
    """Return the function that adds the headers of all responses."""

    async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
        if hdrs.ORIGIN in request.headers:
            await add_cross_origin_headers(request, response)
        headers = response.headers
        headers[hdrs.SERVER] = SERVER_NAME
        headers[telemetry.REQUEST_ID_HEADER] = request.get(REQUEST_ID) or telemetry.assign_request_id(request)
        # Whatever isn't marked as a read of the catalogue or as public may be personal, or an error that passes.
        headers.setdefault(hdrs.CACHE_CONTROL, "no-store")
        limits.add_headers(request, headers)
        policy = policies.get(request.match_info.route)
        if (policy.family if policy is not None else family_of(request.path)).is_cross_origin:
            # aiohttp-cors echoes the origin but omits Vary, which caches need.
            if hdrs.VARY in headers:
                add_vary(headers, hdrs.ORIGIN)
            else:
                headers[hdrs.VARY] = hdrs.ORIGIN

    return add_headers


def _describe(span: tracing.Span, request: web.Request, family: str, route: str, status: int) -> None:
    """Set the attributes of a request's span: no path, query or header, which may contain secrets."""
    span.set("http.request.method", request.method)
    span.set("http.route", route)
    span.set("http.response.status_code", status)
    span.set("vitrine.family", family)
    span.set("vitrine.request_id", request[REQUEST_ID])
    scope = request.get(SCOPE)
    if scope is not None:
        span.set("vitrine.store", str(scope.store.public_id))
    if status >= 500:
        span.fail(str(status))


def _is_preflight(request: web.Request) -> bool:
    return hdrs.ORIGIN in request.headers and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers


def _options(request: web.Request, missing: web.HTTPException | None) -> web.Response:
    """Return the methods of a path (RFC 9110, section 9.3.7); raises the 404 of an unknown one."""
    methods = {hdrs.METH_OPTIONS}
    if isinstance(missing, web.HTTPMethodNotAllowed):
        methods |= missing.allowed_methods
    elif missing is not None:
        raise missing
    elif (resource := request.match_info.route.resource) is not None:
        methods |= {route.method for route in resource}
    return web.Response(status=204, headers=allow_header(methods))


def _has_credential(request: web.Request, policy: RoutePolicy) -> bool:
    """Return whether a failure counts as guessing; a notification without its signature and an app's wrong secret do too."""
    if policy.route.credential is Credential.NONE:
        return False
    is_in_body = policy.route.credential is Credential.SIGNATURE or policy.route.names_store
    return is_in_body or limits.has_credential(request.headers)


def _reject_other_host(target: URL, host: str) -> None:
    """Reject a target in absolute form that names another host than `Host`: what stands in front may go by either of them."""
    if not target.absolute:
        return
    try:
        named = URL(f"{target.scheme}://{host}", encoded=True)
        is_same = (named.raw_host or "").lower() == (target.raw_host or "").lower()
    except ValueError:  # such as a port that is no number
        is_same = False
    if not is_same:
        raise MalformedRequest("bad request", detail="the target names another host than the header Host")


def _reject_unstorable(raw: str) -> None:
    """Reject what PostgreSQL can't store, and a query that is not UTF-8: with other characters in its place it would find other records."""
    path, _, query = raw.partition("?")
    if "%00" in path or has_forbidden_characters(path):
        raise web.HTTPNotFound
    try:
        is_text = not has_forbidden_characters(unquote_to_bytes(query).decode())
    except UnicodeError:
        is_text = False
    if not is_text:
        raise MalformedRequest(
            "invalid parameter", detail="the query holds bytes that are not UTF-8, or characters that text can't have"
        )
