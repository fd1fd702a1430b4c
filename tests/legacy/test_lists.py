"""Check lists: both forms, every filter, every sort order, pagination."""

from typing import Any
from urllib.parse import quote, urlencode

import pytest

from models.orders import Order
from models.shipping import Shipment
from rest_facade.legacy.resource import Resource
from tests.legacy.entities import LISTED as RESOURCES
from tests.legacy.entities import record_of, resource_of, rows_in, supports
from tests.shop import NO_NUMBER, NOBODY, Shop

IDS = [resource.path for resource in RESOURCES]
FILTERED = [
    (resource, field)
    for resource in RESOURCES
    for field in (*resource.fields, *resource.detail_fields)
    if field.filter_name
]
FILTERED_FIELDS = [
    pytest.param(resource, field, id=f"{resource.path}-{field.name}") for resource, field in FILTERED
]
FIELDS_OF_MANY = [
    pytest.param(resource, field, id=f"{resource.path}-{field.name}")
    for resource, field in FILTERED
    if field.value_type.multiple
]


async def all_records(shop: Shop, resource: Resource) -> dict[str, dict[str, Any]]:
    """Return every record by its id, as a single record where the entity has that route."""
    records = {}
    for row in rows_in(resource, (await shop.get(f"/api/{resource.path}?items_per_page=250")).body):
        number = row[resource.key]
        has_single = supports(resource, "show")
        records[number] = (await shop.get(f"/api/{resource.path}/{number}")).body if has_single else row
    return records


async def list_ids(shop: Shop, path: str, **kwargs: Any) -> list[str]:
    answer = await shop.get(f"/api/{path}", **kwargs)
    assert answer.status == 200, answer.raw
    resource = resource_of(path.partition("?")[0].rpartition("/")[2])
    return [row[resource.key] for row in rows_in(resource, answer.body)]


def id_of(row: dict[str, Any], resource: Resource) -> int:
    """Return the number of a record; languages are keyed by their code and have a separate number."""
    return int(row.get("lang_id", row[resource.key]))


def has_value(value: Any, expected: str) -> bool:
    return expected in value if isinstance(value, list) else str(value) == expected


async def prepare(shop: Shop) -> None:
    """Set some fields to values that differ between records."""
    await shop.put(f"/api/users/{shop.caio}", {"phone": "81999990000", "CNPJ": "11222333000181"})
    await shop.put(f"/api/users/{shop.bia}", {"company": "Padaria"})
    await shop.execute("update users set points = 3 where id = $1", shop.bia.number)
    await shop.put(f"/api/products/{shop.plate}", {"min_qty": 2, "max_qty": 9, "free_shipping": "Y"})
    await shop.put(f"/api/categories/{shop.hidden}", {"description": "d", "company_id": shop.rival.number})
    address = {
        f"{prefix}_{name}": f"{prefix} {name}"
        for prefix in "bs"
        for name in ("address", "address_2", "city", "phone")
    }
    await shop.put(
        f"/api/orders/{shop.shared_order}",
        {"notes": "n", "details": "d", "ip_address": "203.0.113.9", "phone": "81", "user_data": address},
    )
    await shop.add(Shipment, order_id=shop.order.number)
    set_amounts = "update orders set discount_cents = 100, tax_cents = 250 where id = $1"
    await shop.execute(set_amounts, shop.order.number)


@pytest.fixture(scope="module")
async def shared_store(new_shop) -> Shop:
    """Return a store that the read-only tests of this module share."""
    shop = await new_shop()
    await prepare(shop)
    return shop


@pytest.mark.parametrize("resource, field", FILTERED_FIELDS)
async def test_every_field_filters_by_equal_value(shared_store, resource: Resource, field):
    records = await all_records(shared_store, resource)
    values = {
        value
        for record in records.values()
        for value in (record[field.name] if isinstance(record[field.name], list) else [record[field.name]])
    }
    # Some values are numbers; a query contains only text.
    for value in sorted(map(str, values - {""})):
        expected = {number for number, record in records.items() if has_value(record[field.name], value)}
        answer = await shared_store.get(
            f"/api/{resource.path}?{field.name}={quote(value)}&items_per_page=250"
        )
        assert answer.status == 200, answer.raw
        assert set(answer.body[resource.path]) == expected, (field.name, value)
        assert answer.body["search"] == {field.name: value}
        assert answer.body["params"]["total_items"] == len(expected)
        assert answer.body["params"][field.name] == value


