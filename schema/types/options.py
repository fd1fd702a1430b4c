"""Define options, combinations, exceptions, attachments and boxes."""

from __future__ import annotations

import strawberry

from auth.access import Access
from domain.catalog.availability import COMBINATION_IS_AVAILABLE, available_combinations
from domain.catalog.boxes import BOX_FIELDS
from domain.catalog.combinations import FREIGHT_FIELDS
from domain.catalog.product_options import ANY_VARIANT, NO_VARIANT
from domain.catalog.read_options import (
    ATTACHMENTS,
    BOX_DESCRIPTIONS,
    BOXES,
    COMBINATION_CHOICES,
    COMBINATIONS,
    EXCEPTION_CHOICES,
    OPTION_EXCEPTIONS,
    OPTION_VARIANTS,
    OPTIONS,
)
from domain.media.addresses import RowImageUrl
from models.reading.queries import Sort, ToMany, ToOne, many_to_many
from schema.enums import (
    ExceptionType,
    ModifierType,
    OptionType,
    SwitchStatus,
)
from schema.fields import (
    column,
    computed,
    connection,
    entity_type,
    legacy_number,
    optional_argument,
    parameterized,
    referenced,
    relation,
)
from schema.inputs import input_type, optional_copies, optional_field
from schema.scalars import ID, JSON, BigInt, Upload
from schema.types.marketplace import VendorObject
from schema.types.media import ImageInput, ImageObject, MediaFileObject, image_relation
from schema.types.product_prices import ProductPricingObject, combination_pricing
from schema.types.references import Product, ProductConnection
from schema.types.warehouses import WarehouseStockObject, stock_by_warehouse
from schema.unset import Unset

_INVENTORY_READERS = Access(privileges=("view_catalog", "view_products"), app_scope="read_products", vendor=True)


def _numbers(table: str, key: str) -> str:
    return (
        "(SELECT coalesce(jsonb_object_agg(k.option_id::text, k.variant_id::text), '{}')"
        f" FROM {table} k WHERE k.tenant_id = t.tenant_id AND k.{key} = t.id)"
    )


_WILDCARDS = (
    f"(SELECT coalesce(jsonb_object_agg(m.ids[1], CASE m.ids[2] WHEN '{NO_VARIANT}' THEN '-2' ELSE '-1' END), '{{}}')"
    f" FROM regexp_matches(t.hash, '(?:^|_)([0-9]+)_({NO_VARIANT}|{ANY_VARIANT})(?=_|$)', 'g') AS m (ids))"
)
"""An option of an exception that has no variant (`-2`), or any (`-1`), is in the exception's hash only."""


@entity_type(OPTION_VARIANTS, "OptionVariant", key="variant_id")
class OptionVariantObject:
    """A value of an option."""

    name: str = column(description="The value.")
    modifier: BigInt = column(
        description="The price modifier: cents (`A`), or hundredths of a percent of the price (`P`)."
    )
    modifier_type: ModifierType = column(description="`A` absolute, `P` percentage.")
    position: int = column(description="The sort position among the values.")
    image_url: str = computed(
        RowImageUrl("image_url"), "The image URL; empty if not set.", shows="image_url", unset=Unset.LATER
    )
    image_alt: str = column(description="The alternative text of the image.")
    image: ImageObject | None = image_relation("option_variants")
    available_combination_ids: list[ID] = parameterized(
        available_combinations,
        "The combinations with this value that can be bought; of an option that products share, those of all of them.",
        [optional_argument("product_id", ID, "The product whose combinations are listed.")],
    )


