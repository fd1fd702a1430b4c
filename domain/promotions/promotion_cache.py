"""The cache of the promotions of stores that need no coupon, so that prices seldom take a statement for them.

Rows of products carry the version of the promotions of their store (`PromotionCache.version_sql`). It names the stored versions of the
promotions' rows: no write leaves it as it was. A process caches the promotions of the version that it read last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.promotions.calculation import ActivePromotion
from domain.promotions.rewards import RULE_COLUMNS, promotions_from
from kernel.cache import BoundedCache
from kernel.scope import Scope
from models.connection.database import Plans, fetch

MAX_STORES = 1_000
_MAX_PROMOTIONS = 200


@dataclass(frozen=True, slots=True)
class _DatedPromotion:
    promotion: ActivePromotion
    from_at: datetime | None
    to_at: datetime | None

    def is_active(self, now: datetime) -> bool:
        return (self.from_at is None or self.from_at <= now) and (self.to_at is None or self.to_at >= now)


class PromotionCache:
    """The promotions `p` of each store that meet a condition (trusted SQL) and need no coupon code.

    The SQL has `{tenant}` for the store; `version_sql` is the version of its promotions, null for none.
    """

    def __init__(self, condition: str = "true") -> None:
        where = (
            "p.tenant_id = {tenant} AND p.deleted_at IS NULL AND p.status = 'A' AND p.coupon_key = ''"
            f" AND {condition}"
        )
        self._exist = f"EXISTS (SELECT FROM promotions p WHERE {where})"
        # `xmin` and `ctid` identify the stored version of a row, also within the transaction that writes it.
        self.version_sql = (
            "(SELECT hashtextextended(string_agg(concat_ws(' ', p.id, p.xmin, p.ctid), ',' ORDER BY p.id), 0)"
            f" FROM promotions p WHERE {where})"
        )
        self._statement = f"""
SELECT p.id, p.zone, {RULE_COLUMNS}, p.coupon_code, p.usage_cap, p.used, p.priority, p.stop, p.name, false AS is_issued,
    p.from_at, p.to_at, {self.version_sql} AS version
FROM promotions p WHERE {where}
""".replace("{tenant}", "$1")
        # By the store's UUID: its number may be that of another store in another database.
        self._promotions: BoundedCache[UUID, tuple[int, Sequence[_DatedPromotion]]] = BoundedCache(MAX_STORES)

    def category_paths_sql(self, product: str) -> str:
        """Return the SQL of what rules ask of a product (trusted SQL of its id): the paths of its categories, null without promotions."""
        return f"""CASE WHEN {self._exist} THEN (
    SELECT string_agg(c.id_path, '/') FROM product_categories pc JOIN categories c ON c.tenant_id = pc.tenant_id AND c.id = pc.category_id
    WHERE pc.tenant_id = {{tenant}} AND pc.product_id = {product}) END"""

    async def active(self, scope: Scope, version: int) -> list[ActivePromotion]:
        """Return the active promotions of the scope's store, at least as new as the version, in one statement at most."""
        store = scope.store.public_id
        known = self._promotions.find(store)
        if known is not None and known[0] == version:
            dated = known[1]
        else:
            rows = await fetch(self._statement, scope.store.id, plans=Plans.REUSED)
            dated = [
                _DatedPromotion(promotion, row["from_at"], row["to_at"])
                for promotion, row in zip(promotions_from(rows), rows, strict=True)
            ]
            if 0 < len(dated) <= _MAX_PROMOTIONS:
                self._promotions.keep(store, (rows[0]["version"], dated))
        return [each.promotion for each in dated if each.is_active(scope.now)]
