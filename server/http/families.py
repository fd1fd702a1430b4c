"""Map path prefixes to route families; the first matching prefix decides the error format and access rules.

A prefix matches whole segments: `/api/v1` matches `/api/v1/x` and not `/api/v1.0/x`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from aiohttp import hdrs, web

from rest_facade.apps import errors as apps
from rest_facade.current import errors as current
from rest_facade.legacy import errors as legacy
from rest_facade.responses import method_not_allowed
from rest_facade.routing import Credential, ErrorFormat
from server.http.graphql_errors import ERROR_FORMAT as GRAPHQL

# Every legacy route is served under each of these bases (docs/reference/legacy.md#addresses).
LEGACY_BASES = ("/api", "/api/v1.0", "/api/2.0", "/api/2")


@dataclass(frozen=True, slots=True)
class RouteFamily:
    """The rules for routes below a prefix.

    `name` goes into the scope. `credential` applies to routes added to the application without a `Route`.
    `is_cross_origin`: CORS is enabled. `has_rate_limit_headers`: responses carry X-RateLimit-*.
    `is_rate_limited` is False for health checks, which must never get a 429.
    """

    prefix: str
    name: str
    error_format: ErrorFormat
    credential: Credential | None = None
    is_cross_origin: bool = False
    has_rate_limit_headers: bool = False
    is_rate_limited: bool = True


def _allow_without_options(methods: Iterable[str]) -> web.Response:
    # Preflights are answered, but `Allow` lists the methods of the route.
    return method_not_allowed(method for method in methods if method != hdrs.METH_OPTIONS)


_SIGN_IN_ERRORS = replace(current.ERROR_FORMAT, method_not_allowed=_allow_without_options)
_CLIENT_ERRORS = replace(_SIGN_IN_ERRORS, render=current.render_for_client)

# A browser asks for the legacy API's credential (`server.payment_page`), and sends it from then on where it is asked with this realm: with
# that of the API, forms of any other site would change the store.
_PAGE_ERRORS = replace(
    legacy.ERROR_FORMAT, render=partial(legacy.render, challenge='Basic realm="vitrine payment page"')
)

PLAIN = RouteFamily("", "plain", current.ERROR_FORMAT, Credential.NONE)

FAMILIES: tuple[RouteFamily, ...] = (
    RouteFamily("/graphql/playground", "graphql", GRAPHQL, Credential.NONE),
    *(
        RouteFamily(path, "graphql", GRAPHQL, Credential.NONE, is_cross_origin=True)
        for path in ("/graphql/schema", "/graphql/schema.graphql")
    ),
    RouteFamily("/graphql", "graphql", GRAPHQL, Credential.GRAPHQL, is_cross_origin=True, has_rate_limit_headers=True),
    RouteFamily(
        "/api/v1/storefront", "current", current.ERROR_FORMAT, is_cross_origin=True, has_rate_limit_headers=True
    ),
    RouteFamily("/api/v1/auth", "current", _SIGN_IN_ERRORS, is_cross_origin=True),
    *(
        RouteFamily(prefix, "current", _CLIENT_ERRORS, is_cross_origin=True)
        for prefix in ("/api/v1/oauth/token", "/api/v1/oauth/revoke")
    ),
    RouteFamily("/api/v1", "current", current.ERROR_FORMAT),
    RouteFamily("/api/admin", "apps", apps.ERROR_FORMAT, has_rate_limit_headers=True),
    RouteFamily("/api/storefront", "apps", apps.ERROR_FORMAT, has_rate_limit_headers=True),
    RouteFamily("/api/docs", "plain", current.ERROR_FORMAT, Credential.NONE),
    *(RouteFamily(f"{base}/auth_tokens", "legacy", legacy.TOKEN_ERROR_FORMAT) for base in LEGACY_BASES),
    RouteFamily("/api", "legacy", legacy.ERROR_FORMAT),
    RouteFamily("/dev/payments", "plain", _PAGE_ERRORS, Credential.NONE),
    RouteFamily("/health", "plain", current.ERROR_FORMAT, Credential.NONE, is_rate_limited=False),
    PLAIN,  # /.well-known, /assets, /media and unknown paths
)


_BELOW = tuple((family.prefix, f"{family.prefix}/", family) for family in FAMILIES)


def family_of(path: str) -> RouteFamily:
    """Return the family of a path or route pattern."""
    for prefix, below, family in _BELOW:
        if path == prefix or path.startswith(below):
            return family
    return PLAIN
