"""Define users, their saved addresses, and usergroups."""

from __future__ import annotations

from auth.access import Access
from domain.catalog.read import PRODUCTS
from domain.marketplace.read import REVIEWS
from domain.orders.read import ORDERS
from domain.people.addresses import ADDRESSES
from domain.people.read import IS_OWNER, MEMBERSHIPS, USERGROUPS, USERS
from domain.people.sessions import USER_SESSIONS
from domain.purchase.saved_addresses import FIRSTNAME, LASTNAME
from models.reading.queries import Sort, ToMany, ToOne, many_to_many
from schema.enums import (
    MembershipStatus,
    Role,
    UsergroupStatus,
    UsergroupType,
    UserStatus,
    UserType,
)
from schema.fields import (
    INHERITED,
    column,
    computed,
    connection,
    entity_type,
    implements,
    legacy_number,
    object_type,
    output_field,
    referenced,
    relation,
)
from schema.filters import build_filter_input, build_sort_enum
from schema.inputs import input_type, optional_copies, optional_field, required_field
from schema.scalars import ID, JSON, BigInt, DateTime
from schema.types.interfaces import AddressObject
from schema.types.marketplace import ReviewConnectionObject, VendorObject
from schema.types.media import ImageInput, ImageObject, image_relation
from schema.types.references import CustomerCart, OrderConnection, ProductConnection
from schema.types.rewards import PointEntryObject
from schema.unset import Unset

# CPF, CNPJ, phone and usergroups: only with a privilege, or one's own (vendors and customers see only their own rows).
_PERSONAL_DATA = Access(privileges=("view_users",), vendor=True, customer=True)


@entity_type(USERGROUPS, "Usergroup", key="usergroup_id", times="created_at updated_at")
class UsergroupObject:
    """A usergroup."""

    name: str = column(description="The name.")
    type: UsergroupType = column(description="`A` for administrators, `C` for customers.")
    status: UsergroupStatus = column(description="The status code.")
    privileges: list[str] = column(description="The privileges granted to members.")


@entity_type(MEMBERSHIPS, "UsergroupMembership")
class UsergroupMembershipObject:
    """A user's membership in a usergroup."""

    id: ID = column("public_id", "The unique ID (UUID).")
    status: MembershipStatus = column(description="The status code.")
    usergroup_number: BigInt = column("usergroup_id", "The legacy numeric ID of the group.", internal=True)
    usergroup: UsergroupObject | None = relation(ToOne("usergroup_id"), "The group.")
    created_at: DateTime = column(description="When the membership was created.")


