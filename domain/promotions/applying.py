"""Find out what promotions give for a purchase, and count the uses of those an order is placed with.

    given = await reward(scope, lines, coupon_code="DEZ", user_id=7, email="ana@example.com")
    async with transaction(scope):
        ...                                              # the order is written
        await redeem(scope, given, order_id)             # before any product is locked

`domain.orders.place` does both for every order that is placed without `priced`: who only wants to know (a cart that is shown) calls
`reward` alone. Rows are locked in one order everywhere: the order's, promotions', products'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from domain.destinations.places import NOWHERE, DestinationAddress, find_destination, place_of
from domain.promotions.conditions import asks
from domain.promotions.deciding import ActivePromotion, FreeProduct, Reward, decide
from domain.promotions.rules import Facts, LineFacts
from kernel.errors import RuleViolation
from kernel.ids import uuid7
from kernel.scope import Scope, entered
from kernel.text import fold
from models.database import execute, rows

__all__ = ["FreeProduct", "PromotedLine", "Reward", "give_back", "redeem", "reward", "take_again"]

MAX_COUPON = 255


@dataclass(frozen=True, slots=True)
class PromotedLine:
    """Describe a line as promotions see it: units of a product at a price in cents; weight in grams a unit.

    A `fixed` price was given by hand: no promotion changes it, though an order's discount counts it in. A `settled` one was agreed
    before: the catalogue's promotions don't lower it again.
    """

    product_id: int
    quantity: int
    price_cents: int
    weight_grams: int = 0
    fixed: bool = False
    settled: bool = False


def active_sql(now: str, coupon: str) -> str:
    """Write the statement for the promotions that are on: one with a code of its own only for who gives that code.

    Parameter 1 is the store, `now` and `coupon` (trusted SQL, such as `$2`) the moment and the folded code.
    """
    return f"""
SELECT p.id, p.zone, p.rule, p.gifts, p.coupon_code, p.usage_cap, p.used, p.priority, p.stop
FROM promotions p
WHERE p.tenant_id = $1 AND p.deleted_at IS NULL AND p.status = 'A'
    AND (p.from_at IS NULL OR p.from_at <= {now}) AND (p.to_at IS NULL OR p.to_at >= {now})
    AND p.coupon_key IN ('', {coupon})
"""


_ACTIVE = active_sql("$2", "$3")
# Those an order has, whatever became of them since.
_KEPT = """
SELECT p.id, p.zone, p.rule, p.gifts, p.coupon_code, 0::bigint AS usage_cap, 0::bigint AS used, p.priority, p.stop
FROM promotions p
WHERE p.tenant_id = $1 AND EXISTS (SELECT 1 FROM promotion_uses u
    WHERE u.tenant_id = p.tenant_id AND u.promotion_id = p.id AND u.order_id = $2)
"""

_FACTS = """
SELECT
    (SELECT coalesce(jsonb_object_agg(found.product_id, found.ids), '{}') FROM (
        SELECT pc.product_id, jsonb_agg(DISTINCT above.id::bigint) AS ids
        FROM product_categories pc JOIN categories c ON c.tenant_id = pc.tenant_id AND c.id = pc.category_id
            CROSS JOIN LATERAL unnest(string_to_array(c.id_path, '/')) AS above (id)
        WHERE pc.tenant_id = $1 AND pc.product_id = ANY($2::bigint[]) AND above.id <> '' GROUP BY pc.product_id
    ) AS found) AS categories,
    ARRAY(SELECT m.usergroup_id FROM usergroup_memberships m JOIN usergroups g ON g.tenant_id = m.tenant_id AND g.id = m.usergroup_id
        WHERE m.tenant_id = $1 AND m.user_id = $3 AND m.status = 'A' AND g.status <> 'D' AND g.deleted_at IS NULL) AS usergroups,
    (SELECT coalesce(jsonb_object_agg(made.promotion_id, made.count), '{}') FROM (
        SELECT u.promotion_id, count(*) FROM promotion_uses u JOIN orders o ON o.tenant_id = u.tenant_id AND o.id = u.order_id
        WHERE u.tenant_id = $1 AND u.promotion_id = ANY($5::bigint[]) AND NOT u.given_back
            AND (o.user_id = $3 OR o.email = nullif($4, '')) AND u.order_id IS DISTINCT FROM $6 GROUP BY u.promotion_id
    ) AS made) AS used_by_buyer
