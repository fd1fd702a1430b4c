"""Resolve vendors and reviews."""

from __future__ import annotations

from auth.access import Access, open_to_shoppers
from domain.marketplace import reviews, vendors
from resolvers.entity_mutations import RecordFunctions, build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from schema.types.marketplace import ReviewInput, ReviewObject, VendorInput, VendorObject

_READ_VENDORS = open_to_shoppers("view_marketplace", "read_products")
_WRITE_VENDORS = Access(privileges=("manage_marketplace",))
_WRITE_OWN_VENDOR = Access(
    privileges=("manage_marketplace",), vendor=True, note="A vendor can update only its own contact data."
)
_WRITE_REVIEWS = Access(
    privileges=("manage_products",),
    customer=True,
    note="Customers can create, update and delete only their own reviews.",
)

_VENDORS = RecordFunctions(vendors.create_vendor, vendors.update_vendor, vendors.delete_vendor)
_REVIEWS = RecordFunctions(reviews.create_review, reviews.update_review, reviews.delete_review)

QUERIES = (
    build_entity_queries(VendorObject, access=_READ_VENDORS),
    build_entity_queries(ReviewObject),
)
MUTATIONS = (
    build_entity_mutations(
        VendorObject,
        VendorInput,
        _VENDORS,
        _WRITE_VENDORS,
        update_access=_WRITE_OWN_VENDOR,
        delete_description="Delete a vendor without open orders; its products are hidden and its users disabled.",
    ),
    build_entity_mutations(
        ReviewObject,
        ReviewInput,
        _REVIEWS,
        _WRITE_REVIEWS,
        field_names={"product_id": "product", "customer_id": "user", "object_id": "object", "thread_id": "thread"},
        create_description="Create a review of a product, category, page, order or the store."
        " A second one of the same customer about the same product changes the first.",
    ),
)
