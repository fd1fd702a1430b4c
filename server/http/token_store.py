"""Find the store of a consent page or token request at the address that stores share (docs/reference/current.md#app-tokens)."""

from __future__ import annotations

from uuid import UUID

from aiohttp import hdrs, web

from auth.app_tokens import store_of_credential
from domain.apps.registration import registering_store
from kernel.errors import InvalidClient, OAuthError
from rest_facade.current.oauth import read_client_request

_CREDENTIALS = ("code", "refresh_token", "token")


async def store_of_client_request(request: web.Request) -> str | None:
    """Return the store of the code or token in the body, or the `tenant` of the consent page; else that in which the client was registered.

    None if neither is known: what is wrong with the request is the handler's to say, in the store that is resolved without it.
    """
    if request.method != hdrs.METH_POST:
        named = request.query.get("tenant") or await registering_store(request.query.get("client_id", ""))
    else:
        named = await _store_of_token_request(request)
    return str(named) if named else None


async def _store_of_token_request(request: web.Request) -> UUID | None:
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
