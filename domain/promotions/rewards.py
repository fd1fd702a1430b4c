"""Find the reward (discounts, free shipping, gifts) of a purchase, and count the uses of an order's promotions and coupons.

    reward, refusal = await evaluate_promotions(scope, promotions, lines, PromotionContext(user_id=7), coupon_code="DEZ")
    async with transaction(scope):
        ...                                              # insert the order
        await redeem(scope, reward, order_id)            # before any product is locked

`domain.purchase.pricing` does the first with the rows of `active_sql`, `domain.purchase.placement` the second. For the lock order see
`domain.orders.locked`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from domain.destinations.matching import NO_ADDRESS, DestinationAddress
from domain.promotions import issued_coupons
from domain.promotions.calculation import ActivePromotion, calculate_reward
from domain.promotions.calculation import Reward as Reward
from domain.promotions.facts import PurchaseFacts, load_facts
from domain.promotions.refusals import CouponRefusal, explain_refusal
from domain.promotions.rules import NO_FEATURES, RuleContext, RuleLine
from kernel.errors import RuleViolation
from kernel.ids import uuid7
from kernel.scope import Scope
from kernel.text import NFC_RATIO, fold
from models.connection.database import execute, fetch, json_value
from models.rows import delete_rows

MAX_COUPON = 255
ONCE = "once_per_customer"
"""The test that asks for the customer's uses of a promotion."""
_OF_CUSTOMERS = frozenset({"usergroups", ONCE})
# Longer texts of promotions are parsed at each use.
_MAX_CACHED_TEXT = 16_384


class PromotedLine(NamedTuple):
    """A line as promotions see it: units of a product at a price in cents; weight in grams per unit.

    Promotions never change a `fixed` price, though it counts for order discounts. With `price_agreed` catalogue promotions don't lower the
    price again.
    """

    product_id: int
    quantity: int
    price_cents: int
    weight_grams: int = 0
    fixed: bool = False
    price_agreed: bool = False


# The version before evaluates `rule` and `gifts` (`domain.promotions.promotions`).
RULE_COLUMNS = "coalesce(p.extended_rule, p.rule) AS rule, coalesce(p.extended_gifts, p.gifts) AS gifts"


def active_sql(now: str, coupon: str) -> str:
    """Return the SQL for active promotions; one with a coupon code only for that code.

    Parameter 1 is the store; `now` and `coupon` (trusted SQL, such as `$2`) are the current time and the folded code.
    """
    return f"""
SELECT p.id, p.zone, {RULE_COLUMNS}, p.coupon_code, p.usage_cap, p.used, p.priority, p.stop, p.name,
    {issued_coupons.is_issued_sql(coupon)} AS is_issued
FROM promotions p
WHERE p.tenant_id = $1 AND p.deleted_at IS NULL AND p.status = 'A'
    AND (p.from_at IS NULL OR p.from_at <= {now}) AND (p.to_at IS NULL OR p.to_at >= {now})
    AND p.coupon_key IN ('', {coupon})
"""


# Promotions that an order has, expired or changed ones included.
_OF_ORDER = f"""
SELECT p.id, p.zone, {RULE_COLUMNS}, p.coupon_code, 0::bigint AS usage_cap, 0::bigint AS used, p.priority, p.stop, p.name,
    EXISTS (SELECT 1 FROM issued_coupons i WHERE i.tenant_id = p.tenant_id AND i.promotion_id = p.id AND i.used_order_id = $2) AS is_issued
FROM promotions p
WHERE p.tenant_id = $1 AND EXISTS (SELECT 1 FROM promotion_uses u
    WHERE u.tenant_id = p.tenant_id AND u.promotion_id = p.id AND u.order_id = $2)
"""


