"""B2B: account managers, payment terms, business partners, order limits and credit checks."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField

from kernel.clock import now
from models.tables.base import SoftDeletable, StoreModel, Timestamped


class Manager(SoftDeletable, table="managers"):
    """A sales manager of business partners. `commission_percent` is in hundredths of a percent.

    `balance_cents` is the sum of the transactions: credits minus debits.
    """

    user = fields.ForeignKeyField("models.User", null=True, related_name="managers")
    name = fields.TextField()
    email = fields.TextField()
    phone = fields.TextField(default="")
    commission_percent = fields.BigIntField(default=0)
    balance_cents = fields.BigIntField(default=0)
    status = fields.TextField(default="A")


class PaymentCode(SoftDeletable, table="payment_codes"):
    """Payment terms. `days` are the days from the invoice to each installment."""

    code = fields.TextField()
    description = fields.TextField(default="")
    installments = fields.IntField(default=1)
    days = ArrayField(element_type="bigint", default=list)
    min_amount_cents = fields.BigIntField(default=0)
    status = fields.TextField(default="A")


class BusinessPartner(SoftDeletable, table="business_partners"):
    """A company that buys on payment terms."""

    payment_code = fields.ForeignKeyField("models.PaymentCode", null=True, related_name="partners")
    manager = fields.ForeignKeyField("models.Manager", null=True, related_name="partners")
    name = fields.TextField()
    cnpj = fields.TextField()
    email = fields.TextField(default="")
    phone = fields.TextField(default="")
    contact_name = fields.TextField(default="")
    credit_limit_cents = fields.BigIntField(default=0)
    status = fields.TextField(default="A")


class MixProduct(SoftDeletable, table="mix_products"):
    """A product recommended to a partner or manager, with its minimum quantity and price."""

    product = fields.ForeignKeyField("models.Product", related_name="mixes")
    partner = fields.ForeignKeyField("models.BusinessPartner", null=True, related_name="mixes")
    manager = fields.ForeignKeyField("models.Manager", null=True, related_name="mixes")
    min_quantity = fields.BigIntField(default=0)
    price_cents = fields.BigIntField(default=0)
    status = fields.TextField(default="A")


class ManagerTransaction(StoreModel, table="manager_transactions"):
    """A credit (`type` `C`) or debit (`D`) of a manager, with the resulting balance; immutable."""

    manager = fields.ForeignKeyField("models.Manager", related_name="transactions")
    order = fields.ForeignKeyField("models.Order", null=True, related_name="manager_transactions")
    type = fields.TextField()
    amount_cents = fields.BigIntField()
    balance_cents = fields.BigIntField()
    description = fields.TextField(default="")
    created_at = fields.DatetimeField(default=now)


class OrderLimit(Timestamped, table="order_limits"):
    """The limit of a customer's open and paid orders with a vendor."""

    user = fields.ForeignKeyField("models.User", related_name="order_limits")
    vendor = fields.ForeignKeyField("models.Vendor", related_name="order_limits")
    limit_cents = fields.BigIntField()


class CreditCheck(StoreModel, table="credit_checks"):
    """The latest credit check of a company. `score` is 0 to 1000, `risk` `low`, `medium` or `high`."""

    cnpj = fields.TextField()
    score = fields.IntField()
    risk = fields.TextField()
    limit_cents = fields.BigIntField(default=0)
    source = fields.TextField()
    bureau_url = fields.TextField()
    checked_at = fields.DatetimeField()
