"""Trace with OpenTelemetry when OTEL_EXPORTER_OTLP_ENDPOINT is set (docs/tracing.md); its packages are imported only then.

The SDK reads the other variables `OTEL_*` itself: headers, sampler, limits, resource attributes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from kernel import tracing
from kernel.settings import SettingError, Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span as OTelSpan

T = TypeVar("T")

_HEADER = "traceparent"
# What waits for the collector at the end is abandoned after this.
_FLUSH_SECONDS = 3.0
_MAX_STATEMENT = 4_096


@asynccontextmanager
async def tracing_to_collector(settings: Settings, service: str) -> AsyncIterator[None]:
    """Trace this process meanwhile, as the service `vitrine-<service>`; nothing without a collector's address.

    Raises SettingError when it is set and the packages are not installed.
    """
    if settings.otlp_endpoint is None:
        yield
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise SettingError(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed:"
            " pip install --require-hashes --requirement requirements-tracing.lock"
        ) from error
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = settings.otlp_endpoint  # as checked, for the exporter
    name = os.environ.get("OTEL_SERVICE_NAME") or f"vitrine-{service}"
    provider = TracerProvider(resource=Resource.create({"service.name": name}), shutdown_on_exit=False)
    exporter = OTLPSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracing.configure(OpenTelemetry(provider))
    try:
        yield
    finally:
        tracing.configure(None)
        # `force_flush` ignores its time limit (open-telemetry/opentelemetry-python#4568), and tries for up to ten seconds.
        flush = Thread(target=provider.force_flush, daemon=True)
        flush.start()
        await asyncio.to_thread(flush.join, _FLUSH_SECONDS)
        exporter.shutdown()  # type: ignore[no-untyped-call]


class _Span:
    """A span, and what the product sets in it."""

    __slots__ = ("_span",)

    def __init__(self, span: OTelSpan) -> None:
        self._span = span

    def set(self, name: str, value: str | int) -> None:
        self._span.set_attribute(name, value)

    def fail(self, reason: str) -> None:
        from opentelemetry.trace import StatusCode

        self._span.set_attribute("error.type", reason)
        self._span.set_status(StatusCode.ERROR)

    def end(self) -> None:
        self._span.end()


class OpenTelemetry:
    """`kernel.tracing.Tracing` with the SDK. Exceptions are not recorded: their messages may quote data."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._trace = trace
        self._tracer = provider.get_tracer("vitrine")
        self._propagator = TraceContextTextMapPropagator()

    def request(self, name: str, headers: Mapping[str, str]) -> AbstractContextManager[tracing.Span]:
        """Begin the span of a request."""
        return self._current(name, self._trace.SpanKind.SERVER, headers.get(_HEADER), {})

    async def operation(self, kind: str, name: str, run: Awaitable[T]) -> T:
        """Await an operation in a span."""
        attributes = {"graphql.operation.type": kind, "graphql.operation.name": name}
        with self._current(f"GraphQL {kind}", self._trace.SpanKind.INTERNAL, None, attributes):
            return await run

    def statement(self, sql: str) -> tracing.Span:
        """Begin the span of a statement."""
        text = sql.strip()
        keyword = text.split(None, 1)[0].upper() if text else "?"
        attributes = {"db.system.name": "postgresql", "db.query.text": text[:_MAX_STATEMENT]}
        return _Span(self._tracer.start_span(keyword, kind=self._trace.SpanKind.CLIENT, attributes=attributes))

    def delivery(
        self, event: str, traceparent: str | None, attributes: Mapping[str, Any]
    ) -> AbstractContextManager[tracing.Span]:
        """Begin the span of an attempt."""
        return self._current(f"deliver {event}", self._trace.SpanKind.PRODUCER, traceparent, attributes)

    def traceparent(self) -> str | None:
        """Return the current span for another process."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier.get(_HEADER)

    @contextmanager
    def _current(
        self, name: str, kind: Any, parent: str | None, attributes: Mapping[str, Any]
    ) -> Iterator[tracing.Span]:
        context = self._propagator.extract({_HEADER: parent}) if parent else None
        with self._tracer.start_as_current_span(
            name, context, kind, attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            result = _Span(span)
            try:
                yield result
            except BaseException as error:
                result.fail(type(error).__name__)
                raise
