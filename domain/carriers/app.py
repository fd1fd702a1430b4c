"""Rates of an installed app, by the signed call `shipping_rates.quote` (docs/reference/apps.md#calls-to-apps)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.app_calls.call_types import SHIPPING_RATES_QUOTE
from domain.app_calls.calling import AppCallFailed, AppNotCalled, call_app
from domain.carriers.source import (
    RateRequest,
    RateSourceFailed,
    ServiceQuote,
    checked_price,
    read_days,
    read_services,
    read_text,
)
from kernel.geography import BRAZIL, state_of_cep
from kernel.scope import Scope


@dataclass(frozen=True, slots=True)
class AppRates:
    """The app with this client id, as a store has installed it."""

    scope: Scope
    client_id: str

    async def quote(self, request: RateRequest) -> list[ServiceQuote]:
        """Return what the app says of its services; an empty answer means that none delivers."""
        parcels = [
            {
                "weight_grams": parcel.weight_grams,
                "length_mm": parcel.length_mm,
                "width_mm": parcel.width_mm,
                "height_mm": parcel.height_mm,
                "value_cents": parcel.value_cents,
            }
            for parcel in request.parcels
            for _ in range(parcel.count)
        ]
        data = {
            "currency": self.scope.store.currency,
            "origin": _place(request.origin),
            "destination": _place(request.destination),
            "parcels": parcels,
        }
        try:
            answer = await call_app(self.scope, self.client_id, SHIPPING_RATES_QUOTE, data)
        except (AppNotCalled, AppCallFailed) as error:
            raise RateSourceFailed(str(error)) from error
        return read_services(answer["rates"], "code", _read) or [ServiceQuote("", "", None)]


def _place(cep: str) -> dict[str, str]:
    return {"country": BRAZIL, "state": state_of_cep(cep) or "", "city": "", "zipcode": cep}


def _read(rate: Mapping[str, Any]) -> ServiceQuote:
    # JSON has one type of number: 5.0 is an integer of the schema too.
    days = [read_days(int(rate[name])) for name in ("min_days", "max_days") if rate.get(name) is not None] or [0]
    name = read_text(rate.get("name"))
    return ServiceQuote(rate["code"], name, checked_price(int(rate["price_cents"])), min(days), max(days))
