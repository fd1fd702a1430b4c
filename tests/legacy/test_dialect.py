"""Check the store setting `legacy_dialect`: what programs written for CS-Cart expect (docs/reference/legacy.md#dialects)."""

import pytest

from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.legacy.entities import LISTED, path_of, rows_in

pytestmark = pytest.mark.combination


@pytest.fixture(scope="module")
async def cscart(new_sample: NewSampleStore) -> SampleStore:
    """Return a store in the `cscart` dialect that the tests of this module share."""
    sample = await new_sample(combination=True)
    answer = await sample.put("/api/settings/legacy_dialect", {"value": "cscart"})
    assert answer.status == 200, answer.raw
    return sample


async def test_the_dialect_has_two_names_and_one_value(sample: SampleStore) -> None:
    for name, other in (("legacy_dialect", "legacy_lists"), ("legacy_lists", "legacy_dialect")):
        for value in ("cscart", "contract"):
            assert (await sample.put(f"/api/settings/{name}", {"value": value})).status == 200
            assert (await sample.get(f"/api/settings/{other}")).body["value"] == value


@pytest.mark.parametrize("path", ["stores", "vendors"])
@pytest.mark.parametrize("dialect", ["contract", "cscart"])
async def test_a_list_stands_under_the_name_it_was_asked_by(
    path: str, dialect: str, sample: SampleStore, cscart: SampleStore
) -> None:
    store = cscart if dialect == "cscart" else sample
    for query in ("", "?status=A"):
        assert set((await store.get(f"/api/{path}{query}")).body) - {"search"} == {path, "params"}


async def test_languages_are_keyed_by_their_code(cscart: SampleStore) -> None:
    body = (await cscart.get("/api/languages")).body
    assert {code: row["lang_code"] for code, row in body["languages"].items()} == {
        code: code for code in body["languages"]
    }
    assert "params" in body


@pytest.mark.parametrize("resource", LISTED, ids=lambda resource: resource.path)
@pytest.mark.parametrize("size", ["0", "251", "50000"])
async def test_a_large_page_has_the_records_of_the_small_ones(cscart: SampleStore, resource, size: str) -> None:
    path = f"/api/{path_of(cscart, resource)}"
    small, large = await cscart.get(f"{path}?items_per_page=250"), await cscart.get(f"{path}?items_per_page={size}")
    assert large.status == 200, large.raw
    assert rows_in(resource, large.body) == rows_in(resource, small.body)
    if isinstance(large.body, dict) and "params" in large.body:
        assert large.body["params"] == {**small.body["params"], "items_per_page": int(size)}


