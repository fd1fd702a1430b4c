"""Serve the catalog of headless storefronts, `/api/v1/storefront`, to a storefront key (docs/reference/current.md#storefront).

Lists have the parameters and envelope of the app routes. The root field of each operation checks the scope; only the public store
query is checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from kernel.errors import NotFound
from kernel.ids import parse_uuid
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, authorize, execute_field
from rest_facade import collections
from rest_facade.current.storefront_search import search_definition, search_variables
from rest_facade.list_parameters import query_of
from rest_facade.records import CollectionHandlers
from rest_facade.responses import json_response, page_response
from rest_facade.routing import SCOPE, Credential, Route

PREFIX = "/api/v1/storefront"
READ = "storefront:read"

PRODUCTS = collections.PRODUCTS.with_listing(size_parameter="limit", fixed_filters={"status": "A"})
# A menu is shown as a whole.
CATEGORIES = collections.CATEGORIES.with_listing(
    size_parameter="limit", fixed_filters={"status": "A"}, default_size=1_000, max_size=1_000
)


SEARCH = search_definition(PRODUCTS.list_definition)


@dataclass(frozen=True, slots=True)
class CatalogHandlers:
    """Serve the store, its products, categories and payment methods."""

    operations: Mapping[str, FacadeOperation] = field(repr=False)

    def routes(self) -> list[Route]:
        """List the routes."""
        products = CollectionHandlers(PRODUCTS, "Storefront", self.operations)
        categories = CollectionHandlers(CATEGORIES, "Storefront", self.operations)
        handlers = {
            "store": self.store,
            "products": products.list,
            "products/{id}": self.product,
            "categories": categories.list,
            "categories/{id}": self.category,
            "categories/{id}/products": self.products_of_category,
            "search": self.search,
            "payment-methods": self.payment_methods,
        }
        return [
            Route("GET", f"{PREFIX}/{path}", handler, Credential.STOREFRONT_KEY, is_catalogue=True)
            for path, handler in handlers.items()
        ]

    async def store(self, request: web.Request) -> web.Response:
        """Return `{id, name, currency}`."""
        scope, operation = self._authorize(request, "Store")
        scope.check_scope(READ)
        return json_response(await execute_field(scope, operation))

    async def product(self, request: web.Request) -> web.Response:
        """Return the active product with the id or slug in the path."""
        return json_response(await self._named(request, "Product"))

    async def category(self, request: web.Request) -> web.Response:
        """Return the active category with the id or slug in the path."""
        return json_response(await self._named(request, "Category"))

    async def products_of_category(self, request: web.Request) -> web.Response:
        """Return a page of a category's active products."""
        scope, operation = self._authorize(request, "Products")
        variables = PRODUCTS.list_definition.variables(query_of(request), scope.store)
        category = await self._named(request, "Category")
        variables["filter"]["category_id"] = category["id"]
        return page_response(request, await execute_field(scope, operation, variables))

    async def search(self, request: web.Request) -> web.Response:
        """Return a page of the active products that match the words of `q`, the most relevant first, with facets."""
        scope, operation = self._authorize(request, "Search")
        variables = search_variables(SEARCH, query_of(request), scope.store)
        return page_response(request, await execute_field(scope, operation, variables))

    async def payment_methods(self, request: web.Request) -> web.Response:
        """Return the payment methods accepted by the checkout as `payment_id`."""
        scope, operation = self._authorize(request, "PaymentMethods")
        return json_response({"payment_methods": await execute_field(scope, operation)})

    async def _named(self, request: web.Request, name: str) -> Any:
        """Return the record with the id or slug in the path; raise `NotFound` for none."""
        scope, operation = self._authorize(request, name)
        reference = request.match_info["id"]
        named_by = "slug" if parse_uuid(reference) is None else "id"
        record = await execute_field(scope, operation, {named_by: reference})
        if record is None:
            raise NotFound(name.lower())
        return record

    def _authorize(self, request: web.Request, suffix: str) -> tuple[Scope, FacadeOperation]:
        operation = self.operations[f"Storefront{suffix}"]
        return authorize(request[SCOPE], operation), operation
