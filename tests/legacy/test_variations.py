"""Check variation groups and product variations (docs/reference/legacy.md#variation-groups)."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.harness.records import UNKNOWN_NUMBER
from tests.harness.sample_store import NewSampleStore, SampleStore

WRONG_COMBINATIONS: list[Any] = [[], [{}], "x", [{"x": 1}], {}]
GROUPS, VARIATIONS = "product_variations_groups", "product_variations"


@dataclass
class Shirts:
    """A store with shirts in two colours and two sizes, and the numbers of what they are made of."""

    sample: SampleStore
    color: int
    size: int
    red: int
    blue: int
    small: int
    large: int
    products: list[int]

    async def call(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        answer = await self.sample.request(method, f"/api/{path}", body)
        assert answer.status == status, answer.raw
        return answer.body

    async def shirt(self, color: int, size: int) -> int:
        features = {str(self.color): color, str(self.size): size}
        body = {"product": "Shirt", "price": "10", "product_features": features}
        return (await self.call("POST", "products", body, 201))["product_id"]


async def feature(sample: SampleStore, name: str, *variants: str) -> list[int]:
    answer = await sample.post("/api/features", {"description": name, "feature_type": "S", "variants": list(variants)})
    number = answer.body["feature_id"]
    record = (await sample.get(f"/api/features/{number}")).body
    return [int(number), *map(int, record["variants"])]


@pytest.fixture
async def shirts(new_sample: NewSampleStore) -> Shirts:
    sample = await new_sample(legacy_lists="cscart")
    color, red, blue = await feature(sample, "Color", "Red", "Blue")
    size, small, large = await feature(sample, "Size", "S", "L")
    made = Shirts(sample, color, size, red, blue, small, large, [])
    made.products = [await made.shirt(c, s) for c in (red, blue) for s in (small, large)]
    return made


async def grouped(shirts: Shirts, **body: Any) -> dict[str, Any]:
    features = [
        {"feature_id": shirts.color, "purpose": "group_catalog_item"},
        {"feature_id": shirts.size, "purpose": "group_variation_catalog_item"},
    ]
    sent = {"product_ids": shirts.products, "code": "SHIRTS", "features": features, **body}
    return await shirts.call("POST", GROUPS, sent, 201)


async def test_a_group_is_created_read_renamed_and_deleted(shirts: Shirts) -> None:
    answer = await grouped(shirts)
    group = answer["group"]
    assert answer["products_status"] == {str(product): 1 for product in shirts.products}
    assert group["features"] == [
        {
            "feature_id": shirts.color,
            "purpose": "group_catalog_item",
            "is_purpose_create_catalog_item": True,
            "is_purpose_create_variation_of_catalog_item": False,
        },
        {
            "feature_id": shirts.size,
            "purpose": "group_variation_catalog_item",
            "is_purpose_create_catalog_item": False,
            "is_purpose_create_variation_of_catalog_item": True,
        },
    ]
    first, second, third, fourth = shirts.products
    parents = {product["product_id"]: product["parent_product_id"] for product in group["products"]}
    assert parents == {first: 0, second: first, third: 0, fourth: third}
    assert group["products"][0]["feature_values"] == [
        {"feature_id": shirts.color, "variant_id": str(shirts.red)},
        {"feature_id": shirts.size, "variant_id": str(shirts.small)},
    ]
    assert isinstance(group["created_at"], int)
    for query in ("", "?items_per_page=0"):
        listed = await shirts.call("GET", f"{GROUPS}{query}")
        assert (listed["groups"][1:], listed["params"]["total_items"]) == ([group], 2), query
    for reference in (group["id"], "SHIRTS"):
        assert await shirts.call("GET", f"{GROUPS}/{reference}") == group, reference
    renamed = await shirts.call("PUT", f"{GROUPS}/SHIRTS", {"code": "TEES"})
    assert (renamed["group"]["code"], renamed["products_status"]) == ("TEES", {})
    await shirts.call("GET", f"{GROUPS}/SHIRTS", status=404)
    await shirts.call("DELETE", f"{GROUPS}/TEES", {}, 204)
    await shirts.call("GET", f"{GROUPS}/{group['id']}", status=404)
    assert (await shirts.call("GET", f"products/{second}"))["parent_product_id"] == "0"


async def test_the_products_show_their_group(shirts: Shirts) -> None:
    group = (await grouped(shirts))["group"]
    first, second = shirts.products[:2]
    record = await shirts.call("GET", f"products/{second}")
    assert (record["variation_group_id"], record["variation_group_code"], record["parent_product_id"]) == (
        str(group["id"]),
        "SHIRTS",
        str(first),
    )

    async def numbers(path: str) -> set[str]:
        return {row["product_id"] for row in (await shirts.call("GET", path))["products"]}

    everyone = {str(product) for product in shirts.products}
    for path in (
        f"{VARIATIONS}?items_per_page=50",
        f"{VARIATIONS}?variation_group_id={group['id']}",
        f"products?variation_group_id={group['id']}",
        "products?variation_group_code=SHIRTS",
        "products?has_variation_group=1",
        f"{GROUPS}/{group['id']}/{VARIATIONS}",
        f"{GROUPS}/SHIRTS/{VARIATIONS}?items_per_page=0",
    ):
        assert await numbers(path) == everyone, path
    assert await numbers(f"products?parent_product_id={first}") == {str(second)}
    assert await numbers("products?product_type=V") == {str(shirts.products[1]), str(shirts.products[3])}
    assert await shirts.call("GET", f"{VARIATIONS}/{second}") == record
    assert await shirts.call("GET", f"{GROUPS}/SHIRTS/{VARIATIONS}/{second}") == record
    await shirts.call("GET", f"{GROUPS}/SHIRTS/{VARIATIONS}/{shirts.sample.mug.number}", status=404)
    listed = await shirts.call("GET", f"{GROUPS}?product_ids[]={second}&feature_ids={shirts.color}")
    assert [row["id"] for row in listed["groups"]] == [group["id"]]
    assert (await shirts.call("GET", f"{GROUPS}?product_ids={shirts.sample.mug.number}"))["groups"] == []


async def test_products_join_and_leave(shirts: Shirts) -> None:
    group = (await grouped(shirts, product_ids=shirts.products[:3]))["group"]["id"]
    last = shirts.products[3]
    assert await shirts.call("PUT", f"{VARIATIONS}/{last}", {"variation_group_id": group}) == {"product_id": last}
    assert (await shirts.call("GET", f"products/{last}"))["variation_group_id"] == str(group)
    assert await shirts.call("POST", f"{VARIATIONS}/{last}/detach_product_variation", {}, 201) == {"product_id": last}
    assert (await shirts.call("GET", f"products/{last}"))["variation_group_id"] == "0"
    twice = await shirts.sample.post(f"/api/{VARIATIONS}/{last}/detach_product_variation", {})
    assert twice.status == 422
    await shirts.call("DELETE", f"{VARIATIONS}/{last}", status=204)
    body = {
        "product": "Shirt",
        "price": 15,
        "product_features": {str(shirts.color): shirts.blue, str(shirts.size): shirts.large},
    }
    created = (await shirts.call("POST", f"{GROUPS}/SHIRTS/{VARIATIONS}", body, 201))["product_id"]
    assert (await shirts.call("GET", f"products/{created}"))["variation_group_id"] == str(group)
    same = await shirts.sample.post(f"/api/{GROUPS}/SHIRTS/{VARIATIONS}", body)
    assert (same.status, same.body["message"]) == (
        400,
        "variation_group_id has a product with the same variants",
    )
    mug = await shirts.sample.put(f"/api/products/{shirts.sample.mug}", {"variation_group_id": group})
    assert mug.status == 400
    unknown = await shirts.sample.put(f"/api/products/{created}", {"variation_group_id": UNKNOWN_NUMBER})
    assert unknown.status == 400


async def test_a_product_that_would_not_fit_into_its_group_any_more_is_refused(shirts: Shirts) -> None:
    await grouped(shirts)
    path, size = f"products/{shirts.products[0]}", str(shirts.size)
    before = await shirts.call("GET", path)
    vendor = await shirts.call("POST", "stores", {"company": "Outra", "email": "outra@example.com"}, 201)
    same = "variation_group_id has a product with the same variants"
    none = "variation_group_id has a feature of which the product has no variant"
    for method, address, body, message in (
        ("PUT", path, {"product_features": {size: shirts.large}}, same),
        ("PUT", f"{path}/features/{size}", {"value": shirts.large}, same),
        ("PUT", path, {"product_features": {size: ""}}, none),
        ("DELETE", f"{path}/features/{size}", None, none),
        ("PUT", path, {"company_id": vendor["store_id"]}, "variation_group_id has products of another vendor"),
    ):
        refused = await shirts.call(method, address, body, 400)
        assert refused["message"] == message, body
    assert await shirts.call("GET", path) == before
    await shirts.call("PUT", path, {"product_features": {size: shirts.large}, "variation_group_id": 0})
    assert (await shirts.call("GET", path))["variation_group_id"] == "0"


async def test_a_default_is_set_and_shares_the_common_fields(shirts: Shirts) -> None:
    await grouped(shirts)
    first, second = shirts.products[:2]
    await shirts.call("POST", f"{VARIATIONS}/{second}/set_default_product_variation", {}, 201)
    assert (await shirts.call("GET", f"products/{first}"))["parent_product_id"] == str(second)
    await shirts.call("PUT", f"products/{second}", {"full_description": "Cotton", "price": "99"})
    child = await shirts.call("GET", f"products/{first}")
    assert (child["full_description"], child["price"]) == ("Cotton", "10.00")
    other = await shirts.call("GET", f"products/{shirts.products[2]}")
    assert other["full_description"] == ""


async def test_an_update_in_another_language_leaves_the_texts(shirts: Shirts) -> None:
    group = (await grouped(shirts))["group"]["id"]
    product = shirts.products[0]
    for path in (f"{VARIATIONS}/{product}", f"{GROUPS}/{group}/{VARIATIONS}/{product}"):
        before = await shirts.call("GET", path)
        answer = await shirts.sample.put(f"/api/{path}?sl=en", {"product": "Shirt in English", "weight": "0.200"})
        assert (answer.status, answer.headers["X-Ignored-Fields"]) == (200, "product"), path
        after = await shirts.call("GET", path)
        assert (after["product"], after["weight"]) == (before["product"], "0.200"), path
        # The record as it is now but for one field: `updated_timestamp` of an older one is a value that isn't stored.
        answer = await shirts.sample.put(f"/api/{path}", {**after, "weight": before["weight"]})
        assert (answer.status, "X-Ignored-Fields" in answer.headers) == (200, False), path
        assert (await shirts.call("GET", path))["weight"] == before["weight"]


async def test_variations_are_generated(shirts: Shirts) -> None:
    source = shirts.products[0]
    for product in shirts.products[1:]:
        await shirts.call("DELETE", f"products/{product}", status=204)
    combinations = [
        {str(shirts.color): shirts.blue, str(shirts.size): shirts.small},
        {str(shirts.color): shirts.blue, str(shirts.size): shirts.large},
    ]
    path = f"{VARIATIONS}/{source}/generate_product_variations"
    answer = await shirts.call("POST", path, {"combinations": combinations}, 201)
    assert list(answer["products_status"].values()) == [1, 1, 1]
    assert len(answer["group"]["products"]) == 3
    made = max(answer["products_status"], key=int)
    record = await shirts.call("GET", f"products/{made}")
    assert (record["product"], record["price"], record["amount"]) == ("Shirt", "10.00", "0")
    count = len((await shirts.call("GET", "products?items_per_page=0"))["products"])
    again = await shirts.call("POST", path, {"combinations": [*combinations, *combinations]}, 201)
    assert again["products_status"] == dict.fromkeys(sorted(answer["products_status"], key=int)[1:], 0)
    assert again["group"]["products"] == answer["group"]["products"]
    half = await shirts.sample.post(f"/api/{path}", {"combinations": [{str(shirts.color): shirts.blue}]})
    expected = "combinations: each needs a variant of every feature of the group"
    assert (half.status, half.body["message"]) == (400, expected)
    assert len((await shirts.call("GET", "products?items_per_page=0"))["products"]) == count
    for wrong in WRONG_COMBINATIONS:
        refused = await shirts.sample.post(f"/api/{path}", {"combinations": wrong})
        assert refused.status == 400, (wrong, refused.raw)


@pytest.mark.parametrize(
    "body, message",
    [
        ({"product_ids": []}, "product_ids is required"),
        ({"product_ids": [UNKNOWN_NUMBER]}, f"product '{UNKNOWN_NUMBER}' not found"),
        ({"code": "12"}, "code is '12'; expected 1 to 64 letters, digits, '.', '_' and '-', and not digits alone"),
        ({"features": [{"feature_id": UNKNOWN_NUMBER}]}, f"feature '{UNKNOWN_NUMBER}' not found"),
        (
            {"features": [{"purpose": "x"}]},
            "features holds {'purpose': 'x'}; expected objects such as {feature_id, purpose}",
        ),
    ],
)
async def test_a_wrong_group_is_refused(body: dict[str, Any], message: str, shirts: Shirts) -> None:
    answer = await shirts.sample.post(f"/api/{GROUPS}", {"product_ids": shirts.products, "code": "X", **body})
    assert (answer.status, answer.body["message"]) == (400, message)


async def test_a_code_is_unique_and_features_may_be_derived(shirts: Shirts) -> None:
    group = (await grouped(shirts, features=None))["group"]
    assert [entry["feature_id"] for entry in group["features"]] == [shirts.color, shirts.size]
    again = await shirts.sample.post(f"/api/{GROUPS}", {"product_ids": shirts.products, "code": "SHIRTS"})
    assert (again.status, again.body["message"]) == (400, "code is 'SHIRTS', which another variation group has")
    moved = await shirts.call("POST", GROUPS, {"product_ids": shirts.products, "code": "OTHER"}, 201)
    assert len(moved["group"]["products"]) == 4
    assert (await shirts.call("GET", f"{GROUPS}/SHIRTS"))["products"] == []
    for code in ("", None):
        assert (await shirts.call("PUT", f"{GROUPS}/OTHER", {"code": code}))["group"]["code"] == "OTHER", code


async def test_graphql_shows_the_group_of_a_product(shirts: Shirts) -> None:
    await grouped(shirts)
    document = """{ product_page(filter: {search: "Shirt"}) { items {
        variation_group { code features { purpose feature { name } } products { name } } } } }"""
    answer = await shirts.sample.post("/graphql", {"query": document}, auth="bearer")
    group = answer.body["data"]["product_page"]["items"][0]["variation_group"]
    assert group["code"] == "SHIRTS"
    assert [entry["feature"]["name"] for entry in group["features"]] == ["Color", "Size"]
    assert [product["name"] for product in group["products"]] == ["Shirt"] * 4


async def test_the_privileges_of_products_are_needed(shirts: Shirts) -> None:
    viewer = await shirts.sample.add_user("view_products")
    outsider = await shirts.sample.add_user("manage_orders")
    assert (await shirts.sample.get(f"/api/{GROUPS}", by=viewer)).status == 200
    for path in (GROUPS, VARIATIONS, f"{VARIATIONS}/{shirts.products[0]}/detach_product_variation"):
        for person in (viewer, outsider):
            answer = await shirts.sample.request("POST", f"/api/{path}", {}, by=person)
            assert (answer.status, answer.body["message"]) == (403, "Forbidden: privilege manage_products required"), (
                path
            )
    refused = await shirts.sample.get(f"/api/{GROUPS}", by=outsider)
    assert (refused.status, refused.body["message"]) == (403, "Forbidden: privilege view_products required")


async def test_a_group_takes_as_many_statements_for_four_products_as_for_two(shirts: Shirts) -> None:
    statements = []
    for products in (shirts.products[:2], shirts.products):
        body = {"product_ids": products, "features": [{"feature_id": shirts.color}, {"feature_id": shirts.size}]}
        answer = await shirts.sample.post(f"/api/{GROUPS}", body)
        assert answer.status == 201, (products, answer.raw)
        statements.append(answer.statements)
        await shirts.call("DELETE", f"{GROUPS}/{answer.body['group']['id']}", status=204)
    assert statements[0] == statements[1]


async def test_what_a_group_needs_of_a_feature_stays(shirts: Shirts) -> None:
    await grouped(shirts, product_ids=shirts.products[:3])
    path = f"features/{shirts.color}"
    keep_red: dict[str, Any] = {"variants": {str(shirts.red): {}}}
    await shirts.call("PUT", path, keep_red, 422)
    refused = await shirts.call("DELETE", path, status=422)
    assert refused["message"] == "variation groups have the feature"
    last = shirts.products[3]
    for product in shirts.products[2:]:
        await shirts.call("PUT", f"products/{product}", {"product_features": {str(shirts.color): shirts.blue}})
    added = await shirts.call("PUT", f"{GROUPS}/SHIRTS", {"product_ids": [last]})
    assert added["products_status"] == {str(last): 1}
    for product in shirts.products[2:]:
        await shirts.call("DELETE", f"products/{product}", status=204)
    await shirts.call("PUT", path, keep_red)
    await shirts.sample.execute("delete from feature_values")
    await shirts.call("PUT", path, {"feature_type": "T"}, 422)
    await shirts.call("DELETE", f"{GROUPS}/SHIRTS", {}, 204)
    await shirts.call("DELETE", path, status=204)


async def test_graphql_names_the_reason_for_which_a_feature_stays(shirts: Shirts) -> None:
    await grouped(shirts)
    page = await shirts.sample.post("/graphql", {"query": "{ feature_page { items { id name } } }"}, auth="bearer")
    ids = {feature["name"]: feature["id"] for feature in page.body["data"]["feature_page"]["items"]}
    query = f'mutation {{ feature_delete(id: "{ids["Color"]}") {{ id }} }}'
    answer = await shirts.sample.post("/graphql", {"query": query}, auth="bearer")
    assert answer.body["errors"][0]["extensions"]["details"] == {"reason": "feature_in_use"}


async def test_products_of_a_group_show_in_which_features_they_differ(shirts: Shirts) -> None:
    group = (await grouped(shirts))["group"]["id"]
    for path in (
        f"{GROUPS}/{group}/{VARIATIONS}",
        f"{GROUPS}/{group}/{VARIATIONS}?items_per_page=0",
        VARIATIONS,
        "products",
    ):
        rows = {row["product_id"]: row for row in (await shirts.call("GET", path))["products"]}
        kinds = [rows[str(number)]["product_type"] for number in shirts.products]
        assert kinds == ["P", "V", "P", "V"], path
        features = rows[str(shirts.products[3])]["variation_features"]
        assert {number: feature["variant"] for number, feature in features.items()} == {
            str(shirts.color): "Blue",
            str(shirts.size): "L",
        }, path
    single = await shirts.call("GET", f"{GROUPS}/{group}/{VARIATIONS}/{shirts.products[1]}")
    assert single["variation_features"][str(shirts.size)]["internal_name"] == "Size"
    assert single["product_features"] == single["variation_features"]


UPSERT = """mutation($rows: [ProductUpsertInput!]!, $policy: ErrorPolicy!) {
    product_bulk_upsert(rows: $rows, error_policy: $policy) { index id created error { message fields { field code } } } }"""
MISFIT = [{"field": "variation_group_id", "code": "variation_invalid"}]


async def test_each_row_of_a_bulk_upsert_that_does_not_fit_into_its_variation_group_has_the_error(
    shirts: Shirts,
) -> None:
    sample = shirts.sample
    _, red_large, blue_small, blue_large = shirts.products
    await grouped(shirts, product_ids=shirts.products[:3])

    async def public_id(table: str, number: int) -> str:
        return str(await sample.value(f"select public_id from {table} where id = {number}"))

    group = str(await sample.value("select public_id from variation_groups where code = 'SHIRTS'"))
    color, size = await public_id("features", shirts.color), await public_id("features", shirts.size)
    vendor = str(
        await sample.value(
            f"select v.public_id from vendors v join products p on p.vendor_id = v.id where p.id = {red_large}"
        )
    )

    def shirt(color_name: str, size_name: str, **members: Any) -> dict[str, Any]:
        features = [{"feature_id": color, "value": color_name}, {"feature_id": size, "value": size_name}]
        made = {"name": "Shirt", "price_cents": 1_000, "vendor_id": vendor, "variation_group_id": group}
        return {**made, "features": features, **members}

    rows = [
        {"id": await public_id("products", red_large), "price_cents": 777},
        shirt("Red", "S"),  # as the first of the group
        shirt("Green", "S", slug="green"),
        shirt("Green", "S"),  # as the row before
        shirt("Green", "L", features=[]),
        shirt("Green", "L", variation_group_id="018f0000-0000-7000-8000-000000000000"),
        shirt("Red", "L", id=await public_id("products", blue_small)),  # as the second of the group
        {"id": await public_id("products", blue_large), "variation_group_id": group},
    ]
    same = "variation_group has a product with the same variants"
    reasons = {
        1: (same, MISFIT),
        3: (same, MISFIT),
        4: ("variation_group has a feature of which the product has no variant", MISFIT),
        5: ("variation group '018f0000-0000-7000-8000-000000000000' not found", [{"field": "variation_group_id", "code": "not_found"}]),
        6: (same, MISFIT),
    }  # fmt: skip

    async def upsert(sent: list[dict[str, Any]], policy: str) -> list[dict[str, Any]]:
        body = {"query": UPSERT, "variables": {"rows": sent, "policy": policy}}
        answer = await sample.post("/graphql", body, auth="bearer")
        results: list[dict[str, Any]] = answer.body["data"]["product_bulk_upsert"]
        assert [row["index"] for row in results] == list(range(len(sent)))
        return results

    def errors(results: list[dict[str, Any]]) -> dict[int, Any]:
        return {row["index"]: (row["error"]["message"], row["error"]["fields"]) for row in results if row["error"]}

    refused = await upsert(rows[:5], "REJECT_ALL")
    assert [row["id"] for row in refused] == [None] * 5
    assert errors(refused) == {index: reason for index, reason in reasons.items() if index < 5}
    mixed = await upsert(rows, "REJECT_FAILED")
    assert [row["index"] for row in mixed if row["id"]] == [0, 2, 7]
    assert [row["index"] for row in mixed if row["created"]] == [2]
    assert errors(mixed) == reasons
    in_group = "select count(*) from variation_group_products m join variation_groups g on g.id = m.group_id and g.tenant_id = m.tenant_id"
    assert await sample.value(f"{in_group} where g.code = 'SHIRTS'") == 5
    assert await sample.value(f"select price_cents from products where id = {red_large}") == 777
    assert await sample.value(f"select slug from products where id > {blue_large}") == "green"
