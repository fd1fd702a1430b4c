"""Check the methods and bodies that only the dialect `cscart` has (docs/reference/legacy.md#dialects)."""

from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import NewSampleStore, SampleStore

pytestmark = pytest.mark.combination


@pytest.fixture
async def cscart(new_sample: NewSampleStore) -> SampleStore:
    return await new_sample(combination=True, legacy_lists="cscart")


async def created(sample: SampleStore, path: str, body: dict[str, Any]) -> Any:
    answer = await sample.post(f"/api/{path}", body)
    assert answer.status == 201, answer.raw
    return next(iter(answer.body.values()))


async def read(sample: SampleStore, path: str) -> dict[str, Any]:
    answer = await sample.get(f"/api/{path}")
    assert answer.status == 200, answer.raw
    return answer.body


OF_DIALECT = [
    # The method, the path, the methods in both dialects.
    ("PUT", "exceptions/{exception}", "DELETE, GET, HEAD"),
    ("PUT", "discussions/{review}", "DELETE, GET, HEAD"),
    ("PUT", "call_requests/{call_request}", "DELETE, GET, HEAD"),
    ("DELETE", "carts/{caio}", "GET, HEAD"),
    ("POST", "languages", "GET, HEAD"),
    ("PUT", "languages/{language}", "GET, HEAD"),
    ("DELETE", "languages/{language}", "GET, HEAD"),
    ("POST", "stores/{vendor}/products", "GET, HEAD"),
    ("POST", "vendors/{vendor}/products", "GET, HEAD"),
    ("POST", "products/{mug}/discussions", "GET, HEAD"),
    ("PUT", "products/{mug}/discussions/{review}", "GET, HEAD"),
    ("DELETE", "products/{mug}/discussions/{review}", "GET, HEAD"),
]
REFUSED = {"status": 405, "message": "Method not allowed"}


@pytest.mark.parametrize("base", ["/api", "/api/2.0"])
@pytest.mark.parametrize("method, path, allowed", OF_DIALECT)
async def test_the_other_dialect_has_no_such_method(
    method: str, path: str, allowed: str, base: str, shared_sample: SampleStore
) -> None:
    place = f"{base}/{path.format_map(shared_sample.records)}"
    for tried in (method, "PATCH"):
        for auth in ("basic", None):
            for headers in ({}, {"X-Tenant-ID": UNKNOWN_ID}):
                answer = await shared_sample.request(tried, place, auth=auth, headers=headers)
                assert (answer.status, answer.body) == (405, REFUSED), (tried, auth, headers)
                assert answer.headers["Allow"] == allowed, (tried, auth, headers)
    options = await shared_sample.request("OPTIONS", place, auth=None)
    assert (options.status, options.headers["Allow"]) == (204, ", ".join(sorted([*allowed.split(", "), "OPTIONS"])))


@pytest.mark.parametrize("method, path, allowed", OF_DIALECT)
async def test_the_methods_of_the_dialect_need_a_credential_and_are_allowed(
    method: str, path: str, allowed: str, cscart: SampleStore
) -> None:
    place = f"/api/{path.format_map(cscart.records)}"
    assert (await cscart.request(method, place, auth=None)).status == 401
    answer = await cscart.request("PATCH", place, auth=None)
    assert (answer.status, answer.body) == (405, REFUSED)
    assert {method, *allowed.split(", ")} <= set(answer.headers["Allow"].split(", "))


async def test_the_version_is_no_address_of_the_other_dialect(shared_sample: SampleStore, cscart: SampleStore) -> None:
    for method, auth in (("GET", None), ("GET", "basic"), ("POST", "basic")):
        answer = await shared_sample.request(method, "/api/version", auth=auth)
        assert (answer.status, answer.body) == (404, {"status": 404, "message": "Route not found"}), (method, auth)
    assert (await cscart.get("/api/version")).status == 200


