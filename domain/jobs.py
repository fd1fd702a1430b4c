"""Periodic jobs over all stores, shared by any number of workers.

A job has one row in `job_runs`. A worker claims it by moving `due_at` past a lease, which it renews while the job runs; after a crash the
lease expires and the job is due again. `started_at` distinguishes one claim from the next. All times come from the database's clock,
because machines' clocks differ. That one may have been ahead and set back: a job that is due later than ever is due now.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from auth.store_resolution import build_store
from domain import event_feed, retention
from domain.bulk import operations as bulk_operations
from domain.carts import cleanup as cart_cleanup
from domain.carts import events as cart_events
from domain.catalog import stock, warehouse_stock
from domain.gateway import notifications
from domain.ledger import reconciliation
from domain.mails import order_mails, sending
from domain.media import option_files, usage
from domain.orders import best_sellers, expiry
from domain.payments import pending as payments
from domain.payments import refunds
from domain.people import stock_notices
from domain.store_files import delete_files_of_unknown_stores
from domain.store_usage import STORES_TO_MEASURE, measure_stored
from domain.unchanged_stores import CATALOGUE_VERSION, UnchangedStores
from kernel import logging
from kernel.clock import now
from kernel.errors import Unavailable
from kernel.ids import uuid7
from kernel.retention import DEFAULT_DAYS
from kernel.scope import SYSTEM, Scope, Store, active_scope
from kernel.store_usage import measured
from models.connection import database

LEASE = timedelta(minutes=2)
RENEW_EVERY = timedelta(seconds=30)
RETRY_DELAY = timedelta(seconds=30)

ShouldContinue = Callable[[], bool]
"""Return False when the worker is stopping."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a run: the number of stores processed and the failures; `complete` is False if it was interrupted."""

    stores: int = 0
    failures: tuple[str, ...] = ()
    complete: bool = True

    @property
    def error(self) -> str:
        """Return a summary of the failures: the first one, and how many stores failed; "" for none."""
        if not self.failures:
            return ""
        return f"{self.failures[0]} ({len(self.failures)} of {self.stores} stores failed)"


@dataclass(frozen=True, slots=True)
class Job:
    """A periodic job; `for_each_store` builds one from a function that processes one store."""

    name: str
    every: timedelta
    work: Callable[[ShouldContinue], Awaitable[JobResult]]
    retry_delay: timedelta = RETRY_DELAY


@dataclass(frozen=True, slots=True)
class JobLease:
    """A claim on a job by this worker."""

    job: Job
    started_at: datetime


# --- Claiming --------------------------------------------------------------------------------------------------------------

_INSERT = "insert into job_runs (name, due_at) values ($1, clock_timestamp()) on conflict (name) do nothing"
_CLAIM = """
    update job_runs set started_at = clock_timestamp(), finished_at = null, due_at = clock_timestamp() + $2::interval
    where name = (
        select name from job_runs
        where name = $1 and (due_at <= clock_timestamp() or due_at > clock_timestamp() + greatest($2::interval, $3::interval))
        for update skip locked
    )
    returning started_at
"""
_SECONDS_LEFT = "select extract(epoch from due_at - clock_timestamp())::float8 from job_runs where name = $1"
_RENEW = """
    update job_runs set due_at = clock_timestamp() + $3 where name = $1 and started_at = $2 and finished_at is null
"""
_END = """
    update job_runs set finished_at = clock_timestamp(), error = $4,
        due_at = case when $4 = '' then greatest(started_at + $3, clock_timestamp()) else clock_timestamp() + $3 end
    where name = $1 and started_at = $2 and finished_at is null
"""
_RELEASE = """
    update job_runs set due_at = clock_timestamp() where name = $1 and started_at = $2 and finished_at is null
"""


async def claim(job: Job, *, lease: timedelta = LEASE) -> JobLease | None:
    """Claim the job if it is due, else return None; of several concurrent workers one succeeds."""
    async with database.cross_store_connection() as connection:
        started_at = await connection.fetchval(_CLAIM, job.name, lease, job.every)
        if started_at is None:
            # Either not due, or missing: a new job is inserted as due.
            if not await connection.execute(_INSERT, job.name):
                return None
            started_at = await connection.fetchval(_CLAIM, job.name, lease, job.every)
    return None if started_at is None else JobLease(job, started_at)


async def seconds_until_due(job: Job) -> float:
    """Return the seconds until the job can be claimed; 0 if it can be claimed now."""
    async with database.cross_store_connection() as connection:
        left: float | None = await connection.fetchval(_SECONDS_LEFT, job.name)
    return max(0.0, left or 0.0)


