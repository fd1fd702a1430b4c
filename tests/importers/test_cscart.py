"""Move the demo store, served in CS-Cart's dialect, into an empty store: both then answer alike."""

from __future__ import annotations

import asyncio
import json
import random
import re
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from auth.api_keys import create_api_key
from auth.store_resolution import invalidate_store
from kernel.clock import now
from kernel.scope import Store, active_scope
from models.connection import database
from rest_facade.legacy.resource import Resource
from rest_facade.legacy.resources import RESOURCES
from server.demo.credentials import ensure_owner
from server.demo.seeding import seed_store
from server.demo.stores import DEMO
from server.importers.cscart import run
from server.importers.cscart.http_source import HttpSource
from server.importers.cscart.report import Report
from tests.harness.database import NewStore
from tests.harness.http import HttpClient, basic
from tests.harness.programs import ROOT, ForkedProcess
from tests.harness.sample_store import NewSampleStore
from tests.harness.scopes import rows, system_scope, value
from tests.importers.shops import Shop
from tests.server.command_line import Vitrine

pytestmark = pytest.mark.slow
PAGE = ROOT / "docs" / "moving-from-cs-cart.md"
UUIDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LISTED = [resource for resource in RESOURCES if "list" in resource.actions]


@dataclass(frozen=True)
class Shown:
    """A store in CS-Cart's dialect, as its owner sees it through the legacy layer."""

    http: HttpClient
    store: Store
    email: str
    api_key: str

    async def send(self, method: str, path: str, body: Any = None) -> Any:
        """Return an answer; it is not compared with the OpenAPI document, which takes long for large lists."""
        headers = {"X-Tenant-ID": str(self.store.public_id), **basic(self.email, self.api_key)}
        async with self.http.request(method, f"/api/2.0/{path}", json=body, headers=headers) as response:
            assert response.status in (200, 201), await response.text()
            return await response.json()

    async def read(self, path: str) -> Any:
        return await self.send("GET", path)

    async def records(self, resource: Resource) -> dict[str, Any]:
        """Return the rows of an entity's list by their numbers, without the fields that are not brought."""
        body = await self.read(f"{resource.path}?items_per_page=0")
        records = body[resource.path] if isinstance(body, dict) and resource.path in body else body
        listed = records.values() if isinstance(records, dict) else records
        return {row[resource.number_field.name]: brought(resource, row) for row in listed}

    async def record(self, resource: Resource, number: str) -> Any:
        return brought(resource, await self.read(f"{resource.path}/{number}"))

    async def named_by_number(self, promotion: dict[str, Any]) -> dict[str, Any]:
        """Return a promotion with the numbers of the categories that its conditions name by UUID."""
        terms = json.dumps(promotion)
        for public_id in set(UUIDS.findall(terms)):
            terms = terms.replace(public_id, (await self.read(f"categories/{public_id}"))["category_id"])
        named: dict[str, Any] = json.loads(terms)
        return named

    def source(self) -> HttpSource:
        headers = {"X-Tenant-ID": str(self.store.public_id)}
        return HttpSource(str(self.http.make_url("/")), self.email, self.api_key, headers=headers)


def not_brought() -> tuple[set[str], set[tuple[str, str]]]:
    """Return the entities, and the fields of entities, that are not brought according to the documentation."""
    section = PAGE.read_text().partition("## What is not brought")[2].partition("\n## ")[0]
    entities: set[str] = set()
    fields: set[tuple[str, str]] = set()
    for line in section.splitlines():
        cells = [re.findall(r"`(\w+)`", cell) for cell in line.strip("|").split("|")]
        if len(cells) > 1 and cells[0]:
            fields |= {(entity, name) for entity in cells[0] for name in cells[1]}
            entities |= set() if cells[1] else set(cells[0])
    return entities, fields


ENTITIES_LEFT, FIELDS_LEFT = not_brought()
BROUGHT = [resource for resource in LISTED if resource.path not in ENTITIES_LEFT]


def brought(resource: Resource, record: dict[str, Any]) -> dict[str, Any]:
    """Return a record without the fields that are not brought, and without the sizes of categories' images, which only files have."""
    fields = {name: item for name, item in record.items() if (resource.path, name) not in FIELDS_LEFT}
    if resource.path == "categories" and "main_pair" in fields:
        pair = fields["main_pair"]
        fields["main_pair"] = pair | {"detailed": pair["detailed"] | {"image_x": "", "image_y": ""}}
    return fields


