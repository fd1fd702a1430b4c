"""Check the category routes."""

from typing import Any

import pytest

from tests.shop import NO_NUMBER, NOBODY, Shop


async def create(shop: Shop, **body: Any) -> str:
    answer = await shop.post("/api/categories", {"category": "Banho"} | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"category_id"}
    return answer.body["category_id"]


async def read(shop: Shop, category_id: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/categories/{category_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_category_is_created_with_defaults(shop):
    number = await create(shop)
    category = await read(shop, number)
    assert category.pop("timestamp").isdigit()
    assert category == {
        "category_id": number,
        "category": "Banho",
        "parent_id": "0",
        "status": "A",
        "position": "0",
        "product_count": "0",
        "id_path": number,
        "description": "",
        "company_id": "0",
    }


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("category", "Toalhas", "Toalhas"),
        ("status", "D", "D"),
        ("status", "hidden", "H"),
        ("status", "Active", "A"),
        ("position", 30, "30"),
        ("position", "30", "30"),
        ("description", "<b>x</b>", "<b>x</b>"),
        ("description", None, ""),
    ],
)
async def test_a_field_is_read_back_after_create_and_update(shop, name, value, expected):
    assert (await read(shop, await create(shop, **{name: value})))[name] == expected
    before = await read(shop, shop.kitchen)
    answer = await shop.put(f"/api/categories/{shop.kitchen}", {name: value})
    assert (answer.status, answer.body) == (200, {"category_id": str(shop.kitchen)})
    assert await read(shop, shop.kitchen) == before | {name: expected}


@pytest.mark.parametrize("form", ["number", "text", "uuid"])
async def test_a_category_has_a_parent(shop, form):
    parent = {"number": shop.kitchen.number, "text": str(shop.kitchen), "uuid": shop.kitchen.id}[form]
    number = await create(shop, parent_id=parent)
    category = await read(shop, number)
    assert category["parent_id"] == str(shop.kitchen)
    assert category["id_path"] == f"{shop.home}/{shop.kitchen}/{number}"


@pytest.mark.parametrize("root", [0, "0", None])
async def test_parent_zero_makes_a_root_category(shop, root):
    await shop.put(f"/api/categories/{shop.kitchen}", {"parent_id": root})
    category = await read(shop, shop.kitchen)
    assert (category["parent_id"], category["id_path"]) == ("0", str(shop.kitchen))


async def test_a_category_may_belong_to_a_vendor(shop):
    number = await create(shop, company_id=shop.rival.number)
    assert (await read(shop, number))["company_id"] == str(shop.rival)
    await shop.put(f"/api/categories/{number}", {"company_id": 0})
    assert (await read(shop, number))["company_id"] == "0"


async def test_updating_a_record_with_itself_changes_nothing(shop):
    for category in (shop.home, shop.kitchen, shop.hidden):
        before = await read(shop, category)
        assert (await shop.put(f"/api/categories/{category}", before)).status == 200
        assert await read(shop, category) == before


async def test_a_category_cannot_be_its_own_ancestor(shop):
    for parent in (shop.home, shop.kitchen):
        answer = await shop.put(f"/api/categories/{shop.home}", {"parent_id": parent.number})
        assert (answer.status, answer.body["message"]) == (400, "a category can't stand below itself")


async def test_a_category_with_children_or_products_cannot_be_deleted(shop):
    child = await create(shop, parent_id=shop.hidden.number)
    for category, content in ((shop.hidden, "children"), (shop.kitchen, "products")):
        answer = await shop.delete(f"/api/categories/{category}")
        assert (answer.status, answer.body) == (
            422,
            {"status": 422, "message": f"the category has {content}"},
        )
    assert (await shop.delete(f"/api/categories/{child}")).status == 204
    answer = await shop.delete(f"/api/categories/{shop.hidden}")
    assert (answer.status, answer.raw) == (204, b"")
    for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/products")):
        missing = await shop.call(
            method, f"/api/categories/{shop.hidden}{path}", {} if method == "PUT" else None
        )
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Category not found"})


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
        ({"parent_id": NO_NUMBER}, f"category '{NO_NUMBER}' not found"),
        ({"parent_id": NOBODY}, f"category '{NOBODY}' not found"),
        ({"parent_id": "abc"}, "parent_id is 'abc'; expected an id"),
        ({"company_id": NO_NUMBER}, f"company_id '{NO_NUMBER}' not found"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(shop, body, message):
    answer = await shop.post("/api/categories", {"category": "x"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_the_products_of_a_category_are_listed(shop):
    answer = await shop.get(f"/api/categories/{shop.home}/products?sort_by=product&sort_order=asc")
    assert answer.status == 200
    assert [row["product_id"] for row in answer.body["products"]] == [str(shop.mug), str(shop.plate)]
    assert answer.body["params"]["total_items"] == 2
    record = (await shop.get("/api/products?product_id=" + str(shop.mug))).body["products"][str(shop.mug)]
    assert answer.body["products"][0] == record
    page = await shop.get(f"/api/categories/{shop.home.id}/products?items_per_page=1&page=2&sort_by=product")
    assert [row["product_id"] for row in page.body["products"]] == [str(shop.plate)]
    assert (await shop.get(f"/api/categories/{shop.hidden}/products")).body["products"] == []


async def test_a_form_encoded_body_creates_a_category(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = f"category=Ch%C3%A1&parent_id={shop.home}&position=4&status=hidden"
    answer = await shop.post("/api/categories", data=form.encode(), headers=headers)
    category = await read(shop, answer.body["category_id"])
    assert (category["category"], category["parent_id"], category["position"], category["status"]) == (
        "Chá",
        str(shop.home),
        "4",
        "H",
    )
