"""Find the store a request is for, by its address or `X-Tenant-ID` (decisions section 2, Shared address).

Stores are remembered per process. Whoever changes a store or its addresses calls `store_changed` in the same transaction: this
process forgets at the commit, the others when PostgreSQL's NOTIFY arrives.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID
from weakref import WeakSet

import orjson
from asyncpg import Record

from kernel.errors import TenantClosed, TenantMismatch, TenantNotFound
from kernel.ids import parse_uuid
from kernel.scope import Store
from models import database

CHANNEL = "vitrine_stores"
KEEP_SECONDS = 300.0
# What nobody has may be made at any moment, and what is invented must not push real stores out.
KEEP_ABSENT_SECONDS = 2.0

MAINTENANCE = "Loja em manutenção. Volte em alguns minutos."
SUSPENDED = "Esta loja está suspensa."

# Names that are not in ASCII come as punycode (RFC 5890).
_HOST = re.compile(r"(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._-]+)(?::[0-9]{0,5})?")
_MAX_HOST = 255
_UUID_LENGTH = 36
_uuid_in = lru_cache(maxsize=4_096)(parse_uuid)

_BY_HOST = "select t.* from store_hosts h join tenants t on t.id = h.store_id where h.host = $1"
_BY_ID = "select * from tenants where public_id = $1"

_directories: WeakSet[StoreDirectory] = WeakSet()


@dataclass(frozen=True, slots=True)
class _Kept:
    store: Store | None
    until: float


class StoreDirectory:
    """Know which store answers where, for one process."""

    def __init__(
        self, shared_hosts: Collection[str], default_store: UUID | None = None, *, size: int = 10_000
    ) -> None:
        self._shared = frozenset(host.lower().rstrip(".") for host in shared_hosts)
        self._default = default_store
        self._size = size
        self._kept: OrderedDict[str | UUID, _Kept] = OrderedDict()
        self._absent: OrderedDict[str | UUID, _Kept] = OrderedDict()
        self.generation = 0
        """Grows with every store forgotten: what was found before may be stale."""
        _directories.add(self)

    async def resolve(
        self, host: str | None, tenant_header: str | None, *, public: bool, allow_maintenance: bool = False
    ) -> Store:
        """Give the open store that the `Host` and `X-Tenant-ID` headers name.

        At a store's own address the header isn't needed; one that names another store is refused, on public routes as if there
        were no store. Raises `TenantNotFound`, `TenantMismatch`, and `TenantClosed` for a store that is suspended or, unless
        `allow_maintenance`, in maintenance.
        """
        name = host_name(host)
        header = (tenant_header or "").strip()
        if name is None:
            raise TenantNotFound()
        if name in self._shared:
            store = await self._at_shared_address(header)
        else:
            store = await self._at_own_address(name, header, public=public)
        check_open(store, allow_maintenance=allow_maintenance)
        return store

    async def by_public_id(self, public_id: UUID) -> Store | None:
        """Give the store with the UUID, whatever its state, or None."""
        return await self._find(public_id, _BY_ID)

    async def listen(self) -> None:
        """Keep the directory up to date with what other processes change; needs the database connected."""
        await database.listen(CHANNEL, lambda payload: self.forget(int(payload)), after_gap=self.forget_all)

    def forget(self, store_id: int) -> None:
        """Forget a store and every name it is found by, and all that was absent: it may be this one."""
        self.generation += 1
        stale = [
            name for name, kept in self._kept.items() if kept.store is not None and kept.store.id == store_id
        ]
        for name in stale:
            del self._kept[name]
        self._absent.clear()

    def forget_all(self) -> None:
        """Forget everything, as when notices may have been missed."""
        self.generation += 1
        self._kept.clear()
        self._absent.clear()

    async def _at_shared_address(self, header: str) -> Store:
        named = _uuid_in(header) if len(header) == _UUID_LENGTH else None
        store = await self._find(named, _BY_ID) if named is not None else None
        if store is None and self._default is not None:
            store = await self._find(self._default, _BY_ID)
        if store is None:
            raise TenantNotFound()
        return store

    async def _at_own_address(self, name: str, header: str, *, public: bool) -> Store:
        store = await self._find(name, _BY_HOST)
        if store is None:
            raise TenantNotFound()
        if header and parse_uuid(header) != store.public_id:
            raise TenantNotFound() if public else TenantMismatch()
        return store

    async def _find(self, name: str | UUID, sql: str) -> Store | None:
        kept = self._kept.get(name) or self._absent.get(name)
        if kept is not None and kept.until > time.monotonic():
            return kept.store
        generation = self.generation
        record = await database.row(sql, name)
        store = None if record is None else store_from(record)
        if generation == self.generation:  # else what was read may be what a notice just called stale
            self._keep(name, store)
        return store

    def _keep(self, name: str | UUID, store: Store | None) -> None:
        shelf, other = (self._absent, self._kept) if store is None else (self._kept, self._absent)
        other.pop(name, None)
        seconds = KEEP_ABSENT_SECONDS if store is None else KEEP_SECONDS
        shelf[name] = _Kept(store, time.monotonic() + seconds)
        shelf.move_to_end(name)
        if len(shelf) > self._size:
            shelf.popitem(last=False)


async def store_changed(store_id: int) -> None:
    """Say that a store, its state, settings or addresses change.

    Called in the transaction of the change, or right after one that goes through `across_stores`.
    """
    await database.notify(CHANNEL, str(store_id))
    await database.after_commit(lambda: _forget_here(store_id))


def check_open(store: Store, *, allow_maintenance: bool = False) -> None:
    """Refuse a store that is suspended, or in maintenance unless that is allowed (the gateway's notifications)."""
    if store.status == "S":
        raise TenantClosed("tenant_suspended", SUSPENDED)
    if store.status == "M" and not allow_maintenance:
        raise TenantClosed("tenant_maintenance", store.maintenance_message or MAINTENANCE)


def host_name(host: str | None) -> str | None:
    """Give the name in a `Host` header in lower case, without port and final dot (`[::1]:8000` is `[::1]`); None when malformed."""
    return _name_in(host) if host is not None and len(host) <= _MAX_HOST else None


@lru_cache(maxsize=4_096)
def _name_in(host: str) -> str | None:
    found = _HOST.fullmatch(host.strip())
    return found[1].lower().rstrip(".") or None if found else None


def store_from(record: Record) -> Store:
    """Make the value every request carries from a row of `tenants`."""
    letters = _json(record["status_letters"])
    return Store(
        id=record["id"],
        public_id=record["public_id"],
        name=record["name"],
        currency=record["currency"],
        status=record["status"],
        owner_id=record["owner_id"],
        maintenance_message=record["maintenance_message"],
        settings=_json(record["settings"]),
        order_statuses=letters.get("O", {}),
        shipment_statuses=tuple(letters.get("S", ())),
    )


def _json(value: Any) -> dict[str, Any]:
    held: dict[str, Any] = orjson.loads(value) if isinstance(value, str) else dict(value or {})
    return held


def _forget_here(store_id: int) -> None:
    for directory in list(_directories):
        directory.forget(store_id)
