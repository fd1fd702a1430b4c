"""Manage stores for the platform's operator, beyond `domain.stores`: find, list, set the status, assign owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from asyncpg import Record

from auth.store_resolution import build_store, invalidate_store, parse_host
from domain import stores
from domain.people import accounts
from domain.people.accounts import UserRef
from kernel.clock import format_rfc3339, now
from kernel.errors import RuleViolation, TenantNotFound
from kernel.ids import split_reference, uuid7
from kernel.scope import SYSTEM, Scope, Store
from models import audit
from models.connection import database

STATUS_NAMES = {stores.ACTIVE: "active", stores.SUSPENDED: "suspended", stores.MAINTENANCE: "in maintenance"}
MOVE_NAMES = {
    "leaving": "moving away",
    "copying": "copy of a move",
    "left": "moved away",
    "deleting": "partly deleted",
}
"""What a store is that doesn't serve here because of a move (`server.operations.store_move`) or deletion, by `move_state`."""
_COPY = "this is the copy of a store that is in another database: "
_REJECTED = {
    "leaving": "this store is being moved to another database: repeat vitrine tenant move to continue, with --abandon when that is lost",
    "copying": f"{_COPY}move it back with vitrine tenant move --undo, with --abandon when that is lost",
    "left": f"{_COPY}move it back with vitrine tenant move --undo, with --abandon when that is lost",
    "deleting": "the rows of this store are being deleted: repeat vitrine tenant delete to end it",
}


@dataclass(frozen=True, slots=True)
class StoreWithHosts:
    """A store with its hosts."""

    store: Store
    hosts: tuple[str, ...]
    created_at: datetime
    move: dict[str, Any] | None = None
    """The state of a move to another database (`server.operations.store_move`)."""

    @property
    def move_state(self) -> str | None:
        """Return how far a move is, or that its rows are being deleted; None without either."""
        move = self.move or {}
        return "deleting" if move.get("deleting") else move.get("state")

    @property
    def status_name(self) -> str:
        """Return the status for people."""
        usual = "read-only" if self.store.is_read_only else STATUS_NAMES[self.store.status]
        return MOVE_NAMES.get(self.move_state or "", usual)

    def as_json(self) -> dict[str, Any]:
        """Return the `--json` form."""
        return {
            "tenant_id": str(self.store.public_id),
            "name": self.store.name,
            "status": self.store.status,
            "currency": self.store.currency,
            "hosts": list(self.hosts),
            "maintenance_message": self.store.maintenance_message,
            "created_at": format_rfc3339(self.created_at),
            "read_only": self.store.is_read_only,
            "move": self.move_state,
        }


def system_scope(store: Store) -> Scope:
    """Return a scope with the platform itself as the actor."""
    return Scope(store=store, actor=SYSTEM, request_id=f"cli-{uuid7()}", now=now())


_WITH_HOSTS = """
    select t.*, array(select host from store_hosts h where h.store_id = t.id order by host) as hosts from tenants t
"""
_BY_REFERENCE = (
    _WITH_HOSTS + " where t.id = $1 or t.public_id = $2 or t.id = (select store_id from store_hosts where host = $3)"
)

_LEFT = (
    _WITH_HOSTS + " where t.status = 'S' and t.is_read_only and t.move->>'state' = 'left'"
    " and (t.move->>'at')::timestamptz <= clock_timestamp() - $1::interval order by t.id"
)

_BY_HOST = "select h.host, t.* from store_hosts h join tenants t on t.id = h.store_id where h.host = any($1::text[])"


async def list_stores() -> list[StoreWithHosts]:
    """List all stores, oldest first."""
    async with database.cross_store_connection() as platform:
        return [_with_hosts(row) for row in await platform.fetch(_WITH_HOSTS + " order by t.id")]


async def list_left_stores(age: timedelta) -> list[StoreWithHosts]:
    """List the copies of stores that have moved to another database at least this long ago."""
    async with database.cross_store_connection() as platform:
        return [_with_hosts(row) for row in await platform.fetch(_LEFT, age)]


async def stores_by_host(hosts: Sequence[str]) -> dict[str, Store]:
    """Return the stores that have one of the hosts, by host."""
    async with database.cross_store_connection() as platform:
        rows = await platform.fetch(_BY_HOST, list(hosts))
    return {row["host"]: build_store(row) for row in rows}


async def find_store(reference: str) -> StoreWithHosts:
    """Return the store with a UUID, number or host; raises TenantNotFound."""
    number, public_id = split_reference(reference.strip())
    async with database.cross_store_connection() as platform:
        row = await platform.fetchrow(
            _BY_REFERENCE, number, public_id, None if number or public_id else parse_host(reference)
        )
    if row is None:
        raise TenantNotFound()
    return _with_hosts(row)


async def find_scope(reference: str) -> Scope:
    """Return the scope of a store that is served here, with the platform as the actor; raises TenantNotFound, RuleViolation for a copy."""
    entry = await find_store(reference)
    reject_moved(entry)
    return system_scope(entry.store)


def reject_moved(entry: StoreWithHosts) -> None:
    """Raise RuleViolation for a store that moves away, for a copy, which isn't what the store is now, and for what a deletion left."""
    state = entry.move_state or ""
    if state in _REJECTED:
        raise RuleViolation(_REJECTED[state], reason="moving" if state == "leaving" else "moved")


def _with_hosts(row: Record) -> StoreWithHosts:
    return StoreWithHosts(build_store(row), tuple(row["hosts"]), row["created_at"], database.json_value(row["move"]))


async def set_status(
    reference: str, status: str, message: str | None = None, *, read_only: bool = False
) -> StoreWithHosts:
    """Activate, suspend or put a store into maintenance, effective in every process within 1 s; customers see the message.

    An active one may be `read_only`.
    """
    entry = await find_store(reference)
    store = entry.store
    reject_moved(entry)
    if (status == stores.MAINTENANCE or read_only) and store.status == stores.SUSPENDED:
        raise RuleViolation(f"{store.name} is suspended; resume it first", reason="suspended")
    await stores.change_status(store.id, status, message=message, read_only=read_only)
    scope = system_scope(store)
    async with database.transaction(scope):
        details = {"from": store.status, "to": status} | ({"read_only": True} if read_only else {})
        await audit.record(scope, "store.status_changed", "store", store.public_id, details)
    return await find_store(str(store.public_id))


_SET_OWNER = """
    update tenants set owner_id = $2
    where id = $1 and exists (select from users where tenant_id = $1 and id = $2 and user_type = 'A')
"""


async def create_owner(store: Store, values: dict[str, Any]) -> UserRef:
    """Create the administrator who owns the store; `values` as for `accounts.create_user`."""
    scope = system_scope(store)
    async with database.transaction(scope):
        user = await accounts.create_user(scope, {**values, "user_type": "A"})
        await set_owner(scope, user)
    return user


async def set_owner(scope: Scope, user: UserRef) -> None:
    """Make an administrator the owner of the store; joins the open transaction."""
    if not await database.execute(_SET_OWNER, scope.store.id, user.id):
        raise RuleViolation("only an administrator can own a store", reason="not_an_administrator")
    await audit.record(scope, "store.owner_set", "user", user.public_id)
    await invalidate_store(scope.store.id)
