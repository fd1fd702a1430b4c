"""Write down what came of deliveries, many at once, and how their endpoints fare by it.

Only who still holds a delivery settles it: one whose lease ended belongs to somebody else. Endpoints are locked first and in the order
of their keys, as everybody does who changes an endpoint and its deliveries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson

from domain.stores import find_store
from domain.webhooks.claims import Claimed
from domain.webhooks.endpoints import FAILING, GONE, NOT_ALLOWED, disable
from domain.webhooks.schedule import GONE as GONE_STATUS
from domain.webhooks.schedule import EndpointHealth, pause_after
from kernel.clock import now, rfc3339
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, entered
from models import database
from models.database import AcrossStores

# A delivery that is sent again by hand has further attempts; the newest are kept.
_ATTEMPTS_KEPT = 50
_MAX_ERROR = 300


class AttemptVerdict(StrEnum):
    """Say what came of a try: taken, refused or unanswered, not allowed any more, or not tried at all."""

    TAKEN = "taken"
    FAILED = "failed"
    NOT_ALLOWED = "not allowed"
    GIVEN_BACK = "given back"


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """Tell what came of one try: the answer's status, or the error; `asked` is the pause that the receiver wants."""

    claimed: Claimed
    verdict: AttemptVerdict
    at: datetime
    status: int | None = None
    error: str = ""
    milliseconds: int = 0
    asked: timedelta | None = None


@dataclass(frozen=True, slots=True)
class _Ended:
    """An endpoint that is to be disabled."""

    store: int
    endpoint: int
    reason: str


_LOCK = """
    select p.tenant_id, p.id, p.failures, p.failing_since, p.paused_until, p.status
    from unnest($1::bigint[], $2::bigint[]) as w (tenant_id, id)
    join event_endpoints p on p.tenant_id = w.tenant_id and p.id = w.id
    order by p.tenant_id, p.id for no key update of p
"""
# `$6` is the seconds until the next try, null for none.
_SETTLE = f"""
    update event_deliveries d set
        state = s.state, tries = d.tries + s.tried, claim = null, due_at = clock_timestamp() + s.wait,
        last_status = case when s.tried > 0 then s.status else d.last_status end,
        last_error = case when s.tried > 0 or s.error <> '' then s.error else d.last_error end,
        attempts = case when s.tried = 0 then d.attempts
            when jsonb_array_length(d.attempts) >= {_ATTEMPTS_KEPT} then (d.attempts - 0) || s.attempt
            else d.attempts || s.attempt end,
        updated_at = s.at, delivered_at = case when s.state = 'delivered' then s.at else d.delivered_at end
    from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[], $5::int[], $6::interval[], $7::int[], $8::text[], $9::jsonb[],
        $10::timestamptz[])
        as s (tenant_id, id, claim, state, tried, wait, status, error, attempt, at)
    where d.tenant_id = s.tenant_id and d.id = s.id and d.claim = s.claim
    returning d.tenant_id, d.id
"""
_FARE = """
    update event_endpoints p set
        failures = h.failures, failing_since = h.failing_since, paused_until = h.paused_until,
        last_success_at = coalesce(h.success_at, p.last_success_at), last_failure_at = coalesce(h.failure_at, p.last_failure_at)
    from unnest($1::bigint[], $2::bigint[], $3::int[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[])
        as h (tenant_id, id, failures, failing_since, paused_until, success_at, failure_at)
    where p.tenant_id = h.tenant_id and p.id = h.id
"""


async def settle(outcomes: Sequence[AttemptResult]) -> None:
    """Write the outcomes down, in one transaction; then disable the endpoints whose time is over, each in its own store."""
    if not outcomes:
        return
    async with database.across_stores() as everywhere, everywhere.transaction():
        before = await _lock(everywhere, outcomes)
        settled = await _settle(everywhere, outcomes)
        ours = [each for each in outcomes if (each.claimed.store_number, each.claimed.number) in settled]
        ended = await _fare(everywhere, ours, before)
    for each in ended:
        await _disable(each)


