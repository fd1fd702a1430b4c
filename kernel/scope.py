"""The scope of a request: caller, store, request id and time; the first argument of every domain function.

A scope is a value. It is also in a context variable, because a statement must know the store of the task that executes it
(`models/connection/transactions.py`); code that has the scope at hand never reads it from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from kernel.errors import Forbidden, InsufficientPrivileges, MissingScope


class ActorKind(StrEnum):
    """The kinds of caller."""

    ANONYMOUS = "anonymous"
    ADMIN = "admin"
    VENDOR = "vendor"
    CUSTOMER = "customer"
    APP = "app"
    STOREFRONT = "storefront"
    SYSTEM = "system"


STAFF = (ActorKind.ADMIN, ActorKind.SYSTEM)
STAFF_OR_APP = (*STAFF, ActorKind.APP)
SHOPPERS = (ActorKind.CUSTOMER, ActorKind.STOREFRONT)


@dataclass(frozen=True, slots=True)
class Store:
    """A store (tenant) as every request needs it.

    `settings` has only values that differ from the defaults. `order_statuses` are the store's custom order statuses, each with its
    stock effect (`D` deducts, `I` gives back); `shipment_statuses` its custom shipment statuses. While it
    `is_read_only`, mutations other than sign-ins are refused. `limits` are those that the platform set (`domain.store_limits`),
    `host` the one of which links for its clients are; empty without one of its own. One that `is_moving` is served, or will be within
    seconds, by another database; `former_ids` are its ids in those that it came from.
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
    is_read_only: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)
    host: str = ""
    is_moving: bool = False
    former_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Actor:
    """The caller and what it was granted.

    `privileges` are a user's (`manage_orders`; already expanded: `manage_x` implies `view_x`), `scopes` an app's or a storefront key's
    (`read_orders`, `storefront:cart`; `write_x` implies `read_x`).
    """

    kind: ActorKind
    user_id: int | None = None
    user_public_id: UUID | None = None
    vendor_id: int | None = None
    privileges: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    is_owner: bool = False
    session_id: int | None = None
    app_id: int | None = None
    installation_id: int | None = None
    storefront_key_id: int | None = None
    rate_limit: int | None = None
    """The requests per minute of an app's installation or a storefront key; None for the default."""
    rate_limit_per_address: int = 0
    """The requests per minute of one client address with a storefront key; 0 for no limit of its own."""
    server_side: bool = False
    """Whether a storefront key is used on a server only; it may then act for customers without their token."""
    trusted_documents_only: bool = False
    """Whether a storefront key accepts nothing but its trusted GraphQL documents."""
    documents_version: int = 0
    """Grows with each change of a storefront key's trusted documents; 0 before the first."""
    credential: str = ""
    """The credential's name for rate limits and idempotency: `user:12`, `app:3`, `key:7`, `ip:…`; never a secret."""
    key: Actor | None = field(default=None, compare=False)
    """The storefront key that was sent along with another credential: it adds no rights, but its rate limits count too."""
    verified_until: datetime | None = field(default=None, compare=False)
    """Until when the credential needn't be verified again, unless it is invalidated; None: verify every time."""

    @property
    def is_user(self) -> bool:
        """Return whether the caller is a signed-in user of any type."""
        return self.kind in (ActorKind.ADMIN, ActorKind.VENDOR, ActorKind.CUSTOMER)

    def has_privilege(self, privilege: str) -> bool:
        """Return whether an administrator has the privilege; the system has all."""
        if self.kind is ActorKind.SYSTEM:
            return True
        return self.kind is ActorKind.ADMIN and privilege in self.privileges


ANONYMOUS = Actor(ActorKind.ANONYMOUS, credential="anonymous")
SYSTEM = Actor(ActorKind.SYSTEM, credential="system")


@dataclass(frozen=True, slots=True)
class Scope:
    """A store, a caller, a request and a time.

    `now` is the request's only clock (aware, UTC). `family` is the API family (`graphql`, `current`, `apps`, `legacy`, `system`); only
    rules that apply to one family look at it.
    """

    store: Store
    actor: Actor
    request_id: str
    now: datetime
    family: str = "system"
    client_ip: str = ""
    user_agent: str = ""

    @property
    def names_by_uuid(self) -> bool:
        """Return whether the caller's interface names records by UUID only, not by number (docs/reference/shared.md#ids)."""
        return self.family in ("graphql", "current", "apps")

    def as_system(self) -> Scope:
        """Return the scope with every right, for work on the platform's own behalf."""
        return replace(self, actor=SYSTEM)

    def own_user_id(self) -> int:
        """Return the caller's user id; raise `Forbidden` for callers that aren't users."""
        if not self.actor.is_user or self.actor.user_id is None:
            raise Forbidden("insufficient permissions")
        return self.actor.user_id

    def check_privilege(self, *any_of: str) -> None:
        """Raise `Forbidden` for callers but administrators and the system, `InsufficientPrivileges` without any of the privileges."""
        if self.actor.kind not in STAFF:
            raise Forbidden("insufficient permissions")
        if not any(self.actor.has_privilege(privilege) for privilege in any_of):
            raise InsufficientPrivileges(*any_of)

    def check_scope(self, scope: str) -> None:
        """Raise `MissingScope` for an app or storefront key without the scope."""
        if scope not in self.actor.scopes:
            raise MissingScope(scope)


_current: ContextVar[Scope | None] = ContextVar("vitrine_scope", default=None)


current_scope: Callable[[], Scope | None] = _current.get
"""Return the scope of the running task, or None (the variable's own method: each statement asks)."""


def requires_uuid() -> bool:
    """Return whether the running request names records by UUID only."""
    scope = _current.get()
    return scope is not None and scope.names_by_uuid


activate: Callable[[Scope], object] = _current.set
"""Activate the scope for the rest of the running task, as `active_scope`; for one that is its own, such as a request's."""


class active_scope:  # noqa: N801  # used like a function; a class is faster than a generator
    """Activate the scope in a `with` block: connections acquired inside are bound to its store.

    Don't use it inside a generator that yields to its consumer (the scope leaks there): pass the scope instead.
    """

    __slots__ = ("_scope", "_token")

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __enter__(self) -> Scope:
        self._token = _current.set(self._scope)
        return self._scope

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)
