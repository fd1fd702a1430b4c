"""Keep taxes, what they lie on, and what each took of an order.

A rate is in thousandths: of a percent (`P`), or of the currency's unit (`F`).
"""

from __future__ import annotations

from tortoise import fields

from models.base import Erasable, StoreManager, StoreModel


class Tax(Erasable):
    """A tax. `address_type` says which address decides: `S` where it is shipped, `B` where it is billed.

    Where none of its `rates` is for the address's destination, its own rate counts. Taxes of a lower `priority` come first, and what
    they add is taxed by those of a higher one.
    """

    name = fields.TextField()
    regnumber = fields.TextField(default="")
    address_type = fields.TextField(default="S")
    rate_type = fields.TextField(default="P")
    rate_value = fields.BigIntField(default=0)
    price_includes_tax = fields.BooleanField(default=False)
    priority = fields.IntField(default=0)
    status = fields.TextField(default="A")

    class Meta:
        table = "taxes"
        manager = StoreManager()


class TaxRate(StoreModel):
    """What a tax takes at one destination."""

    tax = fields.ForeignKeyField("models.Tax", related_name="rates")
    destination = fields.ForeignKeyField("models.Destination", related_name="tax_rates")
    rate_type = fields.TextField(default="P")
    rate_value = fields.BigIntField(default=0)

    class Meta:
        table = "tax_rates"
        manager = StoreManager()


class ProductTax(StoreModel):
    """A tax that lies on a product."""

    product = fields.ForeignKeyField("models.Product", related_name="tax_links")
    tax = fields.ForeignKeyField("models.Tax", related_name="product_links")

    class Meta:
        table = "product_taxes"
        manager = StoreManager()


class ShippingMethodTax(StoreModel):
    """A tax that lies on the price of a way to deliver."""

    shipping_method = fields.ForeignKeyField("models.ShippingMethod", related_name="tax_links")
    tax = fields.ForeignKeyField("models.Tax", related_name="shipping_links")

    class Meta:
        table = "shipping_method_taxes"
        manager = StoreManager()


class PaymentMethodTax(StoreModel):
    """A tax that lies on the surcharge of a way to pay."""

    payment_method = fields.ForeignKeyField("models.PaymentMethod", related_name="tax_links")
    tax = fields.ForeignKeyField("models.Tax", related_name="payment_links")

    class Meta:
        table = "payment_method_taxes"
        manager = StoreManager()


class OrderTax(StoreModel):
    """What one tax took of an order, as it stood then; `included` taxes were in the prices already."""

    order = fields.ForeignKeyField("models.Order", related_name="taxes")
    tax = fields.ForeignKeyField("models.Tax", null=True, related_name="order_taxes")
    name = fields.TextField()
    rate_type = fields.TextField(default="P")
    rate_value = fields.BigIntField(default=0)
    included = fields.BooleanField(default=False)
    amount_cents = fields.BigIntField(default=0)
    position = fields.IntField(default=0)

    class Meta:
        table = "order_taxes"
        manager = StoreManager()
