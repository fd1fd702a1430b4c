"""Check the order routes."""

from typing import Any

import pytest

from models.tables.shipping import Shipment
from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore

SHIPPING_REQUIRED = "shipping_service_unavailable: a shipping method is required for physical products"


def order_body(sample: SampleStore, **body: Any) -> dict[str, Any]:
    standard = {
        "user_id": sample.caio.number,
        "payment_id": sample.pix.number,
        "shipping_id": sample.sedex.number,
        "products": [{"product_id": sample.mug.number, "amount": 1}],
    }
    return {name: value for name, value in (standard | body).items() if value is not ...}


async def create(sample: SampleStore, **body: Any) -> str:
    answer = await sample.post("/api/orders", order_body(sample, **body))
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"order_id"}
    return answer.body["order_id"]


async def read(sample: SampleStore, order_id: Any, **kwargs: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/orders/{order_id}", **kwargs)
    assert answer.status == 200, answer.raw
    return answer.body


async def stock_of(sample: SampleStore, product: Any) -> tuple[int, int]:
    (row,) = await sample.rows("select on_hand, reserved from products where id = $1", product.number)
    return row["on_hand"], row["reserved"]


async def test_an_order_is_placed_and_read(sample):
    order = await read(
        sample,
        await create(
            sample,
            products=[{"product_id": sample.mug.number, "amount": 2, "price": "10.00"}],
            notes="Presente",
            details="Cuidado",
            ip_address="203.0.113.9",
            user_data={"s_city": "Olinda", "s_address": "Rua Nova, 7", "s_address_2": "ap 3"},
        ),
    )
    assert order["user_id"] == str(sample.caio)
    assert order["company_id"] == str(sample.vendor)
    assert order["status"] == "O"
    assert (order["subtotal"], order["shipping_cost"], order["total"]) == ("20.00", "15.00", "35.00")
    assert (order["discount"], order["tax_subtotal"]) == ("0.00", "0.00")
    assert (order["firstname"], order["lastname"], order["email"]) == ("Caio", "Reis", "caio@example.com")
    assert (order["notes"], order["details"], order["ip_address"]) == ("Presente", "Cuidado", "203.0.113.9")
    assert (order["payment_id"], order["payment_method"]["payment"]) == (str(sample.pix), "Pix")
    assert (order["shipping_ids"], order["shipping"][0]["shipping"]) == (str(sample.sedex), "Sedex")
    assert (order["s_city"], order["s_address"], order["s_address_2"]) == ("Olinda", "Rua Nova, 7", "ap 3")
    assert (order["b_city"], order["b_country"]) == ("Olinda", "BR")  # billed where it is shipped
    line = order["products"]["1"]
    assert line.pop("item_id").isdigit()
    assert line == {
        "product_id": str(sample.mug),
        "product": "Caneca de Ágata",
        "product_code": "CAN-1",
        "amount": "2",
        "price": "10.00",
        "base_price": "49.90",
        "subtotal": "20.00",
        "company_id": str(sample.vendor),
        "extra": {},
    }
    (step,) = order["status_history"]
    assert step.pop("timestamp") == order["timestamp"]
    assert step == {
        "status_from": "",
        "status": "O",
        "forced": "N",
        "reason": "",
        "actor": "admin",
        "user_id": str(sample.owner),
    }
    (group,) = order["product_groups"]
    assert (group["company_id"], list(group["products"])) == (str(sample.vendor), ["1"])


@pytest.mark.parametrize("form", ["array", "map of products", "map of any key", "texts", "uuids", "mixed"])
async def test_order_lines_are_accepted_in_every_form(sample, form):
    mug, plate = sample.mug, sample.plate
    products = {
        "array": [
            {"product_id": mug.number, "amount": 2, "price": "10.00"},
            {"product_id": plate.number, "amount": 1},
        ],
        "map of products": {str(mug): {"amount": 2, "price": 10}, str(plate): {"amount": 1}},
        "map of any key": {
            "a": {"product_id": mug.number, "amount": "2", "price": "10.00"},
            "b": {"product_id": plate.number, "amount": "1"},
        },
        "texts": [
            {"product_id": str(mug), "amount": "2", "price": "10.000"},
            {"product_id": str(plate), "amount": "1", "price": ""},
        ],
        "uuids": [
            {"product_id": mug.id, "amount": 2.0, "price": 10.0},
            {"product_id": plate.id, "amount": 1},
        ],
        "mixed": {
            str(mug): {"amount": 2, "price": "10"},
            "7": {"product_id": plate.number, "amount": 1, "price": None},
        },
    }[form]
    order = await read(sample, await create(sample, products=products))
    lines = order["products"]
    assert list(lines) == ["1", "2"]
    assert [(line["product_id"], line["amount"], line["price"]) for line in lines.values()] == [
        (str(mug), "2", "10.00"),
        (str(plate), "1", "25.00"),
    ]
    assert order["company_id"] == "0"  # of two vendors
    assert [group["company_id"] for group in order["product_groups"]] == [
        str(sample.vendor),
        str(sample.rival),
    ]


async def test_the_extra_data_of_a_line_is_stored(sample):
    lines = [{"product_id": sample.mug.number, "amount": 1, "extra": {"engraving": "Ana"}}]
    order = await read(sample, await create(sample, products=lines))
    assert order["products"]["1"]["extra"] == {"engraving": "Ana"}


async def test_a_form_encoded_body_places_an_order(sample):
    form = (
        f"user_id={sample.caio}&payment_id={sample.pix}&shipping_id={sample.sedex}"
        f"&products[{sample.mug}][amount]=2&products[{sample.mug}][price]=9.90&user_data[s_city]=Olinda&notify_user=1"
    )
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await sample.post("/api/orders", data=form.encode(), headers=headers)
    assert answer.status == 201, answer.raw
    order = await read(sample, answer.body["order_id"])
    assert (order["subtotal"], order["s_city"]) == ("19.80", "Olinda")


@pytest.mark.parametrize(
    "status, code",
    [
        ("P", "P"),
        ("p", "P"),
        ("O", "O"),
        ("paid", "P"),
        ("processing", "P"),
        ("complete", "C"),
        ("shipped", "C"),
        ("delivered", "C"),
        ("declined", "D"),
        ("failed", "F"),
        ("cancelled", "I"),
        ("canceled", "I"),
        ("backordered", "B"),
        ("Open", "O"),
        ("pending", "O"),
    ],
)
async def test_status_codes_and_labels_are_accepted_and_codes_returned(sample, status, code):
    created = await create(sample, status=status)
    assert (await read(sample, created))["status"] == code
    answer = await sample.put(f"/api/orders/{sample.order}", {"status": status})
    assert (answer.status, answer.body) == (200, {"order_id": str(sample.order)})
    assert (await read(sample, sample.order))["status"] == code


async def test_a_guest_requires_an_email(sample):
    order = await read(
        sample, await create(sample, user_id=0, user_data={"email": "Gil@Example.com", "firstname": "Gil"})
    )
    assert (order["user_id"], order["email"], order["firstname"]) == ("0", "gil@example.com", "Gil")
    assert (await create(sample, user_id="0", email="gil@example.com")).isdigit()
    answer = await sample.post("/api/orders", order_body(sample, user_id=0))
    assert (answer.status, answer.body) == (400, {"status": 400, "message": "user_data.email is required"})


@pytest.mark.parametrize(
    "user_data, name, phone",
    [
        (
            {"b_firstname": "Gil", "b_lastname": "Reis", "s_firstname": "Ana", "s_phone": "81988887777"},
            "Gil Reis",
            "81988887777",
        ),
        ({"s_firstname": "Ana", "b_phone": "11"}, "Ana", "11"),
        ({"lastname": "Sá", "b_firstname": "Gil", "phone": "22", "b_phone": "11"}, "Sá", "22"),
        ({"s_city": "Recife"}, "", ""),
    ],
)
async def test_a_guest_has_the_name_and_phone_of_an_address_by_default(sample, user_data, name, phone):
    created = await create(sample, user_id=0, user_data={"email": "gil@example.com", **user_data})
    order = await read(sample, created)
    assert (f"{order['firstname']} {order['lastname']}".strip(), order["phone"]) == (name, phone)
    order = await read(sample, await create(sample, user_data=user_data))
    account = (await sample.get(f"/api/users/{sample.caio}")).body
    assert order["firstname"] == account["firstname"]


ADDRESS = {
    f"{prefix}_{name}": f"{prefix}{name}"
    for prefix in "bs"
    for name in ("firstname", "lastname", "address", "address_2", "city", "state", "country")
} | {"b_phone": "+351 21 1", "s_phone": "ramal 7", "b_zipcode": "50010000", "s_zipcode": "01310100"}


@pytest.mark.parametrize("is_nested", [True, False])
async def test_addresses_are_read_back(sample, is_nested):
    body = {"user_data": ADDRESS} if is_nested else ADDRESS
    created = await read(sample, await create(sample, **body))
    assert {name: created[name] for name in ADDRESS} == ADDRESS
    answer = await sample.put(f"/api/orders/{sample.order}", body)
    assert answer.status == 200, answer.raw
    changed = await read(sample, sample.order)
    assert {name: changed[name] for name in ADDRESS} == ADDRESS


@pytest.mark.parametrize(
    "name,value,expected",
    [("s_state", "XX", "a state of Brazil such as SP"), ("b_phone", "não tenho", "a telephone number")],
)
async def test_an_address_has_a_state_of_brazil_and_a_phone_with_digits(sample, name, value, expected):
    refusal = (400, f"{name} is {value!r}; expected {expected}")
    body = {"user_id": 0, "user_data": {"email": "gil@example.com", name: value}}
    body |= {"products": {"1": {"product_id": str(sample.ebook.number), "amount": 1}}}
    created = await sample.post("/api/orders", body)
    assert (created.status, created.body["message"]) == refusal
    changed = await sample.put(f"/api/orders/{sample.order}", {name: value})
    assert (changed.status, changed.body["message"]) == refusal
    # What an order has already may be sent back with the rest of it, and states of other countries are not known.
    column, kind = name.partition("_")[2], name[0].upper()
    await sample.execute(f"UPDATE order_addresses SET {column} = $1 WHERE kind = $2", value, kind)
    assert (await sample.put(f"/api/orders/{sample.order}", {name: value, "notes": "x"})).status == 200
    assert (await sample.put(f"/api/orders/{sample.order}", {"s_state": "Lisboa", "s_country": "PT"})).status == 200
    assert (await sample.put(f"/api/orders/{sample.order}", {"s_state": "Porto"})).status == 200


async def test_a_partial_address_keeps_the_rest(sample):
    before = await read(sample, sample.order)
    assert before["s_address"] == "Rua do Sol, 10"
    await sample.put(f"/api/orders/{sample.order}", {"user_data": {"s_city": "Olinda"}})
    after = await read(sample, sample.order)
    assert {name for name in before if before[name] != after[name]} == {"s_city"}
    await sample.put(f"/api/orders/{sample.order}", {"s_address": "Rua Nova"})
    assert (await read(sample, sample.order))["s_address"] == "Rua Nova"


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("firstname", "Zé", "Zé"),
        ("lastname", "Lima", "Lima"),
        ("email", "ZE@example.com", "ze@example.com"),
        ("phone", 81999990000, "81999990000"),
        ("notes", "n", "n"),
        ("details", "d", "d"),
        ("ip_address", "198.51.100.7", "198.51.100.7"),
        ("fields", {"nota_fiscal": "123"}, {"nota_fiscal": "123"}),
    ],
)
async def test_a_field_is_read_back_after_create_and_update(sample, name, value, expected):
    assert (await read(sample, await create(sample, **{name: value})))[name] == expected
    before = await read(sample, sample.order)
    answer = await sample.put(f"/api/orders/{sample.order}", {name: value})
    assert answer.status == 200, answer.raw
    after = await read(sample, sample.order)
    assert after[name] == expected
    assert {key for key in before if before[key] != after[key]} <= {name}


