"""What each store uses: counted by process, stored by the hour, shown by the command and at the endpoint, and what counting costs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import aiohttp
import asyncpg
import orjson
import pytest

from bench.servers import free_port
from domain import hosts, stores
from domain.mails import sending
from domain.mails.outbox import Recipient, queue_mail
from domain.mails.texts import MailType
from domain.store_usage import add_usage, measure_stored, sum_usage
from kernel.clock import now
from kernel.scope import active_scope
from kernel.settings import Settings
from kernel.store_usage import MEASURES, Measured, Usage, take_usage, usage_of
from kernel.work_queues import run_in_thread
from models.connection import database
from resolvers import platform
from server import usage
from server.store_metrics import store_exposition, store_metrics_server
from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.server.command_line import SECRET, Vitrine
from tests.server.test_metrics import DOCS

Ask: TypeAlias = Callable[..., Awaitable[tuple[int, Any]]]


@pytest.fixture(autouse=True)
def nothing_counted() -> Iterator[None]:
    take_usage()
    yield
    take_usage()


async def used(sample: SampleStore, sort: str = "requests") -> dict[str, Any]:
    rows = await sum_usage(now() - timedelta(hours=2), sort=sort, top=10_000)
    return next(row for row in rows if row["public_id"] == sample.store.public_id)


async def test_requests_count_for_their_own_store(sample: SampleStore, new_sample: NewSampleStore):
    other = await new_sample()
    take_usage()
    for number in range(3):
        assert (await sample.get("/api/products")).status == 200, number
    await other.get("/api/products")
    assert (usage_of(sample.store.id).requests, usage_of(other.store.id).requests) == (3, 1)
    counts = usage_of(sample.store.id)
    assert counts.statements >= 1
    assert counts.rows_read >= 1
    assert 0 < counts.cpu_seconds < 5
    assert 0 < counts.statement_seconds < 5
    await usage.store_usage()
    await sample.get("/api/products")
    await usage.store_usage()
    row = await used(sample)
    assert (row["requests"], (await used(other))["requests"]) == (4, 1)
    assert row["stored_rows"] is None


async def test_all_stores_are_stored_in_one_statement(sample: SampleStore, new_sample: NewSampleStore):
    others = [await new_sample() for _ in range(3)]
    take_usage()
    counted = {}
    for each in (sample, *others):
        counted[each.store.id] = Usage()
        counted[each.store.id].requests = each.store.id
    counted[2**40] = Usage()  # a store that was deleted
    counted[2**40].requests = 1
    with database.count_statements() as statements:
        await add_usage(counted)
    assert statements.count == 1, statements.statements
    for each in (sample, *others):
        assert (await used(each))["requests"] == each.store.id, each.store.id


async def test_counts_are_kept_while_the_database_fails(sample: SampleStore, monkeypatch: pytest.MonkeyPatch):
    async def fail(_: object) -> None:
        raise OSError("no connection")

    usage_of(sample.store.id).mails = 2
    with monkeypatch.context() as patch:
        patch.setattr(usage, "add_usage", fail)
        await usage.store_usage()
    usage_of(sample.store.id).mails += 1
    await usage.store_usage()
    assert (await used(sample))["mails"] == 3


async def test_a_store_that_only_hourly_jobs_ask_gets_no_row(sample: SampleStore):
    counts = usage_of(sample.store.id)
    counts.statements, counts.statement_seconds = 2, 0.01
    await usage.store_usage()
    assert await sample.value("select count(*) from store_usage") == 0


async def test_mails_and_work_in_threads_count(sample: SampleStore):
    async def transport(_: sending.MailMessage) -> None:
        return None

    async with database.transaction(sample.scope):
        await queue_mail(sample.scope, MailType.PASSWORD_RESET, Recipient(None, "ana@example.com", "Ana"), "a" * 20)
    with active_scope(sample.scope):
        sent = await sending.send_due(sample.scope, transport)
        await run_in_thread(sum, range(3_000_000))
        await asyncio.sleep(0.01)
    assert sent == 1
    assert usage_of(sample.store.id).mails == sent
    assert usage_of(sample.store.id).cpu_seconds > 0.005


async def test_rows_and_bytes_are_measured_without_reading_the_rows(sample: SampleStore, database_url: str):
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute("analyze products")
    finally:
        await connection.close()
    products = await sample.value("select count(*) from products")
    with database.count_statements() as statements:
        await measure_stored(sample.scope)
    assert statements.count == 5, statements.statements
    row = await used(sample, "stored_rows")
    assert row["stored_rows"] >= products / 2
    assert row["table_bytes"] > 0
    assert row["file_bytes"] == 0
    assert row["measured_at"] is not None


async def test_rows_of_the_usage_are_deleted_after_ninety_days(sample: SampleStore):
    for days in (89, 91):
        await sample.execute(
            "insert into store_usage (tenant_id, hour) values ($1, $2)",
            sample.store.id,
            now() - timedelta(days=days),
        )
    await measure_stored(sample.scope)
    assert await sample.value("select count(*) from store_usage") == 2  # the one of 89 days, and this hour's


async def test_the_endpoint_names_stores(sample: SampleStore):
    usage_of(sample.store.id).requests = 7
    usage_of(sample.store.id).cpu_seconds = 1_000_000.0
    await usage.store_usage()
    text = (await store_exposition("text/plain"))[0].decode()
    label = f'store="{sample.store.public_id}"'
    line = next(line for line in text.splitlines() if line.startswith("vitrine_store_requests_total") and label in line)
    assert f'name="{sample.store.name}"' in line
    assert line.endswith(" 7.0")


@pytest.mark.usefixtures("database")
async def test_the_dashboard_shows_what_the_endpoint_serves():
    served = (await store_exposition("text/plain"))[0].decode()
    dashboard = (DOCS / "grafana-dashboard.json").read_text(encoding="utf-8")
    shown = set(re.findall(r"vitrine_store_\w+", dashboard))
    assert shown
    assert shown <= set(re.findall(r"^# TYPE (\w+)", served, re.MULTILINE)), served


async def test_the_time_between_the_steps_of_a_request_is_not_its_own():
    async def work() -> str:
        await asyncio.sleep(0.2)
        began = perf_counter()
        while perf_counter() - began < 0.02:
            pass
        return "done"

    measured = Measured(work())
    assert await measured == "done"
    assert 0.02 <= measured.seconds < 0.15


async def test_a_cancelled_request_ends_and_is_counted():
    started = asyncio.Event()

    async def work() -> None:
        try:
            started.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("closed") from None

    async def run() -> None:
        await Measured(work())

    task = asyncio.create_task(run())
    await started.wait()
    task.cancel()
    with pytest.raises(ValueError, match="closed"):
        await task


async def test_the_command_shows_the_stores_that_use_most(
    sample: SampleStore, other_sample: SampleStore, tmp_path: Path, database_url: str
):
    for number, each in enumerate((sample, other_sample), 1):
        counts = usage_of(each.store.id)
        counts.requests, counts.mails = 10**9 + number, 10**9 - number
    await usage.store_usage()
    vitrine = Vitrine(tmp_path, DATABASE_URL=database_url, VITRINE_SECRET_KEY=SECRET)
    shown = vitrine("tenant", "stats", "--sort", "requests", "--top", "2", "--json").json["stores"]
    assert [store["tenant_id"] for store in shown] == [str(other_sample.store.public_id), str(sample.store.public_id)]
    assert [store["requests"] for store in shown] == [10**9 + 2, 10**9 + 1]
    assert set(MEASURES) <= set(shown[0])
    top = vitrine("tenant", "stats", "--sort", "mails", "--top", "1").out
    assert (str(sample.store.public_id) in top, str(other_sample.store.public_id) in top) == (True, False)
    (hour,) = vitrine("tenant", "stats", "--store", str(sample.store.public_id), "--json").json["hours"]
    assert (hour["requests"], hour["stored_rows"]) == (10**9 + 1, None)
    assert str(10**9 - 1) in vitrine("tenant", "stats", "--store", str(sample.store.public_id)).out
    for wrong in (("--sort", "size"), ("--top", "0"), ("--hours", "5000")):
        assert vitrine("tenant", "stats", *wrong).error_line.startswith(f"{wrong[0]} is "), wrong


@pytest.fixture
async def ask(database) -> AsyncIterator[Ask]:
    """Send a body to `/graphql` of the port; return the status and the answer."""
    async with (
        store_metrics_server(Settings(store_metrics_port=free_port())) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client,
    ):

        async def send(body: object, content_type: str = "application/json") -> tuple[int, Any]:
            data = body if isinstance(body, bytes) else orjson.dumps(body)
            async with client.post("/graphql", data=data, headers={"Content-Type": content_type}) as response:
                return response.status, await response.json()

        yield send


async def test_graphql_returns_what_the_stores_use(sample: SampleStore, other_sample: SampleStore, ask: Ask):
    for number, each in enumerate((sample, other_sample), 1):
        usage_of(each.store.id).requests = 10**12 + number
        usage_of(each.store.id).cpu_seconds = 0.5
    await usage.store_usage()
    document = """query ($top: Int!) { stores(top: $top, sort: requests) {
        store_id name requests cpu_seconds mails stored_rows measured_at
    } }"""
    status, answer = await ask({"query": document, "variables": {"top": 2}})
    assert status == 200, answer
    first, second = answer["data"]["stores"]
    assert first == {
        "store_id": str(other_sample.store.public_id), "name": other_sample.store.name, "requests": 10**12 + 2, "cpu_seconds": 0.5,
        "mails": 0, "stored_rows": None, "measured_at": None,
    }  # fmt: skip
    assert second["store_id"] == str(sample.store.public_id)


async def test_graphql_returns_one_store_with_its_limits_and_hours(sample: SampleStore, ask: Ask):
    usage_of(sample.store.id).requests = 3
    await usage.store_usage()
    await measure_stored(sample.scope)
    scope = replace(sample.scope, store=await stores.set_limits(sample.scope, {"products": 10**6}))
    assert scope.store.limits == {"products": 10**6}
    document = """query ($id: ID!) { store(id: $id) {
        name status read_only hosts limits { name limit used } hours { hour requests stored_rows }
    } }"""
    variables = {"id": str(sample.store.public_id)}
    status, answer = await ask({"query": document, "variables": variables})
    with database.count_statements() as statements:
        assert await platform.execute(document, variables, None) == answer
    assert statements.count == 4, statements.statements
    store = answer["data"]["store"]
    assert (status, store["name"], store["status"], store["read_only"]) == (200, sample.store.name, "A", False)
    assert store["hosts"] == [each["host"] for each in await hosts.find_hosts(sample.scope)]
    (limit,) = store["limits"]
    assert limit == {
        "name": "products",
        "limit": 10**6,
        "used": await sample.value("select count(*) from products where deleted_at is null"),
    }
    (hour,) = store["hours"]
    assert hour["requests"] == 3
    assert hour["stored_rows"] > 0


@pytest.mark.parametrize(
    "body, content_type, status, message",
    [
        ({"query": "{ stores { name } }"}, "text/plain", 415, "the content type must be application/json"),
        (b"{", "application/json", 400, "invalid request body: "),
        ([], "application/json", 400, "invalid request body: "),
        ({}, "application/json", 400, "query or documentId is required"),
        ({"documentId": "a"}, "application/json", 400, "query is required"),
        ({"query": "{ stores { name } }", "variables": []}, "application/json", 400, "variables must be an object"),
        ({"query": "{ orders { id } }"}, "application/json", 200, "Cannot query field 'orders'"),
        ({"query": "{ stores(top: 1001) { name } }"}, "application/json", 200, "top must be from 1 to 1000"),
        ({"query": "{ stores(hours: 2161) { name } }"}, "application/json", 200, "hours must be from 1 to 2160"),
        ({"query": "{ stores(sort: size) { name } }"}, "application/json", 200, "Value 'size' does not exist"),
        ({"query": '{ store(id: "nobody") { name } }'}, "application/json", 200, "tenant not found"),
        ({"query": "{" + " ".join(f"a{n}: __typename" for n in range(30)) + "}"}, "application/json", 200, "30 aliases"),
        ({"query": "mutation { store_update { name } }"}, "application/json", 200, "mutation"),
    ],
)  # fmt: skip
async def test_graphql_refuses_bad_requests(body: object, content_type: str, status: int, message: str, ask: Ask):
    got, answer = await ask(body, content_type)
    assert got == status, answer
    assert message in answer["errors"][0]["message"], answer
    assert answer.get("data") is None
