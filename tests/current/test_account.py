"""The caller's own account in GraphQL: `me`, sessions, API keys (docs/reference/current.md#sessions)."""

import base64

import pytest

from kernel.scope import Store
from tests.harness import records, scopes
from tests.harness.http import Client
from tests.harness.records import UNKNOWN_ID


async def _run_graphql(caller: Client, text: str, **variables) -> dict:
    answer = await caller.http.post(
        "/graphql",
        json={"query": text, "variables": variables},
        headers={
            "X-Tenant-ID": str(caller.store.public_id),
            "X-Forwarded-For": caller.ip,
            "Authorization": f"Bearer {caller.token}",
        },
    )
    assert answer.status == 200, await answer.text()
    return await answer.json()


def _codes(answer: dict) -> list[str]:
    return [error["extensions"]["code"] for error in answer["errors"]]


ME = "{ me { id name email role user_type status phone cpf cnpj privileges is_owner email_verified } }"
KEY_CREATE = (
    "mutation ($name: String!, $user: ID) { api_key_create(name: $name, user_id: $user)"
    " { key api_key { id name hint created_at last_used_at } } }"
)
KEYS = "query ($user: ID) { api_keys(user_id: $user) { id name hint created_at last_used_at } }"
KEY_REVOKE = "mutation ($id: ID!) { api_key_revoke(id: $id) { id } }"


async def test_me_returns_the_callers_record_with_personal_fields(new_client) -> None:
    staff = await new_client("view_orders", phone="11987654321", cpf="52998224725")
    shown = (await _run_graphql(staff, ME))["data"]["me"]
    assert shown == {
        "id": staff.user.id,
        "name": shown["name"],
        "email": staff.user.email,
        "role": "admin",
        "user_type": "A",
        "status": "A",
        "phone": "11987654321",
        "cpf": "52998224725",
        "cnpj": None,
        "privileges": ["view_orders"],
        "is_owner": False,
        "email_verified": True,
    }


@pytest.mark.parametrize("user_type", ["C", "V"])
async def test_me_is_available_to_every_signed_in_user(new_client, store: Store, user_type: str) -> None:
    columns = {"vendor_id": (await records.add_vendor(store)).number} if user_type == "V" else {}
    person = await new_client(user_type=user_type, phone="11987654321", **columns)
    shown = (await _run_graphql(person, "{ me { id phone privileges vendor { name } } }"))["data"]["me"]
    assert shown["id"] == person.user.id
    assert shown["phone"] == "11987654321"
    assert shown["vendor"] == ({"name": "Loja do João"} if user_type == "V" else None)


async def test_me_does_not_expose_relations_without_privileges(new_client, store: Store) -> None:
    staff = await new_client("view_settings")
    answer = await _run_graphql(staff, "{ me { id usergroups { status } } }")
    assert answer["data"]["me"] == {"id": staff.user.id, "usergroups": None}
    assert _codes(answer) == ["FORBIDDEN"]


async def test_me_executes_one_statement(new_client) -> None:
    staff = await new_client("view_orders")
    answer = await staff.get("/api/v1/auth/me")
    assert answer.statements == 1


async def test_sessions_are_listed_and_revoked(new_client) -> None:
    customer = await new_client(user_type="C")
    other = await records.sign_in(customer.store, customer.user)
    text = "{ sessions { id current created_at last_used_at expires_at ip_address user_agent } }"
    listed = (await _run_graphql(customer, text))["data"]["sessions"]
    assert [session["current"] for session in listed] == [False, True]
    end = "mutation ($id: ID!) { session_end(id: $id) { id } }"
    ended = await _run_graphql(customer, end, id=listed[0]["id"])
    assert ended["data"] == {"session_end": {"id": listed[0]["id"]}}
    assert (await customer.with_token(other.access_token).get("/api/v1/auth/me")).status == 401
    again = await _run_graphql(customer, end, id=listed[0]["id"])
    assert _codes(again) == ["NOT_FOUND"]
    for id in ("1", "abc", UNKNOWN_ID):
        assert _codes(await _run_graphql(customer, end, id=id)) == ["NOT_FOUND"]


