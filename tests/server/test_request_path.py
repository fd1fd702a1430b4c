"""A request passes few modules: their number has a budget, and a new one needs a reason that a user would feel.

`golden/request_paths.txt` lists the modules of each flow. Accept a change with VITRINE_ACCEPT=1, and review the difference. The module that
reads from the socket isn't counted: the tests' server has aiohttp's own protocol.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from domain import stores
from tests.harness.gateway import SECRET, charge, event, raw, signature
from tests.harness.http import Response
from tests.harness.request_path import modules_of
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import system_scope
from tests.harness.storefront import open_storefront

GOLDEN = Path(__file__).parent / "golden" / "request_paths.txt"
ACCEPT = os.environ.get("VITRINE_ACCEPT") == "1"
DOCUMENT = '{ products(limit: 3, status: "A") { id name price_cents category { id name } images { url alt } } }'

Send: TypeAlias = Callable[[], Awaitable[Response]]
BUDGETS = {"graphql": 30, "list": 32, "legacy put": 46, "checkout": 61, "notification": 49, "change": 44}


async def graphql(sample: SampleStore) -> Send:
    return lambda: sample.post("/graphql", {"query": DOCUMENT}, auth="bearer")


async def listed(sample: SampleStore) -> Send:
    return lambda: sample.get("/api/v1/admin/products?per_page=3", auth="bearer")


async def legacy_put(sample: SampleStore) -> Send:
    price = f"{next(_prices)}.00"
    return lambda: sample.put(f"/api/products/{sample.mug.number}", {"price": price})


async def change(sample: SampleStore) -> Send:
    name = f"Caneca {next(_prices)}"
    return lambda: sample.put(f"/api/v1/admin/products/{sample.mug.id}", {"name": name}, auth="bearer")


async def checkout(sample: SampleStore) -> Send:
    shop = await open_storefront(sample)
    cart = await shop.cart((sample.mug, 1))
    return lambda: shop.check_out(cart, key=cart, customer_email=f"{cart}@example.com")


async def notification(sample: SampleStore) -> Send:
    await stores.set_gateway_secret(system_scope(sample.store), SECRET)
    shop = await open_storefront(sample)
    order = (await shop.order((sample.mug, 1), customer_email=f"c{next(_prices)}@example.com")).body
    body = raw(event("charge.paid", charge(order["id"], order["total_cents"], paid_amount=order["total_cents"])))
    headers = {"X-Hub-Signature-256": signature(body), "Content-Type": "application/json"}
    return lambda: sample.post("/api/v1/webhooks/gateway", data=body, headers=headers, auth=None)


_prices = iter(range(1_000, 9_000))
FLOWS: dict[str, Callable[[SampleStore], Awaitable[Send]]] = {
    "graphql": graphql,
    "list": listed,
    "legacy put": legacy_put,
    "checkout": checkout,
    "notification": notification,
    "change": change,
}


def listed_modules() -> dict[str, list[str]]:
    sections = GOLDEN.read_text(encoding="utf-8").split("\n\n") if GOLDEN.is_file() else []
    return {name: modules for name, *modules in (section.strip().splitlines() for section in sections)}


@pytest.mark.parametrize("flow", FLOWS)
async def test_a_request_enters_the_listed_modules_and_no_more_than_its_budget(sample: SampleStore, flow: str) -> None:
    async def prepare() -> Any:
        return await FLOWS[flow](sample)

    entered = sorted(await modules_of(prepare))
    if ACCEPT:
        sections = listed_modules() | {flow: entered}
        GOLDEN.write_text("\n\n".join("\n".join([name, *sections[name]]) for name in FLOWS if name in sections) + "\n")
    expected = listed_modules()[flow]
    added, gone = sorted(set(entered) - set(expected)), sorted(set(expected) - set(entered))
    assert added == [], f"{flow}: a request enters more modules; a new step needs a reason that a user would feel"
    assert gone == [], f"{flow}: take these out of {GOLDEN.name} and lower the budget (VITRINE_ACCEPT=1)"
    assert len(entered) <= BUDGETS[flow], flow
