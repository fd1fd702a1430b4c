"""Check the shapes of records and answers in the dialect `cscart` (docs/reference/legacy.md#dialects)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rest_facade.legacy.version import CSCART_VERSION
from tests.harness.sample_store import NewSampleStore, SampleStore

pytestmark = pytest.mark.combination


@pytest.fixture(scope="module")
async def cscart(new_sample: NewSampleStore) -> SampleStore:
    """Return a store in the `cscart` dialect that the tests of this module share."""
    sample = await new_sample(combination=True)
    answer = await sample.put("/api/settings/legacy_dialect", {"value": "cscart"})
    assert answer.status == 200, answer.raw
    return sample


async def created(sample: SampleStore, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await sample.post(f"/api/{path}", body)
    assert answer.status == 201, answer.raw
    return answer.body


@pytest.mark.parametrize("dialect", ["contract", "cscart"])
async def test_a_product_without_an_image_has_no_main_pair(
    dialect: str, sample: SampleStore, cscart: SampleStore
) -> None:
    store = cscart if dialect == "cscart" else sample
    number = (await created(store, "products", {"product": "Bule", "price": "10"}))["product_id"]
    single = (await store.get(f"/api/products/{number}")).body
    listed = [
        row
        for size in (("250", "0") if dialect == "cscart" else ("250",))
        for row in (await store.get(f"/api/products?items_per_page={size}")).body["products"]
        if row["product_id"] == str(number)
    ]
    if dialect == "contract":
        assert [record["main_pair"] for record in (single, *listed)] == [{}, {}]
        return
    assert len(listed) == 2
    assert all("main_pair" not in record for record in (single, *listed))
    image = {"main_pair": {"detailed": {"image_path": "https://example.com/bule.jpg"}}}
    assert (await store.put(f"/api/products/{number}", image)).status == 200
    shown = (await store.get(f"/api/products/{number}")).body["main_pair"]["detailed"]["image_path"]
    assert shown == "https://example.com/bule.jpg"


async def test_a_line_of_a_group_without_an_image_has_no_main_pair(cscart: SampleStore, sample: SampleStore) -> None:
    async def images(store: SampleStore) -> list[Any]:
        bare = (await created(store, "products", {"product": "Bule", "price": "10", "amount": 9}))["product_id"]
        lines = [{"product_id": product, "amount": 1} for product in (bare, store.mug.number)]
        body = {"user_id": store.caio.number, "shipping_id": store.sedex.number, "products": lines}
        number = (await created(store, "orders", body))["order_id"]
        groups = (await store.get(f"/api/orders/{number}")).body["product_groups"]
        shown = [line.get("main_pair") for group in groups for line in group["products"].values()]
        return [image and "image" for image in shown]

    assert sorted(map(str, await images(sample))) == ["image", "{}"]
    assert sorted(map(str, await images(cscart))) == ["None", "image"]


async def test_the_hash_of_a_combination_is_a_number(cscart: SampleStore) -> None:
    product, option, variant = cscart.mug.number, cscart.print, cscart.dotted
    body = {"product_id": product, "combination": {str(option): variant.number}}
    combination = (await created(cscart, "combinations", body))["combination_hash"]
    assert isinstance(combination, int)
    path = f"/api/combinations/{combination}"
    record = (await cscart.get(path)).body
    number = str(combination)
    assert record["combination_hash"] == number
    listed = (await cscart.get(f"/api/combinations?product_id={product}")).body
    assert number in [row["combination_hash"] for row in listed]
    filtered = (await cscart.get(f"/api/combinations?combination_hash={combination}")).body
    assert [row["combination_hash"] for row in filtered] == [number]
    below = f"/api/products/{product}/options/combinations"
    assert number in [row["combination_hash"] for row in (await cscart.get(below)).body["combinations"]]
    assert (await cscart.get(f"{below}/{combination}")).body["combination_hash"] == number
    changed = await cscart.put(path, {**record, "amount": 7})
    assert (changed.status, changed.body["combination_hash"]) == (200, combination)
    assert (await cscart.get(path)).body["amount"] == "7"
    assert (await cscart.delete(f"{path}?product_id={product}")).status == 204


async def test_a_block_has_no_status(cscart: SampleStore, sample: SampleStore) -> None:
    assert "status" in (await sample.get(f"/api/blocks/{sample.block}")).body
    rows = (await cscart.get("/api/blocks")).body
    assert rows
    assert all("status" not in record for record in [*rows, (await cscart.get(f"/api/blocks/{cscart.block}")).body])


async def test_false_is_no_parent(cscart: SampleStore, sample: SampleStore) -> None:
    for path, name in (("categories", "category"), ("pages", "page")):
        parent = await created(cscart, path, {name: "A"})
        [(key, number)] = parent.items()
        child = (await created(cscart, path, {name: "B", "parent_id": number}))[key]
        assert (await cscart.put(f"/api/{path}/{child}", {"parent_id": False})).status == 200, path
        assert (await cscart.get(f"/api/{path}/{child}")).body["parent_id"] == "0", path
        assert (await sample.post(f"/api/{path}", {name: "C", "parent_id": False})).status == 400, path


async def test_the_status_of_a_call_request_is_a_word(cscart: SampleStore, sample: SampleStore) -> None:
    number = (await created(cscart, "call_requests", {"phone": "81999990000", "status": "in_progress"}))["request_id"]
    path = f"/api/call_requests/{number}"
    assert (await cscart.get(path)).body["status"] == "in_progress"
    for status in ("in_progress", "I"):
        answer = (await cscart.get(f"/api/call_requests?status={status}")).body
        assert [row["request_id"] for row in answer["call_requests"]] == [str(number)], status
        assert answer["params"]["status"] == status
    assert (await sample.get(f"/api/call_requests/{sample.call_request}")).body["status"] == "N"


@pytest.mark.parametrize("path", ["orders", "shipments"])
async def test_a_period_may_be_given_in_iso_dates(path: str, cscart: SampleStore, sample: SampleStore) -> None:
    today = datetime.now(UTC).date().isoformat()
    every = (await cscart.get(f"/api/{path}?items_per_page=250")).body["params"]["total_items"]

    async def total(query: str) -> int:
        answer = await cscart.get(f"/api/{path}?{query}")
        assert answer.status == 200, answer.raw
        return answer.body["params"]["total_items"]

    assert await total(f"time_from=2020-01-01&time_to={today}T23:59:59Z") == every
    assert await total(f"time_from=2020-01-01&time_to={today}") == every
    assert await total(f"period=C&time_from={today}T23:59:59-12:00") == 0
    assert (await cscart.get(f"/api/{path}?time_from=yesterday")).body["message"] == (
        "time_from is 'yesterday'; expected Unix seconds or ISO 8601"
    )
    assert (await sample.get(f"/api/{path}?time_from={today}")).status == 400


@pytest.mark.parametrize(
    "path",
    [
        "/api/Products",
        "/api/PRODUCTS/",
        "/api//products",
        "/api/products//",
        "/api/2.0//products//",
        "/api/v1.0/Products",
        "/api.php?_d=Products",
        "/api.php?_d=//2.0//products/",
    ],
)
async def test_entities_are_named_in_any_case_and_segments_may_be_empty(path: str, cscart: SampleStore) -> None:
    expected = await cscart.get("/api/products")
    answer = await cscart.get(path)
    assert (answer.status, answer.body) == (200, expected.body)


async def test_names_of_records_keep_their_case(cscart: SampleStore) -> None:
    await created(cscart, "langvars", {"name": "Products", "value": "x"})
    assert (await cscart.get("/api/Langvars/Products")).body["name"] == "Products"
    assert (await cscart.get("/api.php?_d=Langvars/Products")).body["name"] == "Products"
    product = f"/api/Products/{cscart.mug.number}/Features"
    assert (await cscart.get(product)).body == (await cscart.get(product.lower())).body
    assert (await cscart.get("/api/productboxes")).status == 200


@pytest.mark.parametrize(
    "path",
    ["/api//v1/admin/products", "/api/V1/admin/products", "/api/Nothing", "/api//", "/api/2.0/", "/apis//products"],
)
async def test_other_families_are_not_reached(path: str, cscart: SampleStore) -> None:
    assert (await cscart.get(path)).status == 404


async def test_a_wrong_method_is_refused_at_any_spelling(cscart: SampleStore) -> None:
    answer = await cscart.request("PATCH", "/api//Products")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD, POST")


async def test_the_version_is_that_of_cscart(cscart: SampleStore, sample: SampleStore) -> None:
    assert (await cscart.get("/api/2.0/version")).body == {"Version": CSCART_VERSION}
    for path in ("/api/?version=True", "/api?version"):
        answer = await cscart.get(path)
        brand, version, edition = answer.raw.decode().split()
        assert (answer.status, brand, version, edition) == (200, "Multi-Vendor", CSCART_VERSION, "MULTIVENDOR"), path
    assert (await sample.get("/api/version")).body == {"status": 404, "message": "Route not found"}
    assert (await cscart.anonymous.get("/api/version")).status == 401


# --- What typed programs read ------------------------------------------------------------------------------------------------------

TYPED_MEMBERS = {
    "product_type": "P",
    "has_options": True,
    "variation_features": [],
    "exceptions_type": "F",
    "options_type": "P",
    "details_layout": "",
    **dict.fromkeys(("length", "width", "height", "return_period", "age_limit"), "0"),
    **dict.fromkeys(("edp_shipping", "is_returnable", "is_pbp", "is_op", "is_oper", "age_verification"), "N"),
    "localization": "",
}
"""The members of a product that programs in Rust and Dart read, which fail without one; values are those of a product with options."""


@pytest.mark.parametrize(
    "path", ["products", "products?items_per_page=0", "products/{mug}", "categories/{home}/products"]
)
async def test_products_have_the_members_that_typed_programs_read(
    path: str, cscart: SampleStore, sample: SampleStore
) -> None:
    for store, expected in ((cscart, TYPED_MEMBERS), (sample, {})):
        body = (await store.get(f"/api/{path.format(mug=store.mug, home=store.home)}")).body
        rows = body.get("products", [body])
        records = list(rows.values()) if isinstance(rows, dict) else rows
        record = next(record for record in records if record["product_id"] == str(store.mug))
        assert {name: record[name] for name in TYPED_MEMBERS if name in record} == expected


async def test_only_products_with_options_say_so(cscart: SampleStore) -> None:
    number = (await created(cscart, "products", {"product": "Bule", "price": "10"}))["product_id"]
    assert (await cscart.get(f"/api/products/{number}")).body["has_options"] is False
    await created(cscart, "options", {"option_name": "Cor", "product_id": number, "variants": ["Azul"]})
    assert (await cscart.get(f"/api/products/{number}")).body["has_options"] is True


async def test_features_have_their_internal_name_prefix_suffix_and_group(
    cscart: SampleStore, sample: SampleStore
) -> None:
    added = {"internal_name": "Altura", "prefix": "ca.", "suffix": "cm", "value_int": "12"}
    for store, expected in ((cscart, added), (sample, {})):
        group = (await created(store, "features", {"description": "Medidas", "feature_type": "G"}))["feature_id"]
        body = {"description": "Altura", "feature_type": "O", "prefix": "ca.", "suffix": "cm", "parent_id": group}
        number = (await created(store, "features", body))["feature_id"]
        product = (
            await created(
                store, "products", {"product": "Bule", "price": "10", "product_features": {str(number): "12"}}
            )
        )["product_id"]
        value = (await store.get(f"/api/products/{product}")).body["product_features"][str(number)]
        names = (*added, "parent_id")
        assert {name: value[name] for name in names if name in value} == expected | (
            {"parent_id": str(group)} if expected else {}
        )
        feature = (await store.get(f"/api/features/{number}")).body
        assert feature.get("internal_name") == expected.get("internal_name")


async def test_products_are_sorted_by_popularity(cscart: SampleStore, sample: SampleStore) -> None:
    for store in (cscart, sample):
        await store.execute("update products set sales_rank = case when id = $1 then 7 else 0 end", store.plate.number)
        for name in ("popularity", "bestsellers", "sales_amount"):
            answer = await store.get(f"/api/products?sort_by={name}&sort_order=desc")
            if store is sample:
                assert answer.headers["X-Ignored-Parameters"] == "sort_by", name
                continue
            assert "X-Ignored-Parameters" not in answer.headers, name
            assert answer.body["params"]["sort_by"] == name
            assert answer.body["products"][0]["product_id"] == str(store.plate), name


async def test_lines_of_orders_say_what_is_to_be_shipped(cscart: SampleStore, sample: SampleStore) -> None:
    for store in (cscart, sample):
        await store.execute("update products set on_hand = 9 where id = $1", store.plate.number)
        body = {
            "user_id": store.caio.number,
            "shipping_id": store.sedex.number,
            "products": [{"product_id": store.plate.number, "amount": 3}],
        }
        path = f"/api/orders/{(await created(store, 'orders', body))['order_id']}"
        for shipped in (0, 2):
            if shipped:
                [line] = (await store.get(path)).body["products"].values()
                await created(store, "shipments", {"order_id": path[12:], "products": {line["item_id"]: shipped}})
            record = (await store.get(path)).body
            [line] = record["products"].values()
            amounts = {
                name: line[name] for name in ("shipped_amount", "shipment_amount", "original_price") if name in line
            }
            expected = {"shipped_amount": str(shipped), "shipment_amount": str(3 - shipped), "original_price": "25.00"}
            assert amounts == (expected if store is cscart else {}), shipped
            [listed] = [
                row
                for row in (await store.get("/api/orders?items_per_page=250")).body["orders"]
                if f"/api/orders/{row['order_id']}" == path
            ]
            assert [*listed["products"].values()] == [line], shipped
            if store is cscart:
                assert (await store.put(path, record)).status == 200
                assert (await store.get(path)).body == record, "a record sent back changes nothing"


@pytest.mark.parametrize(
    "path, name", [("features", "description"), ("payments", "payment"), ("shippings", "shipping")]
)
async def test_what_cs_cart_hides_is_disabled(path: str, name: str, cscart: SampleStore, sample: SampleStore) -> None:
    body = {name: "Oculto", "status": "H"}
    refused = await sample.post(f"/api/{path}", body)
    assert (refused.status, refused.body["message"]) == (400, "status is 'H'; expected one of A, D")
    number = str(next(iter((await created(cscart, path, body)).values())))
    assert (await cscart.get(f"/api/{path}/{number}")).body["status"] == "D"
    key = f"{path[:-1]}_id"
    assert number in [row[key] for row in (await cscart.get(f"/api/{path}?status=H&items_per_page=0")).body[path]]
    assert (await cscart.put(f"/api/{path}/{number}", {"status": "A"})).status == 200
    assert (await cscart.get(f"/api/{path}/{number}")).body["status"] == "A"
    wrong = await cscart.put(f"/api/{path}/{number}", {"status": "X"})
    assert (wrong.status, wrong.body["message"]) == (400, "status is 'X'; expected one of A, D")


async def test_a_new_feature_may_have_an_internal_name_alone(cscart: SampleStore, sample: SampleStore) -> None:
    body = {"internal_name": "Tecido", "feature_type": "S", "purpose": "find_products"}
    answer = await cscart.post("/api/features", body)
    assert "internal_name" not in answer.headers.get("X-Ignored-Fields", ""), answer.headers
    assert (await cscart.get(f"/api/features/{answer.body['feature_id']}")).body["description"] == "Tecido"
    both = (await created(cscart, "features", {**body, "description": "Material"}))["feature_id"]
    assert (await cscart.get(f"/api/features/{both}")).body["description"] == "Material"
    for store, refused in ((cscart, {"internal_name": ""}), (sample, body)):
        answer = await store.post("/api/features", refused)
        assert (answer.status, answer.body["message"]) == (400, "description is required"), refused
