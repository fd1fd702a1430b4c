"""A transaction belongs to one store, nests, and always releases its connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from kernel.errors import Unavailable
from kernel.ids import uuid7
from kernel.scope import Scope, active_scope, current_scope
from models.connection import database as db
from models.connection.connections import StoreConnection
from models.connection.database import TransactionEnded, WrongStore, separate_transaction, transaction
from models.connection.transactions import CommitFailed, open_transaction
from models.tables.catalog import Product
from models.tables.marketplace import Vendor
from tests.harness.database import needs_session

INSERT = "insert into vendors (public_id, name) values ($1, $2)"

pytestmark = pytest.mark.usefixtures("database")


async def names(scope: Scope) -> list[str]:
    with active_scope(scope):
        return [r["name"] for r in await db.fetch("select name from vendors order by id")]


async def add(name: str) -> None:
    assert await db.execute(INSERT, uuid7(), name) == 1


def idle() -> tuple[int, int]:
    pool = db._connected().pool
    return pool.get_idle_size(), pool.get_size()


@pytest.fixture(autouse=True)
async def all_connections_are_released():
    yield
    async with asyncio.timeout(10):
        while len({*idle()}) > 1:  # other processes are being notified of the test's writes
            await asyncio.sleep(0.01)


class Failure(Exception):
    """Raised by tests to end a transaction with an error."""


@asynccontextmanager
async def failing(scope: Scope, begin: Callable[..., Any] | None = None) -> AsyncIterator[None]:
    """Work in a transaction that ends with an error."""
    with suppress(Failure):
        async with begin() if begin else transaction(scope):
            yield
            raise Failure


async def test_the_end_of_the_block_commits(scope):
    async with transaction(scope):
        assert current_scope() is scope
        await add("a")
        await Vendor.create(name="b")
        assert await db.fetchval("select count(*) from vendors") == 2
    assert current_scope() is None
    assert await names(scope) == ["a", "b"]


async def test_an_error_rolls_back(scope):
    async with failing(scope):
        await add("a")
        await Vendor.create(name="b")
    assert await names(scope) == []


async def test_the_original_error_is_raised(scope):
    async def fail() -> None:
        async with transaction(scope):
            raise Failure("this one")

    with pytest.raises(Failure, match="this one"):
        await fail()


async def test_nested_transactions_are_savepoints(scope):
    async with transaction(scope):
        await add("a")
        async with failing(scope):
            await add("b")
        with pytest.raises(db.CheckViolation):
            async with transaction(scope):
                await db.execute("update vendors set status = '?'")
        async with transaction(scope):
            await add("c")
    assert await names(scope) == ["a", "c"]


async def test_a_scope_of_another_store_is_rejected_inside(scope, other_scope):
    async with transaction(scope):
        with pytest.raises(WrongStore):
            async with transaction(other_scope):
                pass
        with active_scope(other_scope):
            with pytest.raises(WrongStore):
                await db.fetch("select 1")
            with pytest.raises(WrongStore):
                await Vendor.all()
        await add("a")
    assert await names(scope) == ["a"]


async def test_a_separate_transaction_survives_the_rollback(scope):
    insert = "insert into wrong_attempts (public_id, subject) values ($1, $2)"
    subjects = "select array_agg(subject order by subject) from wrong_attempts"
    async with failing(scope):
        await db.execute(insert, uuid7(), "a")
        async with separate_transaction(scope):
            await db.execute(insert, uuid7(), "b")
            assert await db.fetchval(subjects) == ["b"]
        assert await db.fetchval(subjects) == ["a", "b"]
    with active_scope(scope):
        assert await db.fetchval(subjects) == ["b"]


async def test_many_separate_transactions_do_not_exhaust_the_pool(scope):
    async def one() -> None:
        async with transaction(scope):
            await db.fetchval("select 1")
            await asyncio.sleep(0.01)
            async with separate_transaction(scope):
                await db.fetchval("select 1")

    async with asyncio.timeout(10):
        await asyncio.gather(*(one() for _ in range(40)))


async def test_tasks_of_a_gather_share_the_transaction(scope):
    async with failing(scope):
        await asyncio.gather(*(add(str(n)) for n in range(20)), Vendor.create(name="x"))
        assert await db.fetchval("select count(*) from vendors") == 21
    assert await names(scope) == []


async def test_a_task_that_outlives_the_transaction_gets_an_error(scope):
    go = asyncio.Event()

    async def late(work) -> None:
        await go.wait()
        await work()

    async with transaction(scope):
        tasks = [asyncio.create_task(late(work)) for work in (lambda: add("late"), Vendor.all)]
    go.set()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(result, TransactionEnded)
    assert await names(scope) == []


async def test_a_commit_after_a_suppressed_error_fails(scope):
    async def suppress_error() -> None:
        async with transaction(scope):
            await add("a")
            with suppress(db.CheckViolation):
                await db.execute("update vendors set status = '?'")

    with pytest.raises(CommitFailed):
        await suppress_error()
    assert await names(scope) == []


class TestCommitCallbacks:
    async def test_callbacks_run_in_order_outside_of_the_transaction(self, scope):
        calls = []

        async def second() -> None:
            calls.append(("second", db.in_transaction(), await names(scope)))

        async with transaction(scope):
            db.on_commit(lambda: calls.append(("first", db.in_transaction())))
            await db.after_commit(second)
            await add("a")
            assert calls == []
        assert calls == [("first", False), ("second", False, ["a"])]

    async def test_a_rollback_drops_callbacks(self, scope):
        calls: list[str] = []
        async with transaction(scope):
            db.on_commit(lambda: calls.append("outer"))
            async with failing(scope):
                db.on_commit(lambda: calls.append("inner"))
            async with transaction(scope):
                db.on_commit(lambda: calls.append("inner commit"))
        assert calls == ["outer", "inner commit"]
        async with failing(scope):
            db.on_commit(lambda: calls.append("never"))
        assert calls == ["outer", "inner commit"]

    async def test_a_failing_callback_does_not_affect_the_others_or_the_caller(self, scope, caplog):
        calls: list[str] = []

        async def fails() -> None:
            raise ValueError("callback error")

        async with transaction(scope):
            db.on_commit(fails)
            db.on_commit(lambda: calls.append("second"))
        assert calls == ["second"]
        assert "callback error" in caplog.text

    async def test_without_a_transaction_callbacks_run_at_once(self):
        calls: list[str] = []
        await db.after_commit(lambda: calls.append("at once"))
        assert calls == ["at once"]
        with pytest.raises(RuntimeError):
            db.on_commit(lambda: None)


class TestCancellation:
    async def cancel_during(self, monkeypatch, statement: str, scope: Scope, calls: list[str]) -> None:
        """Cancel a transaction while it sends the statement."""
        sending = asyncio.Event()
        method = "execute" if statement == "commit" else "_execute"
        original = getattr(StoreConnection, method)

        async def slow(self, query, *args, **kwargs):
            if query == statement:
                sending.set()
                await asyncio.sleep(0)
            return await original(self, query, *args, **kwargs)

        monkeypatch.setattr(StoreConnection, method, slow)

        async def work() -> None:
            async with transaction(scope):
                db.on_commit(lambda: calls.append("committed"))
                await add("a")

        task = asyncio.create_task(work())
        await sending.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        monkeypatch.undo()

    async def test_during_its_first_statement_the_connection_is_released(self, scope, monkeypatch):
        calls: list[str] = []
        await self.cancel_during(monkeypatch, INSERT, scope, calls)
        await asyncio.sleep(0.05)
        assert (calls, await names(scope)) == ([], [])

    async def test_during_commit_the_commit_is_completed(self, scope, monkeypatch):
        calls: list[str] = []
        await self.cancel_during(monkeypatch, "commit", scope, calls)
        assert (calls, await names(scope)) == (["committed"], ["a"])

    async def test_during_a_statement_rolls_back(self, scope):
        async def work() -> None:
            async with transaction(scope):
                await add("a")
                await db.fetchval("select pg_sleep(10)")

        task = asyncio.create_task(work())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await names(scope) == []

    async def test_at_random_times_all_connections_are_released(self, scope):
        async def work() -> None:
            async with transaction(scope):
                await add("a")
                async with transaction(scope):
                    await Vendor.all().count()

        for n in range(300):
            task = asyncio.create_task(work())
            for _ in range(n % 60):
                await asyncio.sleep(0)
            if n % 7 == 0:
                await asyncio.sleep(0.0005)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        async with asyncio.timeout(5):
            while idle()[0] != idle()[1]:
                await asyncio.sleep(0.01)
        assert await db.fetchval("select 1") == 1


class TestErrors:
    async def test_constraint_violations_of_sql_and_of_models_have_the_constraint_name(self, scope):
        with active_scope(scope):
            await Product.create(name="x", slug="same", price_cents=1)
            with pytest.raises(db.UniqueViolation) as unique:
                await Product.create(name="x", slug="same", price_cents=1)
            assert unique.value.constraint == db.violated_constraint(unique.value) == "products_slug_key"
            with pytest.raises(db.CheckViolation) as oversold:
                await db.execute("update products set reserved = on_hand + 1")
            assert oversold.value.constraint == "products_stock_not_oversold"
            with pytest.raises(db.CheckViolation) as missing:
                await db.execute("update products set name = null")
            assert missing.value.constraint == "products_name_not_null"

    async def test_a_statement_timeout_raises_unavailable(self, scope):
        async def wait() -> None:
            async with transaction(scope):
                await db.execute("set local statement_timeout = 50")
                await db.fetchval("select pg_sleep(5)")

        with pytest.raises(Unavailable, match="request timeout"):
            await wait()
        assert await db.fetchval("show statement_timeout") == "25s"

    async def test_a_deadlock_raises_unavailable(self, scope):
        with active_scope(scope):
            for name in ("a", "b"):
                await add(name)
        both = asyncio.Barrier(2)

        async def lock(first: str, second: str) -> None:
            async with transaction(scope):
                await db.execute("update vendors set city = 'x' where name = $1", first)
                await both.wait()
                await db.execute("update vendors set city = 'x' where name = $1", second)

        results = await asyncio.gather(lock("a", "b"), lock("b", "a"), return_exceptions=True)
        (error,) = [result for result in results if result is not None]
        assert isinstance(error, Unavailable)
        assert "try again" in error.message

    async def test_a_killed_backend_is_unavailable_and_the_next_statement_works(self, scope, kill_backend):
        async def work() -> None:
            async with transaction(scope):
                await add("a")
                await kill_backend(await db.fetchval("select pg_backend_pid()"))
                await db.fetchval("select 1")

        with pytest.raises(Unavailable):
            await work()
        assert await names(scope) == []

    @pytest.mark.parametrize("has_run_a_statement", [True, False])
    async def test_a_transaction_whose_connection_was_terminated_is_not_committed(self, scope, has_run_a_statement):
        committed = []

        async def work() -> None:
            async with transaction(scope):
                db.on_commit(lambda: committed.append(True))
                if has_run_a_statement:
                    await add("a")
                current = open_transaction()
                assert current is not None
                (await current.acquire()).terminate()
                current.release()

        with pytest.raises(Unavailable):
            await work()
        assert committed == []
        assert await names(scope) == []

    @needs_session
    async def test_a_table_changed_under_a_transaction_is_unavailable_once(self, scope, database_url):
        owner = await asyncpg.connect(database_url)
        await owner.execute("create table changing (a int); grant select on changing to vitrine_app")

        connections = 5  # all that a store has of the pool, whichever the next transaction gets
        everyone = asyncio.Barrier(connections)

        async def read(*, together: bool = False) -> None:
            async with transaction(scope):
                await db.fetch("select * from changing")
                if together:
                    await everyone.wait()

        try:
            await asyncio.gather(*(read(together=True) for _ in range(connections)))
            await owner.execute("alter table changing add column b int")
            with pytest.raises(Unavailable):
                await read()
            await asyncio.gather(*(read(together=True) for _ in range(connections)))
        finally:
            await owner.execute("drop table changing")
            await owner.close()

    async def test_programming_errors_in_sql_are_not_unavailable(self):
        with pytest.raises(Exception, match="does not exist") as mistake:
            await db.fetch("select nonsense")
        assert not isinstance(mistake.value, Unavailable)
        with pytest.raises(Exception, match="expects 1 argument") as mistake:
            await db.fetch("select $1::int", 1, 2)
        assert not isinstance(mistake.value, Unavailable)


async def test_statements_are_counted_apart_from_overhead(scope):
    with db.count_statements() as counted:
        async with transaction(scope):
            await add("a")
            await Vendor.all()
            async with transaction(scope):
                await asyncio.gather(db.fetchval("select 1"), db.fetchrow("select $1::int", 2))
    assert counted.count == len(counted.statements) == 4
    assert counted.statements[0] == INSERT
    assert counted.overhead == 3  # savepoint, release, commit


async def test_a_transaction_without_statements_sends_nothing(scope):
    committed: list[str] = []
    with db.count_statements() as counted:
        async with transaction(scope):
            db.on_commit(lambda: committed.append("callback"))
        with pytest.raises(LookupError):
            async with transaction(scope):
                raise LookupError
    assert (counted.count, counted.overhead, committed) == (0, 0, ["callback"])


async def test_a_transaction_whose_first_statement_fails_is_not_committed(scope):
    async def suppress_the_error() -> None:
        async with transaction(scope):
            with suppress(Exception):
                await db.fetchval("select 1 / ($1::int - 1)", 1)

    with pytest.raises(CommitFailed):
        await suppress_the_error()


class TestDeferredStatements:
    """`execute_later`, after the statement was prepared."""

    @pytest.fixture(autouse=True)
    async def prepared(self, scope):
        async with transaction(scope):
            await self.add("prepared")
            await db.execute("delete from vendors where name = $1", "prepared")

    @staticmethod
    async def add(name: str) -> None:
        await db.execute_later(INSERT, uuid7(), name)

    async def test_they_run_before_the_next_statement(self, scope):
        async with transaction(scope):
            await self.add("a")
            await self.add("b")
            assert await names(scope) == ["a", "b"]
            assert await db.execute("delete from vendors where name = $1", "a") == 1

    async def test_they_run_with_the_commit(self, scope):
        committed: list[str] = []
        async with transaction(scope):
            db.on_commit(lambda: committed.append("callback"))
            await self.add("a")
        assert (await names(scope), committed) == (["a"], ["callback"])

    async def test_one_alone_is_committed_or_rolled_back(self, scope):
        async with transaction(scope):
            await self.add("a")
        with suppress(LookupError):
            async with transaction(scope):
                await self.add("b")
                raise LookupError
        assert await names(scope) == ["a"]

    async def test_the_first_one_stays_when_the_next_statement_is_not_sent(self, scope):
        async with transaction(scope):
            await self.add("a")
            with suppress(Exception):
                await db.fetchval("select $1::int", "seven")
            assert await names(scope) == ["a"]

    async def test_one_that_fails_ends_the_transaction(self, scope):
        public_id = uuid7()
        committed: list[str] = []

        async def add_twice() -> None:
            async with transaction(scope):
                db.on_commit(lambda: committed.append("callback"))
                await add("a")
                await db.execute_later(INSERT, public_id, "b")
                await db.execute_later(INSERT, public_id, "c")

        with pytest.raises(db.UniqueViolation):
            await add_twice()
        assert (await names(scope), committed) == ([], [])

    async def test_a_savepoint_rolls_back_those_within(self, scope):
        async with transaction(scope):
            await self.add("before")
            with suppress(LookupError):
                async with transaction(scope):
                    await self.add("within")
                    raise LookupError
        assert await names(scope) == ["before"]

    async def test_one_that_fails_within_a_savepoint_leaves_the_transaction_open(self, scope):
        public_id = uuid7()
        async with transaction(scope):
            await add("before")
            with suppress(db.UniqueViolation):
                async with transaction(scope):
                    await db.execute_later(INSERT, public_id, "b")
                    await db.execute_later(INSERT, public_id, "c")
            await self.add("after")
        assert await names(scope) == ["before", "after"]

    async def test_a_rollback_drops_them(self, scope):
        with suppress(LookupError):
            async with transaction(scope):
                await add("a")
                await self.add("b")
                raise LookupError
        assert await names(scope) == []

    async def test_a_statement_that_is_not_sent_keeps_them(self, scope):
        async with transaction(scope):
            await add("a")
            await self.add("b")
            with suppress(Exception):
                await db.fetchval("select $1::int", "seven")
        assert await names(scope) == ["a", "b"]

    async def test_without_a_transaction_one_runs_at_once(self, scope):
        with active_scope(scope):
            await self.add("a")
        assert await names(scope) == ["a"]

    async def test_their_parameters_are_those_of_other_statements(self, scope):
        parts = ["$2::text[]", "$3::uuid[]", "$4::timestamptz", "$5::bigint", "$6::boolean", "$7::bytea"]
        name = " || ".join(f"{part}::text" for part in parts)
        statement = f"insert into vendors (public_id, name) select $1, {name}"
        texts = ["", "NULL", None, 'a "quoted", {braced}', "back\\slash", "ação\n", "日本"]
        at = datetime(2026, 11, 23, 4, 40, 1, 123456, tzinfo=UTC)
        values = (texts, [uuid7()], at, -(2**60), True, b"\x00\xff")
        async with transaction(scope):
            for run in (db.execute, db.execute_later, db.execute_later):
                await run(statement, uuid7(), *values)
        stored = await names(scope)
        assert (len(stored), len(set(stored))) == (3, 1)
