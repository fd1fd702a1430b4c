"""Renew the API credentials of a demo store: a storefront key, and an app with its tokens."""

from __future__ import annotations

from typing import Any

from auth.app_scopes import APP_SCOPES, STOREFRONT_SCOPES
from domain.apps.registration import reset_secret
from server.demo.owner import DemoOwner

NAME = "demo"
REDIRECT_URI = "http://localhost:3000/oauth/callback"


async def renew(owner: DemoOwner) -> dict[str, Any]:
    """Create a new storefront key and reinstall the store's demo app, revoking earlier credentials."""
    return {"storefront_key": await _storefront_key(owner), "app": await _app(owner)}


async def _storefront_key(owner: DemoOwner) -> str:
    for key in await owner.execute("storefront_keys"):
        if key["name"] == NAME:
            await owner.execute("storefront_key_revoke", id=key["id"])
    values = {"name": NAME, "scopes": list(STOREFRONT_SCOPES)}
    return str((await owner.execute("storefront_key_create", input=values))["key"])


async def _app(owner: DemoOwner) -> dict[str, Any]:
    scopes = sorted(APP_SCOPES)
    client_id, client_secret = await _client(owner, scopes)
    for installed in await owner.execute("installed_apps"):
        if installed["client_id"] == client_id:
            await owner.execute("app_uninstall", id=installed["id"])
    approval = await owner.execute("app_install", client_id=client_id, scopes=scopes, redirect_uri=REDIRECT_URI)
    tokens = await owner.execute(
        "app_code_exchange", client_id=client_id, client_secret=client_secret, code=approval["code"]
    )
    return {
        "client_id": client_id,
        "client_secret": client_secret,
        "redirect_uri": REDIRECT_URI,
        "scopes": scopes,
        "access_token": tokens["access_token"],
        "refresh_token": tokens["refresh_token"],
    }


async def _client(owner: DemoOwner, scopes: list[str]) -> tuple[str, str]:
    """Return the credentials of the store's demo app, which keeps its id and gets a new secret."""
    for app in await owner.execute("registered_apps"):
        if app["name"] == _app_name(owner):
            return str(app["client_id"]), await reset_secret(app["client_id"])
    values = {"name": _app_name(owner), "redirect_uris": [REDIRECT_URI], "scopes": scopes}
    created = await owner.execute("app_register", input=values)
    return str(created["client_id"]), str(created["client_secret"])


def _app_name(owner: DemoOwner) -> str:
    return f"Etiquetas · {owner.store.name}"
