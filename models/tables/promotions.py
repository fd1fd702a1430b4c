"""Promotions and their uses."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.tables.base import SoftDeletable, StoreModel


class Promotion(SoftDeletable, table="promotions"):
    """A promotion. Its `zone` is `cart` (discounts on an order) or `catalog` (discounts on the price of each product).

    `conditions` and `bonuses` are the client's input; `rule` and `gifts` their parsed form for `domain.promotions`, with internal ids, or
    `extended_rule` and `extended_gifts` where the version before can't evaluate it: that version finds a rule that is never met.
    `usage_limit` 0 means unlimited; `usage_cap` is the lower of it and the limit in the conditions. Lower priorities are applied first;
    `stop` excludes later ones.
    """

    name = fields.TextField()
    description = fields.TextField(default="")
    zone = fields.TextField(default="cart")
    conditions = fields.JSONField[object](default=dict)
    bonuses = fields.JSONField[object](default=dict)
    rule = fields.JSONField[dict[str, object]](default=dict)
    gifts = fields.JSONField[list[object]](default=list)
    extended_rule = fields.JSONField[dict[str, object] | None](null=True)
    extended_gifts = fields.JSONField[list[object] | None](null=True)
    coupon_code = fields.TextField(default="")
    coupon_key = fields.TextField(default="")
    usage_limit = fields.BigIntField(default=0)
    usage_cap = fields.BigIntField(default=0)
    used = fields.BigIntField(default=0)
    once_per_customer = fields.BooleanField(default=False)
    from_at = fields.DatetimeField(null=True)
    to_at = fields.DatetimeField(null=True)
    priority = fields.IntField(default=0)
    stop = fields.BooleanField(default=False)
    status = fields.TextField(default="A")


class IssuedCoupon(StoreModel, table="issued_coupons"):
    """A coupon that an order gave its customer, usable once while `active_at` is set; `used_order` is the order of its latest use."""

    promotion = fields.ForeignKeyField("models.Promotion", related_name="issued_coupons")
    order = fields.ForeignKeyField("models.Order", related_name="issued_coupons")
    code = fields.TextField()
    code_key = fields.TextField()
    active_at = fields.DatetimeField(null=True)
    mailed_at = fields.DatetimeField(null=True)
    used_order = fields.ForeignKeyField("models.Order", null=True, related_name="used_issued_coupons")
    is_used = fields.BooleanField(default=False)
    created_at = fields.DatetimeField(default=now)


class PromotionUse(StoreModel, table="promotion_uses"):
    """A use of a promotion by an order; `given_back` once the order was cancelled."""

    promotion = fields.ForeignKeyField("models.Promotion", related_name="uses")
    order = fields.ForeignKeyField("models.Order", related_name="promotion_uses")
    given_back = fields.BooleanField(default=False)
    created_at = fields.DatetimeField(default=now)