async def test_payment_and_shipping_method_can_change(sample):
    before = await read(sample, sample.order)
    await sample.put(f"/api/orders/{sample.order}", {"payment_id": str(sample.card)})
    after = await read(sample, sample.order)
    assert (after["payment_id"], after["payment_method"]["payment"]) == (str(sample.card), "Cartão")
    assert after["total"] == before["total"]
    await sample.put(f"/api/orders/{sample.guest_order}", {"shipping_ids": [sample.sedex.number]})
    assert (await read(sample, sample.guest_order))["shipping_ids"] == str(sample.sedex)


@pytest.mark.parametrize("value", [0, None, [], {}])
async def test_an_order_of_physical_products_keeps_a_shipping_method(sample, value):
    number = (await sample.post("/api/orders", order_body(sample))).body["order_id"]
    before = (await sample.get(f"/api/orders/{number}")).body
    refused = await sample.put(f"/api/orders/{number}", {"shipping_id": value})
    assert (refused.status, refused.body["message"]) == (400, SHIPPING_REQUIRED)
    assert (await sample.get(f"/api/orders/{number}")).body == before


@pytest.mark.parametrize(
    "field, path, created, message",
    [
        ("payment_id", "payments", {"payment": "Cheque"}, "the payment method is not available"),
        ("shipping_id", "shippings", {"shipping": "Balsa"}, "the shipping method is not available"),
    ],
)
async def test_an_order_does_not_change_to_a_disabled_method(sample, field, path, created, message):
    method = (await sample.post(f"/api/{path}", {**created, "status": "D"})).body[field]
    number = (await sample.post("/api/orders", order_body(sample))).body["order_id"]
    refused = await sample.put(f"/api/orders/{number}", {field: method})
    assert (refused.status, refused.body["message"]) == (422, message)


