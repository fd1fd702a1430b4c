"""Taxes, the records they apply to, and the taxes of orders.

Rates are in thousandths of a percent (`P`) or of the currency unit (`F`).
"""

from __future__ import annotations

from tortoise import fields

from models.base import SoftDeletable, StoreManager, StoreModel


class Tax(SoftDeletable):
    """A tax. `address_type` is the address that determines the rate: `S` shipping, `B` billing.

    Its own rate applies where no `rates` match the address's destination. Taxes of a lower `priority` are applied first and are part of
    the base of those of a higher one.
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
    """The rate of a tax at a destination."""

    tax = fields.ForeignKeyField("models.Tax", related_name="rates")
    destination = fields.ForeignKeyField("models.Destination", related_name="tax_rates")
    rate_type = fields.TextField(default="P")
    rate_value = fields.BigIntField(default=0)

    class Meta:
        table = "tax_rates"
        manager = StoreManager()


class ProductTax(StoreModel):
    """A tax that applies to a product."""

    product = fields.ForeignKeyField("models.Product", related_name="tax_links")
    tax = fields.ForeignKeyField("models.Tax", related_name="product_links")

    class Meta:
        table = "product_taxes"
        manager = StoreManager()


class ShippingMethodTax(StoreModel):
    """A tax that applies to the price of a shipping method."""

    shipping_method = fields.ForeignKeyField("models.ShippingMethod", related_name="tax_links")
    tax = fields.ForeignKeyField("models.Tax", related_name="shipping_links")

    class Meta:
        table = "shipping_method_taxes"
        manager = StoreManager()


class PaymentMethodTax(StoreModel):
    """A tax that applies to the surcharge of a payment method."""

    payment_method = fields.ForeignKeyField("models.PaymentMethod", related_name="tax_links")
    tax = fields.ForeignKeyField("models.Tax", related_name="payment_links")

    class Meta:
        table = "payment_method_taxes"
        manager = StoreManager()


class OrderTax(StoreModel):
    """A tax of an order, as of its calculation; `included` when it is contained in the prices."""

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
