"""Check lists: both forms, every filter, every sort order, pagination."""

from collections.abc import Awaitable, Callable
from itertools import product
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from models.tables.orders import Order
from models.tables.shipping import Shipment
from rest_facade.legacy.resource import IN_CSCART, Resource
from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore
from tests.legacy.entities import LISTED as RESOURCES
from tests.legacy.entities import record_of, resource_of, rows_in, supports

pytestmark = pytest.mark.combination

IDS = [resource.path for resource in RESOURCES]
FILTERED = [
    (resource, field)
    for resource in RESOURCES
    for field in (*resource.fields, *resource.detail_fields)
    if field.permission != IN_CSCART and (field.filter_name or field.constant is not None)
]
FILTERED_RESOURCES = [
    pytest.param(resource, [field.name for other, field in FILTERED if other is resource], id=resource.path)
    for resource in RESOURCES
]


async def all_records(sample: SampleStore, resource: Resource) -> dict[str, dict[str, Any]]:
    """Return every record by its id, as a single record where the entity has that route."""
    records = {}
    for row in rows_in(resource, (await sample.get(f"/api/{resource.path}?items_per_page=250")).body):
        number = row[resource.key]
        has_single = supports(resource, "show")
        records[number] = (await sample.get(f"/api/{resource.path}/{number}")).body if has_single else row
    return records


async def list_ids(sample: SampleStore, path: str, **kwargs: Any) -> list[str]:
    answer = await sample.get(f"/api/{path}", **kwargs)
    assert answer.status == 200, answer.raw
    resource = resource_of(path.partition("?")[0].rpartition("/")[2])
    return [row[resource.key] for row in rows_in(resource, answer.body)]


def id_of(row: dict[str, Any], resource: Resource) -> int:
    """Return the number of a record; languages are keyed by their code and have a separate number."""
    return int(row.get("lang_id", row[resource.key]))


def has_value(value: Any, expected: str) -> bool:
    return expected in value if isinstance(value, list) else str(value) == expected


async def prepare(sample: SampleStore) -> None:
    """Set some fields to values that differ between records."""
    await sample.put(f"/api/users/{sample.caio}", {"phone": "81999990000", "CNPJ": "11222333000181"})
    await sample.put(f"/api/users/{sample.bia}", {"company": "Padaria"})
    await sample.execute("update users set points = 3 where id = $1", sample.bia.number)
    await sample.put(f"/api/products/{sample.plate}", {"min_qty": 2, "max_qty": 9, "free_shipping": "Y"})
    await sample.put(f"/api/categories/{sample.hidden}", {"description": "d", "company_id": sample.rival.number})
    address = {
        f"{prefix}_{name}": f"{prefix} {name}" for prefix in "bs" for name in ("address", "address_2", "city", "phone")
    }
    await sample.put(
        f"/api/orders/{sample.shared_order}",
        {"notes": "n", "details": "d", "ip_address": "203.0.113.9", "phone": "81", "user_data": address},
    )
    await sample.add(Shipment, order_id=sample.order.number)
    set_amounts = "update orders set discount_cents = 100, surcharge_cents = 50, tax_cents = 250 where id = $1"
    await sample.execute(set_amounts, sample.order.number)


@pytest.fixture(scope="module")
async def shared_store(new_sample) -> SampleStore:
    """Return a store that the read-only tests of this module share."""
    sample = await new_sample(combination=True)
    await prepare(sample)
    return sample


@pytest.fixture(scope="module")
def records_of(shared_store: SampleStore) -> Callable[[Resource], Awaitable[dict[str, dict[str, Any]]]]:
    """Return a function that reads the store's records of a resource, once."""
    read: dict[str, dict[str, dict[str, Any]]] = {}

    async def records(resource: Resource) -> dict[str, dict[str, Any]]:
        if resource.path not in read:
            read[resource.path] = await all_records(shared_store, resource)
        return read[resource.path]

    return records


def values_of(records: dict[str, dict[str, Any]], name: str) -> list[str]:
    """Return the values of a field in all records, as texts: some are numbers, but a query contains only text."""
    values = {
        value
        for record in records.values()
        for value in (record[name] if isinstance(record[name], list) else [record[name]])
    }
    return sorted(map(str, values - {""}))