async def test_the_customer_can_change(sample):
    await sample.put(f"/api/orders/{sample.order}", {"user_id": sample.bia.number})
    assert (await read(sample, sample.order))["user_id"] == str(sample.bia)


async def test_new_lines_replace_the_lines_and_totals(sample):
    assert (await stock_of(sample, sample.mug), await stock_of(sample, sample.plate)) == ((50, 3), (20, 3))
    answer = await sample.put(
        f"/api/orders/{sample.order}",
        {"products": {str(sample.plate): {"amount": 4}, str(sample.mug): {"amount": 1}}, "total": "1.00"},
    )
    assert answer.status == 200, answer.raw
    order = await read(sample, sample.order)
    assert (order["subtotal"], order["total"]) == ("149.90", "164.90")
    assert order["company_id"] == "0"
    assert (await stock_of(sample, sample.mug), await stock_of(sample, sample.plate)) == ((50, 2), (20, 7))


async def test_lines_of_a_paid_order_cannot_change(sample):
    answer = await sample.put(
        f"/api/orders/{sample.guest_order}", {"products": [{"product_id": sample.mug.number, "amount": 1}]}
    )
    assert answer.status == 422
    assert set(answer.body) == {"status", "message"}


async def test_updating_a_record_with_itself_changes_nothing(sample):
    for order in (sample.order, sample.shared_order):
        before = await read(sample, order)
        answer = await sample.put(f"/api/orders/{order}", before)
        assert answer.status == 200, (order, answer.raw)
        after = await read(sample, order)
        for record in (before, after):  # an update replaces the lines
            for line in record["products"].values():
                line.pop("item_id")
            record.pop("product_groups")
        assert after == before, order


