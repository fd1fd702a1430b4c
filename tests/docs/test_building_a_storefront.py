"""The operations and commands of docs/building-a-storefront.md lead from an empty folder to a paid order."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import pyotp
import pytest
from graphql import OperationType

from auth.app_scopes import STOREFRONT_SCOPES
from auth.storefront_keys import create_storefront_key
from domain import stores
from kernel.clock import now
from kernel.scope import Store, active_scope
from server.demo.credentials import ensure_owner
from server.demo.seeding import seed_store
from server.demo.stores import DEMO
from tests.current.test_registration import mailed_token, mails
from tests.docs.storefront_guide import PAGE, Answers, Block, operations_named, read_guide
from tests.docs.tutorial import matches
from tests.harness.database import NewStore
from tests.harness.http import Client, HttpClient, Response, bearer
from tests.harness.payments import enabled_sandbox
from tests.harness.scopes import system_scope

BLOCKS = read_guide()
OPERATIONS = [block for block in BLOCKS if block.language == "graphql"]
# A read takes at most this many statements, however many records it shows.
MAX_STATEMENTS = 20
COMMAND_SECONDS = 30
TOKEN_MAILS = {"email_verification", "password_reset"}


@dataclass
class Reader:
    """Someone who follows the page: the shop's client, its shell, and the customer's mailbox and authenticator app."""

    client: Client
    folder: Path
    key: str
    answers: Answers = field(default_factory=Answers)
    statements: dict[str, int] = field(default_factory=dict)
    costs: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The cost of an operation, and the objects in its answer."""
    cacheable: set[str] = field(default_factory=set)

    async def follow(self, block: Block) -> None:
        if block.language == "bash":
            output = await self._run(block)
        else:
            for variables in block.variables or ["{}"]:
                output = (await self._execute(block, json.loads(variables))).raw.decode()
        if block.expected is not None and not matches(block.expected, output):
            pytest.fail(f"{PAGE.name}:{block.line} answered\n{output}\nexpected\n{block.expected}")

    async def _execute(self, block: Block, variables: dict[str, Any]) -> Response:
        credentials = {"X-API-Key": self.key} | (bearer(self.answers.access_token) if block.is_signed_in else {})
        body = {"query": block.text, "variables": self.answers.fill(variables, await self._knowledge())}
        response = await replace(self.client, credentials=credentials).post("/graphql", body)
        where = f"{PAGE.name}:{block.line} {block.name}"
        assert response.status == 200, (where, response)
        is_refusal_shown = '"errors"' in (block.expected or "")
        assert ("errors" in response.body) == is_refusal_shown, (where, response.body)
        if not is_refusal_shown:
            assert None not in response.body["data"].values(), (where, response.body)
            self.answers.add(block.name, response.body["data"])
        if block.operation.operation is OperationType.QUERY:
            self.statements[block.name] = response.statements
        if not is_refusal_shown:
            cost = response.body["extensions"]["cost"]
            self.costs[f"{block.name} {len(self.costs)}"] = cost, objects_in(response.body["data"]) - 1
        if "ETag" in response.headers:
            self.cacheable.add(block.name)
        return response

    async def _knowledge(self) -> dict[str, str]:
        """Return what the customer knows from the newest mail and the authenticator app."""
        known = {}
        if kinds := [mail.kind for mail in await mails(self.client.store) if mail.kind in TOKEN_MAILS]:
            known["mailed_token"] = await mailed_token(self.client.store, kinds[0])
        if enrolment := self.answers.data.get("BeginTwoFactor"):
            # A code is accepted once, so the second one is that of the next time step.
            at = now() + timedelta(seconds=30 * ("ConfirmTwoFactor" in self.answers.data))
            known["totp_code"] = pyotp.TOTP(enrolment["two_factor_begin"]["secret"]).at(at)
        return known

    async def _run(self, block: Block) -> str:
        """Execute a command in the checkout; one that fails ends the test."""
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-euo",
            "pipefail",
            "-c",
            self.answers.fill_text(block.text),
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await asyncio.wait_for(process.communicate(), COMMAND_SECONDS)
        assert process.returncode == 0, f"{PAGE.name}:{block.line}: {output.decode()}"
        return output.decode()