async def speak_cscart(store: Store) -> None:
    with active_scope(system_scope(store)):
        async with database.transaction(system_scope(store)):
            await database.execute(
                """UPDATE tenants SET settings = settings || '{"legacy_lists": "cscart"}' WHERE id = $1""", store.id
            )
            await invalidate_store(store.id)


async def shown(http: HttpClient, store: Store) -> Shown:
    """Return the store with a new API key of its owner."""
    await speak_cscart(store)
    scope = system_scope(store)
    with active_scope(scope):
        owner = await database.fetchrow(
            "SELECT u.id, u.email FROM users u JOIN tenants t ON t.owner_id = u.id WHERE t.id = $1 AND u.tenant_id = $1",
            store.id,
        )
        assert owner is not None
        key = await create_api_key(scope, owner["id"], "test")
    return Shown(http, store, owner["email"], key.secret)


@pytest.fixture(scope="module")
async def demo(http: HttpClient, new_store: NewStore, demo_pictures: Path) -> Shown:
    """Return a store with all demo data."""
    store = await new_store()
    await seed_store(await ensure_owner(store, DEMO.personas[0]), DEMO, now(), demo_pictures)
    return await shown(http, store)


async def bring(demo: Shown, target: Store, **options: Any) -> Report:
    async with demo.source() as source:
        return await run.run(source, target.public_id, **options)


@pytest.fixture(scope="module")
async def moved(demo: Shown, new_store: NewStore) -> tuple[Shown, Report]:
    """Return the store that the demo was moved into, and the report."""
    target = await new_store()
    report = await bring(demo, target)
    return await shown(demo.http, target), report


async def contents(store: Store) -> dict[str, list[Any]]:
    """Return the rows of every table of the store, without what differs between two imports of the same shop."""
    tables = [row["relname"] for row in await rows(store, _TABLES)]
    return {
        table: [row["row"] for row in await rows(store, _ROWS.format(table=table), store.id)]
        for table in tables
        if table not in ("number_counters", "catalogue_versions", "audit_entries", "api_keys")
    }


_TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY c.relname
"""
# Rows that are not numbered have ids of the installation, which differ, also where others refer to them.
_ROWS = """
SELECT (to_jsonb(t) - '{{id,tenant_id,public_id,feature_value_id,created_at,updated_at,email_verified_at,search}}'::text[])::text AS row
FROM {table} t WHERE tenant_id = $1 ORDER BY 1
"""


# --- Equality ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resource", BROUGHT, ids=lambda resource: resource.path)
async def test_both_stores_answer_every_list_and_record_alike(
    demo: Shown, moved: tuple[Shown, Report], resource: Resource
) -> None:
    target, _ = moved
    there, here = await demo.records(resource), await target.records(resource)
    if resource.path == "promotions":
        there = {number: await demo.named_by_number(row) for number, row in there.items()}
    assert here == there
    assert there or resource.path == "exceptions", "the demo has no such record, so that nothing was compared"
    if "show" in resource.actions:
        for number in there:
            record = await demo.record(resource, number)
            if resource.path == "promotions":
                record = await demo.named_by_number(record)
            assert await target.record(resource, number) == record


async def test_only_what_is_documented_is_left_out(moved: tuple[Shown, Report]) -> None:
    _, report = moved
    assert report.failures == []
    assert report.notes == {}
    assert report.missing == {}


async def test_the_entities_left_out_exist() -> None:
    assert {resource.path for resource in LISTED} >= ENTITIES_LEFT


async def test_memberships_of_usergroups_move(demo: Shown, moved: tuple[Shown, Report]) -> None:
    sql = "SELECT user_id, usergroup_id, status FROM usergroup_memberships WHERE tenant_id = $1 ORDER BY 1, 2"
    there = await rows(demo.store, sql, demo.store.id)
    assert await rows(moved[0].store, sql, moved[0].store.id) == there


async def test_the_sums_of_both_sides_are_compared(moved: tuple[Shown, Report]) -> None:
    target, report = moved
    assert report.source == report.target
    total = await value(target.store, "SELECT sum(total_cents) FROM orders WHERE tenant_id = $1", target.store.id)
    assert report.target.total_cents == total > 0
    compared = [line for line in report.lines() if " there, " in line]
    assert [line for line in compared if not line.endswith(": equal")] == []
    names = {line.partition(":")[0] for line in compared}
    assert names >= {
        "orders",
        "order totals",
        "customers",
        "products, vendor",
        "products, categories",
        "orders, customer",
        "orders, shipping",
        "products, features",
        "users, usergroups",
    }


async def test_history_sends_no_mails_and_events_and_moves_no_stock(moved: tuple[Shown, Report]) -> None:
    store = moved[0].store
    for table in ("outbox_events", "mails", "notifications"):
        assert await value(store, f"SELECT count(*) FROM {table} WHERE tenant_id = $1", store.id) == 0
    assert await value(store, "SELECT sum(reserved) FROM products WHERE tenant_id = $1", store.id) == 0
    assert (
        await value(store, "SELECT count(*) FROM users WHERE tenant_id = $1 AND password_hash IS NOT NULL", store.id)
        == 0
    )
    secrets = "SELECT count(*) FROM payment_methods WHERE tenant_id = $1 AND processor_params IS NOT NULL"
    assert await value(store, secrets, store.id) == 0


async def test_the_root_administrator_owns_the_store(demo: Shown, moved: tuple[Shown, Report]) -> None:
    owner = "SELECT owner_id FROM tenants WHERE id = $1"
    assert await value(moved[0].store, owner, moved[0].store.id) == await value(demo.store, owner, demo.store.id)


# --- Again -------------------------------------------------------------------------------------------------------------------------


async def test_importing_again_adds_nothing(demo: Shown, moved: tuple[Shown, Report]) -> None:
    target, first = moved
    before = await contents(target.store)
    again = await bring(demo, target.store)
    assert await contents(target.store) == before
    assert all(count.added == count.changed == 0 for count in again.counts.values())
    assert again.failures == first.failures
    assert again.source == again.target


@pytest.fixture
async def small(new_sample: NewSampleStore) -> Shown:
    """Return a store with one record or two of each entity, which the test may change."""
    sample = await new_sample(legacy_lists="cscart")
    return Shown(sample.http, sample.store, sample.owner.email, sample.owner.api_key)


async def test_a_dry_run_writes_nothing_and_reports_what_would_be_added(small: Shown, new_store: NewStore) -> None:
    target = await new_store()
    before = await contents(target)
    report = await bring(small, target, dry_run=True)
    assert await contents(target) == before
    again = await bring(small, target)
    assert {entity: count.added for entity, count in again.counts.items()} == {
        entity: count.added for entity, count in report.counts.items()
    }
    assert report.failures == again.failures == []


async def test_what_changed_later_is_brought_since(small: Shown, new_store: NewStore) -> None:
    target = await new_store()
    await bring(small, target)
    at = now()
    first, second = (await small.read("products?items_per_page=2&status=A&sort_by=product_id"))["products"]
    await small.send("PUT", f"products/{first['product_id']}", {"price": "7.77", "image_pairs": []})
    order = (await small.read("orders?items_per_page=1&status=O"))["orders"][0]
    await small.send("PUT", f"orders/{order['order_id']}", {"status": "P"})
    shipping = (await small.read("shippings?status=A"))["shippings"][0]["shipping_id"]
    body = {"user_data": {"email": "neu@example.com"}, "products": [{"product_id": second["product_id"], "amount": 1}]}
    await small.send("POST", "orders", body | {"shipping_id": shipping})
    report = await bring(small, target, since=at)
    assert (report.counts["orders"].added, report.counts["orders"].changed) == (1, 1)
    assert report.counts["products"].changed >= 1
    here = await shown(small.http, target)
    for resource in BROUGHT:
        there = await small.records(resource)
        assert await here.records(resource) == there
        for number in there if resource.path in ("products", "orders") else ():
            assert await here.record(resource, number) == await small.record(resource, number)
    assert report.source == report.target


@pytest.mark.parametrize("table", ["features", "options", "usergroups", "destinations"])
async def test_a_changed_record_keeps_the_time_of_its_creation(small: Shown, new_store: NewStore, table: str) -> None:
    target = await new_store()
    await bring(small, target)
    times = f"SELECT id, created_at FROM {table} WHERE tenant_id = $1 ORDER BY id"
    before, at = await rows(target, times, target.id), now()
    await rows(
        small.store,
        f"UPDATE {table} SET name = name || ' 2', updated_at = $2 WHERE tenant_id = $1",
        small.store.id,
        now(),
    )
    await bring(small, target, since=at)
    assert await rows(target, times, target.id) == before
    names = f"SELECT count(*) FROM {table} WHERE tenant_id = $1 AND name LIKE '% 2'"
    assert await value(target, names, target.id) == await value(small.store, names, small.store.id) > 0


async def test_new_records_get_numbers_above_the_highest(small: Shown, new_store: NewStore) -> None:
    target = await new_store()
    await bring(small, target)
    here = await shown(small.http, target)
    highest = {
        table: await value(target, f"SELECT max(id) FROM {table} WHERE tenant_id = $1", target.id)
        for table in ("products", "categories", "orders")
    }
    product = await here.send("POST", "products", {"product": "Neu", "price": "1.00", "amount": 5, "is_edp": "Y"})
    assert product == {"product_id": highest["products"] + 1}
    category = await here.send("POST", "categories", {"category": "Neu"})
    assert category == {"category_id": highest["categories"] + 1}
    lines = [{"product_id": product["product_id"], "amount": 1}]
    order = await here.send("POST", "orders", {"user_data": {"email": "neu@example.com"}, "products": lines})
    assert order == {"order_id": highest["orders"] + 1}


# --- Interrupted -------------------------------------------------------------------------------------------------------------------


async def start_import(
    vitrine: Vitrine, shop: Shop, demo: Shown, target: Store, *options: str
) -> Process | ForkedProcess:
    arguments = ["cscart", "--url", shop.url, "--email", demo.email, "--api-key", "-"]
    running = await vitrine.start(
        "import",
        *arguments,
        "--tenant",
        str(target.public_id),
        "--images",
        "links",
        "--no-progress",
        *options,
        stdin=asyncio.subprocess.PIPE,
    )
    process = running.process
    assert process.stdin is not None
    process.stdin.write(f"{demo.api_key}\n".encode())
    await process.stdin.drain()
    return process


async def test_of_two_imports_at_once_the_second_does_nothing_or_waits(
    demo: Shown, new_store: NewStore, tmp_path: Path, database_url: str
) -> None:
    vitrine = Vitrine(tmp_path, DATABASE_URL=database_url)
    target = await new_store()
    blocked, released = asyncio.Event(), asyncio.Event()

    async def block(request: web.Request) -> None:
        if request.path.endswith("/vendors") and not blocked.is_set():
            blocked.set()
            await released.wait()

    async with Shop(str(demo.http.make_url("")).rstrip("/"), demo.store, answer=block) as shop:
        first = await start_import(vitrine, shop, demo, target)
        await asyncio.wait_for(blocked.wait(), 60)
        second = await start_import(vitrine, shop, demo, target)
        out, err = await second.communicate()
        assert (second.returncode, err) == (0, b""), err
        assert out == b"another import fills the store at the moment; nothing was done (--wait waits for its end)\n"
        third = await start_import(vitrine, shop, demo, target, "--wait")
        released.set()
        out, err = await first.communicate()
        assert first.returncode == 0, err
        assert b"different" not in out
        out, err = await third.communicate()
        assert third.returncode == 0, err
        assert re.search(rb"products: (\d+) read, 0 added, 0 changed, \1 present", out), out


async def test_an_import_killed_at_any_moment_and_run_again_ends_the_same(
    demo: Shown, moved: tuple[Shown, Report], new_store: NewStore, tmp_path: Path, database_url: str
) -> None:
    vitrine = Vitrine(tmp_path, DATABASE_URL=database_url)
    target = await new_store()
    moment = random.randrange(3, 100)
    async with Shop(str(demo.http.make_url("")).rstrip("/"), demo.store) as shop:
        process = await start_import(vitrine, shop, demo, target)
        while shop.requests < moment and process.returncode is None:
            await asyncio.sleep(0.02)
        with suppress(ProcessLookupError):  # it was faster
            process.kill()
        await process.wait()
        process = await start_import(vitrine, shop, demo, target)
        out, err = await process.communicate()
    assert re.search(rb"customers: (\d+) there, \1 here: equal", out), (moment, out, err)
    assert process.returncode == 0, (out, err)
    here, there = await contents(target), await contents(moved[0].store)
    assert {table: here[table] for table in there} == there, moment
