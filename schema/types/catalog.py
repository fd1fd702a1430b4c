"""Define categories, products and features."""

from __future__ import annotations

import strawberry

from auth.access import Access
from domain.catalog.availability import (
    AVAILABLE_QUANTITY,
    AVERAGE_RATING,
    IS_AVAILABLE,
    IS_IN_ADVANCE,
    ON_HAND,
    RESERVED,
    REVIEW_COUNT,
    STOCK,
)
from domain.catalog.read import (
    CATEGORIES,
    CATEGORY_IMAGES,
    FEATURE_VALUES,
    FEATURE_VARIANTS,
    FEATURES,
    GROUP_CODE,
    GROUP_FEATURES,
    GROUP_NUMBER,
    HAS_OPTIONS,
    PARENT_NUMBER,
    PRODUCT_IMAGES,
    PRODUCTS,
    PRODUCTS_BELOW_CATEGORY,
    PRODUCTS_OF_CATEGORY,
    RELATED_PRODUCTS,
    product_count,
)
from kernel.product_fields import PRODUCT_FIELDS, SEO_FIELDS
from models.reading.queries import Sort, ToMany, ToOne, many_to_many
from schema.enums import CategoryStatus, FeatureType, InventoryTracking, ProductStatus, SwitchStatus
from schema.fields import (
    WiderLink,
    column,
    computed,
    connection,
    entity_type,
    implements,
    legacy_number,
    legacy_numbers,
    optional_argument,
    parameterized,
    referenced,
    relation,
    unix_seconds,
)
from schema.filters import build_filter_input, build_sort_enum
from schema.inputs import input_type, optional_copies, optional_field
from schema.pagination import connection_type
from schema.scalars import ID, BigInt, DateTime
from schema.types.descriptions import description_text
from schema.types.marketplace import ReviewObject, VendorObject
from schema.types.media import ImageInput, ImageRecordObject, image_relation, with_files, with_image_fields
from schema.types.options import AttachmentObject, CombinationObject, OptionObject, ProductImageInput
from schema.types.pricing import TaxObject
from schema.types.product_prices import PriceRangeObject, ProductPricingObject, price_range, product_pricing
from schema.types.references import VariationGroup
from schema.types.seo import with_seo
from schema.types.warehouses import WarehouseStockObject, stock_by_warehouse
from schema.unset import Unset

_INVENTORY_READERS = Access(privileges=("view_products",), app_scope="read_products", vendor=True)


@implements(ImageRecordObject)
@entity_type(CATEGORY_IMAGES, "CategoryImage")
@with_image_fields
class CategoryImageObject:
    """The image of a category."""


@entity_type(CATEGORIES, "Category", key="category_id", times="created_at updated_at created_unix")
@with_seo()
class CategoryObject:
    """A product category in the category tree."""

    name: str = column(description="The name.")
    slug: str = column(description="The URL slug, unique in the store.")
    description: str = column(description="The description as unsanitized HTML.")
    description_text: str = description_text()
    image: CategoryImageObject | None = image_relation("categories")
    status: CategoryStatus = column(description="The status code.")
    position: int = column(description="The sort position among sibling categories, lowest first.")
    parent_id: ID | None = column(
        referenced("categories", "parent_id"), "The parent category; null for a root category."
    )
    parent_number: BigInt = legacy_number("parent_id", "the parent category", "; 0 for a root category")
    id_path: str = column(
        description="The legacy numeric IDs from the root to the category, joined by `/`.", internal=True
    )
    vendor_id: ID | None = column(
        referenced("vendors", "vendor_id"), "The vendor that owns the category; null for the store's own."
    )
    vendor: VendorObject | None = relation(
        ToOne("vendor_id"), "The vendor that owns the category; null for the store's own."
    )
    vendor_number: BigInt = legacy_number("vendor_id", "the owning vendor")
    product_count: BigInt = parameterized(
        product_count,
        "The number of products in the category; customers and storefronts count those they find in it.",
        [
            optional_argument(
                "include_descendants", bool, "Whether products in the categories below count too, each once."
            )
        ],
    )
    parent: CategoryObject | None = relation(ToOne("parent_id"), "The parent category; null for a root category.")
    path: list[CategoryObject] = relation(
        ToMany(
            "d.id",
            "cardinality(string_to_array(t.id_path, '/')), t.id",
            # Not `= ANY(…)`, for which PostgreSQL reads all categories and takes the path apart for each.
            through="categories d CROSS JOIN LATERAL unnest(string_to_array(d.id_path, '/')::bigint[]) AS a (id)"
            " JOIN categories t ON t.tenant_id = d.tenant_id AND t.id = a.id",
            where="d.tenant_id = {tenant}",
            entity=CATEGORIES,
        ),
        "The categories from the root to this one.",
    )
    children: list[CategoryObject] = relation(
        ToMany("t.parent_id", "t.position, t.id"), "The child categories, by position."
    )
    products: ProductConnectionObject = connection(
        many_to_many(
            "product_categories",
            "category_id",
            "products",
            "product_id",
            "l.position, t.id",
            entity=PRODUCTS_OF_CATEGORY,
        ),
        "The products of the category, by default in its own order.",
        ("position", Sort("l.position", "bigint", "position in the category")),
        {"filter": build_filter_input(PRODUCTS, "ProductFilter"), "sort": build_sort_enum(PRODUCTS, "ProductSort")},
        wider=WiderLink(
            "include_descendants",
            PRODUCTS_BELOW_CATEGORY,
            ("-created_at", PRODUCTS.sorts["created_at"]),
            "Whether products in the categories below are shown too, by default the newest first.",
        ),
    )


