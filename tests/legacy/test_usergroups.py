"""Check usergroups over every route; whom they hold is checked with the users."""

from typing import Any

import pytest

from tests.shop import Shop

NEW = {"usergroup": "Compradores"}


async def create(shop: Shop, **body: Any) -> str:
    answer = await shop.post("/api/usergroups", NEW | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"usergroup_id"}
    return answer.body["usergroup_id"]


async def shown(shop: Shop, usergroup_id: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/usergroups/{usergroup_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_usergroup_is_created_with_defaults(shop):
    number = await create(shop)
    assert await shown(shop, number) == {
        "usergroup_id": number,
        "usergroup": "Compradores",
        "type": "C",
        "status": "A",
        "privileges": [],
    }


@pytest.mark.parametrize(
    "name, given, read_back",
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
async def test_a_field_is_read_back_after_creation_and_after_a_change(shop, name, given, read_back):
    assert (await shown(shop, await create(shop, type="A", **{name: given})))[name] == read_back
    before = await shown(shop, shop.team)
    answer = await shop.put(f"/api/usergroups/{shop.team}", {name: given})
    assert (answer.status, answer.body) == (200, {"usergroup_id": str(shop.team)})
    assert await shown(shop, shop.team) == before | {name: read_back}


async def test_the_type_is_a_letter_or_its_name(shop):
    assert (await shown(shop, await create(shop, type="admin")))["type"] == "A"
    await shop.put(f"/api/usergroups/{shop.team}", {"type": "C"})
    assert await shown(shop, shop.team) == {
        "usergroup_id": str(shop.team),
        "usergroup": "Equipe",
        "type": "C",
        "status": "A",
        "privileges": [],  # customers have none
    }


async def test_a_php_form_makes_a_usergroup_too(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = b"usergroup=Time&type=A&privileges[]=view_orders&privileges[]=view_users"
    answer = await shop.post("/api/usergroups", data=form, headers=headers)
    group = await shown(shop, answer.body["usergroup_id"])
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
async def test_what_is_wrong_is_told_with_the_legacy_name(shop, body, message):
    answer = await shop.post("/api/usergroups", NEW | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_nobody_gives_a_privilege_they_do_not_hold(shop):
    manager = await shop.new_person("manage_users", "view_orders")
    refused = {"status": 403, "message": "Forbidden: privilege manage_orders required"}
    given = {"type": "A", "privileges": ["manage_orders"]}
    answer = await shop.post("/api/usergroups", NEW | given, by=manager)
    assert (answer.status, answer.body) == (403, refused)
    answer = await shop.put(f"/api/usergroups/{shop.team}", given, by=manager)
    assert (answer.status, answer.body) == (403, refused)
    assert (await shown(shop, shop.team))["privileges"] == ["view_orders"]
    allowed = await shop.post("/api/usergroups", NEW | given | {"privileges": ["view_orders"]}, by=manager)
    assert allowed.status == 201


async def test_members_lose_what_a_deleted_group_gave_them(shop):
    person = await shop.new_person("view_users")
    await shop.put(f"/api/users/{person}/usergroups/{shop.team}", {"status": "A"})
    assert (await shop.get("/api/orders", by=person)).status == 200
    answer = await shop.delete(f"/api/usergroups/{shop.team}")
    assert (answer.status, answer.raw) == (204, b"")
    assert (await shop.get("/api/orders", by=person)).status == 403
    for method in ("GET", "PUT", "DELETE"):
        gone = await shop.call(method, f"/api/usergroups/{shop.team}", {} if method == "PUT" else None)
        assert (gone.status, gone.body) == (404, {"status": 404, "message": "Usergroup not found"})


async def test_groups_are_sought_by_what_they_give(shop):
    async def found(query: str) -> list[str]:
        return list((await shop.get(f"/api/usergroups?{query}")).body["usergroups"])

    assert await found("privileges=view_orders") == [str(shop.team)]
    assert await found("privileges[]=view_orders&privileges[]=view_users") == [str(shop.team)]
    assert await found("privileges=fly") == []
    assert await found("q=equi") == [str(shop.team)]
    assert await found("type=customer&status=active") == [str(shop.wholesale)]