async def _lock(everywhere: AcrossStores, outcomes: Sequence[AttemptResult]) -> dict[tuple[int, int], Any]:
    keys = sorted({(each.claimed.store_number, each.claimed.endpoint) for each in outcomes})
    found = await everywhere.rows(_LOCK, [store for store, _ in keys], [number for _, number in keys])
    return {(record["tenant_id"], record["id"]): record for record in found}


async def _settle(everywhere: AcrossStores, outcomes: Sequence[AttemptResult]) -> set[tuple[int, int]]:
    rows = [_row(each) for each in outcomes]
    found = await everywhere.rows(_SETTLE, *(list(column) for column in zip(*rows, strict=True)))
    return {(record["tenant_id"], record["id"]) for record in found}


def _row(outcome: AttemptResult) -> tuple[Any, ...]:
    claimed = outcome.claimed
    tried = outcome.verdict in (AttemptVerdict.TAKEN, AttemptVerdict.FAILED)
    state, wait, error = _next(outcome)
    attempt = {
        "number": claimed.tries + 1,
        "at": rfc3339(outcome.at),
        "status": outcome.status,
        "error": error,
        "duration_ms": outcome.milliseconds,
    }
    return (
        claimed.store_number,
        claimed.number,
        claimed.claim,
        state,
        int(tried),
        wait,
        outcome.status,
        error,
        orjson.dumps(attempt).decode(),
        outcome.at,
    )


def _next(outcome: AttemptResult) -> tuple[str, timedelta | None, str]:
    """Give the state that follows, the pause until the next try, and what is told of the error."""
    tries = outcome.claimed.tries
    match outcome.verdict:
        case AttemptVerdict.TAKEN:
            return "delivered", None, ""
        case AttemptVerdict.NOT_ALLOWED:
            return "cancelled", None, outcome.error or NOT_ALLOWED
        case AttemptVerdict.GIVEN_BACK:
            return "failed" if tries else "pending", timedelta(0), ""
        case AttemptVerdict.FAILED:
            pause = None if outcome.status == GONE_STATUS else pause_after(tries + 1, outcome.asked)
            return "dead" if pause is None else "failed", pause, outcome.error[:_MAX_ERROR]


async def _fare(
    everywhere: AcrossStores, outcomes: Sequence[AttemptResult], before: dict[tuple[int, int], Any]
) -> list[_Ended]:
    """Keep how each endpoint fares; say which are to be disabled."""
    health: dict[tuple[int, int], EndpointHealth] = {}
    success: dict[tuple[int, int], datetime] = {}
    failure: dict[tuple[int, int], datetime] = {}
    ended: dict[tuple[int, int], _Ended] = {}
    for outcome in sorted(outcomes, key=lambda each: each.at):
        key = (outcome.claimed.store_number, outcome.claimed.endpoint)
        was = before.get(key)
        if was is None or outcome.verdict not in (AttemptVerdict.TAKEN, AttemptVerdict.FAILED):
            continue
        known = health.get(key) or EndpointHealth(was["failures"], was["failing_since"], was["paused_until"])
        if outcome.verdict is AttemptVerdict.TAKEN:
            health[key], success[key] = known.after_success(), outcome.at
            continue
        health[key], failure[key] = known.after_failure(outcome.at, outcome.asked), outcome.at
        if outcome.status == GONE_STATUS:
            ended[key] = _Ended(*key, GONE)
    for key, found in health.items():
        # After a success among them it has not only failed.
        if key not in ended and key in failure and found.is_given_up(failure[key]):
            ended[key] = _Ended(*key, FAILING)
    if health:
        rows = [
            (
                *key,
                found.failures,
                found.failing_since,
                found.paused_until,
                success.get(key),
                failure.get(key),
            )
            for key, found in health.items()
        ]
        await everywhere.execute(_FARE, *(list(column) for column in zip(*rows, strict=True)))
    return list(ended.values())


async def _disable(ended: _Ended) -> None:
    """Disable an endpoint in its own store; dying before this is no loss, for its next delivery fails as well."""
    store = await find_store(ended.store)
    scope = Scope(store, SYSTEM, request_id=f"delivery-{uuid7()}", now=now())
    with entered(scope):
        await disable(scope, ended.endpoint, ended.reason)
