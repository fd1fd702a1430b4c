"""Which events an app may receive: the scope to read the event's subject (docs/reference/current.md#app-scopes)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from auth.app_scopes import expand_scopes
from domain import events
from kernel.scope import Actor, ActorKind, Scope

PING = "ping"
"""The event that tests an endpoint; not subscribable, and allowed without scopes."""

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
        events.CART_ABANDONED: "read_orders",
        events.CATEGORY_CREATED: "read_categories",
        events.CATEGORY_UPDATED: "read_categories",
        events.CATEGORY_DELETED: "read_categories",
        events.CUSTOMER_CREATED: "read_users",
        events.CUSTOMER_UPDATED: "read_users",
        events.CUSTOMER_DELETED: "read_users",
        events.SHIPMENT_CREATED: "read_orders",
        events.SHIPMENT_UPDATED: "read_orders",
        events.SHIPMENT_DELETED: "read_orders",
        events.REFUND_CREATED: "read_orders",
        events.STOCK_CHANGED: "read_products",
    }
)


def may_receive(name: str, scopes: Iterable[str]) -> bool:
    """Return whether an app with these scopes may receive the event."""
    return name == PING or READ_SCOPES.get(name, "") in expand_scopes(scopes)


def receivable_events(scopes: Iterable[str]) -> list[str]:
    """Return the events that an app with these scopes may receive, including the ping."""
    widened = expand_scopes(scopes)
    return [PING, *(name for name, scope in READ_SCOPES.items() if scope in widened)]


def as_app(scope: Scope, app: int, installation: int, scopes: Iterable[str]) -> Scope:
    """Return the scope as that of an installed app with these scopes."""
    actor = Actor(
        ActorKind.APP, scopes=expand_scopes(scopes), app_id=app, installation_id=installation, credential=f"app:{app}"
    )
    return replace(scope, actor=actor)
