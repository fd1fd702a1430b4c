"""Put routes into the application, and remember on which terms each may be used.

Facades declare `Route`s and `mount` adds them: HEAD beside every GET, legacy addresses under all their bases and with a slash
behind. Pages that come with their own way of being added (the playground, health) take their terms from their family.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from aiohttp import hdrs, web

from rest_facade.routing import Needs, Route
from server.families import LEGACY_BASES, Family, family_of


@dataclass(frozen=True, slots=True)
class Terms:
    """Say on which terms a route may be used."""

    family: Family
    needs: Needs
    allow_maintenance: bool = False


Mounted = dict[web.AbstractRoute, Terms]
MOUNTED = web.AppKey("mounted", Mounted)


def mount(app: web.Application, routes: Iterable[Route]) -> None:
    """Add the routes; ValueError for two with one method and path."""
    mounted = app.setdefault(MOUNTED, {})
    resources: dict[str, web.Resource] = {}
    taken: set[tuple[str, str]] = set()
    declared = list(routes)
    # What a facade wrote out itself comes before what is derived from its other routes.
    for route in declared + [other for each in declared for other in _other_addresses(each)]:
        if (route.method, route.path) in taken:
            if route in declared and declared.count(route) == 1:
                raise ValueError(f"{route.method} {route.path} is declared twice")
            continue
        taken.add((route.method, route.path))
        resource = resources.get(route.path)
        if resource is None:
            resource = resources[route.path] = app.router.add_resource(route.path)
        family = family_of(route.path)
        terms = Terms(family, route.needs, route.allow_maintenance)
        mounted[resource.add_route(route.method, route.handler)] = terms
    _ = family


def _other_addresses(route: Route) -> Iterator[Route]:
    """Give the further methods and addresses at which a declared route answers."""
    ...
