"""`vitrine tenant move`: every row arrives while the store is written to, and an interruption leaves one store that serves."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock
from uuid import UUID

import asyncpg
import pytest

from domain import idempotency
from domain.idempotency import KeyClaim
from domain.media.addresses import media_key
from domain.media.contents import object_headers
from domain.media.option_files import DownloadableFile, option_file_key
from domain.storage import Storage, open_storage
from domain.webhooks.fan_out import fan_out_events
from kernel import logging
from kernel.clock import now
from kernel.errors import RuleViolation
from kernel.ids import uuid7
from models.connection import database as db
from server.operations import store_admin, store_move
from server.operations.archives import ArchiveError
from server.operations.media_contents import StoredContent
from server.operations.moved_stores import deletion_job
from server.operations.store_admin import set_status
from server.operations.store_copy import Side
from server.operations.store_move import MoveResult, StoreMove, lock_move, try_lock
from server.operations.store_transfer import connect_owner, move_parts, raise_sequence
from tests.harness.files import used_storage
from tests.harness.s3_server import S3Server, s3_url
from tests.harness.sample_store import SampleStore
from tests.server.command_line import SECRET, Vitrine
from tests.server.test_store_transfer import replace_sessions_by_the_first, rows_of

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow]

PRODUCT = "insert into products (tenant_id, public_id, name, slug, price_cents) values ($1, gen_random_uuid(), $2, $2, 1) returning id"


class Killed(Exception):
    """What a test raises in place of a kill."""


@dataclass(frozen=True)
class Databases:
    """The two databases as their owner, and the folder of files here, and the other storage."""

    here: str
    there: str
    folder: Path
    storage: str


def superuser(url: str) -> str:
    return url.replace("vitrine_owner@", "postgres@")


@pytest.fixture
async def databases(database_url: str, migrated_database_url: str, tmp_path: Path) -> Databases:
    connection = await asyncpg.connect(superuser(migrated_database_url))
    await connection.execute("GRANT SET ON PARAMETER session_replication_role TO vitrine_owner")
    await connection.close()
    return Databases(database_url, migrated_database_url, tmp_path, (tmp_path / "there").as_uri())


@asynccontextmanager
async def sides(databases: Databases, public_id: UUID) -> AsyncIterator[tuple[Side, Side]]:
    async with connect_owner(databases.here) as first, connect_owner(databases.there) as second:
        here = Side(first, databases.here, open_storage((databases.folder / "here").as_uri()))
        there = Side(second, databases.there, open_storage(databases.storage))
        for side in (here, there):
            await side.read(public_id)
        yield here, there


async def move(
    databases: Databases, sample: SampleStore, *, undo: bool = False, step: Any = lambda name: None
) -> MoveResult:
    public_id = sample.store.public_id
    async with sides(databases, public_id) as (here, there):
        source, target = (there, here) if undo else (here, there)
        await lock_move(source, target, public_id)
        return await StoreMove(source, target, step).run()


async def state(url: str, public_id: UUID) -> tuple[str, bool, str] | None:
    """Return status, whether it is read-only and the state of the move."""
    connection = await asyncpg.connect(superuser(url))
    try:
        row = await connection.fetchrow(
            "select status, is_read_only, coalesce(move->>'state', '') as state from tenants where public_id = $1",
            public_id,
        )
        return None if row is None else tuple(row)
    finally:
        await connection.close()


async def written(url: str, public_id: UUID, sql: str, *args: Any) -> Any:
    """Execute a statement with the store's id as `$1`, as an interface of that database would."""
    connection = await asyncpg.connect(superuser(url))
    try:
        store_id = await connection.fetchval("select id from tenants where public_id = $1", public_id)
        return await connection.fetchval(sql, store_id, *args)
    finally:
        await connection.close()


async def test_a_store_that_has_moved_is_listed_as_such(sample: SampleStore, databases: Databases):
    await move(databases, sample)
    entry = await store_admin.find_store(str(sample.store.public_id))
    assert (entry.status_name, entry.as_json()["move"]) == ("moved away", "left")


async def test_a_move_to_the_same_database_is_refused(sample: SampleStore, databases: Databases):
    with pytest.raises(ArchiveError, match="both URLs lead to the same database"):
        await move(replace(databases, there=databases.here), sample)


