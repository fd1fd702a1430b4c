"""Define orders with their lines, payments, shipments and statuses."""

from __future__ import annotations

import strawberry

from auth.access import Access
from domain.orders.read import (
    ALLOCATION_NAME,
    NEXT_STATUSES,
    ORDER_ALLOCATIONS,
    ORDER_INVOICE,
    ORDER_LANGUAGE,
    ORDERS,
    STATUSES,
    fiscal_sql,
)
from domain.payments.read import RECEIVED
from models.reading.queries import ToMany, ToOne
from schema.enums import (
    InventoryEffect,
    SalesPeriod,
    StatusType,
)
from schema.fields import (
    INHERITED,
    column,
    computed,
    embedded,
    entity_type,
    legacy_number,
    object_type,
    output_field,
    referenced,
    relation,
    unix_seconds,
)
from schema.inputs import input_type, optional_copies, optional_field
from schema.pagination import connection_type
from schema.scalars import ID, JSON, BigInt, DateTime, OrderStatus
from schema.types.catalog import ProductObject
from schema.types.gateway import ChargeObject
from schema.types.marketplace import VendorObject
from schema.types.options import CombinationObject
from schema.types.order_records import (
    BACK_OFFICE,
    STAFF_AND_VENDORS,
    OrderAddressObject,
    OrderCustomerRecordObject,
    OrderRecordObject,
    ShipmentObject,
)
from schema.types.payments import PaymentObject
from schema.types.people import UserObject
from schema.types.pricing import OrderTaxObject
from schema.types.rewards import IssuedCouponObject
from schema.types.tracking import CarrierQuoteObject
from schema.types.warehouses import WarehouseObject
from schema.unset import Unset

READ_SALES = Access(
    privileges=("view_orders",), app_scope="read_orders", vendor=True, note="A vendor sees its own shares."
)
_OWN_REWARDS = Access(privileges=("view_orders",), app_scope="read_orders", customer=True)


_CONTACT = Access(privileges=("view_orders",), vendor=True, customer=True)


@object_type("OrderCustomer")
class OrderCustomerObject(OrderCustomerRecordObject):
    """The customer data stored with an order."""

    phone: str | None = column("phone", "The phone number.", guard=_CONTACT, unset=Unset.NULL)
    company_name: str | None = column(
        description="The company that the customer ordered for; empty if not set.", guard=_CONTACT, unset=Unset.NULL
    )
    fax: str | None = column(description="The fax number; empty if not set.", guard=_CONTACT, unset=Unset.NULL)


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


@entity_type(ORDER_ALLOCATIONS, "OrderAllocation")
class OrderAllocationObject:
    """Units of an order that come from one warehouse."""

    warehouse_id: ID = computed(referenced("warehouses", "warehouse_id"), "The warehouse.")
    warehouse_name: str = computed(referenced("warehouses", "warehouse_id", "name"), "The name of the warehouse.")
    warehouse: WarehouseObject | None = relation(ToOne("warehouse_id"), "The warehouse.")
    product_id: ID = computed(referenced("products", "product_id"), "The product.")
    product: ProductObject | None = relation(ToOne("product_id"), "The product.")
    combination_id: ID | None = column(referenced("combinations", "combination_id"), "The combination of its options.")
    combination: CombinationObject | None = relation(ToOne("combination_id"), "The combination of its options.")
    name: str = computed(ALLOCATION_NAME, "The name of the product, with the values of its combination.")
    quantity: BigInt = column(description="The units, in all lines of the product or combination.")


