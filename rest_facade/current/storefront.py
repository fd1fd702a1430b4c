"""Be the catalogue of headless storefronts, `/api/v1/storefront` (decisions section 6): what a shopper may see, to a storefront key.

Lists take the parameters of the app integration routes and come as `{<collection>: [...], total, page, limit}`. Which scope a route
needs is said by the root field of its operation; the store alone, which is public, asks for it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from kernel.errors import MalformedRequest, NotFound
from kernel.ids import parse_uuid
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade import collections
from rest_facade.list_parameters import Listing, Parameter
from rest_facade.records import Records, public_id
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route, scope_of

PREFIX = "/api/v1/storefront"
READ = "storefront:read"

PRODUCTS = collections.PRODUCTS.listed(size="limit", always={"status": "A"})
CATEGORIES = collections.CATEGORIES.listed(size="limit", always={"status": "A"})


def _searching(listing: Listing) -> Listing:
    """Give the list whose words to look for are called `q`."""
    filters = {name: read for name, read in listing.filters.items() if name != "search"}
    return replace(listing, filters={**filters, "q": Parameter("search", str)})


SEARCH = _searching(PRODUCTS.listing)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Serve the store, its products and its categories."""

    operations: Mapping[str, FacadeOperation] = field(repr=False)

    def routes(self) -> list[Route]:
        """List the routes."""
        products = Records(PRODUCTS, "Storefront", self.operations)
        categories = Records(CATEGORIES, "Storefront", self.operations)
        addresses = {
            "store": self.store,
            "products": products.list,
            "products/{id}": self.product,
            "categories": categories.list,
            "categories/{id}": categories.show,
            "categories/{id}/products": self.products_of_category,
            "search": self.search,
            "payment-methods": self.payment_methods,
        }
        return [
            Route("GET", f"{PREFIX}/{path}", handler, Needs.STOREFRONT_KEY)
            for path, handler in addresses.items()
        ]

    async def store(self, request: web.Request) -> web.Response:
        """Answer `{id, name, currency}`."""
        scope, operation = self._admitted(request, "Store")
        scope.require_scope(READ)
        return json_response(await _first(scope, operation))

    async def product(self, request: web.Request) -> web.Response:
        """Answer the active product whose id or slug stands in the address."""
        named = request.match_info["id"]
        scope, operation = self._admitted(request, "Product")
        if parse_uuid(named) is not None:
            found = await _first(scope, operation, id=named)
        else:
            by_slug = self.operations["StorefrontProductBySlug"]
            found = next(iter(await _first(scope, by_slug, slug=named)), None)
        if found is None:
            raise NotFound("product")
        return json_response(found)

    async def products_of_category(self, request: web.Request) -> web.Response:
        """Answer a page of the active products that stand in a category."""
        scope, operation = self._admitted(request, "Products")
        category = public_id(request, "category")
        variables = PRODUCTS.listing.variables(request.query, scope.store)
        if await _first(scope, self.operations["StorefrontCategory"], id=category) is None:
            raise NotFound("category")
        variables["filter"]["category_id"] = category
        return json_response(await _first(scope, operation, **variables))

    async def search(self, request: web.Request) -> web.Response:
        """Answer a page of the active products that have all words of `q`, or words beginning with them."""
        scope, operation = self._admitted(request, "Products")
        if not request.query.get("q", "").strip():
            raise MalformedRequest("invalid q", detail="q is blank; expected the words to look for")
        return json_response(await _first(scope, operation, **SEARCH.variables(request.query, scope.store)))

    async def payment_methods(self, request: web.Request) -> web.Response:
        """Answer the ways to pay that a checkout may name as `payment_id`."""
        scope, operation = self._admitted(request, "PaymentMethods")
        return json_response({"payment_methods": await _first(scope, operation)})

    def _admitted(self, request: web.Request, what: str) -> tuple[Scope, FacadeOperation]:
        scope, operation = scope_of(request), self.operations[f"Storefront{what}"]
        authorize(scope, operation)
        return scope, operation


async def _first(scope: Scope, operation: FacadeOperation, **variables: Any) -> Any:
    """Give what the operation's one root field gave."""
    return (await execute(scope, operation, variables))[operation.fields[0]]
