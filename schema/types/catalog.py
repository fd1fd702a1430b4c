"""Define categories, products and features."""

from __future__ import annotations

from auth.access import Access
from domain.catalog.read import (
    CATEGORIES,
    FEATURE_VALUES,
    FEATURE_VARIANTS,
    FEATURES,
    PRODUCT_IMAGES,
    PRODUCTS,
)
from models.reading import ToMany, ToOne
from schema.fields import column, entity, relation
from schema.scalars import BigInt, CategoryStatus, FeatureType, Ident, ProductStatus, SwitchStatus, Time
from schema.types.marketplace import ReviewObject, VendorObject
from schema.types.options import AttachmentObject, CombinationObject, OptionObject
from schema.types.pricing import TaxObject

_STOCKKEEPERS = Access(privileges=("view_products",), app_scope="read_products", vendor=True)


@entity(CATEGORIES, "Category", "A place in the catalogue's tree.")
class CategoryObject:
    """A row of `categories`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`category_id`).", internal=True)
    name: str = column(description="The name.")
    description: str = column(description="The description, HTML as given.")
    status: CategoryStatus = column(description="The status letter.")
    position: int = column(description="The place among its siblings, lowest first.")
    parent_id: Ident | None = column(
        "(SELECT p.public_id FROM categories p WHERE p.tenant_id = t.tenant_id AND p.id = t.parent_id)",
        "The category above; null for a root.",
    )
    parent_number: BigInt = column(
        "coalesce(t.parent_id, 0)", "The legacy number of the category above, 0 for a root.", internal=True
    )
    id_path: str = column(description="Legacy numbers from the root to it, joined by `/`.", internal=True)
    vendor_number: BigInt = column(
        "coalesce(t.vendor_id, 0)", "The legacy number of the vendor it belongs to, or 0.", internal=True
    )
    product_count: BigInt = column(
        "(SELECT count(*) FROM product_categories pc JOIN products p ON p.tenant_id = pc.tenant_id AND p.id = pc.product_id"
        " WHERE pc.tenant_id = t.tenant_id AND pc.category_id = t.id AND p.deleted_at IS NULL)",
        "How many products stand in it.",
    )
    parent: CategoryObject | None = relation(ToOne("parent_id"), "The category above; null for a root.")
    children: list[CategoryObject] = relation(
        ToMany("t.parent_id", "t.position, t.id"), "The categories below, by position."
    )
    products: list[ProductObject] = relation(
        ToMany(
            "pc.category_id",
            "pc.position, t.id",
            through="product_categories pc JOIN products t ON t.tenant_id = pc.tenant_id AND t.id = pc.product_id",
            where="pc.tenant_id = {tenant}",
        ),
        "Products that stand in it.",
        sized=True,
    )
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")
    created_unix: BigInt = column(
        "floor(extract(epoch from t.created_at))::bigint", "Unix seconds of creation.", internal=True
    )


@entity(PRODUCT_IMAGES, "ProductImage", "A link to a picture of a product.")
class ProductImageObject:
    """A row of `product_images`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`pair_id`).", internal=True)
    product_number: BigInt = column("product_id", "The legacy number of the product.", internal=True)
    url: str = column(description="Where the picture lies; it is never fetched by the platform.")
    alt: str = column(description="What it shows, for those who can't see it.")
    position: int = column(description="Its place; the main picture has 0.")
    width: int = column(description="Pixels, 0 when unknown.")
    height: int = column(description="Pixels, 0 when unknown.")