async def test_the_first_number_of_an_unused_sequence_is_not_assigned_again(sample: SampleStore, databases: Databases):
    await replace_sessions_by_the_first(sample)
    await move(databases, sample)
    next_id = "select nextval(pg_get_serial_sequence('sessions', 'id')) where $1 > 0"
    assert await written(databases.there, sample.store.public_id, next_id) == 2


async def test_no_id_is_drawn_twice_while_a_move_raises_a_sequence(databases: Databases):
    ids: list[int] = []

    async def draw() -> None:
        async with connect_owner(databases.there) as other:
            for _ in range(300):
                drawn = await other.fetch(
                    "select nextval(pg_get_serial_sequence('sessions', 'id')) from generate_series(1, 20)"
                )
                ids.extend(row["nextval"] for row in drawn)

    async with connect_owner(databases.there) as connection, asyncio.TaskGroup() as tasks:
        drawing = [tasks.create_task(draw()) for _ in range(2)]
        [sessions] = [part for part in await move_parts(connection) if part.table.name == "sessions"]
        await connection.execute(f"create temporary table {sessions.copy_name} as select 1::bigint as id")
        while not all(task.done() for task in drawing):
            await connection.execute(f"truncate {sessions.copy_name}")
            await connection.execute(
                f"insert into {sessions.copy_name} select last_value + 5 from {sessions.table.sequence}"
            )
            await raise_sequence(connection, sessions)
    assert len(ids) == len(set(ids)) == 12_000


async def test_everything_arrives_that_is_written_during_the_move(sample: SampleStore, databases: Databases):
    public_id, steps = sample.store.public_id, []

    async def write_on() -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            await sample.execute(PRODUCT, sample.store.id, f"durante-{number}")
            await sample.execute("update products set price_cents = $2 where tenant_id = $1", sample.store.id, number)
            await asyncio.sleep(0.01)

    stopped = asyncio.Event()
    writing = asyncio.create_task(write_on())

    def step(name: str) -> None:
        steps.append(name)
        if name == "pause":
            stopped.set()

    result = await move(databases, sample, step=step)
    await writing
    assert steps[:2] == ["copy", "follow"]
    assert steps[-5:] == ["compare", "pause", "switch", "switched", "done"]
    assert await rows_of(databases.there, public_id) == await rows_of(databases.here, public_id)
    assert await state(databases.here, public_id) == ("S", True, "left")
    assert await state(databases.there, public_id) == ("A", False, "arrived")
    assert result.pause_seconds < 15
    assert result.late == {}


async def test_deleted_and_exchanged_rows_are_followed(sample: SampleStore, databases: Databases):
    public_id = sample.store.public_id
    for slug in ("um", "dois", "tres"):
        await written(databases.here, public_id, PRODUCT, slug)
    changes = [
        "delete from products where tenant_id = $1 and slug = 'tres'",
        "update products set slug = 'outro' where tenant_id = $1 and slug = 'um'",
        "update products set slug = 'um' where tenant_id = $1 and slug = 'dois'",
        "update products set slug = 'dois' where tenant_id = $1 and slug = 'outro'",
    ]
    async with sides(databases, public_id) as (here, there):
        copying = StoreMove(here, there, lambda _: None)
        follow = copying._follow

        async def follow_and_change(ticket: str) -> None:
            await follow(ticket)
            for change in changes:
                await written(databases.here, public_id, change)

        copying._follow = follow_and_change  # type: ignore[method-assign]
        await copying.run()
    assert await rows_of(databases.there, public_id) == await rows_of(databases.here, public_id)


