"""Addresses of postal codes (docs/shipping.md#addresses-of-postal-codes)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from aiohttp import web

from domain.outgoing import calls
from domain.shipping import postal_addresses
from domain.shipping.postal_addresses import PostalAddress, find_postal_address
from models.connection import database
from models.tables.shipping import Destination, DestinationZipcode
from server.outgoing import outgoing_client
from tests.harness.http import Response
from tests.harness.sample_store import SampleStore

QUERY = "query($zipcode: String!) { address_by_zipcode(zipcode: $zipcode) { zipcode state city district street } }"
SE = {"cep": "01001-000", "logradouro": "Praça da Sé", "bairro": "Sé", "localidade": "São Paulo", "uf": "SP"}
SE_ADDRESS = {"zipcode": "01001000", "state": "SP", "city": "São Paulo", "district": "Sé", "street": "Praça da Sé"}
STATE_ONLY = {"zipcode": "01001000", "state": "SP", "city": None, "district": None, "street": None}


@dataclass
class ZipcodeServer:
    """A service that answers as ViaCEP does: what it was asked for, and what it answers with, after so many seconds."""

    answer: Any = field(default_factory=lambda: dict(SE))
    status: int = 200
    seconds: float = 0.0
    asked: list[str] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(request.match_info["zipcode"])
        await asyncio.sleep(self.seconds)
        raw = self.answer if isinstance(self.answer, bytes) else orjson.dumps(self.answer)
        return web.Response(body=raw, status=self.status, content_type="application/json")


@pytest.fixture
async def service() -> AsyncIterator[ZipcodeServer]:
    service = ZipcodeServer()
    app = web.Application()
    app.router.add_get("/ws/{zipcode}/json/", service.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    before = (calls._caller, calls._allows_private)
    postal_addresses.configure(f"http://127.0.0.1:{runner.addresses[0][1]}/ws/{{zipcode}}/json/")
    try:
        async with outgoing_client(allows_private=True):
            yield service
    finally:
        calls._caller, calls._allows_private = before
        postal_addresses.configure(None)
        await runner.cleanup()


async def post(sample: SampleStore, zipcode: str) -> Response:
    return await (await sample.shopper()).post("/graphql", {"query": QUERY, "variables": {"zipcode": zipcode}})


async def look_up(sample: SampleStore, zipcode: str = "01001-000") -> Any:
    answer = await post(sample, zipcode)
    assert "errors" not in answer.body, answer.body
    return answer.body["data"]["address_by_zipcode"]


async def add_destination(sample: SampleStore, city: str, first: str, last: str, **values: Any) -> None:
    destination = await sample.add(Destination, name=city, cities=[city], **values)
    await sample.add(DestinationZipcode, destination_id=destination.number, zipcode_from=first, zipcode_to=last)


async def test_without_a_service_the_narrowest_destination_of_one_city_names_the_city(sample: SampleStore) -> None:
    assert await look_up(sample) == STATE_ONLY
    await add_destination(sample, "Grande São Paulo", "01000000", "09999999")
    await add_destination(sample, "São Paulo", "01000000", "05999999", states=["SP"], countries=["BR"])
    await add_destination(sample, "Recife", "01000000", "01999999", states=["PE"])
    await add_destination(sample, "Lisboa", "01000000", "01999999", countries=["PT"])
    await add_destination(sample, "Centro", "01000000", "01999999", status="D")
    assert await look_up(sample) == {**STATE_ONLY, "city": "São Paulo"}
    assert await look_up(sample, "08000000") == {**STATE_ONLY, "zipcode": "08000000", "city": "Grande São Paulo"}


async def test_a_cep_of_no_state_has_no_address_and_another_text_is_refused(sample: SampleStore) -> None:
    assert await look_up(sample, "00000-000") is None
    for text in ("", "123", "x" * 100_000, "01001-000'", "01001.\n"):
        answer = await post(sample, text)
        (error,) = answer.body["errors"]
        expected = ("VALIDATION_FAILED", "zipcode")
        assert (error["extensions"]["code"], error["extensions"]["field"]) == expected, (text, error)
        assert answer.body["data"] == {"address_by_zipcode": None}, text


async def test_a_service_is_asked_once_and_a_destination_keeps_its_spelling(
    sample: SampleStore, service: ZipcodeServer
) -> None:
    assert [await look_up(sample) for _ in range(3)] == [SE_ADDRESS] * 3
    await add_destination(sample, "SAO PAULO", "01000000", "05999999")
    assert await look_up(sample) == {**SE_ADDRESS, "city": "SAO PAULO"}
    await add_destination(sample, "Osasco", "01001000", "01001000")
    assert await look_up(sample) == SE_ADDRESS
    assert service.asked == ["01001000"]


async def test_shoppers_who_ask_for_the_same_wait_for_one_answer(sample: SampleStore, service: ZipcodeServer) -> None:
    service.seconds = 0.2
    assert await asyncio.gather(*(look_up(sample) for _ in range(5))) == [SE_ADDRESS] * 5
    assert service.asked == ["01001000"]


@pytest.mark.parametrize("answer", [{"erro": True}, {"erro": "true"}, 404])
async def test_what_the_service_does_not_know_has_no_address_but_a_destination(
    sample: SampleStore, service: ZipcodeServer, answer: Any
) -> None:
    service.status = 404 if answer == 404 else 200
    service.answer = answer
    assert await look_up(sample) is None
    await add_destination(sample, "São Paulo", "01000000", "05999999")
    assert await look_up(sample) == {**STATE_ONLY, "city": "São Paulo"}
    assert service.asked == ["01001000"]


@pytest.mark.parametrize(
    "answer",
    [b"", b"<html>", [], None, {}, {**SE, "uf": "XX"}, {**SE, "uf": 7}, {**SE, "localidade": ""}, {**SE, "localidade": "a\0b"}],
)  # fmt: skip
async def test_what_can_not_be_read_is_no_answer(sample: SampleStore, service: ZipcodeServer, answer: Any) -> None:
    service.answer = answer
    assert await look_up(sample) == STATE_ONLY
    service.answer = SE
    assert await look_up(sample) == SE_ADDRESS, "a failure isn't kept"


async def test_a_slow_service_delays_a_request_once_and_serves_the_next(
    sample: SampleStore, service: ZipcodeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postal_addresses, "WAIT_SECONDS", 0.05)
    service.seconds = 0.4
    assert await look_up(sample) == STATE_ONLY
    await asyncio.sleep(0.5)
    assert await look_up(sample) == SE_ADDRESS
    assert service.asked == ["01001000"]


async def test_a_failing_service_is_left_alone(sample: SampleStore, service: ZipcodeServer) -> None:
    service.status = 503
    for number in range(8):
        assert (await look_up(sample, f"0100100{number}"))["city"] is None, number
    assert len(service.asked) == 5


async def test_nobody_waits_for_the_service_with_a_connection(sample: SampleStore, service: ZipcodeServer) -> None:
    async with database.transaction(sample.scope):
        assert await find_postal_address(sample.scope, "01001000") == PostalAddress("01001000", "SP")
    assert service.asked == []


async def test_answers_are_asked_for_again_after_their_time(sample: SampleStore, service: ZipcodeServer) -> None:
    for days, questions in ((0, 1), (29, 1), (31, 2)):
        scope = replace(sample.scope, now=sample.scope.now + timedelta(days=days))
        await find_postal_address(scope, "01001000")
        assert len(service.asked) == questions, days


async def test_a_key_has_the_service_asked_for_600_new_codes_a_minute(
    sample: SampleStore, service: ZipcodeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("domain.carriers.limits.PER_KEY", 2)
    for number in range(2):
        await look_up(sample, f"0100100{number}")
    await add_destination(sample, "Osasco", "01001005", "01001005")
    assert await look_up(sample, "01001005") == {**STATE_ONLY, "zipcode": "01001005", "city": "Osasco"}
    assert len(service.asked) == 2
    assert (await look_up(sample, "01001001"))["street"], "what is kept goes on being shown"


async def test_codes_are_not_counted_while_a_service_is_left_alone(sample: SampleStore, service: ZipcodeServer) -> None:
    service.status = 503
    for number in range(8):
        await look_up(sample, f"0100100{number}")
    count = "select cardinality(recent) from signin_counts where bucket like 'zipcodes:' || $1 || ':%'"
    assert await sample.value(count, str(sample.scope.store.id)) == 5


async def test_a_look_up_takes_one_statement(sample: SampleStore) -> None:
    counts = []
    for _ in range(2):
        answer = await post(sample, "01001000")
        counts.append(answer.statements)
        await add_destination(sample, "São Paulo", "01000000", "05999999")
    assert counts == [1, 1]
