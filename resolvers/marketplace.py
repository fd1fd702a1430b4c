"""Assemble what can be asked and done about vendors and reviews."""

from __future__ import annotations

import strawberry
from strawberry import Info

from auth.access import Access
from domain.marketplace import reviews, vendors
from domain.marketplace.read import REVIEWS, VENDORS
from resolvers.changes import DeletedRecord, deleted, renamed, shown, words
from resolvers.reads import reads
from schema.fields import root
from schema.inputs.people import ReviewInput, VendorInput
from schema.scalars import Ident
from schema.types.marketplace import Review, Vendor

_READ_VENDORS = Access(
    privileges=("view_marketplace",),
    app_scope="read_products",
    vendor=True,
    customer=True,
    storefront="storefront:read",
)
_WRITE_VENDORS = Access(privileges=("manage_marketplace",))
_WRITE_OWN_VENDOR = Access(
    privileges=("manage_marketplace",),
    vendor=True,
    note="A vendor changes only its own company, and of that its contact data.",
)
_WRITE_REVIEWS = Access(
    privileges=("manage_products",),
    customer=True,
    note="A customer writes, changes and deletes only its own.",
)

_VENDOR_WORDS: dict[str, str] = {}
_REVIEW_WORDS = {"product_id": "product", "customer_id": "user"}


@strawberry.type
class MarketplaceMutations:
    """What can be done with vendors and reviews."""

    @root(_WRITE_VENDORS, "Make a vendor.")
    async def vendor_create(self, info: Info, input: VendorInput) -> Vendor | None:
        """Make a vendor."""
        with words(_VENDOR_WORDS):
            made = await vendors.create_vendor(info.context.scope, renamed(input, _VENDOR_WORDS))
        return await shown(info, VENDORS, made)

    @root(_WRITE_OWN_VENDOR, "Change a vendor.")
    async def vendor_update(self, info: Info, id: Ident, input: VendorInput) -> Vendor | None:
        """Change a vendor."""
        with words(_VENDOR_WORDS):
            changed = await vendors.update_vendor(info.context.scope, id, renamed(input, _VENDOR_WORDS))
        return await shown(info, VENDORS, changed)

    @root(_WRITE_VENDORS, "Delete a vendor without open orders; its products are hidden, its users barred.")
    async def vendor_delete(self, info: Info, id: Ident) -> DeletedRecord:
        """Delete a vendor."""
        await vendors.delete_vendor(info.context.scope, id)
        return deleted(id)

    @root(_WRITE_REVIEWS, "Write a review of a product.")
    async def review_create(self, info: Info, input: ReviewInput) -> Review | None:
        """Make a review."""
        with words(_REVIEW_WORDS):
            made = await reviews.create_review(info.context.scope, renamed(input, _REVIEW_WORDS))
        return await shown(info, REVIEWS, made)

    @root(_WRITE_REVIEWS, "Change a review.")
    async def review_update(self, info: Info, id: Ident, input: ReviewInput) -> Review | None:
        """Change a review."""
        with words(_REVIEW_WORDS):
            changed = await reviews.update_review(info.context.scope, id, renamed(input, _REVIEW_WORDS))
        return await shown(info, REVIEWS, changed)

    @root(_WRITE_REVIEWS, "Delete a review.")
    async def review_delete(self, info: Info, id: Ident) -> DeletedRecord:
        """Delete a review."""
        await reviews.delete_review(info.context.scope, id)
        return deleted(id)


QUERIES = (
    reads(Vendor, VENDORS, "vendor", "vendors", access=_READ_VENDORS),
    reads(Review, REVIEWS, "review", "reviews"),
)
MUTATIONS = (MarketplaceMutations,)
