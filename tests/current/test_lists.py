"""Shared behaviour of admin lists: envelope, pagination, filters, sorting, statement counts (docs/reference/current.md#admin)."""

from datetime import UTC, datetime, timedelta

import pytest
from yarl import URL

from kernel.scope import Store
from tests.harness import records, scopes
from tests.harness.http import Client
from tests.harness.records import UNKNOWN_ID

ADMIN = "/api/v1/admin"
COLLECTIONS = ("products", "categories", "orders", "users", "customers")
NEWEST_FIRST = ("products", "orders", "users", "customers")
DATED = (*NEWEST_FIRST, "categories")
MAKERS = {
    "products": records.add_product,
    "categories": records.add_category,
    "orders": records.add_order,
    "users": records.add_user,
    "customers": records.add_user,
}


async def _insert_records(store: Store, collection: str, number: int) -> list[str]:
    """Insert records into the store, oldest first, and return their ids."""
    start = datetime(2026, 1, 1, 12, tzinfo=UTC)
    return [(await MAKERS[collection](store, created_at=start + timedelta(days=day))).id for day in range(number)]


async def _ids(admin: Client, collection: str, **query) -> list[str]:
    answer = await admin.get(f"{ADMIN}/{collection}", **query)
    assert answer.status == 200, answer
    return [record["id"] for record in answer.body[collection]]


@pytest.mark.parametrize("collection", [name for name in COLLECTIONS if name != "users"])
async def test_an_empty_list_has_the_envelope(admin: Client, collection: str) -> None:
    answer = await admin.get(f"{ADMIN}/{collection}")
    assert (answer.status, answer.body) == (200, {collection: [], "total": 0, "page": 1, "per_page": 20})


@pytest.mark.parametrize("collection", COLLECTIONS)
async def test_pages_contain_every_record_once(admin: Client, collection: str) -> None:
    await _insert_records(admin.store, collection, 7)
    total = 8 if collection == "users" else 7
    seen: list[str] = []
    for page in (1, 2, 3, 4):
        answer = (await admin.get(f"{ADMIN}/{collection}", page=page, per_page=3)).body
        assert set(answer) == {collection, "total", "page", "per_page"}, page
        assert (answer["total"], answer["page"], answer["per_page"]) == (total, page, 3)
        seen += [record["id"] for record in answer[collection]]
    assert len(seen) == len(set(seen)) == total


@pytest.mark.parametrize("collection", NEWEST_FIRST)
async def test_lists_are_sorted_newest_first_by_default(admin: Client, collection: str) -> None:
    made = await _insert_records(admin.store, collection, 3)
    assert [id for id in await _ids(admin, collection) if id in made] == made[::-1]
    assert [id for id in await _ids(admin, collection, sort_order="asc") if id in made] == made
    assert [id for id in await _ids(admin, collection, sort_by="created_at") if id in made] == made


@pytest.mark.parametrize("collection", COLLECTIONS)
async def test_the_response_contains_the_applied_page_size(admin: Client, collection: str) -> None:
    for value, applied in (("1", 1), ("100", 100), ("101", 100), ("5000", 100), ("9" * 30, 100), ("007", 7)):
        answer = await admin.get(f"{ADMIN}/{collection}", per_page=value)
        assert (answer.status, answer.body["per_page"]) == (200, applied)


async def test_a_page_contains_up_to_a_hundred_records(admin: Client) -> None:
    await scopes.execute(
        admin.store,
        """insert into products (tenant_id, public_id, name, slug, price_cents)
        select $1, gen_random_uuid(), 'P' || n, 'p' || n, n from generate_series(1, 120) n""",
        admin.store.id,
    )
    assert len(await _ids(admin, "products", per_page="250")) == 100
    assert len(await _ids(admin, "products", per_page="100", page=2)) == 20


@pytest.mark.parametrize("collection", COLLECTIONS)
async def test_pagination_parameters_that_are_not_positive_integers_are_rejected(
    admin: Client, collection: str
) -> None:
    for name in ("page", "per_page"):
        for value in ("0", "-1", "abc", "1.5", "1e3", "", " ", "+1", "٣", "0x10", "null", "1 2"):
            answer = await admin.get(f"{ADMIN}/{collection}", **{name: value})
            assert answer.status == 400, (name, value)
            assert set(answer.body) == {"error", "detail"}, (name, value)
            assert answer.body["error"] == f"invalid {name}"
            assert f"{name} is" in answer.body["detail"]


