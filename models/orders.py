"""Keep orders, what they hold and what became of them."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.base import Erasable, StoreManager, StoreModel


class Order(Erasable):
    """A purchase. Money in cents; the internal id is the order's number.

    `vendor` is set when all lines share one; `stock_state` says what its lines hold: `R` reserved, `D` deducted, `N` nothing.
    `origin` is the door it came through (`admin`, `app`, `legacy`, `storefront`, `import`). `payment_status` is `unpaid`,
    `paid`, `partially_refunded`, `refunded` or `chargeback`. `hold_until` is when an unpaid checkout gives its stock back.
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
    tracking_code = fields.TextField(null=True)
    email = fields.TextField(default="")
    firstname = fields.TextField(default="")
    lastname = fields.TextField(default="")
    customer_folded = fields.TextField(generated=True)
    phone = fields.TextField(default="")
    notes = fields.TextField(default="")
    details = fields.TextField(default="")
    ip_address = fields.TextField(default="")
    fields_data = fields.JSONField[dict[str, object]](default=dict)
    imported = fields.BooleanField(default=False)
    hold_until = fields.DatetimeField(null=True)
    coupon_code = fields.TextField(default="")

    class Meta:
        table = "orders"
        manager = StoreManager()


class OrderLine(StoreModel):
    """Some units of one product at one price. `position` counts from 1; name and code are as sold.

    `tracked` says that the line's units are in the stock figures of the product, or of the `combination` chosen, so that giving them
    back is exact. `options` tell what was chosen, as sold: `{option_id, name, variant_id, value, modifier, modifier_type}`.
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
    combination = fields.ForeignKeyField("models.Combination", null=True, related_name="order_lines")
    options = fields.JSONField[list[dict[str, object]]](default=list)
    extra = fields.JSONField[dict[str, object]](default=dict)

    class Meta:
        table = "order_lines"
        manager = StoreManager()


class OrderAddress(StoreModel):
    """Where an order is billed (`B`) or shipped (`S`)."""

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

    class Meta:
        table = "order_addresses"
        manager = StoreManager()


class OrderStatusChange(StoreModel):
    """One step of an order's life: from which letter to which, by whom and why. `from_status` is empty at placing."""

    order = fields.ForeignKeyField("models.Order", related_name="history")
    at = fields.DatetimeField(default=now)
    from_status = fields.TextField(default="")
    to_status = fields.TextField()
    forced = fields.BooleanField(default=False)
    reason = fields.TextField(default="")
    actor_kind = fields.TextField(default="system")
    user = fields.ForeignKeyField("models.User", null=True, related_name="order_changes")
    app_id = fields.BigIntField(null=True)

    class Meta:
        table = "order_status_changes"
        manager = StoreManager()


class Status(Erasable):
    """A status of orders (`type` `O`) or parcels (`S`) as people know it.

    `inventory` says what an order with the letter does to the stock: `D` holds it, `I` gives it back; parcels have none. Those that
    are `built_in` every store has.
    """

    type = fields.TextField(default="O")
    letter = fields.TextField()
    description = fields.TextField()
    color = fields.TextField(default="")
    inventory = fields.TextField(null=True)
    notify = fields.BooleanField(default=True)
    position = fields.IntField(default=0)
    built_in = fields.BooleanField(default=False)

    class Meta:
        table = "statuses"
        manager = StoreManager()
