"""Check the store routes, also under their alias `vendors`."""

from typing import Any

import pytest

from models.tables.marketplace import DiscussionPost, DiscussionThread
from tests.harness.sample_store import SampleStore

NEW = {"company": "Loja Nova", "email": "nova@example.com"}
BOTH_PATHS = pytest.mark.parametrize("path", ["stores", "vendors"])


async def create(sample: SampleStore, path: str = "stores", **body: Any) -> str:
    answer = await sample.post(f"/api/{path}", NEW | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"store_id"}
    return answer.body["store_id"]


async def read(sample: SampleStore, company_id: Any, path: str = "stores") -> dict[str, Any]:
    answer = await sample.get(f"/api/{path}/{company_id}")
    assert answer.status == 200, answer.raw
    return answer.body


@BOTH_PATHS
async def test_a_store_is_created_with_defaults(sample, path):
    number = await create(sample, path)
    store = await read(sample, number, path)
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
        "seo_name": "loja-nova",
        "company_description": "",
        "page_title": "",
        "meta_keywords": "",
        "meta_description": "",
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
async def test_a_field_is_read_back_after_create_and_update(sample, name, value, expected):
    assert (await read(sample, await create(sample, **{name: value})))[name] == expected
    before = await read(sample, sample.rival)
    answer = await sample.put(f"/api/vendors/{sample.rival}/", {name: value})
    assert (answer.status, answer.body) == (200, {"store_id": str(sample.rival)})
    assert await read(sample, sample.rival) == before | {name: expected}


async def test_the_documented_update_body_is_accepted(sample):
    body = {
        "company": "Ateliê Lua",
        "email": "atelie@example.com",
        "shippings": {"3": "Y"},
        "commission": "15.00",
        "commission_type": "P",
    }
    answer = await sample.put(f"/api/vendors/{sample.vendor}/", body)
    assert (answer.status, answer.body) == (200, {"store_id": str(sample.vendor)})
    store = await read(sample, sample.vendor)
    assert {name: store[name] for name in body} == body


async def test_a_form_encoded_body_updates_a_store(sample):
    form = b"company=Sol&commission=10&commission_type=A&shippings[1]=Y&shippings[2]=N"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await sample.put(f"/api/vendors/{sample.vendor}", data=form, headers=headers)
    assert answer.status == 200, answer.raw
    store = await read(sample, sample.vendor)
    assert (store["company"], store["commission"], store["commission_type"]) == ("Sol", "10.00", "A")
    assert store["shippings"] == {"1": "Y", "2": "N"}


async def test_updating_a_record_with_itself_changes_nothing(sample):
    before = await read(sample, sample.vendor)
    assert (await sample.put(f"/api/stores/{sample.vendor}", before)).status == 200
    assert await read(sample, sample.vendor) == before


async def test_both_paths_return_the_same_responses(sample):
    for path in ("", f"/{sample.vendor}", "?status=A", "?q=sol"):
        one = await sample.get(f"/api/stores{path}")
        other = await sample.get(f"/api/vendors{path}")
        assert (one.status, other.status) == (200, 200), path
        # Each list stands under the name of its path.
        renamed = {"vendors" if name == "stores" else name: value for name, value in one.body.items()}
        assert renamed == other.body, path


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
async def test_invalid_input_is_rejected_with_the_legacy_field_name(sample, body, message):
    answer = await sample.post("/api/stores", NEW | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})
    if "required" not in message:
        answer = await sample.put(f"/api/vendors/{sample.vendor}", body)
        assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_store_with_open_orders_cannot_be_deleted(sample):
    answer = await sample.delete(f"/api/vendors/{sample.vendor}")
    assert (answer.status, answer.body["message"]) == (422, "the vendor has open orders")
    number = await create(sample)
    answer = await sample.delete(f"/api/vendors/{number}")
    assert (answer.status, answer.raw) == (204, b"")
    for method, path in (("GET", "stores"), ("PUT", "vendors"), ("DELETE", "stores")):
        missing = await sample.request(method, f"/api/{path}/{number}", {} if method == "PUT" else None)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Vendor not found"}), (method, path)


async def test_the_average_rating_is_that_of_its_products(sample):
    thread = await sample.value(
        "select id from discussion_threads where object_type = 'P' and object_id = $1", sample.mug.number
    )
    await sample.add(DiscussionPost, thread_id=thread, rating=4, message="x")
    await sample.add(DiscussionPost, thread_id=thread, rating=1, message="x", status="P")  # pending
    other = await sample.add(DiscussionThread, object_type="C", object_id=sample.mug.number)
    await sample.add(DiscussionPost, thread_id=other.number, rating=1, message="x")  # about a category
    assert (await read(sample, sample.vendor))["average_rating"] == "4.50"
    for rating in ("4.50", "4.5"):
        filtered = (await sample.get(f"/api/stores?average_rating={rating}")).body
        assert list(filtered["stores"]) == [str(sample.vendor)], rating


async def test_numeric_filters_compare_by_value(sample):
    await sample.put(f"/api/stores/{sample.vendor}", {"commission": "5"})
    for commission in ("5", "5.0", "5.00"):
        assert list((await sample.get(f"/api/vendors?commission={commission}")).body["vendors"]) == [str(sample.vendor)]


async def test_a_vendor_reads_and_updates_its_own_record_only(new_sample):
    sample = await new_sample(legacy_vendor_keys="Y")
    listed = (await sample.get("/api/vendors", by=sample.vendor_user)).body
    assert [row["company_id"] for row in listed["vendors"]] == [str(sample.vendor)]
    assert (await sample.get(f"/api/stores/{sample.vendor}", by=sample.vendor_user)).status == 200
    sent = {
        "company": "Sol & Cia",
        "phone": "81",
        "shippings": {"1": "Y"},
        "commission": "99.00",
        "commission_type": "A",
        "status": "D",
        "CNPJ": "99999999999999",
    }
    before = await read(sample, sample.vendor)
    assert (await sample.put(f"/api/vendors/{sample.vendor}", sent, by=sample.vendor_user)).status == 200
    after = await read(sample, sample.vendor)
    assert after == before | {"company": "Sol & Cia", "phone": "81", "shippings": {"1": "Y"}}
    for method, path, status in (
        ("GET", f"stores/{sample.rival}", 404),
        ("PUT", f"stores/{sample.rival}", 404),
        ("POST", "stores", 403),
        ("DELETE", f"stores/{sample.vendor}", 403),
    ):
        answer = await sample.request(method, f"/api/{path}", NEW if method != "GET" else None, by=sample.vendor_user)
        assert answer.status == status, (method, path, answer.raw)