@pytest.mark.parametrize("page", ["2147483647", "2147483648", "9" * 19, "9" * 5000])
async def test_a_page_after_the_last_is_empty(page: str, admin: Client) -> None:
    await _insert_records(admin.store, "products", 1)
    answer = (await admin.get(f"{ADMIN}/products", page=page, per_page=100)).body
    assert (answer["products"], answer["total"], answer["page"]) == ([], 1, 2_147_483_647)


WRONG_EVERYWHERE = (
    {"status": "ZZ"},
    {"status": "Z"},
    {"sort_by": "password_hash"},
    {"sort_by": "name; drop table users"},
    {"sort_order": "up"},
    {"sort_by": "created_at", "sort_order": "descending"},
)
WRONG_DATES = ("yesterday", "2026-02-30", "2026-13-01", "01/02/2026", "2026-1-1", "0000-00-00", "20260101")


@pytest.mark.parametrize("collection", COLLECTIONS)
async def test_an_invalid_parameter_is_named(admin: Client, collection: str) -> None:
    wrong = list(WRONG_EVERYWHERE)
    if collection in DATED:
        wrong += [{name: date} for name in ("created_after", "created_before") for date in WRONG_DATES]
    for query in wrong:
        answer = await admin.get(f"{ADMIN}/{collection}", **query)
        assert answer.status == 400, (query, answer)
        assert set(answer.body) == {"error", "detail"}, query
        assert answer.body["error"] == f"invalid {list(query)[-1]}"


async def test_the_detail_states_the_expected_values(admin: Client) -> None:
    assert (await admin.get(f"{ADMIN}/products", status="X")).body["detail"] == (
        "status is 'X'; expected one of A, D, H, P"
    )
    assert (await admin.get(f"{ADMIN}/products", sort_by="color")).body["detail"] == (
        "sort_by is 'color'; expected one of created_at, updated_at, name, sku, slug, status, price_cents, compare_at_cents,"
        " stock, id, description, short_description, currency, category_id, weight_grams, length_mm, width_mm, height_mm, gtin,"
        " shipping_freight_cents"
    )
    assert (await admin.get(f"{ADMIN}/orders", sort_order="x")).body["detail"] == (
        "sort_order is 'x'; expected one of asc, desc"
    )


@pytest.mark.parametrize("collection", COLLECTIONS)
async def test_parameters_that_are_empty_or_unknown_are_ignored(admin: Client, collection: str) -> None:
    names = ["search", "status", "category_id", "customer_id", "parent_id", "role", "sort_by", "sort_order"]
    names += ["created_after", "created_before", "limit", "offset", "color"]
    assert (await admin.get(f"{ADMIN}/{collection}", **dict.fromkeys(names, ""))).status == 200
    assert (await admin.get(f"{ADMIN}/{collection}", color="blue", limit="-5")).status == 200


@pytest.mark.parametrize("collection", DATED)
async def test_date_filters_include_the_whole_day(admin: Client, collection: str) -> None:
    made = await _insert_records(admin.store, collection, 4)
    assert set(await _ids(admin, collection, created_after="2026-01-02")) & set(made) == set(made[1:])
    assert set(await _ids(admin, collection, created_before="2026-01-02")) == set(made[:2])
    assert await _ids(admin, collection, created_after="2026-01-02", created_before="2026-01-02") == [made[1]]
    assert await _ids(admin, collection, created_after="2026-01-03", created_before="2026-01-02") == []
    ends = {"created_after": "0001-01-01", "created_before": "9999-12-31"}
    assert set(made) <= set(await _ids(admin, collection, **ends))


async def test_products_are_filtered(admin: Client, other_store: Store) -> None:
    store = admin.store
    category, other = await records.add_category(store), await records.add_category(store)
    foreign = await records.add_category(other_store)
    shoe = await records.add_product(store, name="Calçado Infantil", sku="CAL-9", category_id=category.number)
    await records.insert(store, "product_categories", product_id=shoe.number, category_id=category.number)
    await records.add_product(store, name="Boné", status="D")
    assert await _ids(admin, "products", search="calcado") == [shoe.id]
    assert await _ids(admin, "products", search="CAL-9") == [shoe.id]
    assert await _ids(admin, "products", search="nada") == []
    assert await _ids(admin, "products", status="active") == [shoe.id]
    assert await _ids(admin, "products", category_id=category.id) == [shoe.id]
    for unknown_id in (other.id, UNKNOWN_ID, "abc", "-1", "9" * 400, foreign.id, str(foreign.number)):
        assert await _ids(admin, "products", category_id=unknown_id) == []
    assert await _ids(admin, "products", search="calcado", status="D") == []