"""


async def reward(
    scope: Scope,
    lines: Sequence[PromotedLine],
    *,
    coupon_code: str | None = None,
    user_id: int | None = None,
    email: str = "",
    payment_method_id: int | None = None,
    shipping_method_id: int | None = None,
    address: Mapping[str, Any] | None = None,
) -> Reward:
    """Decide what a purchase gets, without counting a use: one statement where no promotion is on, three at most.

    `address` is where it is shipped, in the words of an order's address. Prices of the lines are the catalogue's.
    """
    with entered(scope):
        found = await active_promotions(scope, coupon_code)
        if not found:
            return _nothing(lines)
        place = place_of(address)
        buyer = PromotionContext(user_id, email, payment_method_id, shipping_method_id, place)
        if any(asks(promotion.rule, "destinations") for promotion in found):
            buyer = PromotionContext(
                user_id,
                email,
                payment_method_id,
                shipping_method_id,
                place,
                await find_destination(scope, place),
            )
        return await reward_of(scope, found, lines, buyer, coupon_code=coupon_code)


@dataclass(frozen=True, slots=True)
class PromotionContext:
    """Say who buys, how it is paid and sent, and where to; `order_id` is the order that is priced anew, whose uses don't count."""

    user_id: int | None = None
    email: str = ""
    payment_method_id: int | None = None
    shipping_method_id: int | None = None
    place: DestinationAddress = NOWHERE
    destination_id: int | None = None
    order_id: int | None = None


async def active_promotions(scope: Scope, coupon_code: str | None) -> list[ActivePromotion]:
    """Read the promotions that are on now."""
    return promotions_from(await rows(_ACTIVE, scope.store.id, scope.now, coupon_key(coupon_code)))


async def kept_promotions(scope: Scope, order_id: int) -> list[ActivePromotion]:
    """Read the promotions that an order was placed with, also those that are over or used up."""
    return promotions_from(await rows(_KEPT, scope.store.id, order_id))


def promotions_from(found: Sequence[Mapping[str, Any]]) -> list[ActivePromotion]:
    """Make promotions of rows of `active_sql`."""
    return [
        ActivePromotion(
            id=row["id"],
            zone=row["zone"],
            rule=_json(row["rule"]),
            gifts=_json(row["gifts"]),
            coupon=coupon_key(row["coupon_code"]),
            usage_cap=row["usage_cap"],
            used=row["used"],
            priority=row["priority"],
            stop=row["stop"],
        )
        for row in found
    ]


async def reward_of(
    scope: Scope,
    found: Sequence[ActivePromotion],
    lines: Sequence[PromotedLine],
    buyer: PromotionContext,
    *,
    coupon_code: str | None = None,
) -> Reward:
    """Decide what these promotions give, in one statement; none where there are none."""
    if not found:
        return _nothing(lines)
    [told] = await rows(
        _FACTS,
        scope.store.id,
        list({line.product_id for line in lines}),
        buyer.user_id,
        buyer.email,
        [promotion.id for promotion in found],
        buyer.order_id,
    )
    categories: dict[str, list[int]] = _json(told["categories"])
    facts = Facts(
        lines=[
            LineFacts(
                line.product_id,
                line.quantity,
                line.price_cents,
                line.weight_grams,
                frozenset(categories.get(str(line.product_id), ())),
                line.fixed,
                line.fixed or line.settled,
            )
            for line in lines
        ],
        user_id=buyer.user_id,
        usergroups=frozenset(told["usergroups"]),
        coupon=coupon_key(coupon_code),
        payment_method_id=buyer.payment_method_id,
        shipping_method_id=buyer.shipping_method_id,
        country=buyer.place.country,
        state=buyer.place.state,
        zipcode=buyer.place.zipcode,
        destination_id=buyer.destination_id,
        used={promotion.id: promotion.used for promotion in found},
        used_by_buyer={int(number): uses for number, uses in _json(told["used_by_buyer"]).items()},
    )
    return decide(found, facts)


def coupon_key(code: str | None) -> str:
    """Give the form in which coupon codes are compared: without case, accents and spaces around."""
    return fold((code or "").strip())[:MAX_COUPON]