# Arrays are in subqueries, which hide their length from the planner: else each call with a short array would be planned again.
def context_columns(
    promotions: str, products: str = "$2", user: str = "$3", email: str = "$4", order: str = "$6"
) -> str:
    """Return the columns of what rules ask of products and customer; the arguments are trusted SQL, the first two of arrays of ids.

    The customer's uses are counted of `promotions`: those with a test of it.
    """
    return f"""
    (SELECT coalesce(json_object_agg(product.product_id, product.paths), '{{}}') FROM (
        SELECT pc.product_id, string_agg(c.id_path, '/') AS paths
        FROM product_categories pc JOIN categories c ON c.tenant_id = pc.tenant_id AND c.id = pc.category_id
        WHERE pc.tenant_id = $1 AND pc.product_id = ANY((SELECT {products}::bigint[])::bigint[]) GROUP BY pc.product_id
    ) AS product) AS categories,
    ARRAY(SELECT m.usergroup_id FROM usergroup_memberships m JOIN usergroups g ON g.tenant_id = m.tenant_id AND g.id = m.usergroup_id
        WHERE m.tenant_id = $1 AND m.user_id = {user} AND m.status = 'A' AND g.status <> 'D' AND g.deleted_at IS NULL) AS usergroups,
    (SELECT coalesce(jsonb_object_agg(uses.promotion_id, uses.count), '{{}}') FROM (
        SELECT u.promotion_id, count(*) FROM promotion_uses u JOIN orders o ON o.tenant_id = u.tenant_id AND o.id = u.order_id
        WHERE ({user} IS NOT NULL OR {email} <> '') AND u.tenant_id = $1 AND u.promotion_id = ANY({promotions}) AND NOT u.given_back
            AND (o.user_id = {user} OR o.email = nullif({email}, '')) AND u.order_id IS DISTINCT FROM {order} GROUP BY u.promotion_id
    ) AS uses) AS used_by_customer
"""


_CONTEXT = f"SELECT {context_columns('$5::bigint[]')}"


@dataclass(frozen=True, slots=True)
class PromotionContext:
    """The customer, methods and address of a purchase; `order_id` is the order priced again, whose own uses don't count."""

    user_id: int | None = None
    email: str = ""
    payment_method_id: int | None = None
    shipping_method_id: int | None = None
    address: DestinationAddress = NO_ADDRESS
    destination_id: int | None = None
    order_id: int | None = None


async def load_order_promotions(scope: Scope, order_id: int) -> list[ActivePromotion]:
    """Load the promotions an order was placed with, expired and used-up ones included."""
    return promotions_from(await fetch(_OF_ORDER, scope.store.id, order_id))


def promotions_of_json(entries: str | None) -> Sequence[ActivePromotion]:
    """Build promotions from rows of `active_sql` as a JSON array; the same text gives the same ones."""
    if entries is None:
        return ()
    return _parsed_promotions(entries) if len(entries) <= _MAX_CACHED_TEXT else promotions_from(orjson.loads(entries))


@lru_cache(maxsize=256)
def _parsed_promotions(entries: str) -> Sequence[ActivePromotion]:
    return promotions_from(orjson.loads(entries))


def promotions_from(records: Sequence[Mapping[str, Any]]) -> list[ActivePromotion]:
    """Build promotions from rows of `active_sql`."""
    return [
        ActivePromotion(
            id=row["id"],
            zone=row["zone"],
            rule=_with_plain_ids(json_value(row["rule"])),
            gifts=_with_plain_ids(json_value(row["gifts"])),
            coupon=coupon_key(row["coupon_code"]),
            usage_cap=row["usage_cap"],
            used=row["used"],
            priority=row["priority"],
            stop=row["stop"],
            name=row["name"],
            is_issued=row["is_issued"],
        )
        for row in records
    ]


def _with_plain_ids(term: Any) -> Any:
    """Return a rule or gifts with the ids that versions up to 0.3 stored as objects; those of products have an amount and stay."""
    if isinstance(term, list):
        return [_with_plain_ids(member) for member in term]
    if isinstance(term, dict):
        is_id = "id" in term and "amount" not in term
        return term["id"] if is_id else {name: _with_plain_ids(member) for name, member in term.items()}
    return term


