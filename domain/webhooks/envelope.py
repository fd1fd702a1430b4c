"""Build and sign the request of a webhook delivery, and sign that of a call to an app (docs/reference/shared.md#webhook-signatures).

Three signatures, all HMAC-SHA256 with the app's client secret: `signature` inside the envelope, over its compact JSON without `signature`;
`X-Service-Signature` over the body as sent; `webhook-signature` of Standard Webhooks. All functions are pure.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from kernel.clock import format_rfc3339

SIGNATURE_HEADER = "X-Service-Signature"
EVENT_HEADER = "X-Service-Event"
USER_AGENT = "Vitrine-Events/1"
_PREFIX = "evt_"


def event_id(public_id: UUID) -> str:
    """Return the public id of an event, the same on every attempt."""
    return f"{_PREFIX}{public_id.hex}"


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event as sent to its receiver."""

    id: UUID
    name: str
    sequence: int
    at: datetime
    tenant_id: UUID
    app_id: str
    """The app's client id."""
    request_id: str
    data: Mapping[str, Any]
    traceparent: str | None = None
    """The span of this attempt, or of the request that emitted the event (W3C Trace Context)."""


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """The body and headers to POST."""

    body: bytes
    headers: Mapping[str, str]


def build_request(event: EventRecord, secrets: Sequence[str], at: datetime) -> SignedRequest:
    """Build the envelope and sign it; `at` is the time of this attempt.

    `secrets` are the valid ones, the oldest first: the first two signatures use the oldest, Standard Webhooks has one per secret.
    """
    envelope: dict[str, Any] = {
        "id": event_id(event.id),
        "event": event.name,
        "timestamp": format_rfc3339(event.at),
        "tenant_id": str(event.tenant_id),
        "app_id": event.app_id,
        "sequence": event.sequence,
        "data": event.data,
    }
    return sign_request(envelope, event.name, secrets, at, request_id=event.request_id, traceparent=event.traceparent)


def sign_request(
    envelope: dict[str, Any],
    name: str,
    secrets: Sequence[str],
    at: datetime,
    *,
    request_id: str,
    traceparent: str | None,
) -> SignedRequest:
    """Sign an envelope, a new one with an `id`; `name` is its event or call, `secrets` and `at` as in `build_request`."""
    oldest = secrets[0]
    envelope["signature"] = sign(oldest, orjson.dumps(envelope))
    body = orjson.dumps(envelope)
    timestamp = str(int(at.timestamp()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        SIGNATURE_HEADER: sign(oldest, body),
        EVENT_HEADER: name,
        "X-Request-Id": request_id,
        "webhook-id": envelope["id"],
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(
            _standard(secret, f"{envelope['id']}.{timestamp}.".encode() + body) for secret in reversed(secrets)
        ),
    }
    if traceparent is not None:
        headers["traceparent"] = traceparent
    return SignedRequest(body, headers)


def sign(secret: str, content: bytes) -> str:
    """Return the signature of bytes as `sha256=<hex digest>`."""
    return f"sha256={_digest(secret, content).hex()}"


def _standard(secret: str, content: bytes) -> str:
    return f"v1,{base64.b64encode(_digest(secret, content)).decode()}"


def _digest(secret: str, content: bytes) -> bytes:
    return hmac.digest(secret.encode(), content, "sha256")
