"""The soak test detects wrong answers: its model, its judgement of answers, its proxy, and its measure of growth."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic

import orjson
import pytest
from aiohttp import web

from tests.system import haproxy, redis_server
from tests.system.soak import report
from tests.system.soak.__main__ import main
from tests.system.soak.calls import Answer, Client, Tally, Timeline, open_session, read_answer
from tests.system.soak.deployment import Disk
from tests.system.soak.faults import NOTHING, Fault
from tests.system.soak.hostile import check_shoppers
from tests.system.soak.model import (
    Findings,
    Line,
    OrderView,
    Product,
    Purchase,
    StoreModel,
    World,
    check_events,
    check_order,
    check_orders,
    check_refusal,
    check_stock,
)
from tests.system.soak.observation import SAMPLE_SECONDS, Observation, growth_of
from tests.system.soak.pictures import check_picture
from tests.system.soak.proxy import DatabaseProxy
from tests.system.soak.receiver import Receiver, Subscriber
from tests.system.soak.report import Span, span_of
from tests.system.soak.stores import Store
from tests.system.soak.views import legacy_view

ORDER_ID = "01a20303-450e-761d-b3ae-5f1dfd73d820"
PRODUCT_ID = "01a20303-450e-761d-b3ae-000000000001"


@pytest.fixture
def findings() -> Findings:
    return Findings()


@pytest.fixture
def store() -> StoreModel:
    """Return a store with one product of which ten are in stock."""
    model = StoreModel("soak-00000001", "01a20303-450e-761d-b3ae-000000000002", shipping_cents=500)
    model.products.append(Product(PRODUCT_ID, "soak-00000001 product", 1_000, 10))
    return model


def placed(store: StoreModel, quantity: int = 2) -> Purchase:
    purchase = store.begin_purchase([Line(store.products[0], quantity)])
    purchase.id, purchase.number = ORDER_ID, "7"
    store.place(purchase)
    return purchase


def view_of(purchase: Purchase) -> OrderView:
    items = tuple((line.product.name, line.quantity, line.product.price_cents) for line in purchase.lines)
    return OrderView(purchase.email, "O", purchase.total_cents, items, ORDER_ID, "7")


# --- Orders ----------------------------------------------------------------------------------------------------------


def test_a_right_order_has_no_findings(findings, store):
    purchase = placed(store)
    assert purchase.total_cents == 2_500
    check_orders(findings, store, [view_of(purchase)])
    assert len(findings) == 0


@pytest.mark.parametrize(
    "wrong",
    [{"total_cents": 2_499}, {"status": "P"}, {"email": "ana@example.com"}, {"items": ()}],
    ids=["total", "status", "email", "items"],
)
def test_a_wrong_order_is_found(findings, store, wrong):
    purchase = placed(store)
    check_order(findings, purchase, replace(view_of(purchase), **wrong), "here")
    assert findings.counts == {"order": 1}


def test_an_order_placed_twice_is_found(findings, store):
    view = view_of(placed(store))
    check_orders(findings, store, [view, replace(view, number="8")])
    assert any("has 2 orders" in line for line in findings.lines)


def test_a_lost_order_is_found(findings, store):
    placed(store)
    check_orders(findings, store, [])
    assert any("is gone" in line for line in findings.lines)


def test_an_order_that_was_never_placed_and_one_that_was_refused_are_found(findings, store):
    refused = store.begin_purchase([Line(store.products[0], 1)])
    store.refuse(refused)
    view = replace(view_of(refused), number="8")
    check_orders(findings, store, [view, replace(view, email="stranger@example.com", number="9")])
    assert findings.counts == {"order": 2}


def test_an_order_number_used_twice_is_found(findings, store):
    first, second = placed(store), placed(store)
    check_orders(findings, store, [view_of(first), view_of(second)])
    assert findings.counts == {"order number": 1}


def test_the_legacy_record_is_read_as_cents():
    record = {
        "email": "a@example.com", "status": "O", "total": "25.90", "order_id": "7",
        "products": {"1": {"product": "Caneca", "amount": "2", "price": "10.05"}},
    }  # fmt: skip
    assert legacy_view(record) == OrderView("a@example.com", "O", 2_590, (("Caneca", 2, 1_005),), number="7")


# --- Stock -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stock, is_quiet, count", [(8, True, 0), (9, True, 1), (7, True, 1), (-1, False, 1), (11, False, 1), (3, False, 0)]
)
def test_wrong_stock_is_found(findings, store, stock, is_quiet, count):
    placed(store)
    check_stock(findings, store, {PRODUCT_ID: stock}, is_quiet=is_quiet)
    assert len(findings) == count


def test_cancelled_and_refused_orders_return_their_units(findings, store):
    purchase = placed(store)
    store.change_status(purchase, "P")
    assert store.products[0].taken == 2
    store.change_status(purchase, "I")
    store.refuse(store.begin_purchase([Line(store.products[0], 3)]))
    check_stock(findings, store, {PRODUCT_ID: 10}, is_quiet=True)
    assert len(findings) == 0


@pytest.mark.parametrize("others, is_wrong", [(8, True), (9, False)])
def test_a_refusal_while_everything_was_in_stock_is_found(findings, store, others, is_wrong):
    purchase = store.begin_purchase([Line(store.products[0], 2)])
    # Units that another order held only for a while count too.
    other = store.begin_purchase([Line(store.products[0], others)])
    store.refuse(other)
    check_refusal(findings, purchase)
    assert bool(len(findings)) is is_wrong


# --- Events ----------------------------------------------------------------------------------------------------------


def test_an_event_that_never_arrives_is_found(findings, store):
    purchase = placed(store)
    check_events(findings, store)
    assert findings.counts == {"event": 1}
    store.receive_event("order.created", purchase.id, 1)
    check_events(findings, store)
    assert findings.counts == {"event": 1}


def test_a_gap_in_the_sequence_of_an_order_is_found(findings, store):
    store.receive_event("order.created", ORDER_ID, 1)
    store.receive_event("order.updated", ORDER_ID, 3)
    store.receive_event("order.updated", ORDER_ID, 3)
    check_events(findings, store)
    assert findings.counts == {"event": 1}
    assert "sequences [2]" in findings.lines[0]


def delivery(store: StoreModel, secret: bytes = b"secret", **changes: str) -> tuple[bytes, dict[str, str]]:
    """Sign an event as docs/events.md describes."""
    event = {
        "id": "evt_1",
        "event": "order.created",
        "tenant_id": store.tenant_id,
        "app_id": "vci_1",
        "sequence": 1,
    } | changes
    body = orjson.dumps(event | {"data": {"id": ORDER_ID}})
    standard = hmac.new(secret, b"evt_1.1." + body, hashlib.sha256).digest()
    return body, {
        "webhook-id": "evt_1", "webhook-timestamp": "1", "webhook-signature": "v1," + base64.b64encode(standard).decode(),
        "X-Service-Signature": "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(),
    }  # fmt: skip


def test_a_delivery_with_a_wrong_signature_or_of_another_store_is_found(findings, store):
    world = World(findings)
    world.add(store)
    receiver, subscriber = Receiver(world), Subscriber(store, "vci_1", b"secret")
    assert receiver.problem_of(subscriber, *delivery(store)) == ""
    assert receiver.problem_of(subscriber, *delivery(store, b"other")) == "wrong signature"
    body, headers = delivery(store)
    assert receiver.problem_of(subscriber, body, headers | {"X-Service-Signature": ""}) == "wrong signature"
    assert "another store" in receiver.problem_of(subscriber, *delivery(store, tenant_id="other"))
    assert receiver.problem_of(subscriber, *delivery(store, id="evt_2")) != ""


# --- Answers ---------------------------------------------------------------------------------------------------------


def test_markers_and_ids_of_another_store_are_found(findings, store):
    other = StoreModel("soak-00000002", "01a20303-450e-761d-b3ae-000000000003")
    world = World(findings)
    world.add(store)
    world.add(other)
    world.own(other, ORDER_ID)
    world.check_isolation(store, f"soak-00000001 {PRODUCT_ID} {store.tenant_id}")
    world.check_isolation(store, f"order {ORDER_ID} not found", asked=f"/orders/{ORDER_ID}")
    assert len(findings) == 0
    world.check_isolation(store, '{"name": "soak-00000002 product"}')
    world.check_isolation(store, f'{{"id": "{ORDER_ID}"}}')
    world.check_isolation(store, other.tenant_id)
    assert findings.counts == {"isolation": 3}


@asynccontextmanager
async def answering(
    findings: Findings,
    *answers: tuple[int, str],
    names_pause: bool = True,
    stale_seconds: float = 0.0,
    content_type: str = "text/plain",
) -> AsyncIterator[Client]:
    """Yield a client of a server that gives these answers in turn; 0 closes the connection."""
    left = list(answers)

    async def handle(request: web.Request) -> web.Response:
        status, text = left.pop(0)
        if not status:
            assert request.transport is not None
            request.transport.abort()
        headers = {"Retry-After": "1"} if names_pause and status in (429, 503) else None
        return web.Response(status=status or 200, text=text, headers=headers, content_type=content_type)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with open_session() as session:
        address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield Client(session, address, World(findings), Timeline(), Tally(), stale_seconds=stale_seconds)
    await runner.cleanup()


@pytest.mark.parametrize(
    "answer, during_a_fault, kind",
    [
        ((200, "{}"), False, None),
        ((500, "{}"), True, "server error"),
        ((502, "{}"), True, "server error"),
        ((200, "<html>"), True, "server error"),
        ((404, "{}"), True, "status"),
        ((401, "{}"), True, "status"),
        ((503, "{}"), True, None),
        ((429, "{}"), True, None),
        ((0, ""), True, None),
        ((503, "{}"), False, "server error"),
        ((429, "{}"), False, "status"),
        ((0, ""), False, "no answer"),
        ((409, '{"error": "in_progress"}'), False, "status"),
    ],
)
async def test_only_a_fault_excuses_and_only_what_may_be_repeated(findings, store, answer, during_a_fault, kind):
    async with answering(findings, answer) as client:
        if during_a_fault:
            client.timeline.open()
        await client.send(store, "admin", "GET", "/x", headers={})
    assert dict(findings.counts) == ({kind: 1} if kind else {})


async def test_a_503_that_does_not_say_when_to_try_again_is_found(findings, store):
    async with answering(findings, (503, "{}"), names_pause=False) as client:
        client.timeline.open()
        await client.send(store, "admin", "GET", "/x", headers={})
    assert findings.counts == {"status": 1}


@pytest.mark.parametrize(
    "shown, size, count",
    [(b"what was uploaded", b"x" * 50, 0), (b"something else", b"x" * 50, 1), (b"what was uploaded", b"x", 1)],
    ids=["right", "other content", "no picture"],
)
async def test_a_picture_that_is_not_what_was_uploaded_is_found(findings, store, shown, size, count):
    store.pictures["/media/a"] = b"what was uploaded"
    shop = Store(store, "", "", "", "")
    async with answering(findings, (200, shown.decode()), (200, size.decode()), content_type="image/png") as client:
        await check_picture(client, shop, "/media/a")
    assert findings.counts == ({"picture": count} if count else {})


async def test_a_picture_that_is_gone_is_found(findings, store):
    store.pictures["/media/a"] = b"what was uploaded"
    async with answering(findings, (404, "{}"), (200, "x" * 50), content_type="image/png") as client:
        await check_picture(client, Store(store, "", "", "", ""), "/media/a")
    assert findings.counts == {"status": 1}


@pytest.mark.parametrize("status, count", [(502, 0), (0, 0), (503, 1), (500, 1)])
async def test_a_fault_excuses_only_its_own_failures(findings, store, status, count):
    async with answering(findings, (status, "{}")) as client:
        client.timeline.open(frozenset((0, 502)), "kill -9 of a web process")
        await client.send(store, "admin", "GET", "/x", headers={})
    assert len(findings) == count
    assert all("kill -9 of a web process" in line for line in findings.lines)


@pytest.mark.parametrize("answers", [[(404, "{}")], [(200, '{"status": "O"}')]], ids=["missing", "older"])
@pytest.mark.parametrize("stale_seconds, count", [(30.0, 0), (0.0, 1)])
async def test_a_read_may_show_what_preceded_a_write_only_where_the_deployment_says_so(
    findings, store, answers, stale_seconds, count
):
    async with answering(findings, *answers, (200, '{"status": "P"}'), stale_seconds=stale_seconds) as client:
        answer = await client.read(store, "admin", "/x", headers={}, is_current=lambda each: each.body["status"] == "P")
        is_right = answer.status == 200 and answer.body["status"] == "P"
        assert is_right is (count == 0)
        assert len(client.tally.stale) == 1 - count
        assert len(findings) == (count if answer.status == 404 else 0)


def test_the_longest_gap_is_between_successful_answers():
    times = [(1.0, True), (2.0, True), (3.0, False), (5.0, True), (7.0, True), (9.0, True)]
    assert span_of(times, 1.5, 8.0) == Span(4, 1, 3.0)
    assert span_of(times, 9.5, 12.0) == Span(0, 0, 2.5)


def test_what_a_run_prints_is_kept_with_the_machine(tmp_path, capsys):
    with report.copied_output() as output:
        print("cluster: no wrong answer")
    assert capsys.readouterr().out == "cluster: no wrong answer\n"
    path = report.keep(tmp_path, "cluster", 10.0, output.getvalue())
    assert path.name.endswith("-cluster.md")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Cluster of 10 minutes\n")
    assert "* machine: " in text
    assert "```text\ncluster: no wrong answer\n```\n" in text


async def test_a_lost_answer_is_found_out_by_repeating(findings, store, monkeypatch):
    monkeypatch.setattr("tests.system.soak.calls.random.uniform", lambda shortest, longest: 0.0)  # the pause before it
    answers = [(0, ""), (409, '{"error": "in_progress"}'), (503, "{}"), (201, '{"id": 1}')]
    async with answering(findings, *answers) as client:
        client.timeline.open()
        answer = await client.settle(store, "apps", "POST", "/x", {}, headers={}, expected=(201,))
    assert (answer.status, answer.body, client.tally.retries) == (201, {"id": 1}, 3)
    assert len(findings) == 0


@pytest.mark.parametrize(
    "code, status", [("UNAVAILABLE", 503), ("NOT_FOUND", 404), ("CONFLICT", 409), ("INTERNAL", 500), ("", 500)]
)
def test_an_error_of_graphql_counts_as_its_status(code, status):
    text = orjson.dumps({"data": None, "errors": [{"message": "x", "extensions": {"code": code}}]}).decode()
    assert read_answer("/graphql", 200, text).status == status
    assert read_answer("/graphql", 200, '{"data": {}}') == Answer(200, {"data": {}}, '{"data": {}}')


def test_a_fault_excuses_what_overlaps_it(monkeypatch):
    now = iter([10.0, 20.0])
    monkeypatch.setattr("tests.system.soak.calls.monotonic", lambda: next(now))
    timeline = Timeline()
    timeline.open()
    assert timeline.covers(50, 51)
    timeline.close()
    assert timeline.covers(5, 10)
    assert timeline.covers(19, 30)
    assert not timeline.covers(20.1, 30)
    assert not timeline.covers(5, 9.9)


# --- Proxy -----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def echo_proxy() -> AsyncIterator[DatabaseProxy]:
    """Yield a proxy to a server that returns what it receives."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(100):
                writer.write(data)
        writer.close()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "socket"
        server = await asyncio.start_unix_server(echo, path)
        proxy = DatabaseProxy(lambda: path)
        await proxy.start()
        try:
            yield proxy
        finally:
            await proxy.stop()
            server.close()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float = 5) -> bytes:
    writer.write(b"hello")
    async with asyncio.timeout(seconds):
        return await reader.read(100)


