"""Scopes of a store's callers, and SQL in the store."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from auth.access import Access
from kernel.errors import DomainError
from kernel.ids import uuid7
from kernel.scope import ANONYMOUS, SYSTEM, Actor, ActorKind, Scope, Store, active_scope
from models.connection import database


def unused_ip() -> str:
    """Return an address that no other test has used: attempts are counted in a table shared by all stores."""
    return f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"


def anonymous_scope(store: Store, *, ip: str | None = None, now: datetime | None = None) -> Scope:
    return Scope(
        store=store,
        actor=ANONYMOUS,
        request_id=str(uuid7()),
        now=now or datetime.now(UTC),
        family="current",
        client_ip=ip or unused_ip(),
        user_agent="pytest",
    )


def system_scope(store: Store) -> Scope:
    """Return a scope with all privileges."""
    return replace(anonymous_scope(store), actor=SYSTEM, family="system")


async def rows(store: Store, sql: str, *args: Any) -> list[Any]:
    with active_scope(system_scope(store)):
        return await database.fetch(sql, *args)


async def value(store: Store, sql: str, *args: Any) -> Any:
    with active_scope(system_scope(store)):
        return await database.fetchval(sql, *args)


async def execute(store: Store, sql: str, *args: Any) -> int:
    with active_scope(system_scope(store)):
        return await database.execute(sql, *args)


class StoreAccess:
    """A store in the system's scope; `as_…` return the scopes of other callers."""

    scope: Scope

    def as_actor(self, kind: ActorKind, *, family: str = "graphql", **fields: Any) -> Scope:
        return replace(self.scope, actor=Actor(kind, **fields), family=family)

    def as_admin(self, *, family: str = "graphql", **fields: Any) -> Scope:
        return self.as_actor(ActorKind.ADMIN, family=family, **fields)

    def as_app(self, *, app_id: int = 7, **fields: Any) -> Scope:
        return self.as_actor(ActorKind.APP, family="apps", app_id=app_id, **fields)

    def as_storefront(self, **fields: Any) -> Scope:
        return self.as_actor(ActorKind.STOREFRONT, **fields)

    def as_vendor(self, vendor: int, *, family: str = "legacy", **fields: Any) -> Scope:
        return self.as_actor(ActorKind.VENDOR, family=family, vendor_id=vendor, **fields)

    def as_customer(self, user: int, **fields: Any) -> Scope:
        return self.as_actor(ActorKind.CUSTOMER, user_id=user, **fields)

    def as_anonymous(self, *, family: str = "current") -> Scope:
        return self.as_actor(ActorKind.ANONYMOUS, family=family)

    async def rows(self, sql: str, *args: Any) -> list[Any]:
        with active_scope(self.scope):
            return await database.fetch(sql, *args)

    async def value(self, sql: str, *args: Any) -> Any:
        with active_scope(self.scope):
            return await database.fetchval(sql, *args)

    async def execute(self, sql: str, *args: Any) -> int:
        with active_scope(self.scope):
            return await database.execute(sql, *args)


def is_allowed(access: Access, scope: Scope) -> bool:
    """Return whether an access rule allows the caller."""
    try:
        access.check(scope)
    except DomainError:
        return False
    return True
