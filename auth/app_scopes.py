"""Scopes of apps and storefront keys, and the privileges that granting them requires (docs/reference/current.md#app-scopes)."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from kernel.errors import InsufficientPrivileges
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value

# The records a scope gives access to, and the area of the privilege that covers it.
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
# What an app may do for the store besides reading and writing records (domain/app_calls), and who may let it.
_FURTHER_PRIVILEGES = MappingProxyType(
    {
        "read_payments": "view_payments",
        "handle_payments": "manage_payments",
        "handle_shipping_rates": "manage_shipping",
    }
)
APP_SCOPES: frozenset[str] = frozenset(
    (*(f"{verb}_{part}" for part in AREAS for verb in ("read", "write")), *_FURTHER_PRIVILEGES)
)
STOREFRONT_SCOPES = ("storefront:read", "storefront:cart", "storefront:checkout")


def expand_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Add to every `write_x` the `read_x` that it implies."""
    names = frozenset(scopes)
    return names | {"read_" + name.removeprefix("write_") for name in names if name.startswith("write_")}


def limit_scopes(scopes: Iterable[str], limit: Iterable[str]) -> list[str]:
    """Return the scopes within the limit, sorted: `write_orders` within `read_orders` is `read_orders`."""
    allowed = expand_scopes(limit)
    limited = {name if name in allowed else "read_" + name.removeprefix("write_") for name in scopes}
    return sorted(limited & allowed)


def parse_app_scopes(value: object) -> list[str]:
    """Parse a list of app scopes into sorted distinct names; raise `InvalidValue`."""
    return sorted(_parse_scopes(value, APP_SCOPES))


def parse_storefront_scopes(value: object) -> list[str]:
    """Parse a list of storefront key scopes, in their declared order; raise `InvalidValue`."""
    names = _parse_scopes(value, frozenset(STOREFRONT_SCOPES))
    return [name for name in STOREFRONT_SCOPES if name in names]


def _parse_scopes(value: object, known: frozenset[str]) -> frozenset[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise InvalidValue(f"is {repr_value(value)}; expected a list of scopes")
    if not value:
        raise InvalidValue("is empty; expected at least one scope")
    unknown = sorted(set(value) - known)
    if unknown:
        raise InvalidValue(f"holds {repr_value(unknown[0])}; expected any of {', '.join(sorted(known))}")
    return frozenset(value)


def privilege_for(app_scope: str) -> str:
    """Return the privilege that covers an app's scope: `manage_catalog` covers `write_categories`."""
    if app_scope in _FURTHER_PRIVILEGES:
        return _FURTHER_PRIVILEGES[app_scope]
    verb, _, part = app_scope.partition("_")
    return f"{'manage' if verb == 'write' else 'view'}_{AREAS[part]}"


def covered_scopes(scope: Scope, scopes: Iterable[str]) -> list[str]:
    """Return those of the scopes, and of the scopes they include, that the caller's privileges cover."""
    return sorted(name for name in expand_scopes(scopes) if scope.actor.has_privilege(privilege_for(name)))


def check_may_grant_scopes(scope: Scope, scopes: Iterable[str]) -> None:
    """Raise `InsufficientPrivileges`, naming the first missing privilege, if the caller may not grant the scopes."""
    missing = sorted(name for name in map(privilege_for, scopes) if not scope.actor.has_privilege(name))
    if missing:
        raise InsufficientPrivileges(missing[0])