async def test_administrators_force_any_status_and_the_history_records_it(sample):
    for status in ("I", "C", "O", "P"):
        assert (await sample.put(f"/api/orders/{sample.order}", {"status": status})).status == 200
    history = (await read(sample, sample.order))["status_history"]
    assert [(step["status_from"], step["status"], step["forced"]) for step in history] == [
        ("", "O", "N"),
        ("O", "I", "N"),
        ("I", "C", "Y"),
        ("C", "O", "Y"),
        ("O", "P", "N"),
    ]


async def test_the_history_is_in_the_order_of_the_changes(sample):
    """A request that waited for a later one to change the order carries the time at which it began."""
    for status in ("P", "C"):
        assert (await sample.put(f"/api/orders/{sample.order}", {"status": status})).status == 200
    await sample.execute("update order_status_changes set at = at - interval '1 hour' where to_status = 'C'")
    history = (await read(sample, sample.order))["status_history"]
    assert [(step["status_from"], step["status"]) for step in history] == [("", "O"), ("O", "P"), ("P", "C")]


async def test_setting_the_current_status_changes_nothing(sample):
    assert (await sample.put(f"/api/orders/{sample.order}", {"status": "open"})).status == 200
    assert len((await read(sample, sample.order))["status_history"]) == 1


# --- Deleting ----------------------------------------------------------------------------------------------------------------