async def test_categories_are_filtered(admin: Client) -> None:
    root = await records.add_category(admin.store, name="Vestuário")
    child = await records.add_category(admin.store, name="Camisetas", parent_id=root.number, status="H")
    assert await _ids(admin, "categories", search="vestuario") == [root.id]
    assert await _ids(admin, "categories", status="hidden") == [child.id]
    assert await _ids(admin, "categories", parent_id=root.id) == [child.id]
    assert await _ids(admin, "categories", parent_id="0") == [root.id]
    assert await _ids(admin, "categories", parent_id="abc") == []


async def test_categories_are_sorted_by_position(admin: Client) -> None:
    made = [
        (await records.add_category(admin.store, name=name, position=5 - index)).id for index, name in enumerate("abc")
    ]
    assert await _ids(admin, "categories") == made[::-1]
    assert await _ids(admin, "categories", sort_order="desc") == made
    assert await _ids(admin, "categories", sort_by="name") == made


async def test_orders_are_filtered(admin: Client) -> None:
    customer = await records.add_user(admin.store)
    own = await records.add_order(admin.store, customer, firstname="Bia")
    paid = await records.add_order(admin.store, status="P", tracking_code="BR9")
    assert await _ids(admin, "orders", status="paid") == [paid.id]
    assert await _ids(admin, "orders", status="o") == [own.id]
    assert await _ids(admin, "orders", customer_id=customer.id) == [own.id]
    assert await _ids(admin, "orders", customer_id=UNKNOWN_ID) == []
    assert await _ids(admin, "orders", customer_id="abc") == []
    assert await _ids(admin, "orders", search="bia") == [own.id]
    assert await _ids(admin, "orders", search=str(paid.number)) == [paid.id]
    assert await _ids(admin, "orders", search="BR9") == [paid.id]


@pytest.mark.parametrize(
    "collection, field, values",
    [
        ("products", "name", ["Água", "bola", "Casa"]),
        ("products", "sku", ["a", "b", "c"]),
        ("products", "status", ["A", "D", "H"]),
        ("products", "price_cents", [1, 20, 300]),
        ("categories", "position", [1, 2, 3]),
        ("categories", "name", ["A", "B", "C"]),
        ("orders", "status", ["C", "D", "P"]),
        ("products", "description", ["<p>a", "<p>b", "<p>c"]),
        ("orders", "total_cents", [1, 20, 300]),
        ("orders", "tracking_code", ["A1", "B1", "C1"]),
        ("users", "email", ["a@a.aa", "b@b.bb", "c@c.cc"]),
    ],
)
async def test_lists_are_sorted_in_both_directions(
    new_client, store: Store, collection: str, field: str, values: list
) -> None:
    admin = await new_client("view_products", "view_catalog", "view_orders", "view_users", email="zz@zz.zz")
    order = [values[1], values[2], values[0]]
    made = {value: (await MAKERS[collection](store, **{field: value})).id for value in order}
    expected = [made[value] for value in values]
    ascending = [id for id in await _ids(admin, collection, sort_by=field) if id in expected]
    assert ascending == expected
    for direction in ("desc", "DESC"):
        sorted_ids = await _ids(admin, collection, sort_by=field, sort_order=direction)
        assert [id for id in sorted_ids if id in expected] == expected[::-1], direction


@pytest.mark.parametrize("collection", COLLECTIONS)
async def test_every_documented_sort_field_works(admin: Client, collection: str) -> None:
    made = await _insert_records(admin.store, collection, 2)
    detail = (await admin.get(f"{ADMIN}/{collection}", sort_by="?")).body["detail"]
    sort_fields = detail.partition("one of ")[2].split(", ")
    assert "created_at" in sort_fields
    for field in sort_fields:
        assert set(made) <= set(await _ids(admin, collection, sort_by=field))


@pytest.mark.parametrize("collection", COLLECTIONS)
async def test_any_text_is_a_valid_search(admin: Client, collection: str) -> None:
    for search in ("'", '"', "\\", "%", "_", "a:*", "a & b | !c", "<->", "☃", "x" * 200, "((", "a\tb"):
        assert (await admin.get(f"{ADMIN}/{collection}", search=search)).status == 200


