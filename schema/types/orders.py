"""Define orders with their lines, payments, shipments and statuses."""

from __future__ import annotations

import strawberry

from auth.access import Access
from domain.media.addresses import RowImageUrl
from domain.orders.read import (
    AMOUNTS,
    DELIVERY_TIME,
    ORDER_ADDRESSES,
    ORDER_HISTORY,
    ORDER_LANGUAGE,
    ORDER_LINE_CHOICES,
    ORDER_LINE_OPTIONS,
    ORDER_LINES,
    ORDERS,
    STATUSES,
    fiscal_sql,
)
from domain.payments.read import RECEIVED
from domain.shipping.read import ORDER_PLACED_AT, SHIPMENT_LINES, SHIPMENTS
from models.reading.queries import Condition, ToMany, ToOne
from schema.enums import (
    ActorKind,
    AddressKind,
    CommissionType,
    InventoryEffect,
    ModifierType,
    PaymentStatus,
    StatusType,
)
from schema.fields import (
    column,
    computed,
    embedded,
    entity_type,
    legacy_number,
    object_type,
    referenced,
    relation,
    unix_seconds,
)
from schema.inputs import input_type, optional_copies, optional_field
from schema.pagination import connection_type
from schema.scalars import ID, JSON, BigInt, DateTime, OrderStatus, ShipmentStatus
from schema.types.catalog import ProductObject
from schema.types.gateway import ChargeObject
from schema.types.marketplace import VendorObject
from schema.types.options import CombinationObject, OptionObject, OptionVariantObject
from schema.types.payments import PaymentObject
from schema.types.people import UserObject
from schema.types.pricing import OrderTaxObject, PaymentMethodObject, ShippingMethodObject
from schema.types.rewards import IssuedCouponObject
from schema.types.tracking import CarrierQuoteObject, TrackingEventObject

_BACK_OFFICE = Access(privileges=("view_orders",), app_scope="read_orders")
_STAFF_AND_VENDORS = Access(privileges=("view_orders",), app_scope="read_orders", vendor=True)
_OWN_REWARDS = Access(privileges=("view_orders",), app_scope="read_orders", customer=True)


@entity_type(ORDER_LINE_OPTIONS, "OrderLineOption")
class OrderLineOptionObject:
    """A chosen option of an order line."""

    option_id: ID = computed("t.choice ->> 'option_id'", "The option.")
    option: OptionObject | None = relation(
        ToOne("option_id"), "The option in its current state; null for callers without access to it."
    )
    name: str = computed("t.choice ->> 'name'", "The option's name at the time of purchase.")
    variant_id: ID | None = column("t.choice ->> 'variant_id'", "The variant; null for a text.")
    variant: OptionVariantObject | None = relation(
        ToOne("variant_id"), "The variant in its current state; null for a text, and for callers without access to it."
    )
    value: str = computed("t.choice ->> 'value'", "The variant's name at the time of purchase, or the text.")
    modifier: BigInt = computed(
        "(t.choice ->> 'modifier')::bigint",
        "What the variant added to the price: cents (`A`), or hundredths of a percent of the price (`P`).",
    )
    modifier_type: ModifierType = computed("t.choice ->> 'modifier_type'", "`A` absolute, `P` percentage.")