@entity_type(OPTIONS, "Option", key="option_id", times="created_at updated_at")
class OptionObject:
    """A product option that customers choose a value for."""

    name: str = column(description="The name.")
    type: OptionType = column(description="The type code.")
    required: bool = column(description="Whether the customer must choose a value.")
    inventory: bool = column(description="Whether the option is part of combinations.")
    status: SwitchStatus = column(description="The status code.")
    position: int = column(description="The sort position.")
    description: str = column(description="The description shown to customers, as unsanitized HTML.")
    allowed_extensions: str = column(
        description="The extensions of files that the type `F` takes, such as `jpg,png`; empty for any.",
        unset=Unset.NULL,
    )
    max_file_size: int = column(description="The most KiB of a file of the type `F`; 0 for as many as the store takes.")
    product_id: ID | None = column(
        referenced("products", "product_id"),
        "The product that owns the option; null for an option shared by several products.",
    )
    product: Product | None = relation(
        ToOne("product_id"), "The product that owns the option; null for an option shared by several products."
    )
    product_number: BigInt = legacy_number("product_id", "the product", "; 0 for an option shared by several products")
    products: ProductConnection = connection(
        many_to_many("product_options", "option_id", "products", "product_id", "t.id"),
        "The products that have the option, oldest first: those that share it, or the one that owns it.",
        ("id", Sort("t.id", "bigint", "creation order")),
    )
    vendor_id: ID | None = column(referenced("vendors", "vendor_id"), "The vendor that owns the option.")
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor that owns the option.")
    vendor_number: BigInt = legacy_number("vendor_id", "the vendor")
    variants: list[OptionVariantObject] = relation(
        ToMany("t.option_id", "t.position, t.id"), "The values of the option."
    )


@entity_type(COMBINATION_CHOICES, "CombinationChoice")
class CombinationChoiceObject:
    """A variant chosen in a combination."""

    option_id: ID = computed(referenced("options", "option_id"), "The option.")
    option: OptionObject | None = relation(ToOne("option_id"), "The option.")
    option_name: str = computed(referenced("options", "option_id", "name"), "The option's name.")
    variant_id: ID = computed(referenced("option_variants", "variant_id"), "The variant.")
    variant: OptionVariantObject | None = relation(ToOne("variant_id"), "The variant.")
    variant_name: str = computed(referenced("option_variants", "variant_id", "name"), "The variant's name.")


@entity_type(COMBINATIONS, "Combination", key="combination_id", times="created_at updated_at")
class CombinationObject:
    """A combination of option variants with its own stock and price."""

    product_id: ID = column(referenced("products", "product_id"), "The product.")
    product: Product | None = relation(ToOne("product_id"), "The product.")
    product_number: BigInt = column("product_id", "The legacy numeric ID of the product.", internal=True)
    hash: str = column(description="The legacy numeric IDs of options and variants, joined by `_`.", internal=True)
    sku: str = column(description="The combination's SKU; empty if not set.", unset=Unset.LATER)
    pricing: ProductPricingObject | None = combination_pricing()
    modifier_cents: BigInt = column(
        "price_cents",
        "The amount added to the product's price besides those of its variants, in cents; may be negative.",
    )
    price_cents: BigInt = column(
        description="The amount added to the product's price, in cents; may be negative.",
        deprecated="Use `modifier_cents`, which is the same amount, or `pricing` for the price.",
    )
    stock: BigInt = column(description="The available stock: on hand less reserved.")
    is_available: bool = computed(
        COMBINATION_IS_AVAILABLE,
        "Whether it can be bought: its product on sale, and the minimum quantity in stock or sold in advance.",
    )
    on_hand: BigInt | None = column(description="The stock on hand, reserved units included.", guard=_INVENTORY_READERS)
    reserved: BigInt | None = column(description="The stock reserved by open orders.", guard=_INVENTORY_READERS)
    warehouse_stock: list[WarehouseStockObject] | None = stock_by_warehouse("t.combination_id")
    position: int = column(description="The sort position.")
    length_mm: BigInt | None = column(
        description="The length of a packed unit, in millimetres; null for the product's."
    )
    width_mm: BigInt | None = column(description="The width of a packed unit, in millimetres; null for the product's.")
    height_mm: BigInt | None = column(
        description="The height of a packed unit, in millimetres; null for the product's."
    )
    gtin: str | None = column(description="The GTIN of 8, 12, 13 or 14 digits; null for the product's.")
    shipping_freight_cents: BigInt | None = column(
        description="What each unit adds to the price of shipping, in cents; null for the product's."
    )
    image_url: str = computed(
        RowImageUrl("image_url"), "The image URL; empty if not set.", shows="image_url", unset=Unset.LATER
    )
    image_alt: str = column(description="The alternative text of the image.")
    image_width: int = column(description="The size in pixels; 0 if unknown.")
    image_height: int = column(description="The size in pixels; 0 if unknown.")
    image: ImageObject | None = image_relation("combinations", width="i.image_width", height="i.image_height")
    choices: list[CombinationChoiceObject] = relation(
        ToMany("t.combination_id", "t.option_id, t.id"), "The chosen variants."
    )
    choice_numbers: JSON = computed(
        _numbers("combination_choices", "combination_id"),
        "The legacy numeric IDs of options and their variants.",
        internal=True,
    )


