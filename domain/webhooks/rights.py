"""Say which events an app may be told of: reading an event takes the scope that reading its subject takes (decisions section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from auth.app_scopes import widen
from domain import events
from kernel.scope import Actor, ActorKind, Scope

PING = "ping"
"""The event that tries an endpoint out; nobody subscribes to it, and everybody may have it."""

READ_SCOPES = MappingProxyType(
    {
        events.ORDER_CREATED: "read_orders",
        events.ORDER_UPDATED: "read_orders",
        events.ORDER_CANCELLED: "read_orders",
        events.PRODUCT_CREATED: "read_products",
        events.PRODUCT_UPDATED: "read_products",
        events.PRODUCT_DELETED: "read_products",
        events.USER_REGISTERED: "read_users",
        events.CHECKOUT_COMPLETED: "read_orders",
        events.CART_UPDATED: "read_orders",
    }
)


def may_have(name: str, scopes: Iterable[str]) -> bool:
    """Say whether an app with these scopes may be told of the event."""
    return name == PING or READ_SCOPES.get(name, "") in widen(scopes)


def names_within(scopes: Iterable[str]) -> list[str]:
    """Give the events that an app with these scopes may be told of, the ping too."""
    held = widen(scopes)
    return [PING, *(name for name, scope in READ_SCOPES.items() if scope in held)]


def as_app(scope: Scope, app: int, installation: int, scopes: Iterable[str]) -> Scope:
    """Give the same scope as an installed app with these scopes has it."""
    actor = Actor(
        ActorKind.APP,
        scopes=widen(scopes),
        app_id=app,
        installation_id=installation,
        credential=f"app:{app}",
    )
    return replace(scope, actor=actor)