@pytest.mark.parametrize("resource, fields", FILTERED_RESOURCES)
async def test_every_field_filters_by_equal_value(shared_store, records_of, resource: Resource, fields):
    records = await records_of(resource)
    for name, value in [(field, value) for field in fields for value in values_of(records, field)]:
        expected = {number for number, record in records.items() if has_value(record[name], value)}
        answer = await shared_store.get(f"/api/{resource.path}?{name}={quote(value)}&items_per_page=250")
        assert answer.status == 200, (name, value, answer.raw)
        assert set(answer.body[resource.path]) == expected, (name, value)
        assert answer.body["search"] == {name: value}
        assert answer.body["params"]["total_items"] == len(expected), (name, value)
        assert answer.body["params"][name] == value


@pytest.mark.parametrize("dialect", ["contract", "cscart"])
async def test_a_status_is_filtered_by_as_it_is_shown(new_sample, dialect: str):
    sample = await new_sample(combination=True, legacy_lists=dialect)
    await sample.execute("update pages set hidden = true where id = $1", sample.page.number)
    for resource in RESOURCES:
        if "status" in [field.name for field in resource.fields]:
            every = rows_in(resource, (await sample.get(f"/api/{resource.path}?items_per_page=250")).body)
            for status in {record.get("status") for record in every} - {None, ""}:
                expected = {str(record[resource.key]) for record in every if record["status"] == status}
                answer = await sample.get(f"/api/{resource.path}?status={status}&items_per_page=250")
                shown = {str(record[resource.key]) for record in rows_in(resource, answer.body)}
                assert shown == expected, (resource.path, status)


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
async def test_every_text_of_a_record_is_a_filter(shared_store, records_of, resource: Resource):
    records = await records_of(resource)
    record = records[str(record_of(shared_store, resource))]
    # The title of a page has the name of the page number.
    texts = {name: value for name, value in record.items() if isinstance(value, str) and value and name != "page"}
    for name, value in texts.items():
        answer = await shared_store.get(f"/api/{resource.path}?{name}={quote(value)}&items_per_page=250")
        assert answer.body["search"] == {name: value}
        assert record[resource.key] in answer.body[resource.path], name


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
async def test_several_values_in_brackets_match_any(shared_store, records_of, resource: Resource):
    records = await records_of(resource)
    for name in (field.name for other, field in FILTERED if other is resource and field.value_type.multiple):
        values = [*values_of(records, name)[:2], "zz"]
        query = urlencode([(f"{name}[]", value) for value in values])
        expected = {
            number for number, record in records.items() if any(has_value(record[name], value) for value in values)
        }
        answer = await shared_store.get(f"/api/{resource.path}?{query}&items_per_page=250")
        assert set(answer.body[resource.path]) == expected, name
        assert answer.body["search"] == {name: values if len(values) > 1 else values[0]}


IMPOSSIBLE_VALUES = [
    "zz",
    "ZZ9",
    "9" * 30,
    "-1",
    "1.5",
    "%00x",
    "é",
    "' or 1=1 --",
    "{}",
    "[]",
    "null",
    "true",
    "99999999999999999999",
]


@pytest.mark.parametrize("resource, fields", FILTERED_RESOURCES)
async def test_an_impossible_value_matches_nothing(shared_store, resource: Resource, fields):
    for field, value in product(fields, IMPOSSIBLE_VALUES):
        answer = await shared_store.get(f"/api/{resource.path}?{field}={quote(value, safe='%')}")
        if "%00" in value:
            assert answer.status == 400, (field, value)
            continue
        assert answer.status == 200, (field, value, answer.raw)
        assert answer.body["params"]["page"] == 1, (field, value)
        if value not in ("true", "-1"):
            assert answer.body[resource.path] == {}, (field, value)
            assert answer.body["params"]["total_items"] == 0, (field, value)
            assert answer.body["search"] == {field: value}


@pytest.mark.parametrize("resource, fields", FILTERED_RESOURCES)
async def test_an_empty_value_is_no_filter(shared_store, resource: Resource, fields):
    unfiltered = await shared_store.get(f"/api/{resource.path}")
    for field, end in product(fields, ("", "[]")):
        assert (await shared_store.get(f"/api/{resource.path}?{field}{end}=")).body == unfiltered.body, field


