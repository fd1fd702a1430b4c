"""Say who asks, for which store, allowed what: the first argument of every domain function.

A scope is a value. It is also kept in a context variable, because the connection pool must know the store of the work that
takes a connection (`models/engine.py`); code never reads the store from there when it has the scope at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from kernel.errors import Forbidden, InsufficientPrivileges, MissingScope


class ActorKind(StrEnum):
    """Tell the kinds of caller apart."""

    ANONYMOUS = "anonymous"
    ADMIN = "admin"
    VENDOR = "vendor"
    CUSTOMER = "customer"
    APP = "app"
    STOREFRONT = "storefront"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Store:
    """Describe one tenant as every request needs it.

    `settings` holds only values that differ from the defaults. `order_statuses` are the statuses that the store added for orders,
    each with what it does to the stock (`D` holds it, `I` gives it back), `shipment_statuses` those it added for parcels.
    """

    id: int
    public_id: UUID
    name: str
    currency: str = "BRL"
    status: str = "A"
    owner_id: int | None = None
    maintenance_message: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    order_statuses: Mapping[str, str] = field(default_factory=dict)
    shipment_statuses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Actor:
    """Describe the caller: what it is and what it was granted.

    `privileges` are a user's (`manage_orders`, already widened: `manage_x` brings `view_x`); `scopes` an app's or a storefront
    key's (`read_orders`, `storefront:cart`; `write_x` brings `read_x`).
    """

    kind: ActorKind
    user_id: int | None = None
    user_public_id: UUID | None = None
    company_id: int | None = None
    privileges: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    is_owner: bool = False
    session_id: int | None = None
    app_id: int | None = None
    installation_id: int | None = None
    storefront_key_id: int | None = None
    rate_limit: int | None = None
    """The requests a minute that an app's installation or a storefront key may make; None for the default."""
    server_side: bool = False
    """Say that a storefront key is kept on a server, where it may name customers without their own token."""
    credential: str = ""
    """Name the credential for limits and idempotency: `user:12`, `app:3`, `key:7`, `ip:…`; never a secret."""
    proven_until: datetime | None = field(default=None, compare=False)
    """Say until when the credential need not be proved again, unless something it rests on changes; None: every time."""

    @property
    def is_user(self) -> bool:
        """Say whether a person signed in, of whatever type."""
        return self.kind in (ActorKind.ADMIN, ActorKind.VENDOR, ActorKind.CUSTOMER)

    def holds(self, privilege: str) -> bool:
        """Say whether an administrator holds the privilege; the system holds all."""
        if self.kind is ActorKind.SYSTEM:
            return True
        return self.kind is ActorKind.ADMIN and privilege in self.privileges


ANONYMOUS = Actor(ActorKind.ANONYMOUS, credential="anonymous")
SYSTEM = Actor(ActorKind.SYSTEM, credential="system")


@dataclass(frozen=True, slots=True)
class Scope:
    """Bind a store, a caller, a request and a moment.

    `now` is the one clock of the request (aware, UTC). `family` tells which door the request came through (`graphql`, `current`,
    `apps`, `legacy`, `system`): only rules that the contract ties to a family look at it.
    """

    store: Store
    actor: Actor
    request_id: str
    now: datetime
    family: str = "system"
    client_ip: str = ""
    user_agent: str = ""

    def as_system(self) -> Scope:
        """Give the same scope with every right, for work the platform does on its own account."""
        return replace(self, actor=SYSTEM)

    def require(self, *any_of: str) -> None:
        """Refuse unless the caller is an administrator (or the system) with one of the privileges.

        Raises `Forbidden` for other kinds of caller, `InsufficientPrivileges` for an administrator without them.
        """
        if self.actor.kind not in (ActorKind.ADMIN, ActorKind.SYSTEM):
            raise Forbidden("insufficient permissions")
        if not any(self.actor.holds(privilege) for privilege in any_of):
            raise InsufficientPrivileges(*any_of)

    def require_scope(self, scope: str) -> None:
        """Refuse an app or storefront key that was not given the scope."""
        if scope not in self.actor.scopes:
            raise MissingScope(scope)


_current: ContextVar[Scope | None] = ContextVar("vitrine_scope", default=None)


def current_scope() -> Scope | None:
    """Give the scope that the running task works in, or None."""
    return _current.get()


class entered:  # noqa: N801  # it is used as a function; a class costs less than a generator
    """Work in the scope: connections taken inside are bound to its store.

    Never open a scope inside a generator that yields to its consumer (it leaks there): pass the scope instead.
    """

    __slots__ = ("_scope", "_token")

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __enter__(self) -> Scope:
        self._token = _current.set(self._scope)
        return self._scope

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)