@pytest.fixture(scope="module")
async def demo_store(new_store: NewStore, demo_pictures: Path) -> Store:
    """Return a store with the demo store's name and data."""
    store = await new_store(name=DEMO.name)
    owner = await ensure_owner(store, DEMO.personas[0])
    await seed_store(owner, DEMO, now(), demo_pictures)
    return store


@pytest.fixture(scope="module")
async def reader(http: HttpClient, demo_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Return a reader who has followed the whole page."""
    scope = system_scope(demo_store)
    with active_scope(scope):
        key = (await create_storefront_key(scope, {"scopes": list(STOREFRONT_SCOPES)})).key
    folder = tmp_path_factory.mktemp("guide") / "checkout"
    output = {
        "base_url": str(http.make_url("/")).rstrip("/"),
        "tenant_id": str(demo_store.public_id),
        "storefront_key": key,
        "gateway": {"secret_key": await stores.gateway_secret(scope)},
    }
    install_demo_command(folder / ".venv" / "bin", output)
    result = Reader(Client(http, demo_store), folder, key)
    with enabled_sandbox():
        for block in BLOCKS:
            await result.follow(block)
    return result


def objects_in(value: Any) -> int:
    """Return the number of objects in a JSON value."""
    if isinstance(value, list):
        return sum(map(objects_in, value))
    return 1 + sum(map(objects_in, value.values())) if isinstance(value, dict) else 0


def install_demo_command(folder: Path, output: Mapping[str, Any]) -> None:
    """Install a `vitrine` that prints the documented JSON for the test's store."""
    folder.mkdir(parents=True)
    (folder / "demo.json").write_text(json.dumps(output), encoding="utf-8")
    program = folder / "vitrine"
    program.write_text(f'#!/bin/sh\n[ "$*" = "demo --json" ] && exec cat {folder / "demo.json"}\n', encoding="utf-8")
    program.chmod(0o755)


def test_every_operation_of_the_page_is_executed_once(reader: Reader) -> None:
    named = list(operations_named(PAGE.read_text(encoding="utf-8")))
    assert [block.name for block in OPERATIONS] == named
    assert len(named) == len(set(named)) >= 35
    refused = {block.name for block in OPERATIONS if '"errors"' in (block.expected or "")}
    assert {*reader.answers.data, *refused} == set(named)


def test_the_order_ends_paid(reader: Reader) -> None:
    placed = reader.answers.find("Checkout", "cart_checkout.order")
    assert (placed["status"], placed["payment_status"]) == ("O", "unpaid")
    assert "Pix" in placed["payment_method"]["name"]
    shown = reader.answers.find("OrderPage", "placed_order")
    assert (shown["id"], shown["total_cents"]) == (placed["id"], placed["total_cents"])
    tracked = reader.answers.find("TrackOrder", "placed_order")
    assert [change["to_status"] for change in tracked["history"]] == ["O", "P"]
    assert tracked["shipping_address"]["street"] == "Rua das Flores"
    paid = reader.answers.find("PaidOrder", "placed_order")
    assert (paid["status"], paid["payment_status"]) == ("P", "paid")


def test_the_price_shown_is_the_price_charged(reader: Reader) -> None:
    shown = reader.answers.find("ProductPrice", "product.pricing.price_cents")
    assert shown > reader.answers.find("ProductPage", "product.pricing.price_cents")
    assert reader.answers.find("CartPage", "cart.items.2.price_cents") == shown
    assert reader.answers.find("OrderPage", "placed_order.items.1.price_cents") == shown


def test_the_cart_shows_what_the_page_says(reader: Reader) -> None:
    (warning,) = reader.answers.find("CartPage", "cart.warnings")
    assert (warning["code"], warning["item"]["id"]) == (
        "LESS_AVAILABLE",
        reader.answers.find("CartPage", "cart.items.2.id"),
    )
    assert reader.answers.find("TakeWhatIsThere", "cart_item_update.warnings") == []
    lines, combination = (
        reader.answers.find("ChangeLines", "cart_items_update.items"),
        reader.answers.find("ProductPage", "product.combinations.1.id"),
    )
    assert [line["combination_id"] for line in lines] == [None, combination]
    assert reader.answers.find("ApplyCoupon", "cart_apply_coupon.discount_cents") > 0
    assert reader.answers.find("Reorder", "order_reorder.items.0.quantity") == 2
    assert reader.answers.find("MergeCart", "cart_merge.items.0.quantity") == 2


def test_the_category_has_facets_for_its_filters(reader: Reader) -> None:
    search = reader.answers.find("CategoryPage", "product_search")
    assert search["total"] == len(search["edges"]) > 0
    for facet in ("categories", "vendors", "prices", "ratings", "availability", "tags"):
        assert search["facets"][facet], facet


def test_the_account_has_the_customers_order(reader: Reader) -> None:
    account = reader.answers.data["Account"]
    (edge,) = account["me"]["orders"]["edges"]
    order = reader.answers.find("CustomerCheckout", "cart_checkout.order")
    assert edge["node"]["id"] == order["id"]
    assert order["customer"] == {"id": account["me"]["id"], "email": account["me"]["email"]}
    assert account["two_factor"]["enabled"]


def test_a_read_takes_a_bounded_number_of_statements(reader: Reader) -> None:
    assert {name: count for name, count in reader.statements.items() if count > MAX_STATEMENTS} == {}
    assert len(reader.statements) > 10


def test_the_cost_of_an_operation_is_within_three_times_of_what_it_reads(reader: Reader) -> None:
    # Of a few objects, what an order doesn't have yet, such as shipments, may be most.
    few = 8
    far = {name: pair for name, pair in reader.costs.items() if not pair[1] / 3 <= pair[0] <= 3 * max(pair[1], few)}
    assert far == {}
    assert len(reader.costs) >= 35


def test_what_every_visitor_sees_alike_is_cacheable(reader: Reader) -> None:
    lists = {"ProductList", "CategoryPage", "CollectionPage", "BestSelling", "Search"}
    assert reader.cacheable == {"Home", "ProductPage", "ProductPrice", "ContentPage", *lists}


def test_the_scalars_are_those_of_the_reference() -> None:
    guide, reference = [
        re.search(r"^ *scalars:\n((?: +\w+: .*\n)+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        for page in (PAGE, PAGE.parent / "reference" / "graphql.md")
    ]
    assert guide is not None
    assert reference is not None
    assert dedent(guide[1]) == dedent(reference[1])


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
async def test_the_client_of_the_page_gets_data_and_errors(reader: Reader, tmp_path: Path) -> None:
    (client,) = re.findall(r"^```js\n(export .*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "client.mjs").write_text(client, encoding="utf-8")
    program = """
        import { storefront } from "./client.mjs";
        console.log(JSON.stringify(await storefront("query ($n: Int!) { products(limit: $n) { id } me { id } }", { n: 2 })));
        console.log(JSON.stringify(await storefront("{ store { name } }", {}, "expired")));
        process.env.VITRINE_STORE = "none";
        await storefront("{ store { name } }").catch((error) => console.log(error.message));
    """
    (tmp_path / "program.mjs").write_text(program, encoding="utf-8")
    settings = dict(
        line.split("=", 1) for line in (reader.folder.parent / "shop" / ".env.local").read_text().splitlines()
    )
    process = await asyncio.create_subprocess_exec(
        "node",
        "program.mjs",
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], **settings},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await asyncio.wait_for(process.communicate(), COMMAND_SECONDS)
    both, refused, thrown = output.decode().splitlines()
    assert len(json.loads(both)["data"]["products"]) == 2
    assert [error["path"] for error in json.loads(both)["errors"]] == [["me"]]
    assert json.loads(refused)["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    assert thrown == "404 tenant not found"