async def evaluate_promotions(
    scope: Scope,
    promotions: Sequence[ActivePromotion],
    lines: Sequence[PromotedLine],
    context: PromotionContext,
    *,
    coupon_code: str | None = None,
    known: Mapping[str, Any] | None = None,
) -> tuple[Reward, CouponRefusal | None]:
    """Return the reward of these promotions: none without promotions, else in one statement, or two if conditions need further facts.

    With it comes why a coupon gives nothing, where that can be stated. `known` is a row with the `context_columns`, if it has been read.
    """
    if not promotions:
        return Reward(), None
    products = list({line.product_id for line in lines})
    record = known or await load_context(scope, promotions, products, context)
    categories: dict[str, str] = json_value(record["categories"])
    facts: PurchaseFacts = await load_facts(scope, promotions, products, context.user_id, context.order_id)
    rule_context = RuleContext(
        lines=[
            RuleLine(
                line.product_id,
                line.quantity,
                line.price_cents,
                line.weight_grams,
                category_ids(categories.get(str(line.product_id), "")),
                facts.features.get(line.product_id, NO_FEATURES),
                line.fixed,
                line.fixed or line.price_agreed,
            )
            for line in lines
        ],
        user_id=context.user_id,
        usergroups=frozenset(record["usergroups"]),
        coupon=coupon_key(coupon_code),
        payment_method_id=context.payment_method_id,
        shipping_method_id=context.shipping_method_id,
        country=context.address.country,
        state=context.address.state,
        zipcode=context.address.zipcode,
        destination_id=context.destination_id,
        used={promotion.id: promotion.used for promotion in promotions},
        used_by_customer=uses_of(record),
        issued=frozenset(promotion.id for promotion in promotions if promotion.is_issued),
        earlier=facts.earlier,
        points=facts.points,
    )
    reward = calculate_reward(promotions, rule_context)
    is_refused = bool(rule_context.coupon) and not reward.coupon_accepted
    return reward, explain_refusal(promotions, rule_context) if is_refused else None


def depend_on_customer(promotions: Sequence[ActivePromotion]) -> bool:
    """Return whether any rule tests what the `context_columns` say of the customer."""
    return any(not promotion.tests.isdisjoint(_OF_CUSTOMERS) for promotion in promotions)


def uses_of(record: Mapping[str, Any]) -> dict[int, int]:
    """Return the customer's uses by promotion, of a row with the `context_columns`."""
    return {int(number): uses for number, uses in json_value(record["used_by_customer"]).items()}


@lru_cache(maxsize=4096)
def category_ids(paths: str) -> frozenset[int]:
    """Return the ids in the paths of a product's categories, which are separated by slashes like the ids."""
    return frozenset([int(number) for number in paths.split("/") if number])


async def load_context(
    scope: Scope, promotions: Sequence[ActivePromotion], products: Sequence[int], context: PromotionContext
) -> Mapping[str, Any]:
    """Return the `context_columns` of promotions, in one statement."""
    numbers = [promotion.id for promotion in promotions if ONCE in promotion.tests]
    [record] = await fetch(
        _CONTEXT, scope.store.id, products, context.user_id, context.email, numbers, context.order_id
    )
    row: Mapping[str, Any] = record
    return row


def coupon_key(code: str | None) -> str:
    """Normalise a coupon code for comparison: case, accents and surrounding white space are ignored."""
    return fold((code or "").strip()[: NFC_RATIO * MAX_COUPON])[:MAX_COUPON]


