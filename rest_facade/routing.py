"""Define routes as data: what a facade declares and the server enforces on every request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from aiohttp import web

from kernel.errors import DomainError
from kernel.scope import Scope, Store

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Credential(StrEnum):
    """The credential a route requires; `auth.schemes` authenticates it.

    `NONE` resolves no store either, and its handlers have no scope. `STORE` resolves a store without a credential. `SIGNATURE` too:
    the operation verifies the signature of the body, and its errors count as failed authentication.
    """

    NONE = "none"
    STORE = "store"
    SIGNATURE = "signature"
    USER = "user"
    ADMIN = "admin"
    APP = "app"
    STOREFRONT_KEY = "storefront_key"
    GRAPHQL = "graphql"
    LEGACY_ANY = "legacy_any"
    LEGACY_ADMIN = "legacy_admin"
    VENDOR = "vendor"


@dataclass(frozen=True, slots=True)
class Route:
    """Describe one method of one path.

    `path` is an aiohttp pattern (`/api/v1/admin/orders/{id}`) with fixed first segments, which the router indexes. A store in
    maintenance rejects every route without `allow_maintenance` (gateway notifications). A route that `creates` accepts an
    Idempotency-Key unless it returns a secret; `key_reuse_message` overrides the error text for a key reused with another request.
    `attempt_limit` names the sign-in rate limit (docs/reference/shared.md#rate-limits) that the operation counts; the server counts
    attempts that resolve no store. A request of a route that `names_store` has an app's client, code or token, which names the store where
    the address doesn't. A route that `is_catalogue` reads nothing but the catalogue: a key's answers may be repeated. The body of a
    route that `takes_files` may be a multipart form. Where the store isn't one that `serves` selects, its address hasn't the method.
    """

    method: str
    path: str
    handler: Handler
    credential: Credential
    allow_maintenance: bool = False
    creates: bool = False
    key_reuse_message: str | None = None
    attempt_limit: str = ""
    names_store: bool = False
    is_catalogue: bool = False
    takes_files: bool = False
    serves: Callable[[Store], bool] | None = None


@dataclass(frozen=True, slots=True)
class ErrorFormat:
    """Render errors in the format of one family.

    `render` takes any domain error; the others render an unknown route, a 405 (with the methods for `Allow`) and a 500 (caused by
    the database or not).
    """

    render: Callable[[DomainError], web.Response]
    route_not_found: Callable[[], web.Response]
    method_not_allowed: Callable[[Iterable[str]], web.Response]
    internal_error: Callable[[bool], web.Response]


SCOPE = web.RequestKey("scope", Scope)
"""The scope of a request: store, caller, time; none with `Credential.NONE`."""
REQUEST_ID = web.RequestKey("request_id", str)
CLIENT_IP = web.RequestKey("client_ip", str)
# Set by a handler whose answer is not worth a line in the access log.
IS_UNLOGGED = web.RequestKey("is_unlogged", bool)
