"""Serve the OAuth consent page, `GET /api/v1/oauth/authorize`, on which an administrator approves an app.

The page signs in by JSON and Bearer like any other client: without cookies there is no CSRF, and opening a URL approves nothing. It
can't be framed, loads no external resources and is never cached (docs/reference/current.md#app-installation). Its texts are in
`consent_page/texts.json`: those of the pages, and those of the script.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from aiohttp import hdrs, web

from kernel.errors import OAuthError
from resolvers.execute import FacadeOperation, execute
from rest_facade.languages import choose_language
from rest_facade.routing import SCOPE, Credential, Route

FOLDER = Path(__file__).parent / "consent_page"
PATH = "/api/v1/oauth/authorize"
ASSETS = "/assets/consent"

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src data:",  # the empty favicon
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
_ASSET_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
_TYPES = {"consent.css": "text/css", "consent.js": "text/javascript"}
_PAGES = ("page", "error", "invalid")
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_TEXT = re.compile(r"\[\[(\w+)\]\]")
PARAMETERS = ("client_id", "redirect_uri", "response_type", "scope", "state", "code_challenge", "code_challenge_method")


class ConsentPage:
    """Serve the page in the language of the app's request or the store, and its two assets, whose paths contain a hash of their content."""

    def __init__(self, operations: Mapping[str, FacadeOperation], folder: Path = FOLDER) -> None:
        self._consent, self._store_language = operations["AppConsent"], operations["StoreLanguage"]
        templates = {name: (folder / f"{name}.html").read_text(encoding="utf-8") for name in _PAGES}
        texts: dict[str, Any] = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
        self._pages = {
            (language, name): _TEXT.sub(lambda match, page=own["page"]: page[match[1]], template)  # type: ignore[misc]
            for language, own in texts.items()
            for name, template in templates.items()
        }
        self._script_texts = {language: own["script"] for language, own in texts.items()}
        self._assets = {name: (folder / name).read_text(encoding="utf-8") for name in _TYPES}
        version = hashlib.sha256("".join(self._assets.values()).encode()).hexdigest()[:16]
        self._prefix = f"{ASSETS}/{version}"

    def routes(self) -> list[Route]:
        """List the routes."""
        return [
            Route("GET", PATH, self.page, Credential.STORE, names_store=True),
            Route("GET", f"{ASSETS}/{{version}}/{{name}}", self.asset, Credential.NONE),
        ]

    async def page(self, request: web.Request) -> web.Response:
        """Show the consent page of an app's authorization request.

        An invalid request is shown with a link to the app's redirect URI: redirecting at once would let anybody use the store's address to
        send people to any registered app.
        """
        scope = request[SCOPE]
        language = self._language(request, (await execute(scope, self._store_language, {}))["default_language"])
        try:
            data = await execute(scope, self._consent, _parameters(request))
        except OAuthError as error:
            return self._render(language, "error", error.status, detail=escape(str(error.details["detail"])))
        consent = data["app_consent"]
        if consent["error_to"] is not None:
            return self._render(
                language,
                "invalid",
                400,
                title=escape(consent["name"]),
                detail=escape(consent["error_to"].rpartition("error=")[2].partition("&")[0]),
                link=escape(consent["error_to"]),
            )
        config = {
            **consent,
            "client_id": request.query["client_id"],
            "state": request.query.get("state"),
            "code_challenge": request.query.get("code_challenge"),
            "tenant": str(scope.store.public_id),
            "texts": self._script_texts[language],
        }
        return self._render(language, "page", 200, config=_in_script(config), title=escape(consent["name"]))

    async def asset(self, request: web.Request) -> web.Response:
        """Return an asset of the page."""
        name = request.match_info["name"]
        if name not in self._assets or f"{ASSETS}/{request.match_info['version']}" != self._prefix:
            raise web.HTTPNotFound
        return web.Response(text=self._assets[name], content_type=_TYPES[name], charset="utf-8", headers=_ASSET_HEADERS)

    def _language(self, request: web.Request, of_store: str) -> str:
        header = ",".join(request.headers.getall(hdrs.ACCEPT_LANGUAGE, []))
        return choose_language(list(self._script_texts), f"{request.query.get('ui_locales', '')} {of_store}", header)

    def _render(self, language: str, page: str, status: int, **values: str) -> web.Response:
        all_values = {**values, "assets": self._prefix}
        text = _PLACEHOLDER.sub(lambda match: all_values[match[1]], self._pages[language, page])
        headers = {**PAGE_HEADERS, hdrs.CONTENT_LANGUAGE: language, hdrs.VARY: hdrs.ACCEPT_LANGUAGE}
        return web.Response(text=text, status=status, content_type="text/html", charset="utf-8", headers=headers)


def _parameters(request: web.Request) -> dict[str, str | None]:
    """Return the parameters of the request; empty ones count as missing (RFC 6749, section 3.1), repeated ones are rejected."""
    parameters: dict[str, str | None] = {}
    for name in PARAMETERS:
        values = request.query.getall(name, [])
        if len(values) > 1:
            raise OAuthError("invalid_request", f"{name} is given {len(values)} times")
        parameters[name] = values[0] if values and values[0] else None
    return parameters


def _in_script(config: Mapping[str, Any]) -> str:
    # "<" would otherwise let a value close the script element.
    return json.dumps(config).replace("<", "\\u003c")
