"""Read inboxes and mark what was read, as anybody."""

from __future__ import annotations

from typing import Any

from tests.shop import NOBODY, Person, Shop


def page(user: str) -> str:
    fields = "id user_id type title message status created_at read_at"
    return f'{{ inbox(user_id: "{user}") {{ total items {{ {fields} }} }} }}'


async def ask(shop: Shop, query: str, by: Person | None = None, **how: Any) -> Any:
    answer = await shop.post("/graphql", {"query": query}, auth="bearer", by=by, **how)
    assert answer.status == 200, answer.raw
    return answer.body


async def mine(shop: Shop, person: Person) -> list[dict[str, Any]]:
    found = (await ask(shop, page(person.id), by=person))["data"]["inbox"]
    assert found["total"] == len(found["items"])
    return list(found["items"])


async def test_one_and_all_are_marked_as_read(shop):
    await shop.put(f"/api/orders/{shop.order}", {"status": "P"})
    await shop.put(f"/api/orders/{shop.order}", {"status": "C"})
    newest, older, placed = await mine(shop, shop.caio)
    assert {row["status"] for row in (newest, older, placed)} == {"unread"}
    assert newest["read_at"] is None
    done = await ask(
        shop, f'mutation {{ notification_mark_read(id: "{older["id"]}") {{ id status }} }}', by=shop.caio
    )
    assert done["data"]["notification_mark_read"] == {"id": older["id"], "status": "read"}
    assert [row["status"] for row in await mine(shop, shop.caio)] == ["unread", "read", "unread"]
    assert (await ask(shop, "mutation { notifications_mark_read }", by=shop.caio))["data"] == {
        "notifications_mark_read": 2
    }
    rows = await mine(shop, shop.caio)
    assert {row["status"] for row in rows} == {"read"}
    assert all(row["read_at"] for row in rows)


async def test_nobody_marks_what_is_anothers(shop, other_shop):
    await shop.put(f"/api/orders/{shop.order}", {"status": "P"})
    theirs = (await mine(shop, shop.caio))[0]["id"]
    for person in (shop.owner, shop.bia):
        answer = await ask(shop, f'mutation {{ notification_mark_read(id: "{theirs}") {{ id }} }}', by=person)
        assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    assert (await mine(shop, shop.caio))[0]["status"] == "unread"


async def test_lists_hold_ones_own_and_an_administrators_everybodys(shop):
    await shop.put(f"/api/orders/{shop.order}", {"status": "P"})
    query = '{ notifications(limit: 100, filter: {type: ["order"], status: ["unread"]}) { user_id } }'
    own = (await ask(shop, query, by=shop.caio))["data"]["notifications"]
    assert {row["user_id"] for row in own} == {shop.caio.id}
    all_of_them = (await ask(shop, query, by=shop.owner))["data"]["notifications"]
    assert {shop.caio.id, shop.owner.id, shop.seller.id} <= {row["user_id"] for row in all_of_them}


async def test_anothers_inbox_is_forbidden(shop):
    for named in (shop.bia.id, NOBODY):
        answer = await ask(shop, page(named), by=shop.caio)
        assert answer["errors"][0]["extensions"]["code"] == "FORBIDDEN"


async def test_an_installed_app_is_told_to_the_administrators_of_apps(shop):
    keeper = await shop.new_person("view_apps")
    registered = await ask(
        shop,
        'mutation { app_register(input: {name: "Etiquetas", redirect_uris: ["https://a.example/cb"],'
        ' scopes: ["read_orders"]}) { client_id } }',
    )
    client_id = registered["data"]["app_register"]["client_id"]
    for _ in range(2):  # approved anew it is not installed anew
        done = await ask(
            shop,
            f'mutation {{ app_install(client_id: "{client_id}", scopes: ["read_orders"],'
            ' redirect_uri: "https://a.example/cb") { code } }',
        )
        assert "errors" not in done
    for person in (keeper, shop.owner):
        titles = [row["title"] for row in await mine(shop, person)]
        assert titles.count("Aplicativo instalado: Etiquetas") == 1
    assert "Aplicativo instalado: Etiquetas" not in [row["title"] for row in await mine(shop, shop.staff)]
