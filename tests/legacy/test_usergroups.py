"""Check the usergroup routes; test_users.py checks memberships."""

from typing import Any

import pytest

from tests.shop import Shop

NEW = {"usergroup": "Compradores"}


async def create(shop: Shop, **body: Any) -> str:
    answer = await shop.post("/api/usergroups", NEW | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"usergroup_id"}
    return answer.body["usergroup_id"]


async def read(shop: Shop, usergroup_id: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/usergroups/{usergroup_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_usergroup_is_created_with_defaults(shop):
    number = await create(shop)
    assert await read(shop, number) == {
        "usergroup_id": number,
        "usergroup": "Compradores",
        "type": "C",
        "status": "A",
        "privileges": [],
    }


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("usergroup", "Outros", "Outros"),
        ("status", "D", "D"),
        ("status", "hidden", "H"),
        ("privileges", ["view_orders"], ["view_orders"]),
        ("privileges", {"0": "view_orders", "1": "manage_catalog"}, ["manage_catalog", "view_orders"]),
        ("privileges", "view_orders, view_users", ["view_orders", "view_users"]),
        ("privileges", [], []),
        ("privileges", None, []),
    ],
)
async def test_a_field_is_read_back_after_create_and_update(shop, name, value, expected):
    assert (await read(shop, await create(shop, type="A", **{name: value})))[name] == expected
    before = await read(shop, shop.team)
    answer = await shop.put(f"/api/usergroups/{shop.team}", {name: value})
    assert (answer.status, answer.body) == (200, {"usergroup_id": str(shop.team)})
    assert await read(shop, shop.team) == before | {name: expected}


async def test_the_type_is_a_code_or_label(shop):
    assert (await read(shop, await create(shop, type="admin")))["type"] == "A"
    await shop.put(f"/api/usergroups/{shop.team}", {"type": "C"})
    assert await read(shop, shop.team) == {
        "usergroup_id": str(shop.team),
        "usergroup": "Equipe",
        "type": "C",
        "status": "A",
        "privileges": [],  # customers have none
    }


async def test_a_form_encoded_body_creates_a_usergroup(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = b"usergroup=Time&type=A&privileges[]=view_orders&privileges[]=view_users"
    answer = await shop.post("/api/usergroups", data=form, headers=headers)
    group = await read(shop, answer.body["usergroup_id"])
    assert (group["usergroup"], group["privileges"]) == ("Time", ["view_orders", "view_users"])


@pytest.mark.parametrize(
    "body, message",
    [
        ({"usergroup": ""}, "usergroup is required"),
        ({"usergroup": None}, "usergroup is required"),
        ({"type": "V"}, "type is 'V'; expected one of A, C"),
        ({"status": "P"}, "status is 'P'; expected one of A, D, H"),
        ({"type": "A", "privileges": ["fly"]}, "privileges holds 'fly', which is no privilege"),
        ({"type": "A", "privileges": [1]}, "privileges is [1]; expected an array of privileges"),
        ({"privileges": ["view_orders"]}, "privileges are for usergroups of type A"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(shop, body, message):
    answer = await shop.post("/api/usergroups", NEW | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_users_cannot_grant_privileges_they_lack(shop):
    manager = await shop.new_person("manage_users", "view_orders")
    refused = {"status": 403, "message": "Forbidden: privilege manage_orders required"}
    body = {"type": "A", "privileges": ["manage_orders"]}
    answer = await shop.post("/api/usergroups", NEW | body, by=manager)
    assert (answer.status, answer.body) == (403, refused)
    answer = await shop.put(f"/api/usergroups/{shop.team}", body, by=manager)
    assert (answer.status, answer.body) == (403, refused)
    assert (await read(shop, shop.team))["privileges"] == ["view_orders"]
    allowed = await shop.post("/api/usergroups", NEW | body | {"privileges": ["view_orders"]}, by=manager)
    assert allowed.status == 201


async def test_deleting_a_usergroup_revokes_its_members_privileges(shop):
    person = await shop.new_person("view_users")
    await shop.put(f"/api/users/{person}/usergroups/{shop.team}", {"status": "A"})
    assert (await shop.get("/api/orders", by=person)).status == 200
    answer = await shop.delete(f"/api/usergroups/{shop.team}")
    assert (answer.status, answer.raw) == (204, b"")
    assert (await shop.get("/api/orders", by=person)).status == 403
    for method in ("GET", "PUT", "DELETE"):
        missing = await shop.call(method, f"/api/usergroups/{shop.team}", {} if method == "PUT" else None)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Usergroup not found"})


async def test_usergroups_are_filtered_by_privilege(shop):
    async def search(query: str) -> list[str]:
        return list((await shop.get(f"/api/usergroups?{query}")).body["usergroups"])

    assert await search("privileges=view_orders") == [str(shop.team)]
    assert await search("privileges[]=view_orders&privileges[]=view_users") == [str(shop.team)]
    assert await search("privileges=fly") == []
    assert await search("q=equi") == [str(shop.team)]
    assert await search("type=customer&status=active") == [str(shop.wholesale)]