@implements(ImageRecordObject)
@entity_type(PRODUCT_IMAGES, "ProductImage", key="pair_id")
@with_image_fields
class ProductImageObject:
    """An image of a product."""

    product_number: BigInt = column("product_id", "The legacy numeric ID of the product.", internal=True)
    position: int = column(description="The sort position; 0 for the main image.")


_IMAGE_ROWS = with_files("product_images", url="url", alt="alt", width="i.width", height="i.height")


@entity_type(FEATURE_VARIANTS, "FeatureVariant", key="variant_id")
class FeatureVariantObject:
    """A predefined value of a feature."""

    name: str = column(description="The value.")
    position: int = column(description="The sort position among the values.")


@entity_type(FEATURES, "Feature", key="feature_id", times="created_at")
class FeatureObject:
    """A product feature (attribute)."""

    name: str = column(description="The name.")
    type: FeatureType = column(description="The type code.")
    status: SwitchStatus = column(description="The status code.")
    position: int = column(description="The sort position.")
    prefix: str = column(description="The text shown before a value.")
    suffix: str = column(description="The text shown after a value.")
    comparison: bool = column(description="Whether the feature is used in product comparison.")
    display_on_product: bool = column(description="Whether the feature is shown on product pages.")
    display_on_catalog: bool = column(description="Whether the feature is shown in product lists.")
    filterable: bool = column(description="Whether its values narrow down a search (`product_search`).")
    category_numbers: list[BigInt] = legacy_numbers(
        "feature_categories",
        "feature_id",
        "category_id",
        "the categories whose products have the feature; empty for all",
    )
    categories: list[CategoryObject] = relation(
        many_to_many("feature_categories", "feature_id", "categories", "category_id", "t.position, t.id"),
        "The categories whose products have the feature; empty for all.",
    )
    parent_number: BigInt = legacy_number("parent_id", "the feature group")
    group: FeatureObject | None = relation(ToOne("parent_id"), "The feature group.")
    variants: list[FeatureVariantObject] = relation(
        ToMany("t.feature_id", "t.position, t.id"), "The predefined values."
    )


@entity_type(FEATURE_VALUES, "FeatureValue")
class FeatureValueObject:
    """A product's value for a feature."""

    id: ID = column("public_id", "The unique ID (UUID).")
    value: str = computed(
        "coalesce((SELECT v.name FROM feature_variants v WHERE v.tenant_id = t.tenant_id AND v.id = t.variant_id), t.value)",
        "The value as text.",
    )
    value_int: BigInt | None = column(
        description="The whole part of a numeric value; of a date its beginning, in Unix seconds."
    )
    feature: FeatureObject | None = relation(ToOne("feature_id"), "The feature.")
    variant: FeatureVariantObject | None = relation(
        ToOne("variant_id"), "The chosen variant, for features with predefined values."
    )
    variants: list[FeatureVariantObject] = relation(
        many_to_many(
            "feature_value_variants", "feature_value_id", "feature_variants", "variant_id", "t.position, t.id"
        ),
        "The chosen variants of a feature of type M.",
    )


