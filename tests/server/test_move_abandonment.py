"""`vitrine tenant move --abandon`: a store serves again when the other database of its move is lost, and in one database only."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock
from urllib.parse import urlsplit

import pytest

from server.operations import cells
from server.operations.cells import Cell, build_lines
from server.operations.moved_stores import deletion_job
from server.operations.store_move import StoreMove
from server.operations.store_transfer import connect_owner
from tests.harness.sample_store import SampleStore
from tests.server.command_line import SECRET, Vitrine
from tests.server.test_store_deletion import interrupted_deletion
from tests.server.test_store_move import LEFT_AT, Databases, Killed, databases, move, state, superuser, written
from tests.server.test_store_transfer import rows_of

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow]
__all__ = ["databases", "interrupted_deletion"]

CLOSED_PORT = "postgresql://vitrine_owner@127.0.0.1:1/vitrine"
AUDITED = """
select coalesce(json_agg(details order by id), '[]')::text from audit_entries where tenant_id = $1 and action = 'store.move_abandoned'
"""


def lost(databases: Databases) -> str:
    """Return the URL of a database that its server doesn't have any more."""
    return urlsplit(databases.there)._replace(path="/lost").geturl()


def command(databases: Databases, folder: Path, to: str | None = None) -> Vitrine:
    return Vitrine(
        folder, DATABASE_URL=databases.here, VITRINE_SECRET_KEY=SECRET, VITRINE_MOVE_TO_URL=to or databases.there
    )


async def interrupt(sample: SampleStore, databases: Databases, at: str, *, undo: bool = False) -> None:
    def fail(name: str) -> None:
        if name == at:
            raise Killed(name)

    with pytest.raises(Killed):
        await move(databases, sample, undo=undo, step=fail)


