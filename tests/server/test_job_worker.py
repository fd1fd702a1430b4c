"""Periodic jobs: shared by workers, retried after a failure, freed after a crash, stopped without loss."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import orjson
import pytest

from auth.configuration import configure
from domain import jobs
from domain.jobs import JOBS, Job, JobResult, for_each_store
from domain.store_usage import STORES_TO_MEASURE
from domain.unchanged_stores import UnchangedStores
from kernel import logging
from kernel.clock import now
from kernel.errors import Unavailable
from kernel.ids import uuid7
from kernel.scope import Scope, Store, active_scope
from models.connection import database as db
from server.workers.jobs import JobWorker
from tests.harness.jobs import limit_jobs_to
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import system_scope
from tests.server.command_line import SECRET, Vitrine

pytestmark = pytest.mark.usefixtures("database")

Work = Callable[[jobs.ShouldContinue], Awaitable[JobResult]]
LONG = timedelta(hours=1)
EXPIRE_HOLDS = next(job for job in JOBS if job.name == "expire_holds")
FORGET_SPENT = [job for job in JOBS if job.name.startswith("forget_")]


@pytest.fixture(autouse=True, scope="module")
def secret():
    configure(SECRET.encode())


def new_job(work: Work, *, every: timedelta = LONG, retry_delay: timedelta = LONG) -> Job:
    """Create a job with a unique name."""
    return Job(f"test {uuid4().hex}", every, work, retry_delay)


async def nothing(_: jobs.ShouldContinue) -> JobResult:
    return JobResult()


class Counted:
    """Work that counts its runs and takes some time."""

    def __init__(self, seconds: float = 0.0, error: Exception | None = None) -> None:
        self.seconds = seconds
        self.error = error
        self.begun = self.done = 0
        self.under_way = asyncio.Event()

    async def __call__(self, _: jobs.ShouldContinue) -> JobResult:
        self.begun += 1
        self.under_way.set()
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        self.done += 1
        return JobResult()


async def run_of(job: Job):
    async with db.cross_store_connection() as platform:
        row = await platform.fetchrow("select * from job_runs where name = $1", job.name)
    assert row is not None
    return row


@asynccontextmanager
async def working(*workers: JobWorker):
    tasks = [asyncio.create_task(worker.run()) for worker in workers]
    try:
        yield
    finally:
        for worker in workers:
            worker.stop()
        async with asyncio.timeout(20):
            await asyncio.gather(*tasks)


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture
def logged():
    """Collect log events."""
    lines: list[dict] = []
    before = logging.set_sink(lambda line: lines.append(orjson.loads(line)))
    yield lines
    logging.set_sink(before)


# --- Claiming --------------------------------------------------------------------------------------------------------


async def test_only_one_of_many_concurrent_workers_gets_the_job():
    job = new_job(nothing)
    claims = await asyncio.gather(*(jobs.claim(job) for _ in range(12)))
    assert len([claimed for claimed in claims if claimed is not None]) == 1
    assert await jobs.claim(job) is None
    assert await jobs.seconds_until_due(job) == pytest.approx(jobs.LEASE.total_seconds(), abs=5)


async def test_a_finished_job_is_due_one_interval_after_its_start():
    job = new_job(nothing, every=timedelta(seconds=40))
    claimed = await jobs.claim(job)
    assert claimed is not None
    assert await jobs.end(claimed)
    run = await run_of(job)
    assert (run["error"], run["due_at"] - run["started_at"]) == ("", timedelta(seconds=40))
    assert run["finished_at"] is not None
    assert await jobs.claim(job) is None


@pytest.mark.parametrize("every", [timedelta(seconds=10), timedelta(hours=1)])
async def test_a_job_that_is_due_later_than_ever_is_due_when_the_clock_was_set_back(every):
    job = new_job(nothing, every=every)
    claimed = await jobs.claim(job)
    assert claimed is not None
    await jobs.end(claimed)
    assert await jobs.claim(job) is None
    async with db.cross_store_connection() as platform:
        ahead = "update job_runs set started_at = started_at + $2, finished_at = finished_at + $2, due_at = due_at + $2 where name = $1"
        await platform.execute(ahead, job.name, timedelta(days=1))
    again = await jobs.claim(job)
    assert again is not None
    await jobs.end(again)
    run = await run_of(job)
    assert run["due_at"] - run["started_at"] == every


async def test_a_crashed_workers_lease_expires_and_it_can_not_finish_the_job():
    job = new_job(nothing)
    dead = await jobs.claim(job, lease=timedelta(seconds=0.2))
    assert dead is not None
    assert await jobs.claim(job) is None
    await asyncio.sleep(0.25)
    taken_over = await jobs.claim(job)
    assert taken_over is not None
    assert not await jobs.renew(dead)
    assert not await jobs.end(dead, "too late")
    assert (await run_of(job))["error"] == ""
    assert await jobs.end(taken_over)


# --- Working ---------------------------------------------------------------------------------------------------------


async def test_workers_share_a_job_and_each_run_is_executed_once():
    work = Counted(seconds=0.05)
    job = new_job(work, every=timedelta(seconds=0.3))
    began = time.monotonic()
    async with working(*(JobWorker([job]) for _ in range(4))):
        await until(lambda: work.done >= 3)
    intervals = (time.monotonic() - began) / 0.3
    assert work.begun <= intervals + 1


async def test_while_the_database_is_away_all_jobs_log_one_line_and_one_when_it_is_back(logged, monkeypatch):
    monkeypatch.setattr("server.workers.jobs.PAUSE_AFTER_FAILURE", 0.05)
    claim, attempts, is_away = jobs.claim, [], True

    async def claim_if_available(job, **options):
        attempts.append(job)
        if is_away:
            raise Unavailable("the database is not available; try again")
        return await claim(job, **options)

    monkeypatch.setattr(jobs, "claim", claim_if_available)
    works = [Counted() for _ in range(3)]
    async with working(JobWorker([new_job(work) for work in works])):
        await until(lambda: len(attempts) > 10)
        is_away = False
        await until(lambda: all(work.done for work in works))
    assert [(line["level"], line["event"]) for line in logged] == [
        ("error", "job could not be run"),
        ("info", "the database is available again"),
    ]


async def test_a_failing_job_is_recorded_logged_and_retried(logged):
    work = Counted(error=RuntimeError("no luck"))
    job = new_job(work, retry_delay=timedelta(seconds=0.05))
    async with working(JobWorker([job])):
        await until(lambda: work.begun >= 2)
        work.error = None
        await until(lambda: work.done)
        await asyncio.sleep(0.1)
        assert (await run_of(job))["error"] == ""
    assert [line["event"] for line in logged if line["job"] == job.name][:2] == ["job failed"] * 2
    failing = new_job(Counted(error=RuntimeError("secret words")))
    async with working(JobWorker([failing])):
        await until(lambda: failing.work.begun)
    run = await run_of(failing)
    assert run["error"] == "RuntimeError"  # the message may contain secrets
    assert run["finished_at"] is not None


async def test_a_long_run_keeps_its_lease():
    work = Counted(seconds=0.8)
    job = new_job(work)
    hasty = {"lease": timedelta(seconds=0.3), "renew_every": timedelta(seconds=0.05)}
    async with working(JobWorker([job], **hasty), JobWorker([job], **hasty)):
        await until(lambda: work.done)
    assert work.begun == 1


async def test_a_worker_that_lost_its_lease_stops_the_job():
    work = Counted(seconds=30)
    job = new_job(work)
    async with working(JobWorker([job], renew_every=timedelta(seconds=0.05))):
        await work.under_way.wait()
        async with db.cross_store_connection() as platform:
            await platform.execute(
                "update job_runs set started_at = now() - interval '1 day' where name = $1", job.name
            )
        await asyncio.sleep(0.2)
    assert (work.begun, work.done) == (1, 0)


async def test_stopping_lets_the_job_finish_or_releases_its_lease():
    short, long = Counted(seconds=0.3), Counted(seconds=30)
    quick, slow = new_job(short), new_job(long)
    async with working(JobWorker([quick, slow], stop_seconds=0.6)):
        await short.under_way.wait()
        await long.under_way.wait()
    assert short.done == 1
    assert (await run_of(quick))["finished_at"] is not None
    assert long.done == 0
    assert await jobs.seconds_until_due(slow) == 0  # immediately available to the next worker


async def test_the_worker_survives_a_database_outage(monkeypatch):
    work = Counted()
    job = new_job(work)
    claim, refusals = jobs.claim, iter([True, True, False, False, False])

    async def sometimes(*args, **kwargs):
        if next(refusals, False):
            raise Unavailable("the database is not available")
        return await claim(*args, **kwargs)

    monkeypatch.setattr(jobs, "claim", sometimes)
    monkeypatch.setattr("server.workers.jobs.PAUSE_AFTER_FAILURE", 0.01)
    async with working(JobWorker([job])):
        await until(lambda: work.done)


# --- In stores -------------------------------------------------------------------------------------------------------


def find(*stores: Store) -> str:
    ids = ", ".join(str(store.id) for store in stores)
    return f"select * from tenants where created_at <= $1 and id in ({ids}) order by id"


async def test_a_job_runs_for_each_store_in_its_own_scope_even_if_one_fails(store, other_store):
    seen: list[tuple[int, bool, int]] = []

    async def work(scope: Scope) -> None:
        visible = await db.fetchval("select nullif(current_setting('vitrine.tenant', true), '')::bigint")
        seen.append((scope.store.id, scope.actor.has_privilege("manage_orders"), visible))
        if scope.store.id == store.id:
            raise ValueError("broken")

    outcome = await for_each_store(find(store, other_store), work)(lambda: True)
    assert seen == [(each.id, True, each.id) for each in (store, other_store)]
    assert outcome.error == f"ValueError in store {store.public_id} (1 of 2 stores failed)"
    assert outcome.complete


async def test_a_job_leaves_stores_alone_in_which_nothing_has_changed(store, other_store):
    worked: list[int] = []

    failing = True

    async def work(scope: Scope) -> None:
        worked.append(scope.store.id)
        if failing and scope.store.id == first:
            raise RuntimeError("no luck")

    states = {store.id: "1", other_store.id: "1"}

    async def run() -> list[int]:
        worked.clear()
        values = ", ".join(f"({number}, '{state}')" for number, state in states.items())
        statement = (
            f"select t.*, v.state from (values {values}) v (id, state) join tenants t using (id) where created_at <= $1"
        )
        await jobs.for_each_store(f"{statement} order by id", work, unchanged)(lambda: True)
        return list(worked)

    unchanged = UnchangedStores()
    first, second = sorted(states)
    assert await run() == [first, second]
    failing = False
    assert await run() == [first], "it failed there"
    assert await run() == [], "nothing has changed"
    states[second] = "2"
    assert await run() == [second]


async def test_a_store_whose_status_changes_before_its_turn_is_not_done(store, other_store, monkeypatch):
    worked: list[int] = []
    looks = [True, False]

    async def work(scope: Scope) -> None:
        worked.append(scope.store.id)

    async def is_unchanged(_: Store) -> bool:
        return looks.pop() if looks else True

    monkeypatch.setattr(jobs, "_is_unchanged", is_unchanged)
    statement = f"select t.*, '1' as state from tenants t where id in ({store.id}, {other_store.id}) and created_at <= $1 order by id"
    job = jobs.for_each_store(statement, work, UnchangedStores())
    first, second = sorted([store.id, other_store.id])
    await job(lambda: True)
    assert worked == [second]
    await job(lambda: True)
    assert worked == [second, first]


async def test_a_run_ends_early_when_the_worker_stops_or_the_database_is_unavailable(new_store):
    stores = [await new_store() for _ in range(5)]
    done: list[int] = []

    async def work(scope: Scope) -> None:
        done.append(scope.store.id)

    outcome = await for_each_store(find(*stores), work)(lambda: len(done) < 2)
    assert (len(done), outcome.stores, outcome.complete) == (2, 2, False)

    async def away(scope: Scope) -> None:
        done.append(scope.store.id)
        raise Unavailable()

    done.clear()
    outcome = await for_each_store(find(*stores), away)(lambda: True)
    assert len(done) == 3
    assert outcome.error.endswith("(3 of 3 stores failed)")


# --- The jobs themselves ---------------------------------------------------------------------------------------------


async def add_order(store: Store, hold_until: datetime | None, status: str = "O", paid: str = "unpaid") -> int:
    with active_scope(system_scope(store)):
        order_id: int = await db.fetchval(
            """
            insert into orders (tenant_id, public_id, status, stock_state, payment_status, hold_until, origin)
            values ($1, $2, $3, 'R', $4, $5, 'storefront') returning id
            """,
            store.id, uuid7(), status, paid, hold_until,
        )  # fmt: skip
    return order_id


async def status_of(store: Store, order_id: int) -> str:
    with active_scope(system_scope(store)):
        status: str = await db.fetchval(
            "select status from orders where tenant_id = $1 and id = $2", store.id, order_id
        )
    return status


async def test_unpaid_checkouts_expire_in_every_store(store, other_store):
    past, future = now() - timedelta(minutes=1), now() + timedelta(minutes=5)
    due = await add_order(store, past), await add_order(other_store, past)
    kept = (
        await add_order(store, future),
        await add_order(store, past, paid="paid"),
        await add_order(store, None),
    )
    outcome = await EXPIRE_HOLDS.work(lambda: True)
    assert outcome.error == ""
    assert [await status_of(store, due[0]), await status_of(other_store, due[1])] == ["F", "F"]
    assert [await status_of(store, order_id) for order_id in kept] == ["O", "O", "O"]


async def test_expired_rows_are_deleted_and_others_kept(store, monkeypatch):
    limit_jobs_to(monkeypatch, store)
    scope = system_scope(store)
    ages = {"old": timedelta(days=31), "recent": timedelta(days=29)}
    with active_scope(scope):
        for name, age in ages.items():
            for sent in (True, False):
                await db.execute(
                    """
                    insert into outbox_events
                        (tenant_id, public_id, name, subject_type, subject_id, sequence, data, created_at, dispatched_at)
                    values ($1, $2, $3, 'order', $4, 1, '{}', $5, $6)
                    """,
                    store.id, uuid7(), f"{name} {sent}", uuid4(), scope.now - age, scope.now - age if sent else None,
                )  # fmt: skip
        await db.execute(
            "insert into lockouts (tenant_id, public_id, subject, until) values ($1, $2, 'a', $4), ($1, $3, 'b', $5)",
            store.id, uuid7(), uuid7(), scope.now - timedelta(minutes=1), scope.now + timedelta(minutes=5),
        )  # fmt: skip
    assert [(await job.work(lambda: True)).error for job in FORGET_SPENT] == ["", "", "", "", ""]
    with active_scope(scope):
        left = await db.fetch("select name from outbox_events where tenant_id = $1 order by name", store.id)
        assert [record["name"] for record in left] == ["recent False", "recent True"]
        locked = await db.fetch("select subject from lockouts where tenant_id = $1", store.id)
        assert [record["subject"] for record in locked] == ["b"]


async def test_the_command_runs_jobs_until_stopped(tmp_path: Path, database_url: str, store):
    order_id = await add_order(store, now() - timedelta(minutes=1))
    async with db.cross_store_connection() as platform:
        await platform.execute("delete from job_runs where name = any($1)", [each.name for each in JOBS])
    async with Vitrine(tmp_path, DATABASE_URL=database_url).running("worker") as worker:
        await worker.wait_for_log("worker started")
        async with asyncio.timeout(30):
            while await status_of(store, order_id) != "F":
                await asyncio.sleep(0.05)
        began = time.monotonic()
        assert await worker.stop() == 0
        assert time.monotonic() - began < 10
    for job in JOBS:
        assert (await run_of(job))["error"] == ""


@pytest.mark.parametrize("change", ["is_read_only = true", "status = 'S'"])
async def test_a_store_that_changed_since_the_run_began_is_left_alone(sample: SampleStore, change: str):
    done = []

    async def work(scope: Scope) -> None:
        done.append(scope.store.id)

    assert await jobs._in_store(sample.store, work) is None
    async with db.cross_store_connection() as platform:
        await platform.execute(f"update tenants set {change} where id = $1", sample.store.id)
    assert await jobs._in_store(sample.store, work) is None
    assert done == [sample.store.id], change


@pytest.mark.parametrize(
    "statement",
    [jobs._STORES_WITH_ORDERS, jobs._STORES_OF_JOB.format(count=1, number=0), STORES_TO_MEASURE],
    ids=["orders", "all", "usage"],
)
async def test_a_store_that_was_created_while_the_clock_was_ahead_is_found_when_it_is_set_back(
    sample: SampleStore, statement: str
):
    await sample.place_order((sample.mug, 1), email="ana@example.com")
    async with db.cross_store_connection() as platform:
        ahead = "update tenants set created_at = created_at + interval '1 day' where id = $1"
        await platform.execute(ahead, sample.store.id)
        assert sample.store.id in {row["id"] for row in await platform.fetch(statement, now())}
