"""Check combinations on both of their paths, and exceptions."""

from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore

pytestmark = pytest.mark.combination


def variant_ids(sample: SampleStore, *variants: str) -> dict[str, Any]:
    """Return `{option_id: variant_id}` of the mug's variants."""
    options = {"small": "size", "large": "size", "plain": "print", "dotted": "print"}
    return {str(getattr(sample, options[name])): getattr(sample, name).number for name in variants}


def product_path(sample: SampleStore) -> str:
    return f"/api/2.0/products/{sample.mug}/options/combinations"


async def test_a_combination_is_read_by_its_hash(sample):
    answer = await sample.get(f"/api/combinations/{sample.combination}")
    assert answer.body == {
        "combination_hash": f"{sample.size}_{sample.large}_{sample.print}_{sample.plain}",
        "combination_id": str(sample.combination.number),
        "product_id": str(sample.mug),
        "product_code": "CAN-1-G",
        "combination": {str(sample.size): str(sample.large), str(sample.print): str(sample.plain)},
        "amount": "3",
        "price": "2.00",
        "position": "0",
        **dict.fromkeys(("box_length", "box_width", "box_height", "shipping_freight", "gtin"), ""),
    }


@pytest.mark.parametrize("path", ["combinations", "products/{mug}/options/combinations"])
async def test_a_combination_has_its_own_box_freight_and_gtin_or_its_products(path, sample):
    url = f"/api/{path.format(mug=sample.mug)}/{sample.combination.number}"
    own = {"box_length": "20.5", "box_width": 9, "box_height": "", "shipping_freight": "2.50", "gtin": "7891000315507"}
    assert (await sample.put(url, own)).status == 200
    record = (await sample.get(url)).body
    assert own | {"box_width": "9.0"} == {name: record[name] for name in own}
    assert (await sample.put(url, {"box_length": None, "gtin": " ", "shipping_freight": ""})).status == 200
    record = (await sample.get(url)).body
    assert [record[name] for name in own] == ["", "9.0", "", "", ""]
    refused = await sample.put(url, {"gtin": "7891000315508"})
    assert (refused.status, refused.body["message"]) == (
        400,
        "gtin is '7891000315508'; expected a GTIN of 8, 12, 13 or 14 digits, the last one its check digit",
    )


async def test_a_combination_is_created_updated_and_deleted_by_its_hash(sample):
    body = {
        "product_id": sample.mug.number,
        "combination": variant_ids(sample, "plain", "small"),
        "amount": "7",
        "price": "-1.50",
    }
    created = await sample.post("/api/combinations", body | {"product_code": "CAN-1-P", "position": 2})
    hash_ = f"{sample.size}_{sample.small}_{sample.print}_{sample.plain}"
    assert created.status == 201, created.raw
    assert created.body["combination_hash"] == hash_
    changed = await sample.put(f"/api/combinations/{hash_}", {"amount": 9, "price": 0, "position": "1"})
    assert (changed.status, changed.body["combination_hash"]) == (200, hash_)
    record = (await sample.get(f"/api/combinations/{hash_}")).body
    assert (record["amount"], record["price"], record["position"]) == ("9", "0.00", "1")
    assert (await sample.delete(f"/api/combinations/{hash_}")).status == 204
    assert (await sample.get(f"/api/combinations/{hash_}")).status == 404
    assert (await sample.post("/api/combinations", body)).status == 201  # the hash can be reused


async def test_the_variants_of_a_combination_can_change(sample):
    answer = await sample.put(f"/api/combinations/{sample.combination}", {"combination": variant_ids(sample, "small")})
    assert (answer.status, answer.body["combination_hash"]) == (200, f"{sample.size}_{sample.small}")
    record = (await sample.get(f"/api/combinations/{sample.size}_{sample.small}")).body
    assert record["combination"] == {str(sample.size): str(sample.small)}
    assert (await sample.get(f"/api/combinations/{sample.combination}")).status == 404


