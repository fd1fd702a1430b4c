"""Check inboxes: access, pagination, records and the notifications the platform creates."""

import base64
from typing import Any

import pytest

from tests.shop import NO_NUMBER, NOBODY, Person, Shop, is_uuid

MISSING = "Authentication required. Use Basic with email and API key or a Bearer JWT."
FORBIDDEN = {"status": 403, "message": "Forbidden: admin scope required"}


async def inbox(shop: Shop, user_id: Any, query: str = "", **kwargs: Any) -> Any:
    answer = await shop.get(f"/api/v1.0/notifications?user_id={user_id}{query}", **kwargs)
    assert answer.status == 200, answer.raw
    assert set(answer.body) == {"notifications", "search"}
    return answer.body


async def titles(shop: Shop, person: Person, **kwargs: Any) -> list[str]:
    return [row["title"] for row in (await inbox(shop, person.id, **kwargs))["notifications"]]


async def clear(shop: Shop) -> None:
    await shop.execute("delete from notifications where tenant_id = $1", shop.store.id)


async def fill(shop: Shop, person: Person, number: int) -> None:
    await shop.execute(
        "insert into notifications (public_id, user_id, type, title, created_at)"
        " select gen_random_uuid(), $1, 'order', 'n ' || n, timestamptz '2026-01-01Z' + n * interval '1 second'"
        " from generate_series(1, $2) n",
        person.number,
        number,
    )


async def test_a_notification_has_the_documented_fields(shop):
    await clear(shop)
    assert await inbox(shop, shop.caio.id) == {
        "notifications": [],
        "search": {"page": 1, "items_per_page": 10, "total_items": 0},
    }
    await shop.put(f"/api/orders/{shop.order}", {"status": "P"})
    [row] = (await inbox(shop, shop.caio.id))["notifications"]
    assert is_uuid(row.pop("notification_id"))
    assert isinstance(row.pop("timestamp"), int)
    assert row == {
        "user_id": shop.caio.id,
        "type": "order",
        "title": f"Pedido nº {shop.order}: pago",
        "message": f"O pedido nº {shop.order} passou de “aberto” para “pago”.",
        "status": "unread",
    }


async def test_the_user_id_is_a_number_or_uuid(shop):
    assert await inbox(shop, shop.caio.number) == await inbox(shop, shop.caio.id.upper())


async def test_the_newest_notifications_come_first(shop):
    await clear(shop)
    await fill(shop, shop.bia, 3)
    assert await titles(shop, shop.bia) == ["n 3", "n 2", "n 1"]


@pytest.mark.parametrize(
    "query, page, size",
    [
        ("", 1, 10),
        ("&page=2", 2, 10),
        ("&page=0", 1, 10),
        ("&page=-1", 1, 10),
        ("&page=x", 1, 10),
        ("&items_per_page=7&page=2", 2, 7),
        ("&items_per_page=1", 1, 1),
        ("&items_per_page=250", 1, 250),
        ("&items_per_page=251", 1, 10),
        ("&items_per_page=0", 1, 10),
        ("&items_per_page=-3", 1, 10),
        ("&items_per_page=x", 1, 10),
        ("&items_per_page=99999999999999999999", 1, 10),
    ],
)
async def test_a_page_size_out_of_range_is_ten(shop, query, page, size):
    await clear(shop)
    await fill(shop, shop.bia, 23)
    body = await inbox(shop, shop.bia.id, query)
    assert body["search"] == {"page": page, "items_per_page": size, "total_items": 23}
    assert len(body["notifications"]) == max(0, min(size, 23 - (page - 1) * size))


@pytest.mark.parametrize("query", ["", "?user_id=", "?page=2"])
async def test_user_id_is_required(shop, query):
    answer = await shop.get(f"/api/v1.0/notifications{query}")
    assert (answer.status, answer.body) == (400, {"message": "user_id is required", "status": 400})


@pytest.mark.parametrize("user", ["abc", "-1", "1.5", "0x1", NOBODY[:-1], "1%202", "%C3%A9", "1e3"])
async def test_an_invalid_user_id_is_rejected(shop, user):
    answer = await shop.get(f"/api/v1.0/notifications?user_id={user}")
    assert (answer.status, answer.body) == (
        400,
        {"message": "user_id must be a UUID or a number", "status": 400},
    )


async def test_a_list_of_user_ids_is_rejected(shop):
    assert (await shop.get(f"/api/v1.0/notifications?user_id[]={shop.caio.id}")).status == 400


async def test_administrators_read_an_empty_inbox_for_an_unknown_user(shop):
    for user_id in (NOBODY, NO_NUMBER, 0, "9" * 40):
        assert (await inbox(shop, user_id))["notifications"] == []


async def test_users_read_their_own_inbox_and_administrators_any_inbox(shop):
    await clear(shop)
    for person in (shop.caio, shop.seller, shop.staff, shop.owner):
        await fill(shop, person, 1)
        for user_id in (person.id, person.number):
            assert (await inbox(shop, user_id, by=person, auth="bearer"))["search"]["total_items"] == 1
            assert (await inbox(shop, user_id, by=shop.staff))["search"]["total_items"] == 1
    for person, other in ((shop.caio, shop.bia), (shop.caio, shop.owner), (shop.seller, shop.caio)):
        for user_id in (other.id, other.number, NOBODY, NO_NUMBER):
            answer = await shop.get(f"/api/v1.0/notifications?user_id={user_id}", by=person, auth="bearer")
            assert (answer.status, answer.body) == (403, FORBIDDEN)