@entity_type(ORDER_LINES, "OrderLine", key="item_id")
class OrderLineObject:
    """A line of an order."""

    position: int = column(description="The position in the order, starting at 1.")
    product_id: ID | None = column(referenced("products", "product_id"), "The product, even if it was deleted later.")
    product_number: BigInt = legacy_number("product_id", "the product", "")
    vendor_number: BigInt = legacy_number("vendor_id", "the vendor")
    name: str = column("product_name", "The product name at the time of purchase.")
    sku: str = column("product_code", "The product SKU at the time of purchase.")
    quantity: BigInt = column(description="The number of units.")
    price_cents: BigInt = column(description="The unit price, in cents.")
    base_price_cents: BigInt = column(description="The catalog unit price at the time of purchase, in cents.")
    total_cents: BigInt = computed("t.quantity * t.price_cents", "The line total: quantity times unit price, in cents.")
    commission_cents: BigInt | None = column(
        description="The store's commission on the line as of the order, in cents; null for the store's own products and in older orders.",
        guard=_STAFF_AND_VENDORS,
    )
    commission: str | None = column(
        description="The rate of the commission, as of the order: a decimal string.", guard=_STAFF_AND_VENDORS
    )
    commission_type: CommissionType | None = column(
        description="Whether the rate is an amount per order, divided among the vendor's lines, or a percentage.",
        guard=_STAFF_AND_VENDORS,
    )
    shipped_quantity: BigInt = computed(
        "(SELECT coalesce(sum(sl.quantity), 0)::bigint FROM shipment_lines sl WHERE sl.tenant_id = t.tenant_id"
        " AND sl.order_line_id = t.id)",
        "The number of shipped units.",
    )
    options: list[OrderLineOptionObject] = relation(
        ToMany("l.id", "t.position", through=ORDER_LINE_CHOICES),
        "The chosen options at the time of purchase, in the order of the product's options.",
    )
    chosen: JSON = column(
        "options",
        "The chosen options as JSON: a list of `{option_id, name, variant_id, value, modifier, modifier_type}`.",
        deprecated="Use `options`, which is typed.",
    )
    combination: CombinationObject | None = relation(
        ToOne("combination_id"), "The chosen combination in its current state; the order line uses its stock."
    )
    extra: JSON | None = column(description="Notes of the staff on the line, an object.", guard=_STAFF_AND_VENDORS)
    product: ProductObject | None = relation(
        ToOne("product_id"), "The product in its current state; null for callers without access to it."
    )
    picture: JSON | None = column(
        lambda _: Condition(
            "(SELECT jsonb_build_object('number', i.id, 'product_number', i.product_id,"
            f" 'url', {RowImageUrl('url', 'i')().sql}, 'alt', i.alt,"
            " 'position', i.position, 'width', coalesce(nullif(f.width, 0), i.width),"
            " 'height', coalesce(nullif(f.height, 0), i.height)) FROM product_images i"
            " LEFT JOIN media_files f ON f.tenant_id = i.tenant_id AND f.id = i.media_id"
            " WHERE i.tenant_id = t.tenant_id AND i.product_id = t.product_id AND i.position = 0 LIMIT 1)"
        ),
        "The product's main image, for callers who see the order and not the catalog.",
        internal=True,
    )
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor that sold the product.")


@entity_type(ORDER_ADDRESSES, "OrderAddress")
class OrderAddressObject:
    """A billing or shipping address of an order."""

    kind: AddressKind = column(description="The purpose.")
    firstname: str = column(description="The first name.")
    lastname: str = column(description="The last name.")
    street: str = column(description="The street.")
    number: str = column(description="The street number.")
    complement: str = column(description="Apartment, floor, etc.")
    district: str = column(description="The district (bairro).")
    city: str = column(description="The city.")
    state: str = column(description="The state as it was sent: its code, or the name of a state of Brazil.")
    country: str = column(description="The country code, ISO 3166 alpha-2.")
    zipcode: str = column(description="The CEP.")
    phone: str = column(description="The phone number.")


@entity_type(ORDER_HISTORY, "OrderStatusChange")
class OrderStatusChangeObject:
    """A status change of an order."""

    at: DateTime = column(description="When the status changed.")
    from_status: OrderStatus | None = column(
        "nullif(t.from_status, '')", "The previous status; null when the order was placed."
    )
    to_status: OrderStatus = column(description="The new status.")
    forced: bool = column(description="Whether the change was forced, outside the allowed transitions.")
    reason: str = column(description="The reason for the change.")
    actor_kind: ActorKind = column(description="The kind of actor.")
    user_id: ID | None = column(referenced("users", "user_id"), "The user who changed the status.", guard=_BACK_OFFICE)
    user: UserObject | None = relation(ToOne("user_id"), "The user who changed the status.", guard=_BACK_OFFICE)
    user_number: BigInt | None = column("user_id", "The legacy numeric ID of the user.", internal=True)
    at_unix: BigInt = unix_seconds("at", "When the status changed")


