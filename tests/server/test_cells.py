"""Cells: HAProxy sends each request to the database that serves its store, by a map that is derived from all of them."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import aiohttp
import asyncpg
import pytest
from aiohttp import web

from bench.servers import free_port
from kernel.ids import uuid7
from server.embedded_postgres import EmbeddedServer
from server.operations.cell_map import CellMap
from server.operations.cells import (
    Cell,
    CellError,
    ServedStore,
    build_lines,
    merge_lines,
    read_cells,
    read_map,
    write_map,
)
from server.operations.haproxy_maps import update_map
from server.operations.written_files import replaced_file
from tests.harness.database import TEMPLATE, new_database
from tests.server.command_line import RunningCommand, Vitrine
from tests.server.haproxy import needs_haproxy, running_haproxy
from tests.server.test_store_move import superuser
from tests.system.haproxy import CELLS, CONFIGURATION, HAProxy

_SECONDS = 20.0
_ADD_STORE = "insert into tenants (public_id, name) values ($1, 'Loja') returning id"
_ADD_HOST = "insert into store_hosts (host, store_id, is_primary, is_redirected) values ($1, $2, $3, $4)"
_END = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()"
# The role of docs/scaling.md#cells.
_MAP_ROLE = (
    "do $$ begin create role vitrine_map login; exception when duplicate_object or unique_violation then null; end $$",
    "grant select (id, public_id, move) on tenants to vitrine_map",
    "grant select on store_hosts to vitrine_map",
)


# --- The map -----------------------------------------------------------------------------------------------------------------


def served(cell: str, name: str, *hosts: str, ticket: str | None = None, arrived_at: str = "") -> ServedStore:
    return ServedStore(cell, name, hosts, ticket, arrived_at)


def test_a_line_for_each_store_and_host():
    stores = [served("one", "a", "a.example", "www.a.example"), served("two", "b")]
    assert build_lines(stores) == {"a": "one", "a.example": "one", "www.a.example": "one", "b": "two"}


def test_a_moved_store_is_where_it_arrived_whichever_cell_was_read_first():
    left, arrived = served("one", "a", "x", ticket="t"), served("two", "a", "x", ticket="t", arrived_at="2026-11-29")
    for stores in ([left, arrived], [arrived, left]):
        assert build_lines(stores) == {"a": "two", "x": "two"}, stores


@pytest.mark.parametrize(
    "second",
    [served("two", "a"), served("two", "a", ticket="t"), served("two", "b", "x")],
)
def test_a_store_or_host_in_two_cells_is_refused_with_both_names(second: ServedStore):
    with pytest.raises(CellError, match=r"the (store a|address x) is in the cells one and two"):
        build_lines([served("one", "a", "x", ticket="u" if second.ticket else None), second])


def test_no_line_goes_away_while_a_cell_cannot_be_read():
    present = {"a": "one", "b": "two", "c": "two"}
    assert merge_lines(present, {"one": (served("one", "c"),), "two": None}) == {"a": "one", "b": "two", "c": "one"}
    assert merge_lines(present, {"one": (served("one", "c"),), "two": ()}) == {"c": "one"}


@pytest.mark.parametrize(
    "text", ["", "# none", "one", "one mysql://a", "one postgresql://a:b/c", "one postgresql://a b", "a;b postgresql://a",
             "one postgresql://secret\none postgresql://b", "one postgresql://u:secret@a..b/c", "one postgresql:///d?host=a%00"]
)  # fmt: skip
def test_a_wrong_file_of_cells_is_refused_without_its_passwords(tmp_path: Path, text: str):
    file = tmp_path / "cells.conf"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CellError) as refused:
        read_cells(file)
    assert str(file) in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_map_replaces_what_a_link_leads_to_and_is_written_to_what_is_no_file(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "cells.map")
    write_map(tmp_path / "link", {"a": "one"})
    assert ((tmp_path / "link").is_symlink(), read_map(tmp_path / "cells.map")) == (True, {"a": "one"})
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as reader:
        write_map(pipe, {"a": "one"})
        assert (reader.read(), pipe.is_fifo()) == ("a one\n", True)


def test_a_file_that_is_not_written_to_its_end_leaves_the_present_one(tmp_path: Path):
    file = tmp_path / "redirects"
    file.write_text("whole", encoding="utf-8")
    with pytest.raises(OSError, match="No space left") as full, replaced_file(file):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert (full.value.filename, file.read_text(encoding="utf-8"), [*tmp_path.iterdir()]) == (
        str(file),
        "whole",
        [file],
    )


async def test_a_cell_whose_connection_is_lost_in_an_answer_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def lose(cell: Cell) -> None:
        raise asyncpg.InternalClientError("got result for unknown protocol state 3")

    monkeypatch.setattr("server.operations.cell_map.read_stores", lose)
    change = await CellMap([Cell("one", "postgresql://one")], tmp_path / "cells.map", None).update()
    assert "unknown protocol state" in change.unreadable["one"]


async def test_a_socket_of_another_program_is_named(tmp_path: Path):
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"\xff \n \n")
        writer.close()

    socket = tmp_path / "socket"
    async with await asyncio.start_unix_server(answer, socket):
        with pytest.raises(CellError, match=r"HAProxy has no map /etc/cells\.map: \ufffd"):
            await update_map(socket, Path("/etc/cells.map"), {"a": "one"})


def test_a_device_without_an_end_is_no_file_of_cells():
    with pytest.raises(CellError, match="/dev/zero has more than 1,000,000 characters"):
        read_cells(Path("/dev/zero"))


def test_a_file_of_cells_may_have_comments_and_several_hosts(tmp_path: Path):
    file = tmp_path / "cells.conf"
    file.write_text("# cells\n\none postgresql://a:1,b:2/c\ntwo postgres:///d?host=/run\n", encoding="utf-8")
    assert [(cell.name, cell.url) for cell in read_cells(file)] == [
        ("one", "postgresql://a:1,b:2/c"),
        ("two", "postgres:///d?host=/run"),
    ]


def test_commands_name_a_cell_that_cannot_be_read_and_keep_its_lines(tmp_path: Path):
    file, to = tmp_path / "cells.conf", tmp_path / "cells.map"
    file.write_text("one postgresql://u:hunter2@127.0.0.1:1/d", encoding="utf-8")
    to.write_text("a.example one\n", encoding="utf-8")
    vitrine = Vitrine(tmp_path, VITRINE_CELLS_FILE=str(file))
    for command in (["map", "--to", str(to)], ["sync"]):
        line = vitrine("cells", *command).error_line
        assert ("one" in line, "Connect call failed" in line, "hunter2" in line) == (True, True, False), (command, line)
    assert read_map(to) == {"a.example": "one"}
    (tmp_path / "cells.bin").write_bytes(b"\xff")
    for option in ("--cells", "--to"):
        refused = vitrine("cells", "map", "--to", str(to), option, str(tmp_path / "cells.bin"))
        assert refused.error_line.startswith(f"{tmp_path / 'cells.bin'} is not UTF-8"), option


def test_a_map_that_cannot_be_written_is_named_as_the_operator_did(tmp_path: Path):
    path = tmp_path / "none" / "cells.map"
    with pytest.raises(FileNotFoundError) as missing:
        write_map(path, {"a.example": "one"})
    assert missing.value.filename == str(path)


def test_the_configuration_of_cells_is_that_of_one_deployment_with_a_choice_of_the_backend():
    def lines(path: Path) -> set[str]:
        return {line.strip() for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")}

    own = {line for line in lines(CONFIGURATION) - lines(CELLS) if not line.startswith("server ")}
    assert own == {"defaults", "frontend vitrine", "default_backend web", "backend web"}


# --- HAProxy -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cells:
    """Two databases, what answers with the name of the cell, and HAProxy in front."""

    urls: dict[str, str]
    haproxy: HAProxy
    vitrine: Vitrine
    map_file: Path

    def command(self) -> list[str]:
        return ["cells", "map", "--to", str(self.map_file), "--socket", str(self.haproxy.socket)]

    async def update(self, *options: str) -> Any:
        return await asyncio.to_thread(self.vitrine, *self.command(), *options)

    async def add_store(self, cell: str, *hosts: str, public_id: UUID | None = None) -> str:
        """Add a store, at its first host redirected to the others."""
        public_id = public_id or uuid7()
        async with connected(self.urls[cell]) as connection:
            number = await connection.fetchval(_ADD_STORE, public_id)
            for host in hosts:
                await connection.execute(_ADD_HOST, host, number, host == hosts[-1], host != hosts[-1])
            await connection.execute("select pg_notify('vitrine_stores', $1)", str(number))
        return str(public_id)

    async def ask(self, path: str = "/api/v1/products", **headers: str) -> tuple[int, str]:
        """Return the status and the cell that answered."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        async with (
            aiohttp.ClientSession() as client,
            client.get(f"{self.haproxy.address}{path}", headers=headers) as got,
        ):
            return got.status, got.headers.get("X-Cell", "")

    async def wait_for(self, cell: str, **headers: str) -> None:
        async with asyncio.timeout(_SECONDS):
            while await self.ask(**headers) != (200, cell):
                await asyncio.sleep(0.05)


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(superuser(url))
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def responding(cell: str, port: int) -> AsyncIterator[None]:
    """Answer on a port with the name of the cell."""

    async def respond(_: web.Request) -> web.Response:
        return web.json_response({}, headers={"X-Cell": cell})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", respond)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield
    finally:
        await runner.cleanup()


