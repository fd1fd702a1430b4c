"""Check the store routes, also under their alias `vendors`."""

from typing import Any

import pytest

from models.marketplace import DiscussionPost, DiscussionThread
from tests.shop import Shop

NEW = {"company": "Loja Nova", "email": "nova@example.com"}
BOTH_PATHS = pytest.mark.parametrize("path", ["stores", "vendors"])


async def create(shop: Shop, path: str = "stores", **body: Any) -> str:
    answer = await shop.post(f"/api/{path}", NEW | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"store_id"}
    return answer.body["store_id"]


async def read(shop: Shop, company_id: Any, path: str = "stores") -> dict[str, Any]:
    answer = await shop.get(f"/api/{path}/{company_id}")
    assert answer.status == 200, answer.raw
    return answer.body


@BOTH_PATHS
async def test_a_store_is_created_with_defaults(shop, path):
    number = await create(shop, path)
    store = await read(shop, number, path)
    assert store.pop("timestamp").isdigit()
    assert store == {
        "company_id": number,
        "company": "Loja Nova",
        "email": "nova@example.com",
        "status": "A",
        "phone": "",
        "address": "",
        "city": "",
        "state": "",
        "country": "BR",
        "zipcode": "",
        "CNPJ": "",
        "url": "",
        "commission": "0.00",
        "commission_type": "P",
        "shippings": {},
        "average_rating": "0.00",
    }


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("company", "Outra", "Outra"),
        ("email", "Outra@Example.COM", "outra@example.com"),
        ("status", "D", "D"),
        ("status", "Pending", "P"),
        ("status", "new", "N"),
        ("phone", "+55 81 3333-0000", "+55 81 3333-0000"),
        ("phone", 8133330000, "8133330000"),
        ("address", "Rua do Sol, 1", "Rua do Sol, 1"),
        ("city", "Recife", "Recife"),
        ("state", "PE", "PE"),
        ("country", "PT", "PT"),
        ("zipcode", "50010-000", "50010000"),
        ("CNPJ", "11.222.333/0001-81", "11222333000181"),
        ("CNPJ", 1222333000199, "01222333000199"),
        ("CNPJ", "", ""),
        ("url", "https://sol.example.com", "https://sol.example.com"),
        ("commission", "12.5", "12.50"),
        ("commission", 7, "7.00"),
        ("commission", 19.900000000000002, "19.90"),
        ("commission_type", "A", "A"),
        ("commission_type", "absolute", "A"),
        ("commission_type", "percentage", "P"),
        ("shippings", {"1": "Y", "7": {"rate": "9.90"}}, {"1": "Y", "7": {"rate": "9.90"}}),
        ("shippings", [], {}),
    ],
)
async def test_a_field_is_read_back_after_create_and_update(shop, name, value, expected):
    assert (await read(shop, await create(shop, **{name: value})))[name] == expected
    before = await read(shop, shop.rival)
    answer = await shop.put(f"/api/vendors/{shop.rival}/", {name: value})
    assert (answer.status, answer.body) == (200, {"store_id": str(shop.rival)})
    assert await read(shop, shop.rival) == before | {name: expected}


async def test_the_documented_update_body_is_accepted(shop):
    body = {
        "company": "Ateliê Lua",
        "email": "atelie@example.com",
        "shippings": {"3": "Y"},
        "commission": "15.00",
        "commission_type": "P",
    }
    answer = await shop.put(f"/api/vendors/{shop.vendor}/", body)
    assert (answer.status, answer.body) == (200, {"store_id": str(shop.vendor)})
    store = await read(shop, shop.vendor)
    assert {name: store[name] for name in body} == body


async def test_a_form_encoded_body_updates_a_store(shop):
    form = b"company=Sol&commission=10&commission_type=A&shippings[1]=Y&shippings[2]=N"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await shop.put(f"/api/vendors/{shop.vendor}", data=form, headers=headers)
    assert answer.status == 200, answer.raw
    store = await read(shop, shop.vendor)
    assert (store["company"], store["commission"], store["commission_type"]) == ("Sol", "10.00", "A")
    assert store["shippings"] == {"1": "Y", "2": "N"}


async def test_updating_a_record_with_itself_changes_nothing(shop):
    before = await read(shop, shop.vendor)
    assert (await shop.put(f"/api/stores/{shop.vendor}", before)).status == 200
    assert await read(shop, shop.vendor) == before


