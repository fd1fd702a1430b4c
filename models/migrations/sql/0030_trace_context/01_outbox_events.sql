-- The trace context (W3C `traceparent`) of the request that emitted the event, for the span of its delivery; null without tracing.
ALTER TABLE outbox_events ADD COLUMN traceparent text;
