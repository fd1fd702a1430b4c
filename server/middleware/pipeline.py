"""Take a request from the socket to its handler and its answer back, in the one order that the contract prescribes.

    request id → access log → errors → address rate → [unknown route, method] → time-out → wrong credentials → store → credential
    → caller's rate → handler

It is one function instead of a middleware each, because each would cost a coroutine and hide the order. What a step does is in
the module of its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from auth.lockout import count_stray_attempt
from kernel import clock
from kernel.addresses import client_address
from kernel.errors import MalformedRequest, TenantClosed, TenantNotFound, Unauthenticated, Unavailable
from kernel.scope import entered
from kernel.settings import Settings
from kernel.text import has_forbidden_characters
from rest_facade.routing import CLIENT_IP, SCOPE, Needs
from server.families import RouteFamily, family_of
from server.middleware import access_log, idempotency, rates, request_id
from server.middleware.authentication import Authenticate, Directory, Entrance
from server.middleware.errors import answer_to
from server.middleware.timeout import Deadlines
from server.mounting import RouteTerms


def pipeline(
    settings: Settings,
    terms_of: Mapping[web.AbstractRoute, RouteTerms],
    limits: rates.Rates,
    directory: Directory,
    authenticate: Authenticate,
) -> Middleware:
    """Make the application's middleware."""
    deadlines = Deadlines(settings.request_timeout)
    trusted = settings.trusted_proxies
    entrance = Entrance(directory, authenticate)

    @web.middleware
    async def serve(request: web.Request, handler: Handler) -> web.StreamResponse:
        started = perf_counter()
        this_request = request_id.begin(request)
        terms = terms_of.get(request.match_info.route)
        family = family_of(request.path) if terms is None else terms.family
        status, refused = access_log.CLIENT_GONE, None
        try:
            response = await admit(request, handler, family, terms, this_request)
            status = response.status
        except Exception as error:
            if isinstance(error, ConnectionError) and request.transport is None:
                raise
            if isinstance(error, web.HTTPException) and error.status < 400:
                status = error.status
                raise
            response, refused = answer_to(error, family.form)
            status = response.status
        finally:
            access_log.write(request, status, started, refused)
        return response

    async def admit(
        request: web.Request,
        handler: Handler,
        family: RouteFamily,
        terms: RouteTerms | None,
        this_request: str,
    ) -> web.StreamResponse:
        forwarded_for = request.headers.getall(hdrs.X_FORWARDED_FOR, ()) if trusted else ()
        address = client_address(request.remote, forwarded_for, trusted)
        request[CLIENT_IP] = address
        await limits.count_address(request, family, address)
        if terms is None:
            return await handler(request)  # aiohttp's own, which raises 404 or 405
        _refuse_unstorable(request)
        shows_credential = _shows_credential(request, terms)
        try:
            with deadlines.limit():
                if terms.needs is Needs.NOTHING:
                    return await handler(request)
                if shows_credential:
                    await limits.refuse_guessing(address)
                try:
                    scope = await entrance.enter(request, terms, address, this_request)
                except (TenantNotFound, TenantClosed):
                    if terms.attempt:
                        await count_stray_attempt(address, terms.attempt, clock.now())
                    raise
                request[SCOPE] = scope
                await limits.count_caller(request, family, scope)
                with entered(scope):
                    if terms.creates and idempotency.HEADER in request.headers:
                        return await idempotency.once(
                            request, scope, family.form, lambda: handler(request), terms.key_reused
                        )
                    return await handler(request)
        except Unauthenticated:
            if shows_credential:
                await limits.count_failure(address)
            raise
        except TimeoutError as error:
            raise Unavailable() from error

    return serve


def _shows_credential(request: web.Request, terms: RouteTerms) -> bool:
    """Say whether something can be wrong that is worth guessing; a notification without its signature is a guess too."""
    if terms.needs is Needs.NOTHING:
        return False
    return terms.needs is Needs.SIGNATURE or rates.bears_credential(request.headers)


def _refuse_unstorable(request: web.Request) -> None:
    """Refuse NUL and bytes that are not UTF-8 in the address: no row holds them, and PostgreSQL fails on them."""
    raw = request.raw_path
    if "%00" not in raw and (raw.isascii() or not has_forbidden_characters(raw)):
        return
    path, _, _ = raw.partition("?")
    if "%00" in path or has_forbidden_characters(path):
        raise web.HTTPNotFound
    raise MalformedRequest("invalid parameter", detail="the query holds NUL or bytes that are not UTF-8")
