"""Check the discussion routes and the discussions of a product."""

from typing import Any

import pytest

from tests.shop import NO_NUMBER, NOBODY, Shop


async def create(shop: Shop, **body: Any) -> str:
    required = {"object_type": "P", "object_id": shop.plate.number, "message": "Bom"}
    answer = await shop.post("/api/discussions", required | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"post_id"}
    return answer.body["post_id"]


async def read(shop: Shop, post_id: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/discussions/{post_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_post_is_created_with_defaults(shop):
    post = await read(shop, await create(shop))
    assert post.pop("timestamp").isdigit()
    assert post.pop("thread_id").isdigit()
    assert post.pop("post_id").isdigit()
    assert post.pop("ip_address")  # the client's
    assert post == {
        "object_type": "P",
        "object_id": str(shop.plate),
        "type": "B",
        "name": "",
        "message": "Bom",
        "rating_value": "0",
        "user_id": "0",
        "status": "A",
    }


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("name", "Bia", "Bia"),
        ("message", "É ótimo", "É ótimo"),
        ("rating_value", 5, "5"),
        ("rating_value", "1", "1"),
        ("rating_value", "", "0"),
        ("type", "C", "C"),
        ("type", "both", "B"),
        ("status", "D", "D"),
        ("status", "pending", "P"),
        ("ip_address", "203.0.113.7", "203.0.113.7"),
    ],
)
async def test_a_field_is_read_back(shop, name, value, expected):
    assert (await read(shop, await create(shop, **{name: value})))[name] == expected


async def test_the_name_defaults_to_the_users_name(shop):
    for reference in (shop.bia.number, str(shop.bia), shop.bia.id):
        post = await read(shop, await create(shop, user_id=reference))
        assert (post["user_id"], post["name"]) == (str(shop.bia), "Bia Lima")


async def test_a_discussion_accepts_every_object_type(shop):
    for code, label, record in (
        ("P", "product", shop.plate),
        ("C", "category", shop.home),
        ("O", "order", shop.order),
    ):
        for object_type in (code, label, code.lower()):
            for reference in (record.number, str(record), record.id):
                post = await read(shop, await create(shop, object_type=object_type, object_id=reference))
                assert (post["object_type"], post["object_id"]) == (code, str(record))
    testimonial = await shop.post("/api/discussions", {"object_type": "E", "message": "Loja boa"})
    post = await read(shop, testimonial.body["post_id"])
    assert (post["object_type"], post["object_id"]) == ("E", "0")


async def test_a_post_continues_an_existing_thread(shop):
    first = await read(shop, await create(shop))
    answer = await shop.post("/api/discussions", {"thread_id": first["thread_id"], "message": "Eu também"})
    second = await read(shop, answer.body["post_id"])
    assert second["thread_id"] == first["thread_id"]
    assert (second["object_type"], second["object_id"]) == (first["object_type"], first["object_id"])
    assert (await read(shop, await create(shop)))["thread_id"] == first["thread_id"]


async def test_the_discussions_of_a_product_are_the_same_posts(shop):
    number = await create(shop, rating_value=3)
    nested = (await shop.get(f"/api/products/{shop.plate}/discussions")).body
    assert nested["discussions"] == [await read(shop, number)]
    listed = (await shop.get(f"/api/discussions?object_type=P&object_id={shop.plate}")).body
    assert list(listed["discussions"]) == [number]
    assert list((await shop.get(f"/api/discussions?object_id={shop.plate.id}")).body["discussions"]) == [
        number
    ]


@pytest.mark.parametrize(
    "body, message",
    [
        ({"object_type": None}, "object_type is required"),
        ({"object_type": "Z"}, "object_type is 'Z'; expected one of P, C, A, O, E"),
        ({"object_id": None}, "object_id is required"),
        ({"object_id": 0}, "object_id is required"),
        ({"object_id": "abc"}, "object_id is 'abc'; expected an id"),
        ({"object_id": NO_NUMBER}, f"product '{NO_NUMBER}' not found"),
        ({"object_type": "O", "object_id": NOBODY}, f"order '{NOBODY}' not found"),
        ({"thread_id": NO_NUMBER}, f"discussion '{NO_NUMBER}' not found"),
        ({"message": ""}, "message is required"),
        ({"message": []}, "message is []; expected a text"),
        ({"rating_value": 6}, "rating_value is 6; expected a whole number from 1 to 5"),
        ({"rating_value": 0}, "rating_value is 0; expected a whole number from 1 to 5"),
        ({"rating_value": "many"}, "rating_value is 'many'; expected a whole number"),
        ({"type": "R", "message": "x"}, "rating_value is required"),
        ({"status": "H"}, "status is 'H'; expected one of A, D, P"),
        ({"user_id": NO_NUMBER}, f"user_id '{NO_NUMBER}' not found"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(shop, body, message):
    valid = {"object_type": "P", "object_id": shop.plate.number, "message": "x"}
    answer = await shop.post("/api/discussions", valid | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})
    assert await shop.value("select count(*) from discussion_posts") == 1  # the existing review


async def test_a_post_can_be_deleted_but_not_updated(shop):
    answer = await shop.call("PUT", f"/api/discussions/{shop.review}", {"message": "x"})
    assert (answer.status, answer.headers["Allow"]) == (405, "DELETE, GET, HEAD")
    answer = await shop.delete(f"/api/discussions/{shop.review}")
    assert (answer.status, answer.raw) == (204, b"")
    for method in ("GET", "DELETE"):
        missing = await shop.call(method, f"/api/discussions/{shop.review}")
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Discussion not found"})


async def test_a_form_encoded_body_creates_a_post(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = f"object_type=product&object_id={shop.mug}&message=Ol%C3%A1&rating_value=4"
    answer = await shop.post("/api/discussions", data=form.encode(), headers=headers)
    post = await read(shop, answer.body["post_id"])
    assert (post["message"], post["rating_value"]) == ("Olá", "4")


async def test_the_ip_address_requires_the_manage_privilege(shop):
    viewer = await shop.new_person("view_products")
    post = (await shop.get(f"/api/discussions/{shop.review}", by=viewer)).body
    assert "ip_address" not in post


async def test_discussions_of_an_order_are_visible_to_its_customer_only(shop):
    await create(shop, object_type="O", object_id=shop.order.number, user_id=shop.caio.number)
    await create(shop, object_type="O", object_id=shop.order.number, message="Do balcão")
    query = {"query": "{ reviews { message object_type } }"}
    for person, expected in ((shop.caio, ["O", "P"]), (shop.bia, ["P"])):
        answer = await shop.post("/graphql", query, by=person, auth="bearer")
        assert sorted(row["object_type"] for row in answer.body["data"]["reviews"]) == expected
    mutation = """mutation ($id: ID!) { review_create(input: {object_type: "O", object_id: $id, message: "x"}) { id } }"""
    for person, allowed in ((shop.caio, True), (shop.bia, False)):
        sent = {"query": mutation, "variables": {"id": shop.order.id}}
        answer = (await shop.post("/graphql", sent, by=person, auth="bearer")).body
        assert ("errors" not in answer) == allowed, answer
