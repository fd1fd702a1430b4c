"""Melhor Envio and Frenet are asked as documented, and whatever they answer wrongly is a fault, never a price."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from domain.carriers import source
from domain.carriers.frenet import Frenet
from domain.carriers.melhor_envio import MelhorEnvio
from domain.carriers.parcels import Parcel
from domain.carriers.source import RateRequest, RateSourceFailed, ServiceQuote, choose_service
from tests.harness.carriers import (
    FRENET_PATH,
    MELHOR_ENVIO_PATH,
    CarrierServer,
    carrier_server,
    frenet_service,
    melhor_envio_service,
)

PARCELS = [Parcel(2, 270, 181, 90, 1_350, 9_980, ((0, 3),), 1), Parcel(1, 160, 110, 20, 0, 500, ((1, 1),), None)]
REQUEST = RateRequest(PARCELS, "01310100", "50010000", 20_460)


@pytest.fixture
async def carriers() -> AsyncIterator[CarrierServer]:
    async with carrier_server() as server:
        yield server


def melhor_envio(carriers):
    return MelhorEnvio("me-secret", "ti@loja.example", carriers.address)


def frenet(carriers):
    return Frenet("fr-secret", carriers.address)


async def test_melhor_envio_is_asked_for_parcels_in_centimetres_and_kilograms(carriers):
    quotes = await melhor_envio(carriers).quote(REQUEST)
    assert quotes == [ServiceQuote("1", "Correios PAC", 2_550, 4, 5)]
    [(path, headers, body)] = carriers.requests
    assert (path, headers["Authorization"]) == (MELHOR_ENVIO_PATH, "Bearer me-secret")
    assert headers["User-Agent"] == "Vitrine (ti@loja.example)"
    assert body == {
        "from": {"postal_code": "01310100"},
        "to": {"postal_code": "50010000"},
        "products": [
            {"id": "1", "width": 19, "height": 9, "length": 27, "weight": 1.35, "insurance_value": 99.8, "quantity": 2},
            {"id": "2", "width": 11, "height": 2, "length": 16, "weight": 0.01, "insurance_value": 5.0, "quantity": 1},
        ],
        "options": {"receipt": False, "own_hand": False},
    }


async def test_frenet_is_asked_for_parcels_in_centimetres_and_kilograms(carriers):
    quotes = await frenet(carriers).quote(REQUEST)
    assert quotes == [ServiceQuote("04510", "Correios PAC", 3_250, 7, 7)]
    [(path, headers, body)] = carriers.requests
    assert (path, headers["token"]) == (FRENET_PATH, "fr-secret")
    assert body == {
        "SellerCEP": "01310100",
        "RecipientCEP": "50010000",
        "RecipientCountry": "BR",
        "ShipmentInvoiceValue": 204.6,
        "ShippingItemArray": [
            {"SKU": "1", "Weight": 1.35, "Length": 27, "Height": 9, "Width": 19, "Quantity": 2},
            {"SKU": "2", "Weight": 0.01, "Length": 16, "Height": 2, "Width": 11, "Quantity": 1},
        ],
    }


async def test_a_service_that_does_not_deliver_is_no_fault(carriers):
    carriers.melhor_envio = [{"id": 1, "name": "PAC", "error": "Serviço indisponível para o trecho."}]
    carriers.frenet = {"ShippingSevicesArray": [frenet_service(Error=True, ShippingPrice=None, Msg="CEP não atendido")]}
    for carrier in (melhor_envio(carriers), frenet(carriers)):
        quotes = await carrier.quote(REQUEST)
        assert [quote.price_cents for quote in quotes] == [None], carrier
        assert choose_service(quotes, ()) is None, carrier


async def test_without_custom_values_those_of_the_service_count(carriers):
    service = melhor_envio_service(
        custom_price=None, custom_delivery_range=None, delivery_range=None, delivery_time="3"
    )
    carriers.melhor_envio = [service]
    assert await melhor_envio(carriers).quote(REQUEST) == [ServiceQuote("1", "Correios PAC", 3_010, 3, 3)]


WRONG_PRICES: list[object] = [
    "0",
    "0.00",
    "-1.50",
    "0.001",
    "1e9",
    "1e5000",
    "-1e999999",
    "1e-5000",
    "100000.01",
    "NaN",
    "Infinity",
    "grátis",
    "",
    None,
    True,
    [],
    {},
]


@pytest.mark.parametrize("price", WRONG_PRICES, ids=repr)
async def test_a_price_that_is_none_is_a_fault_and_leaves_other_services_usable(carriers, price):
    carriers.melhor_envio = [melhor_envio_service(1, price=price), melhor_envio_service(2, price="40.00")]
    if price is None:
        carriers.melhor_envio[0]["price"] = None
    carriers.frenet = {"ShippingSevicesArray": [frenet_service(price=price), frenet_service("03220", "40.00")]}
    for carrier, wrong in ((melhor_envio(carriers), "1"), (frenet(carriers), "04510")):
        quotes = await carrier.quote(REQUEST)
        with pytest.raises(RateSourceFailed, match="price"):
            choose_service(quotes, [wrong])
        chosen = choose_service(quotes, ())
        assert chosen is not None, carrier
        assert chosen.price_cents == 4_000, carrier


@pytest.mark.parametrize(
    "members",
    [
        {"currency": "US$"},
        {"custom_delivery_range": {"min": -1, "max": 5}},
        {"custom_delivery_range": {"min": 1, "max": 5_000}},
        {"custom_delivery_range": {"min": 1.5, "max": 5}},
        {"custom_delivery_range": None, "delivery_range": None, "delivery_time": None},
        {"name": None, "company": None},
        {"name": "x" * 300},
        {"id": None},
        {"id": {}},
    ],
    ids=repr,
)
async def test_what_else_is_wrong_with_a_service_is_a_fault(carriers, members):
    carriers.melhor_envio = [melhor_envio_service(**members)]
    with pytest.raises(RateSourceFailed):
        choose_service(await melhor_envio(carriers).quote(REQUEST), ())


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"null", b"{}", b"7", b'"x"', b'{"ShippingSevicesArray": {}}', b"[" * 70_000]
)
async def test_an_answer_that_is_no_list_of_services_is_a_fault(carriers, body):
    carriers.melhor_envio = carriers.frenet = body
    for carrier in (melhor_envio(carriers), frenet(carriers)):
        with pytest.raises(RateSourceFailed):
            await carrier.quote(REQUEST)


@pytest.mark.parametrize("entry", [None, 5, "x", []])
async def test_an_entry_that_is_no_service_is_a_fault(carriers, entry):
    carriers.melhor_envio = [entry]
    with pytest.raises(RateSourceFailed, match="expected an object"):
        choose_service(await melhor_envio(carriers).quote(REQUEST), ())


@pytest.mark.parametrize("status", [201, 302, 401, 403, 422, 429, 500, 503])
async def test_every_status_but_200_is_a_fault(carriers, status):
    carriers.status = status
    for carrier in (melhor_envio(carriers), frenet(carriers)):
        with pytest.raises(RateSourceFailed, match=f"status {status}"):
            await carrier.quote(REQUEST)


async def test_a_slow_carrier_and_one_that_is_not_there_are_faults(carriers, monkeypatch):
    monkeypatch.setattr(source, "DEADLINE_SECONDS", 0.2)
    carriers.seconds = 1.0
    for carrier in (melhor_envio(carriers), Frenet("t", "http://127.0.0.1:9")):
        with pytest.raises(RateSourceFailed):
            await carrier.quote(REQUEST)


def test_the_cheapest_of_the_chosen_services_counts_and_an_unknown_one_is_a_fault():
    quotes = [ServiceQuote("1", "a", 900, 1, 9), ServiceQuote("2", "b", 700, 1, 2), ServiceQuote("3", "c", 700, 1, 1)]
    for services, chosen in (((), "3"), (("1", "2"), "2"), (("1", "9"), "1")):
        quote = choose_service(quotes, services)
        assert quote is not None, services
        assert quote.service == chosen, services
    for known, services in ((quotes, ("9",)), ([], ())):
        with pytest.raises(RateSourceFailed, match="no service"):
            choose_service(known, services)
