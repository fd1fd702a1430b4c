"""A program that knows a store through its feed alone has an exact copy of it, whatever was killed meanwhile."""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from domain.catalog import stock
from tests.events.kit import FEED, Messages
from tests.harness.http import Client
from tests.harness.oauth import graphql_result
from tests.harness.sample_store import SampleStore
from tests.server.command_line import Vitrine

KILLS = 3
CHANGES = 60
_CREATE_USER = "mutation ($input: UserInput!) { user_create(input: $input) { id } }"


class Copy:
    """A copy of a store's records: an event replaces or removes the record of its subject, unless a later one was applied before."""

    def __init__(self, tables: dict[str, dict[str, Any]]) -> None:
        self.tables = tables
        self.cursor = ""
        self.applied: list[str] = []
        self._sequences: dict[tuple[str, str], int] = {}

    def apply(self, event: dict[str, Any]) -> None:
        subject = (event["subject_type"], event["subject_id"])
        assert event["sequence"] > self._sequences.get(subject, 0), "events of a subject are in order"
        self._sequences[subject] = event["sequence"]
        self.applied.append(event["id"])
        self.cursor = event["cursor"]
        kind, _, verb = event["event"].partition(".")
        table, data = self.tables.get(kind), event["data"]
        if table is None:
            return
        if verb == "deleted":
            del table[data["id"]]
        elif kind != "stock" or data["id"] in self.tables["product"]:
            table[data["id"]] = record_of(kind, data)
        # The stock of a new product is in its record, later changes are `stock.changed`.
        if event["event"] == "product.created":
            self.tables["stock"][data["id"]] = record_of("stock", data)
        elif event["event"] == "product.deleted":
            del self.tables["stock"][data["id"]]


FIELDS = {
    "product": ("name", "price_cents", "status"),
    "category": ("name", "position", "parent_id"),
    "customer": ("name", "email", "status"),
    "order": ("status", "total_cents"),
    "stock": ("stock",),
}
_QUERIES = {
    "product": "{ products(limit: 500) { id name price_cents status } }",
    "category": "{ categories(limit: 500) { id name position parent_id } }",
    "customer": "{ users(limit: 500, filter: {user_type: [C]}) { id name email status } }",
    "order": "{ orders(limit: 500) { id status total_cents } }",
    "stock": "{ products(limit: 500) { id stock } }",
}


