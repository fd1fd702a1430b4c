"""Read inboxes and mark notifications as read, as different callers."""

from __future__ import annotations

from typing import Any

from tests.shop import NOBODY, Person, Shop


def page(user: str) -> str:
    fields = "id user_id type title message status created_at read_at"
    return f'{{ inbox(user_id: "{user}") {{ total items {{ {fields} }} }} }}'


async def execute_query(shop: Shop, query: str, by: Person | None = None, **how: Any) -> Any:
    answer = await shop.post("/graphql", {"query": query}, auth="bearer", by=by, **how)
    assert answer.status == 200, answer.raw
    return answer.body


async def own_notifications(shop: Shop, person: Person) -> list[dict[str, Any]]:
    inbox = (await execute_query(shop, page(person.id), by=person))["data"]["inbox"]
    assert inbox["total"] == len(inbox["items"])
    return list(inbox["items"])


async def test_one_or_all_notifications_are_marked_as_read(shop):
    await shop.put(f"/api/orders/{shop.order}", {"status": "P"})
    await shop.put(f"/api/orders/{shop.order}", {"status": "C"})
    newest, older, placed = await own_notifications(shop, shop.caio)
    assert {row["status"] for row in (newest, older, placed)} == {"unread"}
    assert newest["read_at"] is None
    response = await execute_query(
        shop, f'mutation {{ notification_mark_read(id: "{older["id"]}") {{ id status }} }}', by=shop.caio
    )
    assert response["data"]["notification_mark_read"] == {"id": older["id"], "status": "read"}
    assert [row["status"] for row in await own_notifications(shop, shop.caio)] == ["unread", "read", "unread"]
    assert (await execute_query(shop, "mutation { notifications_mark_read }", by=shop.caio))["data"] == {
        "notifications_mark_read": 2
    }
    rows = await own_notifications(shop, shop.caio)
    assert {row["status"] for row in rows} == {"read"}
    assert all(row["read_at"] for row in rows)


async def test_another_users_notification_cannot_be_marked_as_read(shop, other_shop):
    await shop.put(f"/api/orders/{shop.order}", {"status": "P"})
    theirs = (await own_notifications(shop, shop.caio))[0]["id"]
    for person in (shop.owner, shop.bia):
        answer = await execute_query(
            shop, f'mutation {{ notification_mark_read(id: "{theirs}") {{ id }} }}', by=person
        )
        assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    assert (await own_notifications(shop, shop.caio))[0]["status"] == "unread"


async def test_users_list_their_own_notifications_and_administrators_all(shop):
    await shop.put(f"/api/orders/{shop.order}", {"status": "P"})
    query = '{ notifications(limit: 100, filter: {type: ["order"], status: ["unread"]}) { user_id } }'
    own = (await execute_query(shop, query, by=shop.caio))["data"]["notifications"]
    assert {row["user_id"] for row in own} == {shop.caio.id}
    all_notifications = (await execute_query(shop, query, by=shop.owner))["data"]["notifications"]
    assert {shop.caio.id, shop.owner.id, shop.seller.id} <= {row["user_id"] for row in all_notifications}


async def test_another_users_inbox_is_forbidden(shop):
    for user_id in (shop.bia.id, NOBODY):
        answer = await execute_query(shop, page(user_id), by=shop.caio)
        assert answer["errors"][0]["extensions"]["code"] == "FORBIDDEN"


async def test_app_administrators_are_notified_of_an_installed_app(shop):
    app_administrator = await shop.new_person("view_apps")
    registered = await execute_query(
        shop,
        'mutation { app_register(input: {name: "Etiquetas", redirect_uris: ["https://a.example/cb"],'
        ' scopes: ["read_orders"]}) { client_id } }',
    )
    client_id = registered["data"]["app_register"]["client_id"]
    for _ in range(2):  # approving an installed app again is not a new installation
        response = await execute_query(
            shop,
            f'mutation {{ app_install(client_id: "{client_id}", scopes: ["read_orders"],'
            ' redirect_uri: "https://a.example/cb") { code } }',
        )
        assert "errors" not in response
    for person in (app_administrator, shop.owner):
        titles = [row["title"] for row in await own_notifications(shop, person)]
        assert titles.count("Aplicativo instalado: Etiquetas") == 1
    assert "Aplicativo instalado: Etiquetas" not in [
        row["title"] for row in await own_notifications(shop, shop.staff)
    ]
