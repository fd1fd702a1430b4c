"""Say which family owns which addresses: the first row whose prefix fits decides the error form and what else is the family's.

A prefix fits whole segments: `/api/v1` owns `/api/v1/x` and not `/api/v1.0/x`.
"""

from __future__ import annotations

from dataclasses import dataclass

from rest_facade.apps import errors as apps
from rest_facade.current import errors as current
from rest_facade.legacy import errors as legacy
from rest_facade.routing import ErrorForm, Needs
from server import graphql_errors

# Every legacy address answers under each of these (decisions-legacy section 1).
LEGACY_BASES = ("/api", "/api/v1.0", "/api/2.0", "/api/2")


@dataclass(frozen=True, slots=True)
class RouteFamily:
    """Describe the addresses below a prefix.

    `name` goes into the scope. `needs` holds for routes that were added to the application directly, without a `Route` to say it.
    `is_cross_origin`: pages of other origins may call. `reports_rates`: answers carry X-RateLimit-*. `is_counted`: requests count
    against their address's rate; what watches over the server must not be told to wait.
    """

    prefix: str
    name: str
    form: ErrorForm
    needs: Needs | None = None
    is_cross_origin: bool = False
    reports_rates: bool = False
    is_counted: bool = True


PLAIN = RouteFamily("", "plain", current.FORM, Needs.NOTHING)

FAMILIES: tuple[RouteFamily, ...] = (
    RouteFamily("/graphql/playground", "graphql", graphql_errors.FORM, Needs.NOTHING),
    RouteFamily("/graphql/schema", "graphql", graphql_errors.FORM, Needs.NOTHING, is_cross_origin=True),
    RouteFamily(
        "/graphql", "graphql", graphql_errors.FORM, Needs.GRAPHQL, is_cross_origin=True, reports_rates=True
    ),
    RouteFamily("/api/v1/storefront", "current", current.FORM, is_cross_origin=True, reports_rates=True),
    RouteFamily("/api/v1", "current", current.FORM),
    RouteFamily("/api/admin", "apps", apps.FORM, reports_rates=True),
    RouteFamily("/api/storefront", "apps", apps.FORM, reports_rates=True),
    RouteFamily("/api/docs", "plain", current.FORM, Needs.NOTHING),
    *(RouteFamily(f"{base}/auth_tokens", "legacy", legacy.TOKEN_FORM) for base in LEGACY_BASES),
    RouteFamily("/api", "legacy", legacy.FORM),
    RouteFamily("/health", "plain", current.FORM, Needs.NOTHING, is_counted=False),
    PLAIN,  # /.well-known, /docs, /assets, and whatever nobody owns
)


def family_of(path: str) -> RouteFamily:
    """Give the family that owns a path, or a route's pattern."""
    for family in FAMILIES:
        if path == family.prefix or path.startswith(f"{family.prefix}/"):
            return family
    return PLAIN