@entity_type(PRODUCTS, "Product", key="product_id")
@with_seo("page_title", "meta_keywords", "meta_description")
class ProductObject:
    """A product. Amounts in cents of the store's currency."""

    name: str = column(description="The name.")
    sku: str = column(description="The stock-keeping unit (SKU); empty if not set.", unset=Unset.LATER)
    slug: str = column(description="The URL slug, unique in the store.")
    description: str = column(description="The description as unsanitized HTML.")
    description_text: str = description_text()
    short_description: str = column(description="The short description.")
    status: ProductStatus = column(description="The status code.")
    price_cents: BigInt = column(description="The price, in cents.")
    pricing: ProductPricingObject | None = product_pricing()
    compare_at_cents: BigInt | None = column(description="The compare-at price, in cents.")
    currency: str = computed("(SELECT s.currency FROM tenants s WHERE s.id = t.tenant_id)", "The currency, ISO 4217.")
    stock: BigInt = computed(STOCK, "The available stock: on hand less reserved, of its combinations if it has some.")
    on_hand: BigInt | None = column(ON_HAND, "The stock on hand, reserved units included.", guard=_INVENTORY_READERS)
    reserved: BigInt | None = column(RESERVED, "The stock reserved by open orders.", guard=_INVENTORY_READERS)
    warehouse_stock: list[WarehouseStockObject] | None = stock_by_warehouse("t.product_id", "t.combination_id IS NULL")
    tracking: InventoryTracking = column(description="Whether the stock is tracked.")
    is_available: bool = computed(IS_AVAILABLE, "Whether it can be bought: on sale, and enough in stock or in advance.")
    in_advance: bool = computed(IS_IN_ADVANCE, "Whether it can only be bought in advance, by `out_of_stock_action`.")
    available_quantity: BigInt | None = column(
        AVAILABLE_QUANTITY, "The units for sale, those of its combinations if it has some; null without a limit."
    )
    price_range: PriceRangeObject = price_range()
    average_rating: float | None = column(AVERAGE_RATING, "The mean of the ratings, 1 to 5; null without ratings.")
    review_count: BigInt = computed(REVIEW_COUNT, "The number of published reviews.")
    weight_grams: BigInt = column(description="The weight, in grams.")
    length_mm: BigInt = column(description="The length of a packed unit, in millimetres; 0 if unknown.")
    width_mm: BigInt = column(description="The width of a packed unit, in millimetres; 0 if unknown.")
    height_mm: BigInt = column(description="The height of a packed unit, in millimetres; 0 if unknown.")
    box_min_quantity: int = column(
        description="The fewest units in a box that isn't full; below, they are packed singly."
    )
    box_max_quantity: int = column(
        description="The units in a box of the product's size; up to 1 it is the size of a unit."
    )
    gtin: str = column(description="The GTIN (EAN, UPC) of 8, 12, 13 or 14 digits; empty if not set.", unset=Unset.NULL)
    shipping_freight_cents: BigInt = column(description="What each unit adds to the price of shipping, in cents.")
    is_edp: bool = column(description="Whether the product is digital: downloaded instead of shipped.")
    free_shipping: bool = column(description="Whether the product ships for free.")
    min_quantity: int = column(description="The minimum quantity per order; 0 for no limit.")
    max_quantity: int = column(description="The maximum quantity per order; 0 for no limit.")
    quantity_step: int = column(description="The quantity per order is a multiple of it; 0 for any quantity.")
    quantity_choices: int = column(
        description="The number of quantities offered, in steps from the first; it limits the quantity per order. 0 for no limit."
    )
    low_stock_limit: int = column(description="The stock that another system warns of; here `low_stock_at` decides.")
    available_since: DateTime | None = column(
        description="From when it is sold; before, it can be bought in advance (`out_of_stock_action`) or not at all."
    )
    available_since_unix: BigInt = computed(
        "coalesce(floor(extract(epoch from t.available_since))::bigint, 0)",
        "From when it is available, in Unix seconds; 0 if not set.",
        internal=True,
    )
    out_of_stock_action: str = column(
        description="`B`: it is sold in advance, before `available_since` and beyond its stock; `N` nothing, `S` offer a notification."
    )
    zero_price_action: str = column(
        description="What another system does at a price of zero: `R` refuse, `P` permit, `A` ask the customer for a price."
    )
    unlimited_download: bool = column(description="Whether its files may be downloaded without a limit.")
    promo_text: str = column(description="A promotional text, unsanitized HTML.")
    exception_type: str = column(
        description="What exceptions of its options are: `F` forbidden, `A` the only allowed ones. A change applies to all of them."
    )
    option_order: str = column(description="How another system offers its options: `P` at once, `S` in turn.")
    details_layout: str = column(
        description="The template of its page in another system; empty if not set.", unset=Unset.NULL
    )
    search_words: str | None = column(
        description="Words that searches match besides name, SKU and descriptions, and that shoppers don't see.",
        guard=_INVENTORY_READERS,
    )
    ncm: str = column(description="The NCM, eight digits; empty if not set.", unset=Unset.NULL)
    category_id: ID | None = column(referenced("categories", "category_id"), "The main category.")
    category_number: BigInt = legacy_number("category_id", "the main category")
    vendor_number: BigInt = legacy_number("vendor_id", "the vendor")
    vendor_name: str = computed(
        "coalesce((SELECT v.name FROM vendors v WHERE v.tenant_id = t.tenant_id AND v.id = t.vendor_id), '')",
        "The vendor's name.",
        internal=True,
    )
    category_numbers: list[BigInt] = legacy_numbers(
        "product_categories",
        "product_id",
        "category_id",
        "the product's categories, the main one first",
        "(l.category_id = t.category_id) DESC, l.category_id",
    )
    tax_numbers: list[BigInt] = legacy_numbers("product_taxes", "product_id", "tax_id", "the applied taxes")
    category: CategoryObject | None = relation(ToOne("category_id"), "The main category.")
    categories: list[CategoryObject] = relation(
        many_to_many("product_categories", "product_id", "categories", "category_id", "t.position, t.id"),
        "All categories of the product.",
    )
    tags: list[str] = computed(
        "ARRAY(SELECT l.tag FROM product_tags l WHERE l.tenant_id = t.tenant_id AND l.product_id = t.id ORDER BY l.tag)",
        "The tags, in alphabetical order.",
    )
    taxes: list[TaxObject] = relation(
        many_to_many("product_taxes", "product_id", "taxes", "tax_id", "t.priority, t.id"),
        "The taxes applied to the product.",
    )
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor that sells the product.")
    images: list[ProductImageObject] = relation(
        ToMany("t.product_id", "t.position, t.id", through=_IMAGE_ROWS), "The images, the main image first."
    )
    main_image: ProductImageObject | None = relation(
        ToMany("t.product_id", "t.position, t.id", through=_IMAGE_ROWS, where="t.position = 0"),
        "The main image.",
        single=True,
    )
    more_images: list[ProductImageObject] = relation(
        ToMany("t.product_id", "t.position, t.id", through=_IMAGE_ROWS, where="t.position > 0"),
        "The images other than the main image.",
        internal=True,
    )
    options: list[OptionObject] = relation(
        many_to_many("product_options", "product_id", "options", "option_id", "t.position, t.id"),
        "The options customers choose from.",
    )
    combinations: list[CombinationObject] = relation(
        ToMany("t.product_id", "t.position, t.id"), "The option combinations with their own stock and price."
    )
    attachments: list[AttachmentObject] = relation(ToMany("t.product_id", "t.position, t.id"), "The attached files.")
    required_products: list[ProductObject] = relation(
        many_to_many("required_products", "product_id", "products", "required_id", "l.position, t.id", entity=PRODUCTS),
        "The products that must be bought together with this one.",
    )
    related: list[ProductObject] = relation(
        RELATED_PRODUCTS, "Other active products of the main category, newest first.", limited="first"
    )
    variation_group: VariationGroup | None = relation(
        many_to_many("variation_group_products", "product_id", "variation_groups", "group_id", "t.id"),
        "The group of products that differ from this one in the variants of some features.",
        single=True,
    )
    variation_group_number: BigInt = computed(
        GROUP_NUMBER, "The legacy numeric ID of the variation group, or 0.", internal=True
    )
    variation_group_code: str = computed(GROUP_CODE, "The code of the variation group.", internal=True)
    variation_feature_numbers: list[BigInt] = computed(
        GROUP_FEATURES, "The legacy numeric IDs of the features in which products of its group differ.", internal=True
    )
    variation_parent_number: BigInt = computed(
        PARENT_NUMBER,
        "The legacy numeric ID of the product that this one is shown as a variation of, or 0.",
        internal=True,
    )
    has_options: bool = computed(HAS_OPTIONS, "Whether customers choose options.", internal=True)
    features: list[FeatureValueObject] = relation(
        ToMany("t.product_id", "t.feature_id, t.id"), "The product's feature values."
    )
    reviews: list[ReviewObject] = relation(
        ToMany(
            "th.object_id",
            "t.created_at DESC, t.id DESC",
            through="discussion_threads th CROSS JOIN LATERAL (SELECT * FROM discussion_posts d"
            " WHERE d.tenant_id = th.tenant_id AND d.thread_id = th.id OFFSET 0) t",
            where="th.tenant_id = {tenant} AND th.object_type = 'P'",
        ),
        "The reviews, newest first.",
        limited="limit",
    )
    created_at: DateTime = column(description="When the record was created.")
    updated_at: DateTime = column(description="When the record was last updated.")
    created_unix: BigInt = unix_seconds("created_at", "When the record was created")
    updated_unix: BigInt = unix_seconds("updated_at", "When the record was last updated")