@pytest.mark.parametrize("resource, field", FIELDS_OF_MANY)
async def test_several_values_in_brackets_match_any(shared_store, resource: Resource, field):
    records = await all_records(shared_store, resource)
    existing = {
        value
        for record in records.values()
        for value in (record[field.name] if isinstance(record[field.name], list) else [record[field.name]])
    }
    values = [*sorted(map(str, existing - {""}))[:2], "zz"]
    query = urlencode([(f"{field.name}[]", value) for value in values])
    expected = {
        number
        for number, record in records.items()
        if any(has_value(record[field.name], value) for value in values)
    }
    answer = await shared_store.get(f"/api/{resource.path}?{query}&items_per_page=250")
    assert set(answer.body[resource.path]) == expected
    assert answer.body["search"] == {field.name: values if len(values) > 1 else values[0]}


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


@pytest.mark.parametrize("resource, field", FILTERED_FIELDS)
async def test_an_impossible_value_matches_nothing(shared_store, resource: Resource, field):
    for value in IMPOSSIBLE_VALUES:
        answer = await shared_store.get(f"/api/{resource.path}?{field.name}={quote(value, safe='%')}")
        if "%00" in value:
            assert answer.status == 400
            continue
        assert answer.status == 200, (value, answer.raw)
        assert answer.body["params"]["page"] == 1
        if value not in ("true", "-1"):
            assert answer.body[resource.path] == {}, value
            assert answer.body["params"]["total_items"] == 0
            assert answer.body["search"] == {field.name: value}


@pytest.mark.parametrize("resource, field", FILTERED_FIELDS)
async def test_an_empty_value_is_no_filter(shared_store, resource: Resource, field):
    unfiltered = await shared_store.get(f"/api/{resource.path}")
    assert (await shared_store.get(f"/api/{resource.path}?{field.name}=")).body == unfiltered.body
    assert (await shared_store.get(f"/api/{resource.path}?{field.name}[]=")).body == unfiltered.body


@pytest.mark.parametrize("resource, field", FILTERED_FIELDS)
async def test_nested_values_match_nothing(shared_store, resource: Resource, field):
    answer = await shared_store.get(f"/api/{resource.path}?{field.name}[a][b]=1")
    assert (answer.status, answer.body[resource.path]) == (200, {})


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
async def test_in_the_cscart_form_a_filtered_list_has_the_same_shape(new_shop, resource: Resource):
    shop = await new_shop(legacy_lists="cscart")
    form = dict if resource.always_keyed and resource.unwrapped else list

    async def listed(query: str) -> tuple[list[Any], Any]:
        body = (await shop.get(f"/api/{resource.path}?{query}")).body
        collection = body if resource.unwrapped else body[resource.name]
        assert isinstance(collection, form)
        assert resource.unwrapped or set(body) == {resource.name, "params"}
        return rows_in(resource, body), None if resource.unwrapped else body["params"]

    rows, _ = await listed("items_per_page=250")
    number = str(record_of(shop, resource))
    assert number in [row[resource.key] for row in rows]
    filtered, params = await listed(f"{resource.key}={number}")
    assert filtered == [row for row in rows if row[resource.key] == number]
    assert params is None or params[resource.key] == number
    empty, _ = await listed(f"{resource.key}=x")
    assert empty == []


async def test_object_keys_follow_the_sort_order(shop):
    ascending = await list_ids(shop, "products?status[]=A&status[]=H&sort_by=price&sort_order=asc")
    assert ascending == [str(shop.ebook), str(shop.plate), str(shop.mug), str(shop.secret)]
    assert (
        await list_ids(shop, "products?status[]=A&status[]=H&sort_by=price&sort_order=desc")
        == ascending[::-1]
    )


