"""Check combinations over both bases, and exceptions."""

from typing import Any

import pytest

from tests.shop import NO_NUMBER, NOBODY, Shop


def choices(shop: Shop, *variants: str) -> dict[str, Any]:
    """Give `{option_id: variant_id}` of the mug."""
    owners = {"small": "size", "large": "size", "plain": "print", "dotted": "print"}
    return {str(getattr(shop, owners[name])): getattr(shop, name).number for name in variants}


def base(shop: Shop) -> str:
    return f"/api/2.0/products/{shop.mug}/options/combinations"


async def test_a_combination_is_shown_by_its_hash(shop):
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


async def test_a_combination_is_made_changed_and_deleted_by_its_hash(shop):
    body = {
        "product_id": shop.mug.number,
        "combination": choices(shop, "plain", "small"),
        "amount": "7",
        "price": "-1.50",
    }
    made = await shop.post("/api/combinations", body | {"product_code": "CAN-1-P", "position": 2})
    hash_ = f"{shop.size}_{shop.small}_{shop.print}_{shop.plain}"
    assert made.status == 201, made.raw
    assert made.body["combination_hash"] == hash_
    changed = await shop.put(f"/api/combinations/{hash_}", {"amount": 9, "price": 0, "position": "1"})
    assert (changed.status, changed.body["combination_hash"]) == (200, hash_)
    record = (await shop.get(f"/api/combinations/{hash_}")).body
    assert (record["amount"], record["price"], record["position"]) == ("9", "0.00", "1")
    assert (await shop.delete(f"/api/combinations/{hash_}")).status == 204
    assert (await shop.get(f"/api/combinations/{hash_}")).status == 404
    assert (await shop.post("/api/combinations", body)).status == 201  # free again


async def test_a_combination_may_be_chosen_anew(shop):
    answer = await shop.put(f"/api/combinations/{shop.combination}", {"combination": choices(shop, "small")})
    assert (answer.status, answer.body["combination_hash"]) == (200, f"{shop.size}_{shop.small}")
    shown = (await shop.get(f"/api/combinations/{shop.size}_{shop.small}")).body
    assert shown["combination"] == {str(shop.size): str(shop.small)}
    assert (await shop.get(f"/api/combinations/{shop.combination}")).status == 404


async def test_products_that_share_a_hash_have_to_be_told_apart(shop):
    body = {"combination": choices(shop, "dotted"), "amount": 1}
    hash_ = f"{shop.print}_{shop.dotted}"
    for product in (shop.mug, shop.plate):
        made = await shop.post("/api/combinations", body | {"product_id": product.number})
        assert made.status == 201, made.raw
    for method in ("GET", "PUT", "DELETE"):
        refused = await shop.call(method, f"/api/combinations/{hash_}", {} if method == "PUT" else None)
        assert refused.status == 400, refused.raw
        assert refused.body["message"].startswith("product_id is required")
    shown = await shop.get(f"/api/combinations/{hash_}?product_id={shop.plate}")
    assert shown.body["product_id"] == str(shop.plate)
    listed = (await shop.get(f"/api/combinations?combination_hash={hash_}")).body["combinations"]
    assert {row["product_id"] for row in listed.values()} == {str(shop.mug), str(shop.plate)}
    assert (await shop.put(f"/api/combinations/{hash_}?product_id={shop.plate}", {"amount": 5})).status == 200
    assert (await shop.delete(f"/api/combinations/{hash_}?product_id={shop.mug}")).status == 204
    assert (await shop.get(f"/api/combinations/{hash_}")).body["amount"] == "5"


@pytest.mark.parametrize("product", ["{plate}", str(NO_NUMBER), "x", NOBODY])
async def test_the_product_in_the_query_is_checked(shop, product):
    wrong = product.format(plate=shop.plate)
    answer = await shop.get(f"/api/combinations/{shop.combination}?product_id={wrong}")
    assert (answer.status, answer.body["message"]) == (404, "Combination not found")
    assert (await shop.get(f"/api/combinations/{shop.combination}?product_id={shop.mug.id}")).status == 200