async def test_an_order_without_payment_or_shipment_is_deleted(sample):
    answer = await sample.delete(f"/api/orders/{sample.order}")
    assert (answer.status, answer.raw) == (204, b"")
    for method in ("GET", "PUT", "DELETE"):
        missing = await sample.request(method, f"/api/orders/{sample.order}", {} if method == "PUT" else None)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Order not found"}), method
    assert await stock_of(sample, sample.mug) == (50, 1)


async def test_deleting_a_paid_order_cancels_it(sample):
    await sample.execute("update orders set paid_cents = 1500 where id = $1", sample.guest_order.number)
    assert (await sample.delete(f"/api/orders/{sample.guest_order}")).status == 204
    assert (await read(sample, sample.guest_order))["status"] == "I"


async def test_deleting_a_shipped_order_cancels_it(sample):
    shipment = await sample.add(Shipment, order_id=sample.order.number, carrier="Correios")
    assert (await read(sample, sample.order))["shipment_ids"] == [str(shipment)]
    assert (await sample.delete(f"/api/orders/{sample.order}")).status == 204
    assert (await read(sample, sample.order))["status"] == "I"


# --- Errors ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, status, message",
    [
        ({"user_id": ...}, 400, "user_id is required"),
        ({"user_id": None}, 400, "user_id is required"),
        ({"user_id": ""}, 400, "user_id is required"),
        ({"user_id": "abc"}, 400, "user_id is 'abc'; expected an id"),
        ({"user_id": UNKNOWN_NUMBER}, 400, f"user '{UNKNOWN_NUMBER}' not found"),
        ({"user_id": UNKNOWN_ID}, 400, f"user '{UNKNOWN_ID}' not found"),
        ({"products": ...}, 400, "products is required"),
        ({"products": []}, 400, "products is required"),
        ({"products": {}}, 400, "products is required"),
        ({"products": "x"}, 400, "products is 'x'; expected an array or an object"),
        ({"products": ["x"]}, 400, "products holds 'x'; expected objects such as {product_id, amount}"),
        ({"products": [{"amount": 1}]}, 400, "products: product_id is required"),
        ({"products": [{"product_id": 1}]}, 400, "products: amount is required"),
        (
            {"products": [{"product_id": UNKNOWN_NUMBER, "amount": 1}]},
            400,
            f"product '{UNKNOWN_NUMBER}' not found",
        ),
        (
            {"products": [{"product_id": "abc", "amount": 1}]},
            400,
            "products: product_id is 'abc'; expected an id",
        ),
        (
            {"products": [{"product_id": 1, "amount": "1.5"}]},
            400,
            "products: amount is '1.5'; expected a whole number",
        ),
        (
            {"products": [{"product_id": 1, "amount": 1, "price": "-1"}]},
            400,
            "products: price is '-1'; expected zero or more",
        ),
        ({"payment_id": UNKNOWN_NUMBER}, 400, f"payment method '{UNKNOWN_NUMBER}' not found"),
        ({"shipping_id": UNKNOWN_NUMBER}, 400, f"shipping method '{UNKNOWN_NUMBER}' not found"),
        ({"shipping_id": ...}, 400, SHIPPING_REQUIRED),
        ({"shipping_id": 0}, 400, SHIPPING_REQUIRED),
        ({"status": "ZZ"}, 400, "status is 'ZZ'; expected one of O, P, C, D, F, I, B"),
        ({"status": "Z"}, 400, "status is 'Z'; expected one of O, P, C, D, F, I, B"),
        ({"status": 5}, 400, "status is 5; expected one of O, P, C, D, F, I, B"),
        ({"user_data": "x"}, 400, "user_data is 'x'; expected an object"),
        ({"fields": "x"}, 400, "fields is 'x'; expected an object"),
        ({"user_data": {"email": "x"}}, 400, "email is 'x'; expected an e-mail address"),
    ],
)
async def test_invalid_input_is_rejected_with_the_documented_message(sample, body, status, message):
    answer = await sample.post("/api/orders", order_body(sample, **body))
    assert (answer.status, answer.body["message"]) == (status, message)
    assert answer.body["status"] == status


