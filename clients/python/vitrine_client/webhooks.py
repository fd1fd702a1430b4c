"""Verify webhook deliveries by their `webhook-signature` (docs/reference/shared.md#webhook-signatures)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from vitrine_client.errors import WebhookRejected

TOLERANCE_SECONDS = 300


class WebhookEvent(TypedDict):
    """The body of a delivery. `sequence` counts the events of one subject; `id` is the same at every attempt."""

    id: str
    event: str
    timestamp: str
    tenant_id: str
    app_id: str
    sequence: int
    data: dict[str, Any]
    signature: str


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> WebhookEvent:
    """Return the event of a delivery that was signed with one of the secrets within the tolerance; raise `WebhookRejected`.

    `body` are the bytes as received, before anything parses them; names of `headers` are matched in either case. `now` are Unix seconds.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    timestamp = sent.get("webhook-timestamp", "")
    current = time.time() if now is None else now
    if not re.fullmatch(r"[0-9]{1,15}", timestamp):
        raise WebhookRejected("the header webhook-timestamp is missing or not a number")
    if abs(current - int(timestamp)) > tolerance_seconds:
        raise WebhookRejected(f"the delivery was signed at {timestamp}, more than {tolerance_seconds:g} s from now")
    signed = f"{sent.get('webhook-id', '')}.{timestamp}.".encode() + body
    signatures = [text.encode() for text in sent.get("webhook-signature", "").split()]
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        expected = b"v1," + base64.b64encode(hmac.new(secret.encode(), signed, hashlib.sha256).digest())
        if any(hmac.compare_digest(expected, signature) for signature in signatures):
            event: WebhookEvent = json.loads(body)
            return event
    raise WebhookRejected("no signature of the delivery is right")