@pytest.fixture
async def cells(tmp_path: Path, postgres: EmbeddedServer, database_url: str) -> AsyncIterator[Cells]:
    async with AsyncExitStack() as stack:
        names = {cell: await stack.enter_async_context(new_database(postgres, TEMPLATE)) for cell in ("one", "two")}
        urls = {cell: postgres.url(name) for cell, name in names.items()}
        for url in urls.values():
            async with connected(url) as connection:
                for statement in _MAP_ROLE:
                    await connection.execute(statement)
        file = tmp_path / "cells.conf"
        lines = [f"{cell} {url.replace('vitrine_owner@', 'vitrine_map@')}\n" for cell, url in urls.items()]
        file.write_text("# two\n" + "".join(lines), encoding="utf-8")
        vitrine = Vitrine(tmp_path, VITRINE_CELLS_FILE=str(file))
        ports = {cell: [free_port()] for cell in urls}
        for cell, [port] in ports.items():
            await stack.enter_async_context(responding(cell, port))
        (tmp_path / "cells.map").touch()
        haproxy = await stack.enter_async_context(running_haproxy(tmp_path, ports))
        await haproxy.wait_until_up()
        yield Cells(urls, haproxy, vitrine, tmp_path / "cells.map")


@asynccontextmanager
async def following(cells: Cells) -> AsyncIterator[RunningCommand]:
    running = await cells.vitrine.start(*cells.command(), "--follow", log=cells.map_file.with_name("follower.log"))
    try:
        yield running
    finally:
        if running.process.returncode is None:
            assert await running.stop() == 0


