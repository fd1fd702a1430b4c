"""Authorize requests before their bodies are read."""

from __future__ import annotations

from aiohttp import web

from kernel.scope import Scope
from resolvers.execute import FacadeOperation, authorize
from rest_facade.routing import scope_of


def authorized_scope(request: web.Request, operation: FacadeOperation) -> Scope:
    """Return the scope of a caller who may execute the operation; raises what its root field's permission check raises."""
    scope = scope_of(request)
    authorize(scope, operation)
    return scope
