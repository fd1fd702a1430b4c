"""Create destinations, shipping rates, taxes and promotions of a demo store.

None of it changes the price of an order by itself: taxes are included in the prices, promotions need a coupon or are disabled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from server.demo.catalog import DemoCatalog, DemoShippingMethod
from server.demo.owner import DemoOwner


@dataclass(frozen=True, slots=True)
class DemoRegion:
    """A destination with its shipping surcharge over the Southeast: cents per shipment and per kilogram.

    `no_express`: no express delivery.
    """

    name: str
    states: tuple[str, ...] = ()
    zipcodes: tuple[tuple[str, str], ...] = ()
    base: int = 0
    per_kg: int = 0
    no_express: bool = False


REGIONS = (
    DemoRegion("Sudeste", ("ES", "MG", "RJ", "SP")),
    DemoRegion("Sul", ("PR", "RS", "SC"), base=300, per_kg=50),
    DemoRegion("Centro-Oeste", ("DF", "GO", "MS", "MT"), base=500, per_kg=100),
    DemoRegion("Nordeste", ("AL", "BA", "CE", "MA", "PB", "PE", "PI", "RN", "SE"), base=700, per_kg=150),
    DemoRegion("Norte", ("AC", "AM", "AP", "PA", "RO", "RR", "TO"), base=1_200, per_kg=300),
    # Part of Pernambuco, but a separate destination by its CEPs.
    DemoRegion("Fernando de Noronha", zipcodes=(("53990000", "53990999"),), base=4_000, per_kg=900, no_express=True),
)
_ICMS_BY_REGION = {"Norte": 12_000, "Nordeste": 12_000, "Centro-Oeste": 12_000}


@dataclass(frozen=True, slots=True)
class DestinationsAndTaxes:
    """The ids of the created destinations, by name, and taxes."""

    destinations: Mapping[str, str]
    taxes: Sequence[str]


async def create_destinations_and_taxes(owner: DemoOwner, at: datetime) -> DestinationsAndTaxes:
    """Create destinations and taxes."""
    destinations = {}
    for region in REGIONS:
        zipcodes = [{"zipcode_from": first, "zipcode_to": last} for first, last in region.zipcodes]
        destinations[region.name] = await owner.create(
            "destination", at, name=region.name, countries=["BR"], states=list(region.states), zipcodes=zipcodes
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
            "destination_id": created.destinations[region.name],
            "base_cents": method.base_cents + region.base,
            "per_kg_cents": method.per_kg_cents + region.per_kg,
        }
        for region in REGIONS
        if not (region.no_express and is_express)
    ]


async def create_promotions(
    owner: DemoOwner, catalog: DemoCatalog, categories: Mapping[str, str], at: datetime
) -> None:
    """Create promotions: three with coupons, one expired and disabled."""
    first = categories[catalog.categories[0].key]
    promotions: Sequence[dict[str, object]] = (
        {
            "name": "Boas-vindas",
            "description": "Dez por cento na primeira compra.",
            "coupon_code": "BEMVINDO10",
            "conditions": {"min_subtotal": "50.00", "once_per_customer": "Y"},
            "bonuses": {"order_discount": "10%"},
        },
        {
            "name": "Frete grátis",
            "coupon_code": "FRETEGRATIS",
            "usage_limit": 100,
            "conditions": {
                "set": "all",
                "set_value": "1",
                "conditions": {"1": {"operator": "gte", "condition": "subtotal", "value": "150.00"}},
            },
            "bonuses": {"free_shipping": "Y"},
            "priority": 1,
        },
        {
            "name": "Última peça",
            "coupon_code": "ULTIMA",
            "usage_limit": 1,
            "bonuses": {"order_discount": "20.00"},
            "priority": 2,
            "stop": True,
        },
        {
            "name": "Liquidação de inverno",
            "zone": "catalog",
            "conditions": {"categories": [first]},
            "bonuses": {"product_discount": "20%"},
            "status": "D",
        },
    )
    for promotion in promotions:
        await owner.create("promotion", at, **promotion)
