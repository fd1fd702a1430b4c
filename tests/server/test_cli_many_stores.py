"""`vitrine tenant create --from FILE`: every line is reported, a repeated file changes nothing, and a creation takes few statements."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from auth.configuration import configure
from auth.passwords import verify_password
from domain import stores
from kernel.errors import ValidationFailed
from models.connection import database as db
from server.importers.file_rows import FileRow
from server.importers.store_files import StoreResult, create_stores
from server.operations import store_admin
from tests.server.command_line import SECRET, CommandResult, Vitrine
from tests.server.test_cli_stores import user_of

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow]


@pytest.fixture(autouse=True, scope="module")
def secret():
    configure(SECRET.encode())


@pytest.fixture
def vitrine(tmp_path: Path, database_url: str) -> Vitrine:
    return Vitrine(tmp_path, DATABASE_URL=database_url)


@pytest.fixture
def tag() -> str:
    return f"{uuid4().hex[:10]}.example"


def lines(result: CommandResult) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.out.splitlines()]


async def test_every_line_is_created_or_reported_and_a_repetition_changes_nothing(vitrine, tag, tmp_path):
    file = tmp_path / "stores.jsonl"
    rows: list[dict[str, Any]] = [
        {
            "name": "Uma",
            "hosts": [f"uma.{tag}", f"www.uma.{tag}"],
            "owner_email": "ana@uma.example",
            "owner_name": "Ana Sá",
        },
        {"name": "Duas", "hosts": [f"DUAS.{tag}:443"], "currency": "USD"},
        {"name": "", "hosts": [f"tres.{tag}"]},
        {"name": "Sem", "hosts": []},
        {"name": "Outra", "hosts": [f"duas.{tag}"]},
        {"name": "Cinco", "hosts": [f"cinco.{tag}"], "owner_name": "Eva"},
        {"name": "Seis", "hosts": [f"seis.{tag}"], "colour": "red"},
        {"name": "Sete", "hosts": "sete"},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\nnot json\n", encoding="utf-8")
    first = vitrine("tenant", "create", "--from", str(file), "--json")
    assert (first.code, first.error_line if first.code else "") == (1, "6 of 9 lines were refused")
    report = lines(first)
    states = ["created", "created", "refused", "refused", "exists", *["refused"] * 4]
    assert [(each["line"], each["state"]) for each in report] == list(enumerate(states, 1)), report
    assert all(each["errors"] for each in report if each["state"] == "refused")
    assert report[0]["hosts"] == [f"uma.{tag}", f"www.uma.{tag}"]
    assert report[4]["tenant_id"] == report[1]["tenant_id"]
    owner = await user_of(report[0]["tenant_id"], "ana@uma.example")
    assert await verify_password(owner["password_hash"], report[0]["owner"]["password"])
    store = (await store_admin.find_store(report[1]["tenant_id"])).store
    assert (store.name, store.currency) == ("Duas", "USD")
    again = lines(vitrine("tenant", "create", "--from", str(file), "--json"))
    assert [each["state"] for each in again] == ["exists" if state == "created" else state for state in states]
    assert [each.get("tenant_id") for each in again] == [each.get("tenant_id") for each in report]
    assert "owner" not in again[0]


async def test_a_csv_file_creates_stores(vitrine, tag, tmp_path):
    file = tmp_path / "stores.csv"
    file.write_text(
        f"name,hosts,owner_email\nLoja São João,a.{tag}|b.{tag},dona@a.example\nLoja,c.{tag},\n", encoding="utf-8"
    )
    created = vitrine("tenant", "create", "--from", str(file))
    assert created.code == 0, created.err
    assert created.out.endswith("2 created, 0 exist, 0 refused\n")
    entry = await store_admin.find_store(f"b.{tag}")
    assert (entry.store.name, entry.hosts) == ("Loja São João", (f"a.{tag}", f"b.{tag}"))
    assert entry.store.owner_id is not None


async def test_a_run_that_was_interrupted_before_the_owner_is_continued(tag):
    row = FileRow(1, {"name": "Loja", "hosts": [f"a.{tag}"], "email": "ana@a.example"})
    new = await stores.create_store({"name": "Loja"}, hosts=[f"a.{tag}"])
    (result,) = [each async for each in create_stores([row])]
    assert (result.state, result.tenant_id) == ("exists", new.store.public_id)
    assert result.owner is not None
    assert (await store_admin.find_store(f"a.{tag}")).store.owner_id is not None


async def test_lines_are_reported_as_they_are_done_and_those_begun_when_interrupted(tag, monkeypatch):
    later, creating = asyncio.Event(), stores.create_store

    async def create(values, *, hosts):
        if values["name"] != "0":
            await later.wait()
        return await creating(values, hosts=hosts)

    monkeypatch.setattr(stores, "create_store", create)
    seen: list[StoreResult] = []

    async def read():
        rows = [FileRow(line, {"name": str(line), "hosts": [f"{line}.{tag}"]}) for line in range(40)]
        async for result in create_stores(rows):
            seen.append(result)

    reading = asyncio.create_task(read())
    async with asyncio.timeout(10):
        while not seen:
            await asyncio.sleep(0.01)
        reading.cancel()
        await asyncio.sleep(0.05)
        later.set()
        with pytest.raises(asyncio.CancelledError):
            await reading
    count = len(await store_admin.stores_by_host([f"{line}.{tag}" for line in range(40)]))
    assert 1 < count < 40
    assert [each.line for each in seen if each.gateway_secret] == list(range(count))


@pytest.mark.parametrize("error", [ValidationFailed("no owner"), RuntimeError("boom")])
async def test_a_store_whose_owner_failed_is_created_with_its_secret(tag, monkeypatch, error):
    async def fail(*_):
        raise error

    monkeypatch.setattr(store_admin, "create_owner", fail)
    row = FileRow(1, {"name": "Loja", "hosts": [f"a.{tag}"], "email": "ana@a.example"})
    (result,) = [each async for each in create_stores([row])]
    assert (result.state, bool(result.gateway_secret), result.owner) == ("created", True, None)
    assert result.errors in {("owner: no owner",), ("owner: unexpected RuntimeError",)}


async def test_an_unexpected_error_refuses_its_line_only(tag, monkeypatch):
    creating = stores.create_store

    async def create(values, *, hosts):
        if values["name"] == "1":
            raise RuntimeError("boom")
        return await creating(values, hosts=hosts)

    monkeypatch.setattr(stores, "create_store", create)
    rows = [FileRow(line, {"name": str(line), "hosts": [f"{line}.{tag}"]}) for line in range(3)]
    results = [each async for each in create_stores(rows)]
    assert [(each.state, each.errors) for each in results] == [
        ("created", ()),
        ("refused", ("unexpected RuntimeError",)),
        ("created", ()),
    ]


async def test_a_host_of_two_stores_is_refused(tag):
    for name in ("a", "b"):
        await stores.create_store({"name": name}, hosts=[f"{name}.{tag}"])
    (result,) = [each async for each in create_stores([FileRow(1, {"name": "c", "hosts": [f"a.{tag}", f"b.{tag}"]})])]
    assert (result.state, result.errors) == ("refused", ("the addresses belong to several stores",))


@pytest.mark.parametrize("owner, most", [(False, 3), (True, 10)])
async def test_a_creation_takes_few_statements(tag, owner, most):
    """With any number of hosts; a batch of lines takes one more, which finds their hosts."""
    counts = {}
    for number in (1, 21):
        rows = [
            FileRow(line, {"name": "Loja", "hosts": [f"{line}-{number}-{host}.{tag}" for host in range(5)]})
            for line in range(number)
        ]
        for row in rows:
            row.values |= {"email": "ana@a.example"} if owner else {}
        with db.count_statements() as counter:
            results = [each async for each in create_stores(rows)]
        assert [each.state for each in results] == ["created"] * number, results
        counts[number] = counter.count
    assert counts == {1: most + 1, 21: 21 * most + 1}, counter.statements


def test_wrong_options_are_refused(vitrine, tmp_path):
    file = tmp_path / "stores.jsonl"
    file.write_text("", encoding="utf-8")
    for arguments in ((), ("Loja", "--from", str(file)), ("--from", str(file), "--host", "a.example")):
        assert vitrine("tenant", "create", *arguments).error_line, arguments
    assert "No such file" in vitrine("tenant", "create", "--from", str(tmp_path / "none")).error_line
