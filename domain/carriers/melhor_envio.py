"""Rates of Melhor Envio: `POST /api/v2/me/shipment/calculate` (docs.melhorenvio.com.br, "Cálculo de Fretes").

Each kind of parcel is sent as a product with the number of parcels as its quantity; Melhor Envio adds up what its carriers charge. A
service that doesn't deliver has an `error` in place of a price.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.carriers.source import (
    RateRequest,
    RateSourceFailed,
    ServiceQuote,
    centimetres,
    kilograms,
    post_json,
    read_days,
    read_price,
    read_services,
    read_text,
    reais,
)
from kernel.text import repr_value

ADDRESS = "https://melhorenvio.com.br"
_PATH = "/api/v2/me/shipment/calculate"
_CURRENCIES = ("R$", "BRL")


@dataclass(frozen=True, slots=True)
class MelhorEnvio:
    """Melhor Envio with a store's token; it asks callers to name a technical contact."""

    token: str
    contact_email: str
    address: str = ADDRESS

    async def quote(self, request: RateRequest) -> list[ServiceQuote]:
        """Return what Melhor Envio says of all services of the store's account."""
        headers = {"Authorization": f"Bearer {self.token}", "User-Agent": f"Vitrine ({self.contact_email})"}
        body = {
            "from": {"postal_code": request.origin},
            "to": {"postal_code": request.destination},
            "products": [
                {
                    "id": str(number),
                    "width": centimetres(parcel.width_mm),
                    "height": centimetres(parcel.height_mm),
                    "length": centimetres(parcel.length_mm),
                    "weight": kilograms(parcel.weight_grams),
                    "insurance_value": reais(parcel.value_cents),
                    "quantity": parcel.count,
                }
                for number, parcel in enumerate(request.parcels, 1)
            ],
            "options": {"receipt": False, "own_hand": False},
        }
        return read_services(await post_json(self.address + _PATH, headers, body), "id", _read)


def _read(entry: Mapping[str, Any]) -> ServiceQuote:
    service, name = read_text(entry.get("id")), _name(entry)
    if entry.get("error"):
        return ServiceQuote(service, name, None)
    if entry.get("currency", _CURRENCIES[0]) not in _CURRENCIES:
        raise RateSourceFailed(f"a price is in {repr_value(entry['currency'])}; expected R$")
    # `custom_` values are those of the account's own settings, which the store has chosen.
    price = entry.get("custom_price") if entry.get("custom_price") is not None else entry.get("price")
    days = entry.get("custom_delivery_range") or entry.get("delivery_range")
    if isinstance(days, Mapping):
        shortest, longest = read_days(days.get("min")), read_days(days.get("max"))
    else:
        shortest = longest = read_days(entry.get("delivery_time"))
    return ServiceQuote(service, name, read_price(price), min(shortest, longest), max(shortest, longest))


def _name(entry: Mapping[str, Any]) -> str:
    company = entry.get("company")
    names = [company.get("name") if isinstance(company, Mapping) else None, entry.get("name")]
    return read_text(" ".join(name for name in names if isinstance(name, str)))
