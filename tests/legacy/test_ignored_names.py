"""Check that what a request says is either applied or named: unknown filters and fields in headers, documented filters applied."""

import pytest

from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.legacy.entities import LISTED, path_of

pytestmark = pytest.mark.combination
PARAMETERS, FIELDS = "X-Ignored-Parameters", "X-Ignored-Fields"


@pytest.fixture(scope="module")
async def cscart(new_sample: NewSampleStore) -> SampleStore:
    """Return a store of CS-Cart's dialect that the tests of this module share."""
    return await new_sample(combination=True, legacy_lists="cscart")


# --- Parameters of lists -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resource", LISTED, ids=lambda resource: resource.path)
async def test_every_list_names_the_parameters_that_it_ignores(cscart: SampleStore, resource) -> None:
    address = f"/api/{path_of(cscart, resource)}"
    answer = await cscart.get(f"{address}?unheard_of=1&q[]=&b%0Ac=2&get_options=true&items_per_page=5&sort_by=nothing")
    assert (answer.status, answer.headers[PARAMETERS]) == (200, "sort_by, unheard_of, b%0Ac")
    assert PARAMETERS not in (await cscart.get(f"{address}?unheard_of=&page=1&detailed_params=false")).headers


async def test_a_large_list_names_the_parameters_that_it_ignores(cscart: SampleStore) -> None:
    answer = await cscart.get("/api/products?items_per_page=0&unheard_of=1")
    assert (answer.status, answer.headers[PARAMETERS]) == (200, "unheard_of")
    assert answer.body["products"]


async def test_lists_below_a_record_name_what_they_ignore(cscart: SampleStore) -> None:
    for path in ("discussions", "features", "options/combinations"):
        answer = await cscart.get(f"/api/products/{cscart.mug}/{path}?unheard_of=1")
        assert answer.headers[PARAMETERS] == "unheard_of", path


async def test_a_filter_by_a_field_that_the_caller_may_not_see_is_named(sample: SampleStore) -> None:
    reader = await sample.add_user("view_products")
    answer = await sample.get("/api/discussions?ip_address=1.2.3.4", by=reader)
    assert (answer.status, answer.headers[PARAMETERS]) == (200, "ip_address")


async def test_many_and_long_names_stay_a_short_header(cscart: SampleStore) -> None:
    query = "&".join(f"{'n' * 300}{number}=1" for number in range(20)) + "&" + "&".join(f"m{n}=1" for n in range(50))
    answer = await cscart.get(f"/api/products?{query}")
    assert answer.status == 200
    assert len(answer.headers[PARAMETERS]) < 3_000


async def test_subcategories_without_a_category_are_named(cscart: SampleStore) -> None:
    assert (await cscart.get("/api/products?subcats=Y")).headers[PARAMETERS] == "subcats"
    assert PARAMETERS not in (await cscart.get(f"/api/products?subcats=Y&cid={cscart.kitchen}")).headers


# --- Documented filters ------------------------------------------------------------------------------------------------------


async def test_orders_have_no_credit_notes(cscart: SampleStore) -> None:
    assert (await cscart.get("/api/orders?credit_memo_id=7")).body["orders"] == []
    assert (await cscart.get("/api/orders?credit_memo_id=0")).body["orders"] != []
    assert (await cscart.get("/api/orders?parent_order_id=7")).body["orders"] == []


async def test_order_rows_have_the_documented_fields(cscart: SampleStore) -> None:
    await cscart.put(f"/api/extra_order_fields/{cscart.order}", {"nota_fiscal": "4711"})
    (row,) = (await cscart.get("/api/orders?invoice_id=4711")).body["orders"]
    expected = {"issuer_id": "0", "is_parent_order": "N", "parent_order_id": "0", "credit_memo_id": "0"}
    assert {name: row[name] for name in expected} == expected
    assert (row["invoice_id"], row["updated_at"].isdigit()) == ("4711", True)
    rows = (await cscart.get(f"/api/orders?updated_at={row['updated_at']}")).body["orders"]
    assert row["order_id"] in [each["order_id"] for each in rows]


async def test_posts_are_filtered_by_period_and_text(cscart: SampleStore) -> None:
    body = {"object_type": "E", "name": "Beatriz Lima", "message": "Chegou antes do prazo"}
    post = str((await cscart.post("/api/discussions", body)).body["post_id"])
    now = int((await cscart.get(f"/api/discussions/{post}")).body["timestamp"])

    async def posts_of(query: str) -> list[str]:
        return [row["post_id"] for row in (await cscart.get(f"/api/discussions?{query}")).body["discussions"]]

    for query in ("message=antes", "name=beatriz", f"period=C&time_from={now}&time_to={now}", "period=D"):
        assert post in await posts_of(query), query
    for query in ("message=nunca", "name=Xavier", f"period=C&time_from={now + 60}", "period=LD"):
        assert post not in await posts_of(query), query