async def test_the_proxy_forwards_slows_silences_and_cuts():
    async with echo_proxy() as proxy:
        connection = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert await ask(*connection) == b"hello"
        assert proxy.connections == 1

        proxy.delay = 0.1
        clock = asyncio.get_running_loop().time  # of the timers, which counts milliseconds
        began = clock()
        assert await ask(*connection) == b"hello"
        assert round(clock() - began, 3) >= 0.2

        proxy.silence()
        with pytest.raises(TimeoutError):
            await ask(*connection, 0.2)
        proxy.restore()
        async with asyncio.timeout(5):
            assert await connection[0].read(100) == b"hello"

        proxy.cut()
        with contextlib.suppress(ConnectionError):
            assert await ask(*connection) == b""
        refused = await asyncio.open_connection("127.0.0.1", proxy.port)
        with contextlib.suppress(ConnectionError):
            assert await ask(*refused) == b""
        proxy.restore()
        again = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert await ask(*again) == b"hello"
        for _, writer in (connection, refused, again):
            writer.close()


async def test_the_proxy_cuts_connections_while_there_is_no_server():
    proxy = DatabaseProxy(lambda: None)
    await proxy.start()
    connection = await asyncio.open_connection("127.0.0.1", proxy.port)
    with contextlib.suppress(ConnectionError):
        assert await ask(*connection) == b""
    connection[1].close()
    await proxy.stop()


