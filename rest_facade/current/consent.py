"""Serve the consent page, `GET /api/v1/oauth/authorize`, on which an administrator lets an app into the store.

The page signs in by JSON and Bearer like any other client, so there is no cookie that another site could ride on, and nothing is
approved by opening an address. It may not be framed, loads nothing from elsewhere, and its answer is never kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from aiohttp import web

from kernel.errors import GrantRefused
from resolvers.execute import FacadeOperation, execute
from rest_facade.routing import Needs, Route, scope_of

FOLDER = Path(__file__).parent / "consent_page"
ADDRESS = "/api/v1/oauth/authorize"
ASSETS = "/assets/consent"

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src data:",  # the empty icon
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
PAGE_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_ASSET_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
}
_TYPES = {"consent.css": "text/css", "consent.js": "text/javascript"}
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_PARAMETERS = (
    "client_id",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
)


class ConsentPage:
    """Serve the page and its two files, whose address changes with their content."""

    def __init__(self, operations: Mapping[str, FacadeOperation], folder: Path = FOLDER) -> None:
        self._consent = operations["AppConsent"]
        self._page = (folder / "page.html").read_text(encoding="utf-8")
        self._wrong = (folder / "wrong.html").read_text(encoding="utf-8")
        self._assets = {name: (folder / name).read_text(encoding="utf-8") for name in _TYPES}
        version = hashlib.sha256("".join(self._assets.values()).encode()).hexdigest()[:16]
        self._prefix = f"{ASSETS}/{version}"

    def routes(self) -> list[Route]:
        """List the routes."""
        return [
            Route("GET", ADDRESS, self.page, Needs.STORE),
            Route("GET", f"{ASSETS}/{{version}}/{{name}}", self.asset, Needs.NOTHING),
        ]

    async def page(self, request: web.Request) -> web.Response:
        """Show the page for an app's request; one that is wrong goes back to the app, if its address is known to be the app's."""
        scope = scope_of(request)
        try:
            data = await execute(scope, self._consent, _parameters(request))
        except GrantRefused as refusal:
            return self._refused(refusal)
        consent = data["app_consent"]
        if consent["error_to"] is not None:
            # Not HTTPFound, which would write the app's address anew: it is compared and sent exactly as it was registered.
            headers = {
                "Location": consent["error_to"],
                "Cache-Control": "no-store",
                "Referrer-Policy": "no-referrer",
            }
            return web.Response(status=302, headers=headers)
        config = {
            **consent,
            "client_id": request.query["client_id"],
            "state": request.query.get("state"),
            "code_challenge": request.query.get("code_challenge"),
            "tenant": str(scope.store.public_id),
        }
        return self._shown(self._page, 200, config=_in_script(config), title=escape(consent["name"]))

    async def asset(self, request: web.Request) -> web.Response:
        """Send one of the page's files."""
        name = request.match_info["name"]
        if name not in self._assets or f"{ASSETS}/{request.match_info['version']}" != self._prefix:
            raise web.HTTPNotFound
        return web.Response(
            text=self._assets[name], content_type=_TYPES[name], charset="utf-8", headers=_ASSET_HEADERS
        )

    def _refused(self, refusal: GrantRefused) -> web.Response:
        detail = str(refusal.details["detail"])
        return self._shown(self._wrong, refusal.status, detail=escape(detail))

    def _shown(self, template: str, status: int, **values: str) -> web.Response:
        filled = {**values, "assets": self._prefix}
        text = _PLACE.sub(lambda place: filled[place[1]], template)
        return web.Response(
            text=text, status=status, content_type="text/html", charset="utf-8", headers=PAGE_HEADERS
        )


def _parameters(request: web.Request) -> dict[str, str | None]:
    """Give the parameters of the request; an empty one is as good as none (RFC 6749, section 3.1), and none may be repeated."""
    found: dict[str, str | None] = {}
    for name in _PARAMETERS:
        values = request.query.getall(name, [])
        if len(values) > 1:
            raise GrantRefused("invalid_request", f"{name} is given {len(values)} times")
        found[name] = values[0] if values and values[0] else None
    return found


def _in_script(config: Mapping[str, Any]) -> str:
    # "<" would otherwise let a value end the script element it stands in.
    return json.dumps(config).replace("<", "\\u003c")