ProductConnectionObject = connection_type(ProductObject, "Product")


@input_type
class FeatureValueInput:
    """A product's value for a feature."""

    feature_id: ID = strawberry.field(description="The feature.")
    type: FeatureType | None = optional_field("The feature's type as known to the client.", internal=True)
    value: str | None = optional_field(
        "The value: a text, a number, a date (YYYY-MM-DD), `Y`/`N`, or the name of a variant."
    )
    variant_id: ID | None = optional_field("A predefined variant, instead of `value`.")
    variant_ids: list[ID] | None = optional_field("The predefined variants of a feature of type `M`.")
    values: list[str] | None = optional_field("The names of the variants of a feature of type `M`.")


@input_type
# Described as in `ProductObject`, unless declared here.
@optional_copies(ProductObject, PRODUCT_FIELDS)
class ProductInput:
    """A product. `name` and `price_cents` are required on creation."""

    sku: str | None = optional_field("The stock-keeping unit (SKU), unique within the vendor.")
    slug: str | None = optional_field("The URL slug; generated from the name if omitted.")
    compare_at_cents: BigInt | None = optional_field("The compare-at price, in cents; null removes it.")
    stock: BigInt | None = optional_field(
        "The available stock; units reserved by open orders are added to get the stock on hand."
    )
    tracking: InventoryTracking | None = optional_field("Whether the stock is tracked.", text_internally=True)
    vendor_id: ID | None = optional_field(
        "The vendor that sells the product; defaults to the caller's own vendor, or the store's first."
    )
    category_id: ID | None = optional_field("The main category.")
    category_ids: list[ID] | None = optional_field(
        "All categories of the product; the first becomes the main one unless `category_id` is set."
    )
    tax_ids: list[ID] | None = optional_field("The taxes applied to the product.")
    tags: list[str] | None = optional_field("All tags, at most 50 of 64 characters; they are stored in lower case.")
    variation_group_id: ID | None = optional_field(
        "The variation group of the product, which must have a variant of each of its features; null for none."
    )
    images: list[ProductImageInput] | None = optional_field("All images, the main image first.")
    main_image: ProductImageInput | None = optional_field("The main image; null removes it.", internal=True)
    more_images: list[ProductImageInput] | None = optional_field("The images other than the main image.", internal=True)
    features: list[FeatureValueInput] | None = optional_field("The feature values to set; others stay unchanged.")


