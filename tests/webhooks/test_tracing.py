"""One trace leads from a request through its operation and statements to the delivery of its event (docs/tracing.md)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from kernel import tracing
from kernel.settings import SettingError, Settings
from server import tracing as server_tracing
from server.tracing import OpenTelemetry, tracing_to_collector
from tests.harness import scopes
from tests.harness.http import Client, ServeApplication
from tests.harness.sample_store import SampleStore
from tests.webhooks.conftest import RunWorker
from tests.webhooks.kit import subscribe
from tests.webhooks.receiver import Receiver, answers, wait_until

ROOT = Path(__file__).resolve().parents[2]
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
INCOMING = f"00-{TRACE}-{PARENT}-01"


class Spans:
    """The spans that ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()

    def all(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def one(self, name: str, trace: str | None = None) -> ReadableSpan:
        """Return the only span with the name, in a trace if one is passed: a worker also retries events of other tests."""
        [span] = [span for span in self.all() if span.name == name and trace in (None, f"{span.context.trace_id:032x}")]
        return span

    def path(self, span: ReadableSpan) -> list[str]:
        """Return the names of the span and of those above it."""
        by_id = {each.context.span_id: each for each in self.all()}
        names = [span.name]
        while span.parent is not None and span.parent.span_id in by_id:
            span = by_id[span.parent.span_id]
            names.append(span.name)
        return names


@pytest.fixture
def spans() -> Iterator[Spans]:
    """Trace into memory."""
    result, provider = Spans(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(result.exporter))
    tracing.configure(OpenTelemetry(provider))
    yield result
    tracing.configure(None)


@pytest.fixture
async def traced(spans: Spans, app: Client, serve_application: ServeApplication) -> Client:
    """Return the app as a client of an application that traces."""
    return replace(app, http=await serve_application(Settings(ip_rate=0, failed_auth_rate=0)))


async def create_product(client: Client, **headers: str) -> None:
    body = {"name": "Caneca", "price_cents": 1_000}
    answer = await client.post("/api/admin/products", body, headers=headers)
    assert answer.status == 201, answer


async def test_a_delivery_belongs_to_the_trace_of_the_request(
    spans: Spans, traced: Client, receiver: Receiver, run_worker: RunWorker
):
    await subscribe(traced, receiver.url(), "product.created")
    spans.exporter.clear()
    await create_product(traced, traceparent=INCOMING)
    request = spans.one("POST /api/admin/products")
    assert request.parent is not None
    assert (f"{request.context.trace_id:032x}", f"{request.parent.span_id:016x}") == (TRACE, PARENT)
    assert {**(request.attributes or {})} == {
        "http.request.method": "POST",
        "http.route": "/api/admin/products",
        "http.response.status_code": 201,
        "vitrine.family": "apps",
        "vitrine.request_id": (request.attributes or {})["vitrine.request_id"],
        "vitrine.store": str(traced.store.public_id),
    }
    # A compiled operation that doesn't fit the variables has a span as well.
    operation = next(span for span in spans.all() if span.name == "GraphQL mutation")
    assert spans.path(operation) == ["GraphQL mutation", "POST /api/admin/products"]
    emitted = next(span for span in spans.all() if "outbox_events" in str((span.attributes or {}).get("db.query.text")))
    assert spans.path(emitted) == [emitted.name, "GraphQL mutation", "POST /api/admin/products"]
    assert "Caneca" not in repr([span.attributes for span in spans.all()])

    async with run_worker():
        await wait_until(lambda: len(receiver.received) == 1)
    delivery = spans.one("deliver product.created", TRACE)
    assert spans.path(delivery) == ["deliver product.created", "GraphQL mutation", "POST /api/admin/products"]
    assert receiver.received[0].headers["traceparent"] == f"00-{TRACE}-{delivery.context.span_id:016x}-01"


async def test_a_worker_without_tracing_passes_the_trace_on(
    spans: Spans, traced: Client, receiver: Receiver, run_worker: RunWorker
):
    await subscribe(traced, receiver.url(), "product.created")
    await create_product(traced, traceparent=INCOMING)
    operation = next(span for span in reversed(spans.all()) if span.name == "GraphQL mutation")
    tracing.configure(None)
    async with run_worker():
        await wait_until(lambda: len(receiver.received) == 1)
    assert receiver.received[0].headers["traceparent"] == f"00-{TRACE}-{operation.context.span_id:016x}-01"


async def test_a_failed_attempt_and_a_failed_request_are_marked(
    spans: Spans, traced: Client, receiver: Receiver, run_worker: RunWorker
):
    receiver.answer = answers(500)
    await subscribe(traced, receiver.url(), "product.created")
    await create_product(traced, traceparent=INCOMING)
    async with run_worker():
        await wait_until(lambda: len(receiver.received) == 1)
    attempt = spans.one("deliver product.created", TRACE)
    assert (attempt.status.status_code, (attempt.attributes or {})["error.type"]) == (StatusCode.ERROR, "500")
    assert (await traced.put("/api/admin/products/none", {"name": "x"})).status == 404
    assert spans.one("PUT /api/admin/products/{id}").status.status_code is StatusCode.UNSET


async def test_an_order_of_the_legacy_layer_stores_its_trace(
    spans: Spans, sample: SampleStore, serve_application: ServeApplication
):
    http = await serve_application(Settings(ip_rate=0, failed_auth_rate=0))
    client = replace(await sample.client(sample.owner), http=http)
    body = {"user_id": sample.bia.number, "payment_id": sample.pix.number, "shipping_ids": [sample.sedex.number],
            "products": {str(sample.mug.number): {"amount": 1}}}  # fmt: skip
    answer = await client.post(
        "/api/orders", body, headers={"Authorization": sample.owner.basic, "traceparent": INCOMING}
    )
    assert answer.status == 201, answer
    stored = await sample.value(
        "SELECT traceparent FROM outbox_events WHERE name = 'order.created' ORDER BY id DESC LIMIT 1"
    )
    assert stored.startswith(f"00-{TRACE}-")


async def test_without_tracing_events_have_no_trace_and_deliveries_no_header(
    app: Client, receiver: Receiver, run_worker: RunWorker
):
    await subscribe(app, receiver.url(), "product.created")
    await create_product(app, traceparent=INCOMING)
    async with run_worker():
        await wait_until(lambda: len(receiver.received) == 1)
    assert "traceparent" not in receiver.received[0].headers
    assert await scopes.value(app.store, "select count(traceparent) from outbox_events") == 0


def test_nothing_of_opentelemetry_is_imported_without_its_setting():
    program = (
        "import sys, server.main, server.commands.serve, server.workers.webhooks; print('opentelemetry' in sys.modules)"
    )
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "False\n"


async def test_a_missing_package_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(SettingError, match=r"^OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed"):
        async with tracing_to_collector(Settings(otlp_endpoint="http://127.0.0.1:4318"), "web"):
            pass


async def test_a_collector_that_does_not_answer_delays_the_end_only_briefly(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server_tracing, "_FLUSH_SECONDS", 0.1)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    # The exporter alone would try again for more than six seconds.
    async with asyncio.timeout(5), tracing_to_collector(Settings(otlp_endpoint="http://127.0.0.1:1"), "web"):
        assert tracing.active is not None
        with tracing.active.request("GET /", {}) as span:
            span.set("http.route", "/")
    assert tracing.active is None
