"""Create destinations, shipping rates, taxes and promotions of a demo store.

None of it changes the price of an order by itself: taxes are included in the prices, promotions need a coupon or are disabled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from server.demo.catalog import COMMON, DemoCatalog, DemoShippingMethod
from server.demo.owner import DemoOwner

_ICMS_BY_REGION = {"Norte": 12_000, "Nordeste": 12_000, "Centro-Oeste": 12_000}


@dataclass(frozen=True, slots=True)
class DestinationsAndTaxes:
    """The ids of the created destinations, by name, and taxes."""

    destinations: Mapping[str, str]
    taxes: Sequence[str]


async def create_destinations_and_taxes(owner: DemoOwner, at: datetime) -> DestinationsAndTaxes:
    """Create destinations and taxes."""
    destinations = {}
    for region in COMMON["regions"]:
        places = {name: region.get(name, []) for name in ("states", "zipcodes")}
        destinations[region["name"]] = await owner.create(
            "destination", at, name=region["name"], countries=["BR"], **places
        )
    icms = await owner.create(
        "tax",
        at,
        name="ICMS",
        regnumber="110.042.490.114",
        rate_value=18_000,
        price_includes_tax=True,
        rates=[{"destination_id": destinations[name], "rate_value": rate} for name, rate in _ICMS_BY_REGION.items()],
    )
    packaging = {"name": "Taxa de embalagem", "rate_type": "F", "rate_value": 1_500, "priority": 1, "status": "D"}
    await owner.create("tax", at, **packaging)
    return DestinationsAndTaxes(destinations, [icms])


def shipping_rates(
    method: DemoShippingMethod, created: DestinationsAndTaxes, *, is_express: bool
) -> list[dict[str, object]]:
    """Return the shipping rates per region; pickup is free and has none."""
    if not method.base_cents:
        return []
    return [
        {
            "destination_id": created.destinations[region["name"]],
            "base_cents": method.base_cents + region.get("base", 0),
            "per_kg_cents": method.per_kg_cents + region.get("per_kg", 0),
        }
        for region in COMMON["regions"]
        if not (region.get("no_express") and is_express)
    ]


async def create_promotions(
    owner: DemoOwner, catalog: DemoCatalog, categories: Mapping[str, str], at: datetime
) -> None:
    """Create promotions: three with coupons, one expired and disabled."""
    for promotion in COMMON["promotions"]:
        await owner.create("promotion", at, **promotion)
    first = categories[catalog.categories[0].key]
    await owner.create(
        "promotion",
        at,
        name="Liquidação de inverno",
        zone="catalog",
        conditions={"categories": [first]},
        bonuses={"product_discount": "20%"},
        status="D",
    )
