"""Describe routes as data: what a facade declares, and what the server keeps for it on every request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from aiohttp import web

from kernel.errors import DomainError
from kernel.scope import Scope

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Needs(StrEnum):
    """Say which credential a route asks for; `auth.schemes` knows what each word takes and refuses.

    `NOTHING` needs no store either, and its handlers have no scope. `STORE` needs a store and no credential.
    `SIGNATURE` too: the handler's operation proves the body, and what it refuses counts as a wrong credential, a missing one too.
    """

    NOTHING = "nothing"
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
    """Describe one method of one address.

    `path` is an aiohttp pattern (`/api/v1/admin/orders/{id}`). It begins with fixed segments, for the router searches by them.
    A store in maintenance refuses every route but those that allow it (gateway notifications, decisions section 5). One that
    `creates` and answers no secret takes an Idempotency-Key; `key_reused` is the text for one that was used for another request, where the
    contract has a text of its own. `attempt` names the count of attempts to get in (decisions section 2,
    Sign-in) of a route whose operation counts them: the server counts the ones that reach no store.
    """

    method: str
    path: str
    handler: Handler
    needs: Needs
    allow_maintenance: bool = False
    creates: bool = False
    key_reused: str | None = None
    attempt: str = ""


@dataclass(frozen=True, slots=True)
class ErrorForm:
    """Write refusals the way one family writes them.

    `render` takes any refusal. `unknown_route`, `not_allowed` (with the methods for `Allow`) and `accident` (a 500, caused by the
    database or not) are what no refusal stands for.
    """

    render: Callable[[DomainError], web.Response]
    unknown_route: Callable[[], web.Response]
    not_allowed: Callable[[Iterable[str]], web.Response]
    accident: Callable[[bool], web.Response]


SCOPE = web.RequestKey("scope", Scope)
REQUEST_ID = web.RequestKey("request_id", str)
CLIENT_IP = web.RequestKey("client_ip", str)


def scope_of(request: web.Request) -> Scope:
    """Give the store, caller and moment of the request; KeyError on routes that need nothing."""
    return request[SCOPE]


def request_id_of(request: web.Request) -> str:
    """Give the id of the request, on every route."""
    return request[REQUEST_ID]


def client_ip_of(request: web.Request) -> str:
    """Give the address of the client, on every route; `unknown` where the socket has none."""
    return request[CLIENT_IP]