async def test_an_exception_is_changed(cscart: SampleStore) -> None:
    product = cscart.mug.number
    dotted, plain = {str(cscart.print): cscart.dotted.number}, {str(cscart.print): cscart.plain.number}
    number = await created(cscart, "exceptions", {"product_id": product, "combination": dotted})
    path = f"exceptions/{number}"
    answer = await cscart.put(f"/api/{path}", {"combination": plain})
    assert (answer.status, answer.body) == (200, {"exception_id": number})
    assert (await read(cscart, path))["combination"] == {key: str(value) for key, value in plain.items()}
    record = await read(cscart, path)
    assert (await cscart.put(f"/api/{path}", record)).status == 200
    assert await read(cscart, path) == record
    assert (await cscart.put(f"/api/{path}", {"type": "A"})).status == 200
    assert await read(cscart, path) == {**record, "type": "A"}
    other = await created(cscart, "exceptions", {"product_id": product, "combination": dotted, "type": "A"})
    taken = await cscart.put(f"/api/{path}", {"combination": dotted})
    assert (taken.status, taken.body["message"]) == (400, "combination are those of an exception that exists")
    elsewhere = await cscart.put(f"/api/exceptions/{other}", {"product_id": cscart.ebook.number})
    assert (elsewhere.status, elsewhere.body["message"]) == (
        400,
        "product_id is another one; an exception keeps it",
    )
    wildcard = await cscart.put(f"/api/{path}", {"combination": {str(cscart.print): "-1"}})
    assert wildcard.status == 200
    assert (await read(cscart, path))["combination"] == {str(cscart.print): "-1"}
    assert (await cscart.put(f"/api/exceptions/{UNKNOWN_NUMBER}", {"type": "A"})).status == 404


async def test_a_post_is_changed(cscart: SampleStore) -> None:
    path = f"discussions/{cscart.review}"
    answer = await cscart.put(f"/api/{path}", {"rating_value": 5, "message": "Changed", "status": "D"})
    assert answer.status == 200, answer.raw
    assert list(answer.body) == ["post_id"]
    changed = await read(cscart, path)
    assert (changed["rating_value"], changed["message"], changed["status"]) == ("5", "Changed", "D")
    assert (await cscart.put(f"/api/{path}", {"rating_value": 9})).status == 400


async def test_posts_are_written_below_their_product(cscart: SampleStore) -> None:
    product = cscart.ebook.number
    number = await created(
        cscart, f"products/{product}/discussions", {"name": "Ana", "message": "Oi", "rating_value": 4}
    )
    path = f"products/{product}/discussions/{number}"
    post = await read(cscart, path)
    assert (post["object_type"], post["object_id"], post["message"]) == ("P", str(product), "Oi")
    assert (await cscart.put(f"/api/{path}", {"message": "Olá"})).body == {"post_id": number}
    assert (await read(cscart, path))["message"] == "Olá"
    elsewhere = f"/api/products/{cscart.mug}/discussions/{number}"
    assert (await cscart.put(elsewhere, {"message": "x"})).status == 404
    assert (await cscart.delete(elsewhere)).status == 404
    assert (await cscart.delete(f"/api/{path}")).status == 204
    assert (await cscart.get(f"/api/{path}")).status == 404
    missing = await cscart.post(f"/api/products/{UNKNOWN_NUMBER}/discussions", {"message": "x"})
    assert (missing.status, missing.body["message"]) == (404, "Product not found")


async def test_a_call_request_is_changed(cscart: SampleStore) -> None:
    path = f"call_requests/{cscart.call_request}"
    answer = await cscart.put(f"/api/{path}", {"status": "no_answer", "notes": "Ninguém"})
    assert (answer.status, list(answer.body)) == (200, ["request_id"])
    changed = await read(cscart, path)
    assert (changed["status"], changed["notes"]) == ("no_answer", "Ninguém")


