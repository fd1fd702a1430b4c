"""Give the programs that get into a demo store their credentials: a storefront key, and an app with its tokens."""

from __future__ import annotations

from typing import Any

from auth.app_scopes import APP_SCOPES, STOREFRONT_SCOPES
from auth.apps import renew_secret
from server.demo.acting import StoreOwner

NAME = "demo"
REDIRECT_URI = "http://localhost:3000/oauth/callback"


async def renew(owner: StoreOwner) -> dict[str, Any]:
    """Make a new storefront key, and install the store's demo app anew; what was given before stops working."""
    return {"storefront_key": await _storefront_key(owner), "app": await _app(owner)}


async def _storefront_key(owner: StoreOwner) -> str:
    for key in await owner.do("DemoStorefrontKeys"):
        if key["name"] == NAME:
            await owner.do("DemoStorefrontKeyEnd", id=key["id"])
    given = {"name": NAME, "scopes": list(STOREFRONT_SCOPES)}
    return str((await owner.do("DemoStorefrontKey", input=given))["key"])


async def _app(owner: StoreOwner) -> dict[str, Any]:
    scopes = sorted(APP_SCOPES)
    client_id, client_secret = await _client(owner, scopes)
    for installed in await owner.do("DemoInstalledApps"):
        if installed["client_id"] == client_id:
            await owner.do("DemoAppEnd", id=installed["id"])
    approval = await owner.do("DemoAppInstall", client_id=client_id, scopes=scopes, redirect_uri=REDIRECT_URI)
    tokens = await owner.do(
        "DemoAppTokens", client_id=client_id, client_secret=client_secret, code=approval["code"]
    )
    return {
        "client_id": client_id,
        "client_secret": client_secret,
        "redirect_uri": REDIRECT_URI,
        "scopes": scopes,
        "access_token": tokens["access_token"],
        "refresh_token": tokens["refresh_token"],
    }


async def _client(owner: StoreOwner, scopes: list[str]) -> tuple[str, str]:
    """Give the credentials of the store's demo app: it keeps its id, and gets a new secret."""
    for app in await owner.do("DemoApps"):
        if app["name"] == _name_of(owner):
            return str(app["client_id"]), await renew_secret(app["client_id"])
    given = {"name": _name_of(owner), "redirect_uris": [REDIRECT_URI], "scopes": scopes}
    made = await owner.do("DemoApp", input=given)
    return str(made["client_id"]), str(made["client_secret"])


def _name_of(owner: StoreOwner) -> str:
    return f"Etiquetas · {owner.store.name}"
