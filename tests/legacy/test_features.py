"""Check the feature routes."""

from typing import Any

import pytest

from tests.shop import NO_NUMBER, Shop


async def create(shop: Shop, **body: Any) -> str:
    answer = await shop.post("/api/features", {"description": "Tecido"} | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"feature_id"}
    return answer.body["feature_id"]


async def read(shop: Shop, feature_id: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/features/{feature_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_feature_is_created_with_defaults(shop):
    number = await create(shop)
    assert await read(shop, number) == {
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
    "name, value, expected",
    [
        ("description", "Trama", "Trama"),
        *[("feature_type", code, code) for code in "STNDCEBAG"],
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
async def test_a_field_is_read_back_after_create_and_update(shop, name, value, expected):
    assert (await read(shop, await create(shop, **{name: value})))[name] == expected
    before = await read(shop, shop.volume)
    await shop.execute("delete from feature_values")  # the type can't change while values exist
    answer = await shop.put(f"/api/features/{shop.volume}", {name: value})
    assert (answer.status, answer.body) == (200, {"feature_id": str(shop.volume)})
    assert await read(shop, shop.volume) == before | {name: expected}


@pytest.mark.parametrize("name", ["categories_ids", "categories_path"])
@pytest.mark.parametrize("form", ["list", "text"])
async def test_a_feature_is_limited_to_its_categories(shop, name, form):
    ids = [shop.home.number, shop.kitchen.number]
    number = await create(shop, **{name: ids if form == "list" else ",".join(map(str, ids))})
    feature = await read(shop, number)
    assert feature["categories_path"] == f"{shop.home},{shop.kitchen}"
    assert feature["categories_ids"] == [str(shop.home), str(shop.kitchen)]
    listed = await shop.get(f"/api/features?category_id={shop.kitchen}")
    assert list(listed.body["features"]) == [number]
    await shop.put(f"/api/features/{number}", {name: []})
    assert (await read(shop, number))["categories_path"] == ""


async def test_a_feature_belongs_to_a_group(shop):
    group = await create(shop, feature_type="G", description="Medidas")
    number = await create(shop, group_id=int(group))
    assert (await read(shop, number))["parent_id"] == group
    assert (await read(shop, number))["group_id"] == group
    listed = await shop.get(f"/api/features?parent_id={group}")
    assert list(listed.body["features"]) == [number]
    await shop.put(f"/api/features/{number}", {"parent_id": 0})
    assert (await read(shop, number))["parent_id"] == "0"
    refused = await shop.post("/api/features", {"description": "x", "group_id": shop.colour.number})
    assert (refused.status, refused.body["status"]) == (400, 400)


async def test_an_update_keeps_changes_adds_and_deletes_variants(shop):
    number = await create(shop, feature_type="S", variants=[{"variant": "Linho"}, {"variant": "Lã"}, "Juta"])
    variants = (await read(shop, number))["variants"]
    assert [(variant["variant"], variant["position"]) for variant in variants.values()] == [
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
    after = (await read(shop, number))["variants"]
    assert {key: variant["variant"] for key, variant in after.items()} == {
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
async def test_invalid_input_is_rejected_and_creates_nothing(shop, body):
    before = (await shop.get("/api/features")).body["params"]["total_items"]
    answer = await shop.post("/api/features", {"description": "x"} | body)
    assert answer.status == 400, answer.raw
    assert set(answer.body) >= {"status", "message"}
    assert (await shop.get("/api/features")).body["params"]["total_items"] == before


async def test_a_description_is_required(shop):
    answer = await shop.post("/api/features", {"feature_type": "T"})
    assert (answer.status, answer.body) == (400, {"status": 400, "message": "description is required"})


async def test_a_deleted_feature_is_not_found(shop):
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


async def test_a_list_is_paginated_and_sorted(shop):
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