@entity_type(SHIPMENT_LINES, "ShipmentLine")
class ShipmentLineObject:
    """The shipped units of an order line."""

    quantity: BigInt = column(description="The number of units.")
    line_number: BigInt = column("order_line_id", "The legacy numeric ID of the order line.", internal=True)
    line: OrderLineObject | None = relation(ToOne("order_line_id"), "The order line.")


@entity_type(SHIPMENTS, "Shipment", key="shipment_id")
class ShipmentObject:
    """A shipment of an order."""

    status: ShipmentStatus = column(description="The status code.")
    carrier: str = column(description="The carrier.")
    tracking_number: str = column(description="The tracking code.")
    shipping_name: str = column(description="The name of the shipping method.")
    comments: str = column(description="Comments on the shipment.")
    label_url: str | None = column(
        description="The address of the printable label; empty if not set.", guard=_STAFF_AND_VENDORS
    )
    tracking_events: list[TrackingEventObject] = relation(
        ToMany("t.shipment_id", "t.occurred_at, t.id"), "What the carrier reported, the first event first."
    )
    group_key: str = column(description="The shipping group of the order: `0` for the first vendor's lines.")
    lines: list[ShipmentLineObject] = relation(ToMany("t.shipment_id", "t.order_line_id"), "The shipment lines.")
    order_id: ID = column(referenced("orders", "order_id"), "The order.")
    order: OrderObject | None = relation(ToOne("order_id"), "The order.")
    order_number: BigInt = column("order_id", "The legacy numeric ID of the order.", internal=True)
    order_placed_at: DateTime = computed(ORDER_PLACED_AT, "When the order was placed, as reported to the carrier.")
    order_unix: BigInt = computed(
        f"floor(extract(epoch from {ORDER_PLACED_AT}))::bigint",
        "When the order was placed, in Unix seconds.",
        internal=True,
    )
    shipping_method: ShippingMethodObject | None = relation(ToOne("shipping_method_id"), "The shipping method.")
    shipping_number: BigInt = legacy_number("shipping_method_id", "the shipping method")
    user_id: ID | None = column(referenced("users", "user_id"), "The recipient's account; null for a guest customer.")
    user: UserObject | None = relation(ToOne("user_id"), "The recipient's account; null for a guest customer.")
    user_number: BigInt = legacy_number("user_id", "the recipient's account")
    created_at: DateTime = column(description="When the shipment was recorded.")
    updated_at: DateTime = column(description="When the record was last updated.")
    created_unix: BigInt = unix_seconds("created_at", "When the shipment was recorded")


@object_type("OrderCustomer")
class OrderCustomerObject:
    """The customer data stored with an order."""

    id: ID | None = column(referenced("users", "user_id"), "The user account; null for a guest customer.")
    name: str = computed("btrim(t.firstname || ' ' || t.lastname)", "First and last name.")
    email: str = column("email", "The e-mail address.")
    phone: str | None = column(
        "phone", "The phone number.", guard=Access(privileges=("view_orders",), vendor=True, customer=True)
    )


@object_type("FiscalData")
class FiscalDataObject:
    """The data of an order's invoice (nota fiscal), as an ERP returned them."""

    link_nota: str | None = column(fiscal_sql("link_nota"), "The URL of the invoice page.")
    codigo_pedido_erp: str | None = column(fiscal_sql("codigo_pedido_erp"), "The order's ID in the ERP.")
    chave_nota: str | None = column(
        fiscal_sql("chave_nota"), "The access key, 44 digits, with letters in the CNPJ only."
    )
    chave_nota_valid: bool | None = column(
        f"{fiscal_sql('chave_nota_valid')} = 'Y'",
        "Whether the check digit of the access key is right; null without a key.",
    )
    xml_nota: str | None = column(fiscal_sql("xml_nota"), "The invoice XML, or its URL.")
    pdf_nota: str | None = column(fiscal_sql("pdf_nota"), "The URL of the invoice PDF.")
    nota_fiscal: str | None = column(fiscal_sql("nota_fiscal"), "The invoice number.")
    base64_xml: str | None = column(fiscal_sql("base64_xml"), "The invoice XML in base64.")


