"""Tags of products, which an add-on of CS-Cart has in several forms."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

from kernel.scope import Store
from server.importers.cscart import run
from server.importers.cscart.report import Report
from tests.harness.scopes import execute, rows
from tests.importers.cscart_answers import PRODUCT, PickyShop, shop


def shop_with(tags: object) -> PickyShop:
    answers = deepcopy(dict(shop().answers))
    answers["products/12"] = PRODUCT | ({} if tags is None else {"tags": tags})
    answers["products"]["products"][0]["tags"] = tags
    return PickyShop(answers)


async def tags_of(store: Store) -> list[str]:
    stored = await rows(store, "SELECT tag FROM product_tags WHERE tenant_id = $1 ORDER BY tag", store.id)
    return [row["tag"] for row in stored]


@pytest.mark.parametrize(
    "tags, brought",
    [
        (["Red", "summer  sale", "red"], ["red", "summer sale"]),
        ("Red, Blue,", ["blue", "red"]),
        ([{"tag_id": "1", "tag": "Red", "status": "A"}, {"tag_id": "2", "tag": "Old", "status": "D"}], ["red"]),
        ({"5": {"tag": "Red"}, "7": "blue"}, ["blue", "red"]),
        ([], []),
        (False, []),
        (["x" * 65, 3, None, "red"], ["red"]),
        ([f"t{number:02}" for number in range(60)], [f"t{number:02}" for number in range(50)]),
    ],
)
async def test_tags_are_brought_as_they_are_compared_here(new_store: Any, tags: object, brought: list[str]) -> None:
    store = await new_store()
    report: Report = await run.run(shop_with(tags), store.public_id)
    assert await tags_of(store) == brought
    notes = [text for entity, text in report.notes if entity == "products" and "tag" in text]
    assert len(notes) == (1 if isinstance(tags, list) and len(tags) > len(brought) + 2 else 0), notes


async def test_the_source_wins_unless_it_has_no_tags_to_say(new_store: Any) -> None:
    store = await new_store()
    await run.run(shop_with(["red", "blue"]), store.public_id)
    since = datetime.fromtimestamp(1, UTC)
    await run.run(shop_with(["red", "green"]), store.public_id, since=since)
    assert await tags_of(store) == ["green", "red"]
    await run.run(shop_with(["red", "green"]), store.public_id, since=since)
    assert await tags_of(store) == ["green", "red"], "a second run changes nothing"
    await execute(store, "UPDATE product_tags SET tag = 'mine' WHERE tenant_id = $1 AND tag = 'red'", store.id)
    await run.run(shop_with(None), store.public_id, since=since)
    assert await tags_of(store) == ["green", "mine"]


@pytest.mark.parametrize("tags, kept", [([], []), ({}, []), ("", []), (False, []), (None, ["blue", "red"])])
async def test_tags_that_the_source_no_longer_has_are_taken_away(new_store: Any, tags: object, kept: list[str]) -> None:
    store = await new_store()
    await run.run(shop_with(["red", "blue"]), store.public_id)
    await run.run(shop_with(tags), store.public_id, since=datetime.fromtimestamp(1, UTC))
    assert await tags_of(store) == kept