async def test_an_amount_of_zero_is_rejected(sample):
    products = [{"product_id": sample.mug.number, "amount": 0}]
    answer = await sample.post("/api/orders", order_body(sample, products=products))
    assert answer.status == 400
    assert answer.body["message"].startswith("products: amount is 0; expected")


async def test_ordering_more_than_the_stock_is_422(sample):
    products = [{"product_id": sample.mug.number, "amount": 48}]
    answer = await sample.post("/api/orders", order_body(sample, products=products))
    assert answer.status == 422
    assert answer.body["message"] == "out of stock: Caneca de Ágata"
    assert await stock_of(sample, sample.mug) == (50, 3)


async def test_products_without_shipping_need_no_shipping_method(sample):
    products = [{"product_id": sample.ebook.number, "amount": 1}]
    assert (await create(sample, products=products, shipping_id=...)).isdigit()


async def test_an_order_may_have_as_much_as_a_refused_change_says(sample):
    """The units that it has already are available to it."""
    free = int((await sample.get(f"/api/products/{sample.mug}")).body["amount"])
    number = await create(sample, products=[{"product_id": sample.mug.number, "amount": 5}])
    lines = {sample.mug.number: {"amount": free + 1}}
    refused = await sample.put(f"/api/orders/{number}", {"products": lines})
    assert (refused.status, [row["available"] for row in refused.body["products"]]) == (422, [free])
    lines = {sample.mug.number: {"amount": free}}
    assert (await sample.put(f"/api/orders/{number}", {"products": lines})).status == 200


@pytest.mark.combination
async def test_an_order_of_a_combination_may_have_as_much_as_a_refused_change_says(sample):
    choice = {str(sample.size): sample.large.number, str(sample.print): sample.plain.number}
    line = {"product_id": sample.mug.number, "product_options": choice}
    number = await create(sample, products=[{**line, "amount": 2}])
    refused = await sample.put(f"/api/orders/{number}", {"products": [{**line, "amount": 4}]})
    assert (refused.status, [row["available"] for row in refused.body["products"]]) == (422, [3])


async def test_an_order_cannot_be_reopened_when_its_stock_is_sold_out(sample):
    await sample.put(f"/api/orders/{sample.order}", {"status": "D"})
    await sample.put(f"/api/products/{sample.mug}", {"amount": 1})
    answer = await sample.put(f"/api/orders/{sample.order}", {"status": "O"})
    assert (answer.status, answer.body["message"]) == (422, "out of stock: Caneca de Ágata")
