"""Let a demo store take payments through the gateway `sandbox`, after its past orders, which other gateways had charged."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from domain.payments.sandbox.gateway import NAME
from server.demo.catalog import DemoCatalog
from server.demo.owner import DemoOwner

INSTALLMENTS = "2-6:0:60, 7-12:1.99:300"


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