# By id, so that concurrent orders with the same promotions can't deadlock.
_LOCK = "SELECT id FROM promotions WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id FOR NO KEY UPDATE"
# A separate statement after the lock sees what previous lock holders committed.
_USE = """
WITH customer AS (SELECT user_id, email FROM orders WHERE tenant_id = $1 AND id = $3), used AS (
    UPDATE promotions p SET used = p.used + 1 FROM customer
    WHERE p.tenant_id = $1 AND p.id = ANY($2::bigint[]) AND (p.usage_cap = 0 OR p.used < p.usage_cap)
        AND NOT (p.once_per_customer AND EXISTS (
            SELECT 1 FROM promotion_uses u JOIN orders o ON o.tenant_id = u.tenant_id AND o.id = u.order_id
            WHERE u.tenant_id = p.tenant_id AND u.promotion_id = p.id AND NOT u.given_back
                AND (o.user_id = customer.user_id OR o.email = nullif(customer.email, ''))))
    RETURNING p.id
)
INSERT INTO promotion_uses (tenant_id, public_id, promotion_id, order_id, created_at)
SELECT $1, g.public_id, used.id, $3, $5 FROM used JOIN unnest($2::bigint[], $4::uuid[]) AS g (id, public_id) ON g.id = used.id
"""
_RELEASE = """
WITH released AS (
    UPDATE promotion_uses u SET given_back = true
    WHERE u.tenant_id = $1 AND u.order_id = $2 AND NOT u.given_back RETURNING u.promotion_id
)
UPDATE promotions p SET used = greatest(p.used - 1, 0) FROM released WHERE p.tenant_id = $1 AND p.id = released.promotion_id
"""
_RESTORE = """
WITH restored AS (
    UPDATE promotion_uses u SET given_back = false
    WHERE u.tenant_id = $1 AND u.order_id = $2 AND u.given_back RETURNING u.promotion_id
)
UPDATE promotions p SET used = p.used + 1 FROM restored WHERE p.tenant_id = $1 AND p.id = restored.promotion_id
"""
_LOCK_OF_ORDER = """
SELECT p.id FROM promotions p JOIN promotion_uses u ON u.tenant_id = p.tenant_id AND u.promotion_id = p.id
WHERE p.tenant_id = $1 AND u.order_id = $2 ORDER BY p.id FOR NO KEY UPDATE OF p
"""


async def redeem(scope: Scope, reward: Reward, order_id: int) -> None:
    """Count the uses of an order's promotions in the transaction that places it, after inserting it and before locking products.

    Raises RuleViolation `coupon_unavailable` when a concurrent order took the last use.
    """
    promotion_ids = sorted(set(reward.promotions))
    if not promotion_ids:
        return
    await execute(_LOCK, scope.store.id, promotion_ids)
    counted = await execute(_USE, scope.store.id, promotion_ids, order_id, [uuid7() for _ in promotion_ids], scope.now)
    coupon = reward.issued_coupon
    is_usable = not coupon or await issued_coupons.use_coupon(scope, coupon, order_id, promotion_ids)
    if counted != len(promotion_ids) or not is_usable:
        raise RuleViolation("the coupon is no longer available", reason="coupon_unavailable")


async def lock_uses(scope: Scope, order_id: int) -> None:
    """Lock the promotions of an order, whose uses are counted, until the transaction ends."""
    await execute(_LOCK_OF_ORDER, scope.store.id, order_id)


async def release_uses(scope: Scope, order_id: int) -> None:
    """Release the promotion uses of a cancelled or failed order; idempotent."""
    await lock_uses(scope, order_id)
    await execute(_RELEASE, scope.store.id, order_id)
    await issued_coupons.set_used(scope, order_id, False)


async def restore_uses(scope: Scope, order_id: int) -> None:
    """Count the uses of a reopened order again, even beyond the usage limit: its price was agreed."""
    await lock_uses(scope, order_id)
    await execute(_RESTORE, scope.store.id, order_id)
    await issued_coupons.set_used(scope, order_id, True)


async def delete_uses(scope: Scope, order_id: int) -> None:
    """Release and delete the uses of an order whose promotions an explicit discount replaced."""
    await release_uses(scope, order_id)
    await issued_coupons.withdraw_coupons(scope, order_id)
    await delete_rows(scope, "promotion_uses", order_id=order_id)
