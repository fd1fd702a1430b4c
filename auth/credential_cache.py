"""The per-process cache of verified credentials.

An entry holds the caller (its type and privileges) under the credential's hash. Code that changes a user, its privileges, groups,
sessions or keys calls `invalidate_credentials` in the same transaction: this process drops the entries at the commit, the others on
PostgreSQL's NOTIFY (within 1 s; docs/reference/current.md#revocation).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from kernel.cache import BoundedCache
from kernel.scope import Actor, Scope
from models.connection import database

CHANNEL = "vitrine_credentials"

# A user's number, `app:12` for an app's installation or `key:7` for a storefront key.
CredentialOwner: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class VerifiedCredential:
    """The caller of a verified credential, its store, owner and expiry."""

    actor: Actor
    store_id: int
    owner: CredentialOwner
    expires_at: datetime


class CredentialCache:
    """An LRU cache of `size` verified credentials."""

    def __init__(self, size: int = 20_000) -> None:
        self._entries: BoundedCache[bytes, VerifiedCredential] = BoundedCache(size, on_drop=self._drop_owner)
        self._by_owner: defaultdict[tuple[int, CredentialOwner], set[bytes]] = defaultdict(set)
        self.generation = 0
        """Increases with every invalidation. What was read from the database before may be stale and isn't cached."""

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, fingerprint: bytes, now: datetime) -> VerifiedCredential | None:
        """Return the cached credential, or None if it is absent or has expired."""
        entry = self._entries.find(fingerprint)
        if entry is not None and entry.expires_at <= now:
            self._entries.drop(fingerprint)
            return None
        return entry

    def keep(self, fingerprint: bytes, entry: VerifiedCredential, generation: int) -> None:
        """Cache the credential, unless entries were invalidated since `generation` was read."""
        if generation != self.generation:
            return
        self._entries.keep(fingerprint, entry)
        self._by_owner[entry.store_id, entry.owner].add(fingerprint)

    def invalidate(self, store_id: int, owner: CredentialOwner | None = None) -> None:
        """Drop every credential of the owner, or of the whole store."""
        self.generation += 1
        keys = [key for key in self._by_owner if key[0] == store_id] if owner is None else [(store_id, owner)]
        for key in keys:
            for fingerprint in list(self._by_owner.get(key, ())):
                self._entries.drop(fingerprint)

    def clear(self) -> None:
        """Drop everything, for when notifications may have been lost."""
        self.generation += 1
        self._entries.clear()
        self._by_owner.clear()

    def _drop_owner(self, fingerprint: bytes, entry: VerifiedCredential) -> None:
        key = (entry.store_id, entry.owner)
        self._by_owner[key].discard(fingerprint)
        if not self._by_owner[key]:
            del self._by_owner[key]


_process_cache = CredentialCache()


def process_cache() -> CredentialCache:
    """Return the cache of this process."""
    return _process_cache


async def listen(cache: CredentialCache | None = None) -> None:
    """Invalidate a cache (by default this process's) when other processes change credentials; needs the database connected."""
    target = _process_cache if cache is None else cache

    def on_notify(payload: str) -> None:
        store_id, _, owner = payload.partition(":")
        target.invalidate(int(store_id), int(owner) if owner.isdigit() else owner or None)

    await database.listen(CHANNEL, on_notify, on_missed=target.clear)


async def invalidate_credentials(scope: Scope, owner: CredentialOwner | None = None) -> None:
    """Invalidate the credentials of a user, app or key (None: of the whole store), in the transaction that changes them."""
    store_id = scope.store.id
    await database.notify(CHANNEL, f"{store_id}:{'' if owner is None else owner}")
    await database.after_commit(lambda: _process_cache.invalidate(store_id, owner))