async def renew(claimed: JobLease, *, lease: timedelta = LEASE) -> bool:
    """Extend the lease; return False if another worker has claimed the job."""
    async with database.cross_store_connection() as connection:
        return await connection.execute(_RENEW, claimed.job.name, claimed.started_at, lease) > 0


async def end(claimed: JobLease, error: str = "") -> bool:
    """Store the result of the run and schedule the next: `every` after its start, or sooner after a failure."""
    job = claimed.job
    delay = min(job.retry_delay, job.every) if error else job.every
    async with database.cross_store_connection() as connection:
        return await connection.execute(_END, job.name, claimed.started_at, delay, error) > 0


async def release(claimed: JobLease) -> None:
    """Make the job due at once for another worker, because this one is stopping."""
    async with database.cross_store_connection() as connection:
        await connection.execute(_RELEASE, claimed.job.name, claimed.started_at)


# --- Running -----------------------------------------------------------------------------------------------------------------

# A single store may be unavailable because of long locks; this many in a row mean that the database is.
_MAX_UNAVAILABLE = 3


def for_each_store(
    find: str, work: Callable[[Scope], Awaitable[object]], unchanged: UnchangedStores | None = None
) -> Callable[[ShouldContinue], Awaitable[JobResult]]:
    """Return a job function that runs `work` in each store that needs it, in the store's own scope, as the system.

    `find` selects those stores; `$1` is the current time. It runs as the worker's role, which can read a few tables of all stores
    (`models/role_privileges.py`). Read-only stores are left out, and those that are `unchanged`, until a time that `work` may return. A
    failing store doesn't prevent the others. A run ends early when `should_continue` returns False, or when the database seems to be
    unavailable.
    """

    async def run(should_continue: ShouldContinue) -> JobResult:
        async with database.cross_store_connection() as connection:
            store_rows = [row for row in await connection.fetch(find, now()) if not row.get("is_read_only")]
        if unchanged is not None:
            store_rows = unchanged.without(store_rows)
        failures: list[str] = []
        unavailable = 0
        for done, store_row in enumerate(store_rows):
            if not should_continue():
                return JobResult(done, tuple(failures), complete=False)
            finished = None if unchanged is None else partial(unchanged.add, store_row)
            error = await _in_store(build_store(store_row), work, finished)
            if error is not None:
                failures.append(f"{type(error).__name__} in store {store_row['public_id']}")
            unavailable = unavailable + 1 if isinstance(error, Unavailable) else 0
            if unavailable == _MAX_UNAVAILABLE:
                return JobResult(done + 1, tuple(failures))
        return JobResult(len(store_rows), tuple(failures))

    return run


async def _in_store(
    store: Store, work: Callable[[Scope], Awaitable[object]], finished: Callable[[object], None] | None = None
) -> Exception | None:
    """Run `work`, and call `finished` with its result unless it failed or the store was left alone."""
    scope = Scope(store=store, actor=SYSTEM, request_id=f"job-{uuid7()}", now=now())
    try:
        if not await _is_unchanged(store):
            return None
        with active_scope(scope):
            result = await measured(store.id, database.retry_conflicts(partial(work, scope)))
        if finished is not None:
            finished(result)
    except Exception as error:
        name = getattr(work, "__name__", repr(work))
        where = str(store.public_id)
        logging.failure("job failed in a store", error, work=name, store=where, request_id=scope.request_id)
        return error
    return None


async def _is_unchanged(store: Store) -> bool:
    """Return whether a store is still as the run has read it, perhaps minutes ago: it may have become read-only, to be moved."""
    async with database.cross_store_connection() as connection:
        row = await connection.fetchrow("select * from tenants where id = $1", store.id)
    current = row and build_store(row)
    return current is not None and (current.status, current.is_read_only) == (store.status, store.is_read_only)


# --- The jobs --------------------------------------------------------------------------------------------------------------

# Of a statement that needs no time. Not `created_at <= $1`: a store that is younger than now exists, after a clock that was ahead.
_ANY_TIME = "$1::timestamptz is not null"


def _stores_with(table: str, condition: str) -> str:
    """Return the statement that finds the stores with such rows of a table."""
    return f"select * from tenants where id in (select tenant_id from {table} where {condition}) order by id"


def _stores_that_have(table: str, columns: str = "t.*") -> str:
    """Return the statement that finds the stores with rows of a large table: it reads one of each, not all of them."""
    first = f"select from {table} x where x.tenant_id = t.id limit 1"
    return f"select {columns} from tenants t cross join lateral ({first}) own where {_ANY_TIME} order by t.id"


