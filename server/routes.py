"""Add routes to the application together with the access policy of each.

Facades declare `Route`s; `add_routes` adds HEAD for every GET, and legacy paths under all bases with and without a trailing slash.
Routes added directly (playground, health, CORS preflights) get their policy from their family in `route_policies`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from aiohttp import hdrs, web

from kernel import metrics
from rest_facade.routing import Credential, Route
from server.families import LEGACY_BASES, RouteFamily, family_of


@dataclass(frozen=True, slots=True)
class RoutePolicy:
    """The access rules of a route."""

    family: RouteFamily
    credential: Credential
    allow_maintenance: bool = False
    creates: bool = False
    key_reuse_message: str | None = None
    attempt_limit: str = ""
    names_store: bool = False
    is_catalogue: bool = False
    metric: metrics.Labels = ()
    """Family, method and template of the path, as labels: legacy paths without base and trailing slash."""


POLICIES = web.AppKey("policies", dict[web.AbstractRoute, RoutePolicy])


def add_routes(app: web.Application, routes: Iterable[Route]) -> None:
    """Add the routes; raises ValueError for a repeated method and path."""
    declared = list(routes)
    taken = {(route.method, route.path) for route in declared}
    if len(taken) < len(declared):
        keys = [(route.method, route.path) for route in declared]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{duplicate[0]} {duplicate[1]} is declared twice")
    policies = _policies_of(app)
    resources: dict[str, web.Resource] = {}
    for route in [*declared, *_expand(declared, taken)]:
        resource = resources.get(route.path)
        if resource is None:
            resource = resources[route.path] = app.router.add_resource(route.path)
        added = resource.add_route(route.method, route.handler)
        policies[added] = RoutePolicy(
            family_of(route.path),
            route.credential,
            route.allow_maintenance,
            route.creates,
            route.key_reuse_message,
            route.attempt_limit,
            route.names_store,
            route.is_catalogue,
            _metric_labels(added),
        )


def route_policies(app: web.Application) -> dict[web.AbstractRoute, RoutePolicy]:
    """Return the policy of every route, including those added without a `Route`.

    Raises ValueError for such a route whose family declares no credential.
    """
    policies = _policies_of(app)
    for added in app.router.routes():
        if added in policies:
            continue
        path = added.resource.canonical if added.resource is not None else ""
        family = family_of(path)
        credential = Credential.NONE if added.method == hdrs.METH_OPTIONS else family.credential
        if credential is None:
            raise ValueError(f"{added.method} {path} was added without a Route and its family declares no credential")
        policies[added] = RoutePolicy(family, credential, metric=_metric_labels(added))
    return policies


def _metric_labels(added: web.AbstractRoute) -> metrics.Labels:
    path = added.resource.canonical if added.resource is not None else ""
    family = family_of(path).name
    if family == "legacy":
        path = path.rstrip("/")
        base = max((base for base in LEGACY_BASES if f"{path}/".startswith(f"{base}/")), key=len, default="")
        path = f"/api{path.removeprefix(base)}"
    return family, added.method, path


def _policies_of(app: web.Application) -> dict[web.AbstractRoute, RoutePolicy]:
    if POLICIES not in app:
        app[POLICIES] = {}
    return app[POLICIES]


def _expand(declared: list[Route], taken: set[tuple[str, str]]) -> Iterator[Route]:
    """Yield the implied routes of the declared ones, except paths that are declared themselves."""
    for route in declared:
        for path in _paths(route.path):
            for method in (hdrs.METH_GET, hdrs.METH_HEAD) if route.method == hdrs.METH_GET else (route.method,):
                if (method, path) not in taken:
                    taken.add((method, path))
                    yield replace(route, method=method, path=path)


def _paths(path: str) -> list[str]:
    """Return all paths of a route: one, or a legacy path under each base, with and without a trailing slash."""
    if family_of(path).name != "legacy":
        return [path]
    stem = path.rstrip("/")
    base, _, rest = stem.removeprefix("/").partition("/")
    first, _, _ = rest.partition("/")
    if base == "api" and f"/api/{first}" not in LEGACY_BASES:
        stems = [f"{base_path}/{rest}" for base_path in LEGACY_BASES]
    else:
        stems = [stem]
    return [address for base_path in stems for address in (base_path, f"{base_path}/")]
