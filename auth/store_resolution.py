"""Resolve the store of a request by its host or `X-Tenant-ID` (docs/reference/shared.md#store-resolution).

Stores are cached per process. Code that changes a store or its hosts calls `invalidate_store` in the same transaction: this process
drops the entry at the commit, the others on PostgreSQL's NOTIFY.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID
from weakref import WeakSet

import orjson
from asyncpg import Record

from auth.access import MAINTENANCE
from kernel.cache import BoundedCache
from kernel.errors import TenantClosed, TenantMismatch, TenantNotFound
from kernel.ids import parse_uuid
from kernel.scope import Store
from models.connection import database
from models.rows import from_row

CHANNEL = "vitrine_stores"
CACHE_SECONDS = 300.0
# A separate cache: an absent store may be created at any moment, and forged names must not evict real stores.
ABSENT_CACHE_SECONDS = 2.0

SUSPENDED = "Esta loja está suspensa."

# Non-ASCII names arrive as punycode (RFC 5890).
_HOST = re.compile(r"(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._-]+)(?::[0-9]{0,5})?")
_MAX_HOST = 255
_UUID_LENGTH = 36
_uuid_in = lru_cache(maxsize=4_096)(parse_uuid)

_LINKED_HOST = """(
    select l.host from store_hosts l where l.store_id = t.id order by l.is_primary desc, l.host like '%.localhost', l.host limit 1
) as host"""
_BY_HOST = f"""
select t.*, {_LINKED_HOST}, case when h.is_redirected then
    (select p.host from store_hosts p where p.store_id = h.store_id and p.is_primary) end as primary_host
from store_hosts h join tenants t on t.id = h.store_id where h.host = $1
"""
_BY_ID = f"select t.*, {_LINKED_HOST} from tenants t where t.public_id = $1"

_resolvers: WeakSet[CachedStoreResolver] = WeakSet()


@dataclass(frozen=True, slots=True)
class _CachedStore:
    store: Store | None
    expires_at: float
    primary_host: str | None = None


class CachedStoreResolver:
    """Resolve stores by host and id, with one cache per process."""

    def __init__(self, shared_hosts: Collection[str], default_store: UUID | None = None, *, size: int = 10_000) -> None:
        self._shared = frozenset(host.lower().rstrip(".") for host in shared_hosts)
        self._default = default_store
        self._stores: BoundedCache[str | UUID, _CachedStore] = BoundedCache(size)
        self._absent: BoundedCache[str | UUID, _CachedStore] = BoundedCache(size)
        self.generation = 0
        """Increases with every invalidation: what was read before may be stale."""
        _resolvers.add(self)

    async def resolve(
        self, host: str | None, tenant_header: str | None, *, public: bool, allow_maintenance: bool = False
    ) -> Store:
        """Return the open store of the `Host` and `X-Tenant-ID` headers.

        At a store's own host the header is optional; one that names another store is rejected, on public routes as if there were no store.
        Raise `TenantNotFound`, `TenantMismatch`, and `TenantClosed` for a store that is suspended or, unless `allow_maintenance`, in
        maintenance.
        """
        name = parse_host(host)
        header = (tenant_header or "").strip()
        if name is None:
            raise TenantNotFound()
        if name in self._shared:
            store = await self._at_shared_host(header)
        else:
            store = await self._at_own_host(name, header, public=public)
        check_store_open(store, allow_maintenance=allow_maintenance)
        return store

    async def primary_host(self, host: str) -> str | None:
        """Return the host to which browsers are redirected from this one, None where they aren't."""
        name = parse_host(host)
        entry = await self._find_entry(name, _BY_HOST) if name is not None and name not in self._shared else None
        return entry.primary_host if entry is not None else None

    def is_shared(self, host: str) -> bool:
        """Return whether stores share the address and `X-Tenant-ID` distinguishes them."""
        return parse_host(host) in self._shared

    async def listen(self) -> None:
        """Invalidate the cache when other processes change stores; needs the database connected."""
        await database.listen(CHANNEL, lambda payload: self.invalidate(int(payload)), on_missed=self.clear)

    def invalidate(self, store_id: int) -> None:
        """Drop a store under every name, and all absent names: one may now be this store's."""
        self.generation += 1
        for name, entry in self._stores.items():
            if entry.store is not None and entry.store.id == store_id:
                self._stores.drop(name)
        self._absent.clear()

    def clear(self) -> None:
        """Drop everything, for when notifications may have been lost."""
        self.generation += 1
        self._stores.clear()
        self._absent.clear()

    async def _at_shared_host(self, header: str) -> Store:
        named = _uuid_in(header) if len(header) == _UUID_LENGTH else None
        store = await self._find(named, _BY_ID) if named is not None else None
        if store is None and self._default is not None:
            store = await self._find(self._default, _BY_ID)
        if store is None:
            raise TenantNotFound()
        return store

    async def _at_own_host(self, name: str, header: str, *, public: bool) -> Store:
        store = await self._find(name, _BY_HOST)
        if store is None:
            raise TenantNotFound()
        if header and parse_uuid(header) != store.public_id:
            raise TenantNotFound() if public else TenantMismatch()
        return store

    async def _find(self, name: str | UUID, sql: str) -> Store | None:
        return (await self._find_entry(name, sql)).store

    async def _find_entry(self, name: str | UUID, sql: str) -> _CachedStore:
        entry = self._stores.find(name) or self._absent.find(name)
        if entry is not None and entry.expires_at > time.monotonic():
            return entry
        generation = self.generation
        row = await database.fetchrow(sql, name)
        seconds = ABSENT_CACHE_SECONDS if row is None else CACHE_SECONDS
        store = None if row is None else build_store(row)
        entry = _CachedStore(store, time.monotonic() + seconds, row and row.get("primary_host"))
        if generation == self.generation:  # else the row may be stale already
            cache, other_cache = (self._absent, self._stores) if store is None else (self._stores, self._absent)
            other_cache.drop(name)
            cache.keep(name, entry)
        return entry


