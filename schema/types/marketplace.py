"""Define vendors and reviews."""

from __future__ import annotations

from auth.access import Access
from domain.marketplace.read import (
    AVERAGE_RATING,
    REVIEW_COUNT,
    REVIEWED_OBJECT,
    REVIEWED_PRODUCT,
    REVIEWED_VENDOR,
    REVIEWS,
    VENDORS,
    product_count,
)
from kernel.product_fields import SEO_FIELDS
from models.reading.queries import ToMany, ToOne, unindexed
from schema.enums import (
    CommissionType,
    DiscussionObjectType,
    DiscussionType,
    ReviewStatus,
    VendorStatus,
)
from schema.fields import column, computed, entity_type, referenced, relation, unix_seconds
from schema.inputs import input_type, optional_copies, optional_field
from schema.pagination import connection_type
from schema.scalars import ID, JSON, BigInt, DateTime
from schema.types.descriptions import description_text
from schema.types.ledger import VendorBalanceObject, vendor_balance
from schema.types.media import ImageInput, ImageObject, image_relation, with_files
from schema.types.references import Product, User
from schema.types.seo import with_seo
from schema.unset import Unset

_VENDOR_DATA = Access(privileges=("view_marketplace",), vendor=True)


@entity_type(VENDORS, "Vendor", key="company_id", times="updated_at created_unix")
@with_seo()
class VendorObject:
    """A vendor of the marketplace."""

    name: str = column(description="The trade name.")
    slug: str = column(description="The URL slug, unique in the store.")
    status: VendorStatus = column(description="The status code.")
    city: str = column(description="The city.")
    state: str = column(description="The state code, two letters.")
    country: str = column(description="The country code, ISO 3166 alpha-2.")
    url: str = column(description="The URL of the vendor's website.", unset=Unset.LATER)
    email: str | None = column(description="The e-mail address.", guard=_VENDOR_DATA, unset=Unset.NULL)
    phone: str | None = column(description="The phone number.", guard=_VENDOR_DATA, unset=Unset.NULL)
    address: str | None = column(description="Street and number.", guard=_VENDOR_DATA, unset=Unset.NULL)
    zipcode: str | None = column(description="The CEP.", guard=_VENDOR_DATA, unset=Unset.NULL)
    cnpj: str | None = column(description="The CNPJ, without punctuation.", guard=_VENDOR_DATA, unset=Unset.NULL)
    commission: str | None = column(description="The marketplace commission, a decimal string.", guard=_VENDOR_DATA)
    commission_type: CommissionType | None = column(description="The type of the commission.", guard=_VENDOR_DATA)
    shippings: JSON | None = column(
        description="The vendor's shipping method settings, a JSON object.", guard=_VENDOR_DATA
    )
    recipient_id: str | None = column(
        description="The vendor's recipient at a gateway that divides payments.", guard=_VENDOR_DATA, unset=Unset.NULL
    )
    balance: VendorBalanceObject | None = vendor_balance()
    product_count: BigInt = computed(
        product_count, "The number of active products; customers and storefronts count those they find."
    )
    average_rating: float | None = column(
        AVERAGE_RATING, "The average rating of the vendor's products, 1 to 5; null without ratings."
    )
    review_count: BigInt = computed(REVIEW_COUNT, "The number of published reviews of the vendor's products.")
    description: str = column(description="The description as unsanitized HTML.")
    description_text: str = description_text()
    image: ImageObject | None = image_relation("vendors", "The logo.")
    banner: ImageObject | None = relation(
        ToMany("t.vendor_id", "t.id", through=with_files("vendor_banners")),
        "The banner of the vendor's page.",
        single=True,
    )
    created_at: DateTime = column(description="When the vendor was created.")