async def wrong_bodies(shop: Shop) -> list[dict[str, Any]]:
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
        {"combination": {option: variant}},  # of another product
        {"combination": {str(NO_NUMBER): 1}},
        {"combination": {"x": 1}},
        {"combination": choices(shop, "large", "plain")},  # there is one
        {"combination": choices(shop, "small"), "amount": -1},
        {"combination": choices(shop, "small"), "amount": "x"},
        {"combination": choices(shop, "small"), "price": "1.999"},
        {"combination": choices(shop, "small"), "position": -1},
        {"combination": choices(shop, "small"), "product_code": "CAN-1-G"},
    ]


async def test_what_is_wrong_is_refused_over_both_bases(shop):
    before = await shop.value("select count(*) from combinations")
    for body in await wrong_bodies(shop):
        for path, given in (
            ("/api/combinations", body | {"product_id": shop.mug.number}),
            (base(shop), body),
            (f"{base(shop)}/batch", {"combinations": [{"combination": choices(shop, "dotted")}, body]}),
        ):
            answer = await shop.post(path, given)
            assert answer.status == 400, (path, given, answer.raw)
            assert answer.body["status"] == 400
            if path.endswith("batch"):
                assert [error["index"] for error in answer.body["errors"]] == [1]
                assert set(answer.body["errors"][0]) == {"index", "field", "message"}
    assert await shop.value("select count(*) from combinations") == before


async def test_a_product_is_needed_and_has_to_be_there(shop):
    body = {"combination": choices(shop, "small")}
    answer = await shop.post("/api/combinations", body)
    assert (answer.status, answer.body["message"]) == (400, "product_id is required")
    assert (await shop.post("/api/combinations", body | {"product_id": NO_NUMBER})).status == 400
    for named in (NO_NUMBER, "x", NOBODY, 0):
        path = f"/api/2.0/products/{named}/options/combinations"
        for method, given in (("GET", None), ("POST", body)):
            answer = await shop.call(method, path, given)
            assert (answer.status, answer.body["message"]) == (404, "Product not found"), answer.raw
        batch = await shop.post(f"{path}/batch", {"combinations": [body]})
        assert (batch.status, batch.body["message"]) == (404, "Product not found")


# --- Under the versioned base ------------------------------------------------------------------------------------------------


