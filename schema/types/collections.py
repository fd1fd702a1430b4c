"""Define collections and tags of products."""

from __future__ import annotations

from auth.access import Access
from domain.catalog.collections import COLLECTION_FIELDS, COLLECTIONS
from domain.catalog.read import PRODUCTS, collection_count
from models.reading.queries import Sort, many_to_many
from schema.enums import SwitchStatus
from schema.fields import column, connection, entity_type, object_type, output_field, parameterized
from schema.filters import build_filter_input, build_sort_enum
from schema.inputs import input_type, optional_copies, optional_field, required_field
from schema.scalars import ID, BigInt, DateTime
from schema.types.catalog import ProductConnectionObject
from schema.types.descriptions import description_text
from schema.types.media import ImageInput, ImageObject, image_relation
from schema.types.seo import with_seo


@entity_type(COLLECTIONS, "Collection")
@with_seo()
class CollectionObject:
    """Products that the store has picked by hand, in its order."""

    id: ID = column("public_id", "The unique ID (UUID).")
    name: str = column(description="The name.")
    slug: str = column(description="The URL slug, unique in the store.")
    description: str = column(description="The description as unsanitized HTML.")
    description_text: str = description_text()
    image: ImageObject | None = image_relation("collections")
    status: SwitchStatus = column(description="The status code.")
    position: int = column(description="The sort position among the collections, lowest first.")
    product_count: BigInt = parameterized(
        collection_count, "The number of products; customers and storefronts count those they find in it.", []
    )
    products: ProductConnectionObject = connection(
        many_to_many(
            "collection_products",
            "collection_id",
            "products",
            "product_id",
            "l.position, t.id",
            entity=PRODUCTS.in_lists,
        ),
        "The products, by default in the order of the collection.",
        ("position", Sort("l.position", "bigint", "position in the collection")),
        {"filter": build_filter_input(PRODUCTS, "ProductFilter"), "sort": build_sort_enum(PRODUCTS, "ProductSort")},
    )
    product_ids: list[ID] | None = column(
        "ARRAY(SELECT p.public_id::text FROM collection_products l JOIN products p ON p.tenant_id = l.tenant_id AND p.id = l.product_id"
        " WHERE l.tenant_id = t.tenant_id AND l.collection_id = t.id AND p.deleted_at IS NULL ORDER BY l.position, p.id)",
        "All products in their order.",
        guard=Access(privileges=("view_catalog", "view_products"), app_scope=("read_categories", "read_products")),
    )
    created_at: DateTime = column(description="When the record was created.")
    updated_at: DateTime = column(description="When the record was last updated.")


@input_type
@optional_copies(CollectionObject, COLLECTION_FIELDS)
class CollectionInput:
    """Changes to a collection."""

    slug: str | None = optional_field("The URL slug; derived from the name if empty, a taken one gets a suffix.")
    status: SwitchStatus | None = optional_field("The status code.", text_internally=True)
    image: ImageInput | None = optional_field("The image; null removes it.")
    product_ids: list[ID] | None = optional_field("All products in their order, at most 1,000.")


@input_type
class CollectionCreateInput(CollectionInput):
    """A new collection."""

    name: str | None = required_field("The name.")


@object_type("ProductTag", access=PRODUCTS.visible.access)  # type: ignore[attr-defined]
class ProductTagObject:
    """A tag, and the products that have it."""

    name: str = output_field("The tag, in lower case.")
    product_count: BigInt = output_field("The number of products; customers and storefronts count those they find.")
