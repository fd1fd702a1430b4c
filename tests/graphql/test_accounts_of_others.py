"""What those who administer accounts do for other users: their saved addresses and their sessions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.harness.sample_store import SampleStore

CREATE = """mutation($user: ID!, $input: SavedAddressInput!) { user_address_create(user_id: $user, input: $input) {
    id name zipcode is_default_shipping is_default_billing } }"""
UPDATE = "mutation($id: ID!, $input: SavedAddressInput!) { user_address_update(id: $id, input: $input) { name city } }"
DEFAULT = (
    "mutation($id: ID!, $type: AddressType!) { user_address_set_default(id: $id, type: $type) { is_default_billing } }"
)
DELETE = "mutation($id: ID!) { user_address_delete(id: $id) { id } }"
SESSIONS = (
    "query($user: ID!) { user_session_page(filter: {user_id: [$user]}) { total items { id user { id } ip_address } } }"
)
END = "mutation($id: ID!) { user_session_end(id: $id) { id } }"
ADDRESS = {"name": "Oficina", "zipcode": "24230-000", "city": "Niterói", "state": "RJ"}


async def send(caller: Any, query: str, **variables: Any) -> Any:
    body = {"query": query, "variables": variables}
    return (await caller.post("/graphql", body)).body


async def clerk(sample: SampleStore, *privileges: str) -> Any:
    return await sample.client(await sample.add_user(*privileges))


async def customer_of(sample: SampleStore) -> Any:
    user = await sample.add_user(user_type="C")
    return user, str(await sample.value("select public_id from users where id = $1", user.number))


def reason(answer: Any) -> str:
    [error] = answer["errors"]
    return str(error["extensions"]["code"])


async def test_staff_change_the_addresses_of_a_customer(sample: SampleStore) -> None:
    staff = await clerk(sample, "manage_users")
    _, user = await customer_of(sample)
    first = (await send(staff, CREATE, user=user, input=ADDRESS))["data"]["user_address_create"]
    assert (first["zipcode"], first["is_default_shipping"], first["is_default_billing"]) == ("24230000", True, True)
    second = (await send(staff, CREATE, user=user, input={**ADDRESS, "name": "Casa"}))["data"]["user_address_create"]
    assert second["is_default_shipping"] is False
    updated = await send(staff, UPDATE, id=second["id"], input={"city": "Maricá"})
    assert updated["data"]["user_address_update"] == {"name": "Casa", "city": "Maricá"}
    made = await send(staff, DEFAULT, id=second["id"], type="B")
    assert made["data"]["user_address_set_default"] == {"is_default_billing": True}
    assert "errors" not in await send(staff, DELETE, id=first["id"])
    names = await sample.rows(
        "select a.name from user_addresses a join users u on u.id = a.user_id where u.public_id = $1", UUID(user)
    )
    assert [row["name"] for row in names] == ["Casa"]


@pytest.mark.parametrize(
    "privileges, target, code",
    [
        (("view_users",), "customer", "FORBIDDEN"),
        (("manage_users",), "owner", "FORBIDDEN"),
        (("manage_users",), "manager", "FORBIDDEN"),
        (("manage_users",), "unknown", "VALIDATION_FAILED"),
    ],
)
async def test_addresses_of_accounts_beyond_the_callers_rights_are_refused(
    sample: SampleStore, privileges: tuple[str, ...], target: str, code: str
) -> None:
    staff = await clerk(sample, *privileges)
    _, user = await customer_of(sample)
    if target == "owner":
        user = str(
            await sample.value(
                "select u.public_id from users u join tenants t on t.owner_id = u.id and t.id = u.tenant_id"
            )
        )
    if target == "manager":
        number = (await sample.add_user("manage_orders", "manage_users")).number
        user = str(await sample.value("select public_id from users where id = $1", number))
    if target == "unknown":
        user = "0192f0a0-0000-7000-8000-000000000000"
    answer = await send(staff, CREATE, user=user, input=ADDRESS)
    assert reason(answer) == code, answer
    assert await sample.value("select count(*) from user_addresses where name = 'Oficina'") == 0


async def test_a_customer_does_not_change_the_address_of_another(sample: SampleStore) -> None:
    staff = await clerk(sample, "manage_users")
    other, _ = await customer_of(sample)
    _, user = await customer_of(sample)
    address = (await send(staff, CREATE, user=user, input=ADDRESS))["data"]["user_address_create"]["id"]
    caller = await sample.client(other)
    cases: tuple[tuple[str, dict[str, Any]], ...] = (
        (UPDATE, {"id": address, "input": {"city": "x"}}),
        (DELETE, {"id": address}),
        (CREATE, {"user": user, "input": ADDRESS}),
    )
    for query, variables in cases:
        assert reason(await send(caller, query, **variables)) == "FORBIDDEN", query


async def test_a_session_of_another_user_is_seen_and_ended(sample: SampleStore) -> None:
    staff = await clerk(sample, "manage_users")
    user, public_id = await customer_of(sample)
    device = await sample.client(user)
    assert "errors" not in await send(device, "{ me { id } }")
    page = (await send(staff, SESSIONS, user=public_id))["data"]["user_session_page"]
    [session] = page["items"]
    assert (page["total"], session["user"]) == (1, {"id": public_id})
    assert "errors" not in await send(staff, END, id=session["id"])
    ended = await device.post("/graphql", {"query": "{ me { id } }"})
    assert ended.status == 401
    assert (await send(staff, SESSIONS, user=public_id))["data"]["user_session_page"]["total"] == 0
    assert reason(await send(staff, END, id=session["id"])) == "NOT_FOUND"
    assert await sample.value("select subject_id from audit_entries where action = 'user.session_ended'") == public_id


async def test_sessions_are_for_those_who_administer_the_account(sample: SampleStore) -> None:
    staff, reader = await clerk(sample, "manage_users"), await clerk(sample, "view_users")
    manager = await sample.add_user("manage_orders", "manage_users")
    await sample.client(manager)
    public_id = str(await sample.value("select public_id from users where id = $1", manager.number))
    assert reason(await send(reader, SESSIONS, user=public_id)) == "FORBIDDEN"
    [session] = (await send(staff, SESSIONS, user=public_id))["data"]["user_session_page"]["items"]
    assert reason(await send(staff, END, id=session["id"])) == "FORBIDDEN"
    user, _ = await customer_of(sample)
    assert reason(await send(await sample.client(user), END, id=session["id"])) == "FORBIDDEN"