async def test_a_combination_of_a_product_has_integers_as_tabled(shop):
    made = await shop.post(
        base(shop),
        {
            "product_code": "CAN-1-P",
            "combination": choices(shop, "small", "plain"),
            "amount": "12",
            "position": 10,
            "image_pairs": {
                "detailed": {"image_path": "https://img.example.com/p.jpg", "alt": "P", "image_x": 80}
            },
        },
    )
    assert made.status == 201, made.raw
    assert set(made.body) == {"combination_id", "combination_hash"}
    assert made.body["combination_hash"] == f"{shop.size}_{shop.small}_{shop.print}_{shop.plain}"
    number = made.body["combination_id"]
    answer = await shop.get(f"{base(shop)}/{number}")
    assert answer.body == {
        "combination_id": number,
        "product_id": str(shop.mug),
        "product_code": "CAN-1-P",
        "combination_hash": made.body["combination_hash"],
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


async def test_combinations_of_a_product_are_listed_changed_and_deleted(shop):
    listed = await shop.get(base(shop))
    assert [row["product_code"] for row in listed.body["combinations"]] == ["CAN-1-G"]
    assert listed.body["params"]["total_items"] == 1
    assert listed.body["combinations"][0]["image_pairs"] == {}
    filtered = await shop.get(f"{base(shop)}?amount=99")
    assert filtered.body["combinations"] == []
    number = shop.combination.number
    changed = await shop.put(f"{base(shop)}/{number}", {"amount": 44, "position": "3"})
    assert (changed.status, changed.body["combination_id"]) == (200, str(number))
    assert (await shop.get(f"{base(shop)}/{number}")).body["amount"] == "44"
    elsewhere = f"/api/2.0/products/{shop.plate}/options/combinations/{number}"
    for method in ("GET", "PUT", "DELETE"):
        answer = await shop.call(method, elsewhere, {"amount": 1} if method == "PUT" else None)
        assert (answer.status, answer.body["message"]) == (404, "Combination not found")
    assert (await shop.delete(f"{base(shop)}/{number}")).status == 204
    assert (await shop.get(f"{base(shop)}/{number}")).status == 404


async def test_a_batch_is_made_in_the_order_of_the_request(shop):
    names = [("small", "plain"), ("small", "dotted"), ("large", "dotted")]
    given = [{"combination": choices(shop, *each), "amount": place} for place, each in enumerate(names)]
    answer = await shop.post(f"{base(shop)}/batch", {"combinations": given})
    assert answer.status == 201, answer.raw
    assert list(answer.body) == ["combinations"]
    for place, made in enumerate(answer.body["combinations"]):
        record = (await shop.get(f"{base(shop)}/{made['combination_id']}")).body
        assert (record["combination_hash"], record["amount"]) == (made["combination_hash"], str(place))


async def test_a_batch_is_all_or_nothing_and_names_every_mistake(shop):
    small = {"combination": choices(shop, "small")}
    answer = await shop.post(
        f"{base(shop)}/batch",
        {"combinations": [small, small, {"combination": choices(shop, "dotted"), "product_code": "CAN-1-G"}]},
    )
    assert answer.status == 400
    assert [(error["index"], error["field"]) for error in answer.body["errors"]] == [
        (1, "combination"),
        (2, "product_code"),
    ]
    unread = await shop.post(f"{base(shop)}/batch", {"combinations": [small, {"combination": 1}, "x", {}]})
    assert [error["index"] for error in unread.body["errors"]] == [1, 2, 3]
    assert await shop.value("select count(*) from combinations") == 1


@pytest.mark.parametrize("given", [None, [], "x", 7, {}])
async def test_a_batch_needs_combinations(shop, given):
    answer = await shop.post(f"{base(shop)}/batch", {"combinations": given})
    assert answer.status == 400, answer.raw


async def test_a_batch_holds_at_most_500(shop):
    answer = await shop.post(
        f"{base(shop)}/batch", {"combinations": [{"combination": choices(shop, "small")}] * 501}
    )
    assert (answer.status, "500" in answer.body["message"]) == (400, True)


async def test_an_option_shared_by_products_may_be_combined(shop):
    """A combination makes the product offer the option, so that it can be chosen."""
    made = await shop.post("/api/options", {"option_name": "Laço", "variants": ["Fita"]})
    option = made.body["option_id"]
    [variant] = (await shop.get(f"/api/options/{option}")).body["variants"]
    answer = await shop.post(base(shop), {"combination": {option: variant}})
    assert answer.status == 201, answer.raw
    linked = await shop.value("select count(*) from product_options where option_id = $1", int(option))
    assert linked == 1


# --- Exceptions --------------------------------------------------------------------------------------------------------------


async def test_exceptions_are_listed_shown_made_and_deleted(shop):
    shown = await shop.get(f"/api/exceptions/{shop.exception}")
    assert shown.body == {
        "exception_id": str(shop.exception),
        "product_id": str(shop.mug),
        "combination": {str(shop.size): str(shop.small), str(shop.print): str(shop.dotted)},
        "type": "F",
    }
    made = await shop.post(
        "/api/exceptions",
        {"product_id": shop.mug.id, "combination": choices(shop, "large"), "type": "allowed"},
    )
    assert (made.status, set(made.body)) == (201, {"exception_id"})
    listed = await shop.get(f"/api/exceptions?product_id={shop.mug}&type=A")
    assert list(listed.body["exceptions"]) == [made.body["exception_id"]]
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
async def test_a_wrong_exception_is_refused(shop, change):
    body = {"product_id": shop.mug.number, "combination": choices(shop, "large"), "type": "F"}
    answer = await shop.post("/api/exceptions", body | change)
    assert answer.status == 400, answer.raw
    assert await shop.value("select count(*) from option_exceptions") == 1


async def test_an_exception_that_exists_is_refused(shop):
    body = {"product_id": shop.mug.number, "combination": choices(shop, "small", "dotted"), "type": "F"}
    assert (await shop.post("/api/exceptions", body)).status == 400


async def test_lists_are_bare_in_the_older_form(new_shop):
    shop = await new_shop(legacy_lists="cscart")
    for path in ("combinations", "exceptions", f"combinations?product_id={shop.mug}"):
        answer = await shop.get(f"/api/{path}")
        assert isinstance(answer.body, list), path
        assert len(answer.body) == 1