@pytest.mark.parametrize("at", ["copy", "follow", "compare", "pause", "switch", "switched", "done"])
@pytest.mark.parametrize("how", ["error", "kill"])
async def test_an_interrupted_move_leaves_one_store_and_is_continued(
    sample: SampleStore, databases: Databases, at: str, how: str
):
    public_id = sample.store.public_id
    before = await rows_of(databases.here, public_id)

    def fail(name: str) -> None:
        if name == at:
            raise Killed(name)

    async def interrupted() -> None:
        with pytest.raises(Killed):
            await move(databases, sample, step=fail)

    if how == "error":
        await interrupted()
    else:
        await asyncio.to_thread(killed_at, databases, public_id, at)
    here, there = await state(databases.here, public_id), await state(databases.there, public_id)
    assert here is not None
    writable = [side for side in (here, there) if side is not None and side[:2] == ("A", False)]
    serving = [side for side in (here, there) if side is not None and side[0] == "A"]
    if at in ("switched", "done"):
        assert writable == [there], (at, here, there)
    elif how == "error":
        assert writable == [here], (at, here, there)
    else:
        # What a killed process can't undo: the store is read-only until the command is repeated.
        assert serving == [here], (at, here, there)
    if at != "done":
        await move(databases, sample)
    assert await state(databases.here, public_id) == ("S", True, "left"), at
    assert await state(databases.there, public_id) == ("A", False, "arrived"), at
    assert await rows_of(databases.there, public_id) == before, at


def killed_at(databases: Databases, public_id: UUID, at: str) -> None:
    """Move in a process of its own, which kills itself at a step."""
    child = os.fork()
    if child:
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        return

    def die(name: str) -> None:
        if name == at:
            os.kill(os.getpid(), signal.SIGKILL)

    async def run() -> None:
        async with sides(databases, public_id) as (here, there):
            await StoreMove(here, there, die).run()

    try:
        asyncio.set_event_loop(None)
        asyncio.new_event_loop().run_until_complete(run())
    finally:
        os._exit(1)


# Rows count as written since the move if a transaction wrote them that wasn't older than all open ones, those of other tests among them.
WAS_ALONE = """
select max(p.xmin::text::bigint) < (select (move->>'since')::bigint from tenants where id = $1) from products p where p.tenant_id = $1
"""


async def move_alone(databases: Databases, sample: SampleStore) -> None:
    for _ in range(20):
        await move(databases, sample)
        if await written(databases.there, sample.store.public_id, WAS_ALONE):
            return
        await move(databases, sample, undo=True)
    pytest.fail("another transaction of the database server was open during each move")


async def test_a_move_is_undone_with_what_was_written_there(sample: SampleStore, databases: Databases):
    public_id = sample.store.public_id
    await move_alone(databases, sample)
    await written(databases.there, public_id, PRODUCT, "la")
    await written(
        databases.there, public_id, "update products set price_cents = 77 where tenant_id = $1 and slug = 'la'"
    )
    result = await move(databases, sample, undo=True)
    assert result.rows < 100
    assert (
        await written(
            databases.here, public_id, "select price_cents from products where tenant_id = $1 and slug = 'la'"
        )
        == 77
    )
    assert await rows_of(databases.here, public_id) == await rows_of(databases.there, public_id)
    assert await state(databases.here, public_id) == ("A", False, "arrived")
    assert await state(databases.there, public_id) == ("S", True, "left")
    await move(databases, sample)
    assert await state(databases.there, public_id) == ("A", False, "arrived")


async def test_a_request_that_was_refused_in_the_pause_may_be_repeated_at_once(
    sample: SampleStore, databases: Databases
):
    scope, keys = replace(sample.scope, now=now()), ["done", "in progress"]
    claims = [await idempotency.claim_key(scope, key, [bytes(32)]) for key in keys]
    assert isinstance(claims[0], KeyClaim)
    async with db.transaction(scope):
        await idempotency.complete(scope, claims[0], {})
    await move(databases, sample)
    sql = "select string_agg(key, ', ') from idempotency_claims where tenant_id = $1"
    assert await written(databases.there, sample.store.public_id, sql) == "done"


LATE = (
    "update users set last_login_at = now() + interval '1 day' where tenant_id = $1",
    "insert into schema_usage (tenant_id, public_id, field, is_deprecated, caller, uses)"
    " values ($1, gen_random_uuid(), 'Query.pages', false, 'admin', 3)",
    PRODUCT.replace("$2, $2", "'tarde', 'tarde'"),
)


@pytest.mark.parametrize("at", ["follow", "pause", "done"])
async def test_a_move_is_undone_though_rows_were_written_late(sample: SampleStore, databases: Databases, at: str):
    public_id = sample.store.public_id
    await move(databases, sample)
    before = await rows_of(databases.there, public_id)
    for statement in LATE:
        await written(databases.here, public_id, statement)

    def fail(name: str) -> None:
        if name == at:
            raise Killed(name)

    with pytest.raises(Killed):
        await move(databases, sample, undo=True, step=fail)
    if at != "done":
        await move(databases, sample, undo=True)
    assert await rows_of(databases.here, public_id) == before, at
    assert await state(databases.here, public_id) == ("A", False, "arrived"), at