_STORES_WITH_UNPAID_ORDERS = _stores_with(
    "orders", "hold_until <= $1 and status = 'O' and payment_status = 'unpaid' and deleted_at is null"
)
_STORES_WITH_MAILS = _stores_with("mails", "status = 'Q' and due_at <= $1")
_STORES_WITH_NOTIFICATIONS = _stores_with("gateway_notifications", "not processed and due_at <= $1")
_STORES_WITH_DUE_PAYMENTS = """
    select * from tenants where id in (
        select tenant_id from payments where due_at <= $1 union select tenant_id from payment_refunds where due_at <= $1
    ) order by id
"""
_STORES_WITH_OVERDUE_CARTS = _stores_with("carts", "status = 'open' and expires_at <= $1")
_STORES_WITH_PENDING_CART_EVENTS = _stores_with(
    "carts", "is_untold and told_at <= $1::timestamptz - interval '5 seconds'"
)
_STORES_WITH_ABANDONED_CARTS = _stores_with(
    "carts", "status = 'open' and abandoned_at is null and updated_at <= $1::timestamptz - interval '1 hour'"
)
_STORES_WITH_STOCK_CHANGES = _stores_with("stock_changes", _ANY_TIME)
_STORES_WITH_SWITCHED_WAREHOUSES = _stores_with("warehouses", f"is_switching and {_ANY_TIME}")
_STORES_WITH_ORDER_MAILS = _stores_with("order_mails", _ANY_TIME)
_NEWEST_NOTICE = "(select n.id from stock_notices n where n.tenant_id = t.id order by n.id desc limit 1)"
_STORES_WITH_STOCK_NOTICES = _stores_that_have(
    "stock_notices", f"t.*, concat({CATALOGUE_VERSION}, ' ', {_NEWEST_NOTICE}) as state"
)
_STORES_WITH_ORDERS = _stores_that_have("orders")
_STORES_WITH_LEDGER_QUEUE = _stores_with("ledger_queue", _ANY_TIME)
# The stores are divided among this many jobs, so that workers share them.
_RETENTION_JOBS = 4
_STORES_OF_JOB = f"select * from tenants where {_ANY_TIME} and id % {{count}} = {{number}} order by id"
_BULK_PER_BATCH = 500
_STORES_WITH_MEDIA = _stores_that_have("media_files")
_STORES_WITH_WAITING_OPTION_FILES = _stores_with("option_files", f"{_ANY_TIME} and order_id is null")


def _in_batches(name: str, work: Callable[..., Awaitable[int]], size: int) -> Callable[[Scope], Awaitable[int]]:
    """Return the function of this name that calls `work` with a limit until a batch isn't full; it returns how many were done.

    A partial batch means that nothing is left, or only what can't be done and would be selected again.
    """

    async def run(scope: Scope) -> int:
        total = done = await work(scope, limit=size)
        while done == size:
            done = await work(scope, limit=size)
            total += done
        return total

    run.__name__ = name
    return run


expire_unpaid_orders = _in_batches("expire_unpaid_orders", expiry.expire_orders, 500)
expire_carts = _in_batches("expire_carts", cart_cleanup.expire_carts, 1_000)
emit_cart_updates = _in_batches("emit_cart_updates", cart_events.emit_due, 1_000)
emit_abandoned_carts = _in_batches("emit_abandoned_carts", cart_events.emit_abandoned, 1_000)
emit_stock_changes = _in_batches("emit_stock_changes", stock.emit_changes, 1_000)
switch_warehouse_stock = _in_batches("switch_warehouse_stock", warehouse_stock.switch_stock, 500)
write_ledgers = _in_batches("write_ledgers", reconciliation.write_queued, 200)
_send_stock_notices = _in_batches("send_stock_notices", stock_notices.send_notices, 500)
write_order_mails = _in_batches("write_order_mails", order_mails.write_queued, 100)
# Those that were stored but not processed, because the process died or applying them failed.
apply_notifications = _in_batches("apply_notifications", notifications.apply_pending, 200)
settle_due_payments = _in_batches("settle_due_payments", payments.settle_due, 20)
settle_due_refunds = _in_batches("settle_due_refunds", refunds.settle_due, 20)
delete_unused_option_files = _in_batches("delete_unused_option_files", option_files.delete_unused_option_files, 100)
delete_unused_media = _in_batches("delete_unused_media", usage.delete_unused_files, 100)


async def send_stock_notices(scope: Scope) -> datetime | None:
    """Send the notices of a store; return when the next product with waiting customers is released."""
    at = await stock_notices.next_release(scope)
    await _send_stock_notices(scope)
    return at


async def settle_payments(scope: Scope) -> None:
    """Ask the gateways of a store about payments and refunds in doubt."""
    await settle_due_payments(scope)
    await settle_due_refunds(scope)