@entity_type(ORDERS, "Order")
class OrderObject(OrderRecordObject):
    """An order. Amounts in cents of its currency."""

    customer: OrderCustomerObject = embedded("The customer who placed the order.")
    issued_coupons: list[IssuedCouponObject] | None = relation(
        ToMany("t.order_id", "t.id"),
        "The coupons that the order gives its customer, mailed once it is paid.",
        guard=_OWN_REWARDS,
    )
    allocations: list[OrderAllocationObject] | None = relation(
        ToMany("t.order_id", "t.id"),
        "The warehouses that its units come from, of products whose stock is divided among warehouses.",
        guard=STAFF_AND_VENDORS,
    )
    shipping_quote: CarrierQuoteObject = embedded(
        "What a carrier quoted for the order; empty for the price of a table."
    )
    details: str | None = column(description="Internal staff notes.", guard=BACK_OFFICE)
    origin: str | None = column(
        description="The channel the order was placed through.", guard=BACK_OFFICE, unset=Unset.NULL
    )
    ip_address: str | None = column(
        description="The client IP address the order was placed from.",
        guard=Access(privileges=("view_orders",)),
        unset=Unset.NULL,
    )
    imported: bool = column(description="Whether the order was imported from another system.")
    invoice: str = column(ORDER_INVOICE, "The number of the invoice.", internal=True)
    lang_code: str = column(ORDER_LANGUAGE, "The code of the store's first active language.", internal=True)
    fiscal_data: FiscalDataObject = embedded(
        "The data of the invoice (nota fiscal); its members are null where there are none."
    )
    fields: JSON | None = column(
        "fields_data",
        "Extra fields of any name, those of the invoice (nota fiscal) among them.",
        guard=STAFF_AND_VENDORS,
    )
    firstname: str = column(description="The customer's first name.", internal=True)
    lastname: str = column(description="The customer's last name.", internal=True)
    email: str = column(description="The customer's e-mail address.", internal=True)
    phone: str = column(description="The customer's phone number.", internal=True)
    company_name: str = column(description="The company that the customer ordered for.", internal=True)
    fax: str = column(description="The customer's fax number.", internal=True)
    user_number: BigInt = legacy_number("user_id", "the customer", "; 0 for a guest customer")
    vendor_number: BigInt = legacy_number("vendor_id", "the vendor", "; 0 for several vendors")
    payment_number: BigInt = legacy_number("payment_method_id", "the payment method", "")
    shipping_number: BigInt = legacy_number("shipping_method_id", "the shipping method", "")
    user: UserObject | None = relation(
        ToOne("user_id"), "The user account that placed the order.", guard=Access(privileges=("view_users",))
    )
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor, if all lines are from one vendor.")
    taxes: list[OrderTaxObject] = relation(
        ToMany("t.order_id", "t.position, t.id"), "The tax amounts, including taxes contained in the prices."
    )
    received_payments: list[PaymentObject] = relation(
        ToMany("t.order_id", "t.sequence, t.id", where=RECEIVED), "The payments received.", internal=True
    )
    charges: list[ChargeObject] = relation(ToMany("t.order_id", "t.id"), "The payment gateway charges, oldest first.")
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

    id: ID | None = optional_field("In place of `product_id`: a line of the order that `order_update` leaves as it is.")
    product_id: ID | None = optional_field("The product; not needed with `id`.")
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
    company_name: str | None = optional_field("The company that the customer orders for.")
    fax: str | None = optional_field("The customer's fax number.")
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
    allowed_next: list[OrderStatus] = computed(
        NEXT_STATUSES, "The statuses to which an order in this one may change; a vendor cancels from `O` and `B` only."
    )
    params: StatusParamsObject = embedded("What the status does.")


@object_type("PartSales", access=INHERITED)
class PartSalesObject:
    """The sales of an hour or a day."""

    begins_at: DateTime = output_field("When it begins.")
    orders: int = output_field("The number of orders.")
    total_cents: BigInt = output_field("Their sum, in cents; of a vendor its shares.")


@object_type("SalesSummary", access=READ_SALES)
class SalesSummaryObject:
    """The sales of a period; orders that were cancelled, declined or failed are none."""

    period: SalesPeriod = output_field("The period.")
    begins_at: DateTime = output_field("When it begins, in the store's time zone.")
    ends_at: DateTime = output_field("When it ends: the end of today.")
    orders: int = output_field("The number of orders.")
    total_cents: BigInt = output_field("Their sum, in cents; of a vendor its shares.")
    parts: list[PartSalesObject] = output_field("Its hours or days, each of them, in their order.", list_size=30)


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
