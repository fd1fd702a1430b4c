"""Check the feature routes."""

from typing import Any

import pytest

from tests.harness.records import UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore


async def create(sample: SampleStore, **body: Any) -> str:
    answer = await sample.post("/api/features", {"description": "Tecido"} | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"feature_id"}
    return answer.body["feature_id"]


async def read(sample: SampleStore, feature_id: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/features/{feature_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_feature_is_created_with_defaults(sample):
    number = await create(sample)
    assert await read(sample, number) == {
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
        "company_id": "0",
    }


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("description", "Trama", "Trama"),
        *[("feature_type", code, code) for code in "SMTNODCEBAG"],
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
async def test_a_field_is_read_back_after_create_and_update(sample, name, value, expected):
    assert (await read(sample, await create(sample, **{name: value})))[name] == expected
    before = await read(sample, sample.volume)
    await sample.execute("delete from feature_values")  # the type can't change while values exist
    answer = await sample.put(f"/api/features/{sample.volume}", {name: value})
    assert (answer.status, answer.body) == (200, {"feature_id": str(sample.volume)})
    assert await read(sample, sample.volume) == before | {name: expected}


@pytest.mark.parametrize("name", ["categories_ids", "categories_path"])
@pytest.mark.parametrize("form", ["list", "text"])
async def test_a_feature_is_limited_to_its_categories(sample, name, form):
    ids = [sample.home.number, sample.kitchen.number]
    number = await create(sample, **{name: ids if form == "list" else ",".join(map(str, ids))})
    feature = await read(sample, number)
    assert feature["categories_path"] == f"{sample.home},{sample.kitchen}"
    assert feature["categories_ids"] == [str(sample.home), str(sample.kitchen)]
    listed = await sample.get(f"/api/features?category_id={sample.kitchen}")
    assert list(listed.body["features"]) == [number]
    await sample.put(f"/api/features/{number}", {name: []})
    assert (await read(sample, number))["categories_path"] == ""


async def test_a_feature_belongs_to_a_group(sample):
    group = await create(sample, feature_type="G", description="Medidas")
    number = await create(sample, group_id=int(group))
    assert (await read(sample, number))["parent_id"] == group
    assert (await read(sample, number))["group_id"] == group
    listed = await sample.get(f"/api/features?parent_id={group}")
    assert list(listed.body["features"]) == [number]
    await sample.put(f"/api/features/{number}", {"parent_id": 0})
    assert (await read(sample, number))["parent_id"] == "0"
    refused = await sample.post("/api/features", {"description": "x", "group_id": sample.colour.number})
    assert (refused.status, refused.body["status"]) == (400, 400)


async def test_an_update_keeps_changes_adds_and_deletes_variants(sample):
    number = await create(sample, feature_type="S", variants=[{"variant": "Linho"}, {"variant": "Lã"}, "Juta"])
    variants = (await read(sample, number))["variants"]
    assert [(variant["variant"], variant["position"]) for variant in variants.values()] == [
        ("Linho", "0"),
        ("Lã", "1"),
        ("Juta", "2"),
    ]
    linen, wool, _ = variants
    answer = await sample.put(
        f"/api/features/{number}",
        {"variants": {linen: {"variant": "Linho fino"}, wool: {}, "0": {"variant": "Seda", "position": 9}}},
    )
    assert answer.status == 200, answer.raw
    after = (await read(sample, number))["variants"]
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
        {"group_id": UNKNOWN_NUMBER},
        {"group_id": "x"},
        {"categories_ids": [UNKNOWN_NUMBER]},
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
async def test_invalid_input_is_rejected_and_creates_nothing(sample, body):
    before = (await sample.get("/api/features")).body["params"]["total_items"]
    answer = await sample.post("/api/features", {"description": "x"} | body)
    assert answer.status == 400, answer.raw
    assert set(answer.body) >= {"status", "message"}
    assert (await sample.get("/api/features")).body["params"]["total_items"] == before


async def test_a_description_is_required(sample):
    answer = await sample.post("/api/features", {"feature_type": "T"})
    assert (answer.status, answer.body) == (400, {"status": 400, "message": "description is required"})


@pytest.mark.parametrize("path, name", [("features", "variant"), ("options", "variant_name")])
async def test_an_invalid_variant_is_named_as_one(sample, path, name):
    """Not by the name of the feature or option, which is right."""
    body = {"description": "Cor", "feature_type": "S", "option_name": "Cor"}
    for variant in ({}, {name: ""}, {name: " ", "position": 1}):
        answer = await sample.post(f"/api/{path}", body | {"variants": [{name: "Azul"}, variant]})
        assert (answer.status, answer.body["message"]) == (400, f"variants: {name} is required"), variant
    answer = await sample.post(f"/api/{path}", body | {"variants": [{name: "x" * 300}]})
    assert answer.body["message"] == f"variants: {name} has 300 characters; expected at most 255"


async def test_a_deleted_feature_is_not_found(sample):
    assert (await sample.delete(f"/api/features/{sample.colour}")).status == 204
    assert (await sample.get(f"/api/features/{sample.colour}")).status == 404
    assert (await sample.delete(f"/api/features/{sample.colour}")).status == 404


async def test_products_have_no_value_of_a_deleted_feature(sample):
    deleted, kept = await create(sample), await create(sample, description="Lavagem")
    product = f"/api/products/{sample.mug}"
    answer = await sample.put(product, {"product_features": {deleted: "linho", kept: "a frio"}})
    assert answer.status == 200, answer.raw
    assert {deleted, kept} <= set((await sample.get(product)).body["product_features"])
    assert (await sample.delete(f"/api/features/{deleted}")).status == 204
    records = [
        (await sample.get(product)).body,
        (await sample.get(f"/api/products?product_id={sample.mug}")).body["products"][str(sample.mug)],
    ]
    for record in records:
        assert deleted not in record["product_features"]
        assert record["product_features"][kept]["value"] == "a frio"
    nested = (await sample.get(f"{product}/features")).body["features"]
    assert deleted not in [feature["feature_id"] for feature in nested]
    assert (await sample.get(f"{product}/features/{deleted}")).status == 404


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
async def test_filters(sample, query, names):
    answer = await sample.get(f"/api/features?{query}")
    assert answer.status == 200
    assert [row["description"] for row in answer.body["features"].values()] == names
    assert answer.body["search"]
    assert answer.body["params"]["total_items"] == len(names)


async def test_a_list_is_paginated_and_sorted(sample):
    answer = await sample.get("/api/features?sort_by=description&sort_order=desc&items_per_page=2")
    assert [row["description"] for row in answer.body["features"]] == ["Volume", "Material"]
    assert answer.body["params"] == {
        "page": 1,
        "items_per_page": 2,
        "total_items": 3,
        "sort_by": "description",
        "sort_order": "desc",
    }
    second = await sample.get("/api/features?sort_by=description&sort_order=desc&items_per_page=2&page=2")
    assert [row["description"] for row in second.body["features"]] == ["Cor"]


async def test_a_group_with_features_stays_a_group(sample):
    group = await create(sample, feature_type="G")
    number = await create(sample, group_id=int(group))
    answer = await sample.put(f"/api/features/{group}", {"feature_type": "T"})
    assert answer.status == 422
    assert answer.body["message"] == "features are in the group; its type can't go from G to T"
    assert (await sample.delete(f"/api/features/{number}")).status == 204
    assert (await sample.put(f"/api/features/{group}", {"feature_type": "T"})).status == 200


async def test_a_type_without_variants_deletes_them(sample):
    number = await create(sample, feature_type="S", variants=["Linho", "Juta"])
    assert (await sample.put(f"/api/features/{number}", {"feature_type": "T"})).status == 200
    assert (await sample.put(f"/api/features/{number}", {"feature_type": "S"})).status == 200
    assert (await read(sample, number))["variants"] == {}


async def test_a_deleted_category_leaves_its_features(sample):
    kept, deleted = [
        (await sample.post("/api/categories", {"category": name})).body["category_id"]
        for name in ("Louças", "Talheres")
    ]
    body = {"description": "Lavável", "feature_type": "C", "categories_ids": [kept, deleted]}
    path = f"/api/features/{(await sample.post('/api/features', body)).body['feature_id']}"
    assert (await sample.delete(f"/api/categories/{deleted}")).status == 204
    feature = (await sample.get(path)).body
    assert (feature["categories_ids"], feature["categories_path"]) == ([kept], kept)
    written = await sample.put(path, feature | {"categories_ids": [kept, str(sample.home)]})
    assert written.status == 200, written.raw
