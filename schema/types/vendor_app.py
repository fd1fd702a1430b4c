"""Define what a vendor's app is shown: its beginning, its dashboard, what became of what it asked for."""

from __future__ import annotations

import strawberry

from auth.access import Access
from schema.fields import INHERITED, part
from schema.scalars import BigInt, Ident, OrderStatus, Time
from schema.types.sessions import ANYBODY

VENDORS_ONLY = Access(admin=False, vendor=True, note="A vendor sees its own business.")


@part("VendorToken", "A Bearer token of the vendor app.", access=ANYBODY)
class VendorTokenObject:
    """A token, its life, and whom it stands for."""

    token: str = strawberry.field(description="The token.")
    ttl: BigInt = strawberry.field(description="How many seconds it is good.")
    user_number: BigInt = strawberry.field(description="The legacy number of the user.")
    vendor_number: BigInt = strawberry.field(description="The legacy number of the vendor.")
    expires_unix: BigInt = strawberry.field(description="Unix seconds of its end.")


@part("VendorSignedUp", "Who applied for a place in the marketplace.", access=ANYBODY)
class VendorSignedUpObject:
    """A vendor and its first user, who await approval."""

    vendor_number: BigInt = strawberry.field(description="The legacy number of the vendor.")
    user_number: BigInt = strawberry.field(description="The legacy number of the user.")
    status: str = strawberry.field(description="`P`: both await approval.")


@part("Choice", "A code and what people call it.", access=INHERITED)
class ChoiceObject:
    """One of several things to choose from."""

    code: str = strawberry.field(description="The code.")
    name: str = strawberry.field(description="The name.")


@part("VendorAppMenu", "An entry of the app's menu.", access=INHERITED)
class VendorAppMenuObject:
    """A part of the app."""

    code: str = strawberry.field(description="The code.")
    name: str = strawberry.field(description="What the app writes on it.")
    route: str = strawberry.field(description="The route of the vendor app that fills it.")


@part("VendorAppStart", "What a vendor's app needs to begin.", access=VENDORS_ONLY)
class VendorAppStartObject:
    """The store, its words, and what the vendor may do."""

    app_name: str = strawberry.field(description="The app's name.")
    app_version: str = strawberry.field(description="The version of the interface.")
    app_min_version: str = strawberry.field(description="The oldest app that works with it.")
    store_name: str = strawberry.field(description="The store's name.")
    store_currency: str = strawberry.field(description="The currency of all its money, ISO 4217.")
    store_logo: str = strawberry.field(description="The address of its logo; empty for none.")
    languages: list[ChoiceObject] = strawberry.field(description="The languages of the store.")
    currencies: list[ChoiceObject] = strawberry.field(description="Its currencies with their symbols.")
    order_statuses: list[ChoiceObject] = strawberry.field(description="The letters of orders.")
    product_statuses: list[ChoiceObject] = strawberry.field(description="The letters of products.")
    menus: list[VendorAppMenuObject] = strawberry.field(description="The parts of the app.")
    permissions: list[str] = strawberry.field(description="What the vendor may do.")
    support_email: str = strawberry.field(description="Where to write for help; empty for nowhere.")
    support_phone: str = strawberry.field(description="Whom to call for help; empty for nobody.")


@part("VendorShelves", "A vendor's products, counted.", access=INHERITED)
class VendorShelvesObject:
    """How the shelves stand."""

    total: BigInt = strawberry.field(description="How many products there are.")
    active: BigInt = strawberry.field(description="How many are active.")
    out_of_stock: BigInt = strawberry.field(description="How many have nothing left to sell.")


@part("OrderTally", "Orders of a status, counted.", access=INHERITED)
class OrderTallyObject:
    """How many orders bear a letter."""

    status: OrderStatus = strawberry.field(description="The status letter.")
    orders: BigInt = strawberry.field(description="How many orders.")


@part("SalesDay", "The sales of a day.", access=INHERITED)
class SalesDayObject:
    """A day with sales."""

    date: Time = strawberry.field(description="When the day begins, UTC.")
    date_unix: BigInt = strawberry.field(description="The same in Unix seconds.")
    total_cents: BigInt = strawberry.field(description="The vendor's share of its orders, in cents.")
    orders: BigInt = strawberry.field(description="How many orders.")


@part("VendorDashboard", "How a vendor's business goes.", access=VENDORS_ONLY)
class VendorDashboardObject:
    """Sums over the orders of a span of time, and what stands now."""

    sales_cents: BigInt = strawberry.field(
        description="The vendor's share of all orders that were not declined, failed or cancelled, in cents."
    )
    order_count: BigInt = strawberry.field(description="How many orders that is.")
    average_ticket_cents: BigInt = strawberry.field(description="Sales by order, in cents.")
    balance_cents: BigInt = strawberry.field(
        description="Its share of all paid orders ever (`P`, `C`) less the commission, in cents."
    )
    products: VendorShelvesObject = strawberry.field(description="How the shelves stand.")
    orders_by_status: list[OrderTallyObject] = strawberry.field(
        description="All orders of the span, by status."
    )
    days: list[SalesDayObject] = strawberry.field(description="The days with sales, the earliest first.")


@part("BulkDeletion", "What became of records that were to be deleted.", access=INHERITED)
class BulkDeletionObject:
    """Those deleted and those that there were not."""

    deleted: list[Ident] = strawberry.field(description="The ids given that named a record, now deleted.")
    deleted_numbers: list[BigInt] = strawberry.field(description="The legacy numbers of those deleted.")
    not_found: list[Ident] = strawberry.field(
        description="The ids given that name none, or one the caller may not delete."
    )
