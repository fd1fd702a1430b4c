"""Define orders and what they hold, payments and shipments included."""

from __future__ import annotations

from auth.access import Access
from domain.orders.read import ORDER_ADDRESSES, ORDER_HISTORY, ORDER_LINES, ORDERS, vendors_share
from domain.payments.read import PAYMENT_METHODS, PAYMENTS
from domain.shipping.read import ORDER_PLACED_AT, SHIPMENT_LINES, SHIPMENTS, SHIPPING_METHODS
from models.reading import ToMany, ToOne
from schema.fields import column, embedded, entity, part, relation
from schema.scalars import (
    BigInt,
    Ident,
    Json,
    OrderStatus,
    ProcessorParams,
    ShipmentStatus,
    SwitchStatus,
    Time,
)
from schema.types.catalog import ProductObject
from schema.types.gateway import ChargeObject
from schema.types.marketplace import VendorObject
from schema.types.options import CombinationObject
from schema.types.people import UserObject
from schema.types.pricing import OrderTaxObject, ShippingRateObject, TaxObject

_BACK_OFFICE = Access(privileges=("view_orders",), app_scope="read_orders")
_PAYMENT_STAFF = Access(privileges=("view_payments",))


@entity(PAYMENT_METHODS, "PaymentMethod", "A way to pay.")
class PaymentMethodObject:
    """A row of `payment_methods`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`payment_id`).", internal=True)
    name: str = column(description="The name shown to buyers.")
    description: str = column(description="The description shown to buyers.")
    instructions: str = column(description="What the buyer is told after ordering.")
    status: SwitchStatus = column(description="The status letter.")
    position: int = column(description="The place in the list.")
    surcharge_cents: BigInt = column(description="What is added to an order, in cents.")
    surcharge_percent: BigInt = column(description="What is added to an order, in hundredths of a percent.")
    processor: str | None = column(
        description="Who takes the money: `pix`, `offline`, a gateway.", guard=_PAYMENT_STAFF
    )
    processor_params: ProcessorParams | None = column(
        description="The processor's settings, secrets shown as `****`; null when there are none.",
        guard=_PAYMENT_STAFF,
    )
    vendor_number: BigInt = column(
        "coalesce(t.vendor_id, 0)", "The legacy number of the vendor it belongs to, or 0.", internal=True
    )
    tax_numbers: list[BigInt] = column(
        "ARRAY(SELECT l.tax_id FROM payment_method_taxes l WHERE l.tenant_id = t.tenant_id AND l.payment_method_id = t.id"
        " ORDER BY l.tax_id)",
        "The legacy numbers of the taxes on it.",
        internal=True,
    )
    taxes: list[TaxObject] = relation(
        ToMany(
            "l.payment_method_id",
            "t.priority, t.id",
            through="payment_method_taxes l JOIN taxes t ON t.tenant_id = l.tenant_id AND t.id = l.tax_id",
            where="l.tenant_id = {tenant}",
        ),
        "The taxes that lie on its surcharge.",
    )
    settles_at_once: bool | None = column(
        description="Whether an order is paid as it is placed.", guard=_PAYMENT_STAFF
    )
    hold_minutes: int | None = column(
        description="How long a checkout waits for the payment, 0 for ever.", guard=_PAYMENT_STAFF
    )
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(PAYMENTS, "Payment", "Money received for an order.")
class PaymentObject:
    """A row of `payments`."""

    id: Ident = column("public_id", "The UUID.")
    kind: str = column(description="How it was paid: `credit_card`, `boleto`, `pix`, ….")
    installments: int = column(description="In how many parts.")
    amount_cents: BigInt = column(description="The amount in cents.")
    sequence: int = column(description="Its number among the order's payments.")
    order_id: Ident = column(
        "(SELECT o.public_id FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id)",
        "The order.",
    )
    created_at: Time = column(description="When it was received.")


@entity(SHIPPING_METHODS, "ShippingMethod", "A way to deliver.")
class ShippingMethodObject:
    """A row of `shipping_methods`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`shipping_id`).", internal=True)
    name: str = column(description="The name shown to buyers.")
    description: str = column(description="The description.")
    delivery_time: str = column(description="How long it takes, as text.")
    rate_calculation: str = column(description="`M` manual, `R` realtime.")
    min_weight_grams: BigInt = column(description="The lightest order it takes, in grams.")
    max_weight_grams: BigInt = column(description="The heaviest order it takes, in grams, 0 for any.")
    base_cents: BigInt = column(description="The price of a shipment in cents, before weight and items.")
    per_kg_cents: BigInt = column(description="What each kilogram adds, in cents.")
    per_item_cents: BigInt = column(description="What each item adds, in cents.")
    free_from_cents: BigInt | None = column(description="The order subtotal from which it is free, in cents.")
    rates: list[ShippingRateObject] = relation(
        ToMany("t.shipping_method_id", "t.destination_id, t.id"),
        "What it charges at single destinations; with any it serves these only.",
    )
    price_list: Json = column(
        "(SELECT coalesce(jsonb_agg(to_jsonb(x) ORDER BY x.destination_id), '[]') FROM ("
        "SELECT 0::bigint AS destination_id, t.base_cents AS base, t.per_kg_cents AS per_kg, t.per_item_cents AS per_item,"
        " 0::bigint AS max_weight WHERE t.base_cents + t.per_kg_cents + t.per_item_cents > 0"
        " UNION ALL SELECT r.destination_id, r.base_cents, r.per_kg_cents, r.per_item_cents, r.max_weight_grams"
        " FROM shipping_rates r WHERE r.tenant_id = t.tenant_id AND r.shipping_method_id = t.id) AS x)",
        "Its own prices (destination 0), where it has any, and its rates by the destinations' legacy numbers.",
        internal=True,
    )
    service: Json | None = column(
        description="What a realtime calculator needs to know.",
        guard=Access(privileges=("view_shipping",), app_scope="read_shipping"),
    )
    vendor_number: BigInt = column(
        "coalesce(t.vendor_id, 0)", "The legacy number of the vendor it belongs to, or 0.", internal=True
    )
    tax_numbers: list[BigInt] = column(
        "ARRAY(SELECT l.tax_id FROM shipping_method_taxes l WHERE l.tenant_id = t.tenant_id AND l.shipping_method_id = t.id"
        " ORDER BY l.tax_id)",
        "The legacy numbers of the taxes on it.",
        internal=True,
    )
    taxes: list[TaxObject] = relation(
        ToMany(
            "l.shipping_method_id",
            "t.priority, t.id",
            through="shipping_method_taxes l JOIN taxes t ON t.tenant_id = l.tenant_id AND t.id = l.tax_id",
            where="l.tenant_id = {tenant}",
        ),
        "The taxes that lie on its price.",
    )
    status: SwitchStatus = column(description="The status letter.")
    position: int = column(description="The place in the list.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(ORDER_LINES, "OrderLine", "Some units of one product at one price.")
class OrderLineObject:
    """A row of `order_lines`; names and codes as sold."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`item_id`).", internal=True)
    position: int = column(description="Its place in the order, from 1.")
    product_id: Ident | None = column(
        "(SELECT p.public_id FROM products p WHERE p.tenant_id = t.tenant_id AND p.id = t.product_id)",
        "The product, also when it was deleted since.",
    )
    product_number: BigInt = column(
        "coalesce(t.product_id, 0)", "The legacy number of the product.", internal=True
    )
    vendor_number: BigInt = column(
        "coalesce(t.vendor_id, 0)", "The legacy number of the vendor, or 0.", internal=True
    )
    name: str = column("product_name", "The product's name as sold.")
    sku: str = column("product_code", "The product's SKU as sold.")
    quantity: BigInt = column(description="How many units.")
    price_cents: BigInt = column(description="The price of a unit in cents.")
    base_price_cents: BigInt = column(
        description="The catalogue's price of a unit when it was sold, in cents."
    )
    total_cents: BigInt = column("t.quantity * t.price_cents", "Quantity times price, in cents.")
    shipped_quantity: BigInt = column(
        "(SELECT coalesce(sum(sl.quantity), 0)::bigint FROM shipment_lines sl WHERE sl.tenant_id = t.tenant_id"
        " AND sl.order_line_id = t.id)",
        "How many units were shipped.",
    )
    options: Json = column(
        description="What was chosen, as sold: a list of `{option_id, name, variant_id, value, modifier, modifier_type}`."
    )
    combination: CombinationObject | None = relation(
        ToOne("combination_id"), "The combination chosen, as it is today; its stock went into the order."
    )
    extra: Json = column(description="What the seller noted on the line.", internal=True)
    product: ProductObject | None = relation(
        ToOne("product_id"), "The product as it is today; null for callers who may not see it."
    )
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "Who sold it.")


@entity(ORDER_ADDRESSES, "OrderAddress", "Where an order is billed or shipped.")
class OrderAddressObject:
    """A row of `order_addresses`."""

    kind: str = column(description="`B` billing, `S` shipping.")
    firstname: str = column(description="The first name.")
    lastname: str = column(description="The last name.")
    street: str = column(description="The street.")
    number: str = column(description="The number in the street.")
    complement: str = column(description="Flat, floor, ….")
    district: str = column(description="The district (bairro).")
    city: str = column(description="The city.")
    state: str = column(description="The state, two letters.")
    country: str = column(description="The country, ISO 3166 code of two letters.")
    zipcode: str = column(description="The CEP.")
    phone: str = column(description="The phone number.")


@entity(ORDER_HISTORY, "OrderStatusChange", "One step of an order's life.")
class OrderStatusChangeObject:
    """A row of `order_status_changes`."""

    at: Time = column(description="When.")
    from_status: OrderStatus | None = column(
        "nullif(t.from_status, '')", "The letter before; null when it was placed."
    )
    to_status: OrderStatus = column(description="The letter after.")
    forced: bool = column(description="Whether the step is outside the table of transitions.")
    reason: str = column(description="Why.")
    actor_kind: str = column(
        description="Who: `admin`, `vendor`, `customer`, `app`, `storefront` or `system`."
    )
    user_id: Ident | None = column(
        "(SELECT u.public_id FROM users u WHERE u.tenant_id = t.tenant_id AND u.id = t.user_id)",
        "The person.",
        guard=_BACK_OFFICE,
    )
    user_number: BigInt | None = column("user_id", "The legacy number of the person.", internal=True)
    at_unix: BigInt = column("floor(extract(epoch from t.at))::bigint", "Unix seconds.", internal=True)


@entity(SHIPMENT_LINES, "ShipmentLine", "How many units of an order line a parcel holds.")
class ShipmentLineObject:
    """A row of `shipment_lines`."""

    quantity: BigInt = column(description="How many units.")
    line_number: BigInt = column("order_line_id", "The legacy number of the order line.", internal=True)
    line: OrderLineObject | None = relation(ToOne("order_line_id"), "The order line.")


@entity(SHIPMENTS, "Shipment", "A parcel of an order.")
class ShipmentObject:
    """A row of `shipments`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`shipment_id`).", internal=True)
    status: ShipmentStatus = column(description="The status letter.")
    carrier: str = column(description="Who carries it.")
    tracking_number: str = column(description="The carrier's code.")
    shipping_name: str = column(description="The name of the shipping method.")
    comments: str = column(description="Remarks.")
    group_key: str = column(description="The part of the order it is of: `0` for the first vendor's goods.")
    lines: list[ShipmentLineObject] = relation(ToMany("t.shipment_id", "t.order_line_id"), "What it holds.")
    order_id: Ident = column(
        "(SELECT o.public_id FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id)",
        "The order.",
    )
    order_number: BigInt = column("order_id", "The legacy number of the order.", internal=True)
    order_unix: BigInt = column(
        f"floor(extract(epoch from {ORDER_PLACED_AT}))::bigint",
        "Unix seconds of placing the order.",
        internal=True,
    )
    shipping_method: ShippingMethodObject | None = relation(ToOne("shipping_method_id"), "How it travels.")
    shipping_number: BigInt = column(
        "coalesce(t.shipping_method_id, 0)", "The legacy number of the shipping method, or 0.", internal=True
    )
    user_id: Ident | None = column(
        "(SELECT u.public_id FROM users u WHERE u.tenant_id = t.tenant_id AND u.id = t.user_id)",
        "Who it goes to; null for a guest.",
    )
    user_number: BigInt = column(
        "coalesce(t.user_id, 0)", "The legacy number of who it goes to, or 0.", internal=True
    )
    created_at: Time = column(description="When it was recorded.")
    updated_at: Time = column(description="When it was last changed.")
    created_unix: BigInt = column(
        "floor(extract(epoch from t.created_at))::bigint", "Unix seconds of recording.", internal=True
    )


