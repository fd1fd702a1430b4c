"""An app names the price of a shipping method; what it answers badly, or not at all, is a fault of the source."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from domain.carriers.app import AppRates
from domain.carriers.parcels import Parcel
from domain.carriers.source import RateRequest, RateSourceFailed, ServiceQuote, choose_service
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from domain.shipping.product_quotes import quote_product
from kernel.scope import Actor, ActorKind
from tests.app_calls.conftest import InstalledApp
from tests.app_calls.hostile import answers, status
from tests.harness.domain_store import DomainStore

REQUEST = RateRequest([Parcel(2, 270, 180, 90, 1_350, 9_980, ((0, 3),), 1)], "01310100", "50010000", 19_960)


def rate(code: str = "moto", price_cents: int = 1_500, **members: Any) -> dict[str, Any]:
    return {"code": code, "name": "Motoboy", "price_cents": price_cents, "min_days": 1, "max_days": 2, **members}


def rates_of(installed: InstalledApp) -> AppRates:
    return AppRates(installed.scope, installed.app.client_id)


async def test_an_app_is_called_with_each_parcel_and_both_places(installed: InstalledApp) -> None:
    installed.server.answer = answers({"rates": [rate(), rate("van", 900, min_days=None, max_days=None)]})
    quotes = await rates_of(installed).quote(REQUEST)
    assert quotes == [ServiceQuote("moto", "Motoboy", 1_500, 1, 2), ServiceQuote("van", "Motoboy", 900, 0, 0)]
    [call] = installed.server.received
    assert call.envelope["call"] == "shipping_rates.quote"
    parcel = {"weight_grams": 1_350, "length_mm": 270, "width_mm": 180, "height_mm": 90, "value_cents": 9_980}
    assert call.data == {
        "currency": "BRL",
        "origin": {"country": "BR", "state": "SP", "city": "", "zipcode": "01310100"},
        "destination": {"country": "BR", "state": "PE", "city": "", "zipcode": "50010000"},
        "parcels": [parcel, parcel],
    }


async def test_an_empty_answer_means_that_the_app_does_not_deliver(installed: InstalledApp) -> None:
    installed.server.answer = answers({"rates": []})
    for services in ((), ("moto",)):
        assert choose_service(await rates_of(installed).quote(REQUEST), services) is None, services


@pytest.mark.parametrize(
    "answer",
    [
        status(500, b"{}"),
        status(200, b"<html>"),
        answers({}),
        answers({"rates": [rate(price_cents=0)]}),
        answers({"rates": [rate(price_cents=-100)]}),
        answers({"rates": [rate(price_cents=10**9)]}),
        answers({"rates": [rate(max_days=9_999)]}),
        answers({"rates": [rate(name="")]}),
    ],
    ids=["500", "HTML", "empty", "zero", "negative", "huge", "days", "name"],
)
async def test_a_bad_answer_is_a_fault(installed: InstalledApp, answer: Any) -> None:
    installed.server.answer = answer
    with pytest.raises(RateSourceFailed):
        choose_service(await rates_of(installed).quote(REQUEST), ())


async def test_an_app_that_is_not_installed_or_lacks_the_scope_is_a_fault(
    install: Callable[..., Awaitable[InstalledApp]],
) -> None:
    installed = await install("handle_payments", call_urls={})
    for client_id in ("unknown", installed.app.client_id):
        with pytest.raises(RateSourceFailed):
            await AppRates(installed.scope, client_id).quote(REQUEST)
    assert installed.server.received == []


async def test_a_shipping_method_is_priced_by_an_app_and_by_its_table_while_the_app_is_down(
    installed: InstalledApp,
) -> None:
    kit = DomainStore(installed.scope)
    params = {"app": installed.app.client_id, "origin_zipcode": "01310-100", "services": ["moto"]}
    await SHIPPING_METHOD_RECORDS.create(
        installed.scope, {"name": "Motoboy", "base_cents": 2_000, "rate_source": "app", "rate_params": params}
    )
    product = await kit.product(price_cents=1_000, stock=9)
    shopper = replace(installed.scope, actor=Actor(ActorKind.STOREFRONT))
    installed.server.answer = answers({"rates": [rate("van", 900), rate("moto", 1_500)]})
    [quote] = (await quote_product(shopper, product, "50010-000")).quotes
    assert (quote.price_cents, quote.delivery_time) == (1_500, "1 a 2 dias")
    installed.server.answer = status(503, b"")
    [quote] = (await quote_product(shopper, product, "50010-000", 2)).quotes
    assert quote.price_cents == 2_000


async def test_whole_numbers_may_be_written_with_a_point(installed: InstalledApp) -> None:
    numbers = {"price_cents": 1_500.0, "min_days": 1.0, "max_days": 2.0}
    installed.server.answer = answers({"rates": [rate() | numbers]})
    [quote] = await rates_of(installed).quote(REQUEST)
    assert repr(quote) == repr(ServiceQuote("moto", "Motoboy", 1_500, 1, 2))