@entity_type(EXCEPTION_CHOICES, "ExceptionChoice")
class ExceptionChoiceObject:
    """A variant chosen in an exception."""

    option_id: ID = column(referenced("options", "option_id"), "The option.")
    option: OptionObject | None = relation(ToOne("option_id"), "The option.")
    option_name: str = column(referenced("options", "option_id", "name"), "The option's name.")
    variant_id: ID = column(referenced("option_variants", "variant_id"), "The variant.")
    variant: OptionVariantObject | None = relation(ToOne("variant_id"), "The variant.")
    variant_name: str = column(referenced("option_variants", "variant_id", "name"), "The variant's name.")


@entity_type(OPTION_EXCEPTIONS, "OptionException", key="exception_id", times="created_at")
class OptionExceptionObject:
    """A set of variants that can't be combined, or the only ones that can."""

    product_id: ID = column(referenced("products", "product_id"), "The product.")
    product: Product | None = relation(ToOne("product_id"), "The product.")
    product_number: BigInt = column("product_id", "The legacy numeric ID of the product.", internal=True)
    type: ExceptionType = column(description="`F` forbidden, `A` allowed.")
    choices: list[ExceptionChoiceObject] = relation(
        ToMany("t.exception_id", "t.option_id, t.id"), "The chosen variants."
    )
    choice_numbers: JSON = computed(
        f"({_numbers('exception_choices', 'exception_id')} || {_WILDCARDS})",
        "The legacy numeric IDs of options and their variants.",
        internal=True,
    )


@entity_type(ATTACHMENTS, "Attachment", key="attachment_id", times="created_at updated_at")
class AttachmentObject:
    """A file attached to a product."""

    product_id: ID = column(referenced("products", "product_id"), "The product.")
    product: Product | None = relation(ToOne("product_id"), "The product.")
    description: str = column(description="The description.")
    filename: str = column(description="The file name.")
    url: str = computed(
        RowImageUrl("url"),
        "The address: that of the store's own file, or the link, which is never fetched.",
        shows="url",
    )
    filesize: BigInt = column(description="The file size in bytes; 0 if unknown.")
    position: int = column(description="The sort position.")
    status: SwitchStatus = column(description="The status code.")
    media_id: ID | None = column(referenced("media_files", "media_id"), "The media file; null for a link.")
    media: MediaFileObject | None = relation(ToOne("media_id"), "The media file; null for a link.")


@entity_type(BOX_DESCRIPTIONS, "BoxDescription", key="description_id")
class BoxDescriptionObject:
    """The localized description of a box."""

    box_id: ID = column(referenced("product_boxes", "box_id"), "The box.")
    box: ProductBoxObject | None = relation(ToOne("box_id"), "The box.")
    box_number: BigInt = column("box_id", "The legacy numeric ID of the box.", internal=True)
    lang_code: str = column(description="The language's code, such as `pt`.")
    title: str = column(description="The title.")
    full_description: str = column(description="The description as unsanitized HTML.")
    meta_keywords: str = column(description="Keywords for search engines.", unset=Unset.LATER)
    meta_description: str = column(description="The description for search engines.", unset=Unset.LATER)


@entity_type(BOXES, "ProductBox", key="box_id", times="created_at updated_at")
class ProductBoxObject:
    """A packaging box. Measures in millimetres, weights in grams."""

    name: str = column(description="The name.")
    height_mm: BigInt = column(description="The inner height, in millimetres.")
    width_mm: BigInt = column(description="The inner width, in millimetres.")
    length_mm: BigInt = column(description="The inner length, in millimetres.")
    weight_grams: BigInt = column(description="The weight of the empty box, in grams.")
    max_weight_grams: BigInt = column(description="The maximum content weight, in grams; 0 for no limit.")
    status: SwitchStatus = column(description="The status code.")
    position: int = column(description="The sort position.")
    descriptions: list[BoxDescriptionObject] = relation(
        ToMany("t.box_id", "t.lang_code, t.id"), "The localized descriptions."
    )


@input_type
class ProductImageInput(ImageInput):
    """An image of a product: a file of the store or a link, exactly one of them."""

    width: int | None = optional_field("The size in pixels.", internal=True)
    height: int | None = optional_field("The size in pixels.", internal=True)


