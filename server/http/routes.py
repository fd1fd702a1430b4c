"""Add routes to the application together with the access policy of each.

Facades declare `Route`s; `add_routes` adds HEAD for every GET, and legacy paths under all bases with and without a trailing slash.
Routes added directly (playground, health, CORS preflights) get their policy from their family in `route_policies`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from aiohttp import hdrs, web

from kernel import metrics
from rest_facade.routing import Credential, Route
from server.http.families import LEGACY_BASES, RouteFamily, family_of


@dataclass(frozen=True, slots=True)
class RoutePolicy:
    """A route as it was declared, with the rules of its family."""

    family: RouteFamily
    route: Route
    metric: metrics.Labels
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
    all_routes = [*declared, *_expand(declared, taken)]
    literals = _literals([route.path for route in all_routes])
    for route in all_routes:
        resource = resources.get(route.path)
        if resource is None:
            resource = resources[route.path] = app.router.add_resource(_pattern(route.path, literals))
        added = resource.add_route(route.method, route.handler)
        policies[added] = RoutePolicy(family_of(route.path), route, _metric_labels(added))


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
        route = Route(added.method, path, added.handler, credential)
        policies[added] = RoutePolicy(family, route, _metric_labels(added))
    return policies


def _literals(paths: Iterable[str]) -> dict[tuple[str, str], set[str]]:
    """Return the fixed segments of the paths by what stands before and after them."""
    literals: dict[tuple[str, str], set[str]] = {}
    for path in paths:
        for before, segment, after in _split(path):
            if not segment.startswith("{"):
                literals.setdefault((before, after), set()).add(segment)
    return literals


def _pattern(path: str, literals: Mapping[tuple[str, str], set[str]]) -> str:
    """Return aiohttp's pattern of the path, whose parameters don't match what is a fixed segment of another path.

    `/webhooks/rotate-secret` would be the record `rotate-secret` of `/webhooks/{id}` to methods that it doesn't have itself. Of anything
    else the handler says that it is no id; by default aiohttp's parameters have no braces, which a client's template may have left.
    """
    segments = []
    for before, segment, after in _split(path):
        if segment.startswith("{") and ":" not in segment:
            names = "|".join(re.escape(name) for name in sorted(literals.get((before, after), ())))
            not_fixed = f"(?!(?:{names})(?:/|$))" if names else ""
            segment = f"{segment[:-1]}:{not_fixed}[^/]+}}"
        segments.append(segment)
    return "/".join(segments)


def _split(path: str) -> Iterator[tuple[str, str, str]]:
    """Yield each segment of a path, between what stands before and after it."""
    segments = path.split("/")
    for index, segment in enumerate(segments):
        yield "/".join(segments[:index]), segment, "/".join(segments[index + 1 :])


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