async def test_search_echoes_codes_not_labels(shop):
    for query, search in (
        ("status=active", "A"),
        ("status=a", "A"),
        ("status[]=active&status[]=hidden", ["A", "H"]),
        ("status=Z", "Z"),
    ):
        answer = await shop.get(f"/api/products?{query}")
        assert answer.body["search"] == {"status": search}
        assert answer.body["params"]["status"] == search


async def test_filters_are_combined_with_and(shop):
    assert await list_ids(shop, f"products?status=A&company_id={shop.vendor}&is_edp=N") == [str(shop.mug)]
    assert await list_ids(shop, "products?product_code=CAN-1&pcode=PRA-1") == []
    assert await list_ids(shop, "products?product_code=CAN-1&pcode=CAN-1") == [str(shop.mug)]


@pytest.mark.parametrize(
    "query",
    [
        "colour=blue",
        "get_options=1&get_features=0&detailed_params=1&pname=Y&pshort=Y&pfull=Y&pkeywords=Y",
        "main_pair=x&product_features=x&image_pairs=x&usergroup_ids=x",
        "a[b][c]=d&=x&&&[]=1",
        "search=caneca",
        "params=x",
    ],
)
async def test_unknown_parameters_are_ignored(shop, query):
    unfiltered = await shop.get("/api/products")
    assert (await shop.get(f"/api/products?{query}")).body == unfiltered.body


async def test_the_last_of_a_repeated_parameter_wins(shop):
    assert await list_ids(shop, "products?status=A&status=H") == [str(shop.secret)]
    assert (await shop.get("/api/products?page=1&page=2")).body["params"]["page"] == 2


# --- Entity filters ----------------------------------------------------------------------------------------------------------


async def products(shop: Shop, query: str) -> Any:
    answer = await shop.get(f"/api/products?{query}&sort_by=product_id&sort_order=asc")
    assert answer.status == 200, answer.raw
    rows = answer.body["products"]
    return rows if isinstance(rows, dict) else [row["product_id"] for row in rows]


async def test_products_are_searched_by_name_description_and_code(shop):
    for words in ("caneca", "CANECA", "agata", "can-1", "esmaltada", "can", "caneca agata"):
        matches = await products(shop, f"q={quote(words)}")
        assert list(matches) == [str(shop.mug)], words
    assert await products(shop, "q=xyz") == {}
    assert await products(shop, "q=%21%21") == {}
    assert isinstance(await products(shop, "q="), list)


async def test_cscart_filter_names_keep_the_list_an_array(shop):
    mug, plate, ebook, secret = await products(shop, "")
    for query, expected in (
        ("pcode=CAN-1", [mug]),
        (f"cid={shop.home}", [mug, plate]),
        (f"cid={shop.home}&subcats=Y", [mug, plate]),
        ("price_from=25.00", [mug, plate, secret]),
        ("price_to=25", [plate, ebook]),
        ("price_from=25&price_to=50", [mug, plate]),
        ("amount_from=17", [mug, plate]),
        ("amount_to=17", [plate, ebook, secret]),
        ("price_from=x", []),
        ("amount_to=x", []),
        ("cid=abc", []),
        ("cid=0", []),
    ):
        assert await products(shop, query) == expected, query


async def test_a_category_filter_includes_subcategories_on_request(shop):
    await shop.put(f"/api/products/{shop.mug}", {"category_ids": [shop.kitchen.number]})
    assert set(await products(shop, f"category_id={shop.home}")) == {str(shop.plate)}
    assert set(await products(shop, f"category_id={shop.home}&subcats=Y")) == {str(shop.mug), str(shop.plate)}
    assert set(await products(shop, f"category_id={shop.home}&subcats=N")) == {str(shop.plate)}
    assert set(await products(shop, f"category_id[]={shop.home}&category_id[]={shop.kitchen}")) == {
        str(shop.mug),
        str(shop.plate),
    }
    assert set(await products(shop, f"category_id={shop.home.id}")) == {str(shop.plate)}
    assert await products(shop, f"category_id={NO_NUMBER}") == {}
    assert await products(shop, f"category_id={NOBODY}") == {}
    assert set(await products(shop, f"category_id={shop.home}&cid={shop.home}")) == {str(shop.plate)}
    assert await products(shop, f"category_id={shop.home}&cid={shop.kitchen}") == {}
    assert isinstance(await products(shop, "subcats=Y"), list)


