"""Keep the refresh token of a browser in a cookie that its scripts can't read (docs/reference/current.md#browser-sessions).

The only routes that read a cookie. A request counts as the store's own page's by its `Origin`, which no page can forge: `SameSite` alone
accepts those of stores below the same domain. A page served over TLS gets a cookie that no other host can set (`__Host-`, RFC 6265bis).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil

from aiohttp import hdrs, web

from kernel.errors import Forbidden, Unauthenticated
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_json_object
from rest_facade.current.auth import text_field
from rest_facade.current.errors import render
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Route

PATH = "/api/v1/auth/browser-session"
OTHER_ORIGIN = "the request is not from a page of this address"
LOGGED_OUT = "logged out"
_MEMBERS = ("access_token", "expires_at")
_SAME_ORIGIN = "same-origin"
_SET_COOKIE: str = hdrs.SET_COOKIE


@dataclass(frozen=True, slots=True)
class BrowserSessionHandlers:
    """Serve the session of a browser with the operations of this facade."""

    operations: Mapping[str, FacadeOperation] = field(repr=False)

    def routes(self) -> list[Route]:
        """List the routes."""
        return [
            Route("POST", PATH, self.refresh, Credential.STORE),
            Route("DELETE", PATH, self.end, Credential.STORE),
        ]

    async def refresh(self, request: web.Request) -> web.Response:
        """Exchange the refresh token of the body, else of the cookie: the new one is set as the cookie. Where there is neither, the members
        are null.
        """
        scope, cookie = request[SCOPE], _cookie_of(request)
        body = await read_json_object(request, empty=True)
        token = text_field(body, "refresh_token") or request.cookies.get(cookie.name)
        if not token:
            return json_response(dict.fromkeys(_MEMBERS))
        # Before the token is used up: with a failure after that the browser would be signed out.
        idle = (await execute(scope, self.operations["BrowserIdleTime"]))["store"]["browser_idle_minutes"]
        try:
            data = await execute(scope, self.operations["BrowserSessionRefresh"], {"refresh_token": token})
        except Unauthenticated as error:
            refused = render(error)
            refused.headers[_SET_COOKIE] = cookie.header("", 0)
            return refused
        pair = data["session_refresh"]
        kept = cookie.header(pair["refresh_token"], _lifetime(scope, idle, pair["expires_at"]))
        return json_response({name: pair[name] for name in _MEMBERS}, headers={_SET_COOKIE: kept})

    async def end(self, request: web.Request) -> web.Response:
        """End the session of the cookie, if there is one, and remove the cookie."""
        cookie = _cookie_of(request)
        token = request.cookies.get(cookie.name)
        if not token:
            return json_response({"message": LOGGED_OUT})
        data = await execute(request[SCOPE], self.operations["SignOut"], {"refresh_token": token})
        return json_response(data["sign_out"], headers={_SET_COOKIE: cookie.header("", 0)})


@dataclass(frozen=True, slots=True)
class _Cookie:
    """The cookie of a store; addresses that stores share have one for each."""

    name: str
    is_secure: bool

    def header(self, value: str, seconds: int) -> str:
        secure = "; Secure" if self.is_secure else ""
        return f"{self.name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"


def _cookie_of(request: web.Request) -> _Cookie:
    """Return the cookie of the request's store; raises `Forbidden` for a request of another page than one of this address."""
    scheme, _, host = request.headers.get(hdrs.ORIGIN, "").partition("://")
    is_own = bool(host) and host.lower() == request.headers.get(hdrs.HOST, "").lower()
    if not is_own or request.headers.get("Sec-Fetch-Site", _SAME_ORIGIN) != _SAME_ORIGIN:
        raise Forbidden(OTHER_ORIGIN)
    is_secure = scheme.lower() == "https"
    prefix = "__Host-" if is_secure else ""
    return _Cookie(f"{prefix}vitrine_session_{request[SCOPE].store.public_id.hex}", is_secure)


def _lifetime(scope: Scope, idle_minutes: int, expires_at: str | datetime) -> int:
    """Return for how many seconds the cookie is kept: the page asks for a new access token once it needs one after the end of this."""
    ends = datetime.fromisoformat(expires_at) if isinstance(expires_at, str) else expires_at
    return ceil((ends - scope.now).total_seconds()) + idle_minutes * 60