async def test_what_can_t_be_moved_is_refused_before_anything_changes(sample: SampleStore, databases: Databases):
    public_id = sample.store.public_id
    with pytest.raises(ArchiveError, match="same database"):
        await move(replace(databases, there=databases.here), sample)
    with pytest.raises(ArchiveError, match="isn't here"):
        await move(databases, sample, undo=True)
    connection = await asyncpg.connect(superuser(databases.there))
    try:
        await connection.execute("REVOKE SET ON PARAMETER session_replication_role FROM vitrine_owner")
        with pytest.raises(ArchiveError, match="GRANT SET ON PARAMETER session_replication_role TO vitrine_owner"):
            await move(databases, sample)
    finally:
        await connection.close()
    unfinished = (
        "delete from tortoise_migrations where name = '0089_switching_warehouses' returning coalesce($1::bigint, 0)"
    )
    await written(databases.there, public_id, unfinished)
    with pytest.raises(ArchiveError, match="lacks the migration 0089_switching_warehouses: migrate both"):
        await move(databases, sample)
    assert (await state(databases.here, public_id) or ())[:2] == ("A", False)
    assert await state(databases.there, public_id) is None


async def test_a_database_without_tables_is_no_place_to_move_to(
    sample: SampleStore, databases: Databases, empty_database_url: str
):
    async with connect_owner(databases.here) as first, connect_owner(empty_database_url) as second:
        files = open_storage(databases.storage)
        sides = Side(first, databases.here, files), Side(second, empty_database_url, files)
        with pytest.raises(ArchiveError, match="run vitrine migrate there"):
            await lock_move(*sides, sample.store.public_id)


