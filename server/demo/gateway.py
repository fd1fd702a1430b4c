"""Be the payment gateway of a demo store: tell it of payments as the real one would, signed with the store's secret."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from auth.secrets import Unreadable
from domain import stores
from kernel.clock import rfc3339
from kernel.ids import random_token
from kernel.scope import Store
from kernel.signatures import hmac_sha256_hex
from server import operating
from server.demo.acting import StoreOwner


async def secret_of(store: Store) -> str:
    """Give the secret that signs the gateway's notifications, made anew where it was emptied or can't be read any more."""
    scope = operating.system_scope(store)
    try:
        secret = await stores.gateway_secret(scope)
    except Unreadable:
        secret = None
    if secret is None:
        secret = random_token(256)
        await stores.set_gateway_secret(scope, secret)
    return secret


class DemoGateway:
    """Send notifications to a store; an order has one charge, named by its number."""

    def __init__(self, owner: StoreOwner, secret: str) -> None:
        self._owner = owner
        self._secret = secret
        self._sent = 0

    async def tell(self, kind: str, at: datetime, order: Mapping[str, Any], method: str, **more: Any) -> None:
        """Tell of an order's charge; `more` are further members of it."""
        self._sent += 1
        charge = {
            "id": f"ch_demo{order['number']}",
            "code": str(order["number"]),
            "amount": order["total_cents"],
            "currency": self._owner.store.currency,
            "status": kind.partition(".")[2],
            "payment_method": method,
            "order": {"id": f"or_demo{order['number']}", "code": str(order["number"])},
            "metadata": {"order_id": order["id"]},
            **more,
        }
        event = {"id": f"hook_demo{self._sent}", "type": kind, "created_at": rfc3339(at), "data": charge}
        body = orjson.dumps(event)
        signature = f"sha256={hmac_sha256_hex(self._secret, body)}"
        await self._owner.do("DemoNotification", at, body=body, signatures=[signature])
