"""Which events an app may receive: the scope to read the event's subject (docs/reference/current.md#app-scopes)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from auth.app_scopes import expand_scopes
from domain.event_types import EVENT_TYPES, PING
from kernel.scope import Actor, ActorKind, Scope


def may_receive(name: str, scopes: Iterable[str]) -> bool:
    """Return whether an app with these scopes may receive the event."""
    known = EVENT_TYPES.get(name)
    return name == PING or (known is not None and known.scope in expand_scopes(scopes))


def receivable_events(scopes: Iterable[str]) -> list[str]:
    """Return the events that an app with these scopes may receive, including the ping."""
    widened = expand_scopes(scopes)
    return [PING, *(each.name for each in EVENT_TYPES.values() if each.scope in widened)]


def as_app(scope: Scope, app: int, installation: int, scopes: Iterable[str]) -> Scope:
    """Return the scope as that of an installed app with these scopes."""
    actor = Actor(
        ActorKind.APP, scopes=expand_scopes(scopes), app_id=app, installation_id=installation, credential=f"app:{app}"
    )
    return replace(scope, actor=actor)
