"""The hosts of a store as the operator and proxies see them: commands, the question before a certificate, redirections."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest

from bench.servers import stable_port
from domain import hosts, stores
from kernel.settings import Settings
from server.http.playground import built_version
from tests.harness.http import HttpClient, ServeApplication
from tests.harness.programs import ROOT
from tests.harness.sample_store import SampleStore
from tests.server.command_line import Vitrine

PATH = "/internal/hosts/allowed"
CADDY = shutil.which("caddy")
SECRET = "the secret of the proxies, 32 bytes long"


@pytest.fixture(scope="session")
async def serving(serve_application: ServeApplication) -> HttpClient:
    return await serve_application(Settings(ip_rate=0, example_storefront=True, internal_secret=SECRET))


@pytest.fixture
def host() -> str:
    return f"{uuid4().hex[:12]}.example"


async def ask(client: HttpClient, host: str, *, parameter: str = "host", **headers: str) -> int:
    async with client.get(PATH, params={parameter: host}, headers={"Host": "localhost", **headers}) as response:
        return response.status


async def ask_with_bytes(client: HttpClient, authorization: bytes) -> int:
    """Return the status of a forwarded request with this header, which no client library would send."""
    reader, writer = await asyncio.open_connection(client.host, client.port)
    lines = (f"GET {PATH}?host=localhost HTTP/1.1", "Host: localhost", "Via: 1.1 proxy", "Connection: close")
    writer.write("\r\n".join(lines).encode() + b"\r\nAuthorization: " + authorization + b"\r\n\r\n")
    status = int((await reader.readline()).split()[1])
    writer.close()
    return status


async def test_a_proxy_on_this_machine_learns_which_hosts_are_served(
    serving: HttpClient, sample: SampleStore, host: str
):
    assert await ask(serving, sample.host) == 200
    assert await ask(serving, sample.host.upper(), parameter="domain") == 200
    assert await ask(serving, "localhost") == 200
    for unknown in (host, "", "with space", "ünknown", "x" * 300):
        assert await ask(serving, unknown) == 404, unknown
    await stores.suspend(sample.store.id)
    assert await ask(serving, sample.host) == 200  # its customers read why it is closed


async def test_others_need_the_secret(serving: HttpClient, sample: SampleStore):
    forwarded = {"X-Forwarded-For": "203.0.113.9"}
    assert await ask(serving, sample.host, **forwarded) == 404
    assert await ask(serving, sample.host, **forwarded, Authorization="Bearer wrong") == 404
    assert await ask(serving, sample.host, **forwarded, Authorization=f"Bearer {SECRET}") == 200
    assert await ask_with_bytes(serving, b"Bearer \xff") == 404
    params = {"secret": SECRET, "domain": sample.host}
    async with serving.get(PATH, params=params, headers={"Host": "localhost", **forwarded}) as response:
        assert response.status == 200


@pytest.mark.skipif(built_version() is None, reason="the example storefront is not built: make assets")
async def test_pages_are_redirected_to_the_primary_host_and_interfaces_are_not(
    serving: HttpClient, sample: SampleStore, host: str
):
    await hosts.add_host(sample.store.id, host)
    await hosts.update_host(sample.scope, host, is_primary=True, is_redirected=None)
    await hosts.update_host(sample.scope, sample.host, is_primary=None, is_redirected=True)

    async def get(at: str, path: str) -> tuple[int, str | None]:
        async with serving.get(path, headers={"Host": at}, allow_redirects=False) as response:
            return response.status, response.headers.get("Location")

    assert await get(sample.host, "/produto/x?a=%20b") == (301, f"http://{host}/produto/x?a=%20b")
    assert await get(f"{sample.host}:8000", "/") == (301, f"http://{host}:8000/")
    assert await get(host, "/") == (200, None)
    async with serving.post("/graphql", json={"query": "{ store { id } }"}, headers={"Host": sample.host}) as response:
        assert response.status == 401


@pytest.mark.slow
async def test_the_operator_adds_lists_and_removes_hosts(tmp_path: Path, database_url: str, new_store, host: str):
    vitrine = Vitrine(tmp_path, DATABASE_URL=database_url)
    store = str((await new_store()).public_id)
    assert vitrine("tenant", "host", "list", store).out.startswith("the store has no address of its own")
    (added,) = vitrine("tenant", "host", "add", store, host.upper(), "--primary", "--json").json
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", added["verified_at"])
    assert (added["host"], added["is_primary"], added["is_redirected"]) == (host, True, False)
    second = vitrine("tenant", "host", "add", host, f"www.{host}", "--redirect", "--json").json[1]
    assert (second["host"], second["is_redirected"]) == (f"www.{host}", True)
    changed = vitrine("tenant", "host", "add", store, f"www.{host}", "--no-redirect", "--json").json[1]
    assert changed["is_redirected"] is False
    assert host in vitrine("tenant", "host", "list", store).out
    other = str((await new_store()).public_id)
    assert vitrine("tenant", "host", "add", other, host).error_line == f"the address {host} is in use"
    assert vitrine("tenant", "host", "add", other, "localhost").error_line.startswith("the address localhost is shared")
    assert [entry["host"] for entry in vitrine("tenant", "host", "remove", store, host, "--json").json] == [
        f"www.{host}"
    ]
    assert vitrine("tenant", "host", "remove", store, host).error_line == f"the store has no address {host}"


@pytest.mark.slow
@pytest.mark.skipif(CADDY is None, reason="caddy is not installed: apt-get install caddy")
async def test_caddy_gets_certificates_for_the_hosts_of_stores_only(
    serving: HttpClient, sample: SampleStore, tmp_path: Path
):
    port = stable_port()
    async with running_caddy(tmp_path, port, serving.make_url("/").port):
        assert await read_through_caddy(port, sample.host, "/health/live") == 200
        assert await read_through_caddy(port, sample.host, f"{PATH}?host={sample.host}") == 404
        with pytest.raises(aiohttp.ClientConnectorError):
            await read_through_caddy(port, "unknown.example", "/health/live")


async def read_through_caddy(port: int, host: str, path: str) -> int:
    """Return the status of a request over TLS, in which the client names the host."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    url, headers = f"https://127.0.0.1:{port}{path}", {"Host": f"{host}:{port}"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, headers=headers, ssl=context, server_hostname=host) as response,
    ):
        return response.status


@asynccontextmanager
async def running_caddy(folder: Path, port: int, server_port: int | None) -> AsyncIterator[None]:
    """Run Caddy with the shipped file, its own certificate authority and these ports."""
    assert CADDY is not None
    text = (ROOT / "deploy" / "Caddyfile").read_text(encoding="utf-8")
    own = "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n"
    text = text.replace("\n{\n", f"\n{own}", 1).replace("127.0.0.1:8000", f"127.0.0.1:{server_port}")
    text = text.replace("https:// {", f"https://:{port} {{").replace(
        "\t\ton_demand\n", "\t\tissuer internal\n\t\ton_demand\n"
    )
    file = folder / "Caddyfile"
    file.write_text(text, encoding="utf-8")
    environment = {**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    log = (folder / "caddy.log").open("wb")
    process = await asyncio.create_subprocess_exec(
        CADDY, "run", "--adapter", "caddyfile", "--config", str(file), stdout=log, stderr=log, env=environment
    )
    try:
        async with asyncio.timeout(20):
            while True:
                assert process.returncode is None, (folder / "caddy.log").read_text(errors="replace")
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                await asyncio.sleep(0.05)
        yield
    finally:
        process.terminate()
        await process.wait()
        log.close()
