"""The pictures of a CS-Cart shop are copied: they are there when the shop is gone, and the same links fetch nothing again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from yarl import URL

from domain.media.addresses import digest_in
from kernel.scope import Store
from server.importers.cscart import run
from server.importers.cscart.report import Report
from server.media.child_pool import image_renderer
from server.outgoing import outgoing_client
from tests.harness.database import NewStore
from tests.harness.http import HttpClient, system_trust
from tests.harness.row_versions import changed_tables, row_versions
from tests.harness.scopes import execute, rows
from tests.importers.cscart_answers import shop
from tests.importers.shops import SavedShop
from tests.importers.test_cscart import shown
from tests.media.pictures import encoded, picture
from tests.media.source_server import SourceServer

OLD = "http://shop.example"
PICTURES = {
    "a.jpg": encoded(".jpg", picture(60, 40)),
    "b.jpg": encoded(".webp", picture(50, 40)),
    "images/variant_image/0/black.jpg": encoded(".png", picture(30, 30)),
}
_LINKS = "SELECT url AS link, media_id FROM product_images WHERE tenant_id = $1 AND url LIKE 'http%'"
_VARIANTS = "SELECT image_url AS link, media_id FROM option_variants WHERE tenant_id = $1 AND image_url LIKE 'http%'"
_FILES = "SELECT id, sha256, status, source_url FROM media_files WHERE tenant_id = $1 ORDER BY source_url"


@pytest.fixture(autouse=True)
async def resources(http: HttpClient) -> AsyncIterator[None]:
    async with image_renderer(), outgoing_client(allows_private=True, trust=system_trust()):
        yield


@pytest.fixture
async def pictures() -> AsyncIterator[SourceServer]:
    server = SourceServer()
    await server.start()
    for path, content in PICTURES.items():
        server.add(path, content)
    yield server
    await server.close()


def shop_with(pictures: SourceServer) -> SavedShop:
    """Return the shop with its pictures at the server."""

    def moved(answer: Any) -> Any:
        if isinstance(answer, str):
            return answer.replace(OLD, pictures.url("").rstrip("/"))
        if isinstance(answer, dict):
            return {name: moved(each) for name, each in answer.items()}
        return [moved(each) for each in answer] if isinstance(answer, list) else answer

    return SavedShop(moved(deepcopy(dict(shop().answers))))


async def bring(store: Store, pictures: SourceServer, **options: Any) -> Report:
    return await run.run(shop_with(pictures), store.public_id, **{"copies_images": True, **options})


async def test_pictures_are_there_when_the_shop_is_gone(
    http: HttpClient, new_store: NewStore, pictures: SourceServer
) -> None:
    store = await new_store()
    report = await bring(store, pictures)
    assert not [failure for failure in report.failures if failure[0] == "pictures"]
    assert (report.counts["pictures"].read, report.counts["pictures"].added) == (3, 3)
    await pictures.close()
    owner = await shown(http, store)
    product = await owner.read("products/12")
    urls = [pair["detailed"]["image_path"] for pair in (product["main_pair"], *product["image_pairs"].values())]
    served = []
    for url in urls:
        if digest_in(url) is not None:
            async with http.get(URL(url).path, headers={"X-Tenant-ID": str(store.public_id)}) as response:
                assert response.status == 200, url
                served.append(await response.read())
    assert served == [PICTURES["a.jpg"], PICTURES["b.jpg"]]
    for row in [*await rows(store, _LINKS, store.id), *await rows(store, _VARIANTS, store.id)]:
        assert row["media_id"] is not None, row["link"]


async def test_pictures_of_categories_are_brought_and_one_set_here_stays(
    http: HttpClient, new_store: NewStore, pictures: SourceServer
) -> None:
    store = await new_store()
    source = shop_with(pictures)
    source.answers["categories/224"]["main_pair"] = {
        "detailed": {"image_path": pictures.url("a.jpg"), "alt": "Calças"},
    }
    await run.run(source, store.public_id, copies_images=True)
    read = "SELECT image_url, image_alt, media_id FROM categories WHERE tenant_id = $1 AND id = $2"
    [brought] = await rows(store, read, store.id, 224)
    assert (brought["image_url"], brought["image_alt"]) == (pictures.url("a.jpg"), "Calças")
    assert brought["media_id"] is not None
    set_here = "UPDATE categories SET image_url = $3, media_id = $4 WHERE tenant_id = $1 AND id = $2"
    await execute(store, set_here, store.id, 166, pictures.url("b.jpg"), brought["media_id"])
    [here] = await rows(store, read, store.id, 166)
    for row in source.answers["categories"]["categories"]:
        source.answers.get(f"categories/{row['category_id']}", {})["description"] = row["description"] = "Nova"
    await run.run(source, store.public_id, copies_images=True, since=datetime.now(UTC))
    assert await rows(store, read, store.id, 224) == [brought]
    assert await rows(store, read, store.id, 166) == [here]
    [text] = await rows(store, "SELECT description FROM categories WHERE tenant_id = $1 AND id = $2", store.id, 166)
    assert text["description"] == "Nova"


async def test_the_same_links_again_fetch_and_change_nothing(
    http: HttpClient, new_store: NewStore, pictures: SourceServer
) -> None:
    store = await new_store()
    await bring(store, pictures)
    sent = {
        "main_pair": {"detailed": {"image_path": pictures.url("a.jpg")}},
        "image_pairs": [{"detailed": {"image_path": pictures.url("b.jpg")}}],
    }
    owner = await shown(http, store)
    fetched = pictures.requests.copy()
    await owner.send("PUT", "products/12", sent)
    before = await row_versions(store, without=("api_keys",))
    await owner.send("PUT", "products/12", sent)
    assert changed_tables(before, await row_versions(store, without=("api_keys",))) == []
    report = await bring(store, pictures)
    assert (report.counts["pictures"].added, report.counts["pictures"].present) == (0, 3)
    assert pictures.requests == fetched


async def test_a_picture_that_can_not_be_fetched_is_reported(new_store: NewStore, pictures: SourceServer) -> None:
    del pictures.contents["b.jpg"]
    store = await new_store()
    report = await bring(store, pictures)
    failed = [failure for failure in report.failures if failure[0] == "pictures"]
    assert failed == [("pictures", pictures.url("b.jpg"), "the source answered 404")]
    assert pictures.requests["b.jpg"] == 2
    pictures.add("b.jpg", PICTURES["b.jpg"])
    await execute(
        store, "UPDATE media_files SET next_attempt_at = now() WHERE tenant_id = $1 AND status = 'failed'", store.id
    )
    report = await bring(store, pictures)
    assert not [failure for failure in report.failures if failure[0] == "pictures"]
    assert {row["status"] for row in await rows(store, _FILES, store.id)} == {"ready"}


async def test_a_changed_record_keeps_its_copies(new_store: NewStore, pictures: SourceServer) -> None:
    store = await new_store()
    await bring(store, pictures)
    files, fetched = await rows(store, _FILES, store.id), pictures.requests.copy()
    changed = shop_with(pictures)
    changed.answers["products"]["products"][0]["product"] = "200g Pants"
    changed.answers["products/12"]["product"] = "200g Pants"
    await run.run(changed, store.public_id, copies_images=True, since=datetime.now(UTC))
    assert await rows(store, _FILES, store.id) == files
    assert pictures.requests == fetched
    assert all(row["media_id"] for row in await rows(store, _LINKS, store.id))


async def test_links_stay_links_where_that_is_wanted(new_store: NewStore, pictures: SourceServer) -> None:
    store = await new_store()
    report = await bring(store, pictures, copies_images=False)
    assert "pictures" not in report.counts
    assert not pictures.requests
    assert await rows(store, _FILES, store.id) == []
