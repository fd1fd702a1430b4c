"""Assemble what of the catalogue can be asked."""

from __future__ import annotations

from auth.access import Access
from domain.catalog.read import CATEGORIES, FEATURES, PRODUCTS
from resolvers.reads import reads
from schema.types.catalog import Category, Feature, Product

_CATEGORIES = Access(
    privileges=("view_catalog",), app_scope="read_categories", vendor=True, customer=True, storefront="storefront:read"
)
_FEATURES = Access(
    privileges=("view_catalog",), app_scope="read_products", vendor=True, customer=True, storefront="storefront:read"
)

QUERIES = (
    reads(Product, PRODUCTS, "product", "products", connection=True),
    reads(Category, CATEGORIES, "category", "categories", access=_CATEGORIES),
    reads(Feature, FEATURES, "feature", "features", access=_FEATURES),
)