@entity(FEATURE_VARIANTS, "FeatureVariant", "A value that a feature offers.")
class FeatureVariantObject:
    """A row of `feature_variants`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`variant_id`).", internal=True)
    name: str = column(description="The value.")
    position: int = column(description="Its place among the values.")


@entity(FEATURES, "Feature", "A property that products have.")
class FeatureObject:
    """A row of `features`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`feature_id`).", internal=True)
    name: str = column(description="The name.")
    type: FeatureType = column(description="The type letter.")
    status: SwitchStatus = column(description="The status letter.")
    position: int = column(description="Its place.")
    prefix: str = column(description="What is written before a value.")
    suffix: str = column(description="What is written after a value.")
    comparison: bool = column(description="Whether products are compared by it.")
    display_on_product: bool = column(description="Whether a product's page shows it.")
    display_on_catalog: bool = column(description="Whether lists of products show it.")
    category_numbers: list[BigInt] = column(
        "ARRAY(SELECT fc.category_id FROM feature_categories fc WHERE fc.tenant_id = t.tenant_id AND fc.feature_id = t.id"
        " ORDER BY fc.category_id)",
        "The legacy numbers of the categories whose products carry it; none means all.",
        internal=True,
    )
    categories: list[CategoryObject] = relation(
        ToMany(
            "fc.feature_id",
            "t.position, t.id",
            through="feature_categories fc JOIN categories t ON t.tenant_id = fc.tenant_id AND t.id = fc.category_id",
            where="fc.tenant_id = {tenant}",
        ),
        "The categories whose products carry it; none means all.",
    )
    parent_number: BigInt = column(
        "coalesce(t.parent_id, 0)", "The legacy number of its group, or 0.", internal=True
    )
    group: FeatureObject | None = relation(ToOne("parent_id"), "The group it belongs to.")
    variants: list[FeatureVariantObject] = relation(
        ToMany("t.feature_id", "t.position, t.id"), "The values it offers."
    )
    created_at: Time = column(description="When it was made.")


@entity(FEATURE_VALUES, "FeatureValue", "What a product has for a feature.")
class FeatureValueObject:
    """A row of `feature_values`."""

    id: Ident = column("public_id", "The UUID.")
    value: str = column(
        "coalesce((SELECT v.name FROM feature_variants v WHERE v.tenant_id = t.tenant_id AND v.id = t.variant_id), t.value)",
        "The value as text.",
    )
    value_int: BigInt | None = column(description="The value of a number or date feature.")
    plain_value: str = column("value", "The free text stored, empty for a variant.", internal=True)
    feature: FeatureObject | None = relation(ToOne("feature_id"), "The feature.")
    variant: FeatureVariantObject | None = relation(
        ToOne("variant_id"), "The variant chosen, where the feature offers some."
    )