async def invalidate_store(store_id: int) -> None:
    """Invalidate a changed store, in the transaction of the change or right after one that goes through a `cross_store_connection`."""
    await database.notify(CHANNEL, str(store_id))
    await database.after_commit(lambda: _invalidate_locally(store_id))


def check_store_open(store: Store, *, allow_maintenance: bool = False) -> None:
    """Raise `TenantClosed` for a store that is suspended, or in maintenance unless allowed (payment gateway notifications)."""
    if store.status == "S":
        raise TenantClosed("tenant_suspended", SUSPENDED, is_moving=store.is_moving)
    if store.status == "M" and not allow_maintenance:
        raise TenantClosed("tenant_maintenance", store.maintenance_message or MAINTENANCE)


def parse_host(host: str | None) -> str | None:
    """Return the host name in a `Host` header in lower case, without port and final dot (`[::1]:8000` is `[::1]`); None if malformed."""
    return _parse_host(host) if host is not None and len(host) <= _MAX_HOST else None


@lru_cache(maxsize=4_096)
def _parse_host(host: str) -> str | None:
    match = _HOST.fullmatch(host.strip())
    return match[1].lower().rstrip(".") or None if match else None


def build_store(row: Record) -> Store:
    """Build a store from a row of `tenants`."""
    custom_statuses = _json(row["status_letters"])
    move = _json(row.get("move"))  # absent before the migration 0071
    return from_row(
        Store,
        row,
        settings=_json(row["settings"]),
        order_statuses=custom_statuses.get("O", {}),
        shipment_statuses=tuple(custom_statuses.get("S", ())),
        is_read_only=row.get("is_read_only", False),  # absent before the migration 0027
        limits=_json(row.get("limits")),  # absent before the migration 0062
        host=row.get("host") or "",
        is_moving=move.get("state") in ("leaving", "left"),
        former_ids=tuple(move.get("former_ids", ())),
    )


def _json(value: Any) -> dict[str, Any]:
    parsed: dict[str, Any] = orjson.loads(value) if isinstance(value, str) else dict(value or {})
    return parsed


def _invalidate_locally(store_id: int) -> None:
    for resolver in list(_resolvers):
        resolver.invalidate(store_id)
