"""Check combinations on both of their paths, and exceptions."""

from typing import Any

import pytest

from tests.shop import NO_NUMBER, NOBODY, Shop


def variant_ids(shop: Shop, *variants: str) -> dict[str, Any]:
    """Return `{option_id: variant_id}` of the mug's variants."""
    options = {"small": "size", "large": "size", "plain": "print", "dotted": "print"}
    return {str(getattr(shop, options[name])): getattr(shop, name).number for name in variants}


def product_path(shop: Shop) -> str:
    return f"/api/2.0/products/{shop.mug}/options/combinations"


async def test_a_combination_is_read_by_its_hash(shop):
    answer = await shop.get(f"/api/combinations/{shop.combination}")
    assert answer.body == {
        "combination_hash": f"{shop.size}_{shop.large}_{shop.print}_{shop.plain}",
        "combination_id": str(shop.combination.number),
        "product_id": str(shop.mug),
        "product_code": "CAN-1-G",
        "combination": {str(shop.size): str(shop.large), str(shop.print): str(shop.plain)},
        "amount": "3",
        "price": "2.00",
        "position": "0",
    }


async def test_a_combination_is_created_updated_and_deleted_by_its_hash(shop):
    body = {
        "product_id": shop.mug.number,
        "combination": variant_ids(shop, "plain", "small"),
        "amount": "7",
        "price": "-1.50",
    }
    created = await shop.post("/api/combinations", body | {"product_code": "CAN-1-P", "position": 2})
    hash_ = f"{shop.size}_{shop.small}_{shop.print}_{shop.plain}"
    assert created.status == 201, created.raw
    assert created.body["combination_hash"] == hash_
    changed = await shop.put(f"/api/combinations/{hash_}", {"amount": 9, "price": 0, "position": "1"})
    assert (changed.status, changed.body["combination_hash"]) == (200, hash_)
    record = (await shop.get(f"/api/combinations/{hash_}")).body
    assert (record["amount"], record["price"], record["position"]) == ("9", "0.00", "1")
    assert (await shop.delete(f"/api/combinations/{hash_}")).status == 204
    assert (await shop.get(f"/api/combinations/{hash_}")).status == 404
    assert (await shop.post("/api/combinations", body)).status == 201  # the hash can be reused


async def test_the_variants_of_a_combination_can_change(shop):
    answer = await shop.put(
        f"/api/combinations/{shop.combination}", {"combination": variant_ids(shop, "small")}
    )
    assert (answer.status, answer.body["combination_hash"]) == (200, f"{shop.size}_{shop.small}")
    record = (await shop.get(f"/api/combinations/{shop.size}_{shop.small}")).body
    assert record["combination"] == {str(shop.size): str(shop.small)}
    assert (await shop.get(f"/api/combinations/{shop.combination}")).status == 404


async def test_a_hash_shared_by_products_requires_product_id(shop):
    body = {"combination": variant_ids(shop, "dotted"), "amount": 1}
    hash_ = f"{shop.print}_{shop.dotted}"
    for product in (shop.mug, shop.plate):
        created = await shop.post("/api/combinations", body | {"product_id": product.number})
        assert created.status == 201, created.raw
    for method in ("GET", "PUT", "DELETE"):
        refused = await shop.call(method, f"/api/combinations/{hash_}", {} if method == "PUT" else None)
        assert refused.status == 400, refused.raw
        assert refused.body["message"].startswith("product_id is required")
    answer = await shop.get(f"/api/combinations/{hash_}?product_id={shop.plate}")
    assert answer.body["product_id"] == str(shop.plate)
    listed = (await shop.get(f"/api/combinations?combination_hash={hash_}")).body["combinations"]
    assert {row["product_id"] for row in listed.values()} == {str(shop.mug), str(shop.plate)}
    assert (await shop.put(f"/api/combinations/{hash_}?product_id={shop.plate}", {"amount": 5})).status == 200
    assert (await shop.delete(f"/api/combinations/{hash_}?product_id={shop.mug}")).status == 204
    assert (await shop.get(f"/api/combinations/{hash_}")).body["amount"] == "5"


@pytest.mark.parametrize("product", ["{plate}", str(NO_NUMBER), "x", NOBODY])
async def test_the_product_id_in_the_query_is_checked(shop, product):
    wrong = product.format(plate=shop.plate)
    answer = await shop.get(f"/api/combinations/{shop.combination}?product_id={wrong}")
    assert (answer.status, answer.body["message"]) == (404, "Combination not found")
    assert (await shop.get(f"/api/combinations/{shop.combination}?product_id={shop.mug.id}")).status == 200


