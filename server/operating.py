"""Do what the platform's operator does with stores beyond `domain.stores`: find them by any name, list them, give them owners."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from asyncpg import Record

from auth.tenancy import host_name, store_changed, store_from
from domain import audit, stores
from domain.people import accounts
from domain.people.accounts import UserRef
from kernel.clock import now, rfc3339
from kernel.errors import Conflict, RuleViolation, TenantNotFound
from kernel.ids import parse_reference, uuid7
from kernel.scope import SYSTEM, Scope, Store
from models import database

STATES = {stores.ACTIVE: "active", stores.SUSPENDED: "suspended", stores.MAINTENANCE: "in maintenance"}


@dataclass(frozen=True, slots=True)
class StoreAtHosts:
    """Describe a store with the addresses it answers at."""

    store: Store
    hosts: tuple[str, ...]
    created_at: datetime

    def as_json(self) -> dict[str, Any]:
        """Give what `--json` shows of a store."""
        return {
            "tenant_id": str(self.store.public_id),
            "name": self.store.name,
            "status": self.store.status,
            "currency": self.store.currency,
            "hosts": list(self.hosts),
            "maintenance_message": self.store.maintenance_message,
            "created_at": rfc3339(self.created_at),
        }


def system_scope(store: Store) -> Scope:
    """Give a scope in which the platform itself works in the store."""
    return Scope(store=store, actor=SYSTEM, request_id=f"cli-{uuid7()}", now=now())


_WITH_HOSTS = """
    select t.*, array(select host from store_hosts h where h.store_id = t.id order by host) as hosts from tenants t
"""
_NAMED = (
    _WITH_HOSTS
    + " where t.id = $1 or t.public_id = $2 or t.id = (select store_id from store_hosts where host = $3)"
)


async def list_stores() -> list[StoreAtHosts]:
    """List every store, the oldest first."""
    async with database.across_stores() as platform:
        return [_with_hosts(found) for found in await platform.rows(_WITH_HOSTS + " order by t.id")]


async def find(named: str) -> StoreAtHosts:
    """Give the store that the operator names by UUID, number or address; raises TenantNotFound."""
    known = parse_reference(named.strip())
    number, public_id = (known, None) if isinstance(known, int) else (None, known)
    async with database.across_stores() as platform:
        found = await platform.row(_NAMED, number, public_id, None if known else host_name(named))
    if found is None:
        raise TenantNotFound()
    return _with_hosts(found)


def _with_hosts(found: Record) -> StoreAtHosts:
    return StoreAtHosts(store_from(found), tuple(found["hosts"]), found["created_at"])


def refuse_shared(hosts: list[str], shared_hosts: tuple[str, ...]) -> None:
    """Refuse addresses at which X-Tenant-ID names the store; raises Conflict."""
    for host in hosts:
        if host_name(host) in shared_hosts:
            raise Conflict(f"the address {host} is shared (VITRINE_SHARED_HOSTS): no store can have it")


async def set_state(named: str, status: str, message: str | None = None) -> StoreAtHosts:
    """Open, suspend or maintain a store, seen by every process within 1 s; the message is for its shoppers."""
    store = (await find(named)).store
    if status == stores.MAINTENANCE and store.status == stores.SUSPENDED:
        raise RuleViolation(f"{store.name} is suspended; resume it first", reason="suspended")
    await stores.change_status(store.id, status, message=message)
    scope = system_scope(store)
    async with database.transaction(scope):
        details = {"from": store.status, "to": status}
        await audit.record(scope, "store.status_changed", "store", store.public_id, details)
    return await find(str(store.public_id))


async def make_owner(store: Store, given: dict[str, Any]) -> UserRef:
    """Make the administrator who owns the store; `given` as for `accounts.create_user`."""
    scope = system_scope(store)
    async with database.transaction(scope):
        user = await accounts.create_user(scope, {**given, "user_type": "A"})
        await set_owner(scope, user)
    return user


async def set_owner(scope: Scope, user: UserRef) -> None:
    """Give the store to one of its administrators; joins the open transaction."""
    kind = await database.value(
        "select user_type from users where tenant_id = $1 and id = $2", scope.store.id, user.id
    )
    if kind != "A":
        raise RuleViolation("only an administrator can own a store", reason="not_an_administrator")
    await database.execute("update tenants set owner_id = $2 where id = $1", scope.store.id, user.id)
    await audit.record(scope, "store.owner_set", "user", user.public_id)
    await store_changed(scope.store.id)