@entity_type(USERS, "User", key="user_id", times="created_unix")
class UserObject:
    """A user account."""

    name: str = column(description="First and last name.")
    firstname: str = column(description="The first name.")
    lastname: str = column(description="The last name.")
    email: str | None = column(description="The e-mail address; null for an anonymized account.")
    role: Role = column("user_type", "`admin`, `vendor` or `customer`.")
    user_type: UserType = column(description="The role as a one-letter code.")
    status: UserStatus = column(description="The status code.")
    company_name: str = column(description="The company the customer buys for.")
    phone: str | None = column(description="The phone number, digits only.", guard=_PERSONAL_DATA, unset=Unset.NULL)
    cpf: str | None = column(description="The CPF, digits only.", guard=_PERSONAL_DATA, unset=Unset.NULL)
    cnpj: str | None = column(description="The CNPJ, without punctuation.", guard=_PERSONAL_DATA, unset=Unset.NULL)
    is_owner: bool = computed(IS_OWNER, "Whether the user owns the store.")
    email_verified: bool = computed("t.email_verified_at IS NOT NULL", "Whether the e-mail address was verified.")
    privileges: list[str] | None = column(
        description="The privileges granted directly to the user, excluding those of usergroups.",
        guard=Access(privileges=("view_users",)),
    )
    points: int = column(description="The reward points.")
    point_entries: list[PointEntryObject] | None = relation(
        ToMany("t.user_id", "t.created_at DESC, t.id DESC"), "The changes of the points, newest first.", limited="first"
    )
    image: ImageObject | None = image_relation("users", "The picture.")
    vendor_number: BigInt = legacy_number("vendor_id", "the user's vendor")
    vendor_name: str = computed(
        "coalesce((SELECT v.name FROM vendors v WHERE v.tenant_id = t.tenant_id AND v.id = t.vendor_id), '')",
        "The name of the user's vendor.",
        internal=True,
    )
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor a vendor user belongs to.")
    usergroups: list[UsergroupMembershipObject] | None = relation(
        ToMany("t.user_id", "t.usergroup_id"), "The user's usergroup memberships.", guard=_PERSONAL_DATA
    )
    orders: OrderConnection | None = connection(
        ToMany("t.user_id", "t.created_at DESC, t.id DESC"),
        "The user's orders, by default newest first.",
        ("-created_at", ORDERS.sorts["created_at"]),
        {"filter": build_filter_input(ORDERS, "OrderFilter"), "sort": build_sort_enum(ORDERS, "OrderSort")},
    )
    reviews: ReviewConnectionObject | None = connection(
        ToMany("t.user_id", "t.created_at DESC, t.id DESC"),
        "The user's reviews, newest first.",
        ("-created_at", REVIEWS.sorts["created_at"]),
    )
    wishlist: ProductConnection | None = connection(
        many_to_many(
            "wishlist_items", "user_id", "products", "product_id", "l.created_at DESC, l.id DESC", entity=PRODUCTS
        ),
        "The products that the user keeps for later, by default the one added last first; those that can't be opened are left out.",
        ("-added_at", Sort("l.id", "bigint", "place in the wishlist")),
        guard=_PERSONAL_DATA,
    )
    carts: list[CustomerCart] | None = relation(
        ToMany("t.user_id", "t.updated_at DESC, t.id DESC"),
        "The user's open carts, the one changed last first, with the amounts of that change.",
        limited="first",
    )
    addresses: list[SavedAddressObject] | None = relation(
        ToMany("t.user_id", "t.id"), "The addresses that the user saved, in the order they were saved."
    )
    default_shipping_address: SavedAddressObject | None = relation(
        ToMany("t.user_id", "t.id", where="t.is_default_shipping"), "The default address for shipping.", single=True
    )
    default_billing_address: SavedAddressObject | None = relation(
        ToMany("t.user_id", "t.id", where="t.is_default_billing"), "The default address for billing.", single=True
    )
    created_at: DateTime = column(description="When the account was created.")
    updated_at: DateTime = column(description="When the record was last updated.")
    last_login_at: DateTime | None = column(description="When the user last signed in.")


@input_type
@optional_copies(AddressObject, "firstname lastname street number complement district city state zipcode country phone")
class ProfileAddressInput:
    """Members of an address of a profile."""

    firstname: str | None = optional_field("The first name.")
    lastname: str | None = optional_field("The last name.")
    state: str | None = optional_field("The state: its code, or the name of a state of Brazil.")


@input_type
@optional_copies(
    UserObject, "email password name firstname lastname role user_type status phone cpf cnpj vendor_id company_name"
)
class UserInput:
    """A user account. `email` and `password` are required on creation."""

    email: str | None = optional_field("The e-mail address, unique in the store.")
    password: str | None = optional_field("The password, 8 to 128 characters.")
    name: str | None = optional_field("The full name, instead of `firstname` and `lastname`.")
    user_type: UserType | None = optional_field("The role as a one-letter code.", internal=True)
    phone: str | None = optional_field("The phone number.")
    cpf: str | None = optional_field("The CPF.")
    cnpj: str | None = optional_field("The CNPJ.")
    vendor_id: ID | None = optional_field("The vendor a vendor user belongs to.")
    default_billing_address: ProfileAddressInput | None = optional_field(
        "Members of the default address for billing.", internal=True
    )
    default_shipping_address: ProfileAddressInput | None = optional_field(
        "Members of the default address for shipping.", internal=True
    )
    points: int | None = optional_field("The reward points; the difference becomes an entry of the ledger.")
    image: ImageInput | None = optional_field("The picture; null removes it. A customer's is an uploaded file.")


