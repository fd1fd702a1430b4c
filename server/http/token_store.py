"""Find the store of a token request at the address that stores share (docs/reference/current.md#app-tokens)."""

from __future__ import annotations

from uuid import UUID

from aiohttp import web

from auth.app_tokens import store_of_credential
from domain.apps.registration import registering_store
from kernel.errors import InvalidClient, OAuthError
from rest_facade.current.oauth import read_client_request

_CREDENTIALS = ("code", "refresh_token", "token")


async def store_of_token_request(request: web.Request) -> UUID | None:
    """Return the store of the code or token in the body, else the one in which its client was registered.

    None if neither is known: what is wrong with the request is the handler's to say, in the store that is resolved without it.
    """
    try:
        body = await read_client_request(request)
    except (OAuthError, InvalidClient):
        return None
    for name in _CREDENTIALS:
        value = body.get(name)
        store = store_of_credential(value) if isinstance(value, str) else None
        if store is not None:
            return store
    client_id = body.get("client_id")
    return await registering_store(client_id) if isinstance(client_id, str) else None
