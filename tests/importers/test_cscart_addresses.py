"""The addresses of a shop are kept: names as slugs, and the paths that they had there as redirects."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from domain.content.redirects import find_target
from kernel.scope import Store, active_scope
from server.importers.cscart import run
from server.importers.cscart.addresses import redirect_lines
from tests.harness.scopes import execute, rows, system_scope
from tests.importers.cscart_answers import PRODUCT, PickyShop, shop


def named_shop(**changes: Any) -> PickyShop:
    """Return the shop with names of categories, products and a page."""
    answers = deepcopy(dict(shop().answers))
    names = {"166": "clothes-shop", "224": "pants", "167": "Sport & More"}
    for category in answers["categories"]["categories"]:
        category["seo_name"] = names.get(category["category_id"], "")
    answers["products/12"] = PRODUCT | {"seo_name": "pants-28.html"}
    answers["pages"] = {"pages": [
        {"page_id": "50", "page": "About us", "seo_name": "about", "status": "A", "parent_id": "0", "description": ""},
        {"page_id": "51", "page": "Team", "seo_name": "our_team.html", "status": "A", "parent_id": "50", "description": ""},
        {"page_id": "52", "page": "Team", "seo_name": "our_team.html", "status": "H", "parent_id": "0", "description": ""},
    ]}  # fmt: skip
    return PickyShop(answers | changes)


async def slugs(store: Store, table: str) -> dict[int, str]:
    stored = await rows(store, f"SELECT id, slug FROM {table} WHERE tenant_id = $1", store.id)
    return {row["id"]: row["slug"] for row in stored}


async def targets(store: Store, *paths: str) -> list[str | None]:
    scope = system_scope(store)
    with active_scope(scope):
        return [await find_target(scope, path) for path in paths]


async def test_names_are_kept_as_slugs_and_the_paths_of_the_shop_lead_to_them(new_store: Any) -> None:
    store = await new_store()
    await run.run(named_shop(), store.public_id)
    assert await slugs(store, "categories") == {166: "clothes-shop", 224: "pants", 167: "sport-more"}
    assert await slugs(store, "products") == {12: "pants-28.html"}
    assert await slugs(store, "vendors") == {1: "simtech"}
    pages = await slugs(store, "pages")
    assert (pages[50], pages[51]) == ("about", "our_team.html")
    assert pages[52] == "our_team.html-2", "the name is another page's"
    hidden = await rows(store, "SELECT id, status FROM pages WHERE tenant_id = $1 AND hidden", store.id)
    assert [tuple(row) for row in hidden] == [(52, "A")], "a hidden page stays one"
    product = "/produto/pants-28.html"
    paths = (
        "/pants-28.html",
        "/clothes-shop/pants/pants-28.html",
        "/Clothes-Shop/Pants/",
        "/sport & more",
        "/simtech/",
    )
    assert await targets(store, *paths) == [
        product, product, "/categoria/pants", "/categoria/sport-more", "/vendedor/simtech"
    ]  # fmt: skip
    assert await targets(store, "/about/our_team.html", "/our_team.html") == ["/pagina/our_team.html"] * 2


async def test_the_address_of_a_category_is_kept_with_its_path_and_extension(new_store: Any) -> None:
    store, source = await new_store(), named_shop()
    for category in source.answers["categories"]["categories"]:
        if category["category_id"] == "224":
            category["seo_name"] = "pants-28.html"
    source.answers["products/12"]["seo_name"] = "100g-pants"
    await run.run(source, store.public_id)
    assert (await slugs(store, "categories"))[224] == "pants-28.html"
    paths = ("/pants-28.html", "/clothes-shop/pants-28.html", "/clothes-shop/pants-28.html/100g-pants")
    category = "/categoria/pants-28.html"
    assert await targets(store, *paths) == [category, category, "/produto/100g-pants"]


async def test_a_second_import_changes_nothing_and_a_changed_name_keeps_the_former_one(new_store: Any) -> None:
    store = await new_store()
    await run.run(named_shop(), store.public_id)
    stored = (
        "SELECT id, path, product_id, category_id, page_id, vendor_id FROM redirects WHERE tenant_id = $1 ORDER BY id"
    )
    before = await rows(store, stored, store.id)
    await run.run(named_shop(), store.public_id)
    assert await rows(store, stored, store.id) == before
    source = named_shop()
    source.answers["products/12"]["seo_name"] = "trousers"
    source.answers["products"]["products"][0]["seo_name"] = "trousers"
    await run.run(source, store.public_id, since=datetime.fromtimestamp(1, UTC))
    assert await slugs(store, "products") == {12: "trousers"}
    assert await targets(store, "/pants-28.html", "/produto/pants-28.html") == ["/produto/trousers"] * 2


async def test_the_redirect_map_has_a_line_for_each_path(new_store: Any) -> None:
    store = await new_store()
    await run.run(named_shop(), store.public_id)
    await execute(store, "UPDATE categories SET deleted_at = now() WHERE tenant_id = $1 AND id = 167", store.id)
    scope = system_scope(store)
    with active_scope(scope):
        lines = [line async for line in redirect_lines(scope)]
    assert "/pants-28.html /produto/pants-28.html 301" in lines
    assert "/clothes-shop/pants /categoria/pants 301" in lines
    assert "/clothes-shop/pants.html /categoria/pants 301" in lines
    assert "/simtech /vendedor/simtech 301" in lines
    assert not any("sport" in line for line in lines), "a deleted record has no address"
    assert all(len(line.split(" ")) == 3 for line in lines)