async def test_a_vendors_api_key_reads_its_own_inbox(shop):
    assert await inbox(shop, shop.seller.id, by=shop.seller, auth="basic")


async def test_another_stores_inbox_is_empty_and_its_token_is_rejected(shop, other_shop):
    assert (await inbox(shop, other_shop.caio.id))["notifications"] == []
    answer = await shop.get(f"/api/v1.0/notifications?user_id={shop.caio.id}", at=other_shop, auth="bearer")
    assert (answer.status, answer.body["status"]) == (403, 403)


async def test_a_credential_is_required(shop):
    answer = await shop.get(f"/api/v1.0/notifications?user_id={shop.caio.id}", auth=None)
    assert (answer.status, answer.body) == (401, {"message": MISSING, "status": 401})
    wrong = base64.b64encode(f"{shop.owner.email}:x".encode()).decode()
    for header in (f"Basic {wrong}", "Bearer x"):
        answer = await shop.get(
            f"/api/v1.0/notifications?user_id={shop.caio.id}", auth=None, headers={"Authorization": header}
        )
        assert (answer.status, answer.body) == (401, {"message": "Invalid credentials", "status": 401})


async def test_inboxes_are_served_under_every_base_and_are_read_only(shop):
    for base in ("/api", "/api/v1.0", "/api/2.0", "/api/2"):
        for slash in ("", "/"):
            answer = await shop.get(f"{base}/notifications{slash}?user_id={shop.caio.id}")
            assert answer.status == 200
            refused = await shop.post(f"{base}/notifications{slash}", {})
            assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD")


async def test_the_statement_count_does_not_depend_on_the_inbox_size(shop):
    await shop.get("/api/products")
    counts = []
    for number in (1, 100):
        await fill(shop, shop.bia, number)
        answer = await shop.get(f"/api/notifications?user_id={shop.bia.id}&items_per_page=250")
        counts.append(answer.statements)
    assert counts == [3, 3]  # the user, the rows, their count


# --- Created notifications ---------------------------------------------------------------------------------------------------


async def test_a_new_order_notifies_customer_vendors_and_order_administrators(shop):
    await clear(shop)
    other = await shop.new_person("view_products")
    team_member = await shop.new_person("view_apps")
    await shop.put(f"/api/users/{team_member}/usergroups/{shop.team}", {"status": "A"})
    order = await shop.new_order((shop.mug, 1), user=shop.bia.id)
    expected = [f"Novo pedido nº {order}"]
    for person in (shop.bia, shop.seller, shop.owner, shop.staff, team_member):
        assert await titles(shop, person) == expected, person
    for person in (shop.caio, shop.rival_seller, other):
        assert await titles(shop, person) == [], person


async def test_disabled_users_are_not_notified(shop):
    await shop.put(f"/api/users/{shop.bia}", {"status": "D"})
    await clear(shop)
    await shop.new_order((shop.mug, 1), user=shop.bia.id)
    assert await titles(shop, shop.bia) == []


async def test_a_rejected_update_creates_no_notification(shop):
    await clear(shop)
    answer = await shop.put(
        f"/api/orders/{shop.order}", {"products": [{"product_id": shop.plate.number, "amount": 10**6}]}
    )
    assert answer.status == 422
    assert await titles(shop, shop.owner) == []


async def test_only_status_changes_create_notifications(shop):
    await clear(shop)
    await shop.put(f"/api/orders/{shop.order}", {"notes": "x"})
    await shop.put(f"/api/orders/{shop.order}", {"status": "O"})
    assert await titles(shop, shop.caio) == []
    await shop.delete(f"/api/orders/{shop.order}")
    # Deleting an order cancels it first.
    assert await titles(shop, shop.caio) == [f"Pedido nº {shop.order}: cancelado"]


async def test_low_stock_notifies_vendor_and_product_administrators_once(new_shop):
    shop = await new_shop(low_stock_at=3)
    product = await shop.new_product(name="Bule", on_hand=5)
    await clear(shop)
    await shop.new_order((product, 1), user=shop.bia.id)
    assert "Estoque baixo: Bule" not in await titles(shop, shop.seller)
    await shop.new_order((product, 1), user=shop.bia.id)
    await shop.new_order((product, 1), user=shop.bia.id)
    for person in (shop.seller, shop.owner):
        assert (await titles(shop, person)).count("Estoque baixo: Bule") == 1
    for person in (shop.rival_seller, shop.staff, shop.bia):
        assert "Estoque baixo: Bule" not in await titles(shop, person)
    [row] = [row for row in (await inbox(shop, shop.seller.id))["notifications"] if row["type"] == "stock"]
    assert row["message"] == "“Bule” está com 3 unidades para venda."


async def test_low_stock_set_by_staff_notifies_like_a_sale(new_shop):
    shop = await new_shop(low_stock_at=3)
    product, other = await shop.new_product(name="Bule", on_hand=5), await shop.new_product(on_hand=9)
    await clear(shop)
    await shop.put(f"/api/products/{product}", {"amount": 4})
    await shop.put(f"/api/products/{product}", {"product": "Bule azul"})
    assert await titles(shop, shop.seller) == []
    await shop.put(f"/api/products/{product}", {"amount": 2})
    await shop.put(f"/api/products/{product}", {"amount": 1})  # already low
    await shop.put(f"/api/products/{other}", {"amount": 0, "tracking": "D"})  # stock not tracked
    for person in (shop.seller, shop.owner):
        assert await titles(shop, person) == ["Estoque baixo: Bule azul"]