@input_type
class ProductUpsertInput(ProductInput):
    """A row of a bulk upsert: matched by `id`, then by `sku` within the vendor, otherwise created."""

    id: ID | None = optional_field("The product to update.")


@input_type
class CategoryImageInput(ImageInput):
    """The image of a category: a file of the store or a link, exactly one of them."""


@input_type
@optional_copies(CategoryObject, ("name", "slug", *SEO_FIELDS))
class CategoryInput:
    """A category. `name` is required on creation."""

    slug: str | None = optional_field("The URL slug; derived from the name if empty, a taken one gets a suffix.")
    parent_id: ID | None = optional_field("The parent category; null or 0 for a root category.")
    position: int | None = optional_field("The sort position among sibling categories.")
    status: CategoryStatus | None = optional_field("The status code.", text_internally=True)
    description: str | None = optional_field("The description as unsanitized HTML.")
    image: CategoryImageInput | None = optional_field("The image; null removes it.")
    vendor_id: ID | None = optional_field("The vendor that owns the record.")


@input_type
class FeatureVariantInput:
    """A predefined value of a feature. `name` is required for a new value."""

    id: ID | None = optional_field("The existing value to keep; omitted, the value is matched by name or created.")
    name: str | None = optional_field("The value.")
    position: int | None = optional_field("The sort position among the values.")


@input_type
@optional_copies(
    FeatureObject, "name type group_id status position prefix suffix comparison display_on_product display_on_catalog"
)
class FeatureInput:
    """A feature. `name` is required on creation."""

    group_id: ID | None = optional_field("The feature group.")
    filterable: bool | None = optional_field("Whether its values narrow down a search; types with variants only.")
    category_ids: list[ID] | None = optional_field("The categories whose products have the feature; empty for all.")
    variants: list[FeatureVariantInput] | None = optional_field(
        "The complete list of values; omitted values are deleted and removed from products."
    )
