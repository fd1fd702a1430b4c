"""Sources that fail, hang, or answer what is no answer: the import waits, gives up with a clear line, and writes nothing by halves."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kernel.scope import Store
from server.importers.cscart import run
from server.importers.cscart.http_source import MAX_REQUESTS, HttpSource
from server.importers.cscart.source import FolderSource, NotOffered, SourceError, SourceUnavailable
from tests.harness.scopes import value
from tests.importers.shops import Answer, FakeClock, Shop


def answer_with(body: Any = None, status: int = 200, **options: Any) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        options.setdefault("content_type", "application/json")
        return web.Response(body=raw, status=status, **options)

    return answer


def in_turn(*answers: Answer) -> Answer:
    """Return an answer for each request; the last one from then on."""
    left = list(answers)

    async def answer(request: web.Request) -> web.StreamResponse | None:
        return await (left.pop(0) if len(left) > 1 else left[0])(request)

    return answer


def of_paths(default: Answer, **answers: Answer) -> Answer:
    """Return an answer by the last part of the path."""

    async def answer(request: web.Request) -> web.StreamResponse | None:
        return await answers.get(request.path.rpartition("/")[2], default)(request)

    return answer


LANGUAGES = {
    "languages": {"pt": {"lang_id": "1", "lang_code": "pt", "name": "Português"}},
    "params": {"total_items": "1"},
}
ready = answer_with(LANGUAGES)


async def hang(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError("the client waited")


async def disconnect(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def cut(request: web.Request) -> web.StreamResponse:
    """Break off in the middle of a body."""
    response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(b'{"products": [')
    assert request.transport is not None
    request.transport.abort()
    return response


PASSING = {
    "status 500": answer_with({"message": "PHP fatal error"}, 500),
    "status 502, HTML": answer_with(b"<html><h1>Bad gateway</h1></html>", 502, content_type="text/html"),
    "disconnected": disconnect,
    "cut off": cut,
    "not JSON": answer_with(b'{"products": ['),
    "HTML with status 200": answer_with(b"<b>Warning</b>: mysql_connect()", content_type="text/html"),
    "invalid UTF-8": answer_with(b'{"name": "S\xe3o Paulo"}'),
    "empty": answer_with(b""),
}


@pytest.mark.parametrize("failure", PASSING.values(), ids=PASSING.keys())
async def test_a_failure_that_passes_is_waited_for(failure: Answer) -> None:
    clock = FakeClock()
    async with (
        Shop(answer=in_turn(ready, failure, failure, answer_with({"a": 1}))) as shop,
        shop.source(clock) as source,
    ):
        assert await source.fetch("products") == {"a": 1}
    # The client repeats a request itself when a connection that it used before was closed.
    assert 1 <= len(clock.pauses) <= 2
    assert clock.pauses == sorted(clock.pauses), "each pause is longer"


@pytest.mark.parametrize("failure", PASSING.values(), ids=PASSING.keys())
async def test_a_record_that_always_fails_is_reported_while_the_shop_answers_others(failure: Answer) -> None:
    async with Shop(answer=of_paths(failure, languages=ready)) as shop, shop.source() as source:
        with pytest.raises(SourceError) as error:
            await source.fetch("products/1")
        assert not isinstance(error.value, NotOffered)


@pytest.mark.parametrize("failure", PASSING.values(), ids=PASSING.keys())
async def test_a_shop_that_fails_for_ten_minutes_is_given_up(failure: Answer) -> None:
    clock = FakeClock()
    async with Shop(answer=in_turn(ready, failure)) as shop, shop.source(clock) as source:
        with pytest.raises(
            SourceUnavailable, match=r"has failed for 10 minutes: .*; run the command again to continue"
        ):
            await source.fetch("products")
    assert 600 <= clock.seconds < 700


async def test_a_shop_that_hangs_is_a_failure() -> None:
    async with (
        Shop(answer=in_turn(ready, hang, answer_with({"a": 1}))) as shop,
        shop.source(answer_seconds=0.3) as source,
    ):
        assert await source.fetch("products") == {"a": 1}


async def test_a_shop_that_is_down_from_the_beginning_is_given_up() -> None:
    clock = FakeClock()
    source = HttpSource("http://127.0.0.1:9", "a@example.com", "key", clock.timeouts())
    with pytest.raises(SourceUnavailable, match="has failed for 10 minutes"):
        await source.__aenter__()


async def test_a_wait_is_reported_within_ten_seconds_and_each_minute() -> None:
    clock = FakeClock()
    waits: list[tuple[float, str]] = []
    address = "http://127.0.0.1:9"
    source = HttpSource(
        address, "a@example.com", "key", clock.timeouts(), on_wait=lambda line: waits.append((clock.seconds, line))
    )
    with pytest.raises(SourceUnavailable, match="has failed for 10 minutes"):
        await source.__aenter__()
    assert waits[0][0] < 10
    assert (
        "waiting for the shop, at most 10 minutes: the shop did not answer: Cannot connect to host 127.0.0.1:9"
        in waits[0][1]
    )
    pauses = [later - earlier for (earlier, _), (later, _) in pairwise(waits)]
    assert len(waits) >= 5
    assert all(30 <= pause <= 150 for pause in pauses), pauses


async def test_a_shop_that_answers_after_a_moment_is_waited_for_without_a_line() -> None:
    waits: list[str] = []
    failure = PASSING["status 500"]
    async with Shop(answer=in_turn(ready, failure, answer_with({"a": 1}))) as shop:
        source = shop.source()
        source.on_wait = waits.append
        async with source:
            assert await source.fetch("products") == {"a": 1}
    assert waits == []


@pytest.mark.parametrize("header", ["90", "Wed, 21 Oct 2099 07:28:00 GMT"])
async def test_the_shop_says_how_long_to_wait(header: str) -> None:
    clock = FakeClock()
    throttled = answer_with({"message": "slow down"}, 429, headers={"Retry-After": header})
    async with Shop(answer=in_turn(ready, throttled, answer_with({"a": 1}))) as shop, shop.source(clock) as source:
        assert await source.fetch("products") == {"a": 1}
    assert clock.pauses[0] == (90 if header == "90" else 600)


@pytest.mark.parametrize("header", ["0", "Wed, 21 Oct 2015 07:28:00 GMT"])
async def test_a_shop_that_asks_for_no_wait_is_not_asked_again_at_once(header: str) -> None:
    clock = FakeClock()
    throttled = answer_with({"message": "slow down"}, 429, headers={"Retry-After": header})
    async with (
        Shop(answer=in_turn(ready, *[throttled] * 3, answer_with({"a": 1}))) as shop,
        shop.source(clock) as source,
    ):
        assert await source.fetch("products") == {"a": 1}
    assert [pause for pause in clock.pauses if pause < 0.75] == []
    assert sum(clock.pauses) >= 0.75 * (1 + 2 + 4)


@pytest.mark.parametrize("header", ["later", "Thu, 01 Jan 99999999999999 00:00:00 GMT"])
async def test_a_wait_that_is_no_number_or_date_is_not_one_that_the_shop_says(header: str) -> None:
    throttled = answer_with({"message": "slow down"}, 429, headers={"Retry-After": header})
    async with Shop(answer=in_turn(ready, throttled, answer_with({"a": 1}))) as shop, shop.source() as source:
        assert await source.fetch("products") == {"a": 1}


async def test_throttling_is_waited_for_however_often() -> None:
    throttled = answer_with({"message": "slow down"}, 429, headers={"Retry-After": "2"})
    async with Shop(answer=in_turn(ready, *[throttled] * 20, answer_with({"a": 1}))) as shop, shop.source() as source:
        assert await source.fetch("products") == {"a": 1}


async def test_at_most_four_requests_are_sent_at_once() -> None:
    async def slow(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.02)
        return web.json_response({})

    async with Shop(answer=in_turn(ready, slow)) as shop:
        async with shop.source() as source:
            await asyncio.gather(*(source.fetch(f"products/{number}") for number in range(20)))
        assert shop.most_at_once == MAX_REQUESTS


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_credentials_end_the_import_at_once(status: int) -> None:
    async with Shop(answer=answer_with({"message": "Unauthorized"}, status)) as shop:
        with pytest.raises(SourceUnavailable, match=r"refuses the credentials .*Unauthorized.*API key"):
            await shop.source().__aenter__()
        assert shop.requests == 1


async def test_a_list_that_is_forbidden_is_reported_and_the_others_are_brought(store: Store) -> None:
    forbidden = answer_with({"message": "Access denied"}, 403)
    pages = answer_with({"pages": [{"page_id": "3", "page": "Sobre", "description": ""}], "params": {}})
    nothing = answer_with({"message": "Not found"}, 404)
    async with (
        Shop(answer=of_paths(nothing, languages=ready, products=forbidden, pages=pages)) as shop,
        shop.source() as source,
    ):
        report = await run.run(source, store.public_id)
    assert report.failures == [("products", "", "the list can't be read to its end: status 403: Access denied")]
    assert report.counts["pages"].added == 1


async def test_credentials_that_are_refused_meanwhile_end_the_import() -> None:
    refused = answer_with({"message": "Access denied"}, 403)
    async with Shop(answer=in_turn(ready, refused)) as shop, shop.source() as source:
        with pytest.raises(SourceUnavailable, match=r"refuses the credentials \(status 403: Access denied\)"):
            await source.fetch("products")


async def test_a_shop_at_another_address_is_named() -> None:
    moved = answer_with({}, 301, headers={"Location": "https://www.shop.example/api/2.0/languages"})
    async with Shop(answer=moved) as shop:
        with pytest.raises(SourceUnavailable, match=r"the shop is at https://www\.shop\.example"):
            await shop.source().__aenter__()


async def test_an_address_without_the_api_is_refused() -> None:
    page = answer_with(b"<html>Welcome</html>", 404, content_type="text/html")
    async with Shop(answer=page) as shop:
        with pytest.raises(SourceUnavailable, match="no CS-Cart API answers at"):
            await shop.source().__aenter__()


async def test_a_shop_without_url_rewriting_is_read_through_its_script() -> None:
    page = answer_with(b"<html>Not found</html>", 404, content_type="text/html")

    async def script(request: web.Request) -> web.StreamResponse:
        return web.json_response({"_d": request.query["_d"], "page": request.query.get("page")})

    async with Shop(answer=of_paths(page, **{"api.php": script})) as shop, shop.source() as source:
        assert await source.fetch("products/12", page=2) == {"_d": "products/12", "page": "2"}


async def test_a_declared_encoding_is_read() -> None:
    body = '{"name": "Привет"}'.encode("windows-1251")
    legacy = answer_with(body, charset="windows-1251")
    async with Shop(answer=in_turn(ready, legacy)) as shop, shop.source() as source:
        assert await source.fetch("products/1") == {"name": "Привет"}


async def test_a_missing_record_is_no_failure() -> None:
    missing = answer_with({"message": "Not Found", "status": 404}, 404)
    async with Shop(answer=in_turn(ready, missing)) as shop, shop.source() as source:
        with pytest.raises(NotOffered, match="Not Found"):
            await source.fetch("products/1")


# --- Whole imports -------------------------------------------------------------------------------------------------------------------


def product(number: int) -> dict[str, Any]:
    return {"product_id": str(number), "product": f"Product {number}", "price": "1.00", "full_description": ""}


async def test_a_shop_that_fails_in_the_middle_keeps_what_was_written_and_nothing_half(store: Store) -> None:
    pages = {
        "1": {
            "products": [product(number) for number in range(1, 251)],
            "params": {"total_items": "500", "items_per_page": 250},
        },
        "2": {
            "products": [product(number) for number in range(251, 501)],
            "params": {"total_items": "500", "items_per_page": 250},
        },
    }
    is_down = True

    async def products(request: web.Request) -> web.StreamResponse:
        if is_down and request.query["page"] == "2":
            return web.Response(status=500)
        return web.json_response(pages[request.query["page"]])

    nothing = answer_with({"message": "Not found"}, 404)
    clock = FakeClock()
    answers = of_paths(nothing, languages=in_turn(ready, ready, answer_with(b"", 500)), products=products)
    async with Shop(answer=answers) as shop:
        async with shop.source(clock) as source:
            stopped = await run.run(source, store.public_id)
        assert stopped.stopped.startswith("the shop has failed for 10 minutes: status 500")
        assert (stopped.counts["products"].added, "options" in stopped.counts) == (250, False)
        assert await value(store, "SELECT count(*) FROM products WHERE tenant_id = $1", store.id) == 250
        is_down = False
        shop.answer = of_paths(nothing, languages=ready, products=products)
        async with shop.source(clock) as source:
            report = await run.run(source, store.public_id)
    assert (report.counts["products"].added, report.counts["products"].present) == (250, 250)
    assert await value(store, "SELECT count(*) FROM products WHERE tenant_id = $1", store.id) == 500


async def test_a_list_that_can_not_be_read_is_reported_and_the_others_are_brought(store: Store) -> None:
    broken = answer_with(b"<b>Fatal error</b>", 500, content_type="text/html")
    pages = answer_with({"pages": [{"page_id": "3", "page": "Sobre", "description": ""}], "params": {}})
    nothing = answer_with({"message": "Not found"}, 404)
    async with (
        Shop(answer=of_paths(nothing, languages=ready, products=broken, pages=pages)) as shop,
        shop.source() as source,
    ):
        report = await run.run(source, store.public_id)
    [(entity, number, reason)] = report.failures
    assert (entity, number) == ("products", "")
    assert reason.startswith("the list can't be read to its end: status 500: HTML")
    assert "orders" in report.missing
    assert await value(store, "SELECT name FROM pages WHERE tenant_id = $1 AND id = 3", store.id) == "Sobre"


# --- Saved answers -------------------------------------------------------------------------------------------------------------------


async def test_a_folder_of_saved_answers_is_read(tmp_path: Any) -> None:
    (tmp_path / "products").mkdir()
    (tmp_path / "products.1.json").write_text('{"products": [{"product_id": 1}]}')
    (tmp_path / "products.2.json").write_text('\ufeff{"products": [{"product_id": 2}]}')
    (tmp_path / "products" / "12").mkdir()
    (tmp_path / "products" / "12" / "options.json").write_text("[]")
    (tmp_path / "orders.json").write_text("{")
    source = FolderSource(tmp_path)
    assert await source.fetch("products", page=1) == {"products": [{"product_id": 1}]}
    assert await source.fetch("products", page=2) == {"products": [{"product_id": 2}]}
    assert await source.fetch("products", page=3) == []
    assert await source.fetch("options", product_id=12) == []
    with pytest.raises(NotOffered, match=r"there is no file users\.json"):
        await source.fetch("users")
    with pytest.raises(SourceError, match=r"orders\.json is not JSON"):
        await source.fetch("orders")
    (tmp_path / "products.4.json").write_text("[]")
    (tmp_path / "users.2.json").write_text("[]")
    with pytest.raises(SourceError, match=r"there is no file products\.3\.json, but products\.4\.json"):
        await source.fetch("products", page=3)
    with pytest.raises(SourceError, match=r"there is no file users\.1\.json, but users\.2\.json"):
        await source.fetch("users")
    assert await source.fetch("products", page=5) == []


async def test_a_saved_answer_that_can_not_be_opened_is_reported(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "products.json").write_text("[]")

    def refuse(file: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(SourceError, match=r"products\.json can't be read: Permission denied"):
        await FolderSource(tmp_path).fetch("products")


@pytest.mark.parametrize(
    "url", ["ftp://shop.example", "http://[", "https://a..example/", f"https://{'a' * 64}.example/"]
)
async def test_an_address_that_cannot_be_looked_up_is_named(url: str):
    with pytest.raises(SourceUnavailable, match="is no address of a shop; expected"):
        async with HttpSource(url, "owner@shop.example", "key"):
            pass


async def test_credentials_that_are_not_utf_8_are_sent_as_they_are():
    clock = FakeClock()
    source = HttpSource("http://127.0.0.1:9", "owner\udce9", "key", clock.timeouts())
    with pytest.raises(SourceUnavailable, match="has failed for 10 minutes"):
        await source.__aenter__()