async def test_users_and_categories_are_searched(shop):
    assert await list_ids(shop, "users?q=caio") == [str(shop.caio)]
    assert await list_ids(shop, "users?q=REIS") == [str(shop.caio)]
    assert await list_ids(shop, "users?q=caio%40example.com") == [str(shop.caio)]
    assert set(await list_ids(shop, "users?user_type=V&status=A")) == {
        str(shop.seller),
        str(shop.rival_seller),
    }
    assert await list_ids(shop, f"users?user_type=vendor&company_id={shop.rival}") == [str(shop.rival_seller)]
    assert await list_ids(shop, "categories?q=cozi") == [str(shop.kitchen)]
    assert await list_ids(shop, f"categories?parent_id={shop.home}") == [str(shop.kitchen)]
    assert await list_ids(shop, "categories?parent_id=0") == [str(shop.home), str(shop.hidden)]


async def test_orders_are_searched(shop):
    assert await list_ids(shop, "orders?q=guest%40example.com") == [str(shop.guest_order)]
    assert await list_ids(shop, f"orders?q={shop.order}") == [str(shop.order)]
    assert set(await list_ids(shop, "orders?q=caio")) == {str(shop.order)}
    assert await list_ids(shop, "orders?user_id=0") == [str(shop.guest_order)]
    assert await list_ids(shop, f"orders?company_id={shop.rival}") == []
    assert await list_ids(shop, "orders?company_id=0") == [str(shop.shared_order)]
    assert await list_ids(
        shop, f"orders?shipping_id={shop.sedex}&status=O&sort_order=asc&sort_by=order_id"
    ) == [
        str(shop.order),
        str(shop.shared_order),
    ]


@pytest.fixture
async def dated(shop: Shop) -> dict[str, str]:
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
        order = await shop.add(Order)
        await shop.execute(f"update orders set created_at = {sql} where id = $1", order.number)
        orders[name] = str(order)
    return orders


async def test_periods_filter_by_creation_time(shop, dated):
    now = {str(shop.order), str(shop.shared_order), str(shop.guest_order)}
    for query, expected in (
        ("period=today", now | {dated["today"]}),
        ("period=D", now | {dated["today"]}),
        ("period=this_month", now | {dated["today"]}),
        ("period=m", now | {dated["today"]}),
        ("period=last_month", {dated["last_month"]}),
        ("period=LM", {dated["last_month"]}),
        ("period=A", now | set(dated.values())),
        ("period=HH", None),
        ("period=nonsense", set()),
        ("period[a][b]=1", set()),
        ("period=custom&time_from=1588600000&time_to=1588655104", set()),
        ("period=custom&time_from=1588600000&time_to=1588655105", {dated["old"]}),
        ("period=C&time_to=1588655106", {dated["old"]}),
        ("time_from=1588655105&time_to=1588655105", {dated["old"]}),
        ("time_to=1600000000", {dated["old"]}),
        ("time_from=abc", set()),
        ("time_to=99999999999999", set()),
        ("time_from=", now | set(dated.values())),
    ):
        answer = await shop.get(f"/api/orders?{query}")
        assert answer.status == 200, (query, answer.raw)
        assert isinstance(answer.body["orders"], list), query
        assert "search" not in answer.body
        matches = {row["order_id"] for row in answer.body["orders"]}
        if expected is None:
            assert now <= matches
        else:
            assert matches == expected, query


