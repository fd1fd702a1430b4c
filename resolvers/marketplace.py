"""Assemble what can be asked and done about vendors and reviews."""

from __future__ import annotations

from auth.access import Access
from domain.marketplace.read import REVIEWS, VENDORS
from resolvers.reads import reads
from schema.types.marketplace import Review, Vendor

_VENDORS = Access(
    privileges=("view_marketplace",), app_scope="read_products", vendor=True, customer=True, storefront="storefront:read"
)

QUERIES = (
    reads(Vendor, VENDORS, "vendor", "vendors", access=_VENDORS),
    reads(Review, REVIEWS, "review", "reviews"),
)
