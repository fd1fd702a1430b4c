"""Check the usergroup routes; test_users.py checks memberships."""

from typing import Any

import pytest

from tests.harness.sample_store import SampleStore

NEW = {"usergroup": "Compradores"}


async def create(sample: SampleStore, **body: Any) -> str:
    answer = await sample.post("/api/usergroups", NEW | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"usergroup_id"}
    return answer.body["usergroup_id"]


async def read(sample: SampleStore, usergroup_id: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/usergroups/{usergroup_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_usergroup_is_created_with_defaults(sample):
    number = await create(sample)
    assert await read(sample, number) == {
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
async def test_a_field_is_read_back_after_create_and_update(sample, name, value, expected):
    assert (await read(sample, await create(sample, type="A", **{name: value})))[name] == expected
    before = await read(sample, sample.team)
    answer = await sample.put(f"/api/usergroups/{sample.team}", {name: value})
    assert (answer.status, answer.body) == (200, {"usergroup_id": str(sample.team)})
    assert await read(sample, sample.team) == before | {name: expected}


async def test_the_type_is_a_code_or_label(sample):
    assert (await read(sample, await create(sample, type="admin")))["type"] == "A"
    await sample.put(f"/api/usergroups/{sample.team}", {"type": "C"})
    assert await read(sample, sample.team) == {
        "usergroup_id": str(sample.team),
        "usergroup": "Equipe",
        "type": "C",
        "status": "A",
        "privileges": [],  # customers have none
    }


async def test_a_form_encoded_body_creates_a_usergroup(sample):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = b"usergroup=Time&type=A&privileges[]=view_orders&privileges[]=view_users"
    answer = await sample.post("/api/usergroups", data=form, headers=headers)
    group = await read(sample, answer.body["usergroup_id"])
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
async def test_invalid_input_is_rejected_with_the_legacy_field_name(sample, body, message):
    answer = await sample.post("/api/usergroups", NEW | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_users_cannot_grant_privileges_they_lack(sample):
    manager = await sample.add_user("manage_users", "view_orders")
    refused = {"status": 403, "message": "Forbidden: privilege manage_orders required"}
    body = {"type": "A", "privileges": ["manage_orders"]}
    answer = await sample.post("/api/usergroups", NEW | body, by=manager)
    assert (answer.status, answer.body) == (403, refused)
    answer = await sample.put(f"/api/usergroups/{sample.team}", body, by=manager)
    assert (answer.status, answer.body) == (403, refused)
    assert (await read(sample, sample.team))["privileges"] == ["view_orders"]
    allowed = await sample.post("/api/usergroups", NEW | body | {"privileges": ["view_orders"]}, by=manager)
    assert allowed.status == 201


async def test_deleting_a_usergroup_revokes_its_members_privileges(sample):
    person = await sample.add_user("view_users")
    await sample.put(f"/api/users/{person}/usergroups/{sample.team}", {"status": "A"})
    assert (await sample.get("/api/orders", by=person)).status == 200
    answer = await sample.delete(f"/api/usergroups/{sample.team}")
    assert (answer.status, answer.raw) == (204, b"")
    assert (await sample.get("/api/orders", by=person)).status == 403
    for method in ("GET", "PUT", "DELETE"):
        missing = await sample.request(method, f"/api/usergroups/{sample.team}", {} if method == "PUT" else None)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Usergroup not found"}), method


async def test_a_deleted_usergroup_has_no_members_and_no_warehouses(sample):
    customer = f"/api/users/{sample.caio}/usergroups"
    groups = f"/api/2.0/warehouses/{sample.warehouse}/user_groups"
    group = (await sample.post("/api/usergroups", NEW)).body["usergroup_id"]
    before = (await sample.get(customer)).body, (await sample.get(groups)).body
    assert (await sample.put(f"{customer}/{group}", {"status": "A"})).status == 200
    assert (await sample.post(groups, {"usergroup_id": group})).status == 201
    assert (await sample.delete(f"/api/usergroups/{group}")).status == 204
    assert ((await sample.get(customer)).body, (await sample.get(groups)).body) == before
    missing = await sample.get(f"{customer}/{group}")
    assert (missing.status, missing.body["message"]) == (404, "Usergroup not found")


async def test_usergroups_are_filtered_by_privilege(sample):
    async def search(query: str) -> list[str]:
        return list((await sample.get(f"/api/usergroups?{query}")).body["usergroups"])

    assert await search("privileges=view_orders") == [str(sample.team)]
    assert await search("privileges[]=view_orders&privileges[]=view_users") == [str(sample.team)]
    assert await search("privileges=fly") == []
    assert await search("q=equi") == [str(sample.team)]
    assert await search("type=customer&status=active") == [str(sample.wholesale)]
