"""Check the discussion routes and the discussions of a product."""

from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore


async def create(sample: SampleStore, **body: Any) -> str:
    required = {"object_type": "P", "object_id": sample.plate.number, "message": "Bom"}
    answer = await sample.post("/api/discussions", required | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"post_id"}
    return answer.body["post_id"]


async def read(sample: SampleStore, post_id: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/discussions/{post_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_post_is_created_with_defaults(sample):
    post = await read(sample, await create(sample))
    assert post.pop("timestamp").isdigit()
    assert post.pop("thread_id").isdigit()
    assert post.pop("post_id").isdigit()
    assert post.pop("ip_address")  # the client's
    assert post == {
        "object_type": "P",
        "object_id": str(sample.plate),
        "type": "B",
        "name": "",
        "message": "Bom",
        "rating_value": "0",
        "user_id": "0",
        "status": "A",
        "company_id": str(sample.rival),
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
async def test_a_field_is_read_back(sample, name, value, expected):
    assert (await read(sample, await create(sample, **{name: value})))[name] == expected


async def test_the_name_defaults_to_the_users_name(sample):
    for reference in (sample.bia.number, str(sample.bia), sample.bia.id):
        post = await read(sample, await create(sample, user_id=reference))
        assert (post["user_id"], post["name"]) == (str(sample.bia), "Bia Lima"), reference


async def test_a_discussion_accepts_every_object_type(sample):
    for code, label, record in (
        ("P", "product", sample.plate),
        ("C", "category", sample.home),
        ("O", "order", sample.order),
    ):
        for object_type in (code, label, code.lower()):
            for reference in (record.number, str(record), record.id):
                post = await read(sample, await create(sample, object_type=object_type, object_id=reference))
                assert (post["object_type"], post["object_id"]) == (code, str(record))
    testimonial = await sample.post("/api/discussions", {"object_type": "E", "message": "Loja boa"})
    post = await read(sample, testimonial.body["post_id"])
    assert (post["object_type"], post["object_id"]) == ("E", "0")


async def test_a_post_continues_an_existing_thread(sample):
    first = await read(sample, await create(sample))
    answer = await sample.post("/api/discussions", {"thread_id": first["thread_id"], "message": "Eu também"})
    second = await read(sample, answer.body["post_id"])
    assert second["thread_id"] == first["thread_id"]
    assert (second["object_type"], second["object_id"]) == (first["object_type"], first["object_id"])
    assert (await read(sample, await create(sample)))["thread_id"] == first["thread_id"]


async def test_the_discussions_of_a_product_are_the_same_posts(sample):
    number = await create(sample, rating_value=3)
    nested = (await sample.get(f"/api/products/{sample.plate}/discussions")).body
    assert nested["discussions"] == [await read(sample, number)]
    listed = (await sample.get(f"/api/discussions?object_type=P&object_id={sample.plate}")).body
    assert list(listed["discussions"]) == [number]
    assert list((await sample.get(f"/api/discussions?object_id={sample.plate.id}")).body["discussions"]) == [number]


@pytest.mark.parametrize(
    "body, message",
    [
        ({"object_type": None}, "object_type is required"),
        ({"object_type": "Z"}, "object_type is 'Z'; expected one of P, C, A, O, E"),
        ({"object_id": None}, "object_id is required"),
        ({"object_id": 0}, "object_id is required"),
        ({"object_id": "abc"}, "object_id is 'abc'; expected an id"),
        ({"object_id": UNKNOWN_NUMBER}, f"product '{UNKNOWN_NUMBER}' not found"),
        ({"object_type": "O", "object_id": UNKNOWN_ID}, f"order '{UNKNOWN_ID}' not found"),
        ({"thread_id": UNKNOWN_NUMBER}, f"discussion '{UNKNOWN_NUMBER}' not found"),
        ({"message": []}, "message is []; expected a text"),
        ({"rating_value": 6}, "rating_value is 6; expected a whole number from 1 to 5"),
        ({"rating_value": 0}, "rating_value is 0; expected a whole number from 1 to 5"),
        ({"rating_value": "many"}, "rating_value is 'many'; expected a whole number"),
        ({"status": "H"}, "status is 'H'; expected one of A, D, P"),
        ({"user_id": UNKNOWN_NUMBER}, f"user_id '{UNKNOWN_NUMBER}' not found"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(sample, body, message):
    valid = {"object_type": "P", "object_id": sample.plate.number, "message": "x"}
    answer = await sample.post("/api/discussions", valid | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})
    assert await sample.value("select count(*) from discussion_posts") == 1  # the existing review


async def test_a_post_can_be_deleted_but_not_updated(sample):
    answer = await sample.request("PUT", f"/api/discussions/{sample.review}", {"message": "x"})
    assert (answer.status, answer.headers["Allow"]) == (405, "DELETE, GET, HEAD")
    answer = await sample.delete(f"/api/discussions/{sample.review}")
    assert (answer.status, answer.raw) == (204, b"")
    for method in ("GET", "DELETE"):
        missing = await sample.request(method, f"/api/discussions/{sample.review}")
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Discussion not found"}), method


async def test_a_form_encoded_body_creates_a_post(sample):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = f"object_type=product&object_id={sample.mug}&message=Ol%C3%A1&rating_value=4"
    answer = await sample.post("/api/discussions", data=form.encode(), headers=headers)
    post = await read(sample, answer.body["post_id"])
    assert (post["message"], post["rating_value"]) == ("Olá", "4")


async def test_the_ip_address_requires_the_manage_privilege(sample):
    viewer = await sample.add_user("view_products")
    post = (await sample.get(f"/api/discussions/{sample.review}", by=viewer)).body
    assert "ip_address" not in post


async def test_discussions_of_an_order_are_visible_to_its_customer_only(sample):
    await create(sample, object_type="O", object_id=sample.order.number, user_id=sample.caio.number)
    await create(sample, object_type="O", object_id=sample.order.number, message="Do balcão")
    query = {"query": "{ reviews { message object_type } }"}
    for person, expected in ((sample.caio, ["O", "P"]), (sample.bia, ["P"])):
        answer = await sample.post("/graphql", query, by=person, auth="bearer")
        assert sorted(row["object_type"] for row in answer.body["data"]["reviews"]) == expected
    mutation = (
        """mutation ($id: ID!) { review_create(input: {object_type: "O", object_id: $id, message: "x"}) { id } }"""
    )
    for person, allowed in ((sample.caio, True), (sample.bia, False)):
        sent = {"query": mutation, "variables": {"id": sample.order.id}}
        answer = (await sample.post("/graphql", sent, by=person, auth="bearer")).body
        assert ("errors" not in answer) == allowed, answer
