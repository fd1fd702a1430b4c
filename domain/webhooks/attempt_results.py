"""Store the results of delivery attempts in batches, and update the health of their endpoints.

Only the holder of a claim can store a result: a delivery whose lease expired belongs to another worker. Endpoints are locked first and in
key order, as by every change of an endpoint and its deliveries. A delivery without a further attempt is a dead letter (state `dead`): it
stays for a redelivery on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson

from domain.stores import find_store
from domain.webhooks.claims import ClaimedDelivery
from domain.webhooks.endpoint_health import GONE as GONE_STATUS
from domain.webhooks.endpoint_health import EndpointHealth
from domain.webhooks.endpoints import FAILING, GONE, NOT_ALLOWED, disable
from kernel.clock import format_rfc3339, now
from kernel.ids import uuid7
from kernel.retries import retry_delay
from kernel.scope import SYSTEM, Scope, active_scope
from models.connection import database
from models.connection.database import CrossStoreConnection

# Redeliveries add further attempts; only the newest are stored.
_MAX_ATTEMPTS_STORED = 50
_MAX_ERROR = 300


class AttemptVerdict(StrEnum):
    """The result of an attempt: delivered, failed, no longer allowed, or released without an attempt."""

    DELIVERED = "delivered"
    FAILED = "failed"
    NOT_ALLOWED = "not allowed"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of one attempt: the response status, or the error; `retry_after` is the delay the receiver requested."""

    delivery: ClaimedDelivery
    verdict: AttemptVerdict
    at: datetime
    status: int | None = None
    error: str = ""
    duration_ms: int = 0
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class _EndpointToDisable:
    """An endpoint to be disabled."""

    store_id: int
    endpoint_id: int
    reason: str


_LOCK = """
    select p.tenant_id, p.id, p.failures, p.failing_since, p.paused_until, p.status, p.url
    from unnest($1::bigint[], $2::bigint[]) as w (tenant_id, id)
    join event_endpoints p on p.tenant_id = w.tenant_id and p.id = w.id
    order by p.tenant_id, p.id for no key update of p
"""
# `$6` is the interval until the next attempt, null for none.
_STORE_RESULTS = f"""
    update event_deliveries d set
        state = s.state, tries = d.tries + s.tried, claim = null, due_at = clock_timestamp() + s.wait,
        last_status = case when s.tried > 0 then s.status else d.last_status end,
        last_error = case when s.tried > 0 or s.error <> '' then s.error else d.last_error end,
        attempts = case when s.tried = 0 then d.attempts
            when jsonb_array_length(d.attempts) >= {_MAX_ATTEMPTS_STORED} then (d.attempts - 0) || s.attempt
            else d.attempts || s.attempt end,
        updated_at = s.at, delivered_at = case when s.state = 'delivered' then s.at else d.delivered_at end
    from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[], $5::int[], $6::interval[], $7::int[], $8::text[], $9::jsonb[],
        $10::timestamptz[])
        as s (tenant_id, id, claim, state, tried, wait, status, error, attempt, at)
    where d.tenant_id = s.tenant_id and d.id = s.id and d.claim = s.claim
    returning d.tenant_id, d.id
"""
_UPDATE_HEALTH = """
    update event_endpoints p set
        failures = h.failures, failing_since = h.failing_since, paused_until = h.paused_until,
        last_success_at = coalesce(h.success_at, p.last_success_at), last_failure_at = coalesce(h.failure_at, p.last_failure_at)
    from unnest($1::bigint[], $2::bigint[], $3::int[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[])
        as h (tenant_id, id, failures, failing_since, paused_until, success_at, failure_at)
    where p.tenant_id = h.tenant_id and p.id = h.id
"""


async def store_results(results: Sequence[AttemptResult]) -> None:
    """Store the results in one transaction; then disable the endpoints that failed for too long, each in its own store."""
    if not results:
        return
    async with database.cross_store_connection() as connection, connection.transaction():
        endpoints = await _lock(connection, results)
        stored = await _store(connection, results)
        owned = [result for result in results if (result.delivery.store_id, result.delivery.id) in stored]
        failing = await _update_health(connection, owned, endpoints)
    for endpoint in failing:
        await _disable(endpoint)


