"""Check features over every route."""

from typing import Any

import pytest

from tests.shop import NO_NUMBER, Shop


async def create(shop: Shop, **body: Any) -> str:
    answer = await shop.post("/api/features", {"description": "Tecido"} | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"feature_id"}
    return answer.body["feature_id"]


async def shown(shop: Shop, feature_id: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/features/{feature_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_feature_is_created_with_defaults(shop):
    number = await create(shop)
    assert await shown(shop, number) == {
        "feature_id": number,
        "description": "Tecido",
        "feature_type": "T",
        "parent_id": "0",
        "group_id": "0",
        "categories_path": "",
        "categories_ids": [],
        "status": "A",
        "position": "0",
        "prefix": "",
        "suffix": "",
        "comparison": "N",
        "display_on_product": "Y",
        "display_on_catalog": "N",
        "variants": {},
    }


@pytest.mark.parametrize(
    "name, given, read_back",
    [
        ("description", "Trama", "Trama"),
        *[("feature_type", letter, letter) for letter in "STNDCEBAG"],
        ("feature_type", "select", "S"),
        ("feature_type", "brand", "B"),
        ("status", "disabled", "D"),
        ("position", "7", "7"),
        ("prefix", "R$", "R$"),
        ("suffix", "cm", "cm"),
        ("comparison", "Y", "Y"),
        ("display_on_product", "N", "N"),
        ("display_on_catalog", True, "Y"),
    ],
)
async def test_a_field_is_read_back_after_creation_and_after_a_change(shop, name, given, read_back):
    assert (await shown(shop, await create(shop, **{name: given})))[name] == read_back
    before = await shown(shop, shop.volume)
    await shop.execute("delete from feature_values")  # a type can't change under values
    answer = await shop.put(f"/api/features/{shop.volume}", {name: given})
    assert (answer.status, answer.body) == (200, {"feature_id": str(shop.volume)})
    assert await shown(shop, shop.volume) == before | {name: read_back}


@pytest.mark.parametrize("name", ["categories_ids", "categories_path"])
@pytest.mark.parametrize("form", ["list", "text"])
async def test_a_feature_is_carried_by_products_of_its_categories(shop, name, form):
    ids = [shop.home.number, shop.kitchen.number]
    number = await create(shop, **{name: ids if form == "list" else ",".join(map(str, ids))})
    feature = await shown(shop, number)
    assert feature["categories_path"] == f"{shop.home},{shop.kitchen}"
    assert feature["categories_ids"] == [str(shop.home), str(shop.kitchen)]
    found = await shop.get(f"/api/features?category_id={shop.kitchen}")
    assert list(found.body["features"]) == [number]
    await shop.put(f"/api/features/{number}", {name: []})
    assert (await shown(shop, number))["categories_path"] == ""


async def test_a_feature_stands_in_a_group(shop):
    group = await create(shop, feature_type="G", description="Medidas")
    number = await create(shop, group_id=int(group))
    assert (await shown(shop, number))["parent_id"] == group
    assert (await shown(shop, number))["group_id"] == group
    found = await shop.get(f"/api/features?parent_id={group}")
    assert list(found.body["features"]) == [number]
    await shop.put(f"/api/features/{number}", {"parent_id": 0})
    assert (await shown(shop, number))["parent_id"] == "0"
    refused = await shop.post("/api/features", {"description": "x", "group_id": shop.colour.number})
    assert (refused.status, refused.body["status"]) == (400, 400)


async def test_variants_are_kept_changed_added_and_dropped(shop):
    number = await create(shop, feature_type="S", variants=[{"variant": "Linho"}, {"variant": "Lã"}, "Juta"])
    variants = (await shown(shop, number))["variants"]
    assert [(each["variant"], each["position"]) for each in variants.values()] == [
        ("Linho", "0"),
        ("Lã", "1"),
        ("Juta", "2"),
    ]
    linen, wool, _ = variants
    answer = await shop.put(
        f"/api/features/{number}",
        {"variants": {linen: {"variant": "Linho fino"}, wool: {}, "0": {"variant": "Seda", "position": 9}}},
    )
    assert answer.status == 200, answer.raw
    after = (await shown(shop, number))["variants"]
    assert {key: each["variant"] for key, each in after.items()} | {} == {
        linen: "Linho fino",
        wool: "Lã",
        max(after, key=int): "Seda",
    }


@pytest.mark.parametrize(
    "body",
    [
        {"description": ""},
        {"description": None},
        {"feature_type": "Z"},
        {"feature_type": 1},
        {"status": "H"},
        {"group_id": NO_NUMBER},
        {"group_id": "x"},
        {"categories_ids": [NO_NUMBER]},
        {"categories_ids": {"a": {}}},
        {"position": -1},
        {"position": "x"},
        {"position": 2**40},
        {"comparison": "maybe"},
        {"feature_type": "S", "variants": 7},
        {"feature_type": "S", "variants": [{"variant": ""}]},
        {"feature_type": "S", "variants": [[1]]},
        {"feature_type": "S", "variants": [{"variant": "x", "position": "y"}]},
        {"description": "x" * 300},
    ],
)
async def test_what_is_wrong_is_refused_and_nothing_is_made(shop, body):
    before = (await shop.get("/api/features")).body["params"]["total_items"]
    answer = await shop.post("/api/features", {"description": "x"} | body)
    assert answer.status == 400, answer.raw
    assert set(answer.body) >= {"status", "message"}
    assert (await shop.get("/api/features")).body["params"]["total_items"] == before


async def test_a_description_is_needed(shop):
    answer = await shop.post("/api/features", {"feature_type": "T"})
    assert (answer.status, answer.body) == (400, {"status": 400, "message": "description is required"})


async def test_a_feature_that_is_deleted_is_gone(shop):
    assert (await shop.delete(f"/api/features/{shop.colour}")).status == 204
    assert (await shop.get(f"/api/features/{shop.colour}")).status == 404
    assert (await shop.delete(f"/api/features/{shop.colour}")).status == 404


@pytest.mark.parametrize(
    "query, names",
    [
        ("feature_type=S", ["Cor"]),
        ("feature_type=select", ["Cor"]),
        ("feature_type[]=T&feature_type[]=N", ["Material", "Volume"]),
        ("description=Material", ["Material"]),
        ("status=D", []),
        ("status=Z", []),
        ("position=2", ["Volume"]),
        ("feature_id=x", []),
        ("comparison=N&feature_type=N", ["Volume"]),
    ],
)
async def test_filters(shop, query, names):
    answer = await shop.get(f"/api/features?{query}")
    assert answer.status == 200
    assert [row["description"] for row in answer.body["features"].values()] == names
    assert answer.body["search"]
    assert answer.body["params"]["total_items"] == len(names)


async def test_a_list_is_paged_and_sorted(shop):
    answer = await shop.get("/api/features?sort_by=description&sort_order=desc&items_per_page=2")
    assert [row["description"] for row in answer.body["features"]] == ["Volume", "Material"]
    assert answer.body["params"] == {
        "page": 1,
        "items_per_page": 2,
        "total_items": 3,
        "sort_by": "description",
        "sort_order": "desc",
    }
    second = await shop.get("/api/features?sort_by=description&sort_order=desc&items_per_page=2&page=2")
    assert [row["description"] for row in second.body["features"]] == ["Cor"]