@needs_haproxy
@pytest.mark.slow(seconds=8)
async def test_requests_reach_the_cell_of_their_store_as_vitrine_finds_it(cells: Cells):
    first = await cells.add_store("one", "one.example")
    second = await cells.add_store("two", "old.two.example", "two.example")
    refused = cells.vitrine("cells", "map", "--to", str(cells.map_file), VITRINE_CELLS_FILE="").error_line
    assert "VITRINE_CELLS_FILE" in refused
    written = (await cells.update("--json")).json
    assert written == {"cells": {"one": 2, "two": 3}, "written": 5, "sent": 5, "unreadable": {}}
    assert (await cells.update("--json")).json | {"cells": {}} == written | {"cells": {}, "written": 0, "sent": 0}

    host = {"Host": "two.example"}
    requests: list[tuple[str, dict[str, str], str]] = [
        ("/api/v1/products", {"X_Tenant_ID": first}, "one"),
        ("/api/v1/products", {"X_Tenant_ID": second}, "two"),
        ("/api/v1/products", {"X_Tenant_ID": second.upper()}, "two"),
        ("/api/v1/products", host, "two"),
        ("/api/v1/products", {"Host": "OLD.two.example.:8080"}, "two"),
        # The server refuses it as one of another store.
        ("/api/v1/products", host | {"X_Tenant_ID": first}, "two"),
        ("/api/v1/products", {"X_Tenant_ID": f"{second}, {second}"}, "one"),
        ("/api/v1/products", {"X_Tenant_ID": str(uuid7())}, "one"),
        ("/api/v1/products", {}, "one"),
        (f"/graphql?tenant={second}", {}, "two"),
        (f"/graphql?tenant={second}", {"X_Tenant_ID": first}, "one"),
        (f"/api/v1/oauth/authorize?client_id=a&tenant={second}", {}, "two"),
        (f"/api/v1/products?tenant={second}", {}, "one"),
        (f"/files/media/{second}/a?expires=1", {}, "two"),
        (f"/media/{second}/{'a' * 64}/m.webp", {}, "two"),
        (f"/media/{'a' * 64}/m.webp", host, "two"),
    ]  # fmt: skip
    for path, headers, cell in requests:
        assert await cells.ask(path, **headers) == (200, cell), (path, headers)
    tokens = [f"vac_{second.replace('-', '')}_a", f"vat_live_{second.replace('-', '')}_a"]
    bodies: list[tuple[str, bytes, str]] = [
        ("token", f"grant_type=authorization_code&code={tokens[0]}&client_id=a".encode(), "two"),
        ("token", f'{{\n"refresh_token": "vrt_{tokens[0][4:]}"\n}}'.encode(), "two"),
        ("revoke", f"token={tokens[1]}".encode(), "two"),
        ("revoke", f"token={tokens[1][:30]}".encode(), "one"),
        ("authorize", f"token={tokens[1]}".encode(), "one"),
    ]
    async with aiohttp.ClientSession(cells.haproxy.address) as client:
        for name, body, cell in bodies:
            async with client.post(f"/api/v1/oauth/{name}", data=body) as response:
                assert (response.status, response.headers["X-Cell"]) == (200, cell), body
    assert (await cells.ask(f"/internal/hosts/allowed?tenant={second}", **host))[0] == 404