async def test_a_hash_shared_by_products_requires_product_id(sample):
    body = {"combination": variant_ids(sample, "dotted"), "amount": 1}
    hash_ = f"{sample.print}_{sample.dotted}"
    for product in (sample.mug, sample.plate):
        created = await sample.post("/api/combinations", body | {"product_id": product.number})
        assert created.status == 201, (product, created.raw)
    for method in ("GET", "PUT", "DELETE"):
        refused = await sample.request(method, f"/api/combinations/{hash_}", {} if method == "PUT" else None)
        assert refused.status == 400, (method, refused.raw)
        assert refused.body["message"].startswith("product_id is required"), method
    answer = await sample.get(f"/api/combinations/{hash_}?product_id={sample.plate}")
    assert answer.body["product_id"] == str(sample.plate)
    listed = (await sample.get(f"/api/combinations?combination_hash={hash_}")).body["combinations"]
    assert {row["product_id"] for row in listed.values()} == {str(sample.mug), str(sample.plate)}
    assert (await sample.put(f"/api/combinations/{hash_}?product_id={sample.plate}", {"amount": 5})).status == 200
    assert (await sample.delete(f"/api/combinations/{hash_}?product_id={sample.mug}")).status == 204
    assert (await sample.get(f"/api/combinations/{hash_}")).body["amount"] == "5"


@pytest.mark.parametrize("product", ["{plate}", str(UNKNOWN_NUMBER), "x", UNKNOWN_ID])
async def test_the_product_id_in_the_query_is_checked(sample, product):
    wrong = product.format(plate=sample.plate)
    answer = await sample.get(f"/api/combinations/{sample.combination}?product_id={wrong}")
    assert (answer.status, answer.body["message"]) == (404, "Combination not found")
    assert (await sample.get(f"/api/combinations/{sample.combination}?product_id={sample.mug.id}")).status == 200


async def invalid_bodies(sample: SampleStore) -> list[dict[str, Any]]:
    other = await sample.post(
        "/api/options", {"option_name": "Aro", "product_id": sample.plate.number, "variants": ["Ouro"]}
    )
    option = other.body["option_id"]
    [variant] = (await sample.get(f"/api/options/{option}")).body["variants"]
    return [
        {},
        {"combination": {}},
        {"combination": []},
        {"combination": "x"},
        {"combination": {str(sample.size): sample.plain.number}},  # a variant of another option
        {"combination": {str(sample.size): UNKNOWN_NUMBER}},
        {"combination": {str(sample.size): None}},
        {"combination": {str(sample.engraving): 1}},  # without inventory
        {"combination": {option: variant}},  # an option of another product
        {"combination": {str(UNKNOWN_NUMBER): 1}},
        {"combination": {"x": 1}},
        {"combination": variant_ids(sample, "large", "plain")},  # exists already
        {"combination": variant_ids(sample, "small"), "amount": -1},
        {"combination": variant_ids(sample, "small"), "amount": "x"},
        {"combination": variant_ids(sample, "small"), "price": "1.999"},
        {"combination": variant_ids(sample, "small"), "position": -1},
        {"combination": variant_ids(sample, "small"), "product_code": "CAN-1-G"},
    ]


async def test_invalid_bodies_are_rejected_on_both_paths(sample):
    before = await sample.value("select count(*) from combinations")
    for body in await invalid_bodies(sample):
        for path, payload in (
            ("/api/combinations", body | {"product_id": sample.mug.number}),
            (product_path(sample), body),
            (
                f"{product_path(sample)}/batch",
                {"combinations": [{"combination": variant_ids(sample, "dotted")}, body]},
            ),
        ):
            answer = await sample.post(path, payload)
            assert answer.status == 400, (path, payload, answer.raw)
            assert answer.body["status"] == 400, (body, path, payload)
            if path.endswith("batch"):
                assert [error["index"] for error in answer.body["errors"]] == [1], (body, path, payload)
                assert set(answer.body["errors"][0]) == {"index", "field", "message"}, (body, path, payload)
    assert await sample.value("select count(*) from combinations") == before


async def test_an_existing_product_is_required(sample):
    body = {"combination": variant_ids(sample, "small")}
    answer = await sample.post("/api/combinations", body)
    assert (answer.status, answer.body["message"]) == (400, "product_id is required")
    assert (await sample.post("/api/combinations", body | {"product_id": UNKNOWN_NUMBER})).status == 400
    for product_id in (UNKNOWN_NUMBER, "x", UNKNOWN_ID, 0):
        path = f"/api/2.0/products/{product_id}/options/combinations"
        for method, payload in (("GET", None), ("POST", body)):
            answer = await sample.request(method, path, payload)
            assert (answer.status, answer.body["message"]) == (404, "Product not found"), (
                product_id,
                method,
                payload,
                answer.raw,
            )
        batch = await sample.post(f"{path}/batch", {"combinations": [body]})
        assert (batch.status, batch.body["message"]) == (404, "Product not found"), product_id


