"""Check the category routes."""

from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore


async def create(sample: SampleStore, **body: Any) -> str:
    answer = await sample.post("/api/categories", {"category": "Banho"} | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"category_id"}
    return answer.body["category_id"]


async def read(sample: SampleStore, category_id: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/categories/{category_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_category_is_created_with_defaults(sample):
    number = await create(sample)
    category = await read(sample, number)
    assert category.pop("timestamp").isdigit()
    assert category == {
        "category_id": number,
        "category": "Banho",
        "parent_id": "0",
        "status": "A",
        "position": "0",
        "product_count": "0",
        "id_path": number,
        "seo_name": "banho",
        "page_title": "",
        "meta_keywords": "",
        "meta_description": "",
        "description": "",
        "company_id": "0",
    }


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("category", "Toalhas", "Toalhas"),
        ("page_title", "Banho & cia.", "Banho & cia."),
        ("meta_keywords", "banho, toalha", "banho, toalha"),
        ("meta_description", None, ""),
        ("status", "D", "D"),
        ("status", "hidden", "H"),
        ("status", "Active", "A"),
        ("position", 30, "30"),
        ("position", "30", "30"),
        ("description", "<b>x</b>", "<b>x</b>"),
        ("description", None, ""),
    ],
)
async def test_a_field_is_read_back_after_create_and_update(sample, name, value, expected):
    assert (await read(sample, await create(sample, **{name: value})))[name] == expected
    before = await read(sample, sample.kitchen)
    answer = await sample.put(f"/api/categories/{sample.kitchen}", {name: value})
    assert (answer.status, answer.body) == (200, {"category_id": str(sample.kitchen)})
    assert await read(sample, sample.kitchen) == before | {name: expected}


@pytest.mark.parametrize("form", ["number", "text", "uuid"])
async def test_a_category_has_a_parent(sample, form):
    parent = {"number": sample.kitchen.number, "text": str(sample.kitchen), "uuid": sample.kitchen.id}[form]
    number = await create(sample, parent_id=parent)
    category = await read(sample, number)
    assert category["parent_id"] == str(sample.kitchen)
    assert category["id_path"] == f"{sample.home}/{sample.kitchen}/{number}"


@pytest.mark.parametrize("root", [0, "0", None])
async def test_parent_zero_makes_a_root_category(sample, root):
    await sample.put(f"/api/categories/{sample.kitchen}", {"parent_id": root})
    category = await read(sample, sample.kitchen)
    assert (category["parent_id"], category["id_path"]) == ("0", str(sample.kitchen))


async def test_a_category_may_belong_to_a_vendor(sample):
    number = await create(sample, company_id=sample.rival.number)
    assert (await read(sample, number))["company_id"] == str(sample.rival)
    await sample.put(f"/api/categories/{number}", {"company_id": 0})
    assert (await read(sample, number))["company_id"] == "0"


async def test_updating_a_record_with_itself_changes_nothing(sample):
    for category in (sample.home, sample.kitchen, sample.hidden):
        before = await read(sample, category)
        assert (await sample.put(f"/api/categories/{category}", before)).status == 200
        assert await read(sample, category) == before


async def test_a_category_cannot_be_its_own_ancestor(sample):
    for parent in (sample.home, sample.kitchen):
        answer = await sample.put(f"/api/categories/{sample.home}", {"parent_id": parent.number})
        assert (answer.status, answer.body["message"]) == (400, "a category can't stand below itself"), parent


async def test_a_category_with_children_or_products_cannot_be_deleted(sample):
    child = await create(sample, parent_id=sample.hidden.number)
    for category, content in ((sample.hidden, "children"), (sample.kitchen, "products")):
        answer = await sample.delete(f"/api/categories/{category}")
        assert (answer.status, answer.body) == (
            422,
            {"status": 422, "message": f"the category has {content}"},
        )
    assert (await sample.delete(f"/api/categories/{child}")).status == 204
    answer = await sample.delete(f"/api/categories/{sample.hidden}")
    assert (answer.status, answer.raw) == (204, b"")
    for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/products")):
        missing = await sample.request(
            method, f"/api/categories/{sample.hidden}{path}", {} if method == "PUT" else None
        )
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Category not found"}), (method, path)


