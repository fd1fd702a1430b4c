"""The version of a store's catalogue: it moves in the transaction of every change that a read of the catalogue can show.

PostgreSQL keeps it (migration 0022): triggers on `TABLES` raise it, for writes of every program. A process caches the version of a store
for at most MAX_AGE_SECONDS. It asks PostgreSQL again after each write of its own to the store, and when another process that wrote to it
says so (`models.connection.notices`): a change is visible at once to the process that made it, to the others within 100 ms, and after
MAX_AGE_SECONDS where the notice was lost or the writer is no process of Vitrine.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from kernel.cache import BoundedCache
from kernel.scope import Scope
from models.connection import database, notices
from models.connection.replicas import POSITION, set_least_position

MAX_AGE_SECONDS = 5.0
MAX_STORES = 10_000

TABLES = (
    "products", "product_categories", "product_images", "product_options", "product_taxes", "product_boxes", "box_descriptions",
    "required_products", "attachments", "features", "feature_categories", "feature_variants", "feature_values",
    "feature_value_variants", "options", "option_variants", "option_exceptions", "exception_choices", "combinations",
    "combination_choices", "categories", "vendors", "discussion_threads", "discussion_posts", "pages", "blocks", "menus", "menu_items",
    "languages", "language_variables", "promotions", "promotion_uses", "payment_methods", "payment_method_taxes",
    "media_files", "review_images", "store_logos", "vendor_banners",
    "variation_groups", "variation_group_features", "variation_group_products",
    "product_tags", "collections", "collection_products",
)  # fmt: skip
"""The tables of which reads of the catalogue show rows."""

# Promotions begin and end, and products become available, without a change of a row: the latest such moment is part of the version.
READ = f"""
SELECT (SELECT coalesce(sum(version), 0)::bigint FROM catalogue_versions WHERE tenant_id = $1) AS changes,
    {POSITION} AS position, (extract(epoch FROM max(moment.at) FILTER (WHERE moment.at <= now())) * 1000000)::bigint AS passed,
    extract(epoch FROM min(moment.at) FILTER (WHERE moment.at > now()) - now())::float8 AS seconds
FROM (
    SELECT m.at FROM promotions p CROSS JOIN LATERAL (VALUES (p.from_at), (p.to_at + interval '1 microsecond')) AS m (at)
    WHERE p.tenant_id = $1 AND p.deleted_at IS NULL
    UNION ALL
    (SELECT p.available_since FROM products p WHERE p.tenant_id = $1 AND p.available_since <= now() AND p.deleted_at IS NULL
        ORDER BY p.available_since DESC LIMIT 1)
    UNION ALL
    (SELECT p.available_since FROM products p WHERE p.tenant_id = $1 AND p.available_since > now() AND p.deleted_at IS NULL
        ORDER BY p.available_since LIMIT 1)
) AS moment
"""

UNUSED = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
"""SQL of what to raise versions by where an older state of a store, or a copy of it, begins: more than the changes that it lacks."""


@dataclass(frozen=True, slots=True)
class _CachedVersion:
    version: str
    expires_at: float


class CatalogueVersions:
    """The cached versions of a process, of the stores read most recently."""

    def __init__(self) -> None:
        self._versions: BoundedCache[int, _CachedVersion] = BoundedCache(MAX_STORES)
        self.drop = self._versions.drop
        """Ask PostgreSQL for the version of a store at its next read."""
        self.clear = self._versions.clear
        """Ask PostgreSQL for every version at the next read."""

    async def current(self, scope: Scope) -> str:
        """Return the version of the scope's store; what is read from the database afterwards is at least as new."""
        store = scope.store.id
        cached = self.find(store)
        if cached is not None:
            return cached
        # A write that ends meanwhile may not be counted yet: it drops this entry, and the version isn't cached.
        asked_at = monotonic()
        asking = _CachedVersion("", expires_at=0.0)
        self._versions.keep(store, asking)
        row = await database.fetchrow(READ, store)
        assert row is not None
        # No replica answers under this version with what came before it.
        set_least_position(store, row["position"])
        version = f"{row['changes']}.{row['passed'] or 0}"
        if self._versions.find(store) is asking:
            seconds = MAX_AGE_SECONDS if row["seconds"] is None else min(MAX_AGE_SECONDS, row["seconds"])
            self._versions.keep(store, _CachedVersion(version, asked_at + seconds))
        return version

    def find(self, store: int) -> str | None:
        """Return the cached version of a store; None unless it is current."""
        cached = self._versions.find(store)
        return cached.version if cached is not None and monotonic() < cached.expires_at else None


def is_ahead_of_request(version: str, scope: Scope) -> bool:
    """Return whether something has begun or ended in a version, by the database's clock, that hasn't by the time of the request.

    The request began before, or this machine's clock is behind: what it reads is of the version before.
    """
    return int(version.partition(".")[2]) > scope.now.timestamp() * 1_000_000


_process_versions = CatalogueVersions()
notices.observe(_process_versions.drop)


def process_versions() -> CatalogueVersions:
    """Return the versions of this process."""
    return _process_versions


async def listen(versions: CatalogueVersions | None = None) -> None:
    """Forget versions (by default this process's) when other processes write; needs the database connected."""
    target = _process_versions if versions is None else versions
    await database.listen_for_writes(target.drop, on_missed=target.clear)
