"""Let a demo store take payments through the gateway `sandbox`, after its past orders, which other gateways had charged: one is paid."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from domain.payments.sandbox.gateway import NAME, is_enabled
from kernel.scope import active_scope
from models.connection.database import fetchval
from server.demo.catalog import DemoCatalog
from server.demo.owner import DemoOwner

INSTALLMENTS = "2-6:0:60, 7-12:1.99:300"
_OPEN_ORDER = """
SELECT o.public_id FROM orders o
JOIN payment_methods m ON m.tenant_id = o.tenant_id AND m.id = o.payment_method_id AND m.kind = 'CARD'
WHERE o.tenant_id = $1 AND o.status = 'O' AND o.deleted_at IS NULL
    AND NOT EXISTS (SELECT FROM payments p WHERE p.tenant_id = o.tenant_id AND p.order_id = o.id)
ORDER BY o.id DESC LIMIT 1
"""


async def connect_sandbox(owner: DemoOwner, catalog: DemoCatalog, ids: Mapping[str, str], at: datetime) -> None:
    """Give the payment methods (ids by key) the sandbox as their gateway, and offer instalments for cards."""
    for method in catalog.payments:
        fields = {
            "processor": NAME,
            "kind": method.kind,
            "processor_params": {},
            "settles_at_once": False,
            "instructions": "",
        }
        await owner.execute("payment_method_update", at, id=ids[method.key], input=fields)
    await owner.execute("store_settings_update", at, settings={"installments": INSTALLMENTS})


async def pay_open_order(owner: DemoOwner, at: datetime) -> None:
    """Pay the newest open order by a card of the sandbox, so that there is a payment to refund; nothing where the sandbox is off."""
    if not is_enabled():
        return
    with active_scope(owner.scope(at)):
        order = await fetchval(_OPEN_ORDER, owner.store.id)
    if order is not None:
        await owner.execute("payment_create", at, order_id=str(order), kind="CARD", card_token="tok_approved")