@part("OrderCustomer", "Who placed an order, as the order itself tells.")
class OrderCustomerObject:
    """Columns of the order: its reader needs no right to user records."""

    id: Ident | None = column(
        "(SELECT u.public_id FROM users u WHERE u.tenant_id = t.tenant_id AND u.id = t.user_id)",
        "The account; null for a guest.",
    )
    name: str = column("btrim(t.firstname || ' ' || t.lastname)", "First and last name.")
    email: str = column("email", "The e-mail address.")
    phone: str | None = column(
        "phone", "The phone number.", guard=Access(privileges=("view_orders",), vendor=True, customer=True)
    )


@entity(ORDERS, "Order", "A purchase. Money in cents of its currency.")
class OrderObject:
    """A row of `orders`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The number shown to people (the legacy `order_id`).")
    status: OrderStatus = column(description="The status letter.")
    currency: str = column(description="The currency, ISO 4217.")
    subtotal_cents: BigInt = column(
        vendors_share("subtotal_cents", "ol.quantity * ol.price_cents"), "The sum of the lines, in cents."
    )
    discount_cents: BigInt = column(vendors_share("discount_cents", "0"), "What was taken off, in cents.")
    shipping_cents: BigInt = column(
        vendors_share("shipping_cents", "ol.shipping_cents"), "The price of shipping, in cents."
    )
    surcharge_cents: BigInt = column(
        vendors_share("surcharge_cents", "0"), "What the payment method adds, in cents."
    )
    tax_cents: BigInt = column(
        vendors_share("tax_cents", "0"), "Taxes that the prices don't include, in cents."
    )
    total_cents: BigInt = column(
        vendors_share("total_cents", "ol.quantity * ol.price_cents + ol.shipping_cents"),
        "What is to be paid, in cents.",
    )
    refunded_cents: BigInt = column(description="What was paid back, in cents.")
    payment_status: str = column(
        description="`unpaid`, `paid`, `partially_refunded`, `refunded` or `chargeback`."
    )
    coupon_code: str = column(description="The coupon it was placed with; empty for none.")
    tracking_code: str | None = column(description="The carrier's code of the latest parcel.")
    notes: str = column(description="What the buyer wrote.")
    details: str | None = column(description="What the staff wrote.", guard=_BACK_OFFICE)
    origin: str | None = column(description="The door it came through.", guard=_BACK_OFFICE)
    ip_address: str | None = column(
        description="The address it was placed from.", guard=Access(privileges=("view_orders",))
    )
    imported: bool = column(description="Whether it was imported from elsewhere.")
    fields: Json = column("fields_data", "Fiscal data and the like.", internal=True)
    firstname: str = column(description="The buyer's first name.", internal=True)
    lastname: str = column(description="The buyer's last name.", internal=True)
    email: str = column(description="The buyer's e-mail.", internal=True)
    phone: str = column(description="The buyer's phone.", internal=True)
    user_number: BigInt = column(
        "coalesce(t.user_id, 0)", "The legacy number of the buyer, 0 for a guest.", internal=True
    )
    vendor_number: BigInt = column(
        "coalesce(t.vendor_id, 0)", "The legacy number of the vendor, 0 for several.", internal=True
    )
    payment_number: BigInt = column(
        "coalesce(t.payment_method_id, 0)", "The legacy number of the payment method.", internal=True
    )
    shipping_number: BigInt = column(
        "coalesce(t.shipping_method_id, 0)", "The legacy number of the shipping method.", internal=True
    )
    shipment_numbers: list[BigInt] = column(
        "ARRAY(SELECT s.id FROM shipments s WHERE s.tenant_id = t.tenant_id AND s.order_id = t.id ORDER BY s.id)",
        "The legacy numbers of its shipments.",
        internal=True,
    )
    customer: OrderCustomerObject = embedded("Who placed it.")
    user: UserObject | None = relation(
        ToOne("user_id"), "The account that placed it.", guard=Access(privileges=("view_users",))
    )
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor, when all lines are of one.")
    items: list[OrderLineObject] = relation(ToMany("t.order_id", "t.position"), "What was bought.")
    addresses: list[OrderAddressObject] = relation(
        ToMany("t.order_id", "t.kind"), "Billing and shipping address."
    )
    billing_address: OrderAddressObject | None = relation(
        ToMany("t.order_id", "t.id", where="t.kind = 'B'"), "Where it is billed.", single=True
    )
    shipping_address: OrderAddressObject | None = relation(
        ToMany("t.order_id", "t.id", where="t.kind = 'S'"), "Where it is shipped.", single=True
    )
    payment_method: PaymentMethodObject | None = relation(ToOne("payment_method_id"), "How it is paid.")
    shipping_method: ShippingMethodObject | None = relation(ToOne("shipping_method_id"), "How it travels.")
    history: list[OrderStatusChangeObject] = relation(
        ToMany("t.order_id", "t.at, t.id"), "Its life, oldest first."
    )
    taxes: list[OrderTaxObject] = relation(
        ToMany("t.order_id", "t.position, t.id"), "What each tax took, those within the prices included."
    )
    payments: list[PaymentObject] = relation(ToMany("t.order_id", "t.sequence, t.id"), "Money received.")
    charges: list[ChargeObject] = relation(
        ToMany("t.order_id", "t.id"), "Its charges at the payment gateway, oldest first."
    )
    shipments: list[ShipmentObject] = relation(ToMany("t.order_id", "t.id"), "Its parcels.")
    created_at: Time = column(description="When it was placed.")
    updated_at: Time = column(description="When it was last changed.")
    created_unix: BigInt = column(
        "floor(extract(epoch from t.created_at))::bigint", "Unix seconds of placing.", internal=True
    )
    updated_unix: BigInt = column(
        "floor(extract(epoch from t.updated_at))::bigint", "Unix seconds of the last change.", internal=True
    )