@entity(PRODUCTS, "Product", "Something sold. Money in cents of the store's currency.")
class ProductObject:
    """A row of `products`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`product_id`).", internal=True)
    name: str = column(description="The name.")
    sku: str = column(description="The stock-keeping unit, empty when there is none.")
    slug: str = column(description="The name in addresses, unique in the store.")
    description: str = column(description="The description, HTML as given.")
    short_description: str = column(description="The short description.")
    status: ProductStatus = column(description="The status letter.")
    price_cents: BigInt = column(description="The price in cents.")
    compare_at_cents: BigInt | None = column(description="The price to compare with, in cents.")
    currency: str = column(
        "(SELECT s.currency FROM tenants s WHERE s.id = t.tenant_id)", "The currency, ISO 4217."
    )
    stock: BigInt = column(description="What can still be sold: on hand less reserved.")
    on_hand: BigInt | None = column(
        description="What lies in store, reserved units included.", guard=_STOCKKEEPERS
    )
    reserved: BigInt | None = column(description="What open orders have reserved.", guard=_STOCKKEEPERS)
    tracking: str = column(description="`B` stock is kept, `D` it is not: the product can always be sold.")
    weight_grams: BigInt = column(description="The weight in grams.")
    is_edp: bool = column(description="Whether it is downloaded instead of shipped.")
    free_shipping: bool = column(description="Whether it ships free of charge.")
    min_quantity: int = column(description="The smallest quantity an order may hold, 0 for any.")
    max_quantity: int = column(description="The largest quantity an order may hold, 0 for any.")
    category_id: Ident | None = column(
        "(SELECT c.public_id FROM categories c WHERE c.tenant_id = t.tenant_id AND c.id = t.category_id)",
        "The main category.",
    )
    category_number: BigInt = column(
        "coalesce(t.category_id, 0)", "The legacy number of the main category, or 0.", internal=True
    )
    vendor_number: BigInt = column(
        "coalesce(t.vendor_id, 0)", "The legacy number of the vendor, or 0.", internal=True
    )
    vendor_name: str = column(
        "coalesce((SELECT v.name FROM vendors v WHERE v.tenant_id = t.tenant_id AND v.id = t.vendor_id), '')",
        "The vendor's name.",
        internal=True,
    )
    category_numbers: list[BigInt] = column(
        "ARRAY(SELECT pc.category_id FROM product_categories pc WHERE pc.tenant_id = t.tenant_id AND pc.product_id = t.id"
        " ORDER BY (pc.category_id = t.category_id) DESC, pc.category_id)",
        "The legacy numbers of its categories, the main one first.",
        internal=True,
    )
    tax_numbers: list[BigInt] = column(
        "ARRAY(SELECT l.tax_id FROM product_taxes l WHERE l.tenant_id = t.tenant_id AND l.product_id = t.id ORDER BY l.tax_id)",
        "The legacy numbers of the taxes on it.",
        internal=True,
    )
    usergroup_numbers: list[BigInt] = column(
        "ARRAY[]::bigint[]",
        "The legacy numbers of the usergroups it is offered to; none means everybody.",
        internal=True,
    )
    category: CategoryObject | None = relation(ToOne("category_id"), "The main category.")
    categories: list[CategoryObject] = relation(
        ToMany(
            "pc.product_id",
            "t.position, t.id",
            through="product_categories pc JOIN categories t ON t.tenant_id = pc.tenant_id AND t.id = pc.category_id",
            where="pc.tenant_id = {tenant}",
        ),
        "Every category it stands in.",
    )
    taxes: list[TaxObject] = relation(
        ToMany(
            "l.product_id",
            "t.priority, t.id",
            through="product_taxes l JOIN taxes t ON t.tenant_id = l.tenant_id AND t.id = l.tax_id",
            where="l.tenant_id = {tenant}",
        ),
        "The taxes that lie on it.",
    )
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "Who sells it.")
    images: list[ProductImageObject] = relation(
        ToMany("t.product_id", "t.position, t.id"), "Pictures, the main one first."
    )
    main_image: ProductImageObject | None = relation(
        ToMany("t.product_id", "t.position, t.id", where="t.position = 0"),
        "The main picture.",
        single=True,
        internal=True,
    )
    more_images: list[ProductImageObject] = relation(
        ToMany("t.product_id", "t.position, t.id", where="t.position > 0"),
        "Pictures besides the main one.",
        internal=True,
    )
    options: list[OptionObject] = relation(
        ToMany(
            "po.product_id",
            "t.position, t.id",
            through="product_options po JOIN options t ON t.tenant_id = po.tenant_id AND t.id = po.option_id",
            where="po.tenant_id = {tenant}",
        ),
        "What buyers choose of it.",
    )
    combinations: list[CombinationObject] = relation(
        ToMany("t.product_id", "t.position, t.id"),
        "Variants kept in store together, with a stock and a price of their own.",
    )
    attachments: list[AttachmentObject] = relation(
        ToMany("t.product_id", "t.position, t.id"), "Files that go with it."
    )
    required_products: list[ProductObject] = relation(
        ToMany(
            "rp.product_id",
            "rp.position, t.id",
            through="required_products rp JOIN products t ON t.tenant_id = rp.tenant_id AND t.id = rp.required_id",
            where="rp.tenant_id = {tenant}",
        ),
        "Products it is sold only together with.",
    )
    features: list[FeatureValueObject] = relation(
        ToMany("t.product_id", "t.feature_id, t.id"), "Its properties."
    )
    reviews: list[ReviewObject] = relation(
        ToMany(
            "th.object_id",
            "t.created_at DESC, t.id DESC",
            through="discussion_threads th JOIN discussion_posts t ON t.tenant_id = th.tenant_id AND t.thread_id = th.id",
            where="th.tenant_id = {tenant} AND th.object_type = 'P'",
        ),
        "What buyers say, newest first.",
        sized=True,
    )
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")
    created_unix: BigInt = column(
        "floor(extract(epoch from t.created_at))::bigint", "Unix seconds of creation.", internal=True
    )
    updated_unix: BigInt = column(
        "floor(extract(epoch from t.updated_at))::bigint", "Unix seconds of the last change.", internal=True
    )
