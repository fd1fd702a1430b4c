"""Do in time what time asks for: periodic jobs over all stores, shared by however many workers there are.

A job has one row in `job_runs`. Who claims it moves `due_at` past a lease, so that nobody else finds it due, and goes on moving
it while it works; who dies stops doing so, and then the job is due again. `started_at` tells one claim from the next. The
database's clock decides, for machines disagree about the time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from auth import upkeep
from auth.tenancy import store_from
from domain import idempotency
from domain.carts import events as carts_telling
from domain.carts import upkeep as carts_upkeep
from domain.gateway import notifications
from domain.mails import sending
from domain.orders import expiry
from kernel import logging
from kernel.clock import now
from kernel.errors import Unavailable
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, Store, entered
from models import database

LEASE = timedelta(minutes=2)
RENEW_EVERY = timedelta(seconds=30)
TRY_AGAIN_AFTER = timedelta(seconds=30)

# What was delivered is kept this long; what was not has by then been tried for as long as anything is (decisions section 7).
KEEP_EVENTS = timedelta(days=30)
KEEP_MAILS = timedelta(days=30)
# For nobody: kept for nothing but that making one looks like making any other.
KEEP_MAILS_FOR_NOBODY = timedelta(hours=1)

Goes = Callable[[], bool]
"""Say whether to go on: no when the worker stops."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """Tell how a run went: how many stores were done and in which it failed; `complete` is False when it was cut short."""

    stores: int = 0
    failures: tuple[str, ...] = ()
    complete: bool = True

    @property
    def error(self) -> str:
        """Give what is kept of the failures: which kind and where first, in how many stores; "" when there were none."""
        if not self.failures:
            return ""
        return f"{self.failures[0]} ({len(self.failures)} of {self.stores} stores failed)"


@dataclass(frozen=True, slots=True)
class Job:
    """Describe work that is done every so often; `in_stores` makes it of what is done in one store."""

    name: str
    every: timedelta
    work: Callable[[Goes], Awaitable[JobResult]]
    try_again_after: timedelta = TRY_AGAIN_AFTER


@dataclass(frozen=True, slots=True)
class JobLease:
    """Prove that this worker is the one that does the job now."""

    job: Job
    started_at: datetime


# --- Claiming --------------------------------------------------------------------------------------------------------------

_REGISTER = "insert into job_runs (name, due_at) values ($1, clock_timestamp()) on conflict (name) do nothing"
_CLAIM = """
    update job_runs set started_at = clock_timestamp(), finished_at = null, due_at = clock_timestamp() + $2
    where name = (select name from job_runs where name = $1 and due_at <= clock_timestamp() for update skip locked)
    returning started_at
"""
_SECONDS_LEFT = "select extract(epoch from due_at - clock_timestamp())::float8 from job_runs where name = $1"
_RENEW = """
    update job_runs set due_at = clock_timestamp() + $3 where name = $1 and started_at = $2 and finished_at is null
"""
_FINISH = """
    update job_runs set finished_at = clock_timestamp(), error = $4,
        due_at = case when $4 = '' then greatest(started_at + $3, clock_timestamp()) else clock_timestamp() + $3 end
    where name = $1 and started_at = $2 and finished_at is null
"""
_GIVE_BACK = """
    update job_runs set due_at = clock_timestamp() where name = $1 and started_at = $2 and finished_at is null