async def test_any_page_of_any_size_can_be_read(cscart: SampleStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from rest_facade.legacy import large_lists

    monkeypatch.setattr(large_lists, "_BATCH", 2)
    monkeypatch.setattr(large_lists, "_NUMBERS_BATCH", 3)
    monkeypatch.setattr(large_lists, "MAX_SIZE", 0)
    everything = rows_in(LISTED[0], (await cscart.get("/api/statuses?items_per_page=0")).body["statuses"])
    for size in range(1, len(everything) + 2):
        pages = [
            (await cscart.get(f"/api/statuses?items_per_page={size}&page={page}")).body["statuses"]
            for page in range(1, len(everything) // size + 3)
        ]
        assert [row for page in pages for row in page] == everything, size
        assert all(len(page) <= size for page in pages)


async def test_a_list_sent_in_pieces_is_compressed(cscart: SampleStore) -> None:
    plain, compressed, refused = [
        await cscart.get("/api/products?items_per_page=0", headers={"Accept-Encoding": accepted})
        for accepted in ("identity", "gzip, br", "gzip;q=0")
    ]
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert "Content-Encoding" not in refused.headers
    assert all(answer.headers["Vary"] == "Accept-Encoding" for answer in (plain, compressed, refused))
    assert plain.body == compressed.body == refused.body


async def test_a_page_is_at_most_what_was_asked_for(cscart: SampleStore, sample: SampleStore) -> None:
    for asked, applied in (("60000", 50_000), ("many", 10), ("-1", 10), ("", 10)):
        answer = await cscart.get(f"/api/products?items_per_page={asked}")
        assert answer.body["params"]["items_per_page"] == applied
    assert (await sample.get("/api/products?items_per_page=0")).body["params"]["items_per_page"] == 10


async def test_large_lists_below_a_record_are_sent_too(cscart: SampleStore) -> None:
    for path in (
        f"categories/{cscart.kitchen}/products",
        f"products/{cscart.mug}/discussions",
        f"products/{cscart.mug}/features",
        f"products/{cscart.mug}/options/combinations",
        f"warehouses/{cscart.warehouse}/delivery_areas",
        f"warehouses/{cscart.warehouse}/user_groups",
    ):
        small, all_rows = [(await cscart.get(f"/api/2.0/{path}?items_per_page={size}")).body for size in ("250", "0")]
        [name] = set(small) - {"params"}
        assert small[name], path
        assert all_rows[name] == small[name], path
    assert (await cscart.get("/api/categories/999999999/products?items_per_page=0")).status == 404


async def test_the_ids_of_written_records_are_integers(cscart: SampleStore, sample: SampleStore) -> None:
    body = {"product": "Bule", "price": "10.00"}
    for store, type_ in ((cscart, int), (sample, str)):
        created = await store.post("/api/products", body)
        assert created.status == 201, (store, type_)
        assert type(created.body["product_id"]) is type_
        updated = await store.put(f"/api/products/{created.body['product_id']}", {"amount": 3})
        assert updated.body == created.body, (store, type_)
        membership = await store.put(f"/api/users/{store.caio}/usergroups/{store.wholesale}", {"status": "A"})
        assert type(membership.body["usergroup_id"]) is type_
        combination = await store.put(
            f"/api/2.0/products/{store.mug}/options/combinations/{store.combination.number}", {"amount": 3}
        )
        assert type(combination.body["combination_id"]) is type_
        assert type(combination.body["combination_hash"]) is type_


async def test_the_ids_of_records_written_by_the_vendor_app_are_integers(
    cscart: SampleStore, sample: SampleStore
) -> None:
    for store, type_ in ((cscart, int), (sample, str)):
        signed_up = await store.anonymous.post(
            "/api/vendor_signup",
            {"company": "Nova", "email": "nova@vendas.example", "password": "a good long password"},
        )
        assert signed_up.status == 201, (store, type_, signed_up.raw)
        order = f"vendor_order/{store.order}"
        bodies = {"vendor_company": {"city": "Olinda"}, "vendor_profile": {"lastname": "Sá"}, order: {"status": "P"}}
        answers = [signed_up.body]
        for path, body in bodies.items():
            answers.append((await store.put(f"/api/{path}", body, by=store.vendor_user)).body)
        ids = [value for answer in answers for name, value in answer.items() if name.endswith("_id")]
        assert [type(value) for value in ids] == [type_] * 5, answers


async def test_the_categories_of_a_product_are_integers(cscart: SampleStore) -> None:
    record = (await cscart.get(f"/api/products/{cscart.mug}")).body
    assert record["main_category"] == cscart.kitchen.number
    assert set(record["category_ids"]) == {cscart.kitchen.number, cscart.home.number}
    assert record["product_id"] == str(cscart.mug)


async def test_a_product_without_a_price_costs_nothing(cscart: SampleStore, sample: SampleStore) -> None:
    created = await cscart.post("/api/products", {"product": "Brinde"})
    assert created.status == 201, created.raw
    assert (await cscart.get(f"/api/products/{created.body['product_id']}")).body["price"] == "0.00"
    assert (await sample.post("/api/products", {"product": "Brinde"})).body["message"] == "price is required"


async def test_a_user_without_a_password_sets_one_by_mail(cscart: SampleStore, sample: SampleStore) -> None:
    created = await cscart.post("/api/users", {"email": "nova@example.com", "user_type": "C"})
    assert created.status == 201, created.raw
    sign_in = await cscart.anonymous.post(
        "/api/auth_tokens", {"email": "nova@example.com", "password": "anything at all"}
    )
    assert sign_in.status == 401
    forgot = await cscart.anonymous.post("/api/v1/auth/password/forgot", {"email": "nova@example.com"})
    assert forgot.status in (200, 202, 204), forgot.raw
    refused = await sample.post("/api/users", {"email": "nova@example.com"})
    assert refused.body["message"] == "password is required"


async def test_an_order_without_a_user_is_a_guests(cscart: SampleStore, sample: SampleStore) -> None:
    body = {
        "products": {"1": {"product_id": cscart.ebook.number, "amount": 1}},
        "user_data": {"email": "visita@example.com", "firstname": "Vi"},
    }
    created = await cscart.post("/api/orders", body)
    assert created.status == 201, created.raw
    order = (await cscart.get(f"/api/orders/{created.body['order_id']}")).body
    assert (order["user_id"], order["email"]) == ("0", "visita@example.com")
    assert (await cscart.post("/api/orders", {**body, "user_data": {}})).body[
        "message"
    ] == "user_data.email is required"
    assert (await sample.post("/api/orders", body)).body["message"] == "user_id is required"


async def test_the_lines_of_an_order_are_keyed_by_their_id(cscart: SampleStore) -> None:
    order = (await cscart.get(f"/api/orders/{cscart.order}")).body
    assert {key: line["item_id"] for key, line in order["products"].items()} == {
        str(cscart.order_line): str(cscart.order_line)
    }
    assert order["product_groups"][0]["products"].keys() == order["products"].keys()
