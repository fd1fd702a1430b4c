"""Keep what shoppers have put together and not yet ordered."""

from __future__ import annotations

from tortoise import fields

from models.base import StoreManager, StoreModel, Timestamped


class Cart(Timestamped):
    """What somebody means to buy; its `public_id` is an unguessable UUIDv4, for whoever knows it may open the cart.

    `status` is `open`, `ordered` or `expired`. The amounts, in cents, are those of the last change: an open cart is added up again
    whenever it is read. `content_hash` names what was ordered and by whom. `told_at` is when `cart.updated` was last written, and
    `is_untold` says that the cart has changed since.
    """

    user = fields.ForeignKeyField("models.User", null=True, related_name="carts")
    status = fields.TextField(default="open")
    currency = fields.TextField(default="BRL")
    customer_email = fields.TextField(default="")
    address = fields.JSONField[dict[str, object]](null=True)
    shipping_method = fields.ForeignKeyField("models.ShippingMethod", null=True, related_name="carts")
    coupon_code = fields.TextField(default="")
    subtotal_cents = fields.BigIntField(default=0)
    discount_cents = fields.BigIntField(default=0)
    shipping_cents = fields.BigIntField(default=0)
    total_cents = fields.BigIntField(default=0)
    order = fields.ForeignKeyField("models.Order", null=True, related_name="carts")
    content_hash = fields.BinaryField(null=True)
    ordered_at = fields.DatetimeField(null=True)
    told_at = fields.DatetimeField(null=True)
    is_untold = fields.BooleanField(default=False)
    expires_at = fields.DatetimeField()

    class Meta:
        table = "carts"
        manager = StoreManager()


class CartItem(StoreModel):
    """Some units of one product, chosen so; name and price, in cents, as they were at the last change of the cart.

    A cart holds a product in one item for each choice of options, which `options_key` names (empty: none chosen).
    """

    cart = fields.ForeignKeyField("models.Cart", related_name="items")
    product = fields.ForeignKeyField("models.Product", related_name="cart_items")
    quantity = fields.BigIntField()
    options = fields.JSONField[list[object]](default=list)
    options_key = fields.TextField(default="")
    product_name = fields.TextField(default="")
    price_cents = fields.BigIntField(default=0)

    class Meta:
        table = "cart_items"
        manager = StoreManager()
