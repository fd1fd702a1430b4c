"""Define what every view of an order shows: `OrderRecord`, its lines, addresses, status history and shipments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from auth.access import Access
from domain.media.addresses import RowImageUrl
from domain.media.option_files import option_file_record
from domain.order_access import AMOUNTS, TRACKING_CODE
from domain.orders.read import (
    DELIVERY_TIME,
    ORDER_ADDRESSES,
    ORDER_HISTORY,
    ORDER_LINE_CHOICES,
    ORDER_LINE_OPTIONS,
    ORDER_LINES,
)
from domain.shipping.read import ORDER_PLACED_AT, SHIPMENT_LINES, SHIPMENTS
from kernel.scope import Scope
from models.reading.queries import Condition, Row, ToMany, ToOne
from schema.enums import ActorKind, AddressKind, CommissionType, ModifierType, PaymentStatus
from schema.fields import (
    calculated,
    column,
    computed,
    embedded,
    entity_type,
    implements,
    interface_type,
    legacy_number,
    referenced,
    relation,
    unix_seconds,
)
from schema.scalars import ID, JSON, BigInt, DateTime, OrderStatus, ShipmentStatus
from schema.types.catalog import ProductObject
from schema.types.interfaces import AddressObject
from schema.types.marketplace import VendorObject
from schema.types.media import OptionFileObject
from schema.types.options import CombinationObject, OptionObject, OptionVariantObject
from schema.types.payments import PaymentObject
from schema.types.people import UserObject
from schema.types.pricing import PaymentMethodObject, ShippingMethodObject
from schema.types.references import Order
from schema.types.tracking import TrackingEventObject
from schema.unset import Unset

BACK_OFFICE = Access(privileges=("view_orders",), app_scope="read_orders")
STAFF_AND_VENDORS = Access(privileges=("view_orders",), app_scope="read_orders", vendor=True)


async def _files(scope: Scope, options: Sequence[str | None]) -> list[Any]:
    records = [option and option_file_record(scope, orjson.loads(option)) for option in options]
    return [record and Row(record) for record in records]


async def _custom_files(scope: Scope, values: Sequence[str | None]) -> list[str | None]:
    lines = [None if value is None else _custom_files_of(scope, orjson.loads(value)) for value in values]
    return [None if line is None else orjson.dumps(line).decode() for line in lines]


def _custom_files_of(scope: Scope, options: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    files: dict[str, Any] = {}
    for option in options:
        record = option_file_record(scope, option)
        assert record is not None
        file = {
            "name": record["file_name"],
            "type": record["mime_type"],
            "size": str(record["bytes"]),
            "url": record["url"],
        }
        files[str(option["number"])] = [file]
    return files


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
    file: OptionFileObject | None = calculated(
        "CASE WHEN t.choice ? 'file' THEN t.choice::text END",
        _files,
        "The file of the shopper; null unless one was uploaded.",
    )
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
    sku: str = column("product_code", "The product SKU at the time of purchase.", unset=Unset.LATER)
    quantity: BigInt = column(description="The number of units.")
    in_advance: bool = column(
        description="Whether it was sold in advance: before the product was available, or beyond its stock."
    )
    price_cents: BigInt = column(description="The unit price, in cents.")
    base_price_cents: BigInt = column(description="The catalog unit price at the time of purchase, in cents.")
    total_cents: BigInt = computed("t.quantity * t.price_cents", "The line total: quantity times unit price, in cents.")
    commission_cents: BigInt | None = column(
        description="The store's commission on the line as of the order, in cents; null for the store's own products and in older orders.",
        guard=STAFF_AND_VENDORS,
    )
    commission: str | None = column(
        description="The rate of the commission, as of the order: a decimal string.", guard=STAFF_AND_VENDORS
    )
    commission_type: CommissionType | None = column(
        description="Whether the rate is an amount per order, divided among the vendor's lines, or a percentage.",
        guard=STAFF_AND_VENDORS,
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
    extra: JSON | None = column(description="Notes of the staff on the line, an object.", guard=STAFF_AND_VENDORS)
    custom_files: str | None = calculated(
        "(SELECT jsonb_agg(o.choice || jsonb_build_object('number', x.id))::text FROM jsonb_array_elements(t.options) AS o (choice)"
        " JOIN options x ON x.tenant_id = t.tenant_id AND x.public_id = (o.choice ->> 'option_id')::uuid WHERE o.choice ? 'file')",
        _custom_files,
        "The files of the shopper by option, as CS-Cart names them, in JSON; null for none.",
        internal=True,
    )
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


@implements(AddressObject)
@entity_type(ORDER_ADDRESSES, "OrderAddress")
class OrderAddressObject:
    """A billing or shipping address of an order."""

    kind: AddressKind = column(description="The purpose.")
    name: str = computed("btrim(t.firstname || ' ' || t.lastname)", "First and last name.")
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
    reason: str | None = column(
        description="The reason for the change, in words of the staff.", guard=STAFF_AND_VENDORS, unset=Unset.NULL
    )
    actor_kind: ActorKind = column(description="The kind of actor.")
    user_id: ID | None = column(referenced("users", "user_id"), "The user who changed the status.", guard=BACK_OFFICE)
    user: UserObject | None = relation(ToOne("user_id"), "The user who changed the status.", guard=BACK_OFFICE)
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
    carrier: str = column(description="The carrier.", unset=Unset.LATER)
    tracking_number: str = column(description="The tracking code.", unset=Unset.LATER)
    shipping_name: str = column(description="The name of the shipping method.")
    comments: str = column(description="Comments on the shipment.")
    label_url: str | None = column(
        description="The address of the printable label; empty if not set.", guard=STAFF_AND_VENDORS, unset=Unset.NULL
    )
    tracking_events: list[TrackingEventObject] = relation(
        ToMany("t.shipment_id", "t.occurred_at, t.id"), "What the carrier reported, the first event first."
    )
    group_key: str = column(description="The shipping group of the order: `0` for the first vendor's lines.")
    lines: list[ShipmentLineObject] = relation(ToMany("t.shipment_id", "t.order_line_id"), "The shipment lines.")
    order_id: ID = column(referenced("orders", "order_id"), "The order.")
    order: Order | None = relation(ToOne("order_id"), "The order.")
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


@interface_type("OrderCustomerRecord")
class OrderCustomerRecordObject:
    """The customer of an order, as far as the caller may know who it is."""

    id: ID | None = column(referenced("users", "user_id"), "The user account; null for a guest customer.")
    name: str = computed("btrim(t.firstname || ' ' || t.lastname)", "First and last name.")
    email: str = column(description="The e-mail address.")


@interface_type("OrderRecord")
class OrderRecordObject:
    """What `Order` and `PlacedOrder` have in common. Amounts in cents of its currency."""

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
    coupon_code: str = column(description="The coupon code used; empty if none.", unset=Unset.LATER)
    points_spent: int = computed(AMOUNTS["points_spent"], "The reward points spent.")
    points_cents: BigInt = computed(
        AMOUNTS["points_cents"], "The worth of the spent points in cents, a part of the discount."
    )
    points_earned: int = computed(
        AMOUNTS["points_earned"], "The reward points that the customer gets once the order is paid."
    )
    delivery_time: str = computed(
        DELIVERY_TIME,
        "The delivery time that was quoted for the order, such as `7 a 11 dias úteis`; empty if none.",
        shows="delivery_time",
        unset=Unset.LATER,
    )
    tracking_code: str | None = column(TRACKING_CODE, "The tracking code of the latest shipment.")
    notes: str = column(description="The customer's notes.")
    customer: OrderCustomerRecordObject = embedded("The customer who placed the order.")
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
    payment_method: PaymentMethodObject | None = relation(
        ToOne("payment_method_id"), "The payment method with its instructions."
    )
    shipping_method: ShippingMethodObject | None = relation(ToOne("shipping_method_id"), "The shipping method.")
    history: list[OrderStatusChangeObject] = relation(ToMany("t.order_id", "t.id"), "The status history, oldest first.")
    payments: list[PaymentObject] = relation(ToMany("t.order_id", "t.sequence, t.id"), "The payments, oldest first.")
    shipments: list[ShipmentObject] = relation(ToMany("t.order_id", "t.id"), "The shipments.")
    created_at: DateTime = column(description="When the order was placed.")
    updated_at: DateTime = column(description="When the record was last updated.")
