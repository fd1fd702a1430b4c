"""A shop of which any answer may fail, at random: the import after the last fault ends as one without any."""

from __future__ import annotations

import json
import random
from typing import Any

import orjson
import pytest

from server.importers.cscart import run
from server.importers.cscart.report import Report
from server.importers.cscart.source import SourceError
from tests.harness.database import NewStore
from tests.importers.cscart_answers import PickyShop, shop
from tests.importers.test_cscart_repairs import ALL, contents_without_ids

IMPORTS = 4


def unambiguous() -> PickyShop:
    """Return the shop without what depends on the order of arrival: two users of one e-mail address, two order items of one number."""
    answers = dict(shop().answers)
    users = answers["users"]["users"]
    answers["users"] = answers["users"] | {"users": [user for user in users if user["user_id"] != "4"]}
    for path in ("orders/98", "shipments/1"):
        answers[path] = orjson.loads(orjson.dumps(answers[path]).replace(b"1104482741", b"1104482999"))
    return PickyShop(answers)


class RandomlyFailingShop(PickyShop):
    """A shop that fails to answer one request in three."""

    def __init__(self, seed: int) -> None:
        super().__init__(unambiguous().answers)
        self._random = random.Random(seed)
        self.failures = 0

    async def fetch(self, path: str, **query: object) -> Any:
        if self._random.random() < 1 / 3:
            self.failures += 1
            raise SourceError("status 500: Internal error")
        return await super().fetch(path, **query)


@pytest.fixture(scope="module")
async def whole(new_store: NewStore) -> tuple[dict[str, list[str]], Report]:
    """Return what an import without a fault writes, and its report."""
    store = await new_store()
    report = await run.run(unambiguous(), store.public_id)
    return await contents_without_ids(store), report


@pytest.mark.parametrize("seed", range(8))
async def test_a_shop_that_fails_at_random_is_brought_whole_in_the_end(
    whole: tuple[dict[str, list[str]], Report], new_store: NewStore, seed: int
) -> None:
    expected, report = whole
    store, source = await new_store(), RandomlyFailingShop(seed)
    for turn in range(IMPORTS):
        before = source.failures
        faulty = await run.run(source, store.public_id)
        assert source.failures > before, f"nothing failed in import {turn}"
        assert faulty.failures or faulty.missing, f"no failure of import {turn} is reported"
        shown = json.loads(json.dumps(faulty.as_json()))
        assert [tuple(each.values()) for each in shown["failures"]] == faulty.failures, turn
    last = await run.run(unambiguous(), store.public_id)
    after = await contents_without_ids(store)
    different = {table: (rows, expected[table]) for table, rows in after.items() if rows != expected[table]}
    assert different == {}
    assert last.open == report.open
    assert (await run.run(unambiguous(), store.public_id, since=ALL)).references == report.references
