"""Check inboxes: access, pagination, records and the notifications the platform creates."""

import base64
from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER, UserRecord, is_uuid
from tests.harness.sample_store import SampleStore

MISSING = "Authentication required. Use Basic with email and API key or a Bearer JWT."
FORBIDDEN = {"status": 403, "message": "Forbidden: admin scope required"}


async def inbox(sample: SampleStore, user_id: Any, query: str = "", **kwargs: Any) -> Any:
    answer = await sample.get(f"/api/v1.0/notifications?user_id={user_id}{query}", **kwargs)
    assert answer.status == 200, answer.raw
    assert set(answer.body) == {"notifications", "search"}
    return answer.body


async def titles(sample: SampleStore, person: UserRecord, **kwargs: Any) -> list[str]:
    return [row["title"] for row in (await inbox(sample, person.id, **kwargs))["notifications"]]


async def clear(sample: SampleStore) -> None:
    await sample.execute("delete from notifications where tenant_id = $1", sample.store.id)


async def fill(sample: SampleStore, person: UserRecord, number: int) -> None:
    await sample.execute(
        "insert into notifications (public_id, user_id, type, title, created_at)"
        " select gen_random_uuid(), $1, 'order', 'n ' || n, timestamptz '2026-01-01Z' + n * interval '1 second'"
        " from generate_series(1, $2) n",
        person.number,
        number,
    )


async def test_a_notification_has_the_documented_fields(sample):
    await clear(sample)
    assert await inbox(sample, sample.caio.id) == {
        "notifications": [],
        "search": {"page": 1, "items_per_page": 10, "total_items": 0},
    }
    await sample.put(f"/api/orders/{sample.order}", {"status": "P"})
    [row] = (await inbox(sample, sample.caio.id))["notifications"]
    assert is_uuid(row.pop("notification_id"))
    assert isinstance(row.pop("timestamp"), int)
    assert row == {
        "user_id": sample.caio.id,
        "type": "order",
        "title": f"Pedido nº {sample.order}: pago",
        "message": f"O pedido nº {sample.order} passou de “aberto” para “pago”.",
        "status": "unread",
    }


async def test_a_status_that_the_store_added_is_named_by_its_description(sample):
    status = {"status": "T", "type": "O", "description": "Em separação"}
    assert (await sample.post("/api/statuses", status)).status == 201
    await clear(sample)
    for code in ("T", "C"):
        assert (await sample.put(f"/api/orders/{sample.order}", {"status": code})).status == 200
    latest, earlier = (await inbox(sample, sample.caio.id))["notifications"]
    assert earlier["title"] == f"Pedido nº {sample.order}: Em separação"
    assert latest["message"] == f"O pedido nº {sample.order} passou de “Em separação” para “concluído”."


async def test_the_user_id_is_a_number_or_uuid(sample):
    assert await inbox(sample, sample.caio.number) == await inbox(sample, sample.caio.id.upper())


async def test_the_newest_notifications_come_first(sample):
    await clear(sample)
    await fill(sample, sample.bia, 3)
    assert await titles(sample, sample.bia) == ["n 3", "n 2", "n 1"]


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
async def test_a_page_size_out_of_range_is_ten(sample, query, page, size):
    await clear(sample)
    await fill(sample, sample.bia, 23)
    body = await inbox(sample, sample.bia.id, query)
    assert body["search"] == {"page": page, "items_per_page": size, "total_items": 23}
    assert len(body["notifications"]) == max(0, min(size, 23 - (page - 1) * size))


@pytest.mark.parametrize("query", ["", "?user_id=", "?page=2"])
async def test_user_id_is_required(sample, query):
    answer = await sample.get(f"/api/v1.0/notifications{query}")
    assert (answer.status, answer.body) == (400, {"message": "user_id is required", "status": 400})


@pytest.mark.parametrize("user", ["abc", "-1", "1.5", "0x1", UNKNOWN_ID[:-1], "1%202", "%C3%A9", "1e3"])
async def test_an_invalid_user_id_is_rejected(sample, user):
    answer = await sample.get(f"/api/v1.0/notifications?user_id={user}")
    assert (answer.status, answer.body) == (
        400,
        {"message": "user_id must be a UUID or a number", "status": 400},
    )


async def test_a_list_of_user_ids_is_rejected(sample):
    assert (await sample.get(f"/api/v1.0/notifications?user_id[]={sample.caio.id}")).status == 400


async def test_administrators_read_an_empty_inbox_for_an_unknown_user(sample):
    for user_id in (UNKNOWN_ID, UNKNOWN_NUMBER, 0, "9" * 40):
        assert (await inbox(sample, user_id))["notifications"] == []


async def test_users_read_their_own_inbox_and_administrators_any_inbox(sample):
    await clear(sample)
    for person in (sample.caio, sample.vendor_user, sample.staff, sample.owner):
        await fill(sample, person, 1)
        for user_id in (person.id, person.number):
            assert (await inbox(sample, user_id, by=person, auth="bearer"))["search"]["total_items"] == 1
            assert (await inbox(sample, user_id, by=sample.staff))["search"]["total_items"] == 1
    for person, other in (
        (sample.caio, sample.bia),
        (sample.caio, sample.owner),
        (sample.vendor_user, sample.caio),
    ):
        for user_id in (other.id, other.number, UNKNOWN_ID, UNKNOWN_NUMBER):
            answer = await sample.get(f"/api/v1.0/notifications?user_id={user_id}", by=person, auth="bearer")
            assert (answer.status, answer.body) == (403, FORBIDDEN), (person, other, user_id)


