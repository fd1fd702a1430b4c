"""Receive files that clients send to a signed link."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from aiohttp import web

from domain.stores import find_store
from domain.uploaded_files import UploadedFile
from kernel.clock import now
from kernel.errors import Forbidden, NotFound, TenantNotFound
from kernel.scope import SYSTEM, Scope
from rest_facade.bodies import body_chunks, reject_coded
from rest_facade.responses import json_response
from rest_facade.routing import REQUEST_ID

_MAX_DIGITS = 12


def check_head(request: web.Request, file: UploadedFile) -> None:
    """Raise `UnsupportedEncoding` and `TooLarge` for what the head of an upload announces."""
    reject_coded(request)
    file.check_size(request.content_length or 0)


async def receive(request: web.Request, file: UploadedFile, within: timedelta) -> web.StreamResponse:
    """Store the body, once: 201 with its size."""
    try:
        async for chunk in body_chunks(request, within):
            await file.write(chunk)
        return json_response({"size": await file.complete()}, status=201)
    finally:
        await file.discard()


async def link_scope(request: web.Request, store: UUID, noun: str) -> Scope:
    """Return the scope of the store of a signed link; raise `NotFound` of the noun if it is gone."""
    try:
        return Scope(await find_store(store), SYSTEM, request[REQUEST_ID], now())
    except TenantNotFound as error:
        raise NotFound(noun, details={"detail": "the store was deleted"}) from error


def link_number(request: web.Request, name: str) -> int:
    """Return a number in the query of a signed link; raise `Forbidden` for anything else, before it is parsed."""
    text = request.query.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise Forbidden("link_invalid", details={"detail": f"the link has no {name}"})
    return int(text)