async def test_the_cart_of_a_customer_is_deleted(cscart: SampleStore) -> None:
    customer = (await cscart.get("/api/carts")).body["carts"][0]["user_id"]
    assert (await cscart.delete(f"/api/carts/{customer}")).status == 204
    assert (await cscart.get(f"/api/carts/{customer}")).status == 404
    for absent in (customer, UNKNOWN_NUMBER):
        answer = await cscart.delete(f"/api/carts/{absent}")
        assert (answer.status, answer.body["message"]) == (404, "Cart not found"), absent


@pytest.mark.parametrize("path", ["stores", "vendors"])
async def test_a_product_is_created_below_its_vendor(path: str, cscart: SampleStore) -> None:
    body = {"product": "Bule", "price": "10", "company_id": "0"}
    number = await created(cscart, f"{path}/{cscart.rival}/products", body)
    assert (await read(cscart, f"products/{number}"))["company_id"] == str(cscart.rival)
    missing = await cscart.post(f"/api/{path}/{UNKNOWN_NUMBER}/products", body)
    assert (missing.status, missing.body["message"]) == (404, "Vendor not found")
    assert (await cscart.post(f"/api/{path}/{cscart.vendor}/products", {})).status == 400


async def test_a_store_needs_no_email(cscart: SampleStore, sample: SampleStore) -> None:
    number = await created(cscart, "stores", {"company": "Loja", "storefront": "example.com"})
    record = await read(cscart, f"stores/{number}")
    assert (record["company"], record["email"]) == ("Loja", "")
    assert (await cscart.put(f"/api/stores/{number}", record)).status == 200
    refused = await sample.post("/api/stores", {"company": "Loja", "has_no_email": "Y"})
    assert (refused.status, refused.body["message"]) == (400, "email is required")


@pytest.mark.parametrize(
    "variants, names",
    [
        (None, ["Não", "Sim"]),
        ([], ["Não", "Sim"]),
        ({"1": {"modifier": "5"}}, ["Não", "Sim"]),
        ([{"variant_name": "Embrulhar", "modifier": "5"}], ["Não", "Embrulhar"]),
        ({"0": {"variant_name": ""}, "1": {"modifier": "5"}}, ["Não", "Sim"]),
    ],
)
async def test_a_checkbox_has_two_variants(variants: Any, names: list[str], cscart: SampleStore) -> None:
    body = {"product_id": cscart.mug.number, "option_name": "Presente", "option_type": "C", "variants": variants}
    number = await created(cscart, "options", body)
    variants_here = (await read(cscart, f"options/{number}"))["variants"].values()
    assert [variant["variant_name"] for variant in variants_here] == names
    assert next(iter(variants_here))["modifier"] == "0.00"


async def test_an_image_may_be_named_by_its_url(cscart: SampleStore) -> None:
    image = {"detailed": {"image_url": "https://example.com/bule.jpg"}}
    number = await created(cscart, "products", {"product": "Bule", "price": "10", "main_pair": image})
    shown = (await read(cscart, f"products/{number}"))["main_pair"]["detailed"]
    assert shown["image_path"] == "https://example.com/bule.jpg"


@pytest.mark.parametrize("letter", ["Y", "A", "G"])
async def test_the_letters_that_a_store_has_are_accepted(letter: str, cscart: SampleStore) -> None:
    path = f"orders/{cscart.order}"
    assert (await cscart.put(f"/api/{path}", {"status": letter})).status == 400
    await created(cscart, "statuses", {"description": "Awaiting call", "status": letter, "type": "O"})
    assert (await cscart.put(f"/api/{path}", {"status": letter})).status == 200
    assert (await read(cscart, path))["status"] == letter
    rows = (await read(cscart, f"orders?status={letter}"))["orders"]
    assert [row["order_id"] for row in rows] == [str(cscart.order)]


async def test_the_methods_of_the_dialect_need_privileges(cscart: SampleStore) -> None:
    person = await cscart.add_user("view_catalog")
    answer = await cscart.put(f"/api/exceptions/{cscart.exception}", {}, by=person)
    assert (answer.status, answer.body["message"]) == (403, "Forbidden: privilege manage_catalog required")