async def test_sign_out_everywhere_revokes_all_sessions(new_client) -> None:
    customer = await new_client(user_type="C")
    answer = await _run_graphql(customer, "mutation { sign_out_everywhere { message } }")
    assert answer["data"] == {"sign_out_everywhere": {"message": "signed out of all devices"}}
    assert (await customer.get("/api/v1/auth/me")).body == {"error": "token revoked: signed out of all devices"}


# --- API keys ----------------------------------------------------------------------------------------------------------------


async def test_the_secret_of_an_api_key_is_shown_once(new_client) -> None:
    staff = await new_client("view_orders")
    made = (await _run_graphql(staff, KEY_CREATE, name="ERP"))["data"]["api_key_create"]
    assert len(made["key"]) == 40
    assert made["api_key"]["hint"] == made["key"][-4:]
    assert made["api_key"]["name"] == "ERP"
    listed = await _run_graphql(staff, KEYS)
    assert listed["data"]["api_keys"] == [made["api_key"]]
    assert made["key"] not in str(listed)
    stored = await scopes.rows(staff.store, "select * from api_keys")
    assert made["key"] not in str([dict(row) for row in stored])


async def test_vendors_may_have_api_keys_and_customers_may_not(new_client, store: Store) -> None:
    vendor = await new_client(user_type="V", vendor_id=(await records.add_vendor(store)).number)
    assert "errors" not in await _run_graphql(vendor, KEY_CREATE, name="x")
    customer = await new_client(user_type="C")
    for answer in (await _run_graphql(customer, KEY_CREATE, name="x"), await _run_graphql(customer, KEYS)):
        assert _codes(answer) == ["FORBIDDEN"]


async def test_a_revoked_api_key_is_not_listed(new_client) -> None:
    staff = await new_client("view_orders")
    made = (await _run_graphql(staff, KEY_CREATE, name="ERP"))["data"]["api_key_create"]["api_key"]
    assert (await _run_graphql(staff, KEY_REVOKE, id=made["id"]))["data"] == {"api_key_revoke": {"id": made["id"]}}
    assert (await _run_graphql(staff, KEYS))["data"] == {"api_keys": []}
    assert _codes(await _run_graphql(staff, KEY_REVOKE, id=made["id"])) == ["NOT_FOUND"]


async def test_an_api_key_is_created_only_for_users_with_no_more_privileges(new_client, store: Store) -> None:
    manager = await new_client("manage_users", "view_orders")
    weaker, stronger = (
        await records.add_user(store, "view_orders"),
        await records.add_user(store, "view_payments"),
    )
    made = await _run_graphql(manager, KEY_CREATE, name="x", user=weaker.id)
    key = made["data"]["api_key_create"]["api_key"]
    assert (await _run_graphql(manager, KEYS, user=weaker.id))["data"] == {"api_keys": [key]}
    assert (await _run_graphql(manager, KEYS))["data"] == {"api_keys": []}
    for answer in (
        await _run_graphql(manager, KEY_CREATE, name="x", user=stronger.id),
        await _run_graphql(manager, KEYS, user=stronger.id),
    ):
        assert _codes(answer) == ["FORBIDDEN"]
        assert answer["errors"][0]["message"] == "insufficient privileges"
    owner = await _run_graphql(await new_client("view_orders"), KEY_CREATE, name="x", user=weaker.id)
    assert _codes(owner) == ["FORBIDDEN"]
    assert await scopes.value(store, "select count(*) from api_keys") == 1


