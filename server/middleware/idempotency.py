"""Answer a request that is sent again with the same `Idempotency-Key` as it was answered the first time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable

import orjson
from aiohttp import web

from auth.secrets import keyed_hash
from domain import idempotency
from kernel.errors import DomainError, MalformedRequest
from kernel.scope import Scope
from rest_facade.bodies import read_raw
from rest_facade.routing import ErrorForm

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
# These say nothing about the request itself; the next try may fare better.
_NOT_KEPT = (401, 403, 429)


async def once(
    request: web.Request,
    scope: Scope,
    form: ErrorForm,
    handle: Callable[[], Awaitable[web.StreamResponse]],
    reused: str | None = None,
) -> web.StreamResponse:
    """Handle the request unless it was handled before; without the header, handle it. `reused` refuses a key of another request."""
    key = request.headers.get(HEADER)
    if key is None:
        return await handle()
    if not _KEY.fullmatch(key):
        raise MalformedRequest(
            "invalid idempotency key", detail="expected 1 to 255 visible ASCII characters without spaces"
        )
    taken = await idempotency.take(scope, key, await _fingerprint(request), reused or idempotency.REUSED)
    if isinstance(taken, idempotency.Answered):
        return web.Response(
            status=taken.status,
            body=taken.body or None,
            headers={REPLAYED: "true"},
            content_type=taken.content_type or None,
        )
    was_done = taken.is_done
    try:
        with idempotency.claimed(taken):
            response = await handle()
    except DomainError as refusal:
        await _settle(scope, taken, form.render(refusal))
        raise
    except BaseException:
        await idempotency.release(scope, taken)
        raise
    await _settle(scope, taken, response)
    if was_done:
        response.headers[REPLAYED] = "true"
    return response


async def _settle(scope: Scope, claim: idempotency.KeyClaim, response: web.StreamResponse) -> None:
    """Keep an answer that will always be the same, free the key after any other."""
    if claim.is_released:
        return
    if response.status >= 500 or response.status in _NOT_KEPT or not isinstance(response, web.Response):
        await idempotency.release(scope, claim)
        return
    body = response.body
    assert body is None or isinstance(body, bytes)
    await idempotency.keep(scope, claim, response.status, body or b"", response.content_type if body else "")


async def _fingerprint(request: web.Request) -> bytes:
    """Name what is asked: method, path and body; two ways to write one JSON value are the same.

    Keyed, for a body may hold a password, and the fingerprint is kept for a day.
    """
    raw = await read_raw(request)
    try:
        raw = orjson.dumps(orjson.loads(raw), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONDecodeError:
        pass
    asked = hashlib.sha256(b"\n".join([request.method.encode(), request.path.encode(), raw]))
    return bytes.fromhex(keyed_hash("idempotency", asked.hexdigest()))