@pytest.mark.parametrize("resource, fields", FILTERED_RESOURCES)
async def test_nested_values_match_nothing(shared_store, resource: Resource, fields):
    for field in fields:
        answer = await shared_store.get(f"/api/{resource.path}?{field}[a][b]=1")
        assert (answer.status, answer.body[resource.path]) == (200, {}), field


# --- Forms -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
async def test_a_list_is_an_array_and_a_filtered_one_an_object(shared_store, resource: Resource):
    plain = await shared_store.get(f"/api/{resource.path}")
    extra = {"search"} if resource.always_has_search else set()
    assert set(plain.body) == {resource.path, "params"} | extra
    assert isinstance(plain.body[resource.path], dict if resource.always_keyed else list)
    rows = rows_in(resource, plain.body)
    assert rows
    assert (
        plain.body["params"]
        | {
            "page": 1,
            "items_per_page": 10,
            "total_items": len(rows) if len(rows) < 10 else plain.body["params"]["total_items"],
        }
        == plain.body["params"]
    )
    filtered = await shared_store.get(f"/api/{resource.path}?{resource.key}={rows[0][resource.key]}")
    assert set(filtered.body) == {resource.path, "search", "params"}
    assert filtered.body[resource.path] == {rows[0][resource.key]: rows[0]}
    assert filtered.body["search"] == {resource.key: rows[0][resource.key]}


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
async def test_in_the_cscart_form_a_filtered_list_has_the_same_shape(new_sample, resource: Resource):
    sample = await new_sample(combination=True, legacy_lists="cscart")
    form = dict if resource.always_keyed else list

    async def listed(query: str) -> tuple[list[Any], Any]:
        body = (await sample.get(f"/api/{resource.path}?{query}")).body
        collection = body if resource.unwrapped else body[resource.name]
        assert isinstance(collection, form)
        assert resource.unwrapped or set(body) == {resource.name, "params"}
        return rows_in(resource, body), None if resource.unwrapped else body["params"]

    rows, _ = await listed("items_per_page=250")
    # In this form a combination's hash is its id.
    number = str(sample.combination.number) if resource.key == "combination_hash" else str(record_of(sample, resource))
    assert number in [row[resource.key] for row in rows]
    filtered, params = await listed(f"{resource.key}={number}")
    assert filtered == [row for row in rows if row[resource.key] == number]
    assert params is None or params[resource.key] == number
    empty, _ = await listed(f"{resource.key}=x")
    assert empty == []


async def test_object_keys_follow_the_sort_order(sample):
    ascending = await list_ids(sample, "products?status[]=A&status[]=H&sort_by=price&sort_order=asc")
    assert ascending == [str(sample.ebook), str(sample.plate), str(sample.mug), str(sample.secret)]
    assert await list_ids(sample, "products?status[]=A&status[]=H&sort_by=price&sort_order=desc") == ascending[::-1]


async def test_search_echoes_codes_not_labels(sample):
    for query, search in (
        ("status=active", "A"),
        ("status=a", "A"),
        ("status[]=active&status[]=hidden", ["A", "H"]),
        ("status=Z", "Z"),
    ):
        answer = await sample.get(f"/api/products?{query}")
        assert answer.body["search"] == {"status": search}
        assert answer.body["params"]["status"] == search


async def test_filters_are_combined_with_and(sample):
    assert await list_ids(sample, f"products?status=A&company_id={sample.vendor}&is_edp=N") == [str(sample.mug)]
    assert await list_ids(sample, "products?product_code=CAN-1&pcode=PRA-1") == []
    assert await list_ids(sample, "products?product_code=CAN-1&pcode=CAN-1") == [str(sample.mug)]


@pytest.mark.parametrize(
    "query",
    [
        "colour=blue",
        "get_options=1&get_features=0&detailed_params=1&pname=Y&pshort=Y&pfull=Y&pkeywords=Y",
        "main_pair=x&product_features=x&image_pairs=x",
        "a[b][c]=d&=x&&&[]=1",
        "search=caneca",
        "params=x",
    ],
)
async def test_unknown_parameters_are_ignored(sample, query):
    unfiltered = await sample.get("/api/products")
    assert (await sample.get(f"/api/products?{query}")).body == unfiltered.body


async def test_the_last_of_a_repeated_parameter_wins(sample):
    assert await list_ids(sample, "products?status=A&status=H") == [str(sample.secret)]
    assert (await sample.get("/api/products?page=1&page=2")).body["params"]["page"] == 2


