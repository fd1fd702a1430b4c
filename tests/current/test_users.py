"""`/api/v1/admin/users` and `/api/v1/admin/customers` (docs/reference/current.md#admin)."""

from datetime import UTC, datetime

import pytest

from kernel.scope import Store
from tests.harness import records
from tests.harness.http import Client
from tests.harness.records import UNKNOWN_ID

USERS = "/api/v1/admin/users"
CUSTOMERS = "/api/v1/admin/customers"


@pytest.mark.parametrize(
    "path, envelope, columns, role",
    [
        (USERS, "users", {"user_type": "C"}, "customer"),
        (USERS, "users", {"user_type": "A"}, "admin"),
        (CUSTOMERS, "customers", {"user_type": "C"}, "customer"),
    ],
)
async def test_a_user_has_exactly_the_documented_fields(
    admin: Client, path: str, envelope: str, columns: dict, role: str
) -> None:
    user = await records.add_user(
        admin.store,
        **columns,
        firstname="Bia",
        lastname="Reis",
        email="bia@example.com",
        cpf="52998224725",
        phone="11987654321",
        created_at=datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
        last_login_at=datetime(2026, 4, 1, tzinfo=UTC),
    )
    shown = await admin.get(f"{path}/{user.id}")
    assert (shown.status, shown.body) == (
        200,
        {
            "id": user.id,
            "name": "Bia Reis",
            "email": "bia@example.com",
            "role": role,
            "status": "A",
            "created_at": "2026-03-01T12:30:00Z",
            "last_login_at": "2026-04-01T00:00:00Z",
        },
    )
    listed = (await admin.get(path, search="bia reis")).body
    assert listed == {envelope: [shown.body], "total": 1, "page": 1, "per_page": 20}


async def test_vendors_are_listed_as_users(admin: Client) -> None:
    vendor = await records.add_vendor(admin.store)
    user = await records.add_user(admin.store, user_type="V", vendor_id=vendor.number)
    shown = (await admin.get(f"{USERS}/{user.id}")).body
    assert (shown["role"], shown["last_login_at"]) == ("vendor", None)


async def test_only_customers_are_listed_as_customers(admin: Client) -> None:
    customer = await records.add_user(admin.store)
    listed = (await admin.get(CUSTOMERS)).body
    assert [record["id"] for record in listed["customers"]] == [customer.id]
    assert (await admin.get(USERS)).body["total"] == 2
    for query in ({"role": "admin"}, {"status": "A"}):
        assert (await admin.get(CUSTOMERS, **query)).body["total"] == 1
    other = await admin.get(f"{CUSTOMERS}/{admin.user.id}")
    assert (other.status, other.body) == (404, {"error": "customer not found"})


@pytest.mark.parametrize(
    "query, matches",
    [
        ({"role": "admin"}, {"Ana"}),
        ({"role": "Vendor"}, {"Vera"}),
        ({"role": "customer"}, {"Bia", "Caio"}),
        ({"status": "D"}, {"Caio"}),
        ({"status": "pending"}, {"Vera"}),
        ({"search": "BÍA"}, {"Bia"}),
        ({"search": "caio@example"}, {"Caio"}),
        ({"created_after": "2026-02-01", "created_before": "2026-02-01"}, {"Bia"}),
        ({"created_before": "2026-02-01"}, {"Bia", "Vera"}),
        ({"role": "customer", "status": "A"}, {"Bia"}),
    ],
)
async def test_users_are_filtered(new_client, store: Store, query: dict, matches: set) -> None:
    admin = await new_client("view_users", firstname="Ana", email=f"ana@{store.id}.example")
    vendor = await records.add_vendor(store)
    at = datetime(2026, 2, 1, 23, 59, 59, tzinfo=UTC)
    await records.add_user(store, firstname="Bia", email="b@example.com", created_at=at)
    await records.add_user(store, firstname="Caio", email="caio@example.com", status="D")
    await records.add_user(
        store,
        firstname="Vera",
        email="v@example.com",
        user_type="V",
        vendor_id=vendor.number,
        status="P",
        created_at=at.replace(day=1, month=1),
    )
    listed = (await admin.get(USERS, **query)).body
    assert {record["name"].split()[0] for record in listed["users"]} == matches
    assert listed["total"] == len(matches)


@pytest.mark.parametrize("role", ["root", "A", "admin,vendor", "1"])
async def test_an_unknown_role_is_rejected(admin: Client, role: str) -> None:
    answer = await admin.get(USERS, role=role)
    assert answer.status == 400
    assert answer.body == {
        "error": "invalid role",
        "detail": f"role is {role!r}; expected one of admin, vendor, customer",
    }


@pytest.mark.parametrize("path, noun", [(USERS, "user"), (CUSTOMERS, "customer")])
async def test_an_unknown_user_is_not_found(admin: Client, path: str, noun: str) -> None:
    for id in ("1", "0", "-1", "abc", UNKNOWN_ID, "%F0%9F%98%80", "9" * 300, "null"):
        answer = await admin.get(f"{path}/{id}")
        assert (answer.status, answer.body) == (404, {"error": f"{noun} not found"}), id


async def test_deleted_users_are_not_found(admin: Client) -> None:
    user = await records.add_user(admin.store, deleted_at=datetime.now(UTC))
    for path in (USERS, CUSTOMERS):
        assert (await admin.get(f"{path}/{user.id}")).status == 404
    assert (await admin.get(CUSTOMERS)).body["total"] == 0


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_users_and_customers_are_read_only(admin: Client, method: str) -> None:
    for path in (USERS, CUSTOMERS, f"{USERS}/{UNKNOWN_ID}"):
        answer = await admin.request(method, path, {})
        assert (answer.status, answer.raw, answer.headers["Allow"]) == (405, b"", "GET, HEAD"), path
