"""`/metrics` of servers and workers, as Prometheus reads it."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import signal
import socket
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bench.servers import free_port, stable_port
from kernel import metrics
from kernel.settings import Settings
from server.http.routes import RoutePolicy
from server.metrics import exposition, metrics_server, own_values
from tests.harness.http import Client
from tests.harness.sample_store import SampleStore
from tests.server.command_line import Vitrine
from tests.server.test_cli_serve import client_of
from tests.server.test_main import running
from tests.server.test_processes import PRODUCTION, children, until


class Page:
    """The samples of a page by name."""

    def __init__(self, text: str) -> None:
        self.samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def sum(self, name: str, **labels: str) -> float:
        return sum(
            sample.value for sample in self.samples if sample.name == name and labels.items() <= sample.labels.items()
        )

    def values(self, name: str, label: str) -> set[str]:
        return {sample.labels[label] for sample in self.samples if sample.name == name}


def own_page() -> Page:
    return Page(exposition(metrics.snapshot(), "")[0].decode())


async def page_of(port: int) -> Page:
    async with aiohttp.ClientSession() as client, client.get(f"http://127.0.0.1:{port}/metrics") as response:
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("text/plain; version=")
        return Page(await response.text())


async def test_requests_are_counted_by_family_route_and_status(sample: SampleStore):
    before = own_page()
    mug = sample.mug
    assert (await sample.get(f"/api/products/{mug.number}")).status == 200
    assert (await sample.get(f"/api/2.0/products/{mug.number}/")).status == 200
    assert (await sample.get("/api/products/999999")).status == 404
    assert (await sample.get(f"/api/v1/admin/products/{mug.id}", auth="bearer")).status == 200
    after = own_page()

    def grown(**labels: str) -> float:
        return after.sum("vitrine_requests_total", **labels) - before.sum("vitrine_requests_total", **labels)

    legacy = {"family": "legacy", "method": "GET", "route": "/api/products/{id}"}
    assert (grown(**legacy, status="200"), grown(**legacy, status="404")) == (2, 1)
    assert grown(family="current", route="/api/v1/admin/products/{id}", status="200") == 1
    assert (
        after.sum("vitrine_request_seconds_count", **legacy) - before.sum("vitrine_request_seconds_count", **legacy)
        == 3
    )
    for part in ("database", "serialization"):
        name = "vitrine_part_seconds_count"
        assert after.sum(name, part=part) > before.sum(name, part=part)
    assert after.sum("vitrine_pool_connections", pool="requests", state="limit") == 10


async def test_paths_and_methods_that_clients_invent_make_no_new_series(sample: SampleStore):
    anonymous: Client = sample.anonymous
    paths = ("/x", "/y/../z", "/api/v1/admin/none-{}", "/graphql/none/{}", "/api/2.0/products/{}/nothing")
    await _send_invented(anonymous, paths, range(1))
    before = _series()
    await _send_invented(anonymous, paths, range(1, 20))
    assert _series() == before


async def _send_invented(client: Client, paths: tuple[str, ...], numbers: range) -> None:
    for number in numbers:
        for path in paths:
            await client.get(path.format(number))
        async with client.http.request(f"BREW{number}", "/api/products", skip_auto_headers=["User-Agent"]) as response:
            await response.read()


def _series() -> int:
    return sum(len(values) for name, values in metrics.snapshot().items() if name.startswith("vitrine_request"))


def test_every_route_has_a_template_as_its_label(http: Any):
    from server.http.routes import POLICIES

    policies: dict[Any, RoutePolicy] = http.app[POLICIES]
    labels = {policy.metric for policy in policies.values()}
    assert all(len(each) == 3 for each in labels)
    # The four bases of the legacy API and trailing slashes are no routes of their own.
    assert (
        len({each for each in labels if each[0] == "legacy"})
        < sum(each.family.name == "legacy" for each in policies.values()) / 4
    )


@pytest.mark.slow
async def test_the_page_of_several_processes_is_that_of_all_of_them(tmp_path, database_url):
    port = stable_port()
    environ = PRODUCTION | {"WEB_CONCURRENCY": "2", "VITRINE_METRICS_PORT": str(port)}
    live = {"family": "plain", "route": "/health/live", "status": "200"}

    async with running(tmp_path, DATABASE_URL=database_url, **environ) as (process, client):

        async def ask(count: int) -> None:
            for repetition in range(count):
                async with client.get("/health/live", headers={"Connection": "close"}) as response:
                    assert response.status == 200, repetition

        await ask(30)
        page = await page_of(port)
        assert page.sum("vitrine_requests_total", **live) == 30
        assert page.values("vitrine_memory_bytes", "process") == {"1", "2", "parent"}
        assert page.sum("vitrine_pool_connections", pool="requests", state="limit") == 20
        async with asyncio.timeout(30):  # a pause is measured now and then
            while (await page_of(port)).sum("vitrine_event_loop_pause_seconds_count") == 0:
                await asyncio.sleep(0.05)

        killed = children(process).pop()
        os.kill(killed, signal.SIGKILL)
        await until(lambda: len(children(process) - {killed}) == 2)
        await ask(10)

        async def is_complete() -> bool:
            page = await page_of(port)
            assert page.sum("vitrine_requests_total", **live) >= 30  # else Prometheus would take it for a restart
            return (
                page.sum("vitrine_requests_total", **live) == 40
                and len(page.values("vitrine_memory_bytes", "process")) == 3
            )

        async with asyncio.timeout(90):
            while not await is_complete():
                await asyncio.sleep(0.05)

        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            await process.communicate()
        assert process.returncode == 0


async def test_a_worker_shows_what_waits_for_it(tmp_path, database_url, sample: SampleStore):
    port = stable_port()
    vitrine = Vitrine(tmp_path, DATABASE_URL=database_url, VITRINE_METRICS_PORT=str(port))
    async with vitrine.running("worker") as worker:
        await worker.wait_for_log("worker started")

        async def has_run() -> bool:
            return (await page_of(port + 1)).sum("vitrine_job_runs_total", result="finished") > 0

        async with asyncio.timeout(30):
            while not await has_run():
                await asyncio.sleep(0.05)
        page = await page_of(port + 1)
        assert page.values("vitrine_waiting", "kind") == {"events", "deliveries", "mails", "media", "avif"}
        assert page.values("vitrine_waiting_oldest_seconds", "kind") == {"events", "deliveries", "mails", "media"}
        assert "expire_orders" in page.values("vitrine_job_failed", "job") or page.values("vitrine_job_failed", "job")
        assert await worker.stop() == 0


async def test_a_taken_port_is_logged_and_the_server_serves(tmp_path, database_url):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        vitrine = Vitrine(
            tmp_path, DATABASE_URL=database_url, PORT="0", VITRINE_METRICS_PORT=str(other.getsockname()[1])
        )
        async with vitrine.running("serve") as server, client_of(server) as client:
            assert "can't be opened" in await server.wait_for_log("no metrics")
            async with client.get("/metrics") as response:
                assert response.status == 404  # nor on the port that everybody reaches
            assert await server.stop() == 0


async def test_the_page_is_also_written_as_openmetrics():
    async with metrics_server(Settings(metrics_port=free_port()), own_values) as port:
        headers = {"Accept": "application/openmetrics-text; version=1.0.0"}
        async with (
            aiohttp.ClientSession() as client,
            client.get(f"http://127.0.0.1:{port}/metrics", headers=headers) as response,
        ):
            assert response.headers["Content-Type"].startswith("application/openmetrics-text")
            assert (await response.text()).endswith("# EOF\n")


# --- documentation ---------------------------------------------------------------------------------------------------

DOCS = Path(__file__).resolve().parents[2] / "docs"


def declared_names() -> dict[str, metrics.Instrument]:
    """Return the instruments of servers and workers by the names of their series."""
    for module in (
        "server.main",
        "server.workers.backlog_metrics",
        "server.workers.webhooks",
        "server.workers.jobs",
        "server.workers.media",
        "server.workers.avif",
        "domain.app_calls.calling",
    ):
        importlib.import_module(module)
    names: dict[str, metrics.Instrument] = {}
    for name, instrument in metrics.instruments().items():
        suffixes = ("_bucket", "_sum", "_count") if isinstance(instrument, metrics.Histogram) else ("",)
        names |= {f"{name}{suffix}": instrument for suffix in suffixes}
    return names


def queries() -> list[str]:
    """Return the queries of the dashboard for the metrics of processes; those of stores are rows of the database."""
    dashboard = json.loads((DOCS / "grafana-dashboard.json").read_text(encoding="utf-8"))
    targets = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    return [target for target in targets if "vitrine_store_" not in target]


def test_the_dashboard_queries_metrics_and_labels_that_exist():
    names = declared_names()
    for query in queries():
        used = re.findall(r"\b(vitrine_\w+)", query)
        assert used, query
        assert set(used) <= names.keys(), query
        labels = {label for name in used for label in names[name].labels} | {"instance", "le"}
        selected = re.findall(r"(\w+)=~?\"", query)
        grouped = [label for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(", ")]
        assert {*selected, *grouped} <= labels, query


def test_the_dashboard_shows_every_metric():
    shown = {name for query in queries() for name in re.findall(r"\b(vitrine_\w+)", query)}
    instruments = {instrument.name for name, instrument in declared_names().items() if name in shown}
    assert set(metrics.instruments()) - instruments == set()


def test_every_metric_is_documented_with_its_labels():
    text = (DOCS / "metrics.md").read_text(encoding="utf-8")
    declared_names()
    for name, instrument in metrics.instruments().items():
        kind = "counter" if name.endswith("_total") else type(instrument).__name__.lower()
        line = f"| `{name}` | {kind} | {', '.join(instrument.labels)} | {instrument.help} |"
        assert line in text, (name, instrument, f"write this line into docs/metrics.md:\n{line}")
