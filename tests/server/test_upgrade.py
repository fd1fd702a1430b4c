"""The previous release and this version serve one database together (docs/upgrading.md)."""

from __future__ import annotations

import asyncio
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.harness.releases import git, released_commit
from tests.server.command_line import Vitrine
from tests.server.test_cli_serve import client_of

HOST = "loja.example"


@pytest.fixture
def previous(tmp_path: Path) -> Path:
    """Return the folder of the previous release's program."""
    commit = released_commit()
    if commit is None:
        pytest.skip("the previous release is not in the history of this checkout: git fetch --unshallow")
    folder = tmp_path / "previous"
    with tarfile.open(fileobj=BytesIO(git("archive", commit))) as archive:
        archive.extractall(folder, filter="data")
    return folder


class Administrator:
    """An administrator who is signed in at one server."""

    def __init__(self, client: aiohttp.ClientSession) -> None:
        self._client = client
        self.headers = {"Host": HOST}

    async def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        async with self._client.request(method, f"/api/v1/{path}", json=body, headers=self.headers) as response:
            return response.status, await response.json(content_type=None)

    async def sign_in(self, email: str, password: str) -> None:
        status, body = await self.call("POST", "auth/login", {"email": email, "password": password})
        assert status == 200, body
        self.headers = {"Host": HOST, "Authorization": f"Bearer {body['access_token']}"}
        self.refresh_token = body["refresh_token"]

    async def create(self, name: str) -> str:
        status, body = await self.call("POST", "admin/products", {"name": name, "price_cents": 1_990, "stock": 3})
        assert status == 201, body
        return str(body["id"])

    async def name_of(self, product: str) -> str:
        status, body = await self.call("GET", f"admin/products/{product}")
        assert status == 200, body
        return str(body["name"])

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[list[Any]]:
        """Repeat the writes meanwhile, all at once; yield their answers."""
        answers: list[Any] = []
        stopped = asyncio.Event()

        async def repeat(mutation: str) -> None:
            while not stopped.is_set():
                query = f"mutation {{ {mutation.replace('NUMBER', str(len(answers)))} {{ id }} }}"
                async with self._client.post("/graphql", json={"query": query}, headers=self.headers) as response:
                    answers.append(await response.json(content_type=None))
                await asyncio.sleep(0.05)  # less than all that the machine can do, as in a deployment

        tasks = [asyncio.create_task(repeat(mutation)) for mutation in WRITES]
        try:
            yield answers
        finally:
            stopped.set()
            await asyncio.gather(*tasks)


# What clients write while the database is migrated.
WRITES = (
    'product_create(input: {name: "Caneca", price_cents: 1990, stock: 3})',
    'category_create(input: {name: "Cozinha"})',
    'user_create(input: {email: "cliente-NUMBER@loja.example"})',
    "cart_create",
)


@asynccontextmanager
async def serving(vitrine: Vitrine) -> AsyncIterator[Administrator]:
    async with vitrine.running("serve", log=vitrine.folder.with_suffix(".log")) as server, client_of(server) as client:
        yield Administrator(client)
        async with client.get("/health/ready") as response:
            assert response.status == 200, await response.text()
        assert await server.stop() == 0


@pytest.mark.slow(seconds=20)
async def test_the_previous_release_and_this_version_serve_together(
    tmp_path: Path, previous: Path, empty_database_url: str
):
    old = Vitrine(tmp_path / "old", previous, DATABASE_URL=empty_database_url, PORT="0")
    new = Vitrine(tmp_path / "new", DATABASE_URL=empty_database_url, PORT="0")
    assert old.run_subprocess("migrate").code == 0
    created = old.run_subprocess(
        "tenant", "create", "Loja", "--host", HOST, "--owner-email", "ana@loja.example", "--json"
    ).json
    owner = created["owner"]["email"], created["owner"]["password"]

    async with serving(old) as before:
        await before.sign_in(*owner)
        first = await before.create("Antes")
        async with before.writing() as answers:
            migrated = await asyncio.to_thread(new, "migrate")
        assert migrated.out.startswith("applied ")
        assert len(answers) > 10
        assert [answer for answer in answers if "errors" in answer] == []
        assert await before.name_of(first) == "Antes"

        async with serving(new) as after:
            await after.sign_in(*owner)
            assert await after.name_of(first) == "Antes"
            second, third = await before.create("Da versão anterior"), await after.create("Desta versão")
            assert await after.name_of(second) == "Da versão anterior"
            assert await before.name_of(third) == "Desta versão"
            for writer, reader in ((before, after), (after, before)):
                status, _ = await writer.call("PUT", f"admin/products/{first}", {"name": f"Por {id(writer)}"})
                assert status == 200, (writer, reader)
                assert await reader.name_of(first) == f"Por {id(writer)}"

            # A token of one is valid at the other, until it is revoked at either.
            token = dict(after.headers)
            visitor = Administrator(before._client)
            visitor.headers = token
            assert await visitor.name_of(first)
            assert (await after.call("POST", "auth/logout", {"refresh_token": after.refresh_token}))[0] in (200, 204)
            async with asyncio.timeout(10):
                while (await visitor.call("GET", f"admin/products/{first}"))[0] != 401:
                    await asyncio.sleep(0.05)