# --- Entity filters ----------------------------------------------------------------------------------------------------------


async def products(sample: SampleStore, query: str) -> Any:
    answer = await sample.get(f"/api/products?{query}&sort_by=product_id&sort_order=asc")
    assert answer.status == 200, answer.raw
    rows = answer.body["products"]
    return rows if isinstance(rows, dict) else [row["product_id"] for row in rows]


async def test_products_are_searched_by_name_description_and_code(sample):
    for words in ("caneca", "CANECA", "agata", "can-1", "esmaltada", "can", "caneca agata"):
        matches = await products(sample, f"q={quote(words)}")
        assert list(matches) == [str(sample.mug)], words
    assert await products(sample, "q=xyz") == {}
    assert await products(sample, "q=%21%21") == {}
    assert isinstance(await products(sample, "q="), list)


async def test_cscart_filter_names_keep_the_list_an_array(sample):
    mug, plate, ebook, secret = await products(sample, "")
    for query, expected in (
        ("pcode=CAN-1", [mug]),
        (f"cid={sample.home}", [mug, plate]),
        (f"cid={sample.home}&subcats=Y", [mug, plate]),
        ("price_from=25.00", [mug, plate, secret]),
        ("price_to=25", [plate, ebook]),
        ("price_from=25&price_to=50", [mug, plate]),
        ("amount_from=17", [plate]),
        ("amount_to=17", [mug, plate, ebook, secret]),
        ("price_from=x", []),
        ("amount_to=x", []),
        ("cid=abc", []),
        ("cid=0", []),
    ):
        assert await products(sample, query) == expected, query


async def test_a_category_filter_includes_subcategories_on_request(sample):
    await sample.put(f"/api/products/{sample.mug}", {"category_ids": [sample.kitchen.number]})
    assert set(await products(sample, f"category_id={sample.home}")) == {str(sample.plate)}
    assert set(await products(sample, f"category_id={sample.home}&subcats=Y")) == {
        str(sample.mug),
        str(sample.plate),
    }
    assert set(await products(sample, f"category_id={sample.home}&subcats=N")) == {str(sample.plate)}
    assert set(await products(sample, f"category_id[]={sample.home}&category_id[]={sample.kitchen}")) == {
        str(sample.mug),
        str(sample.plate),
    }
    assert set(await products(sample, f"category_id={sample.home.id}")) == {str(sample.plate)}
    assert await products(sample, f"category_id={UNKNOWN_NUMBER}") == {}
    assert await products(sample, f"category_id={UNKNOWN_ID}") == {}
    assert set(await products(sample, f"category_id={sample.home}&cid={sample.home}")) == {str(sample.plate)}
    assert await products(sample, f"category_id={sample.home}&cid={sample.kitchen}") == {}
    assert isinstance(await products(sample, "subcats=Y"), list)


async def test_users_and_categories_are_searched(sample):
    assert await list_ids(sample, "users?q=caio") == [str(sample.caio)]
    assert await list_ids(sample, "users?q=REIS") == [str(sample.caio)]
    assert await list_ids(sample, "users?q=caio%40example.com") == [str(sample.caio)]
    assert set(await list_ids(sample, "users?user_type=V&status=A")) == {
        str(sample.vendor_user),
        str(sample.rival_vendor_user),
    }
    assert await list_ids(sample, f"users?user_type=vendor&company_id={sample.rival}") == [
        str(sample.rival_vendor_user)
    ]
    assert await list_ids(sample, "categories?q=cozi") == [str(sample.kitchen)]
    assert await list_ids(sample, f"categories?parent_id={sample.home}") == [str(sample.kitchen)]
    assert await list_ids(sample, "categories?parent_id=0") == [str(sample.home), str(sample.hidden)]


async def test_orders_are_searched(sample):
    assert await list_ids(sample, "orders?q=guest%40example.com") == [str(sample.guest_order)]
    assert await list_ids(sample, f"orders?q={sample.order}") == [str(sample.order)]
    assert set(await list_ids(sample, "orders?q=caio")) == {str(sample.order)}
    assert await list_ids(sample, "orders?user_id=0") == [str(sample.guest_order)]
    assert await list_ids(sample, f"orders?company_id={sample.rival}") == []
    assert await list_ids(sample, "orders?company_id=0") == [str(sample.shared_order)]
    assert await list_ids(sample, f"orders?shipping_id={sample.sedex}&status=O&sort_order=asc&sort_by=order_id") == [
        str(sample.order),
        str(sample.shared_order),
    ]


