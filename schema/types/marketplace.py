"""Define vendors and reviews."""

from __future__ import annotations

from auth.access import Access
from domain.marketplace.read import AVERAGE_RATING, REVIEWS, VENDORS
from schema.fields import column, entity
from schema.scalars import BigInt, Ident, Json, ReviewStatus, Time, VendorStatus

_OF_VENDOR = Access(privileges=("view_marketplace",), vendor=True)


@entity(VENDORS, "Vendor", "A seller of the marketplace.")
class VendorObject:
    """A row of `vendors`; contact data and commission are personal fields."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`company_id`).", internal=True)
    name: str = column(description="The trade name.")
    status: VendorStatus = column(description="The status letter.")
    city: str = column(description="The city.")
    state: str = column(description="The state, two letters.")
    country: str = column(description="The country, ISO 3166 code of two letters.")
    url: str = column(description="The vendor's own site.")
    email: str | None = column(description="The e-mail address.", guard=_OF_VENDOR)
    phone: str | None = column(description="The phone number.", guard=_OF_VENDOR)
    address: str | None = column(description="Street and number.", guard=_OF_VENDOR)
    zipcode: str | None = column(description="The CEP.", guard=_OF_VENDOR)
    cnpj: str | None = column(description="The CNPJ, without punctuation.", guard=_OF_VENDOR)
    commission: str | None = column(
        description="What the marketplace keeps, a decimal string.", guard=_OF_VENDOR
    )
    commission_type: str | None = column(description="`A` an amount, `P` a percentage.", guard=_OF_VENDOR)
    shippings: Json | None = column(
        description="Which shipping methods it uses and how, an object.", guard=_OF_VENDOR
    )
    product_count: BigInt = column(
        "(SELECT count(*) FROM products p WHERE p.tenant_id = t.tenant_id AND p.vendor_id = t.id"
        " AND p.status = 'A' AND p.deleted_at IS NULL)",
        "How many active products it sells.",
    )
    average_rating: float | None = column(
        AVERAGE_RATING,
        "The mean rating of its products, 1 to 5; null without ratings.",
    )
    created_at: Time = column(description="When it joined.")
    updated_at: Time = column(description="When it was last changed.")
    created_unix: BigInt = column(
        "floor(extract(epoch from t.created_at))::bigint", "Unix seconds of creation.", internal=True
    )


@entity(REVIEWS, "Review", "What somebody says of a product, a category, a page, an order or the store.")
class ReviewObject:
    """A row of `discussion_posts`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`post_id`).", internal=True)
    thread_number: BigInt = column("thread_id", "The legacy number of the thread.", internal=True)
    thread_type: str = column(
        "(SELECT th.type FROM discussion_threads th WHERE th.tenant_id = t.tenant_id AND th.id = t.thread_id)",
        "`C` comments, `R` ratings, `B` both.",
        internal=True,
    )
    object_type: str = column(
        "(SELECT th.object_type FROM discussion_threads th WHERE th.tenant_id = t.tenant_id AND th.id = t.thread_id)",
        "What it is about: `P` a product, `C` a category, `A` a page, `O` an order, `E` the store.",
    )
    object_number: BigInt = column(
        "(SELECT th.object_id FROM discussion_threads th WHERE th.tenant_id = t.tenant_id AND th.id = t.thread_id)",
        "The legacy number of what it is about.",
        internal=True,
    )
    product_id: Ident | None = column(
        "(SELECT p.public_id FROM discussion_threads th JOIN products p ON p.tenant_id = th.tenant_id AND p.id = th.object_id"
        " WHERE th.tenant_id = t.tenant_id AND th.id = t.thread_id AND th.object_type = 'P')",
        "The product it is about.",
    )
    name: str = column(description="Who writes, as shown.")
    message: str = column(description="The text.")
    rating: int | None = column(description="1 to 5 stars; null for a comment without rating.")
    status: ReviewStatus = column(description="The status letter.")
    user_id: Ident | None = column(
        "(SELECT u.public_id FROM users u WHERE u.tenant_id = t.tenant_id AND u.id = t.user_id)",
        "The account it was written with.",
        guard=Access(privileges=("view_users", "view_products")),
    )
    user_number: BigInt | None = column("user_id", "The legacy number of the account.", internal=True)
    ip_address: str | None = column(
        description="The address it was sent from.", guard=Access(privileges=("manage_products",))
    )
    created_at: Time = column(description="When it was written.")
    updated_at: Time = column(description="When it was last changed.")
    created_unix: BigInt = column(
        "floor(extract(epoch from t.created_at))::bigint", "Unix seconds of writing.", internal=True
    )
