"""Remember verified credentials, and forget them the moment anything they rest on changes.

A process keeps what each credential proved (the caller, its type and privileges) under the credential's hash. Whoever changes a
user, its privileges, its groups, its sessions or its keys calls `changed` in the same transaction: this process forgets at the
commit, the others when PostgreSQL's NOTIFY arrives (decisions section 3, Revoked: within 1 s).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from datetime import datetime

from kernel.scope import Actor, Scope
from models import database

CHANNEL = "vitrine_credentials"


@dataclass(frozen=True, slots=True)
class Remembered:
    """Say what a credential proved, in which store and until when."""

    actor: Actor
    store_id: int
    user_id: int
    expires_at: datetime


class CredentialMemory:
    """Hold the latest `size` verified credentials of one process."""

    def __init__(self, size: int = 20_000) -> None:
        self._size = size
        self._entries: OrderedDict[bytes, Remembered] = OrderedDict()
        self._of_user: defaultdict[tuple[int, int], set[bytes]] = defaultdict(set)
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
        self._of_user[entry.store_id, entry.user_id].add(fingerprint)
        if len(self._entries) > self._size:
            self._drop(next(iter(self._entries)))

    def forget(self, store_id: int, user_id: int | None = None) -> None:
        """Forget every credential of the user, or of the whole store."""
        self.generation += 1
        users = (
            [key for key in self._of_user if key[0] == store_id] if user_id is None else [(store_id, user_id)]
        )
        for key in users:
            for fingerprint in self._of_user.pop(key, ()):
                self._entries.pop(fingerprint, None)

    def forget_all(self) -> None:
        """Forget everything, as when notices may have been missed."""
        self.generation += 1
        self._entries.clear()
        self._of_user.clear()

    def _drop(self, fingerprint: bytes) -> None:
        entry = self._entries.pop(fingerprint, None)
        if entry is None:
            return
        key = (entry.store_id, entry.user_id)
        self._of_user[key].discard(fingerprint)
        if not self._of_user[key]:
            del self._of_user[key]


_process_memory = CredentialMemory()


def process_memory() -> CredentialMemory:
    """Give the memory of this process."""
    return _process_memory


async def listen(memory: CredentialMemory | None = None) -> None:
    """Keep a memory (by default this process's) up to date with what other processes change; needs the database connected."""
    remembering = memory or _process_memory

    def on_notice(payload: str) -> None:
        store, _, user = payload.partition(":")
        remembering.forget(int(store), int(user) if user else None)

    await database.listen(CHANNEL, on_notice, after_gap=remembering.forget_all)


async def changed(scope: Scope, user_id: int | None = None) -> None:
    """Say that a user's account, privileges, sessions or keys change (None: those of many users of the store).

    Called in the transaction of the change: here it takes effect at its commit, elsewhere within 1 s.
    """
    store_id = scope.store.id
    await database.notify(CHANNEL, f"{store_id}:{'' if user_id is None else user_id}")
    await database.after_commit(lambda: _process_memory.forget(store_id, user_id))
