"""Define promotions, with their conditions and bonuses as typed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import strawberry

from domain.promotions.promotions import PROMOTION_FIELDS
from domain.promotions.read import PROMOTIONS
from domain.promotions.typed_terms import typed_bonuses, typed_conditions
from kernel.event_loop import off_loop, total_length
from kernel.scope import Scope
from models.reading.answer_size import current_answer, too_many_bytes
from models.reading.queries import Row
from schema.enums import (
    PromotionBonusKind,
    PromotionConditionKind,
    PromotionDiscountMode,
    PromotionMatch,
    PromotionOperator,
    PromotionZone,
    SwitchStatus,
)
from schema.fields import calculated, column, computed, entity_type, object_type, output_field
from schema.inputs import input_type, one_of_input, optional_copies, optional_field
from schema.scalars import ID, JSON, BigInt, DateTime
from schema.unset import Unset

_DISCOUNT_VALUE = "Thousandths of a percent, of which 100,000 are 100 %, or cents."


@object_type("PromotionProduct")
class PromotionProductObject:
    """Units of a product."""

    product_id: ID = output_field("The product.")
    quantity: BigInt = output_field("The units.")


@object_type("PromotionCondition")
class PromotionConditionObject:
    """A condition, with a `kind`, an `operator` and one value; or a group of conditions, with `match`, `holds` and `conditions`."""

    match: PromotionMatch | None = output_field("How many conditions of the group are needed; null unless it is one.")
    holds: bool | None = output_field("Whether the conditions of the group have to be met, or not to be.")
    conditions: list[PromotionConditionObject] | None = output_field("The conditions of the group.", list_size=1)
    kind: PromotionConditionKind | None = output_field("What is compared; null for a group.")
    operator: PromotionOperator | None = output_field("How it is compared.")
    cents: BigInt | None = output_field("An amount, in cents.")
    number: BigInt | None = output_field("A number.")
    grams: BigInt | None = output_field("A weight, in grams.")
    flag: bool | None = output_field("Whether it is so.")
    texts: list[str] | None = output_field("Texts, such as codes.")
    ids: list[ID] | None = output_field("Records.")
    products: list[PromotionProductObject] | None = output_field(
        "Products and how many units are required.", list_size=1
    )
    feature_id: ID | None = output_field("The feature whose values `texts` are.")


@object_type("PromotionDiscount")
class PromotionDiscountObject:
    """A discount."""

    mode: PromotionDiscountMode = output_field("How the value is applied.")
    value: BigInt = output_field(_DISCOUNT_VALUE)


@object_type("PromotionBonus")
class PromotionBonusObject:
    """A bonus, with the members of its kind; the others are null."""

    kind: PromotionBonusKind = output_field("What it gives.")
    discount: PromotionDiscountObject | None = output_field("The discount.")
    product_ids: list[ID] | None = output_field("The products that get the discount; null if it isn't limited to them.")
    category_ids: list[ID] | None = output_field(
        "The categories whose products get it; null if it isn't limited to them."
    )
    shipping_method_ids: list[ID] | None = output_field("The shipping methods that are free; all if empty.")
    products: list[PromotionProductObject] | None = output_field("The free products.", list_size=1)
    points: int | None = output_field("The reward points.")
    promotion_id: ID | None = output_field("The promotion of which the customer gets a coupon.")


@object_type("PromotionConditionType")
class PromotionConditionTypeObject:
    """What a kind of condition takes."""

    kind: PromotionConditionKind = output_field("The kind.")
    value: str = output_field("The member of `PromotionValueInput` that it takes.")
    operators: list[PromotionOperator] = output_field("Its operators, the default one first.")
    zones: list[PromotionZone] = output_field("The zones that know it.")


_NO_CONDITION = Row.fromkeys(PromotionConditionObject.__annotations__)


def _condition(values: Mapping[str, Any]) -> Row:
    row = Row({**_NO_CONDITION, **values})
    if "conditions" in values:
        row["conditions"] = [_condition(each) for each in values["conditions"]]
    elif values["kind"] == "feature":
        row["feature_id"] = values["feature_id"][0]
    row["products"] = _products(row["products"])
    return row


def _products(values: Sequence[Mapping[str, Any]] | None) -> list[Row] | None:
    return None if values is None else [Row(product_id=each["id"], quantity=each["amount"]) for each in values]


async def _condition_trees(scope: Scope, values: Sequence[str]) -> list[Any]:
    _check_size(values)
    trees = await typed_conditions(scope, values)
    return await off_loop(total_length(values), lambda: [tree and _condition(tree) for tree in trees])


def _check_size(values: Sequence[str]) -> None:
    """Refuse what is too large for an answer before it is parsed. Raises AnswerTooLarge."""
    answer = current_answer()
    if answer is not None and total_length(values) > answer.limits.max_bytes:
        raise too_many_bytes(answer.limits)


def _bonus(values: Mapping[str, Any]) -> Row:
    discount = values["discount"]
    return Row({**values, "discount": discount and Row(discount), "products": _products(values["products"])})


async def _bonus_lists(scope: Scope, values: Sequence[str]) -> list[Any]:
    _check_size(values)
    lists = await typed_bonuses(scope, values)
    return await off_loop(total_length(values), lambda: [each and [_bonus(bonus) for bonus in each] for each in lists])


@entity_type(PROMOTIONS, "Promotion", key="promotion_id")
class PromotionObject:
    """A promotion: discounts or gifts under conditions."""

    name: str = column(description="The name.")
    description: str = column(description="The description.")
    zone: PromotionZone = column(description="What the promotion applies to.")
    condition_tree: PromotionConditionObject | None = calculated(
        "jsonb_build_array(t.zone, t.conditions)::text",
        _condition_trees,
        "The conditions, a group of them; null for what can't be shown typed.",
    )
    bonus_list: list[PromotionBonusObject] | None = calculated(
        "jsonb_build_array(t.zone, t.bonuses)::text",
        _bonus_lists,
        "The bonuses; null for what can't be shown typed.",
        list_size=1,
    )
    conditions: JSON = column(
        description="The conditions as they were written (docs/promotions.md).", deprecated="Use `condition_tree`."
    )
    bonuses: JSON = column(
        description="The bonuses as they were written (docs/promotions.md).", deprecated="Use `bonus_list`."
    )
    coupon_code: str = column(
        description="The required coupon code, case-insensitive; empty if none.", unset=Unset.LATER
    )
    usage_limit: BigInt = column(description="The maximum number of orders that may use the promotion; 0 for no limit.")
    used: BigInt = column(description="The number of orders that use the promotion.")
    from_at: DateTime | None = column(description="When the promotion starts.")
    to_at: DateTime | None = column(description="When the promotion ends.")
    priority: int = column(description="The priority; lower values are applied first.")
    stop: bool = column(description="Whether later promotions of the same zone are skipped once this one applies.")
    status: SwitchStatus = column(description="The status code.")
    created_at: DateTime = column(description="When the record was created.")
    updated_at: DateTime = column(description="When the record was last updated.")
    from_unix: BigInt = computed(
        "coalesce(floor(extract(epoch from t.from_at))::bigint, 0)",
        "When the promotion starts, in Unix seconds; 0 if not set.",
        internal=True,
    )
    to_unix: BigInt = computed(
        "coalesce(floor(extract(epoch from t.to_at))::bigint, 0)",
        "When the promotion ends, in Unix seconds; 0 if not set.",
        internal=True,
    )


@input_type
class PromotionProductInput:
    """Units of a product."""

    product_id: ID = strawberry.field(description="The product.")
    quantity: BigInt | None = optional_field("The units, 1 by default.")


@one_of_input
@optional_copies(PromotionConditionObject, "cents number grams flag texts ids products")
class PromotionValueInput:
    """The value of a condition: the one that its kind takes (`promotion_condition_types`)."""

    products: list[PromotionProductInput] | None = optional_field("Products and how many units are required.")


@input_type
class PromotionTestInput:
    """A condition."""

    kind: PromotionConditionKind = strawberry.field(description="What is compared.")
    operator: PromotionOperator | None = optional_field(
        "How it is compared; by default as most conditions of the kind."
    )
    value: PromotionValueInput = strawberry.field(description="What it is compared with.")
    feature_id: ID | None = optional_field("The feature, for the kind `feature` only.")


@one_of_input
class PromotionConditionInput:
    """A condition or a group of conditions."""

    test: PromotionTestInput | None = optional_field("A condition.")
    group: PromotionConditionGroupInput | None = optional_field("A group.")


@input_type
class PromotionConditionGroupInput:
    """A group of conditions; an empty one is always met."""

    match: PromotionMatch = strawberry.field(description="How many of them are needed.")
    holds: bool | None = optional_field("Whether they have to be met, which is the default, or not to be.")
    conditions: list[PromotionConditionInput] = strawberry.field(description="The conditions.")


@input_type
class PromotionDiscountInput:
    """A discount."""

    mode: PromotionDiscountMode = strawberry.field(description="How the value is applied.")
    value: BigInt = strawberry.field(description=_DISCOUNT_VALUE)


@input_type
class PromotionProductDiscountInput:
    """A discount on every product, or on some."""

    discount: PromotionDiscountInput = strawberry.field(description="The discount.")
    product_ids: list[ID] | None = optional_field("The products that get it; null if it isn't limited to them.")
    category_ids: list[ID] | None = optional_field(
        "The categories whose products get it; null if it isn't limited to them."
    )


@input_type
class PromotionFreeShippingInput:
    """Free shipping."""

    shipping_method_ids: list[ID] | None = optional_field("The shipping methods that are free; all if left out.")


@one_of_input
class PromotionBonusInput:
    """A bonus."""

    order_discount: PromotionDiscountInput | None = optional_field("A discount on what remains of the order.")
    product_discount: PromotionProductDiscountInput | None = optional_field("A discount on products.")
    free_shipping: PromotionFreeShippingInput | None = optional_field("Free shipping.")
    free_products: list[PromotionProductInput] | None = optional_field("Products at price 0, as far as in stock.")
    give_points: int | None = optional_field("Reward points.")
    give_coupon: ID | None = optional_field(
        "A promotion with the condition `auto_coupons`, of which the customer gets a coupon."
    )


@input_type
@optional_copies(PromotionObject, PROMOTION_FIELDS)
class PromotionInput:
    """A promotion. `name` is required on creation."""

    zone: PromotionZone | None = optional_field("What it applies to.", text_internally=True)
    condition_tree: PromotionConditionGroupInput | None = optional_field("The conditions; null for none.")
    bonus_list: list[PromotionBonusInput] | None = optional_field("The bonuses; null for none.")
    conditions: JSON | None = optional_field("The conditions as JSON.", deprecated="Use `condition_tree`.")
    bonuses: JSON | None = optional_field("The bonuses as JSON.", deprecated="Use `bonus_list`.")
    coupon_code: str | None = optional_field("The coupon code required.")
