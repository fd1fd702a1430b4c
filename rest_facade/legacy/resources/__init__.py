"""The entity descriptions of the legacy API: every `Resource` with actions in a module of this package has routes."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from rest_facade.legacy.resource import Resource

_NAMES = sorted(module.name for module in iter_modules(__path__))
_DEFINED = [value for name in _NAMES for value in vars(import_module(f"{__name__}.{name}")).values()]

RESOURCES: tuple[Resource, ...] = tuple(
    {value.path: value for value in _DEFINED if isinstance(value, Resource) and value.actions}.values()
)
