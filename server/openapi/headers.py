"""The headers of the OpenAPI documents (docs/reference/shared.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kernel.json_schema import INTEGER, STRING, Schema

PARAMETERS: Mapping[str, Schema] = {
    "Store": {
        "name": "X-Tenant-ID",
        "in": "header",
        "description": "The store's UUID; required on shared hosts.",
        "schema": {"type": "string", "format": "uuid"},
    },
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Requests with the same key and body are executed once and get the same response, for 24 hours.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    },
}

NOT_MODIFIED = "The client has the current answer (`If-None-Match`); no body."
OF_CATALOGUE = ("ETag", "Cache-Control")
KNOWN_VERSION: Schema = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The `ETag` of the answer that the client has: 304 while it is current.",
    "schema": STRING,
}
REQUEST_ID, LINK, REPLAYED, RETRY_AFTER = "X-Request-Id", "Link", "Idempotent-Replayed", "Retry-After"
RATE_LIMITS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
HEADERS: Mapping[str, Schema] = {
    REQUEST_ID: {"description": "The id of the request, in our logs too.", "schema": STRING},
    LINK: {
        "description": 'The previous and the next page (RFC 8288): `</api/v1/…?page=3>; rel="next"`.',
        "schema": STRING,
    },
    REPLAYED: {
        "description": "The response is that of an earlier request with the same `Idempotency-Key`.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    RETRY_AFTER: {"description": "Seconds to wait.", "schema": INTEGER},
    "ETag": {
        "description": "A weak tag of the answer, for `If-None-Match`; not for a shopper's token.",
        "schema": STRING,
    },
    "Cache-Control": {
        "description": "`private, no-cache`, or `public` with `max-age` as the store's setting `catalogue_max_age` says.",
        "schema": STRING,
    },
    "X-RateLimit-Limit": {"description": "Requests a minute.", "schema": INTEGER},
    "X-RateLimit-Remaining": {"description": "Requests left in this minute.", "schema": INTEGER},
    "X-RateLimit-Reset": {"description": "When the minute ends, in Unix seconds.", "schema": INTEGER},
    "WWW-Authenticate": {"description": "The challenge (RFC 9110, section 11.6.1).", "schema": STRING},
    "Accept-Encoding": {"description": "The supported content codings.", "schema": STRING},
}
OF_ERRORS: Mapping[int, tuple[str, ...]] = {
    401: ("WWW-Authenticate",),
    415: ("Accept-Encoding",),
    429: (RETRY_AFTER,),
    503: (RETRY_AFTER,),
}


def references(names: Iterable[str]) -> dict[str, Any]:
    """Refer to headers of the document."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