@entity_type(ORDERS, "Order")
class OrderObject:
    """An order. Amounts in cents of its currency."""

    id: ID = column("public_id", "The unique ID (UUID).")
    number: BigInt = column("id", "The order number (the legacy `order_id`).")
    status: OrderStatus = column(description="The status code.")
    currency: str = column(description="The currency, ISO 4217.")
    subtotal_cents: BigInt = computed(AMOUNTS["subtotal_cents"], "The sum of the order lines, in cents.")
    discount_cents: BigInt = computed(AMOUNTS["discount_cents"], "The discount, in cents.")
    shipping_cents: BigInt = computed(AMOUNTS["shipping_cents"], "The shipping cost, in cents.")
    surcharge_cents: BigInt = computed(AMOUNTS["surcharge_cents"], "The payment method's surcharge, in cents.")
    tax_cents: BigInt = computed(AMOUNTS["tax_cents"], "Taxes not included in the prices, in cents.")
    total_cents: BigInt = computed(AMOUNTS["total_cents"], "The total to be paid, in cents.")
    refunded_cents: BigInt = computed(AMOUNTS["refunded_cents"], "The refunded amount, in cents.")
    payment_status: PaymentStatus = column(description="The payment status.")
    coupon_code: str = column(description="The coupon code used; empty if none.")
    points_spent: int = computed(AMOUNTS["points_spent"], "The reward points spent.")
    points_cents: BigInt = computed(
        AMOUNTS["points_cents"], "The worth of the spent points in cents, a part of the discount."
    )
    points_earned: int = computed(
        AMOUNTS["points_earned"], "The reward points that the customer gets once the order is paid."
    )
    issued_coupons: list[IssuedCouponObject] | None = relation(
        ToMany("t.order_id", "t.id"),
        "The coupons that the order gives its customer, mailed once it is paid.",
        guard=_OWN_REWARDS,
    )
    delivery_time: str = computed(
        DELIVERY_TIME,
        "The delivery time that was quoted for the order, such as `7 a 11 dias úteis`; empty if none.",
        shows="delivery_time",
    )
    shipping_quote: CarrierQuoteObject = embedded(
        "What a carrier quoted for the order; empty for the price of a table."
    )
    tracking_code: str | None = column(description="The tracking code of the latest shipment.")
    notes: str = column(description="The customer's notes.")
    details: str | None = column(description="Internal staff notes.", guard=_BACK_OFFICE)
    origin: str | None = column(description="The channel the order was placed through.", guard=_BACK_OFFICE)
    ip_address: str | None = column(
        description="The client IP address the order was placed from.", guard=Access(privileges=("view_orders",))
    )
    imported: bool = column(description="Whether the order was imported from another system.")
    lang_code: str = column(ORDER_LANGUAGE, "The code of the store's first active language.", internal=True)
    fiscal_data: FiscalDataObject = embedded(
        "The data of the invoice (nota fiscal); its members are null where there are none."
    )
    fields: JSON | None = column(
        "fields_data",
        "Extra fields of any name, those of the invoice (nota fiscal) among them.",
        guard=_STAFF_AND_VENDORS,
    )
    firstname: str = column(description="The customer's first name.", internal=True)
    lastname: str = column(description="The customer's last name.", internal=True)
    email: str = column(description="The customer's e-mail address.", internal=True)
    phone: str = column(description="The customer's phone number.", internal=True)
    user_number: BigInt = legacy_number("user_id", "the customer", "; 0 for a guest customer")
    vendor_number: BigInt = legacy_number("vendor_id", "the vendor", "; 0 for several vendors")
    payment_number: BigInt = legacy_number("payment_method_id", "the payment method", "")
    shipping_number: BigInt = legacy_number("shipping_method_id", "the shipping method", "")
    customer: OrderCustomerObject = embedded("The customer who placed the order.")
    user: UserObject | None = relation(
        ToOne("user_id"), "The user account that placed the order.", guard=Access(privileges=("view_users",))
    )
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor, if all lines are from one vendor.")
    items: list[OrderLineObject] = relation(ToMany("t.order_id", "t.position"), "The order lines.")
    addresses: list[OrderAddressObject] = relation(
        ToMany("t.order_id", "t.kind"), "The billing and shipping addresses."
    )
    billing_address: OrderAddressObject | None = relation(
        ToMany("t.order_id", "t.id", where="t.kind = 'B'"), "The billing address.", single=True
    )
    shipping_address: OrderAddressObject | None = relation(
        ToMany("t.order_id", "t.id", where="t.kind = 'S'"), "The shipping address.", single=True
    )
    payment_method: PaymentMethodObject | None = relation(ToOne("payment_method_id"), "The payment method.")
    shipping_method: ShippingMethodObject | None = relation(ToOne("shipping_method_id"), "The shipping method.")
    history: list[OrderStatusChangeObject] = relation(ToMany("t.order_id", "t.id"), "The status history, oldest first.")
    taxes: list[OrderTaxObject] = relation(
        ToMany("t.order_id", "t.position, t.id"), "The tax amounts, including taxes contained in the prices."
    )
    payments: list[PaymentObject] = relation(ToMany("t.order_id", "t.sequence, t.id"), "The payments, oldest first.")
    received_payments: list[PaymentObject] = relation(
        ToMany("t.order_id", "t.sequence, t.id", where=RECEIVED), "The payments received.", internal=True
    )
    charges: list[ChargeObject] = relation(ToMany("t.order_id", "t.id"), "The payment gateway charges, oldest first.")
    shipments: list[ShipmentObject] = relation(ToMany("t.order_id", "t.id"), "The shipments.")
    created_at: DateTime = column(description="When the order was placed.")
    updated_at: DateTime = column(description="When the record was last updated.")
    created_unix: BigInt = unix_seconds("created_at", "When the order was placed")
    updated_unix: BigInt = unix_seconds("updated_at", "When the record was last updated")


