"""Taxes, the records they apply to, and the taxes of orders.

Rates are in thousandths of a percent (`P`) or of the currency unit (`F`).
"""

from __future__ import annotations

from tortoise import fields

from models.tables.base import SoftDeletable, StoreModel


class Tax(SoftDeletable, table="taxes"):
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


class TaxRate(StoreModel, table="tax_rates"):
    """The rate of a tax at a destination."""

    tax = fields.ForeignKeyField("models.Tax", related_name="rates")
    destination = fields.ForeignKeyField("models.Destination", related_name="tax_rates")
    rate_type = fields.TextField(default="P")
    rate_value = fields.BigIntField(default=0)


class ProductTax(StoreModel, table="product_taxes"):
    """A tax that applies to a product."""

    product = fields.ForeignKeyField("models.Product", related_name="tax_links")
    tax = fields.ForeignKeyField("models.Tax", related_name="product_links")


class ShippingMethodTax(StoreModel, table="shipping_method_taxes"):
    """A tax that applies to the price of a shipping method."""

    shipping_method = fields.ForeignKeyField("models.ShippingMethod", related_name="tax_links")
    tax = fields.ForeignKeyField("models.Tax", related_name="shipping_links")


class PaymentMethodTax(StoreModel, table="payment_method_taxes"):
    """A tax that applies to the surcharge of a payment method."""

    payment_method = fields.ForeignKeyField("models.PaymentMethod", related_name="tax_links")
    tax = fields.ForeignKeyField("models.Tax", related_name="payment_links")


class OrderTax(StoreModel, table="order_taxes"):
    """A tax of an order, as of its calculation; `included` when it is contained in the prices."""

    order = fields.ForeignKeyField("models.Order", related_name="taxes")
    tax = fields.ForeignKeyField("models.Tax", null=True, related_name="order_taxes")
    name = fields.TextField()
    rate_type = fields.TextField(default="P")
    rate_value = fields.BigIntField(default=0)
    included = fields.BooleanField(default=False)
    amount_cents = fields.BigIntField(default=0)
    position = fields.IntField(default=0)
