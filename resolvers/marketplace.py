"""Assemble what can be asked and done about vendors and reviews."""

from __future__ import annotations

from auth.access import Access
from domain.marketplace import reviews, vendors
from domain.marketplace.read import REVIEWS, VENDORS
from resolvers.reads import reads
from resolvers.writes import Writer, writes
from schema.inputs.people import ReviewInput, VendorInput
from schema.types.marketplace import ReviewObject, VendorObject

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

VENDOR_WRITER = Writer(
    create=vendors.create_vendor,
    update=vendors.update_vendor,
    delete=vendors.delete_vendor,
    access=_WRITE_VENDORS,
    update_access=_WRITE_OWN_VENDOR,
    texts=(
        "Make a vendor.",
        "Change a vendor.",
        "Delete a vendor without open orders; its products are hidden, its users barred.",
    ),
)
REVIEW_WRITER = Writer(
    create=reviews.create_review,
    update=reviews.update_review,
    delete=reviews.delete_review,
    access=_WRITE_REVIEWS,
    words={"product_id": "product", "customer_id": "user", "object_id": "object", "thread_id": "thread"},
    texts=(
        "Write a review of a product, a category, a page, an order or the store.",
        "Change a review.",
        "Delete a review.",
    ),
)

QUERIES = (
    reads(VendorObject, VENDORS, "vendor", "vendors", access=_READ_VENDORS),
    reads(ReviewObject, REVIEWS, "review", "reviews"),
)
MUTATIONS = (
    writes(VendorObject, VENDORS, "vendor", VendorInput, VENDOR_WRITER),
    writes(ReviewObject, REVIEWS, "review", ReviewInput, REVIEW_WRITER),
)
