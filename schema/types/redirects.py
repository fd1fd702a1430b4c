"""Define redirects."""

from __future__ import annotations

from domain.content.redirects import REDIRECTS, TARGET_SQL
from models.reading.queries import ToOne
from schema.fields import column, entity_type, relation
from schema.inputs import input_type, optional_field, required_field
from schema.scalars import ID, DateTime
from schema.types.catalog import CategoryObject, ProductObject
from schema.types.collections import CollectionObject
from schema.types.content import PageObject
from schema.types.marketplace import VendorObject


@entity_type(REDIRECTS, "Redirect")
class RedirectObject:
    """A path that leads elsewhere: a record's former address, or any other."""

    id: ID = column("public_id", "The unique ID (UUID).")
    path: str = column(description="The path, in lower case, without query and closing slash.")
    target: str | None = column(
        TARGET_SQL,
        "Where it leads: the link, or the record's present address in the example storefront; null for a deleted record.",
    )
    product: ProductObject | None = relation(ToOne("product_id"), "The product that it leads to.")
    category: CategoryObject | None = relation(ToOne("category_id"), "The category that it leads to.")
    page: PageObject | None = relation(ToOne("page_id"), "The page that it leads to.")
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor that it leads to.")
    collection: CollectionObject | None = relation(ToOne("collection_id"), "The collection that it leads to.")
    created_at: DateTime = column(description="When it was created.")
    updated_at: DateTime = column(description="When it was last updated.")


@input_type
class RedirectInput:
    """Changes to a redirect: its path, what it leads to, or both."""

    path: str | None = optional_field("The path, such as `/old`; case, query and slashes at the end don't count.")
    target: str | None = optional_field("A path or an http or https address. What leads to a record follows its slug.")
    product_id: ID | None = optional_field("The product that it leads to.")
    category_id: ID | None = optional_field("The category that it leads to.")
    page_id: ID | None = optional_field("The page that it leads to.")
    vendor_id: ID | None = optional_field("The vendor that it leads to.")
    collection_id: ID | None = optional_field("The collection that it leads to.")


@input_type
class RedirectCreateInput(RedirectInput):
    """A new redirect: its path, and exactly one of the others."""

    path: str | None = required_field("The path, such as `/old`; case, query and slashes at the end don't count.")
