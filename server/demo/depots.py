"""Give a demo store its warehouses: its own, which sends everywhere in Brazil, and one of its first seller's, near home.

What happened in the store was told of while it happened; the owner has read what is older than a week.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from kernel.clock import rfc3339
from server.demo.acting import StoreOwner
from server.demo.assortment import DemoCatalog

_READ_AFTER = timedelta(days=7)

# Name, states, hours.
_REGIONS = (
    ("Sudeste", ("SP", "RJ", "MG", "ES"), 48),
    ("Sul", ("PR", "SC", "RS"), 72),
    ("Centro-Oeste", ("DF", "GO", "MT", "MS"), 72),
    ("Nordeste", ("AL", "BA", "CE", "MA", "PB", "PE", "PI", "RN", "SE"), 96),
    ("Norte", ("AC", "AM", "AP", "PA", "RO", "RR", "TO"), 144),
)
_NEAR_SAO_PAULO = [
    {"zipcode_from": "01000-000", "zipcode_to": "09999-999"},
    {"zipcode_from": "11000-000", "zipcode_to": "11999-999"},
]


async def open_warehouses(
    owner: StoreOwner, shop: DemoCatalog, vendors: Mapping[str, str], at: datetime
) -> None:
    """Make a group of buyers for resale and the two warehouses."""
    resale = await owner.do("DemoUsergroup", at, input={"name": "Lojistas", "type": "C"})
    served = {"usergroup_id": resale["id"], "priority": 10, "allocation_type": "P"}
    await owner.do("DemoWarehouse", at, input=_central() | {"usergroups": [served]})
    for vendor in shop.vendors[:1]:
        given = {
            "name": f"Depósito {vendor.name}",
            "code": "DEP-1",
            "address": vendor.address,
            "city": vendor.city,
            "state": vendor.state,
            "zipcode": vendor.zipcode,
            "email": vendor.email,
            "vendor_id": vendors[vendor.key],
            "is_default": True,
            "areas": [
                {"area_name": f"Perto de {vendor.city}", "states": [vendor.state], "delivery_time": 24}
            ],
            "usergroups": [served | {"priority": 5}],
        }
        await owner.do("DemoWarehouse", at, input=given)


async def read_inbox(owner: StoreOwner, now: datetime) -> None:
    """Mark what the owner was told longer than a week ago as read."""
    await owner.do("DemoInboxRead", now, before=rfc3339(now - _READ_AFTER))


def _central() -> dict[str, Any]:
    near = {
        "area_name": "Grande São Paulo e Baixada",
        "states": ["SP"],
        "cities": ["São Paulo", "Guarulhos", "Santos"],
        "zipcodes": _NEAR_SAO_PAULO,
        "delivery_time": 24,
    }
    regions = [
        {"area_name": name, "states": list(states), "delivery_time": hours}
        for name, states, hours in _REGIONS
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
        "areas": [near, *regions],
    }