async def test_a_period_is_combined_with_other_filters(shop, dated):
    answer = await shop.get("/api/orders?period=custom&time_to=1600000000&status=O")
    assert answer.body["orders"].keys() == {dated["old"]}
    assert answer.body["search"] == {"period": "custom", "time_to": "1600000000", "status": "O"}


# --- Pagination and sorting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query, page, size",
    [
        ("", 1, 10),
        ("page=2", 2, 10),
        ("page=0", 1, 10),
        ("page=-3", 1, 10),
        ("page=abc", 1, 10),
        ("page=1.5", 1, 10),
        ("page=", 1, 10),
        ("page[]=2", 1, 10),
        ("page=99999999999999999999", 1, 10),
        ("page=999999999999", 2147483647, 10),
        ("items_per_page=3", 1, 3),
        ("items_per_page=250", 1, 250),
        ("items_per_page=251", 1, 250),
        ("items_per_page=100000000000", 1, 250),
        ("items_per_page=0", 1, 10),
        ("items_per_page=-1", 1, 10),
        ("items_per_page=abc", 1, 10),
        ("items_per_page[]=3", 1, 10),
    ],
)
@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
async def test_page_and_page_size_have_defaults_and_bounds(
    shared_store, resource: Resource, query, page, size
):
    answer = await shared_store.get(f"/api/{resource.path}?{query}")
    params = answer.body["params"]
    assert (params["page"], params["items_per_page"]) == (page, size)
    total = params["total_items"]
    assert len(answer.body[resource.path]) == max(0, min(size, total - (page - 1) * size))


async def test_pages_have_no_gaps_or_duplicates(shop):
    for number in range(23):
        await shop.new_product(price_cents=100, name="Igual", slug=f"igual-{number}")
    seen: list[str] = []
    for page in range(1, 6):
        seen += await list_ids(shop, f"products?page={page}&items_per_page=6&sort_by=price&sort_order=asc")
    assert len(seen) == 27
    assert len(set(seen)) == 27
    twins = [number for number in seen if int(number) > shop.secret.number]
    assert twins == sorted(twins, key=int)  # the id breaks ties


@pytest.mark.parametrize(
    "resource, name, order",
    [
        pytest.param(resource, name, order, id=f"{resource.path}-{name}-{order}")
        for resource in RESOURCES
        for name in resource.sorts
        for order in ("asc", "desc", "DESC", "", "sideways")
    ],
)
async def test_every_sort_order_is_stable_and_echoed(shared_store, resource: Resource, name, order):
    answer = await shared_store.get(
        f"/api/{resource.path}?sort_by={name}&sort_order={order}&items_per_page=250"
    )
    params = answer.body["params"]
    applied = order.lower() if order.lower() in ("asc", "desc") else resource.default_order
    assert (params["sort_by"], params["sort_order"]) == (name, applied)
    rows = rows_in(resource, answer.body)
    if name in ("price", "amount", "total", "position", "timestamp", "product_id", "order_id", "user_id"):
        keys = [(float(row[name]), id_of(row, resource)) for row in rows]
        assert keys == sorted(keys, reverse=applied == "desc")
    if name in ("status", "email"):
        keys = [(row[name], id_of(row, resource)) for row in rows]
        assert keys == sorted(keys, reverse=applied == "desc")
    other = "asc" if applied == "desc" else "desc"
    opposite = await shared_store.get(
        f"/api/{resource.path}?sort_by={name}&sort_order={other}&items_per_page=250"
    )
    assert rows_in(resource, opposite.body) == rows[::-1]


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


async def test_nested_lists_stay_arrays(shop):
    for path, collection in (
        (f"categories/{shop.home}/products?status=A", "products"),
        (f"products/{shop.mug}/discussions?status=A", "discussions"),
        (f"products/{shop.mug}/features?feature_id=1", "features"),
    ):
        answer = await shop.get(f"/api/{path}")
        assert isinstance(answer.body[collection], list)
        assert set(answer.body) == {collection, "params"}
    empty = await shop.get(f"/api/categories/{shop.home}/products?status=Z")
    assert (empty.status, empty.body["products"]) == (200, [])