async def delete_expired_data(scope: Scope, days: Mapping[str, int] = DEFAULT_DAYS) -> None:
    """Delete the store's old rows and files; `days` as VITRINE_RETENTION."""
    await retention.delete_expired(scope, days)
    with active_scope(scope):
        await event_feed.delete_old_events(scope)
        while await bulk_operations.delete_expired(scope, limit=_BULK_PER_BATCH) == _BULK_PER_BATCH:
            pass


def retention_jobs(days: Mapping[str, int]) -> tuple[Job, ...]:
    """Return the jobs that delete old rows, each for a part of the stores, and what belongs to no store; `days` as VITRINE_RETENTION."""

    async def forget_addresses(_: ShouldContinue) -> JobResult:
        await retention.forget_addresses(now())
        return JobResult()

    async def delete_lost_files(_: ShouldContinue) -> JobResult:
        await delete_files_of_unknown_stores(now())
        return JobResult()

    names = ("forget_spent", *(f"forget_spent_{number}" for number in range(2, _RETENTION_JOBS + 1)))
    return (
        Job("forget_addresses", timedelta(hours=1), forget_addresses),
        Job("delete_lost_files", timedelta(hours=1), delete_lost_files),
        *(
            Job(
                name,
                timedelta(hours=1),
                for_each_store(
                    _STORES_OF_JOB.format(count=len(names), number=number), partial(delete_expired_data, days=days)
                ),
            )
            for number, name in enumerate(names)
        ),
    )


_PERIODIC: tuple[Job, ...] = (
    Job("expire_holds", timedelta(minutes=1), for_each_store(_STORES_WITH_UNPAID_ORDERS, expire_unpaid_orders)),
    Job("apply_notifications", timedelta(seconds=30), for_each_store(_STORES_WITH_NOTIFICATIONS, apply_notifications)),
    Job("settle_payments", timedelta(seconds=5), for_each_store(_STORES_WITH_DUE_PAYMENTS, settle_payments)),
    Job("write_order_mails", timedelta(seconds=2), for_each_store(_STORES_WITH_ORDER_MAILS, write_order_mails)),
    Job(
        "send_stock_notices",
        timedelta(minutes=1),
        for_each_store(_STORES_WITH_STOCK_NOTICES, send_stock_notices, UnchangedStores()),
    ),
    Job("write_ledgers", timedelta(seconds=10), for_each_store(_STORES_WITH_LEDGER_QUEUE, write_ledgers)),
    Job("expire_carts", timedelta(minutes=1), for_each_store(_STORES_WITH_OVERDUE_CARTS, expire_carts)),
    Job("emit_cart_updates", timedelta(seconds=5), for_each_store(_STORES_WITH_PENDING_CART_EVENTS, emit_cart_updates)),
    Job(
        "emit_abandoned_carts", timedelta(minutes=1), for_each_store(_STORES_WITH_ABANDONED_CARTS, emit_abandoned_carts)
    ),
    # Not with the retention of rows, which goes on while the storage doesn't answer.
    Job("delete_unused_media", timedelta(hours=1), for_each_store(_STORES_WITH_MEDIA, delete_unused_media)),
    Job("measure_stored", timedelta(hours=1), for_each_store(STORES_TO_MEASURE, measure_stored)),
    Job("rank_sales", timedelta(hours=1), for_each_store(_STORES_WITH_ORDERS, best_sellers.rank_sales)),
    Job(
        "delete_unused_option_files",
        timedelta(hours=1),
        for_each_store(_STORES_WITH_WAITING_OPTION_FILES, delete_unused_option_files),
    ),
    Job(
        "switch_warehouse_stock",
        timedelta(seconds=10),
        for_each_store(_STORES_WITH_SWITCHED_WAREHOUSES, switch_warehouse_stock),
    ),
    Job("emit_stock_changes", timedelta(seconds=5), for_each_store(_STORES_WITH_STOCK_CHANGES, emit_stock_changes)),
)
JOBS = (*_PERIODIC, *retention_jobs(DEFAULT_DAYS))
"""All jobs but that of mails, with the default periods of retention."""

SEND_MAILS = "send_mails"
DELETE_MOVED_STORES = "delete_moved_stores"
ADDED_BY_WORKERS = (SEND_MAILS, DELETE_MOVED_STORES)
"""The names of the jobs that workers add to `JOBS`: they need a mail server, or the owner of the database."""


def jobs_with_retention(days: Mapping[str, int]) -> tuple[Job, ...]:
    """Return `JOBS` with these periods of retention."""
    return (*_PERIODIC, *retention_jobs(days))


def mail_job(transport: sending.MailTransport) -> Job:
    """Return the job that sends queued mails, for workers with a mail server configured."""

    async def send(scope: Scope) -> int:
        return await sending.send_due(scope, transport)

    return Job(SEND_MAILS, timedelta(seconds=5), for_each_store(_STORES_WITH_MAILS, send))