OrderConnectionObject = connection_type(OrderObject, "Order")


@input_type
@optional_copies(
    OrderAddressObject, "firstname lastname street number complement district city state country zipcode phone"
)
class AddressInput:
    """A billing or shipping address."""

    state: str | None = optional_field("The state: its code, or the name of a state of Brazil.")


@input_type
class OrderItemInput:
    """An order line."""

    product_id: ID = strawberry.field(description="The product.")
    quantity: BigInt = strawberry.field(description="The number of units, 1 or more.")
    price_cents: BigInt | None = optional_field("The unit price, in cents; only administrators may set it.")
    options: JSON | None = optional_field(
        "The chosen options: an object of option ID to variant ID, or to a text for free-text options."
    )
    extra: JSON | None = optional_field("Notes of the staff on the line, an object.")


@input_type
class OrderInput:
    """An order. `items` and either `customer_id` or `email` are required on creation."""

    customer_id: ID | None = optional_field("The customer's account.")
    email: str | None = optional_field("The customer's e-mail address; sufficient for a guest customer.")
    firstname: str | None = optional_field("The customer's first name.")
    lastname: str | None = optional_field("The customer's last name.")
    phone: str | None = optional_field("The customer's phone number.")
    items: list[OrderItemInput] | None = optional_field(
        "The order lines. On update they replace all lines, while the order status is `O` or `B`."
    )
    payment_method_id: ID | None = optional_field("The payment method.")
    shipping_method_id: ID | None = optional_field("The shipping method.")
    billing_address: AddressInput | None = optional_field("The billing address.")
    shipping_address: AddressInput | None = optional_field("The shipping address.")
    status: OrderStatus | None = optional_field("The status code.")
    coupon_code: str | None = optional_field("The coupon code; ignored on update.")
    points_to_use: int | None = optional_field(
        "The customer's reward points to be spent, at most as many as the order needs; ignored on update."
    )
    notes: str | None = optional_field("The customer's notes.")
    details: str | None = optional_field("Internal staff notes.")
    tracking_code: str | None = optional_field("The tracking code.")
    ip_address: str | None = optional_field("The client IP address the order was placed from.")
    fields: JSON | None = optional_field(
        "Extra fields, an object of any names; on update they are added to the existing ones."
    )
    vendor_id: ID | None = optional_field("The vendor that every line of a new order must be of.", internal=True)
    restock: bool | None = optional_field(
        "Whether a cancellation returns the stock of a completed order.", internal=True
    )