@input_type
@optional_copies(OptionVariantObject, "id name modifier modifier_type position image_url image_alt")
class OptionVariantInput:
    """A value of an option. `name` is required for a new value."""

    id: ID | None = optional_field("The existing variant to keep; omitted, the variant is matched by name or created.")
    image_url: str | None = optional_field("The image URL; empty removes the image.")
    image: ImageInput | None = optional_field("The image, in place of `image_url` and `image_alt`; null removes it.")
    key: str | None = optional_field("The name by which `variant_pictures` refers to it.", internal=True)


@input_type
class VariantPictureInput:
    """An image of a variant."""

    variant: ID = strawberry.field(
        description="The key of the variant in `variants`, its ID, or its index starting at 0."
    )
    url: str | None = optional_field("The URL, http or https; empty removes the image.")
    alt: str | None = optional_field("The alternative text; one whose link stays keeps its own without it.")
    upload: Upload | None = optional_field("The file itself, in place of `url`.")


@input_type
@optional_copies(
    OptionObject,
    "name type product_id product_ids vendor_id required inventory status position description"
    " allowed_extensions max_file_size",
)
class OptionInput:
    """A product option. `name` is required on creation."""

    type: OptionType | None = optional_field("The type code; `S` by default.")
    product_ids: list[ID] | None = optional_field("The products that share the option.")
    vendor_id: ID | None = optional_field("The vendor that owns a shared option.")
    inventory: bool | None = optional_field(
        "Whether the option is part of combinations; defaults to true if its type has variants."
    )
    variants: list[OptionVariantInput] | None = optional_field(
        "The complete list of variants; omitted variants are deleted."
    )
    variant_pictures: list[VariantPictureInput] | None = optional_field("The images of variants.", internal=True)


@input_type
class OptionChoiceInput:
    """A chosen variant of an option."""

    option_id: ID = strawberry.field(description="The option.")
    variant_id: ID = strawberry.field(description="The variant.")


@input_type
@optional_copies(CombinationObject, FREIGHT_FIELDS)
class CombinationInput:
    """A combination of variants. `product_id` and `choices` are required on creation."""

    product_id: ID | None = optional_field("The product; ignored on update.")
    choices: list[OptionChoiceInput] | None = optional_field("The chosen variants.")
    sku: str | None = optional_field("The combination's SKU, unique within the product.")
    stock: BigInt | None = optional_field(
        "The available stock; units reserved by open orders are added to get the stock on hand."
    )
    modifier_cents: BigInt | None = optional_field(
        "The amount added to the product's price besides those of its variants, in cents; may be negative."
    )
    price_cents: BigInt | None = optional_field("The former name of `modifier_cents`, which wins.")
    position: int | None = optional_field("The sort position.")
    image: ProductImageInput | None = optional_field("The image; null removes it.")
    refused: bool | None = optional_field(
        "Whether the entry can't be parsed: then nothing is created, and the errors of the others are reported.",
        internal=True,
    )


@input_type
class OptionExceptionInput:
    """An option exception. All fields are required on creation."""

    product_id: ID | None = optional_field("The product.")
    type: ExceptionType | None = optional_field("`F` forbidden, `A` allowed.")
    choices: list[OptionChoiceInput] | None = optional_field("The chosen variants.")


@input_type
@optional_copies(AttachmentObject, "product_id description filename url filesize position status")
class AttachmentInput:
    """A file attached to a product. `product_id`, `filename`, and `media_id` or `url` are required on creation."""

    product_id: ID | None = optional_field("The product; ignored on update.")
    media_id: ID | None = optional_field("The media file, of any type.")
    url: str | None = optional_field("The URL, http or https.")
    filesize: BigInt | None = optional_field("The file size in bytes; by default that of the media file.")


@input_type
@optional_copies(ProductBoxObject, BOX_FIELDS)
class ProductBoxInput:
    """A packaging box. `name` is required on creation. Measures in millimetres, weights in grams."""


@input_type
@optional_copies(BoxDescriptionObject, "box_id lang_code title full_description meta_keywords meta_description")
class BoxDescriptionInput:
    """The localized description of a box. `box_id` is required on creation."""

    box_id: ID | None = optional_field("The box; ignored on update.")
    lang_code: str | None = optional_field("The language code; defaults to `pt`.")
