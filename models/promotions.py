"""Keep promotions and how often they were used."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.base import Erasable, StoreManager, StoreModel


class Promotion(Erasable):
    """Something given under conditions. `zone`: `cart` looks at a whole order, `catalog` at the price of each product.

    `conditions` and `bonuses` are as they were given; `rule` and `gifts` are what `domain.promotions` decides on, with internal ids.
    A `usage_limit` of 0 means none; `usage_cap` is what counts of it and of the conditions' own limit. Lower priorities come first,
    and `stop` keeps the later ones out.
    """

    name = fields.TextField()
    description = fields.TextField(default="")
    zone = fields.TextField(default="cart")
    conditions = fields.JSONField[object](default=dict)
    bonuses = fields.JSONField[object](default=dict)
    rule = fields.JSONField[dict[str, object]](default=dict)
    gifts = fields.JSONField[list[object]](default=list)
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

    class Meta:
        table = "promotions"
        manager = StoreManager()


class PromotionUse(StoreModel):
    """A promotion that an order was placed with; `given_back` once that order came to nothing."""

    promotion = fields.ForeignKeyField("models.Promotion", related_name="uses")
    order = fields.ForeignKeyField("models.Order", related_name="promotion_uses")
    given_back = fields.BooleanField(default=False)
    created_at = fields.DatetimeField(default=now)

    class Meta:
        table = "promotion_uses"
        manager = StoreManager()
