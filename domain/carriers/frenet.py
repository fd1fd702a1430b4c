"""Rates of Frenet: `POST /shipping/quote` (api.frenet.com.br; members as Frenet spells them, `ShippingSevicesArray` included)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.carriers.source import (
    RateRequest,
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

ADDRESS = "https://api.frenet.com.br"
_PATH = "/shipping/quote"
_SERVICES = "ShippingSevicesArray"


@dataclass(frozen=True, slots=True)
class Frenet:
    """Frenet with a store's token."""

    token: str
    address: str = ADDRESS

    async def quote(self, request: RateRequest) -> list[ServiceQuote]:
        """Return what Frenet says of all services of the store's account; a parcel is an item with its quantity."""
        body = {
            "SellerCEP": request.origin,
            "RecipientCEP": request.destination,
            "RecipientCountry": "BR",
            "ShipmentInvoiceValue": reais(request.value_cents),
            "ShippingItemArray": [
                {
                    "SKU": str(number),
                    "Weight": kilograms(parcel.weight_grams),
                    "Length": centimetres(parcel.length_mm),
                    "Height": centimetres(parcel.height_mm),
                    "Width": centimetres(parcel.width_mm),
                    "Quantity": parcel.count,
                }
                for number, parcel in enumerate(request.parcels, 1)
            ],
        }
        answer = await post_json(self.address + _PATH, {"token": self.token}, body)
        return read_services(answer.get(_SERVICES) if isinstance(answer, Mapping) else None, "ServiceCode", _read)


def _read(entry: Mapping[str, Any]) -> ServiceQuote:
    service = read_text(entry.get("ServiceCode"))
    names = [entry.get("Carrier"), entry.get("ServiceDescription")]
    name = read_text(" ".join(name for name in names if isinstance(name, str)) or service)
    if entry.get("Error"):
        return ServiceQuote(service, name, None)
    days = read_days(entry.get("DeliveryTime"))
    return ServiceQuote(service, name, read_price(entry.get("ShippingPrice")), days, days)