def _nothing(lines: Sequence[PromotedLine]) -> Reward:
    return Reward(line_discounts=(0,) * len(lines), unit_prices=tuple(line.price_cents for line in lines))


def _json(value: Any) -> Any:
    return orjson.loads(value) if isinstance(value, str | bytes) else value


# --- Uses --------------------------------------------------------------------------------------------------------------------

# In the order of the ids, so that two orders with the same promotions wait for one another and not in a circle.
_LOCK = (
    "SELECT id FROM promotions WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id FOR NO KEY UPDATE"
)
# A statement of its own behind the lock: it sees what those committed who held the lock before.
_USE = """
WITH buyer AS (SELECT user_id, email FROM orders WHERE tenant_id = $1 AND id = $3), used AS (
    UPDATE promotions p SET used = p.used + 1 FROM buyer
    WHERE p.tenant_id = $1 AND p.id = ANY($2::bigint[]) AND (p.usage_cap = 0 OR p.used < p.usage_cap)
        AND NOT (p.once_per_customer AND EXISTS (
            SELECT 1 FROM promotion_uses u JOIN orders o ON o.tenant_id = u.tenant_id AND o.id = u.order_id
            WHERE u.tenant_id = p.tenant_id AND u.promotion_id = p.id AND NOT u.given_back
                AND (o.user_id = buyer.user_id OR o.email = nullif(buyer.email, ''))))
    RETURNING p.id
)
INSERT INTO promotion_uses (tenant_id, public_id, promotion_id, order_id, created_at)
SELECT $1, g.public_id, used.id, $3, $5 FROM used JOIN unnest($2::bigint[], $4::uuid[]) AS g (id, public_id) ON g.id = used.id
"""
_GIVE_BACK = """
WITH back AS (
    UPDATE promotion_uses u SET given_back = true
    WHERE u.tenant_id = $1 AND u.order_id = $2 AND NOT u.given_back RETURNING u.promotion_id
)
UPDATE promotions p SET used = greatest(p.used - 1, 0) FROM back WHERE p.tenant_id = $1 AND p.id = back.promotion_id
"""
_TAKE_AGAIN = """
WITH again AS (
    UPDATE promotion_uses u SET given_back = false
    WHERE u.tenant_id = $1 AND u.order_id = $2 AND u.given_back RETURNING u.promotion_id
)
UPDATE promotions p SET used = p.used + 1 FROM again WHERE p.tenant_id = $1 AND p.id = again.promotion_id
"""
_LOCK_OF_ORDER = """
SELECT p.id FROM promotions p JOIN promotion_uses u ON u.tenant_id = p.tenant_id AND u.promotion_id = p.id
WHERE p.tenant_id = $1 AND u.order_id = $2 ORDER BY p.id FOR NO KEY UPDATE OF p
"""


async def redeem(scope: Scope, given: Reward, order_id: int) -> None:
    """Count the uses of what an order was given, inside the transaction that places it; the order is written, no product locked.

    Raises RuleViolation `coupon_unavailable` when somebody else had the last use meanwhile.
    """
    wanted = sorted(set(given.promotions))
    if not wanted:
        return
    await execute(_LOCK, scope.store.id, wanted)
    counted = await execute(_USE, scope.store.id, wanted, order_id, [uuid7() for _ in wanted], scope.now)
    if counted != len(wanted):
        raise RuleViolation("the coupon is no longer available", reason="coupon_unavailable")


async def give_back(scope: Scope, order_id: int) -> None:
    """Let others have the uses of an order that came to nothing; once, however often it is said."""
    await execute(_LOCK_OF_ORDER, scope.store.id, order_id)
    await execute(_GIVE_BACK, scope.store.id, order_id)


async def take_again(scope: Scope, order_id: int) -> None:
    """Count the uses of an order that is taken up again; its price was agreed, so it has them even beyond the limit."""
    await execute(_LOCK_OF_ORDER, scope.store.id, order_id)
    await execute(_TAKE_AGAIN, scope.store.id, order_id)


async def forget(scope: Scope, order_id: int) -> None:
    """Give the uses of an order back for good: a discount by hand took their place."""
    await give_back(scope, order_id)
    await execute(
        "DELETE FROM promotion_uses WHERE tenant_id = $1 AND order_id = $2", scope.store.id, order_id
    )