"""


async def claim(job: Job, *, lease: timedelta = LEASE) -> JobLease | None:
    """Take the job when it is due and nobody has it, else give None; of several workers that ask at once one gets it."""
    async with database.across_stores() as everywhere:
        started_at = await everywhere.value(_CLAIM, job.name, lease)
        if started_at is None:
            # New here, or not due; a job that is new is due at once.
            if not await everywhere.execute(_REGISTER, job.name):
                return None
            started_at = await everywhere.value(_CLAIM, job.name, lease)
    return None if started_at is None else JobLease(job, started_at)


async def seconds_until_due(job: Job) -> float:
    """Say how long nobody can claim the job; 0 when somebody can now."""
    async with database.across_stores() as everywhere:
        left: float | None = await everywhere.value(_SECONDS_LEFT, job.name)
    return max(0.0, left or 0.0)


async def renew(claimed: JobLease, *, lease: timedelta = LEASE) -> bool:
    """Keep the job for another lease; False when it was lost to somebody else."""
    async with database.across_stores() as everywhere:
        return await everywhere.execute(_RENEW, claimed.job.name, claimed.started_at, lease) > 0


async def finish(claimed: JobLease, error: str = "") -> bool:
    """Write down how the run ended and when the next is due: after `every` from its start, or soon when it failed."""
    job = claimed.job
    pause = min(job.try_again_after, job.every) if error else job.every
    async with database.across_stores() as everywhere:
        return await everywhere.execute(_FINISH, job.name, claimed.started_at, pause, error) > 0


async def give_back(claimed: JobLease) -> None:
    """Let another worker do the job at once: this one stops."""
    async with database.across_stores() as everywhere:
        await everywhere.execute(_GIVE_BACK, claimed.job.name, claimed.started_at)


# --- Doing -----------------------------------------------------------------------------------------------------------------

# One store's rows may be locked for long; when so many stores in a row have none, it is the database.
_ENOUGH_UNAVAILABLE = 3


def in_stores(
    find: str, work: Callable[[Scope], Awaitable[object]]
) -> Callable[[Goes], Awaitable[JobResult]]:
    """Do the work in each store that needs it, in that store's own scope, as the system.

    `find` gives the rows of those stores; `$1` is the present moment. It runs as the worker's role, which sees a few tables over
    all stores (`models/roles.py`). A store that fails does not keep the others from their turn. A run ends early when `goes_on`
    says no, and when the database seems to be away, for then every store would fail.
    """

    async def run(goes_on: Goes) -> JobResult:
        async with database.across_stores() as everywhere:
            found = await everywhere.rows(find, now())
        failures: list[str] = []
        unavailable = 0
        for done, record in enumerate(found):
            if not goes_on():
                return JobResult(done, tuple(failures), complete=False)
            error = await _in_store(store_from(record), work)
            if error is not None:
                failures.append(f"{type(error).__name__} in store {record['public_id']}")
            unavailable = unavailable + 1 if isinstance(error, Unavailable) else 0
            if unavailable == _ENOUGH_UNAVAILABLE:
                return JobResult(done + 1, tuple(failures))
        return JobResult(len(found), tuple(failures))

    return run


async def _in_store(store: Store, work: Callable[[Scope], Awaitable[object]]) -> Exception | None:
    scope = Scope(store=store, actor=SYSTEM, request_id=f"job-{uuid7()}", now=now())
    try:
        with entered(scope):
            await work(scope)
    except Exception as error:
        name = getattr(work, "__name__", repr(work))
        where = str(store.public_id)
        logging.failure("job failed in a store", error, work=name, store=where, request_id=scope.request_id)
        return error
    return None


# --- The jobs --------------------------------------------------------------------------------------------------------------

_STORES_WITH_HOLDS = """
    select * from tenants where id in (
        select tenant_id from orders
        where hold_until <= $1 and status = 'O' and payment_status = 'unpaid' and deleted_at is null
    ) order by id
"""
_STORES_WITH_MAILS = """
    select * from tenants where id in (select tenant_id from mails where status = 'Q' and due_at <= $1) order by id
"""
_STORES_WITH_NOTIFICATIONS = """
    select * from tenants where id in (
        select tenant_id from gateway_notifications where not processed and due_at <= $1
    ) order by id
"""
_STORES_WITH_OVERDUE_CARTS = """
    select * from tenants where id in (
        select tenant_id from carts where status = 'open' and expires_at <= $1
    ) order by id
"""
_STORES_WITH_UNTOLD_CARTS = """
    select * from tenants where id in (
        select tenant_id from carts where is_untold and told_at <= $1::timestamptz - interval '5 seconds'
    ) order by id