@pytest.mark.parametrize(
    "body, message",
    [
        ({"category": None}, "category is required"),
        ({"category": ""}, "category is required"),
        ({"category": " "}, "category is required"),
        ({"category": []}, "category is []; expected a text"),
        ({"status": "P"}, "status is 'P'; expected one of A, D, H"),
        ({"position": "first"}, "position is 'first'; expected a whole number"),
        ({"position": 2**31}, f"position is {2**31}; expected a whole number"),
        ({"parent_id": UNKNOWN_NUMBER}, f"category '{UNKNOWN_NUMBER}' not found"),
        ({"parent_id": UNKNOWN_ID}, f"category '{UNKNOWN_ID}' not found"),
        ({"parent_id": "abc"}, "parent_id is 'abc'; expected an id"),
        ({"company_id": UNKNOWN_NUMBER}, f"company_id '{UNKNOWN_NUMBER}' not found"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(sample, body, message):
    answer = await sample.post("/api/categories", {"category": "x"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_the_products_of_a_category_are_listed(sample):
    answer = await sample.get(f"/api/categories/{sample.home}/products?sort_by=product&sort_order=asc")
    assert answer.status == 200
    assert [row["product_id"] for row in answer.body["products"]] == [str(sample.mug), str(sample.plate)]
    assert answer.body["params"]["total_items"] == 2
    record = (await sample.get("/api/products?product_id=" + str(sample.mug))).body["products"][str(sample.mug)]
    assert answer.body["products"][0] == record
    page = await sample.get(f"/api/categories/{sample.home.id}/products?items_per_page=1&page=2&sort_by=product")
    assert [row["product_id"] for row in page.body["products"]] == [str(sample.plate)]
    assert (await sample.get(f"/api/categories/{sample.hidden}/products")).body["products"] == []


async def test_a_form_encoded_body_creates_a_category(sample):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = f"category=Ch%C3%A1&parent_id={sample.home}&position=4&status=hidden"
    answer = await sample.post("/api/categories", data=form.encode(), headers=headers)
    category = await read(sample, answer.body["category_id"])
    assert (category["category"], category["parent_id"], category["position"], category["status"]) == (
        "Chá",
        str(sample.home),
        "4",
        "H",
    )


async def test_in_the_cscart_dialect_categories_have_an_image(new_sample, sample):
    cscart = await new_sample(legacy_lists="cscart")
    link = "https://img.example.com/louca.jpg"
    body = {"category": "Louça", "main_pair": {"detailed": {"image_path": link, "alt": "Louça", "image_x": "800"}}}
    created = await cscart.post("/api/categories", body)
    assert (created.status, created.headers.get("X-Ignored-Fields")) == (201, None), created.raw
    path = f"/api/categories/{created.body['category_id']}"
    record = (await cscart.get(path)).body
    number = record["category_id"]
    assert (record["main_pair"]["pair_id"], record["main_pair"]["detailed_id"]) == (number, number)
    detailed = record["main_pair"]["detailed"]
    shown = {name: detailed[name] for name in ("object_id", "object_type", "image_path", "alt")}
    assert shown == {"object_id": number, "object_type": "category", "image_path": link, "alt": "Louça"}
    listed = {
        row["category_id"]: row for row in (await cscart.get("/api/categories?items_per_page=0")).body["categories"]
    }
    assert listed[number]["main_pair"] == record["main_pair"]
    assert "main_pair" not in listed[str(cscart.home)], "a category without an image"
    assert (await cscart.put(path, record)).status == 200
    assert (await cscart.get(path)).body == record, "a record sent back changes nothing"
    assert (await cscart.put(path, {"category": "Louças"})).status == 200
    assert (await cscart.get(path)).body["main_pair"] == record["main_pair"], "what is not named stays"
    refused = await cscart.put(path, {"main_pair": {"detailed": {"image_path": "louca.jpg"}}})
    expected = "image_path is 'louca.jpg'; expected an http or https address, or the file as image_data"
    assert (refused.status, refused.body["message"]) == (400, expected)
    data = await cscart.put(path, {"main_pair": {"detailed": {"image_data": "aGk="}}})
    expected = "main_pair.detailed.image_data is taken of products and options only; expected image_path"
    assert (data.status, data.body["message"]) == (400, expected)
    assert (await cscart.put(path, {"main_pair": []})).status == 200
    assert "main_pair" not in (await cscart.get(path)).body
    ignored = await sample.post("/api/categories", body)
    assert (ignored.status, ignored.headers["X-Ignored-Fields"]) == (201, "main_pair")
    assert "main_pair" not in (await sample.get(f"/api/categories/{ignored.body['category_id']}")).body
