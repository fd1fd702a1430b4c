"""The back office's page and files: where they are served, what they may load, how much they weigh."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from kernel.settings import Settings
from server.http.playground import BUILT, built_version
from tests.harness.http import HttpClient, ServeApplication
from tests.harness.sample_store import SampleStore
from tests.server.test_example_storefront import config_of

pytestmark = pytest.mark.skipif(built_version() is None, reason="the back office is not built: make assets")
MAX_SCRIPT_BYTES = 350 * 1024
# What a person who signs in sees first.
FIRST_VIEW = ("office", "home")
_IMPORT = re.compile(r"""(?:from|import)\s*"\./([\w.-]+\.js)\"""")
_LOADED_LATER = re.compile(r"""import\("\./([\w.-]+\.js)"\)""")


@pytest.fixture(scope="session")
async def server(serve_application: ServeApplication) -> HttpClient:
    return await serve_application(Settings(ip_rate=0))


async def get(server: HttpClient, host: str, path: str = "/admin") -> tuple[int, Mapping[str, str], str]:
    async with server.get(path, headers={"Host": host}) as response:
        return response.status, response.headers, await response.text()


async def test_a_store_s_own_address_serves_its_back_office_at_every_path(
    server: HttpClient, sample: SampleStore
) -> None:
    for path in ("/admin", "/admin/product", "/admin/order/create"):
        status, _, page = await get(server, sample.host, path)
        assert status == 200, path
        config = config_of(page)
        assert (config["name"], config["store"], config["isShared"]) == (sample.store.name, "", False), path


async def test_the_shared_address_asks_for_the_store(server: HttpClient) -> None:
    _, _, page = await get(server, "localhost")
    assert config_of(page)["isShared"]


async def test_an_address_of_no_store_has_none(server: HttpClient) -> None:
    assert (await get(server, "nobody.example"))[0] == 404


async def test_the_page_runs_the_server_s_scripts_only_and_is_shown_in_no_frame(
    server: HttpClient, sample: SampleStore
) -> None:
    _, headers, page = await get(server, sample.host)
    nonce = config_of(page)["nonce"]
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": f"'self' 'nonce-{nonce}'",
        "connect-src": "'self'",
        "img-src": "'self' https: data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert headers["Cache-Control"] == "no-store"
    scripts = re.findall(r"<script(.*?)>(.*?)</script>", page, re.DOTALL)
    assert [text for attributes, text in scripts if "application/json" not in attributes] == [""]
    _, _, again = await get(server, sample.host)
    assert config_of(again)["nonce"] != nonce


def _loaded(folder: Path, name: str, seen: set[str]) -> set[str]:
    if name not in seen:
        seen.add(name)
        for imported in _IMPORT.findall((folder / name).read_text(encoding="utf-8")):
            _loaded(folder, imported, seen)
    return seen


def test_the_first_view_loads_less_than_350_kb_of_compressed_script() -> None:
    folder = BUILT / str(built_version())
    files = _loaded(folder, "admin.js", set())
    for part in FIRST_VIEW:
        (later,) = {
            name
            for file in files
            for name in _LOADED_LATER.findall((folder / file).read_text("utf-8"))
            if name.startswith(f"admin-{part}-")
        }
        files |= _loaded(folder, later, set())
    size = sum(len(gzip.compress((folder / name).read_bytes())) for name in files)
    assert 50 * 1024 < size < MAX_SCRIPT_BYTES, {name: (folder / name).stat().st_size for name in files}
    # Descriptions, lists and forms are loaded when they are opened.
    assert not [name for name in files if re.match(r"admin-(entities|list|edit)-", name)]
