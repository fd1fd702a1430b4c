"""Write what is posted to an endpoint, and sign it (contract, Outbound app event envelope; decisions section 7).

Three signatures, all HMAC-SHA256 with the app's client secret: `signature` inside the envelope, over its compact JSON without
`signature`; `X-Service-Signature` over the body as sent; `webhook-signature` of Standard Webhooks. Everything is pure: secrets and
moments are given.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from kernel.clock import rfc3339
from kernel.signatures import hmac_sha256_hex

SIGNATURE_HEADER = "X-Service-Signature"
EVENT_HEADER = "X-Service-Event"
USER_AGENT = "Vitrine-Events/1"
_PREFIX = "evt_"


def event_id(public_id: UUID) -> str:
    """Write the id under which an event is told, the same on every try."""
    return f"{_PREFIX}{public_id.hex}"


@dataclass(frozen=True, slots=True)
class EventRecord:
    """What happened, as its receiver is told it."""

    id: UUID
    name: str
    sequence: int
    at: datetime
    tenant_id: UUID
    app_id: str
    """The app's client id."""
    request_id: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Post:
    """The bytes to post and the headers to post them with."""

    body: bytes
    headers: Mapping[str, str]


def written(told: EventRecord, secrets: Sequence[str], at: datetime) -> Post:
    """Write the envelope and sign it; `at` is the moment of this try.

    `secrets` are those that are good now, the oldest first: the contract's two signatures take the first, Standard Webhooks shows one
    for each.
    """
    envelope: dict[str, Any] = {
        "id": event_id(told.id),
        "event": told.name,
        "timestamp": rfc3339(told.at),
        "tenant_id": str(told.tenant_id),
        "app_id": told.app_id,
        "sequence": told.sequence,
        "data": told.data,
    }
    oldest = secrets[0]
    envelope["signature"] = signed(oldest, orjson.dumps(envelope))
    body = orjson.dumps(envelope)
    moment = str(int(at.timestamp()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        SIGNATURE_HEADER: signed(oldest, body),
        EVENT_HEADER: told.name,
        "X-Request-Id": told.request_id,
        "webhook-id": envelope["id"],
        "webhook-timestamp": moment,
        "webhook-signature": " ".join(
            _standard(secret, f"{envelope['id']}.{moment}.".encode() + body) for secret in reversed(secrets)
        ),
    }
    return Post(body, headers)


def signed(secret: str, content: bytes) -> str:
    """Sign bytes in the contract's form, `sha256=<hex digest>`."""
    return f"sha256={hmac_sha256_hex(secret, content)}"


def _standard(secret: str, content: bytes) -> str:
    digest = hmac.new(secret.encode(), content, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