async def invalid_bodies(shop: Shop) -> list[dict[str, Any]]:
    other = await shop.post(
        "/api/options", {"option_name": "Aro", "product_id": shop.plate.number, "variants": ["Ouro"]}
    )
    option = other.body["option_id"]
    [variant] = (await shop.get(f"/api/options/{option}")).body["variants"]
    return [
        {},
        {"combination": {}},
        {"combination": []},
        {"combination": "x"},
        {"combination": {str(shop.size): shop.plain.number}},  # a variant of another option
        {"combination": {str(shop.size): NO_NUMBER}},
        {"combination": {str(shop.size): None}},
        {"combination": {str(shop.engraving): 1}},  # without inventory
        {"combination": {option: variant}},  # an option of another product
        {"combination": {str(NO_NUMBER): 1}},
        {"combination": {"x": 1}},
        {"combination": variant_ids(shop, "large", "plain")},  # exists already
        {"combination": variant_ids(shop, "small"), "amount": -1},
        {"combination": variant_ids(shop, "small"), "amount": "x"},
        {"combination": variant_ids(shop, "small"), "price": "1.999"},
        {"combination": variant_ids(shop, "small"), "position": -1},
        {"combination": variant_ids(shop, "small"), "product_code": "CAN-1-G"},
    ]


async def test_invalid_bodies_are_rejected_on_both_paths(shop):
    before = await shop.value("select count(*) from combinations")
    for body in await invalid_bodies(shop):
        for path, payload in (
            ("/api/combinations", body | {"product_id": shop.mug.number}),
            (product_path(shop), body),
            (
                f"{product_path(shop)}/batch",
                {"combinations": [{"combination": variant_ids(shop, "dotted")}, body]},
            ),
        ):
            answer = await shop.post(path, payload)
            assert answer.status == 400, (path, payload, answer.raw)
            assert answer.body["status"] == 400
            if path.endswith("batch"):
                assert [error["index"] for error in answer.body["errors"]] == [1]
                assert set(answer.body["errors"][0]) == {"index", "field", "message"}
    assert await shop.value("select count(*) from combinations") == before


async def test_an_existing_product_is_required(shop):
    body = {"combination": variant_ids(shop, "small")}
    answer = await shop.post("/api/combinations", body)
    assert (answer.status, answer.body["message"]) == (400, "product_id is required")
    assert (await shop.post("/api/combinations", body | {"product_id": NO_NUMBER})).status == 400
    for product_id in (NO_NUMBER, "x", NOBODY, 0):
        path = f"/api/2.0/products/{product_id}/options/combinations"
        for method, payload in (("GET", None), ("POST", body)):
            answer = await shop.call(method, path, payload)
            assert (answer.status, answer.body["message"]) == (404, "Product not found"), answer.raw
        batch = await shop.post(f"{path}/batch", {"combinations": [body]})
        assert (batch.status, batch.body["message"]) == (404, "Product not found")


# --- Combinations of a product -----------------------------------------------------------------------------------------------


async def test_a_combination_of_a_product_has_an_integer_position(shop):
    created = await shop.post(
        product_path(shop),
        {
            "product_code": "CAN-1-P",
            "combination": variant_ids(shop, "small", "plain"),
            "amount": "12",
            "position": 10,
            "image_pairs": {
                "detailed": {"image_path": "https://img.example.com/p.jpg", "alt": "P", "image_x": 80}
            },
        },
    )
    assert created.status == 201, created.raw
    assert set(created.body) == {"combination_id", "combination_hash"}
    assert created.body["combination_hash"] == f"{shop.size}_{shop.small}_{shop.print}_{shop.plain}"
    number = created.body["combination_id"]
    answer = await shop.get(f"{product_path(shop)}/{number}")
    assert answer.body == {
        "combination_id": number,
        "product_id": str(shop.mug),
        "product_code": "CAN-1-P",
        "combination_hash": created.body["combination_hash"],
        "combination": {str(shop.size): str(shop.small), str(shop.print): str(shop.plain)},
        "amount": "12",
        "price": "0.00",
        "position": 10,
        "image_pairs": {
            "pair_id": number,
            "image_id": "0",
            "detailed_id": number,
            "position": "0",
            "detailed": {
                "object_id": number,
                "object_type": "product_option",
                "image_path": "https://img.example.com/p.jpg",
                "http_image_path": "http://img.example.com/p.jpg",
                "https_image_path": "https://img.example.com/p.jpg",
                "absolute_path": "https://img.example.com/p.jpg",
                "relative_path": "p.jpg",
                "alt": "P",
                "image_x": "80",
                "image_y": "0",
            },
        },
    }


async def test_combinations_of_a_product_are_listed_updated_and_deleted(shop):
    listed = await shop.get(product_path(shop))
    assert [row["product_code"] for row in listed.body["combinations"]] == ["CAN-1-G"]
    assert listed.body["params"]["total_items"] == 1
    assert listed.body["combinations"][0]["image_pairs"] == {}
    filtered = await shop.get(f"{product_path(shop)}?amount=99")
    assert filtered.body["combinations"] == []
    number = shop.combination.number
    changed = await shop.put(f"{product_path(shop)}/{number}", {"amount": 44, "position": "3"})
    assert (changed.status, changed.body["combination_id"]) == (200, str(number))
    assert (await shop.get(f"{product_path(shop)}/{number}")).body["amount"] == "44"
    other_path = f"/api/2.0/products/{shop.plate}/options/combinations/{number}"
    for method in ("GET", "PUT", "DELETE"):
        answer = await shop.call(method, other_path, {"amount": 1} if method == "PUT" else None)
        assert (answer.status, answer.body["message"]) == (404, "Combination not found")
    assert (await shop.delete(f"{product_path(shop)}/{number}")).status == 204
    assert (await shop.get(f"{product_path(shop)}/{number}")).status == 404


