"""Act as the payment gateway of a demo store: send signed payment notifications."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from auth.secrets import DecryptionError
from domain import stores
from kernel.clock import format_rfc3339
from kernel.ids import random_token
from kernel.scope import Store
from kernel.signatures import hmac_sha256_hex
from server.demo.owner import DemoOwner
from server.operations import store_admin


async def ensure_secret(store: Store) -> str:
    """Return the secret that signs gateway notifications, replaced when it is missing or unreadable."""
    scope = store_admin.system_scope(store)
    try:
        secret = await stores.gateway_secret(scope)
    except DecryptionError:
        secret = None
    if secret is None:
        secret = random_token(256)
        await stores.set_gateway_secret(scope, secret)
    return secret


class DemoGateway:
    """Send notifications to a store; each order has one charge, identified by its number."""

    def __init__(self, owner: DemoOwner, secret: str) -> None:
        self._owner = owner
        self._secret = secret
        self._sent = 0

    async def notify(
        self, event_type: str, at: datetime, order: Mapping[str, Any], method: str, **extra_fields: Any
    ) -> None:
        """Send a notification about an order's charge; `extra_fields` are further members of the charge."""
        self._sent += 1
        charge = {
            "id": f"ch_demo{order['number']}",
            "code": str(order["number"]),
            "amount": order["total_cents"],
            "currency": self._owner.store.currency,
            "status": event_type.partition(".")[2],
            "payment_method": method,
            "order": {"id": f"or_demo{order['number']}", "code": str(order["number"])},
            "metadata": {"order_id": order["id"]},
            **extra_fields,
        }
        event = {"id": f"hook_demo{self._sent}", "type": event_type, "created_at": format_rfc3339(at), "data": charge}
        body = orjson.dumps(event)
        signature = f"sha256={hmac_sha256_hex(self._secret, body)}"
        await self._owner.execute("gateway_notification_receive", at, body=body, signatures=[signature])