@pytest.fixture
def as_if_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let moves clean up nothing, as a killed process."""
    monkeypatch.setattr(StoreMove, "_serve_on", AsyncMock())


@pytest.mark.parametrize(
    "at, was", [("switch", "leaving"), ("switched", "leaving"), ("done", "left"), ("undo", "copying")]
)
@pytest.mark.parametrize("where", ["database", "server"])
async def test_a_store_serves_again_whose_other_database_is_lost(
    sample: SampleStore, databases: Databases, tmp_path: Path, as_if_killed: None, at: str, was: str, where: str
):
    public_id, former = sample.store.public_id, {"former_ids": [123456789]}
    await written(databases.here, public_id, "update tenants set move = $2::jsonb where id = $1", json.dumps(former))
    if at == "undo":
        await move(databases, sample)
        await interrupt(sample, databases, "follow", undo=True)
    else:
        await interrupt(sample, databases, at)
    assert (await state(databases.here, public_id) or ("", False, ""))[2] == was
    vitrine = command(databases, tmp_path, CLOSED_PORT if where == "server" else lost(databases))
    done = vitrine("tenant", "move", str(public_id), "--abandon", "--json").json
    assert (done["tenant_id"], done["changed"], done["was"], done["other"]) == (
        str(public_id),
        True,
        was,
        "unreachable",
    )
    assert (done["left_at"] is None) == (was != "left")
    assert await state(databases.here, public_id) == ("A", False, "abandoned")
    assert (await sample.get("/api/products")).status == 200
    ids = "select (move->'former_ids')::text from tenants where id = $1"
    assert 123456789 in json.loads(await written(databases.here, public_id, ids)), "for cursors and ids"
    again = vitrine("tenant", "move", sample.host, "--abandon")
    assert (again.code, again.out) == (0, f"{sample.store.name} serves here: there is nothing to abandon\n")
    assert json.loads(await written(databases.here, public_id, AUDITED)) == [{"from": was, "other": "unreachable"}]
    assert vitrine("tenant", "suspend", sample.host).code == 0


@pytest.mark.parametrize(
    "at, text",
    [
        ("switched", "repeat vitrine tenant move"),
        ("done", "move it back with vitrine tenant move --undo"),
        ("undo", "--undo"),
    ],
)
async def test_a_store_that_may_serve_in_a_database_that_answers_is_not_resumed(
    sample: SampleStore, databases: Databases, tmp_path: Path, as_if_killed: None, at: str, text: str
):
    if at == "undo":
        await move(databases, sample)
        await interrupt(sample, databases, "follow", undo=True)
    else:
        await interrupt(sample, databases, at)
    before = await state(databases.here, sample.store.public_id)
    refused = command(databases, tmp_path)("tenant", "move", sample.host, "--abandon").error_line
    assert text in refused
    same = command(databases, tmp_path, databases.here)("tenant", "move", sample.host, "--abandon").error_line
    assert same == "both URLs lead to the same database"
    assert await state(databases.here, sample.store.public_id) == before


@pytest.mark.usefixtures("interrupted_deletion")
async def test_a_copy_that_is_partly_deleted_is_not_resumed_and_an_undo_makes_it_whole(
    sample: SampleStore, databases: Databases, tmp_path: Path
):
    public_id = sample.store.public_id
    await move(databases, sample)
    rows = await rows_of(databases.there, public_id)
    await written(databases.here, public_id, LEFT_AT, timedelta(hours=25))
    assert "Interrupted" in (await deletion_job(databases.here, 1).work(lambda: True)).error
    refused = command(databases, tmp_path, CLOSED_PORT)("tenant", "move", sample.host, "--abandon").error_line
    assert "are deleted already" in refused
    assert await state(databases.here, public_id) == ("S", True, "left")
    await move(databases, sample, undo=True)
    assert await state(databases.here, public_id) == ("A", False, "arrived")
    assert await rows_of(databases.here, public_id) == rows


async def test_commands_refuse_a_copy_because_the_store_is_elsewhere(
    sample: SampleStore, databases: Databases, tmp_path: Path
):
    await move(databases, sample)
    person = ("--tenant", str(sample.store.public_id), "--email", "ana@example.com")
    for words in (
        ("customer", "erase", *person),
        ("user", "create", "--type", "C", *person),
        ("tenant", "limit", str(sample.store.public_id), "--set", "products=1"),
        ("tenant", "host", "add", str(sample.store.public_id), "new.example.com"),
        ("tenant", "export", str(sample.store.public_id), str(tmp_path / "copy.zip")),
    ):
        refused = command(databases, tmp_path)(*words).error_line
        assert "the copy of a store that is in another database" in refused, words


async def test_a_store_that_has_moved_on_is_not_resumed(sample: SampleStore, databases: Databases, tmp_path: Path):
    await move(databases, sample)
    left = "update tenants set status = 'S', is_read_only = true, move = move || '{\"state\": \"left\"}' where id = $1"
    await written(databases.there, sample.store.public_id, left)
    refused = command(databases, tmp_path)("tenant", "move", sample.host, "--abandon").error_line
    assert "has moved on from the other database" in refused


async def test_a_move_is_abandoned_in_the_pause_with_the_status_before(
    sample: SampleStore, databases: Databases, tmp_path: Path, as_if_killed: None
):
    public_id = sample.store.public_id
    await written(databases.here, public_id, "update tenants set status = 'M', is_read_only = true where id = $1")
    await interrupt(sample, databases, "switch")
    output = command(databases, tmp_path)("tenant", "move", sample.host, "--abandon").out
    assert output == (
        f"{sample.store.name} serves here again; the other database is with a copy that doesn't serve\n"
        "lost: what was written there, if it had arrived\n"
    )
    assert await state(databases.here, public_id) == ("M", True, "abandoned")


async def test_the_map_of_cells_keeps_the_store_here_when_the_other_one_comes_back(
    sample: SampleStore, databases: Databases, tmp_path: Path
):
    await move(databases, sample)
    assert command(databases, tmp_path, lost(databases))("tenant", "move", sample.host, "--abandon").code == 0
    earlier = 'update tenants set move = move || \'{"at": "2026-01-01T00:00:00Z"}\' where id = $1'
    await written(databases.there, sample.store.public_id, earlier)
    public_id = str(sample.store.public_id)
    for order in (("here", "there"), ("there", "here")):
        served: list[Any] = []
        for name in order:
            stores = await cells.read_stores(Cell(name, superuser(getattr(databases, name))))
            served += [store for store in stores if store.id == public_id]
        assert build_lines(served)[public_id] == "here", order


async def test_another_command_keeps_a_move_from_being_abandoned(
    sample: SampleStore, databases: Databases, tmp_path: Path
):
    await move(databases, sample)
    async with connect_owner(databases.here) as moving:
        await moving.execute(
            "SELECT pg_advisory_lock(hashtextextended('store move:' || $1::text, 0))", str(sample.store.public_id)
        )
        refused = command(databases, tmp_path, lost(databases))("tenant", "move", sample.host, "--abandon").error_line
    assert "another command moves the store" in refused


async def test_the_options_are_checked(sample: SampleStore, databases: Databases, tmp_path: Path):
    assert command(databases, tmp_path)("tenant", "move", sample.host, "--abandon", "--undo").code == 2
    without = Vitrine(tmp_path, DATABASE_URL=databases.here, VITRINE_SECRET_KEY=SECRET)
    assert "VITRINE_MOVE_TO_URL" in without("tenant", "move", sample.host, "--abandon").error_line
    nothing = command(databases, tmp_path)("tenant", "move", sample.host, "--abandon", "--json").json
    assert (nothing["changed"], nothing["was"]) == (False, None)
