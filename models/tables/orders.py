"""Orders, their lines, addresses, status changes and statuses."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.tables.base import SoftDeletable, StoreModel


class Order(SoftDeletable, table="orders"):
    """An order. Amounts in cents; the internal id is the order number.

    `vendor` is set when all lines have the same one. `stock_state` is `R` reserved, `D` deducted or `N` none. `origin` is the API it was
    created through (`admin`, `app`, `legacy`, `storefront`, `import`). `payment_status` is `unpaid`, `paid`, `partially_refunded`,
    `refunded` or `chargeback`. At `hold_until` the stock reservation of an unpaid order expires. `points_earned` are credited
    once it is paid; `points_cents`, the worth of `points_spent`, is part of the discount. `delivery_time` is the one
    that was quoted, null in orders from before it was stored; `shipping_quote` what a carrier quoted, null for prices of a table.
    `shipping_account` is the vendor that the shipping method had when it was chosen, 0 for the store, null in orders from before
    migration 0091: a trigger writes it.
    """

    user = fields.ForeignKeyField("models.User", null=True, related_name="orders")
    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="orders")
    status = fields.TextField(default="O")
    stock_state = fields.TextField(default="N")
    origin = fields.TextField(default="admin")
    currency = fields.TextField(default="BRL")
    subtotal_cents = fields.BigIntField(default=0)
    discount_cents = fields.BigIntField(default=0)
    shipping_cents = fields.BigIntField(default=0)
    surcharge_cents = fields.BigIntField(default=0)
    tax_cents = fields.BigIntField(default=0)
    total_cents = fields.BigIntField(default=0)
    paid_cents = fields.BigIntField(default=0)
    refunded_cents = fields.BigIntField(default=0)
    payment_status = fields.TextField(default="unpaid")
    payment_method = fields.ForeignKeyField("models.PaymentMethod", null=True, related_name="orders")
    shipping_method = fields.ForeignKeyField("models.ShippingMethod", null=True, related_name="orders")
    delivery_time = fields.TextField(null=True)
    shipping_quote = fields.JSONField[dict[str, object]](null=True)
    shipping_account = fields.BigIntField(null=True)
    tracking_code = fields.TextField(null=True)
    email = fields.TextField(default="")
    firstname = fields.TextField(default="")
    lastname = fields.TextField(default="")
    customer_folded = fields.TextField(generated=True)
    phone = fields.TextField(default="")
    company_name = fields.TextField(default="")
    fax = fields.TextField(default="")
    notes = fields.TextField(default="")
    details = fields.TextField(default="")
    ip_address = fields.TextField(default="")
    fields_data = fields.JSONField[dict[str, object]](default=dict)
    imported = fields.BooleanField(default=False)
    hold_until = fields.DatetimeField(null=True)
    coupon_code = fields.TextField(default="")
    points_earned = fields.IntField(default=0)
    points_spent = fields.IntField(default=0)
    points_cents = fields.BigIntField(default=0)


class OrderLine(StoreModel, table="order_lines"):
    """An order line. `position` counts from 1; name, code and `options` are those at the time of the order.

    `tracked` when its quantity is included in the stock of the product or `combination`, so that exactly this is restored.
    `unreturned` units stayed deducted when the order was cancelled, because it was complete.
    `in_advance` when it was sold before the product was available, or beyond its stock. An option is
    `{option_id, name, variant_id, value, modifier, modifier_type}`. `commission_cents` is the store's commission at the rate of
    `commission` and `commission_type`, as of the order; null for the store's own products, and for lines of before migration 0036.
    """

    order = fields.ForeignKeyField("models.Order", related_name="lines")
    position = fields.IntField()
    product = fields.ForeignKeyField("models.Product", null=True, related_name="order_lines")
    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="order_lines")
    product_name = fields.TextField()
    product_code = fields.TextField(default="")
    quantity = fields.BigIntField()
    price_cents = fields.BigIntField()
    base_price_cents = fields.BigIntField()
    shipping_cents = fields.BigIntField(default=0)
    weight_grams = fields.BigIntField(default=0)
    tracked = fields.BooleanField(default=True)
    unreturned = fields.BigIntField(default=0)
    in_advance = fields.BooleanField(default=False)
    combination = fields.ForeignKeyField("models.Combination", null=True, related_name="order_lines")
    options = fields.JSONField[list[dict[str, object]]](default=list)
    extra = fields.JSONField[dict[str, object]](default=dict)
    commission_cents = fields.BigIntField(null=True)
    commission = fields.TextField(null=True)
    commission_type = fields.TextField(null=True)


class OrderAllocation(StoreModel, table="order_allocations"):
    """The units of an order that a warehouse gave, as long as the order has them; written by the functions that change stock."""

    order = fields.ForeignKeyField("models.Order", related_name="allocations")
    product = fields.ForeignKeyField("models.Product", related_name="order_allocations")
    combination = fields.ForeignKeyField("models.Combination", null=True, related_name="order_allocations")
    warehouse = fields.ForeignKeyField("models.Warehouse", related_name="order_allocations")
    quantity = fields.BigIntField()


class OrderAddress(StoreModel, table="order_addresses"):
    """A billing (`B`) or shipping (`S`) address of an order."""

    order = fields.ForeignKeyField("models.Order", related_name="addresses")
    kind = fields.TextField()
    firstname = fields.TextField(default="")
    lastname = fields.TextField(default="")
    street = fields.TextField(default="")
    number = fields.TextField(default="")
    complement = fields.TextField(default="")
    district = fields.TextField(default="")
    city = fields.TextField(default="")
    state = fields.TextField(default="")
    country = fields.TextField(default="BR")
    zipcode = fields.TextField(default="")
    phone = fields.TextField(default="")


class OrderStatusChange(StoreModel, table="order_status_changes"):
    """A status change of an order. `from_status` is empty for the creation."""

    order = fields.ForeignKeyField("models.Order", related_name="history")
    at = fields.DatetimeField(default=now)
    from_status = fields.TextField(default="")
    to_status = fields.TextField()
    forced = fields.BooleanField(default=False)
    reason = fields.TextField(default="")
    actor_kind = fields.TextField(default="system")
    user = fields.ForeignKeyField("models.User", null=True, related_name="order_changes")
    app_id = fields.BigIntField(null=True)


class InvoiceHold(StoreModel, table="invoice_holds"):
    """An order of an erased person whose invoice data are kept until the period `invoices` after `placed_at` is over."""

    order = fields.ForeignKeyField("models.Order", related_name="invoice_holds")
    placed_at = fields.DatetimeField()
    created_at = fields.DatetimeField(default=now)


class Status(SoftDeletable, table="statuses"):
    """A status of orders (`type` `O`) or shipments (`S`); every store has the `built_in` ones.

    `inventory` is the effect of an order status on the stock: `D` deducts, `I` restores; null for shipments.
    """

    type = fields.TextField(default="O")
    letter = fields.TextField()
    description = fields.TextField()
    color = fields.TextField(default="")
    inventory = fields.TextField(null=True)
    notify = fields.BooleanField(default=True)
    position = fields.IntField(default=0)
    built_in = fields.BooleanField(default=False)