# --- Faults ----------------------------------------------------------------------------------------------------------


async def nothing() -> None:
    """Break nothing."""


@pytest.mark.parametrize(
    "excuses, in_flight, accepted",
    [
        (NOTHING, False, "none"),
        (frozenset((503,)), False, "503"),
        (frozenset((0, 502)), True, "502 or no answer in flight"),
    ],
)
def test_the_report_says_which_failures_a_fault_excuses(excuses, in_flight, accepted):
    assert Fault("a fault", 0, nothing, excuses=excuses, in_flight=in_flight).accepted == accepted


def test_a_cluster_whose_programs_are_missing_is_refused_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(haproxy, "PROGRAM", None)
    monkeypatch.setattr(redis_server, "PROGRAM", None)
    monkeypatch.setattr(sys, "argv", ["soak", "--only", "cluster"])
    assert main() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("HAProxy (haproxy), Redis (redis-server)")


# --- Memory and disk -------------------------------------------------------------------------------------------------


def samples(*levels: float, seconds: float = 300.0) -> list[tuple[float, float]]:
    """Return samples with the given levels, one after another in equal times."""
    count = int(seconds / SAMPLE_SECONDS)
    return [(each * SAMPLE_SECONDS, levels[each * len(levels) // count]) for each in range(count)]


@pytest.mark.parametrize(
    "levels, seconds, is_growing",
    [
        ((60, 100, 100), 600.0, False),  # warm-up
        ((60, 100, 107), 600.0, False),
        ((60, 100, 111), 600.0, True),
        ((60, 70, 77.9), 600.0, False),  # 10 % of little is noise
        ((60, 70, 79), 600.0, True),
        ((60, 100, 80), 600.0, False),
        ((60, 100, 129), 240.0, False),  # caches still fill
        ((60, 100, 131), 240.0, True),
    ],
)
def test_growth_is_the_difference_of_the_middle_and_the_last_third(levels, seconds, is_growing):
    growth = growth_of("web", samples(*levels, seconds=seconds), 0.0, seconds)
    assert growth is not None
    assert growth.is_growing is is_growing


def test_a_process_that_did_not_live_all_the_time_is_not_judged():
    assert growth_of("web", samples(60, 100, 100)[:100], 0.0, 300.0) is None
    assert growth_of("web", samples(60, 100, 100)[100:], 0.0, 300.0) is None
    assert growth_of("web", samples(60, 100, 200)[20:], 0.0, 300.0) is None
    assert growth_of("web", samples(60, 100, 200, seconds=60), 0.0, 60.0) is None


@pytest.mark.parametrize(
    "ended, levels, count",
    [(300.0, (60, 100, 101), 0), (300.0, (60, 100, 150), 1), (300.0, (), 1), (60.0, (), 0)],
    ids=["steady", "growing", "nothing to judge", "too short"],
)
def test_growing_memory_and_a_run_that_judged_none_are_found(findings, ended, levels, count):
    observation = Observation(began=0.0, ended=ended)
    if levels:
        observation.memory["web", 1] = samples(*levels)
    observation.check(findings)
    assert len(findings) == count


def test_a_full_disk_refuses_writes_until_it_is_freed():
    disk = Disk()
    try:
        if disk.reason:
            pytest.skip(disk.reason)
        file = disk.folder / "file"
        file.write_bytes(b"x" * 10_000)
        disk.fill()
        with pytest.raises(OSError, match="No space left"):
            (disk.folder / "more").write_bytes(b"x" * 100_000)
        disk.free()
        (disk.folder / "more").write_bytes(b"x" * 100_000)
        assert file.stat().st_size == 10_000
    finally:
        disk.remove()
    assert not disk.folder.exists()


# --- Shoppers next to hostile callers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seconds, counts, line",
    [
        ([0.1] * 99 + [0.2], {}, "100 answers outside of faults, p99"),
        ([0.1] * 96 + [2.0] * 4, {"shoppers": 1}, "100 answers outside of faults, p99 2.000 s"),
        ([5.0] * 10, {}, "10 answers outside of faults, too few"),
    ],
    ids=["fast", "slow", "few"],
)
def test_shoppers_that_wait_for_a_second_are_a_finding(findings, seconds, counts, line):
    assert line in check_shoppers(Tally(shopper_seconds=seconds), findings)
    assert findings.counts == counts


def test_answers_during_a_fault_are_not_those_of_a_quiet_time():
    timeline = Timeline()
    began = monotonic()
    assert timeline.is_quiet(began, monotonic())
    timeline.open()
    assert not timeline.is_quiet(began, monotonic())
    timeline.close()
    assert not timeline.is_quiet(began, monotonic())
    assert timeline.is_quiet(monotonic(), monotonic())
