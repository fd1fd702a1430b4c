"""The commands of docs/moving-from-cs-cart.md do what the page says."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient

from domain.stores import find_store
from tests.harness.http import basic
from tests.harness.programs import ROOT
from tests.importers.shops import Shop
from tests.server.command_line import CommandResult, Vitrine

PAGE = ROOT / "docs" / "moving-from-cs-cart.md"
CHECKLIST = re.findall(
    r"^\| ([^|]+) \| `((?:vitrine|curl) [^|]+)` \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE
)
COMMANDS = re.findall(r"^ +vitrine (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
ANSWERS: dict[str, Any] = {
    "languages": {"languages": [], "params": {"total_items": "0"}},
    "users": {
        "users": [
            {
                "user_id": "1",
                "email": "admin@example.com",
                "user_type": "A",
                "is_root": "Y",
                "phone": "",
                "b_address": "",
            }
        ],
        "params": {"total_items": "1"},
    },
    "products": {
        "products": [{"product_id": "12", "product": "Pants", "price": "30.00", "full_description": ""}],
        "params": {"total_items": "1"},
    },
}


async def answer(request: web.Request) -> web.StreamResponse:
    assert request.headers["Authorization"] == basic("admin@example.com", "K")["Authorization"]
    name = request.path.rpartition("/")[2]
    return web.json_response(ANSWERS.get(name, {"message": "Not found"}), status=200 if name in ANSWERS else 404)


async def check(command: str, vitrine: Vitrine, places: dict[str, str]) -> str:
    """Run a command of the checklist and return what it prints; `doctor` also finds what a test has no need of."""
    for place, value in places.items():
        command = command.replace(place, value)
    program, *words = shlex.split(command)
    if program == "vitrine":
        result = await asyncio.to_thread(vitrine, *words)
        assert result.code == 0 or words[0] == "doctor", (command, result.err)
        return result.out
    named = ["-H", "Host: shop.example.com", *words]
    running = await asyncio.create_subprocess_exec(program, *named, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = await running.communicate()
    assert running.returncode == 0, (command, err)
    return out.decode()


@pytest.mark.slow
async def test_the_steps_move_a_shop(tmp_path: Path, database_url: str, http: TestClient) -> None:
    vitrine = Vitrine(tmp_path, DATABASE_URL=database_url)
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "products.1.json").write_text(json.dumps(ANSWERS["products"]), encoding="utf-8")
    results: dict[str, CommandResult] = {}
    async with Shop(answer=answer) as shop:
        for command in COMMANDS:
            words = shlex.split(command.replace("https://shop.example.com", shop.url).replace(" saved ", f" {saved} "))
            results[command] = await asyncio.to_thread(vitrine, *words)
            assert results[command].code == 0, (command, results[command].err)
    create, dry_run, first, key, since, folder = (results[command].out for command in COMMANDS)
    assert "products: 1 read, 1 to add, 0 changed, 0 present" in dry_run
    assert "products: 1 read, 1 added, 0 changed, 0 present" in first
    assert "customers: 0 there, 0 here: equal" in first
    assert "products: 1 read, 0 added, 0 changed, 1 present" in since
    assert "products: 1 read, 0 added, 0 changed, 1 present" in folder
    assert "users: not offered by the source" in folder
    store = re.search(r"[0-9a-f-]{36}", create)
    api_key = re.search(r"\b[0-9A-Za-z]{40}\b", key)
    assert store is not None
    assert api_key is not None
    headers = {"X-Tenant-ID": store.group(), **basic("admin@example.com", api_key.group())}
    setting = {"value": "cscart"}
    async with http.put("/api/settings/legacy_dialect", json=setting, headers=headers) as response:
        assert response.status == 200, await response.text()
    places = {"$SHOP": str(http.make_url("")).rstrip("/"), "$KEY": f"admin@example.com:{api_key.group()}"}
    moved = places["redirects.txt"] = str(tmp_path / "redirects.txt")
    async with Shop(answer=answer) as shop:
        places["https://shop.example.com"] = shop.url
        shown = {point: await check(command, vitrine, places) for point, command in CHECKLIST}
    assert "different" not in shown["Numbers and sums"]
    assert "products: 1 read, 0 added, 0 changed, 1 present" in shown["Numbers and sums"]
    assert json.loads(shown["Numbers of records"])["product_id"] == "12"
    assert [row["seo_name"] for row in json.loads(shown["Addresses"])["products"]] == ["pants"]
    assert Path(moved).is_file()
    assert {row["status"] for row in json.loads(shown["Statuses"])["statuses"]} >= set("OPCDFIB")
    assert "message" in json.loads(shown["Passwords"])
    assert "mail" in {finding["check"] for finding in json.loads(shown["Mails"])["findings"]}
    assert list(json.loads(shown["Connectors: dialect"])) == ["Version"]
    assert json.loads(shown["Connectors: orders"])["orders"] == []
    assert json.loads(shown["Search engines"])["categories"] == []
    assert list(shown) == [point for point, _ in CHECKLIST]
    assert (await find_store(store.group())).settings == {"legacy_lists": "cscart", "image_copies": True}