@pytest.mark.parametrize("collection", COLLECTIONS)
async def test_unusual_query_strings_are_answered(admin: Client, collection: str) -> None:
    long = "search=" + "%25" * 900
    for query in ("search=%00", "search=%FF", "search=%ED%A0%80", "page=1&page=x", "=&&&", "a[]=1", long):
        answer = await admin.get(URL(f"{ADMIN}/{collection}?{query}", encoded=True))
        assert answer.status in (200, 400), query


@pytest.mark.parametrize(
    "query,name,detail",
    [
        ("page=1&per_page=5&page=2", "page", "page is '1' and '2'; expected it once"),
        ("per_page=5&per_page=", "per_page", "per_page is '5' and ''; expected it once"),
        ("status=A&status=D", "status", "status is 'A' and 'D'; expected it once"),
        ("sort_by=name&sort_by=created_at", "sort_by", "sort_by is 'name' and 'created_at'; expected it once"),
    ],
)
async def test_a_parameter_with_two_values_is_refused(admin: Client, query: str, name: str, detail: str) -> None:
    answer = await admin.get(URL(f"{ADMIN}/products?{query}", encoded=True))
    assert (answer.status, answer.body) == (400, {"error": f"invalid {name}", "detail": detail})


async def test_a_parameter_may_be_repeated_with_its_value_and_an_unknown_one_with_any(admin: Client) -> None:
    await _insert_records(admin.store, "products", 2)
    once = (await admin.get(f"{ADMIN}/products?per_page=1")).body
    again = await admin.get(URL(f"{ADMIN}/products?per_page=1&utm=a&per_page=1&utm=b", encoded=True))
    assert (again.status, again.body) == (200, once)


@pytest.mark.parametrize("collection", ["products", "categories"])
async def test_a_search_without_a_word_finds_nothing(admin: Client, collection: str) -> None:
    await _insert_records(admin.store, collection, 1)
    for search in ("((", "☃", "' \\"):
        assert await _ids(admin, collection, search=search) == [], search
    assert len(await _ids(admin, collection, search=" ")) == 1


async def test_a_search_that_is_not_utf8_is_refused(admin: Client) -> None:
    """`é` in Latin-1: read as a replacement character, which is no word, it would list all categories."""
    await _insert_records(admin.store, "categories", 1)
    answer = await admin.get(URL(f"{ADMIN}/categories?search=caf%E9", encoded=True))
    assert (answer.status, answer.body["error"]) == (400, "invalid parameter")


@pytest.mark.parametrize("collection", COLLECTIONS)
async def test_the_statement_count_of_a_list_is_constant(admin: Client, collection: str) -> None:
    max_statements = {"products": 4, "categories": 2, "orders": 3, "users": 2, "customers": 2}
    category = await records.add_category(admin.store)
    await records.insert(
        admin.store,
        "product_images",
        product_id=(await records.add_product(admin.store)).number,
        url="/a.png",
    )
    await _insert_records(admin.store, collection, 2)
    if collection == "products":
        await scopes.execute(admin.store, "update products set category_id = $1", category.number)
    sizes = (20, 100)  # short pages take fewer statements than long ones, which take one per level
    before_pages = [await admin.get(f"{ADMIN}/{collection}", per_page=size) for size in sizes]
    await _insert_records(admin.store, collection, 25)
    after_pages = [await admin.get(f"{ADMIN}/{collection}", per_page=size) for size in sizes]
    for before, after in zip(before_pages, after_pages, strict=True):
        assert len(after.body[collection]) > len(before.body[collection])
        assert before.statements == after.statements <= max_statements[collection]


@pytest.mark.parametrize(
    "collection, max_statements",
    [("products", 3), ("categories", 1), ("orders", 2), ("users", 1), ("customers", 1)],
)
async def test_a_single_record_executes_one_statement_per_level(
    admin: Client, collection: str, max_statements: int
) -> None:
    made = await MAKERS[collection](admin.store)
    answer = await admin.get(f"{ADMIN}/{collection}/{made.id}")
    assert answer.status == 200
    assert answer.statements <= max_statements


@pytest.mark.parametrize("collection", COLLECTIONS)
async def test_lists_support_head(admin: Client, collection: str) -> None:
    answer = await admin.request("HEAD", f"{ADMIN}/{collection}")
    assert (answer.status, answer.raw) == (200, b"")
