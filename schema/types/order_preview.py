"""Define what an order would cost."""

from __future__ import annotations

from models.reading.queries import ToOne
from schema.fields import object_type, output_field, relation
from schema.scalars import ID, BigInt
from schema.types.catalog import ProductObject
from schema.types.promotions import PromotionObject


@object_type("OrderPreviewLine")
class OrderPreviewLineObject:
    """A line of an order that isn't placed."""

    product_id: ID = output_field("The product.")
    product: ProductObject | None = relation(ToOne("product_id"), "The product.")
    name: str = output_field("The name of the product.")
    quantity: BigInt = output_field("The units.")
    base_price_cents: BigInt = output_field("The price of a unit before promotions, in cents.")
    price_cents: BigInt = output_field("The price of a unit after promotions of the catalogue, in cents.")
    total_cents: BigInt = output_field("The price of all units, in cents.")
    is_gift: bool = output_field("Whether a promotion gives it.")


@object_type("OrderPreviewDiscount")
class OrderPreviewDiscountObject:
    """A promotion that applies to an order."""

    promotion_id: ID = output_field("The promotion.")
    promotion: PromotionObject | None = relation(
        ToOne("promotion_id"), "The promotion; null for callers without access to it."
    )
    name: str = output_field("The name of the promotion.")
    amount_cents: BigInt = output_field(
        "What it takes off, in cents: of the prices of lines (zone `catalog`) or of the subtotal; 0 for other bonuses."
    )


@object_type("OrderPreview")
class OrderPreviewObject:
    """What an order would cost, in cents of the store's currency."""

    lines: list[OrderPreviewLineObject] = output_field("The lines, those of free products last.")
    discounts: list[OrderPreviewDiscountObject] = output_field(
        "The promotions that apply, in their order.", list_size=2
    )
    subtotal_cents: BigInt = output_field("The price of the lines.")
    discount_cents: BigInt = output_field(
        "What the promotions of the zone `cart` and reward points take off the subtotal."
    )
    shipping_cents: BigInt = output_field("The price of shipping.")
    surcharge_cents: BigInt = output_field("The surcharge of the payment method.")
    tax_cents: BigInt = output_field("The taxes that prices don't include.")
    total_cents: BigInt = output_field("The total.")
    points_earned: int = output_field("The reward points that it would earn.")
    points_spent: int = output_field("The reward points that it would spend.")