@needs_haproxy
@pytest.mark.slow(seconds=5)
async def test_a_store_in_two_cells_changes_nothing(cells: Cells):
    store = await cells.add_store("two", "two.example")
    assert (await cells.update()).code == 0
    before = read_map(cells.map_file)
    await cells.add_store("one", "one.example", public_id=UUID(store))
    assert (await cells.update()).error_line == f"the store {store} is in the cells one and two"
    assert read_map(cells.map_file) == before
    assert await cells.ask(Host="one.example") == (200, "one")  # unknown
    assert await cells.ask(X_Tenant_ID=store) == (200, "two")


@needs_haproxy
@pytest.mark.slow(seconds=5)
async def test_a_cell_without_a_backend_is_503(cells: Cells):
    cells.map_file.write_text("three.example three\n", encoding="utf-8")
    await cells.haproxy.reload()
    async with asyncio.timeout(_SECONDS):
        while (await cells.ask(Host="three.example"))[0] != 503:
            await asyncio.sleep(0.05)


@needs_haproxy
@pytest.mark.slow(seconds=15)
async def test_the_follower_keeps_the_map_true_while_cells_and_itself_fail(cells: Cells):
    store = await cells.add_store("two", "two.example")
    async with following(cells) as follower:
        await cells.wait_for("two", X_Tenant_ID=store)
        new = await cells.add_store("two", "new.example")
        await cells.wait_for("two", Host="new.example")
        follower.process.kill()
        await follower.process.wait()
        late = await cells.add_store("two", "late.example")
        assert await cells.ask(Host="late.example") == (200, "one")
    async with following(cells), connected(cells.urls["one"]) as connection:
        await cells.wait_for("two", Host="late.example")
        # The second cell is lost: its stores stay where they are, and others follow.
        database = urlsplit(cells.urls["two"]).path[1:]
        await connection.execute(f"alter database {database} allow_connections false")
        await connection.execute(_END, database)
        await cells.add_store("one", "other.example")
        async with asyncio.timeout(_SECONDS):
            while "other.example" not in read_map(cells.map_file):
                await asyncio.sleep(0.05)
        for key in (store, new, late, "late.example"):
            assert read_map(cells.map_file)[key] == "two", key
        assert await cells.ask(X_Tenant_ID=store) == (200, "two")
        assert "the cell two can't be read" in cells.map_file.with_name("follower.log").read_text(encoding="utf-8")
        await connection.execute(f"alter database {database} allow_connections true")
        again = await cells.add_store("two", "again.example")
        await cells.wait_for("two", X_Tenant_ID=again)
        # HAProxy is reloaded, and reads the file again.
        await cells.haproxy.reload()
        await cells.wait_for("two", Host="again.example")
