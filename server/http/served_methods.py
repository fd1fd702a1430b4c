"""Leave out the methods that an address has in some stores only (`Route.serves`): before authentication, as for any missing method."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aiohttp import hdrs, web

from auth.store_resolution import CachedStoreResolver
from kernel.errors import DomainError
from kernel.scope import Store
from server.http.authentication import TENANT_HEADER
from server.http.routes import RoutePolicy


class ServedMethods:
    """Answer which methods of a request's address its store has; of an unknown store those that all stores have."""

    def __init__(
        self,
        router: web.UrlDispatcher,
        policies: Mapping[web.AbstractRoute, RoutePolicy],
        store_resolver: CachedStoreResolver,
    ) -> None:
        self._router = router
        self._policies = policies
        self._store_resolver = store_resolver

    async def error_of(self, request: web.Request) -> web.HTTPException | None:
        """Return the 404 or 405 of a request whose method is missing; None where the store has it."""
        match = request.match_info
        error = match.http_exception
        if isinstance(error, web.HTTPMethodNotAllowed):
            methods = set(error.allowed_methods)
        elif error is None and match.route.resource is not None:
            methods = {route.method for route in match.route.resource}
        else:
            return error
        restricted = {method: serves for method in methods if (serves := await self._serves(request, method))}
        if not restricted:
            return error
        store = await self._store_of(request)
        served = {
            method
            for method in methods
            if (serves := restricted.get(method)) is None or (store is not None and serves(store))
        }
        if request.method in served:
            return None
        return web.HTTPMethodNotAllowed(request.method, served) if served else web.HTTPNotFound()

    async def _serves(self, request: web.Request, method: str) -> Callable[[Store], bool] | None:
        match = await self._router.resolve(request.clone(method=method))
        policy = self._policies.get(match.route)
        return policy.route.serves if policy is not None else None

    async def _store_of(self, request: web.Request) -> Store | None:
        headers = request.headers
        host = headers.get(hdrs.HOST, "")
        if not host.isascii():
            return None
        try:
            return await self._store_resolver.resolve(
                host, headers.get(TENANT_HEADER), public=True, allow_maintenance=True
            )
        except DomainError:
            return None