async def test_a_store_is_not_read_only_for_as_long_as_the_other_database_doesn_t_answer(
    sample: SampleStore, databases: Databases, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(store_move, "_PROBE_SECONDS", 0.05)
    public_id = sample.store.public_id
    async with sides(databases, public_id) as (here, there):

        def cut(name: str) -> None:
            if name == "pause":
                there.url = "postgresql://vitrine_owner@127.0.0.1:1/vitrine"

        with pytest.raises(ArchiveError, match=r"to which the store moves is lost.*serves on where it was"):
            await StoreMove(here, there, cut).run()
    assert await state(databases.here, public_id) == ("A", False, "followed")
    async with sides(databases, public_id) as (here, there):

        def end_here(name: str) -> None:
            if name == "done":
                here.connection.terminate()

        with pytest.raises(ArchiveError, match=r"from which the store moves is lost.*the store has moved"):
            await StoreMove(here, there, end_here).run()
    again = await move(databases, sample)
    assert (again.rows, await state(databases.there, public_id)) == (0, ("A", False, "arrived")), (
        "as an interrupted one"
    )


async def test_the_store_can_t_be_resumed_between_the_transactions_of_the_switch(
    sample: SampleStore, databases: Databases
):
    def fail(name: str) -> None:
        if name == "switched":
            raise Killed(name)

    with pytest.raises(Killed):
        await move(databases, sample, step=fail)
    with pytest.raises(RuleViolation, match="repeat vitrine tenant move"):
        await set_status(str(sample.store.public_id), "A")
    assert await state(databases.here, sample.store.public_id) == ("A", True, "leaving")


@pytest.mark.parametrize("change", ["status = 'M'", "is_read_only = true"])
@pytest.mark.parametrize("at", ["compare", "pause"])
async def test_a_status_that_is_set_during_the_move_stays(
    sample: SampleStore, databases: Databases, change: str, at: str
):
    public_id = sample.store.public_id
    async with sides(databases, public_id) as (here, there):
        copying = StoreMove(here, there, lambda _: None)
        wait, compare = copying._wait_for_writers, copying._copy.copy_changes

        async def set_and_continue(*args: Any, **options: Any) -> None:
            if at == "pause" or options:
                await written(databases.here, public_id, f"update tenants set {change} where id = $1")
            await (wait(*args) if at == "pause" else compare(*args, **options))

        if at == "pause":
            copying._wait_for_writers = set_and_continue  # type: ignore[method-assign]
        else:
            copying._copy.copy_changes = set_and_continue  # type: ignore[method-assign]
        if (at, change) == ("pause", "is_read_only = true"):
            await copying.run()  # as it is in the pause
            return
        with pytest.raises(ArchiveError, match="status of the store has changed"):
            await copying.run()
    expected = ("M", False) if "status" in change else ("A", True)
    assert (await state(databases.here, public_id) or ())[:2] == expected


async def test_the_store_serves_on_while_transactions_write(
    sample: SampleStore, databases: Databases, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("server.operations.store_move._WRITERS_SECONDS", 0.2)
    async with connect_owner(databases.here, sample.store.id) as writer, writer.transaction():
        await writer.execute(PRODUCT, sample.store.id, "aberta")
        with pytest.raises(ArchiveError, match="transactions that write have been open"):
            await move(databases, sample)
    assert await state(databases.here, sample.store.public_id) == ("A", False, "followed")


def contents_of(public_id: UUID) -> list[StoredContent]:
    return [
        StoredContent(media_key(public_id, "a" * 64), "image/svg+xml", "a.svg", 1, "a" * 64),
        StoredContent(option_file_key(public_id, public_id), "text/html", "b.html", 1, "b" * 64),
        StoredContent(media_key(public_id, "c" * 64), "image/png", "c.png", 1, "c" * 64),
    ]


async def test_files_keep_their_headers_and_missing_ones_are_reported(
    sample: SampleStore, databases: Databases, monkeypatch: pytest.MonkeyPatch
):
    public_id = sample.store.public_id
    media, private, missing = contents_of(public_id)
    finding = AsyncMock(return_value=[media, private, missing])
    monkeypatch.setattr("server.operations.store_move.find_contents", finding)
    put = AsyncMock()
    async with sides(databases, public_id) as (here, there):
        for content in (media, private):
            await here.files.put(content.key, b"x")
        there.files.put = put  # type: ignore[method-assign]
        result = await StoreMove(here, there, lambda _: None).run()
    headers = {call.args[0]: call.args[2] for call in put.await_args_list}
    assert headers == {
        media.key: object_headers("image/svg+xml", "a.svg"),
        private.key: DownloadableFile("b.html", "text/html").headers(),
    }
    assert (result.files, result.missing) == (2, (missing.key,))


CONTENTS = {"media": b"<svg xmlns='http://www.w3.org/2000/svg'/>", "file": b"a drawing for the engraving"}


async def stored_files(sample: SampleStore, files: Storage) -> dict[str, bytes]:
    """Store a picture and a shopper's file, with their rows; return their contents by key."""
    store, digests = sample.store, {name: hashlib.sha256(data).hexdigest() for name, data in CONTENTS.items()}
    await sample.execute(
        "insert into media_files (tenant_id, public_id, sha256, mime_type, file_name, bytes, status)"
        " values ($1, gen_random_uuid(), $2, 'image/svg+xml', 'a.svg', 1, 'ready')", store.id, digests["media"],
    )  # fmt: skip
    option = await sample.value(
        "insert into options (tenant_id, public_id, name) values ($1, gen_random_uuid(), 'Arte') returning id", store.id
    )
    cart = await sample.value(
        "insert into carts (tenant_id, public_id, expires_at) values ($1, gen_random_uuid(), now() + interval '1 day') returning id",
        store.id,
    )
    file_id = uuid7()
    await sample.execute(
        "insert into option_files (tenant_id, public_id, file_id, option_id, cart_id, file_name, mime_type, bytes, sha256)"
        " values ($1, gen_random_uuid(), $2, $3, $4, 'arte.txt', 'text/plain', 1, $5)",
        store.id, file_id, option, cart, digests["file"],
    )  # fmt: skip
    contents = {
        media_key(store.public_id, digests["media"]): CONTENTS["media"],
        option_file_key(store.public_id, file_id): CONTENTS["file"],
    }
    for key, data in contents.items():
        await files.put(key, data)
    return contents


@pytest.mark.parametrize("kind", ["folder", "s3"])
async def test_the_contents_of_files_arrive_in_the_other_storage_and_come_back(
    sample: SampleStore, databases: Databases, s3: S3Server, kind: str
):
    storage = s3_url(s3) if kind == "s3" else databases.storage
    databases = replace(databases, storage=storage)
    contents = await stored_files(sample, open_storage((databases.folder / "here").as_uri()))
    result = await move(databases, sample)
    assert (result.files, result.missing) == (2, ())
    assert {key: await open_storage(storage).read(key) for key in contents} == contents
    shutil.rmtree(databases.folder / "here")
    await move(databases, sample, undo=True)
    here = open_storage((databases.folder / "here").as_uri())
    assert {key: await here.read(key) for key in contents} == contents


LEFT_AT = "update tenants set move = move || jsonb_build_object('at', now() - $2::interval) where id = $1"


async def test_what_a_move_left_is_deleted_after_a_day_with_its_files(sample: SampleStore, databases: Databases):
    public_id, here = sample.store.public_id, (databases.folder / "here").as_uri()
    job, kept = deletion_job(databases.here, 1), deletion_job(databases.here, 0)
    with used_storage(here) as files:
        contents = await stored_files(sample, files)
        await move(databases, sample)
        rows = await rows_of(databases.there, public_id)
        await written(databases.here, public_id, LEFT_AT, timedelta(hours=23))
        await job.work(lambda: True)
        assert await state(databases.here, public_id) == ("S", True, "left")
        await written(databases.here, public_id, LEFT_AT, timedelta(hours=25))
        async with connect_owner(databases.here) as undoing:
            assert await try_lock(undoing, public_id)
            assert (await job.work(lambda: True)).error == ""
            assert await state(databases.here, public_id) == ("S", True, "left")
        await kept.work(lambda: True)
        assert await state(databases.here, public_id) == ("S", True, "left")
        lines: list[Any] = []
        before = logging.set_sink(lambda line: lines.append(json.loads(line)))
        try:
            await job.work(lambda: True)
        finally:
            logging.set_sink(before)
        assert [await files.read(key) for key in contents] == [None, None]
    [line] = [line for line in lines if line["event"] == "what a moved store left is deleted"]
    receipt = line["receipt"]
    digest = receipt.pop("sha256")
    text = json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert digest == hashlib.sha256(text.encode()).hexdigest()
    assert receipt["tenant_id"] == str(public_id)
    assert [name for name, key in zip(receipt["files"], sorted(contents), strict=True) if not key.endswith(name)] == []
    assert await state(databases.here, public_id) is None
    assert await state(databases.there, public_id) == ("A", False, "arrived")
    assert await rows_of(databases.there, public_id) == rows
    assert [await open_storage(databases.storage).read(key) for key in contents] == [*contents.values()]


async def test_a_store_that_moves_back_while_the_job_waits_is_not_deleted(
    sample: SampleStore, databases: Databases, monkeypatch: pytest.MonkeyPatch
):
    public_id = sample.store.public_id
    await move(databases, sample)
    await written(databases.here, public_id, LEFT_AT, timedelta(hours=25))
    left = await store_admin.list_left_stores(timedelta(days=1))
    await move(databases, sample, undo=True)
    lists = AsyncMock(side_effect=[left, await store_admin.list_left_stores(timedelta(days=1))])
    monkeypatch.setattr("server.operations.moved_stores.list_left_stores", lists)
    await deletion_job(databases.here, 1).work(lambda: True)
    assert lists.await_count == 2
    assert await state(databases.here, public_id) == ("A", False, "arrived")


@pytest.mark.parametrize("locks", [True, False])
async def test_an_undo_that_read_the_store_before_it_was_deleted_leaves_one_that_serves(
    sample: SampleStore, databases: Databases, locks: bool
):
    public_id = sample.store.public_id
    await move(databases, sample)
    rows = await rows_of(databases.there, public_id)
    await written(databases.here, public_id, LEFT_AT, timedelta(hours=25))
    async with sides(databases, public_id) as (here, there):
        await deletion_job(databases.here, 1).work(lambda: True)
        if locks:
            await lock_move(there, here, public_id)
            await StoreMove(there, here, lambda _: None).run()
        else:
            with pytest.raises(ArchiveError, match="deleted meanwhile"):
                await StoreMove(there, here, lambda _: None).run()
    if locks:
        assert await state(databases.here, public_id) == ("A", False, "arrived")
        assert await state(databases.there, public_id) == ("S", True, "left")
    else:
        assert await state(databases.there, public_id) == ("A", False, "followed")
    assert await rows_of(databases.here if locks else databases.there, public_id) == rows


APP = """
insert into apps (public_id, client_id, name, mode, redirect_uris, scopes, secret_hash, secret_sealed, registered_in)
values ($2::uuid, $2::uuid::text, $3, 'live', '{https://a.example}', '{read_orders}', $4, $4, case when $5 then $1::bigint end)
"""


async def test_apps_arrive_as_the_store_has_them_that_registered_them(sample: SampleStore, databases: Databases):
    own, others = uuid7(), uuid7()
    for app, is_own in ((own, True), (others, False)):
        await written(databases.here, sample.store.public_id, APP, app, "new", bytes(32), is_own)
        # As `vitrine cells sync` has copied them, before a change here and there.
        await written(databases.there, sample.store.public_id, APP, app, "old", bytes(32), False)
    await sample.execute(
        "insert into app_installations (tenant_id, public_id, app_id, scopes)"
        " select $1, gen_random_uuid(), id, '{read_orders}' from apps where public_id = $2",
        sample.store.id, others,
    )  # fmt: skip
    await move(databases, sample)
    apps = "select array_agg((name, registered_in is not distinct from $1) order by name) from apps where public_id = any($2)"
    assert await written(databases.there, sample.store.public_id, apps, [own, others]) == [
        ("new", True),
        ("old", False),
    ]


async def test_a_file_that_is_uploaded_meanwhile_needs_another_storage(
    sample: SampleStore, databases: Databases, monkeypatch: pytest.MonkeyPatch
):
    public_id = sample.store.public_id
    finding = AsyncMock(side_effect=[[], [], contents_of(public_id)])
    monkeypatch.setattr("server.operations.store_move.find_contents", finding)
    async with sides(databases, public_id) as (here, there):
        there.files = open_storage((databases.folder / "here").as_uri())
        with pytest.raises(ArchiveError, match="--to-storage is required"):
            await StoreMove(here, there, lambda _: None).run()
    assert (await state(databases.here, public_id) or ())[:2] == ("A", False)


async def test_workers_leave_copies_alone(sample: SampleStore):
    await sample.execute("update outbox_events set dispatched_at = null where tenant_id = $1", sample.store.id)
    async with db.cross_store_connection() as platform:
        await platform.execute("update tenants set status = 'S', is_read_only = true where id = $1", sample.store.id)
    pending = "select count(*) from outbox_events where dispatched_at is null"
    before = await sample.value(pending)
    await fan_out_events()
    assert await sample.value(pending) == before


async def test_the_command_moves_a_store_and_back(sample: SampleStore, databases: Databases, tmp_path: Path):
    vitrine = Vitrine(tmp_path, DATABASE_URL=databases.here, VITRINE_SECRET_KEY=SECRET)
    refused = vitrine("tenant", "move", sample.host).error_line
    assert "VITRINE_MOVE_TO_URL" in refused
    for option, address in (("--to", "postgresql://a:secret@[b/c"), ("--to-storage", "s3://a:secret@[b")):
        refused = vitrine("tenant", "move", sample.host, "--to", databases.there, option, address).error_line
        assert option in refused, refused
        assert "secret" not in refused, (option, refused)
    vitrine = Vitrine(
        tmp_path, DATABASE_URL=databases.here, VITRINE_SECRET_KEY=SECRET, VITRINE_MOVE_TO_URL=databases.there
    )
    to = ("--to-storage", (tmp_path / "files").as_uri())
    moved = vitrine("tenant", "move", sample.host, *to, "--json").json
    assert (moved["tenant_id"], moved["rounds"] >= 3) == (str(sample.store.public_id), True)
    refused = vitrine("tenant", "resume", str(sample.store.public_id)).error_line
    assert "in another database" in refused
    back = vitrine("tenant", "move", sample.host, *to, "--undo").out
    assert "read-only for" in back
    assert vitrine("tenant", "suspend", sample.host).code == 0