async def test_the_api_key_of_a_user_with_more_privileges_is_not_revoked(new_client, store: Store) -> None:
    strong = await new_client("view_orders", "manage_payments")
    key = (await _run_graphql(strong, KEY_CREATE, name="x"))["data"]["api_key_create"]["api_key"]
    manager = await new_client("manage_users")
    assert _codes(await _run_graphql(manager, KEY_REVOKE, id=key["id"])) == ["FORBIDDEN"]
    assert (await _run_graphql(strong, KEYS))["data"]["api_keys"] == [key]


async def test_api_keys_and_users_of_another_store_are_not_found(
    new_client, admin: Client, other_admin: Client
) -> None:
    key = (await _run_graphql(other_admin, KEY_CREATE, name="x"))["data"]["api_key_create"]["api_key"]
    assert _codes(await _run_graphql(admin, KEY_REVOKE, id=key["id"])) == ["NOT_FOUND"]
    for user in (other_admin.user.id, UNKNOWN_ID, "abc", "0"):
        assert _codes(await _run_graphql(admin, KEY_CREATE, name="x", user=user)) == ["NOT_FOUND"]
    assert len((await _run_graphql(other_admin, KEYS))["data"]["api_keys"]) == 1


@pytest.mark.parametrize("name, works", [("", True), ("x" * 100, True), ("x" * 101, False), ("☃", True)])
async def test_the_length_of_an_api_key_name_is_limited(new_client, name: str, works: bool) -> None:
    staff = await new_client("view_orders")
    answer = await _run_graphql(staff, KEY_CREATE, name=name)
    assert ("errors" not in answer) == works
    if not works:
        assert _codes(answer) == ["VALIDATION_FAILED"]


# --- Operations only for REST routes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'mutation { vendor_sign_in(email: "a", password: "b") { token } }',
        'mutation { legacy_token_create(email: "a", password: "b") { token } }',
    ],
)
async def test_rest_only_sign_in_fields_are_not_in_the_public_schema(admin: Client, text: str) -> None:
    answer = await _run_graphql(admin, text)
    assert "Cannot query field" in answer["errors"][0]["message"]


async def test_graphql_accepts_only_access_tokens(admin: Client) -> None:
    basic = base64.b64encode(b"a@example.com:key").decode()
    for header in (f"Basic {basic}", f"Bearer {admin.refresh_token}"):
        answer = await admin.request("POST", "/graphql", {"query": "{ me { id } }"}, headers={"Authorization": header})
        assert answer.status == 401, header


# --- Accounts of others ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["C", "V", "A"])
async def test_who_may_not_edit_users_does_not_learn_which_ids_are_users(new_client, store: Store, kind: str) -> None:
    columns = {"vendor_id": (await records.add_vendor(store)).number} if kind == "V" else {}
    caller, other = await new_client(user_type=kind, **columns), await new_client("manage_orders")
    made = (await _run_graphql(other, KEY_CREATE, name="ERP"))["data"]["api_key_create"]["api_key"]
    calls = {
        'mutation ($id: ID!) { user_update(id: $id, input: {firstname: "Eva"}) { id } }': (other.user.id, "FORBIDDEN"),
        'mutation ($id: ID!) { two_factor_disable(user_id: $id, password: "x") { message } }': (
            other.user.id,
            "FORBIDDEN",
        ),
        'mutation ($id: ID!) { api_key_create(user_id: $id, name: "x") { key } }': (other.user.id, "FORBIDDEN"),
        "query ($id: ID!) { api_keys(user_id: $id) { id } }": (other.user.id, "FORBIDDEN"),
        "query ($id: ID!) { user_export(id: $id) { data } }": (other.user.id, "FORBIDDEN"),
        KEY_REVOKE: (made["id"], "NOT_FOUND"),
    }
    for text, (id, code) in calls.items():
        answers = [await _run_graphql(caller, text, id=each) for each in (id, UNKNOWN_ID)]
        shown = [[(error["message"], error["extensions"]) for error in answer["errors"]] for answer in answers]
        assert shown[0] == shown[1], text
        expected = "FORBIDDEN" if kind == "C" else code  # customers have no keys
        assert _codes(answers[0]) == [expected], text
