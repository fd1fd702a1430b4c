"""Define the types of the vendor app: configuration, dashboard, results."""

from __future__ import annotations

from auth.access import Access
from schema.enums import VendorStatus
from schema.fields import INHERITED, object_type, output_field
from schema.inputs import input_type, optional_field, required_field
from schema.scalars import ID, BigInt, DateTime, OrderStatus
from schema.types.sessions import ANYONE
from schema.unset import Unset

VENDORS_ONLY = Access(admin=False, vendor=True, note="A vendor sees only its own data.")


@object_type("VendorToken", access=ANYONE)
class VendorTokenObject:
    """A Bearer token of the vendor app."""

    token: str = output_field("The token.")
    ttl: BigInt = output_field("The lifetime in seconds.")
    user_number: BigInt = output_field("The legacy numeric ID of the user.")
    vendor_number: BigInt = output_field("The legacy numeric ID of the vendor.")
    expires_unix: BigInt = output_field("When the token expires, in Unix seconds.")


@object_type("VendorSignedUp", access=ANYONE)
class VendorSignedUpObject:
    """A newly registered vendor awaiting approval."""

    vendor_number: BigInt = output_field("The legacy numeric ID of the vendor.", internal=True)
    user_number: BigInt = output_field("The legacy numeric ID of the user.", internal=True)
    status: VendorStatus = output_field("The status of vendor and user: `P`, pending approval.")


@object_type("Choice", access=INHERITED)
class ChoiceObject:
    """A code with its display name."""

    code: str = output_field("The code.")
    name: str = output_field("The name.")


@object_type("VendorAppMenu", access=INHERITED)
class VendorAppMenuObject:
    """A menu entry of the vendor app."""

    code: str = output_field("The code.")
    name: str = output_field("The label of the entry.")
    route: str = output_field("The vendor app route of the entry.")


@object_type("VendorAppStart", access=VENDORS_ONLY)
class VendorAppStartObject:
    """The initial configuration of the vendor app."""

    app_name: str = output_field("The app's name.")
    app_version: str = output_field("The version of the API.")
    app_min_version: str = output_field("The minimum supported app version.")
    store_name: str = output_field("The name of the store.")
    store_currency: str = output_field("The store currency, ISO 4217.")
    store_logo: str = output_field("The logo URL; empty if not set.", unset=Unset.LATER)
    languages: list[ChoiceObject] = output_field("The store languages.")
    currencies: list[ChoiceObject] = output_field("The store currencies with their symbols.")
    order_statuses: list[ChoiceObject] = output_field("The order statuses.")
    product_statuses: list[ChoiceObject] = output_field("The product statuses.")
    menus: list[VendorAppMenuObject] = output_field("The menu entries.")
    permissions: list[str] = output_field("The vendor's permissions.")
    support_email: str = output_field("The support e-mail address; empty if not set.", unset=Unset.LATER)
    support_phone: str = output_field("The support phone number; empty if not set.", unset=Unset.LATER)


@object_type("VendorProductCounts", access=INHERITED)
class VendorProductCountsObject:
    """Product counts of a vendor."""

    total: BigInt = output_field("The total number of products.")
    active: BigInt = output_field("The number of active products.")
    out_of_stock: BigInt = output_field("The number of products out of stock.")


@object_type("VendorShelves", access=INHERITED)
class VendorShelvesObject(VendorProductCountsObject):
    """Product counts of a vendor, under the type's earlier name."""


@object_type("OrderTally", access=INHERITED)
class OrderTallyObject:
    """The number of orders by status."""

    status: OrderStatus = output_field("The status code.")
    orders: BigInt = output_field("The number of orders.")


@object_type("SalesDay", access=INHERITED)
class SalesDayObject:
    """Daily sales."""

    date: DateTime = output_field("The start of the day, UTC.")
    date_unix: BigInt = output_field("The start of the day, in Unix seconds.")
    total_cents: BigInt = output_field("The vendor's share of the orders, in cents.")
    orders: BigInt = output_field("The number of orders.")


@object_type("VendorDashboard", access=VENDORS_ONLY)
class VendorDashboardObject:
    """Sales statistics of a vendor."""

    sales_cents: BigInt = output_field("The vendor's sales, excluding declined, failed and cancelled orders, in cents.")
    order_count: BigInt = output_field("The number of these orders.")
    average_ticket_cents: BigInt = output_field("The average order value, in cents.")
    balance_cents: BigInt = output_field(
        "The sum of the vendor's account in the ledger: its shares of paid orders, less commission, refunds and payouts, in cents."
    )
    product_counts: VendorProductCountsObject = output_field("The product counts.")
    products: VendorShelvesObject = output_field("The product counts.", deprecated="Use `product_counts`.")
    orders_by_status: list[OrderTallyObject] = output_field("The number of orders in the period, by status.")
    days: list[SalesDayObject] = output_field("The days with sales, earliest first.")


@object_type("BulkDeletion", access=INHERITED)
class BulkDeletionObject:
    """The result of a bulk deletion."""

    deleted: list[ID] = output_field("The IDs of the deleted records.")
    deleted_numbers: list[BigInt] = output_field("The legacy numeric IDs of the deleted records.")
    not_found: list[ID] = output_field("The IDs without a record the caller may delete.")


@input_type
class VendorSignupInput:
    """A vendor registration."""

    company: str | None = required_field("The trade name.")
    email: str | None = required_field("The e-mail address of the vendor and of its first user.")
    password: str | None = required_field("The password, 8 to 128 characters.")
    phone: str | None = optional_field("The phone number.")
    cnpj: str | None = optional_field("The CNPJ.")
    firstname: str | None = optional_field("The applicant's first name.")
    lastname: str | None = optional_field("The applicant's last name.")