@input_type
@optional_copies(FiscalDataObject, "link_nota codigo_pedido_erp chave_nota xml_nota pdf_nota nota_fiscal base64_xml")
class FiscalDataInput:
    """The data of an order's invoice (nota fiscal). Null removes a field."""

    chave_nota: str | None = optional_field(
        "The access key, 44 digits, with letters in the CNPJ only; spaces are removed."
    )


@input_type
class ShipmentLineInput:
    """The shipped units of an order line."""

    line_id: ID = strawberry.field(description="The order line.")
    quantity: BigInt = strawberry.field(description="The number of units.")


@input_type
@optional_copies(
    ShipmentObject, "order_id lines shipping_method_id shipping_name carrier tracking_number comments label_url status"
)
class ShipmentInput:
    """A shipment. `order_id` is required on creation; without `lines` it contains all unshipped units."""

    lines: list[ShipmentLineInput] | None = optional_field("The shipment lines.")
    shipping_method_id: ID | None = optional_field("The shipping method.")
    user_id: ID | None = optional_field("The recipient's account; defaults to the order's customer.")
    group_key: str | None = optional_field("The shipping group of the order.")
    order_status: OrderStatus | None = optional_field("The new status of the order.")
    order_placed_at: DateTime | None = optional_field(
        "When the order was placed, as reported to the carrier; defaults to the order's own time."
    )


@object_type("StatusParams")
class StatusParamsObject:
    """What a status does."""

    inventory: InventoryEffect | None = column(
        "inventory", "The stock rule: `D` orders in this status reserve stock, `I` they release it; null for shipments."
    )
    notify: bool = column("notify", "Whether a status change notifies the customer.")


@entity_type(STATUSES, "Status", key="status_id", times="created_at updated_at")
class StatusObject:
    """An order or shipment status."""

    letter: str = column(description="The one-letter status code.")
    type: StatusType = column(description="What it belongs to.")
    description: str = column(description="The display name.")
    is_built_in: bool = column("built_in", "Whether the status is built in and can't be deleted.")
    color: str = column(description="The display colour, such as `#1f7ae0`.")
    position: int = column(description="The sort position.")
    params: StatusParamsObject = embedded("What the status does.")


@input_type
class StatusParamsInput:
    """The parameters of a status."""

    inventory: InventoryEffect | None = optional_field(
        "The stock rule, for orders only: `D` orders in this status reserve stock, `I` they release it.",
        text_internally=True,
    )
    notify: bool | None = optional_field("Whether a status change notifies the customer.")


@input_type
class StatusInput:
    """An order or shipment status. `description` is required on creation."""

    letter: str | None = optional_field("The status code, an unused capital letter; defaults to the first unused one.")
    type: StatusType | None = optional_field("What it belongs to.", text_internally=True)
    description: str | None = optional_field("The display name.")
    color: str | None = optional_field("The display colour, such as `#1f7ae0`.")
    position: int | None = optional_field("The sort position.")
    params: StatusParamsInput | None = optional_field("The parameters of the status.")
