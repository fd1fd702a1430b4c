"""Write JSON answers, and the headers that a refusal carries in every family."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from aiohttp import web

from kernel.errors import RateLimited, Refusal, Unauthenticated

JSON = "application/json"
UNEXPECTED = "an unexpected error occurred"
DATABASE_FAILED = "a database error occurred"


def json_response(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Answer with a JSON body; UUIDs and times are written as orjson writes them."""
    return web.Response(body=to_json(body), status=status, headers=headers, content_type=JSON)


def to_json(body: Any) -> bytes:
    """Write compact JSON in UTF-8."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        # A message may quote what orjson can't write, such as half a surrogate pair; a refusal must not become an accident.
        return json.dumps(body, default=str).encode()


def refusal_headers(refusal: Refusal, *, challenge: str) -> dict[str, str]:
    """Give `Retry-After` (seconds) to a 429 and `WWW-Authenticate` to a 401 (RFC 9110, sections 10.2.3 and 11.6.1)."""
    if isinstance(refusal, RateLimited):
        return {"Retry-After": str(refusal.retry_after)}
    if isinstance(refusal, Unauthenticated):
        return {"WWW-Authenticate": challenge}
    return {}


def beside(own: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    """Put the details behind a form's own members, which they never replace."""
    return {**own, **{name: value for name, value in details.items() if name not in own}}


def allow_header(methods: Iterable[str]) -> dict[str, str]:
    """Name the methods that an address takes, in a steady order."""
    return {"Allow": ", ".join(sorted(methods))}


def method_not_allowed(methods: Iterable[str]) -> web.Response:
    """Answer 405 with `Allow` and no body (decisions section 2)."""
    return web.Response(status=405, headers=allow_header(methods))
