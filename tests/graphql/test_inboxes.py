"""Read inboxes and mark notifications as read, as different callers."""

from __future__ import annotations

from typing import Any

from tests.harness.records import UNKNOWN_ID, UserRecord
from tests.harness.sample_store import SampleStore


def page(user: str) -> str:
    fields = "id user_id type title message status created_at read_at"
    return f'{{ inbox(user_id: "{user}") {{ total items {{ {fields} }} }} }}'


async def execute_query(sample: SampleStore, query: str, by: UserRecord | None = None, **how: Any) -> Any:
    answer = await sample.post("/graphql", {"query": query}, auth="bearer", by=by, **how)
    assert answer.status == 200, answer.raw
    return answer.body


async def own_notifications(sample: SampleStore, person: UserRecord) -> list[dict[str, Any]]:
    inbox = (await execute_query(sample, page(person.id), by=person))["data"]["inbox"]
    assert inbox["total"] == len(inbox["items"])
    return list(inbox["items"])


async def test_one_or_all_notifications_are_marked_as_read(sample):
    await sample.put(f"/api/orders/{sample.order}", {"status": "P"})
    await sample.put(f"/api/orders/{sample.order}", {"status": "C"})
    newest, older, placed = await own_notifications(sample, sample.caio)
    assert {row["status"] for row in (newest, older, placed)} == {"unread"}
    assert newest["read_at"] is None
    response = await execute_query(
        sample, f'mutation {{ notification_mark_read(id: "{older["id"]}") {{ id status }} }}', by=sample.caio
    )
    assert response["data"]["notification_mark_read"] == {"id": older["id"], "status": "read"}
    assert [row["status"] for row in await own_notifications(sample, sample.caio)] == [
        "unread",
        "read",
        "unread",
    ]
    assert (await execute_query(sample, "mutation { notifications_mark_read }", by=sample.caio))["data"] == {
        "notifications_mark_read": 2
    }
    rows = await own_notifications(sample, sample.caio)
    assert {row["status"] for row in rows} == {"read"}
    assert all(row["read_at"] for row in rows)


async def test_another_users_notification_cannot_be_marked_as_read(sample, other_sample):
    await sample.put(f"/api/orders/{sample.order}", {"status": "P"})
    theirs = (await own_notifications(sample, sample.caio))[0]["id"]
    for person in (sample.owner, sample.bia):
        answer = await execute_query(
            sample, f'mutation {{ notification_mark_read(id: "{theirs}") {{ id }} }}', by=person
        )
        assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND", person
    assert (await own_notifications(sample, sample.caio))[0]["status"] == "unread"


async def test_users_list_their_own_notifications_and_administrators_all(sample):
    await sample.put(f"/api/orders/{sample.order}", {"status": "P"})
    query = '{ notifications(limit: 100, filter: {type: ["order"], status: ["unread"]}) { user_id } }'
    own = (await execute_query(sample, query, by=sample.caio))["data"]["notifications"]
    assert {row["user_id"] for row in own} == {sample.caio.id}
    all_notifications = (await execute_query(sample, query, by=sample.owner))["data"]["notifications"]
    assert {sample.caio.id, sample.owner.id, sample.vendor_user.id} <= {row["user_id"] for row in all_notifications}


async def test_another_users_inbox_is_forbidden(sample):
    for user_id in (sample.bia.id, UNKNOWN_ID):
        answer = await execute_query(sample, page(user_id), by=sample.caio)
        assert answer["errors"][0]["extensions"]["code"] == "FORBIDDEN", user_id


async def test_app_administrators_are_notified_of_an_installed_app(sample):
    app_administrator = await sample.add_user("view_apps")
    registered = await execute_query(
        sample,
        'mutation { app_register(input: {name: "Etiquetas", redirect_uris: ["https://a.example/cb"],'
        ' scopes: ["read_orders"]}) { client_id } }',
    )
    client_id = registered["data"]["app_register"]["client_id"]
    for repetition in range(2):  # approving an installed app again is not a new installation
        response = await execute_query(
            sample,
            f'mutation {{ app_install(client_id: "{client_id}", scopes: ["read_orders"],'
            ' redirect_uri: "https://a.example/cb") { code } }',
        )
        assert "errors" not in response, repetition
    for person in (app_administrator, sample.owner):
        titles = [row["title"] for row in await own_notifications(sample, person)]
        assert titles.count("Aplicativo instalado: Etiquetas") == 1, person
    assert "Aplicativo instalado: Etiquetas" not in [
        row["title"] for row in await own_notifications(sample, sample.staff)
    ]