"""
_EVERY_STORE = "select * from tenants where created_at <= $1 order by id"
_FORGET_MAILS = """
    delete from mails where tenant_id = $1 and (created_at < $2 or status = 'N' and created_at < $3)
"""
_FORGET_EVENTS = """
    delete from outbox_events where tenant_id = $1 and id in (
        select id from outbox_events e
        where tenant_id = $1 and created_at < $2 and (dispatched_at is null or dispatched_at < $2)
          and not exists (
            select 1 from event_deliveries d where d.tenant_id = e.tenant_id and d.event_id = e.id and d.due_at is not null
          )
        limit $3
    )
"""
_HOLDS_AT_ONCE = 500
_EVENTS_AT_ONCE = 5_000
_NOTIFICATIONS_AT_ONCE = 200
_CARTS_AT_ONCE = 1_000


async def expire_holds(scope: Scope) -> int:
    """Move every checkout of the store that nobody paid in time to `F`; say how many there were."""
    expired = 0
    while True:
        done = await expiry.expire_holds(scope, limit=_HOLDS_AT_ONCE)
        expired += done
        # Fewer: nothing is left, or what is left can't be moved and would be found again and again.
        if done < _HOLDS_AT_ONCE:
            return expired


async def expire_carts(scope: Scope) -> None:
    """Mark every cart of the store that nobody came back to as expired."""
    while await carts_upkeep.expire_carts(scope, limit=_CARTS_AT_ONCE) == _CARTS_AT_ONCE:
        pass


async def tell_of_carts(scope: Scope) -> None:
    """Write `cart.updated` for the store's carts that changed too soon after it was written last."""
    while await carts_telling.tell_due(scope, limit=_CARTS_AT_ONCE) == _CARTS_AT_ONCE:
        pass


async def apply_notifications(scope: Scope) -> None:
    """Apply the gateway's notifications that were stored and not processed: their process died, or applying them failed."""
    while await notifications.apply_pending(scope, limit=_NOTIFICATIONS_AT_ONCE) == _NOTIFICATIONS_AT_ONCE:
        pass


async def forget_spent(scope: Scope) -> None:
    """Delete the store's spent sessions, tokens, attempts and counts, and events that nobody will be told of any more."""
    await upkeep.forget_expired(scope)
    with entered(scope):
        await idempotency.forget_old(scope)
        await database.execute(
            _FORGET_MAILS, scope.store.id, scope.now - KEEP_MAILS, scope.now - KEEP_MAILS_FOR_NOBODY
        )
        while await database.execute(
            _FORGET_EVENTS, scope.store.id, scope.now - KEEP_EVENTS, _EVENTS_AT_ONCE
        ):
            pass
        while await carts_upkeep.forget_closed(scope, limit=_CARTS_AT_ONCE) == _CARTS_AT_ONCE:
            pass


JOBS: tuple[Job, ...] = (
    Job("expire_holds", timedelta(minutes=1), in_stores(_STORES_WITH_HOLDS, expire_holds)),
    Job(
        "apply_notifications",
        timedelta(seconds=30),
        in_stores(_STORES_WITH_NOTIFICATIONS, apply_notifications),
    ),
    Job("expire_carts", timedelta(minutes=1), in_stores(_STORES_WITH_OVERDUE_CARTS, expire_carts)),
    Job("tell_of_carts", timedelta(seconds=5), in_stores(_STORES_WITH_UNTOLD_CARTS, tell_of_carts)),
    Job("forget_spent", timedelta(hours=1), in_stores(_EVERY_STORE, forget_spent)),
)

SEND_MAILS = "send_mails"


def mail_job(transport: sending.Transport) -> Job:
    """Describe the job that sends queued mails, for workers that were told of a mail server."""

    async def send(scope: Scope) -> int:
        return await sending.send_due(scope, transport)

    return Job(SEND_MAILS, timedelta(seconds=5), in_stores(_STORES_WITH_MAILS, send))
