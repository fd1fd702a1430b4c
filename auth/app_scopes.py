"""Name what apps and storefront keys may be given, and who may give it (decisions section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from kernel.errors import InsufficientPrivileges
from kernel.scope import Scope
from kernel.text import Malformed, shown

# The part of the shop that a scope opens, and the area of the privilege that covers it.
AREAS = MappingProxyType(
    {
        "products": "products",
        "orders": "orders",
        "users": "users",
        "categories": "catalog",
        "inventory": "warehouses",
        "content": "content",
        "shipping": "shipping",
    }
)
APP_SCOPES: frozenset[str] = frozenset(f"{verb}_{part}" for part in AREAS for verb in ("read", "write"))
STOREFRONT_SCOPES = ("storefront:read", "storefront:cart", "storefront:checkout")


def widen(scopes: Iterable[str]) -> frozenset[str]:
    """Add to every `write_x` the `read_x` it includes."""
    given = frozenset(scopes)
    return given | {"read_" + name.removeprefix("write_") for name in given if name.startswith("write_")}


def within(scopes: Iterable[str], limit: Iterable[str]) -> list[str]:
    """Give what of the scopes lies within the limit, in a steady order: `write_orders` within `read_orders` is `read_orders`."""
    allowed = widen(limit)
    kept = {name if name in allowed else "read_" + name.removeprefix("write_") for name in scopes}
    return sorted(kept & allowed)


def read_app_scopes(value: object) -> list[str]:
    """Read a list of an app's scopes, each once and in a steady order; raises `Malformed`."""
    return sorted(_named(value, APP_SCOPES))


def read_storefront_scopes(value: object) -> list[str]:
    """Read a list of a storefront key's scopes, in the order of what they open; raises `Malformed`."""
    given = _named(value, frozenset(STOREFRONT_SCOPES))
    return [name for name in STOREFRONT_SCOPES if name in given]


def _named(value: object, known: frozenset[str]) -> frozenset[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise Malformed(f"is {shown(value)}; expected a list of scopes")
    if not value:
        raise Malformed("is empty; expected at least one scope")
    unknown = sorted(set(value) - known)
    if unknown:
        raise Malformed(f"holds {shown(unknown[0])}; expected any of {', '.join(sorted(known))}")
    return frozenset(value)


def privilege_for(app_scope: str) -> str:
    """Name the privilege that covers an app's scope: `manage_catalog` covers `write_categories`."""
    verb, _, part = app_scope.partition("_")
    return f"{'manage' if verb == 'write' else 'view'}_{AREAS[part]}"


def check_may_give(scope: Scope, scopes: Iterable[str]) -> None:
    """Refuse to give an app what the caller may not do; raises `InsufficientPrivileges` naming the first privilege."""
    missing = sorted(name for name in map(privilege_for, scopes) if not scope.actor.holds(name))
    if missing:
        raise InsufficientPrivileges(missing[0])
