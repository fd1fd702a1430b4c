"""Put routes into the application, and remember on which terms each may be used.

Facades declare `Route`s and `mount` adds them: HEAD beside every GET, legacy addresses under all their bases and with a slash
behind. What is added to the application in another way (the playground, health, CORS preflights) takes its terms from its family,
in `settle`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from aiohttp import hdrs, web

from rest_facade.routing import Needs, Route
from server.families import LEGACY_BASES, RouteFamily, family_of


@dataclass(frozen=True, slots=True)
class RouteTerms:
    """Say on which terms a route may be used."""

    family: RouteFamily
    needs: Needs
    allow_maintenance: bool = False
    creates: bool = False
    key_reused: str | None = None
    attempt: str = ""


TERMS = web.AppKey("terms", dict[web.AbstractRoute, RouteTerms])


def mount(app: web.Application, routes: Iterable[Route]) -> None:
    """Add the routes; ValueError when two have one method and path."""
    declared = list(routes)
    taken = {(route.method, route.path) for route in declared}
    if len(taken) < len(declared):
        keys = [(route.method, route.path) for route in declared]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{repeated[0]} {repeated[1]} is declared twice")
    terms = _terms_of(app)
    resources: dict[str, web.Resource] = {}
    for route in [*declared, *_derived(declared, taken)]:
        resource = resources.get(route.path)
        if resource is None:
            resource = resources[route.path] = app.router.add_resource(route.path)
        added = resource.add_route(route.method, route.handler)
        terms[added] = RouteTerms(
            family_of(route.path),
            route.needs,
            route.allow_maintenance,
            route.creates,
            route.key_reused,
            route.attempt,
        )


def settle(app: web.Application) -> dict[web.AbstractRoute, RouteTerms]:
    """Give the terms of every route, those added without a `Route` included.

    ValueError for one of these below a prefix whose family doesn't say what its addresses need.
    """
    terms = _terms_of(app)
    for added in app.router.routes():
        if added in terms:
            continue
        path = added.resource.canonical if added.resource is not None else ""
        family = family_of(path)
        needs = Needs.NOTHING if added.method == hdrs.METH_OPTIONS else family.needs
        if needs is None:
            raise ValueError(f"{added.method} {path} was added without a Route that says what it needs")
        terms[added] = RouteTerms(family, needs)
    return terms


def _terms_of(app: web.Application) -> dict[web.AbstractRoute, RouteTerms]:
    if TERMS not in app:
        app[TERMS] = {}
    return app[TERMS]


def _derived(declared: list[Route], taken: set[tuple[str, str]]) -> Iterator[Route]:
    """Give what follows from the declared routes; an address that somebody declared stays theirs."""
    for route in declared:
        for path in _addresses(route.path):
            for method in (
                (hdrs.METH_GET, hdrs.METH_HEAD) if route.method == hdrs.METH_GET else (route.method,)
            ):
                if (method, path) not in taken:
                    taken.add((method, path))
                    yield replace(route, method=method, path=path)


def _addresses(path: str) -> list[str]:
    """Give all the addresses of a route: one, or a legacy address under each base, with and without a slash behind."""
    if family_of(path).name != "legacy":
        return [path]
    stem = path.rstrip("/")
    base, _, rest = stem.removeprefix("/").partition("/")
    first, _, _ = rest.partition("/")
    if base == "api" and f"/api/{first}" not in LEGACY_BASES:
        stems = [f"{each}/{rest}" for each in LEGACY_BASES]
    else:
        stems = [stem]
    return [address for each in stems for address in (each, f"{each}/")]