@pytest.fixture
async def dated(sample: SampleStore) -> dict[str, str]:
    """Return orders placed today, last month and in 2020; the store's other orders are new."""
    orders = {}
    for name, sql in (
        ("today", "date_trunc('day', now() at time zone 'utc') at time zone 'utc'"),
        (
            "last_month",
            "(date_trunc('month', now() at time zone 'utc') - interval '1 day') at time zone 'utc'",
        ),
        ("old", "timestamptz '2020-05-05 05:05:05.5Z'"),
    ):
        order = await sample.add(Order)
        await sample.execute(f"update orders set created_at = {sql} where id = $1", order.number)
        orders[name] = str(order)
    return orders


async def test_periods_filter_by_creation_time(sample, dated):
    now = {str(sample.order), str(sample.shared_order), str(sample.guest_order)}
    for query, expected in (
        ("period=today", now | {dated["today"]}),
        ("period=D", now | {dated["today"]}),
        ("period=this_month", now | {dated["today"]}),
        ("period=m", now | {dated["today"]}),
        ("period=last_month", {dated["last_month"]}),
        ("period=LM", {dated["last_month"]}),
        ("period=A", now | set(dated.values())),
        ("period=HH", None),
        ("period=custom&time_from=1588600000&time_to=1588655104", set()),
        ("period=custom&time_from=1588600000&time_to=1588655105", {dated["old"]}),
        ("period=C&time_to=1588655106", {dated["old"]}),
        ("time_from=1588655105&time_to=1588655105", {dated["old"]}),
        ("time_to=1600000000", {dated["old"]}),
        ("time_from=", now | set(dated.values())),
    ):
        answer = await sample.get(f"/api/orders?{query}")
        assert answer.status == 200, (query, answer.raw)
        assert isinstance(answer.body["orders"], list), query
        assert "search" not in answer.body, (query, expected)
        matches = {row["order_id"] for row in answer.body["orders"]}
        if expected is None:
            assert now <= matches, (query, expected)
        else:
            assert matches == expected, query


@pytest.mark.parametrize("query", ["period=nonsense", "time_from=abc", "time_to=99999999999999"])
async def test_an_unreadable_date_filter_is_rejected(shared_sample, query):
    answer = await shared_sample.get(f"/api/orders?{query}")
    assert (answer.status, answer.body["status"]) == (400, 400)
    assert query.partition("=")[0].partition("[")[0] in answer.body["message"]


async def test_a_period_is_combined_with_other_filters(sample, dated):
    answer = await sample.get("/api/orders?period=custom&time_to=1600000000&status=O")
    assert answer.body["orders"].keys() == {dated["old"]}
    assert answer.body["search"] == {"period": "custom", "time_to": "1600000000", "status": "O"}


# --- Pagination and sorting --------------------------------------------------------------------------------------------------


# What a list sorted by a field, which its records have, is sorted by.
SORTED_BY: dict[str, Callable[[str], float | str]] = {
    **dict.fromkeys(("price", "amount", "total", "position", "timestamp", "product_id", "order_id", "user_id"), float),
    **dict.fromkeys(("status", "email"), str),
}
PAGES = [
    ("", 1, 10),
    ("page=2", 2, 10),
    ("page=0", 1, 10),
    ("page=-3", 1, 10),
    ("page=abc", 1, 10),
    ("page=1.5", 1, 10),
    ("page=", 1, 10),
    ("page[]=2", 1, 10),
    ("page=99999999999999999999", 2147483647, 10),
    ("page=999999999999", 2147483647, 10),
    ("items_per_page=3", 1, 3),
    ("items_per_page=250", 1, 250),
    ("items_per_page=251", 1, 250),
    ("items_per_page=100000000000", 1, 250),
    ("items_per_page=99999999999999999999", 1, 250),
    ("items_per_page=0", 1, 10),
    ("items_per_page=-1", 1, 10),
    ("items_per_page=abc", 1, 10),
    ("items_per_page[]=3", 1, 10),
]


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
async def test_page_and_page_size_have_defaults_and_bounds(shared_store, resource: Resource):
    for query, page, size in PAGES:
        answer = await shared_store.get(f"/api/{resource.path}?{query}")
        params = answer.body["params"]
        assert (params["page"], params["items_per_page"]) == (page, size), query
        total = params["total_items"]
        assert len(answer.body[resource.path]) == max(0, min(size, total - (page - 1) * size)), query