async def test_a_batch_is_created_in_request_order(shop):
    names = [("small", "plain"), ("small", "dotted"), ("large", "dotted")]
    items = [{"combination": variant_ids(shop, *pair), "amount": index} for index, pair in enumerate(names)]
    answer = await shop.post(f"{product_path(shop)}/batch", {"combinations": items})
    assert answer.status == 201, answer.raw
    assert list(answer.body) == ["combinations"]
    for index, created in enumerate(answer.body["combinations"]):
        record = (await shop.get(f"{product_path(shop)}/{created['combination_id']}")).body
        assert (record["combination_hash"], record["amount"]) == (created["combination_hash"], str(index))


async def test_a_batch_is_atomic_and_reports_every_error(shop):
    small = {"combination": variant_ids(shop, "small")}
    answer = await shop.post(
        f"{product_path(shop)}/batch",
        {
            "combinations": [
                small,
                small,
                {"combination": variant_ids(shop, "dotted"), "product_code": "CAN-1-G"},
            ]
        },
    )
    assert answer.status == 400
    assert [(error["index"], error["field"]) for error in answer.body["errors"]] == [
        (1, "combination"),
        (2, "product_code"),
    ]
    malformed = await shop.post(
        f"{product_path(shop)}/batch", {"combinations": [small, {"combination": 1}, "x", {}]}
    )
    assert [error["index"] for error in malformed.body["errors"]] == [1, 2, 3]
    assert await shop.value("select count(*) from combinations") == 1


@pytest.mark.parametrize("value", [None, [], "x", 7, {}])
async def test_a_batch_requires_combinations(shop, value):
    answer = await shop.post(f"{product_path(shop)}/batch", {"combinations": value})
    assert answer.status == 400, answer.raw


async def test_a_batch_has_at_most_500_combinations(shop):
    answer = await shop.post(
        f"{product_path(shop)}/batch",
        {"combinations": [{"combination": variant_ids(shop, "small")}] * 501},
    )
    assert (answer.status, "500" in answer.body["message"]) == (400, True)


async def test_combining_a_shared_option_links_it_to_the_product(shop):
    created = await shop.post("/api/options", {"option_name": "Laço", "variants": ["Fita"]})
    option = created.body["option_id"]
    [variant] = (await shop.get(f"/api/options/{option}")).body["variants"]
    answer = await shop.post(product_path(shop), {"combination": {option: variant}})
    assert answer.status == 201, answer.raw
    linked = await shop.value("select count(*) from product_options where option_id = $1", int(option))
    assert linked == 1


# --- Exceptions --------------------------------------------------------------------------------------------------------------


async def test_exceptions_are_listed_read_created_and_deleted(shop):
    answer = await shop.get(f"/api/exceptions/{shop.exception}")
    assert answer.body == {
        "exception_id": str(shop.exception),
        "product_id": str(shop.mug),
        "combination": {str(shop.size): str(shop.small), str(shop.print): str(shop.dotted)},
        "type": "F",
    }
    created = await shop.post(
        "/api/exceptions",
        {"product_id": shop.mug.id, "combination": variant_ids(shop, "large"), "type": "allowed"},
    )
    assert (created.status, set(created.body)) == (201, {"exception_id"})
    listed = await shop.get(f"/api/exceptions?product_id={shop.mug}&type=A")
    assert list(listed.body["exceptions"]) == [created.body["exception_id"]]
    assert (await shop.put(f"/api/exceptions/{shop.exception}", {})).status == 405
    assert (await shop.delete(f"/api/exceptions/{shop.exception}")).status == 204
    assert (await shop.get(f"/api/exceptions/{shop.exception}")).status == 404


@pytest.mark.parametrize(
    "change",
    [
        {"type": "Z"},
        {"type": None},
        {"product_id": NO_NUMBER},
        {"product_id": None},
        {"combination": None},
        {"combination": {}},
        {"combination": {"1": "x"}},
        {"combination": [1]},
    ],
)
async def test_an_invalid_exception_is_rejected(shop, change):
    body = {"product_id": shop.mug.number, "combination": variant_ids(shop, "large"), "type": "F"}
    answer = await shop.post("/api/exceptions", body | change)
    assert answer.status == 400, answer.raw
    assert await shop.value("select count(*) from option_exceptions") == 1


async def test_a_duplicate_exception_is_rejected(shop):
    body = {
        "product_id": shop.mug.number,
        "combination": variant_ids(shop, "small", "dotted"),
        "type": "F",
    }
    assert (await shop.post("/api/exceptions", body)).status == 400


async def test_lists_are_bare_arrays_in_the_cscart_form(new_shop):
    shop = await new_shop(legacy_lists="cscart")
    for path in ("combinations", "exceptions", f"combinations?product_id={shop.mug}"):
        answer = await shop.get(f"/api/{path}")
        assert isinstance(answer.body, list), path
        assert len(answer.body) == 1
