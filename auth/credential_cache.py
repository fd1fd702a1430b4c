"""Remember verified credentials, and forget them the moment anything they rest on changes.

A process keeps what each credential proved (the caller, its type and privileges) under the credential's hash. Whoever changes a
user, its privileges, its groups, its sessions or its keys calls `changed` in the same transaction: this process forgets at the
commit, the others when PostgreSQL's NOTIFY arrives (decisions section 3, Revoked: within 1 s).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from kernel.scope import Actor, Scope
from models import database

CHANNEL = "vitrine_credentials"


# Whose credential it is: a user by number, `app:12` an app's installation, `key:7` a storefront key.
Holder: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Remembered:
    """Say what a credential proved, in which store, whose it is and until when."""

    actor: Actor
    store_id: int
    holder: Holder
    expires_at: datetime


class CredentialMemory:
    """Hold the latest `size` verified credentials of one process."""

    def __init__(self, size: int = 20_000) -> None:
        self._size = size
        self._entries: OrderedDict[bytes, Remembered] = OrderedDict()
        self._of_holder: defaultdict[tuple[int, Holder], set[bytes]] = defaultdict(set)
        self.generation = 0
        """Grows with every `forget`. What was read from the database before it grew may be stale and isn't put in."""

    def get(self, fingerprint: bytes, now: datetime) -> Remembered | None:
        """Give what the credential proved, or None when it isn't remembered or has expired."""
        entry = self._entries.get(fingerprint)
        if entry is None:
            return None
        if entry.expires_at <= now:
            self._drop(fingerprint)
            return None
        self._entries.move_to_end(fingerprint)
        return entry

    def put(self, fingerprint: bytes, entry: Remembered, generation: int) -> None:
        """Remember the credential, unless something was forgotten since `generation` was read."""
        if generation != self.generation:
            return
        self._drop(fingerprint)
        self._entries[fingerprint] = entry
        self._of_holder[entry.store_id, entry.holder].add(fingerprint)
        if len(self._entries) > self._size:
            self._drop(next(iter(self._entries)))

    def forget(self, store_id: int, holder: Holder | None = None) -> None:
        """Forget every credential of the holder, or of the whole store."""
        self.generation += 1
        holders = (
            [key for key in self._of_holder if key[0] == store_id] if holder is None else [(store_id, holder)]
        )
        for key in holders:
            for fingerprint in self._of_holder.pop(key, ()):
                self._entries.pop(fingerprint, None)

    def forget_all(self) -> None:
        """Forget everything, as when notices may have been missed."""
        self.generation += 1
        self._entries.clear()
        self._of_holder.clear()

    def _drop(self, fingerprint: bytes) -> None:
        entry = self._entries.pop(fingerprint, None)
        if entry is None:
            return
        key = (entry.store_id, entry.holder)
        self._of_holder[key].discard(fingerprint)
        if not self._of_holder[key]:
            del self._of_holder[key]


_process_memory = CredentialMemory()


def process_memory() -> CredentialMemory:
    """Give the memory of this process."""
    return _process_memory


async def listen(memory: CredentialMemory | None = None) -> None:
    """Keep a memory (by default this process's) up to date with what other processes change; needs the database connected."""
    remembering = memory or _process_memory

    def on_notice(payload: str) -> None:
        store, _, holder = payload.partition(":")
        remembering.forget(int(store), int(holder) if holder.isdigit() else holder or None)

    await database.listen(CHANNEL, on_notice, after_gap=remembering.forget_all)


async def changed(scope: Scope, holder: Holder | None = None) -> None:
    """Say that what a user, app or key may do, or its credentials, change (None: those of many of the store).

    Called in the transaction of the change: here it takes effect at its commit, elsewhere within 1 s.
    """
    store_id = scope.store.id
    await database.notify(CHANNEL, f"{store_id}:{'' if holder is None else holder}")
    await database.after_commit(lambda: _process_memory.forget(store_id, holder))