async def _lock(connection: CrossStoreConnection, results: Sequence[AttemptResult]) -> dict[tuple[int, int], Any]:
    keys = sorted({(result.delivery.store_id, result.delivery.endpoint_id) for result in results})
    rows = await connection.fetch(_LOCK, [store for store, _ in keys], [endpoint for _, endpoint in keys])
    return {(row["tenant_id"], row["id"]): row for row in rows}


async def _store(connection: CrossStoreConnection, results: Sequence[AttemptResult]) -> set[tuple[int, int]]:
    rows = [_row(result) for result in results]
    stored = await connection.fetch(_STORE_RESULTS, *(list(column) for column in zip(*rows, strict=True)))
    return {(row["tenant_id"], row["id"]) for row in stored}


def _row(result: AttemptResult) -> tuple[Any, ...]:
    delivery = result.delivery
    was_attempted = result.verdict in (AttemptVerdict.DELIVERED, AttemptVerdict.FAILED)
    state, wait, error = _next(result)
    attempt = {
        "number": delivery.attempts + 1,
        "at": format_rfc3339(result.at),
        "status": result.status,
        "error": error,
        "duration_ms": result.duration_ms,
    }
    return (
        delivery.store_id,
        delivery.id,
        delivery.claim,
        state,
        int(was_attempted),
        wait,
        result.status,
        error,
        orjson.dumps(attempt).decode(),
        result.at,
    )


def _next(result: AttemptResult) -> tuple[str, timedelta | None, str]:
    """Return the next state, the delay until the next attempt, and the error to store."""
    attempts = result.delivery.attempts
    match result.verdict:
        case AttemptVerdict.DELIVERED:
            return "delivered", None, ""
        case AttemptVerdict.NOT_ALLOWED:
            return "cancelled", None, result.error or NOT_ALLOWED
        case AttemptVerdict.RELEASED:
            return "failed" if attempts else "pending", timedelta(0), ""
        case AttemptVerdict.FAILED:
            delay = None if result.status == GONE_STATUS else retry_delay(attempts + 1, result.retry_after)
            return "dead" if delay is None else "failed", delay, result.error[:_MAX_ERROR]


async def _update_health(
    connection: CrossStoreConnection, results: Sequence[AttemptResult], endpoints: dict[tuple[int, int], Any]
) -> list[_EndpointToDisable]:
    """Update each endpoint's health; return those to disable."""
    health: dict[tuple[int, int], EndpointHealth] = {}
    success: dict[tuple[int, int], datetime] = {}
    failure: dict[tuple[int, int], datetime] = {}
    to_disable: dict[tuple[int, int], _EndpointToDisable] = {}
    for result in sorted(results, key=lambda attempt: attempt.at):
        key = (result.delivery.store_id, result.delivery.endpoint_id)
        endpoint = endpoints.get(key)
        if endpoint is None or result.verdict not in (AttemptVerdict.DELIVERED, AttemptVerdict.FAILED):
            continue
        # The endpoint was moved during the attempt: an address no longer set says nothing of the one that is.
        if result.delivery.url != endpoint["url"]:
            continue
        current = health.get(key) or EndpointHealth(
            endpoint["failures"], endpoint["failing_since"], endpoint["paused_until"]
        )
        if result.verdict is AttemptVerdict.DELIVERED:
            health[key], success[key] = current.after_success(), result.at
            continue
        health[key], failure[key] = current.after_failure(result.at, result.retry_after), result.at
        if result.status == GONE_STATUS:
            to_disable[key] = _EndpointToDisable(*key, GONE)
    for key, endpoint_health in health.items():
        # An endpoint with a success in the batch has not been failing all along.
        if key not in to_disable and key in failure and endpoint_health.is_failing_too_long(failure[key]):
            to_disable[key] = _EndpointToDisable(*key, FAILING)
    if health:
        rows = [
            (
                *key,
                endpoint_health.failures,
                endpoint_health.failing_since,
                endpoint_health.paused_until,
                success.get(key),
                failure.get(key),
            )
            for key, endpoint_health in health.items()
        ]
        await connection.execute(_UPDATE_HEALTH, *(list(column) for column in zip(*rows, strict=True)))
    return list(to_disable.values())


async def _disable(endpoint: _EndpointToDisable) -> None:
    """Disable an endpoint in its own store; a crash before this is harmless, because its next delivery fails as well."""
    store = await find_store(endpoint.store_id)
    scope = Scope(store, SYSTEM, request_id=f"delivery-{uuid7()}", now=now())
    with active_scope(scope):
        await disable(scope, endpoint.endpoint_id, endpoint.reason)
