"""Say on which terms a demo shop sells: where it delivers at what price, which taxes its prices hold, which promotions it runs.

Nothing here changes the price of an order by itself: taxes are within the prices, promotions ask for a coupon or are switched off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from server.demo.acting import StoreOwner
from server.demo.assortment import DemoCatalog, ShippingWay


@dataclass(frozen=True, slots=True)
class Region:
    """A destination, and what the way there costs more than within the Southeast: cents a parcel and a kilogram.

    `slow_only`: no express goes there.
    """

    name: str
    states: tuple[str, ...] = ()
    zipcodes: tuple[tuple[str, str], ...] = ()
    base: int = 0
    per_kg: int = 0
    slow_only: bool = False


REGIONS = (
    Region("Sudeste", ("ES", "MG", "RJ", "SP")),
    Region("Sul", ("PR", "RS", "SC"), base=300, per_kg=50),
    Region("Centro-Oeste", ("DF", "GO", "MS", "MT"), base=500, per_kg=100),
    Region("Nordeste", ("AL", "BA", "CE", "MA", "PB", "PE", "PI", "RN", "SE"), base=700, per_kg=150),
    Region("Norte", ("AC", "AM", "AP", "PA", "RO", "RR", "TO"), base=1_200, per_kg=300),
    # Part of Pernambuco, but its CEPs make it a destination of its own.
    Region(
        "Fernando de Noronha",
        zipcodes=(("53990000", "53990999"),),
        base=4_000,
        per_kg=900,
        slow_only=True,
    ),
)
_ICMS_BY_REGION = {"Norte": 12_000, "Nordeste": 12_000, "Centro-Oeste": 12_000}


@dataclass(frozen=True, slots=True)
class DemoTerms:
    """Keep the ids of what was made: destinations by name, and the taxes that lie on goods."""

    destinations: Mapping[str, str]
    taxes: Sequence[str]


async def settle(owner: StoreOwner, at: datetime) -> DemoTerms:
    """Make destinations and taxes."""
    destinations = {}
    for region in REGIONS:
        given = {
            "name": region.name,
            "countries": ["BR"],
            "states": list(region.states),
            "zipcodes": [{"zipcode_from": first, "zipcode_to": last} for first, last in region.zipcodes],
        }
        destinations[region.name] = (await owner.do("DemoDestination", at, input=given))["id"]
    icms = {
        "name": "ICMS",
        "regnumber": "110.042.490.114",
        "rate_value": 18_000,
        "price_includes_tax": True,
        "rates": [
            {"destination_id": destinations[name], "rate_value": rate}
            for name, rate in _ICMS_BY_REGION.items()
        ],
    }
    made = await owner.do("DemoTax", at, input=icms)
    packaging = {
        "name": "Taxa de embalagem",
        "rate_type": "F",
        "rate_value": 1_500,
        "priority": 1,
        "status": "D",
    }
    await owner.do("DemoTax", at, input=packaging)
    return DemoTerms(destinations, [made["id"]])


def rates_of(way: ShippingWay, terms: DemoTerms, *, is_express: bool) -> list[dict[str, object]]:
    """Give what a way to deliver costs in each region; what is fetched costs nothing and has no regions."""
    if not way.base:
        return []
    return [
        {
            "destination_id": terms.destinations[region.name],
            "base_cents": way.base + region.base,
            "per_kg_cents": way.per_kg + region.per_kg,
        }
        for region in REGIONS
        if not (region.slow_only and is_express)
    ]


async def promote(owner: StoreOwner, shop: DemoCatalog, categories: Mapping[str, str], at: datetime) -> None:
    """Make promotions: three for those who know the coupon, one that is over and switched off."""
    first = categories[shop.categories[0].key]
    for given in (
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
            "bonuses": {"free_shipping": True},
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
    ):
        await owner.do("DemoPromotion", at, input=given)