async def test_both_paths_return_the_same_responses(shop):
    for path in ("", f"/{shop.vendor}", "?status=A", "?q=sol"):
        one = await shop.get(f"/api/stores{path}")
        other = await shop.get(f"/api/vendors{path}")
        assert (one.status, one.body) == (other.status, other.body) == (200, one.body)


@pytest.mark.parametrize(
    "body, message",
    [
        ({"company": None}, "company is required"),
        ({"company": ""}, "company is required"),
        ({"email": None}, "email is required"),
        ({"email": "nobody"}, "email is 'nobody'; expected an e-mail address"),
        ({"status": "H"}, "status is 'H'; expected one of A, D, P, N"),
        ({"commission": "x"}, "commission is 'x'; expected an amount such as \"129.90\""),
        ({"commission": "1.999"}, "commission is '1.999'; expected at most two decimal places"),
        ({"commission": "100.01"}, "commission is 100.01; expected at most 100.00 percent"),
        ({"commission_type": "Z"}, "commission_type is 'Z'; expected one of A, P"),
        ({"shippings": "1,2"}, "shippings is '1,2'; expected an object"),
        ({"CNPJ": "123"}, "CNPJ is '123'; expected 14 characters"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(shop, body, message):
    answer = await shop.post("/api/stores", NEW | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})
    if "required" not in message:
        answer = await shop.put(f"/api/vendors/{shop.vendor}", body)
        assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_store_with_open_orders_cannot_be_deleted(shop):
    answer = await shop.delete(f"/api/vendors/{shop.vendor}")
    assert (answer.status, answer.body["message"]) == (422, "the vendor has open orders")
    number = await create(shop)
    answer = await shop.delete(f"/api/vendors/{number}")
    assert (answer.status, answer.raw) == (204, b"")
    for method, path in (("GET", "stores"), ("PUT", "vendors"), ("DELETE", "stores")):
        missing = await shop.call(method, f"/api/{path}/{number}", {} if method == "PUT" else None)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Vendor not found"})


async def test_the_average_rating_is_that_of_its_products(shop):
    thread = await shop.value(
        "select id from discussion_threads where object_type = 'P' and object_id = $1", shop.mug.number
    )
    await shop.add(DiscussionPost, thread_id=thread, rating=4, message="x")
    await shop.add(DiscussionPost, thread_id=thread, rating=1, message="x", status="P")  # pending
    other = await shop.add(DiscussionThread, object_type="C", object_id=shop.mug.number)
    await shop.add(DiscussionPost, thread_id=other.number, rating=1, message="x")  # about a category
    assert (await read(shop, shop.vendor))["average_rating"] == "4.50"
    for rating in ("4.50", "4.5"):
        filtered = (await shop.get(f"/api/stores?average_rating={rating}")).body
        assert list(filtered["stores"]) == [str(shop.vendor)]


async def test_numeric_filters_compare_by_value(shop):
    await shop.put(f"/api/stores/{shop.vendor}", {"commission": "5"})
    for commission in ("5", "5.0", "5.00"):
        assert list((await shop.get(f"/api/vendors?commission={commission}")).body["stores"]) == [
            str(shop.vendor)
        ]


async def test_a_vendor_reads_and_updates_its_own_record_only(new_shop):
    shop = await new_shop(legacy_vendor_keys="Y")
    listed = (await shop.get("/api/vendors", by=shop.seller)).body
    assert [row["company_id"] for row in listed["stores"]] == [str(shop.vendor)]
    assert (await shop.get(f"/api/stores/{shop.vendor}", by=shop.seller)).status == 200
    sent = {
        "company": "Sol & Cia",
        "phone": "81",
        "shippings": {"1": "Y"},
        "commission": "99.00",
        "commission_type": "A",
        "status": "D",
        "CNPJ": "99999999999999",
    }
    before = await read(shop, shop.vendor)
    assert (await shop.put(f"/api/vendors/{shop.vendor}", sent, by=shop.seller)).status == 200
    after = await read(shop, shop.vendor)
    assert after == before | {"company": "Sol & Cia", "phone": "81", "shippings": {"1": "Y"}}
    for method, path, status in (
        ("GET", f"stores/{shop.rival}", 404),
        ("PUT", f"stores/{shop.rival}", 404),
        ("POST", "stores", 403),
        ("DELETE", f"stores/{shop.vendor}", 403),
    ):
        answer = await shop.call(method, f"/api/{path}", NEW if method != "GET" else None, by=shop.seller)
        assert answer.status == status, (method, path, answer.raw)
