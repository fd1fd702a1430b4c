"""Create the warehouses of a demo store: its own, which ships to all of Brazil, and a regional one of its first vendor.

The store's history emitted notifications; the owner has read those older than a week.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from kernel.clock import format_rfc3339
from server.demo.catalog import DemoCatalog
from server.demo.owner import DemoOwner
from server.demo.pricing import REGIONS

_READ_AFTER = timedelta(days=7)

# The hours that a delivery to a region takes.
_HOURS = {"Sudeste": 48, "Sul": 72, "Centro-Oeste": 72, "Nordeste": 96, "Norte": 144}
_NEAR_SAO_PAULO = [
    {"zipcode_from": "01000-000", "zipcode_to": "09999-999"},
    {"zipcode_from": "11000-000", "zipcode_to": "11999-999"},
]


async def create_warehouses(owner: DemoOwner, catalog: DemoCatalog, vendors: Mapping[str, str], at: datetime) -> None:
    """Create a user group of resellers and the two warehouses."""
    resellers = await owner.create("usergroup", at, name="Lojistas", type="C")
    usergroup = {"usergroup_id": resellers, "priority": 10, "allocation_type": "P"}
    await owner.create("warehouse", at, **_central(), usergroups=[usergroup])
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


def _central() -> dict[str, Any]:
    greater_sao_paulo = {
        "area_name": "Grande São Paulo e Baixada",
        "states": ["SP"],
        "cities": ["São Paulo", "Guarulhos", "Santos"],
        "zipcodes": _NEAR_SAO_PAULO,
        "delivery_time": 24,
    }
    regions = [
        {"area_name": region.name, "states": list(region.states), "delivery_time": _HOURS[region.name]}
        for region in REGIONS
        if region.name in _HOURS
    ]
    return {
        "name": "Centro de distribuição",
        "code": "CD-1",
        "description": "<p>Atende todo o Brasil.</p>",
        "address": "Rodovia Anhanguera, km 38",
        "city": "Cajamar",
        "state": "SP",
        "zipcode": "07776-000",
        "phone": "1140028922",
        "email": "cd@loja.example",
        "latitude": "-23.356400",
        "longitude": "-46.877300",
        "priority": 10,
        "is_default": True,
        "shipping_delay": 1,
        "min_items_in_box": 1,
        "max_items_in_box": 20,
        "areas": [greater_sao_paulo, *regions],
    }