def record_of(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    return {name: data[name] or "" if name == "email" else data[name] for name in FIELDS[kind]}


async def read_store(admin: Client) -> dict[str, dict[str, Any]]:
    """Read all records as they are now."""
    return {
        kind: {record["id"]: record_of(kind, record) for record in await graphql_result(admin, query)}
        for kind, query in _QUERIES.items()
    }


class Changer:
    """Changes records of a store at random."""

    def __init__(self, sample: SampleStore, admin: Client) -> None:
        self.sample, self.admin = sample, admin
        self.chance = random.Random(17)
        self.records: dict[str, list[str]] = {"product": [], "category": [], "user": [], "order": []}
        self.done: Counter[str] = Counter()

    async def change(self) -> None:
        kind = self.chance.choice(("product", "category", "user", "order"))
        known = self.records[kind]
        verb = "create" if len(known) < 2 else self.chance.choice(("create", "update", "update", "delete"))
        await getattr(self, f"_{kind}")(verb, self.chance.choice(known) if known else "")
        self.done[f"{kind}.{verb}"] += 1

    async def _save(self, kind: str, verb: str, id_: str, values: dict[str, Any]) -> None:
        type_ = f"{kind.capitalize()}Input"
        if verb == "create":
            mutation = f"mutation ($input: {type_}!) {{ {kind}_create(input: $input) {{ id }} }}"
            created = await graphql_result(self.admin, mutation, input=values)
            self.records[kind].append(created["id"])
        elif verb == "update":
            mutation = f"mutation ($id: ID!, $input: {type_}!) {{ {kind}_update(id: $id, input: $input) {{ id }} }}"
            await graphql_result(self.admin, mutation, id=id_, input=values)
        else:
            await graphql_result(self.admin, f"mutation ($id: ID!) {{ {kind}_delete(id: $id) {{ id }} }}", id=id_)
            self.records[kind].remove(id_)

    async def _product(self, verb: str, id_: str) -> None:
        number = self.chance.randrange(1_000)
        await self._save("product", verb, id_, {"name": f"Bule {number}", "price_cents": number, "stock": number})

    async def _category(self, verb: str, id_: str) -> None:
        await self._save("category", verb, id_, {"name": f"Sala {id_[-4:]}", "position": self.chance.randrange(90)})

    async def _user(self, verb: str, id_: str) -> None:
        values: dict[str, Any] = {"firstname": "Lia", "lastname": f"Lima {self.chance.randrange(1_000)}"}
        if verb == "create":
            values |= {"email": f"lia{self.chance.getrandbits(60)}@example.com", "password": "correct horse battery"}
        if verb == "update" and self.chance.random() < 0.3:
            await graphql_result(self.admin, "mutation ($id: ID!) { user_anonymize(id: $id) { id } }", id=id_)
            return
        await self._save("user", verb, id_, values)

    async def _order(self, verb: str, id_: str) -> None:
        if verb == "create":
            placed = await self.sample.place_order((self.sample.mug, 1), email="ana@example.com")
            self.records["order"].append(placed.id)
            return
        status = "I" if verb == "delete" else "P"
        mutation = "mutation ($id: ID!, $status: OrderStatus!) { order_set_status(id: $id, status: $status) { id } }"
        await graphql_result(self.admin, mutation, id=id_, status=status)
        if verb == "delete":
            self.records["order"].remove(id_)


async def _follow(copy: Copy, address: str, client: Client, *, until_idle: bool) -> None:
    """Apply events until the connection breaks or, with `until_idle`, there are no more."""
    headers = {"X-Tenant-ID": str(client.store.public_id), **client.credentials}
    if until_idle:
        async with aiohttp.ClientSession(address, headers=headers) as session:
            while True:
                async with session.get(FEED, params={"after": copy.cursor, "limit": "7"}) as response:
                    page = await response.json()
                for event in page["events"]:
                    copy.apply(event)
                copy.cursor = page["cursor"]
                if not page["has_more"]:
                    return
    headers |= {"Accept": "text/event-stream", "Last-Event-ID": copy.cursor}
    async with aiohttp.ClientSession(address, headers=headers) as session, session.get(FEED) as response:
        assert response.status == 200, await response.read()
        messages = Messages(response)
        while (message := await messages.next(60)) is not None:
            copy.apply(message["data"])


@pytest.mark.slow
async def test_a_copy_through_the_feed_alone_equals_the_store(
    sample: SampleStore, new_app: Any, tmp_path: Path, database_url: str
) -> None:
    admin = await sample.client(sample.owner)
    app = await new_app(rate=100_000, at=admin)
    changer = Changer(sample, admin)
    vitrine = Vitrine(tmp_path, PORT="0", DATABASE_URL=database_url)
    start = (await app.get(FEED, after="latest")).body["cursor"]
    copy = Copy(await read_store(admin))
    copy.cursor = start

    for kill in range(KILLS + 1):
        async with vitrine.running("serve") as server:
            line = await server.wait_for_output("Vitrine is running at")
            address = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert address is not None, kill
            following = asyncio.create_task(_follow(copy, address[0], app, until_idle=False))
            for number in range(CHANGES // KILLS):
                await changer.change()
                if number % 7 == 0:
                    await stock.emit_changes(sample.scope)
            if kill < KILLS:
                await server.stop(signal.SIGKILL)  # in the middle of what it was sending
                await asyncio.wait([following], timeout=30)
                following.exception()
                await changer.change()  # while no process serves
                continue
            await stock.emit_changes(sample.scope)
            await asyncio.sleep(1)
            following.cancel()  # the client is interrupted, and reads the rest page by page
            await asyncio.gather(following, return_exceptions=True)
            await _follow(copy, address[0], app, until_idle=True)

    assert len(changer.done) >= 9, changer.done
    expected = await read_store(admin)
    assert copy.tables == expected, json.dumps(changer.done)
    whole = [event["id"] for event in (await app.get(FEED, after=start, limit="1000")).body["events"]]
    assert copy.applied == whole