@entity_type(REVIEWS, "Review", key="post_id")
class ReviewObject:
    """A review of a product, category, page, order or the store."""

    thread_number: BigInt = column("thread_id", "The legacy numeric ID of the thread.", internal=True)
    thread_id: ID = computed(
        referenced("discussion_threads", "thread_id"), "The discussion, which has the posts about one object."
    )
    type: DiscussionType = column(
        referenced("discussion_threads", "thread_id", "type"), "What the posts of the discussion are."
    )
    object_type: DiscussionObjectType = column(
        referenced("discussion_threads", "thread_id", "object_type"), "The type of the reviewed object."
    )
    object_id: ID | None = column(
        REVIEWED_OBJECT, "The reviewed object; null for the store itself, and for an object that was erased."
    )
    object_number: BigInt = column(
        referenced("discussion_threads", "thread_id", "object_id"),
        "The legacy numeric ID of the reviewed object.",
        internal=True,
    )
    product_id: ID | None = column(REVIEWED_PRODUCT, "The reviewed product.")
    product: Product | None = relation(
        ToMany(
            "th.id",
            "t.id",
            through="discussion_threads th JOIN products t ON t.tenant_id = th.tenant_id AND t.id = th.object_id",
            where="th.tenant_id = {tenant} AND " + unindexed("th.object_type = 'P'"),
            parent="thread_id",
        ),
        "The reviewed product; null once it was deleted.",
        single=True,
    )
    name: str = column(description="The author's name as displayed.")
    message: str = column(description="The text.")
    rating: int | None = column(description="The rating, 1 to 5 stars; null for a comment without rating.")
    status: ReviewStatus = column(description="The status code.")
    user_id: ID | None = column(
        referenced("users", "user_id"),
        "The author's account.",
        guard=Access(privileges=("view_users", "view_products")),
    )
    user: User | None = relation(
        ToOne("user_id"), "The author's account.", guard=Access(privileges=("view_users", "view_products"))
    )
    user_number: BigInt | None = column("user_id", "The legacy numeric ID of the account.", internal=True)
    vendor_number: BigInt = column(
        f"coalesce({REVIEWED_VENDOR}, 0)", "The legacy numeric ID of the vendor of the product, or 0.", internal=True
    )
    images: list[ImageObject] = relation(
        ToMany("t.post_id", "t.position, t.id", through=with_files("review_images")), "The pictures."
    )
    ip_address: str | None = column(
        description="The client IP address.", guard=Access(privileges=("manage_products",)), unset=Unset.NULL
    )
    created_at: DateTime = column(description="When the review was written.")
    updated_at: DateTime = column(description="When the record was last updated.")
    created_unix: BigInt = unix_seconds("created_at", "When the review was written")


ReviewConnectionObject = connection_type(ReviewObject, "Review")


_VENDOR_FIELDS = "name slug email status phone address city state country zipcode cnpj url description"


@input_type
@optional_copies(VendorObject, (*_VENDOR_FIELDS.split(), *SEO_FIELDS))
class VendorInput:
    """A vendor. `name` and `email` are required on creation."""

    slug: str | None = optional_field("The URL slug; derived from the name if empty, a taken one gets a suffix.")
    email: str | None = optional_field("The e-mail address.")
    phone: str | None = optional_field("The phone number.")
    address: str | None = optional_field("Street and number.")
    zipcode: str | None = optional_field("The CEP.")
    has_no_email: bool | None = optional_field("Whether a new vendor has no e-mail address.", internal=True)
    cnpj: str | None = optional_field("The CNPJ.")
    commission: str | None = optional_field("The marketplace commission, a decimal string.")
    commission_type: CommissionType | None = optional_field(
        "Whether the commission is a fixed amount or a percentage.", text_internally=True
    )
    shippings: JSON | None = optional_field("The vendor's shipping method settings, a JSON object.")
    recipient_id: str | None = optional_field("The vendor's recipient at a gateway that divides payments.")
    image: ImageInput | None = optional_field("The logo; null removes it.")
    banner: ImageInput | None = optional_field("The banner of the vendor's page; null removes it.")


@input_type
class ReviewInput:
    """A review. `product_id`, or `object_type` and `object_id`, are required on creation (the store itself, `E`, has no ID)."""

    product_id: ID | None = optional_field("The product.")
    object_type: DiscussionObjectType | None = optional_field(
        "The type of the reviewed object; `E` is the store.", text_internally=True
    )
    object_id: ID | None = optional_field("The reviewed object.")
    thread_id: ID | None = optional_field("The discussion to post in, in place of an object.")
    type: DiscussionType | None = optional_field(
        "What the posts of a new discussion are, by default both; from administrators only.", text_internally=True
    )
    ip_address: str | None = optional_field("The author's IP address; from administrators only.")
    name: str | None = optional_field("The author's name as displayed.")
    message: str | None = optional_field("The text.")
    rating: int | None = optional_field("The rating, 1 to 5 stars.")
    status: ReviewStatus | None = optional_field("The status code.")
    images: list[ImageInput] | None = optional_field("The pictures, all of them; a customer's are uploaded files.")
    customer_id: ID | None = optional_field("The author's account.")
