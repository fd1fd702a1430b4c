"""Create the warehouses of a demo store: its own, which ships to all of Brazil, and a regional one of its first vendor.

The store's history emitted notifications; the owner has read those older than a week.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from kernel.clock import format_rfc3339
from server.demo.catalog import COMMON, DemoCatalog
from server.demo.owner import DemoOwner

_READ_AFTER = timedelta(days=7)


async def create_warehouses(owner: DemoOwner, catalog: DemoCatalog, vendors: Mapping[str, str], at: datetime) -> None:
    """Create a user group of resellers and the two warehouses."""
    resellers = await owner.create("usergroup", at, name="Lojistas", type="C")
    usergroup = {"usergroup_id": resellers, "priority": 10, "allocation_type": "P"}
    own = COMMON["warehouse"]
    regions = [
        {"area_name": region["name"], "states": region["states"], "delivery_time": region["hours"]}
        for region in COMMON["regions"]
        if "hours" in region
    ]
    await owner.create("warehouse", at, **{**own, "areas": [*own["areas"], *regions]}, usergroups=[usergroup])
    for vendor in catalog.vendors[:1]:
        await owner.create(
            "warehouse",
            at,
            **{name: getattr(vendor, name) for name in ("address", "city", "state", "zipcode", "email")},
            name=f"Depósito {vendor.name}",
            code="DEP-1",
            vendor_id=vendors[vendor.key],
            is_default=True,
            areas=[{"area_name": f"Perto de {vendor.city}", "states": [vendor.state], "delivery_time": 24}],
            usergroups=[usergroup | {"priority": 5}],
        )


async def mark_inbox_read(owner: DemoOwner, now: datetime) -> None:
    """Mark the owner's notifications older than a week as read."""
    await owner.execute("notifications_mark_read", now, before=format_rfc3339(now - _READ_AFTER))
