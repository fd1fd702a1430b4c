"""Carts and their items."""

from __future__ import annotations

from tortoise import fields

from models.tables.base import StoreModel, Timestamped


class Cart(Timestamped, table="carts"):
    """A cart. `public_id` is an unguessable UUIDv4, because it grants access to the cart. `status` is `open`, `ordered` or `expired`.

    Amounts, in cents, are those of the last change: the totals of an open cart are calculated at each read. `content_hash` identifies
    the ordered content and the customer. `emitted_at` is the time of the last `cart.updated` event, `is_pending` is set when the cart
    has changed since, `abandoned_at` when nothing had changed for so long that it counts as abandoned. `merged_into` is the cart that took
    over the items.
    """

    user = fields.ForeignKeyField("models.User", null=True, related_name="carts")
    status = fields.TextField(default="open")
    currency = fields.TextField(default="BRL")
    customer_email = fields.TextField(default="")
    address = fields.JSONField[dict[str, object]](null=True)
    shipping_method = fields.ForeignKeyField("models.ShippingMethod", null=True, related_name="carts")
    coupon_code = fields.TextField(default="")
    points_to_use = fields.IntField(default=0)
    subtotal_cents = fields.BigIntField(default=0)
    discount_cents = fields.BigIntField(default=0)
    shipping_cents = fields.BigIntField(default=0)
    total_cents = fields.BigIntField(default=0)
    order = fields.ForeignKeyField("models.Order", null=True, related_name="carts")
    merged_into = fields.ForeignKeyField("models.Cart", null=True, related_name="merged")
    content_hash = fields.BinaryField(null=True)
    ordered_at = fields.DatetimeField(null=True)
    # Columns cannot be renamed while the previous version runs: in SQL these two have the names of the first release.
    emitted_at = fields.DatetimeField(null=True, source_field="told_at")
    is_pending = fields.BooleanField(default=False, source_field="is_untold")
    abandoned_at = fields.DatetimeField(null=True)
    expires_at = fields.DatetimeField()


class CartItem(StoreModel, table="cart_items"):
    """A product with its chosen options in a cart; name and price, in cents, are those of the cart's last change.

    A cart has one item per product and choice of options, identified by `options_key` (empty: no options). `added_price_cents` is the price
    when it was added or its quantity set.
    """

    cart = fields.ForeignKeyField("models.Cart", related_name="items")
    product = fields.ForeignKeyField("models.Product", related_name="cart_items")
    quantity = fields.BigIntField()
    options = fields.JSONField[list[object]](default=list)
    options_key = fields.TextField(default="")
    product_name = fields.TextField(default="")
    price_cents = fields.BigIntField(default=0)
    added_price_cents = fields.BigIntField(null=True)