# --- Combinations of a product -----------------------------------------------------------------------------------------------


async def test_a_combination_of_a_product_has_an_integer_position(sample):
    created = await sample.post(
        product_path(sample),
        {
            "product_code": "CAN-1-P",
            "combination": variant_ids(sample, "small", "plain"),
            "amount": "12",
            "position": 10,
            "image_pairs": {"detailed": {"image_path": "https://img.example.com/p.jpg", "alt": "P", "image_x": 80}},
        },
    )
    assert created.status == 201, created.raw
    assert set(created.body) == {"combination_id", "combination_hash"}
    assert created.body["combination_hash"] == f"{sample.size}_{sample.small}_{sample.print}_{sample.plain}"
    number = created.body["combination_id"]
    answer = await sample.get(f"{product_path(sample)}/{number}")
    assert answer.body == {
        "combination_id": number,
        "product_id": str(sample.mug),
        "product_code": "CAN-1-P",
        "combination_hash": created.body["combination_hash"],
        "combination": {str(sample.size): str(sample.small), str(sample.print): str(sample.plain)},
        "amount": "12",
        "price": "0.00",
        "position": 10,
        **dict.fromkeys(("box_length", "box_width", "box_height", "shipping_freight", "gtin"), ""),
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


async def test_an_image_that_a_combination_has_keeps_its_text_and_size(sample):
    path = f"{product_path(sample)}/{sample.combination.number}"
    link = "https://img.example.com/p.jpg"
    for detailed, shown in (
        ({"image_path": link, "alt": "P", "image_x": 80}, ("P", "80")),
        ({"image_path": link}, ("P", "80")),
        ({"image_path": link, "alt": ""}, ("", "80")),
        ({"image_path": "https://img.example.com/q.jpg"}, ("", "0")),
    ):
        assert (await sample.put(path, {"image_pairs": {"detailed": detailed}})).status == 200, detailed
        image = (await sample.get(path)).body["image_pairs"]["detailed"]
        assert (image["alt"], image["image_x"]) == shown, detailed


async def test_combinations_of_a_product_are_listed_updated_and_deleted(sample):
    listed = await sample.get(product_path(sample))
    assert [row["product_code"] for row in listed.body["combinations"]] == ["CAN-1-G"]
    assert listed.body["params"]["total_items"] == 1
    assert listed.body["combinations"][0]["image_pairs"] == {}
    filtered = await sample.get(f"{product_path(sample)}?amount=99")
    assert filtered.body["combinations"] == []
    number = sample.combination.number
    changed = await sample.put(f"{product_path(sample)}/{number}", {"amount": 44, "position": "3"})
    assert (changed.status, changed.body["combination_id"]) == (200, str(number))
    assert (await sample.get(f"{product_path(sample)}/{number}")).body["amount"] == "44"
    other_path = f"/api/2.0/products/{sample.plate}/options/combinations/{number}"
    for method in ("GET", "PUT", "DELETE"):
        answer = await sample.request(method, other_path, {"amount": 1} if method == "PUT" else None)
        assert (answer.status, answer.body["message"]) == (404, "Combination not found"), method
    assert (await sample.delete(f"{product_path(sample)}/{number}")).status == 204
    assert (await sample.get(f"{product_path(sample)}/{number}")).status == 404


async def test_a_batch_is_created_in_request_order(sample):
    names = [("small", "plain"), ("small", "dotted"), ("large", "dotted")]
    items = [{"combination": variant_ids(sample, *pair), "amount": index} for index, pair in enumerate(names)]
    answer = await sample.post(f"{product_path(sample)}/batch", {"combinations": items})
    assert answer.status == 201, answer.raw
    assert list(answer.body) == ["combinations"]
    for index, created in enumerate(answer.body["combinations"]):
        record = (await sample.get(f"{product_path(sample)}/{created['combination_id']}")).body
        assert (record["combination_hash"], record["amount"]) == (created["combination_hash"], str(index))


async def test_a_batch_is_atomic_and_reports_every_error(sample):
    small = {"combination": variant_ids(sample, "small")}
    answer = await sample.post(
        f"{product_path(sample)}/batch",
        {
            "combinations": [
                small,
                small,
                {"combination": variant_ids(sample, "dotted"), "product_code": "CAN-1-G"},
            ]
        },
    )
    assert answer.status == 400
    assert [(error["index"], error["field"]) for error in answer.body["errors"]] == [
        (1, "combination"),
        (2, "product_code"),
    ]
    malformed = await sample.post(
        f"{product_path(sample)}/batch", {"combinations": [small, {"combination": 1}, "x", {}]}
    )
    assert [error["index"] for error in malformed.body["errors"]] == [1, 2, 3]
    mixed = await sample.post(
        f"{product_path(sample)}/batch", {"combinations": [small, small, {"combination": 1}, small | {"amount": -1}]}
    )
    assert [(error["index"], error["field"]) for error in mixed.body["errors"]] == [
        (1, "combination"),
        (2, "combination"),
        (3, "amount"),
    ]
    assert mixed.body["message"] == f"combinations[1]: {mixed.body['errors'][0]['message']}"
    absent = await sample.post(
        f"/api/products/{UNKNOWN_NUMBER}/options/combinations/batch", {"combinations": [small, {"combination": 1}]}
    )
    assert (absent.status, [error["index"] for error in absent.body["errors"]]) == (400, [1])
    assert await sample.value("select count(*) from combinations") == 1


@pytest.mark.parametrize("value", [None, [], "x", 7, {}])
async def test_a_batch_requires_combinations(sample, value):
    answer = await sample.post(f"{product_path(sample)}/batch", {"combinations": value})
    assert answer.status == 400, answer.raw


async def test_a_batch_has_at_most_500_combinations(sample):
    answer = await sample.post(
        f"{product_path(sample)}/batch",
        {"combinations": [{"combination": variant_ids(sample, "small")}] * 501},
    )
    assert (answer.status, "500" in answer.body["message"]) == (400, True)


async def test_combining_a_shared_option_links_it_to_the_product(sample):
    created = await sample.post("/api/options", {"option_name": "Laço", "variants": ["Fita"]})
    option = created.body["option_id"]
    [variant] = (await sample.get(f"/api/options/{option}")).body["variants"]
    answer = await sample.post(product_path(sample), {"combination": {option: variant}})
    assert answer.status == 201, answer.raw
    linked = await sample.value("select count(*) from product_options where option_id = $1", int(option))
    assert linked == 1


# --- Exceptions --------------------------------------------------------------------------------------------------------------


async def test_exceptions_are_listed_read_created_and_deleted(sample):
    answer = await sample.get(f"/api/exceptions/{sample.exception}")
    assert answer.body == {
        "exception_id": str(sample.exception),
        "product_id": str(sample.mug),
        "combination": {str(sample.size): str(sample.small), str(sample.print): str(sample.dotted)},
        "type": "F",
    }
    created = await sample.post(
        "/api/exceptions",
        {"product_id": sample.mug.id, "combination": variant_ids(sample, "large"), "type": "allowed"},
    )
    assert (created.status, set(created.body)) == (201, {"exception_id"})
    listed = await sample.get(f"/api/exceptions?product_id={sample.mug}&type=A")
    assert list(listed.body["exceptions"]) == [created.body["exception_id"]]
    assert (await sample.put(f"/api/exceptions/{sample.exception}", {})).status == 405
    assert (await sample.delete(f"/api/exceptions/{sample.exception}")).status == 204
    assert (await sample.get(f"/api/exceptions/{sample.exception}")).status == 404


@pytest.mark.parametrize(
    "change",
    [
        {"type": "Z"},
        {"type": "X"},
        {"product_id": UNKNOWN_NUMBER},
        {"product_id": None},
        {"combination": None},
        {"combination": {}},
        {"combination": {"1": "x"}},
        {"combination": [1]},
    ],
)
async def test_an_invalid_exception_is_rejected(sample, change):
    body = {"product_id": sample.mug.number, "combination": variant_ids(sample, "large"), "type": "F"}
    answer = await sample.post("/api/exceptions", body | change)
    assert answer.status == 400, answer.raw
    assert await sample.value("select count(*) from option_exceptions") == 1


async def test_a_duplicate_exception_is_rejected(sample):
    body = {
        "product_id": sample.mug.number,
        "combination": variant_ids(sample, "small", "dotted"),
        "type": "F",
    }
    assert (await sample.post("/api/exceptions", body)).status == 400


async def test_lists_are_bare_arrays_in_the_cscart_form(new_sample):
    sample = await new_sample(combination=True, legacy_lists="cscart")
    for path in ("combinations", "exceptions", f"combinations?product_id={sample.mug}"):
        answer = await sample.get(f"/api/{path}")
        assert isinstance(answer.body, list), path
        assert len(answer.body) == 1, path