async def test_pages_are_filtered_by_their_ids(cscart: SampleStore) -> None:
    pages = [str((await cscart.post("/api/pages", {"page": f"P{n}"})).body["page_id"]) for n in range(3)]
    for query in (f"item_ids={pages[0]},{pages[2]}", f"item_ids[]={pages[0]}&item_ids[]={pages[2]}"):
        rows = (await cscart.get(f"/api/pages?{query}")).body["pages"]
        assert {row["page_id"] for row in rows} == {pages[0], pages[2]}, query
    assert (await cscart.get("/api/pages?item_ids=,")).body["pages"] == []


async def test_features_are_filtered_by_purpose(cscart: SampleStore) -> None:
    numbers = {}
    for letter in "SETM":
        body = {"description": letter, "feature_type": letter}
        numbers[letter] = str((await cscart.post("/api/features", body)).body["feature_id"])

    async def types_of(query: str) -> set[str]:
        rows = (await cscart.get(f"/api/features?items_per_page=0&{query}")).body["features"]
        return {letter for letter, number in numbers.items() if number in [row["feature_id"] for row in rows]}

    assert await types_of("purpose[]=group_catalog_item&purpose[]=group_variation_catalog_item") == {"S"}
    assert await types_of("purpose=find_products") == {"S", "M"}
    assert await types_of("purpose=find_products&feature_type=M") == {"M"}
    assert await types_of("purpose[]=organize_catalog&purpose[]=describe_product") == {"E", "T"}
    assert await types_of("purpose=unheard_of") == set()


@pytest.mark.parametrize(
    "query, is_found",
    [
        ("pkeywords=Y&q=presente", True),
        ("pkeywords=Y&q=Présente%20caneca", True),
        ("pkeywords=Y&q=esmalte", False),
        ("pname=Y&q=presente", False),
        ("pname=Y&pkeywords=Y&q=presente%20zaragata", True),
        ("pshort=Y&q=esmalte", True),
        ("pfull=Y&q=forno", True),
        ("pkeywords=N&q=presente", False),
        ("pkeywords=Y&q=" + "x" * 199, False),
    ],
)
async def test_words_are_searched_in_the_texts_that_are_named(cscart: SampleStore, query: str, is_found: bool) -> None:
    body = {
        "product": "Zaragata",
        "meta_keywords": "presente, caneca",
        "short_description": "esmalte",
        "full_description": "<p>vai ao forno</p>",
    }
    number = str((await cscart.post("/api/products", body)).body["product_id"])
    answer = await cscart.get(f"/api/products?items_per_page=0&{query}")
    assert (number in [row["product_id"] for row in answer.body["products"]]) is is_found
    assert PARAMETERS not in answer.headers


async def test_the_other_dialect_takes_the_flags_of_the_search_and_does_not_filter_by_them(sample: SampleStore) -> None:
    searched = await sample.get("/api/products?q=caneca")
    flagged = await sample.get("/api/products?q=caneca&pkeywords=Y&pname=Y")
    assert list(searched.body["products"]) == [str(sample.mug)]
    assert flagged.body == searched.body
    assert PARAMETERS not in flagged.headers


async def test_flags_of_the_search_without_a_text_are_named(cscart: SampleStore) -> None:
    assert (await cscart.get("/api/products?pname=Y")).headers[PARAMETERS] == "pname"


# --- Fields of bodies --------------------------------------------------------------------------------------------------------


async def test_creation_and_update_name_the_fields_that_they_ignore(cscart: SampleStore) -> None:
    body = {
        "product": "x",
        "price": "1",
        "unheard_of": 1,
        "timestamp": "5",
        "shipping_params": {"box_length": 1, "b\n": 2},
    }
    created = await cscart.post("/api/products", body)
    assert (created.status, created.headers[FIELDS]) == (201, "unheard_of, timestamp, shipping_params.b%0A")
    path = f"/api/products/{created.body['product_id']}"
    changed = await cscart.put(path, {"price": "2", "sales_amount": "7"})
    assert (changed.status, changed.headers[FIELDS]) == (200, "sales_amount")
    record = (await cscart.get(path)).body
    assert FIELDS not in (await cscart.put(path, {**record, "price": "3"})).headers
    record = (await cscart.get(path)).body
    assert (await cscart.put(path, {**record, "timestamp": "5"})).headers[FIELDS] == "timestamp"


async def test_a_vendor_learns_what_it_may_not_set(sample: SampleStore) -> None:
    await sample.put("/api/settings/legacy_vendor_keys", {"value": "Y"})
    answer = await sample.put(f"/api/products/{sample.mug}", {"company_id": "9"}, by=sample.vendor_user)
    assert (answer.status, answer.headers[FIELDS]) == (200, "company_id")