@input_type
@optional_copies(UserInput, "email password name cpf cnpj phone")
class RegistrationInput:
    """A customer registration."""

    email: str | None = required_field("The e-mail address.")
    password: str | None = required_field("The password, 8 to 128 characters.")
    name: str | None = required_field("The full name.")


@input_type
class UsergroupInput:
    """A usergroup. `name` is required on creation."""

    name: str | None = optional_field("The name.")
    type: UsergroupType | None = optional_field("`A` for administrators, `C` for customers.")
    status: UsergroupStatus | None = optional_field("The status code.")
    privileges: list[str] | None = optional_field(
        "The privileges granted to members; limited to the caller's own privileges."
    )


@implements(AddressObject)
@entity_type(ADDRESSES, "SavedAddress")
class SavedAddressObject:
    """An address that a user saved."""

    id: ID = column("public_id", "The unique ID (UUID).")
    name: str = column(description="The recipient's name.")
    firstname: str = column(FIRSTNAME, "The first name.", internal=True)
    lastname: str = column(LASTNAME, "The last name.", internal=True)
    street: str = column(description="The street.")
    number: str = column(description="The street number.")
    complement: str = column(description="Apartment, floor, etc.")
    district: str = column(description="The district (bairro).")
    city: str = column(description="The city.")
    state: str = column(description="The state as it was sent: its code, or the name of a state of Brazil.")
    zipcode: str = column(description="The CEP, eight digits; outside Brazil the postal code.")
    country: str = column(description="The country code, ISO 3166 alpha-2.")
    phone: str = column(description="The phone number.")
    is_default_shipping: bool = column(description="Whether it is the user's default for shipping.")
    is_default_billing: bool = column(description="Whether it is the user's default for billing.")
    created_at: DateTime = column(description="When the address was saved.")
    updated_at: DateTime = column(description="When the record was last updated.")


@input_type
@optional_copies(SavedAddressObject, "name street number complement district city state zipcode country phone")
class SavedAddressInput:
    """A saved address. `zipcode` is required on creation."""

    state: str | None = optional_field("The state: its code, or the name of a state of Brazil.")
    zipcode: str | None = optional_field("The CEP.")
    country: str | None = optional_field("The country code, ISO 3166 alpha-2; defaults to `BR`.")


@entity_type(USER_SESSIONS, "UserSession")
class UserSessionObject:
    """An active session of a user, on one device."""

    id: ID = column("public_id", "The unique ID (UUID).")
    user_id: ID = column(referenced("users", "user_id"), "The user.")
    user: UserObject | None = relation(ToOne("user_id"), "The user.")
    created_at: DateTime = column(description="When the user signed in.")
    last_used_at: DateTime = column(description="When the session was last refreshed.")
    expires_at: DateTime = column(description="When the session expires unless it is refreshed.")
    ip_address: str = column(description="The client IP address of the last refresh.")
    user_agent: str = column(description="The user agent of the last refresh.")


@object_type("PersonExport", access=INHERITED)
class PersonExportObject:
    """A page of what the store knows of a person, of up to 1,000 records."""

    data: JSON = output_field("The records by table, with their columns; `id` is the UUID, `number` the number.")
    next: str | None = output_field("The argument `after` of the next page; null for the last page.")


@object_type("GuestErasure", access=INHERITED)
class GuestErasureObject:
    """The result of the erasure of a guest."""

    rows: BigInt = output_field("The number of records that were deleted or changed; 0 when there was nothing.")
    kept_orders: BigInt = output_field("The number of orders whose invoice data are kept for tax law.")