async def test_a_vendors_api_key_reads_its_own_inbox(sample):
    assert await inbox(sample, sample.vendor_user.id, by=sample.vendor_user, auth="basic")


async def test_another_stores_inbox_is_empty_and_its_token_is_rejected(sample, other_sample):
    assert (await inbox(sample, other_sample.caio.id))["notifications"] == []
    answer = await sample.get(f"/api/v1.0/notifications?user_id={sample.caio.id}", at=other_sample, auth="bearer")
    assert (answer.status, answer.body["status"]) == (403, 403)


async def test_a_credential_is_required(sample):
    answer = await sample.get(f"/api/v1.0/notifications?user_id={sample.caio.id}", auth=None)
    assert (answer.status, answer.body) == (401, {"message": MISSING, "status": 401})
    wrong = base64.b64encode(f"{sample.owner.email}:x".encode()).decode()
    for header in (f"Basic {wrong}", "Bearer x"):
        answer = await sample.get(
            f"/api/v1.0/notifications?user_id={sample.caio.id}", auth=None, headers={"Authorization": header}
        )
        assert (answer.status, answer.body) == (401, {"message": "Invalid credentials", "status": 401}), header


async def test_inboxes_are_served_under_every_base_and_are_read_only(sample):
    for base in ("/api", "/api/v1.0", "/api/2.0", "/api/2"):
        for slash in ("", "/"):
            answer = await sample.get(f"{base}/notifications{slash}?user_id={sample.caio.id}")
            assert answer.status == 200, (base, slash)
            refused = await sample.post(f"{base}/notifications{slash}", {})
            assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD"), (base, slash)


async def test_the_statement_count_does_not_depend_on_the_inbox_size(sample):
    await sample.get("/api/products")
    counts = []
    for number in (1, 100):
        await fill(sample, sample.bia, number)
        answer = await sample.get(f"/api/notifications?user_id={sample.bia.id}&items_per_page=250")
        counts.append(answer.statements)
    assert counts == [3, 3]  # the user, the rows, their count


# --- Created notifications ---------------------------------------------------------------------------------------------------


async def test_a_new_order_notifies_customer_vendors_and_order_administrators(sample):
    await clear(sample)
    other = await sample.add_user("view_products")
    team_member = await sample.add_user("view_apps")
    await sample.put(f"/api/users/{team_member}/usergroups/{sample.team}", {"status": "A"})
    order = await sample.place_order((sample.mug, 1), user=sample.bia.id)
    expected = [f"Novo pedido nº {order}"]
    for person in (sample.bia, sample.vendor_user, sample.owner, sample.staff, team_member):
        assert await titles(sample, person) == expected, person
    for person in (sample.caio, sample.rival_vendor_user, other):
        assert await titles(sample, person) == [], person


async def test_disabled_users_are_not_notified(sample):
    await sample.put(f"/api/users/{sample.bia}", {"status": "D"})
    await clear(sample)
    await sample.place_order((sample.mug, 1), user=sample.bia.id)
    assert await titles(sample, sample.bia) == []


async def test_a_rejected_update_creates_no_notification(sample):
    await clear(sample)
    answer = await sample.put(
        f"/api/orders/{sample.order}", {"products": [{"product_id": sample.plate.number, "amount": 10**6}]}
    )
    assert answer.status == 422
    assert await titles(sample, sample.owner) == []


async def test_only_status_changes_create_notifications(sample):
    await clear(sample)
    await sample.put(f"/api/orders/{sample.order}", {"notes": "x"})
    await sample.put(f"/api/orders/{sample.order}", {"status": "O"})
    assert await titles(sample, sample.caio) == []
    await sample.delete(f"/api/orders/{sample.order}")
    # Deleting an order cancels it first.
    assert await titles(sample, sample.caio) == [f"Pedido nº {sample.order}: cancelado"]


async def test_low_stock_notifies_vendor_and_product_administrators_once(new_sample):
    sample = await new_sample(low_stock_at=3)
    product = await sample.add_product(name="Bule", on_hand=5)
    await clear(sample)
    await sample.place_order((product, 1), user=sample.bia.id)
    assert "Estoque baixo: Bule" not in await titles(sample, sample.vendor_user)
    await sample.place_order((product, 1), user=sample.bia.id)
    await sample.place_order((product, 1), user=sample.bia.id)
    for person in (sample.vendor_user, sample.owner):
        assert (await titles(sample, person)).count("Estoque baixo: Bule") == 1
    for person in (sample.rival_vendor_user, sample.staff, sample.bia):
        assert "Estoque baixo: Bule" not in await titles(sample, person)
    [row] = [row for row in (await inbox(sample, sample.vendor_user.id))["notifications"] if row["type"] == "stock"]
    assert row["message"] == "“Bule” está com 3 unidades para venda."


async def test_low_stock_set_by_staff_notifies_like_a_sale(new_sample):
    sample = await new_sample(low_stock_at=3)
    product, other = await sample.add_product(name="Bule", on_hand=5), await sample.add_product(on_hand=9)
    await clear(sample)
    await sample.put(f"/api/products/{product}", {"amount": 4})
    await sample.put(f"/api/products/{product}", {"product": "Bule azul"})
    assert await titles(sample, sample.vendor_user) == []
    await sample.put(f"/api/products/{product}", {"amount": 2})
    await sample.put(f"/api/products/{product}", {"amount": 1})  # already low
    await sample.put(f"/api/products/{other}", {"amount": 0, "tracking": "D"})  # stock not tracked
    for person in (sample.vendor_user, sample.owner):
        assert await titles(sample, person) == ["Estoque baixo: Bule azul"]