async def test_pages_have_no_gaps_or_duplicates(sample):
    for number in range(23):
        await sample.add_product(price_cents=100, name="Igual", slug=f"igual-{number}")
    seen: list[str] = []
    for page in range(1, 6):
        seen += await list_ids(sample, f"products?page={page}&items_per_page=6&sort_by=price&sort_order=asc")
    assert len(seen) == 27
    assert len(set(seen)) == 27
    twins = [number for number in seen if int(number) > sample.secret.number]
    assert twins == sorted(twins, key=int)  # the id breaks ties


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
async def test_every_sort_order_is_stable_and_echoed(shared_store, resource: Resource):
    for name in resource.sorts:
        rows: dict[str, list[dict[str, Any]]] = {}
        for order in ("asc", "desc", "DESC", "", "sideways"):
            path = f"/api/{resource.path}?sort_by={name}&sort_order={order}&items_per_page=250"
            answer = await shared_store.get(path)
            params = answer.body["params"]
            applied = order.lower() if order.lower() in ("asc", "desc") else resource.default_order
            assert (params["sort_by"], params["sort_order"]) == (name, applied), path
            assert rows_in(resource, answer.body) == rows.setdefault(applied, rows_in(resource, answer.body)), (
                name,
                order,
                path,
            )
        assert rows["desc"] == rows["asc"][::-1], name
        if name in SORTED_BY:
            keys = [(SORTED_BY[name](row[name]), id_of(row, resource)) for row in rows["asc"]]
            assert keys == sorted(keys), name


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
async def test_an_unknown_sort_order_falls_back_to_the_default(shared_store, resource: Resource):
    default = (await shared_store.get(f"/api/{resource.path}")).body
    for query in (
        "sort_by=colour",
        "sort_by=",
        "sort_by[]=price",
        "sort_order=sideways",
        "sort_by=colour&sort_order=x",
    ):
        assert (await shared_store.get(f"/api/{resource.path}?{query}")).body == default
    name, direction = resource.default_sort
    assert (default["params"]["sort_by"], default["params"]["sort_order"]) == (name, direction)


async def test_nested_lists_stay_arrays(sample):
    for path, collection in (
        (f"categories/{sample.home}/products?status=A", "products"),
        (f"products/{sample.mug}/discussions?status=A", "discussions"),
        (f"products/{sample.mug}/features?feature_id=1", "features"),
    ):
        answer = await sample.get(f"/api/{path}")
        assert isinstance(answer.body[collection], list)
        assert set(answer.body) == {collection, "params"}
    empty = await sample.get(f"/api/categories/{sample.home}/products?status=Z")
    assert (empty.status, empty.body["products"]) == (200, [])


SEARCHES = {
    "orders": "caio@example.com",
    "shipments": "BR1",
    "carts": "bia",
    "mix_products": "caneca",
    "exceptions": "agata",
}


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
async def test_every_list_is_searched_and_keyed_by_q(sample, resource: Resource):
    """Each entity's record has a text that `q` matches, and none has "xyzzy"."""
    path, number = f"/api/{resource.path}", str(record_of(sample, resource))
    record = next(
        row
        for row in rows_in(resource, (await sample.get(f"{path}?items_per_page=250")).body)
        if row[resource.key] == number
    )
    texts = (
        [SEARCHES[resource.path]]
        if resource.path in SEARCHES
        else [
            value for name, value in record.items() if isinstance(value, str) and len(value) > 2 and not value.isdigit()
        ]
    )
    answers = [(await sample.get(f"{path}?q={quote(text)}&items_per_page=250")).body[resource.name] for text in texts]
    assert any(isinstance(rows, dict) and number in rows for rows in answers)
    empty = (await sample.get(f"{path}?q=xyzzy")).body
    assert (empty[resource.name], empty["search"], empty["params"]["total_items"]) == ({}, {"q": "xyzzy"}, 0)
