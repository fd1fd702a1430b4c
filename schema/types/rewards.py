"""Define the ledger of reward points, and the coupons that orders give."""

from __future__ import annotations

from domain.points.read import POINT_ENTRIES
from domain.promotions.read import ISSUED_COUPONS
from models.reading.queries import ToOne
from schema.enums import PointEntryKind
from schema.fields import column, computed, entity_type, referenced, relation
from schema.scalars import ID, DateTime
from schema.types.promotions import PromotionObject
from schema.types.references import Order, User
from schema.unset import Unset


@entity_type(POINT_ENTRIES, "PointEntry")
class PointEntryObject:
    """A change of a user's reward points."""

    id: ID = column("public_id", "The unique ID (UUID).")
    kind: PointEntryKind = column(description="Why the points changed.")
    points: int = column(description="The points added; negative: taken.")
    balance: int = column(description="The user's points after the change.")
    reason: str = column(description="The reason of an adjustment.", unset=Unset.LATER)
    user_id: ID | None = column(referenced("users", "user_id"), "The user.")
    user: User | None = relation(ToOne("user_id"), "The user.")
    order_id: ID | None = column(
        referenced("orders", "order_id"), "The order that spent or earned the points; null for an adjustment."
    )
    order: Order | None = relation(ToOne("order_id"), "The order that spent or earned the points.")
    created_at: DateTime = column(description="When the points changed.")


@entity_type(ISSUED_COUPONS, "IssuedCoupon")
class IssuedCouponObject:
    """A coupon that an order gave its customer, to be used once."""

    id: ID = column("public_id", "The unique ID (UUID).")
    code: str = column(description="The code.")
    promotion: PromotionObject | None = relation(
        ToOne("promotion_id"), "The promotion that the coupon is for; null for callers without access to it."
    )
    active_at: DateTime | None = column(
        description="Since when the coupon can be used: since the order that gave it is paid; null before, and once it is cancelled."
    )
    is_used: bool = column(description="Whether an order uses the coupon.")
    is_mailed: bool = computed("t.mailed_at IS NOT NULL", "Whether the coupon was mailed to the customer.")
    created_at: DateTime = column(description="When the order was placed.")
