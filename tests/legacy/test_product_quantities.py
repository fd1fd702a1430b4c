"""Check in which quantities products are sold, and the fields that products have for programs written for CS-Cart."""

import pytest

from tests.harness.sample_store import NewSampleStore, SampleStore

STORED = {
    "qty_step": "6",
    "list_qty_count": "4",
    "low_avail_limit": "3",
    "avail_since": "1900000000",
    "out_of_stock_actions": "B",
    "zero_price_action": "A",
    "unlimited_download": "Y",
    "promo_text": "<b>Leve 3</b>",
    "ncm": "61091000",
}


async def test_documented_fields_are_stored_and_read_back(sample: SampleStore) -> None:
    created = await sample.post("/api/products", {"product": "x", "price": "1", **STORED, "ncm": "6109.10.00"})
    assert (created.status, created.headers.get("X-Ignored-Fields")) == (201, None)
    path = f"/api/products/{created.body['product_id']}"
    record = (await sample.get(path)).body
    assert {name: record[name] for name in STORED} == STORED
    for name in ("qty_step", "out_of_stock_actions", "ncm", "promo_text", "avail_since"):
        rows = (await sample.get("/api/products", params={name: STORED[name]})).body["products"]
        assert list(rows) == [record["product_id"]], name
    assert (await sample.put(path, {"avail_since": "0", "ncm": "", "qty_step": 0})).status == 200
    record = (await sample.get(path)).body
    assert (record["avail_since"], record["ncm"], record["qty_step"], record["promo_text"]) == (
        "0", "", "0", STORED["promo_text"],
    )  # fmt: skip


@pytest.mark.parametrize(
    "body, message",
    [
        ({"qty_step": -1}, "qty_step is -1; expected a whole number from 0 to 2147483647"),
        ({"out_of_stock_actions": "Z"}, "out_of_stock_actions is 'Z'; expected one of N, B, S"),
        ({"avail_since": "soon"}, "avail_since is 'soon'; expected Unix seconds"),
        ({"ncm": "123"}, "ncm is '123'; expected an NCM of eight digits"),
    ],
)
async def test_a_wrong_value_is_refused(shared_sample: SampleStore, body: dict[str, object], message: str) -> None:
    answer = await shared_sample.put(f"/api/products/{shared_sample.mug}", body)
    assert (answer.status, answer.body["message"]) == (400, message)


@pytest.mark.parametrize(
    "limits, quantity, message",
    [
        ({"qty_step": 6}, 6, ""),
        ({"qty_step": 6}, 7, "sold in steps of 6 units: E-book"),
        ({"qty_step": 6, "list_qty_count": 2}, 12, ""),
        ({"qty_step": 6, "list_qty_count": 2}, 18, "sold up to 12 units: E-book"),
        ({"list_qty_count": 3}, 4, "sold up to 3 units: E-book"),
        ({"list_qty_count": 9, "max_qty": 3}, 4, "sold up to 3 units: E-book"),
        ({"list_qty_count": 2147483647, "qty_step": 2147483647}, 1, "sold in steps of 2147483647 units: E-book"),
    ],
)
async def test_an_order_is_bound_to_the_quantities_of_a_product(
    sample: SampleStore, limits: dict[str, int], quantity: int, message: str
) -> None:
    number = (await sample.post("/api/products", {"product": "E-book", "price": "1", "is_edp": "Y", "amount": 99})).body
    path = f"/api/products/{number['product_id']}"
    assert (await sample.put(path, limits)).status == 200
    lines = {str(number["product_id"]): {"amount": quantity}}
    answer = await sample.post("/api/orders", {"user_id": sample.caio.number, "products": lines})
    assert (answer.status, answer.body.get("message", "")) == ((201, "") if not message else (422, message))


async def test_a_cart_warns_of_a_quantity_between_two_steps(sample: SampleStore) -> None:
    await sample.execute("update products set quantity_step = 4 where id = $1", sample.ebook.number)
    document = (
        """mutation ($input: CartInput!) { cart_create(input: $input) { warnings { code available_quantity } } }"""
    )
    items = [{"product_id": sample.ebook.id, "quantity": 5}]
    answer = await sample.post("/graphql", {"query": document, "variables": {"input": {"items": items}}}, auth="bearer")
    assert answer.body["data"]["cart_create"]["warnings"] == [
        {"code": "QUANTITY_NOT_IN_STEPS", "available_quantity": 4}
    ]


async def test_the_units_in_a_box_are_stored_and_read_back_in_cs_carts_dialect(new_sample: NewSampleStore) -> None:
    sample = await new_sample()
    path = f"/api/products/{sample.mug}"
    answer = await sample.put(path, {"min_items_in_box": "2"})
    assert (answer.status, answer.headers["X-Ignored-Fields"]) == (200, "min_items_in_box")
    await sample.put("/api/settings/legacy_dialect", {"value": "cscart"})
    body = {"shipping_params": {"max_items_in_box": "5", "box_length": "40"}, "min_items_in_box": 2}
    assert (await sample.put(path, body)).status == 200
    record = (await sample.get(path)).body
    assert [record[name] for name in ("min_items_in_box", "max_items_in_box", "box_length")] == ["2", "5", "40.0"]
    refused = await sample.put(path, {"max_items_in_box": -1})
    assert (refused.status, refused.body["message"]) == (
        400, "max_items_in_box is -1; expected a whole number from 0 to 2147483647",
    )  # fmt: skip
