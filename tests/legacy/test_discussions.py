"""Check discussions over every route; those of a product are listed below it too."""

from typing import Any

import pytest

from tests.shop import NO_NUMBER, NOBODY, Shop


async def create(shop: Shop, **body: Any) -> str:
    given = {"object_type": "P", "object_id": shop.plate.number, "message": "Bom"} | body
    answer = await shop.post("/api/discussions", given)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"post_id"}
    return answer.body["post_id"]


async def shown(shop: Shop, post_id: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/discussions/{post_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_post_is_created_with_defaults(shop):
    post = await shown(shop, await create(shop))
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
    "name, given, read_back",
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
async def test_a_field_is_read_back(shop, name, given, read_back):
    assert (await shown(shop, await create(shop, **{name: given})))[name] == read_back


async def test_an_account_gives_its_name(shop):
    for reference in (shop.bia.number, str(shop.bia), shop.bia.id):
        post = await shown(shop, await create(shop, user_id=reference))
        assert (post["user_id"], post["name"]) == (str(shop.bia), "Bia Lima")


async def test_everything_that_can_be_spoken_of(shop):
    for letter, label, record in (
        ("P", "product", shop.plate),
        ("C", "category", shop.home),
        ("O", "order", shop.order),
    ):
        for kind in (letter, label, letter.lower()):
            for reference in (record.number, str(record), record.id):
                post = await shown(shop, await create(shop, object_type=kind, object_id=reference))
                assert (post["object_type"], post["object_id"]) == (letter, str(record))
    of_the_store = await shop.post("/api/discussions", {"object_type": "E", "message": "Loja boa"})
    post = await shown(shop, of_the_store.body["post_id"])
    assert (post["object_type"], post["object_id"]) == ("E", "0")


async def test_a_thread_goes_on(shop):
    first = await shown(shop, await create(shop))
    answer = await shop.post("/api/discussions", {"thread_id": first["thread_id"], "message": "Eu também"})
    second = await shown(shop, answer.body["post_id"])
    assert second["thread_id"] == first["thread_id"]
    assert (second["object_type"], second["object_id"]) == (first["object_type"], first["object_id"])
    assert (await shown(shop, await create(shop)))["thread_id"] == first["thread_id"]


async def test_the_same_posts_stand_below_the_product(shop):
    number = await create(shop, rating_value=3)
    below = (await shop.get(f"/api/products/{shop.plate}/discussions")).body
    assert below["discussions"] == [await shown(shop, number)]
    found = (await shop.get(f"/api/discussions?object_type=P&object_id={shop.plate}")).body
    assert list(found["discussions"]) == [number]
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
async def test_what_is_wrong_is_told_with_the_legacy_name(shop, body, message):
    given = {"object_type": "P", "object_id": shop.plate.number, "message": "x"} | body
    answer = await shop.post("/api/discussions", given)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})
    assert await shop.value("select count(*) from discussion_posts") == 1  # the review there was before


async def test_a_post_is_deleted_and_not_changed(shop):
    answer = await shop.call("PUT", f"/api/discussions/{shop.review}", {"message": "x"})
    assert (answer.status, answer.headers["Allow"]) == (405, "DELETE, GET, HEAD")
    answer = await shop.delete(f"/api/discussions/{shop.review}")
    assert (answer.status, answer.raw) == (204, b"")
    for method in ("GET", "DELETE"):
        gone = await shop.call(method, f"/api/discussions/{shop.review}")
        assert (gone.status, gone.body) == (404, {"status": 404, "message": "Discussion not found"})


async def test_a_php_form_makes_a_post_too(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = f"object_type=product&object_id={shop.mug}&message=Ol%C3%A1&rating_value=4"
    answer = await shop.post("/api/discussions", data=form.encode(), headers=headers)
    post = await shown(shop, answer.body["post_id"])
    assert (post["message"], post["rating_value"]) == ("Olá", "4")


async def test_the_sender_s_address_is_for_those_who_manage(shop):
    viewer = await shop.new_person("view_products")
    post = (await shop.get(f"/api/discussions/{shop.review}", by=viewer)).body
    assert "ip_address" not in post


async def test_what_is_said_of_an_order_stays_between_buyer_and_shop(shop):
    await create(shop, object_type="O", object_id=shop.order.number, user_id=shop.caio.number)
    await create(shop, object_type="O", object_id=shop.order.number, message="Do balcão")
    query = {"query": "{ reviews { message object_type } }"}
    for who, expected in ((shop.caio, ["O", "P"]), (shop.bia, ["P"])):
        answer = await shop.post("/graphql", query, by=who, auth="bearer")
        assert sorted(row["object_type"] for row in answer.body["data"]["reviews"]) == expected
    said = """mutation ($id: ID!) { review_create(input: {object_type: "O", object_id: $id, message: "x"}) { id } }"""
    for who, allowed in ((shop.caio, True), (shop.bia, False)):
        sent = {"query": said, "variables": {"id": shop.order.id}}
        answer = (await shop.post("/graphql", sent, by=who, auth="bearer")).body
        assert ("errors" not in answer) == allowed, answer
