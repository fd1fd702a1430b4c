"""Idempotency: replay the stored response to a request repeated with the same `Idempotency-Key`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable

import orjson
from aiohttp import web

from auth.secrets import keyed_hashes
from domain import idempotency
from kernel.errors import DomainError, MalformedRequest
from kernel.request_bodies import MalformedBody, parse_json
from kernel.scope import Scope
from rest_facade.bodies import MULTIPART, read_raw
from rest_facade.routing import ErrorFormat
from server.http.forms import receive_form

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
# Not about the request itself: a retry may succeed, so these responses are not stored.
_NOT_STORED = (401, 403, 429)


async def handle_once(
    request: web.Request,
    scope: Scope,
    form: ErrorFormat,
    handle: Callable[[], Awaitable[web.StreamResponse]],
    key_reuse_message: str | None = None,
    *,
    takes_files: bool = False,
) -> web.StreamResponse:
    """Handle the request unless its key was used before; `key_reuse_message` is the error text for a key of another request.

    With `takes_files` the body may be a form with files, which is received for it.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return await handle()
    if not _KEY.fullmatch(key):
        raise MalformedRequest(
            "invalid idempotency key", detail="expected 1 to 255 visible ASCII characters without spaces"
        )
    claim = await idempotency.claim_key(
        scope, key, await _fingerprints(request, takes_files=takes_files), key_reuse_message or idempotency.REUSED
    )
    if isinstance(claim, idempotency.StoredResponse):
        return web.Response(
            status=claim.status,
            body=claim.body or None,
            headers={REPLAYED: "true"},
            content_type=claim.content_type or None,
        )
    is_replay = claim.is_done
    try:
        with idempotency.active_claim(claim):
            response = await handle()
    except DomainError as error:
        await _store_or_release(scope, claim, form.render(error))
        raise
    except BaseException:
        await idempotency.release(scope, claim)
        raise
    await _store_or_release(scope, claim, response)
    if is_replay:
        response.headers[REPLAYED] = "true"
    return response


async def _store_or_release(scope: Scope, claim: idempotency.KeyClaim, response: web.StreamResponse) -> None:
    """Store a response that a retry must get again; release the key after any other."""
    if claim.is_released:
        return
    if response.status >= 500 or response.status in _NOT_STORED or not isinstance(response, web.Response):
        await idempotency.release(scope, claim)
        return
    body = response.body
    assert body is None or isinstance(body, bytes)
    await idempotency.store_response(scope, claim, response.status, body or b"", response.content_type if body else "")


async def _fingerprints(request: web.Request, *, takes_files: bool) -> list[bytes]:
    """Hash method, path and body, under each key of the ring.

    Equivalent JSON bodies have the same fingerprints, and forms with the same parts: clients separate them in another way each time.
    The hash is keyed because a body may contain a password, and it is stored for a day.
    """
    if takes_files and request.content_type == MULTIPART:
        raw = (await receive_form(request)).canonical()
    else:
        raw = await read_raw(request)
    try:
        raw = orjson.dumps(parse_json(raw), option=orjson.OPT_SORT_KEYS)
    except MalformedBody:
        pass  # the handler says why
    digest = hashlib.sha256(b"\n".join([request.method.encode(), request.path.encode(), raw]))
    return [bytes.fromhex(keyed) for keyed in keyed_hashes(idempotency.PURPOSE, digest.hexdigest())]
