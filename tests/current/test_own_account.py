"""Changing one's own password and e-mail, and deleting one's account (docs/reference/current.md#own-account)."""

import pytest

from kernel.ids import uuid7
from tests.current.test_registration import EXPIRED, NEW, VERIFY, mailed_token, mails, sign_in
from tests.harness import records, scopes
from tests.harness.http import Client
from tests.harness.records import PASSWORD

UPDATE = "mutation ($id: ID!, $input: UserInput!) { user_update(id: $id, input: $input) { email } }"
CHANGE_PASSWORD = "mutation ($old: String!, $new: String!) { password_change(current_password: $old, new_password: $new) { message } }"
CHANGE_EMAIL = "mutation ($password: String!, $email: String!) { email_change(password: $password, new_email: $email) { message } }"
DELETE = "mutation ($token: String, $password: String) { account_delete_request(token: $token, password: $password) { message } }"


async def run(caller: Client, document: str, **variables) -> dict:
    answer = await caller.post("/graphql", {"query": document, "variables": variables})
    assert answer.status == 200, answer.body
    return answer.body


async def change_email(caller: Client, email: str, password: str = PASSWORD) -> dict:
    return await run(caller, CHANGE_EMAIL, password=password, email=email)


def code_of(answer: dict) -> str:
    return answer["errors"][0]["extensions"]["code"]


async def stored(caller: Client) -> dict:
    (row,) = await scopes.rows(caller.store, "select * from users where id = $1", caller.user.number)
    return dict(row)


@pytest.mark.parametrize("privileges", [(), ("manage_users",)])
@pytest.mark.parametrize("field, value", [("email", "new@example.com"), ("password", NEW), ("password", PASSWORD)])
async def test_an_access_token_alone_changes_neither_own_password_nor_email(
    new_client, privileges: tuple, field: str, value: str
) -> None:
    person = await new_client(*privileges)
    before = await stored(person)
    answer = await run(person, UPDATE, id=person.user.id, input={field: value, "firstname": "Nova"})
    assert code_of(answer) == "VALIDATION_FAILED"
    assert f"{field}_change" in answer["errors"][0]["message"]
    assert await stored(person) == before


async def test_an_update_of_oneself_may_repeat_the_email(new_client) -> None:
    person = await new_client()
    answer = await run(
        person, UPDATE, id=person.user.id, input={"email": person.user.email.upper(), "firstname": "Nova"}
    )
    assert "errors" not in answer, answer
    assert (await stored(person))["firstname"] == "Nova"


async def test_an_administrator_without_view_users_sees_its_own_update(new_client) -> None:
    staff = await new_client("view_orders")
    answer = await run(staff, UPDATE, id=staff.user.id, input={"firstname": "Nova"})
    assert "errors" not in answer
    assert answer["data"] == {"user_update": {"email": staff.user.email}}


async def test_a_changed_password_ends_the_other_sessions_and_is_mailed(visitor: Client, new_client) -> None:
    person = await new_client()
    other = visitor.with_token((await sign_in(visitor, person.user.email)).body["access_token"])
    answer = await run(person, CHANGE_PASSWORD, old=PASSWORD, new=NEW)
    assert answer["data"]["password_change"]["message"] == "password changed"
    assert (await other.get("/api/v1/auth/me")).body == {"error": "token revoked: password changed"}
    assert (await person.get("/api/v1/auth/me")).status == 200
    assert (await sign_in(visitor, person.user.email)).status == 401
    assert (await sign_in(visitor, person.user.email, NEW)).status == 200
    assert [mail.recipient for mail in await mails(visitor.store)] == [person.user.email]


@pytest.mark.parametrize(
    "change",
    [
        lambda person: run(person, CHANGE_PASSWORD, old="wrong password", new=NEW),
        lambda person: change_email(person, "new@example.com", "wrong password"),
        lambda person: run(person, DELETE, password="wrong password"),
    ],
    ids=["password_change", "email_change", "account_delete_request"],
)
async def test_wrong_passwords_count_toward_the_lockout(visitor: Client, new_client, change) -> None:
    person = await new_client()
    before = await stored(person)
    for repetition in range(10):
        answer = await change(person)
        assert code_of(answer) == "VALIDATION_FAILED", (repetition, answer)
    assert code_of(await change(person)) == "RATE_LIMITED"
    assert (await sign_in(visitor, person.user.email)).status == 429
    assert await stored(person) == before
    assert await mails(visitor.store) == []


async def test_an_invalid_new_password_changes_nothing(new_client) -> None:
    person = await new_client()
    answer = await run(person, CHANGE_PASSWORD, old=PASSWORD, new="short")
    assert (code_of(answer), answer["errors"][0]["extensions"]["field"]) == (
        "VALIDATION_FAILED",
        "new_password",
    )


async def test_a_new_email_counts_once_confirmed(visitor: Client, new_client) -> None:
    person = await new_client()
    old, new = person.user.email, f"{uuid7().hex}@example.com"
    assert "errors" not in await change_email(person, new)
    assert (await stored(person))["email"] == old
    sent = {mail.kind: mail.recipient for mail in await mails(visitor.store)}
    assert sent == {"email_change": new, "email_change_requested": old}
    token = await mailed_token(visitor.store, "email_change")
    assert (await visitor.post(VERIFY, {"token": token})).status == 200
    row = await stored(person)
    assert row["email"] == new
    assert row["email_verified_at"] is not None
    assert (await mails(visitor.store, "email_changed"))[0].recipient == old
    assert (await sign_in(visitor, new)).status == 200
    again = await visitor.post(VERIFY, {"token": token})
    assert (again.status, again.body) == EXPIRED


async def test_a_taken_email_is_not_revealed_and_its_owner_is_mailed(visitor: Client, new_client) -> None:
    person, owner = await new_client(), await records.add_user(visitor.store)
    fresh = await change_email(person, f"{uuid7().hex}@example.com")
    taken = await change_email(person, owner.email.upper())
    assert fresh["data"] == taken["data"]
    assert "errors" not in taken
    assert [mail.recipient for mail in await mails(visitor.store, "email_change_taken")] == [owner.email]
    assert len(await mails(visitor.store, "email_change")) == 1


async def test_an_address_registered_since_the_request_cannot_be_confirmed(visitor: Client, new_client) -> None:
    person, new = await new_client(), f"{uuid7().hex}@example.com"
    await change_email(person, new)
    await records.add_user(visitor.store, email=new)
    answer = await visitor.post(VERIFY, {"token": await mailed_token(visitor.store, "email_change")})
    assert (answer.status, answer.body) == EXPIRED
    assert (await stored(person))["email"] == person.user.email


async def test_a_changed_password_cancels_a_requested_email(visitor: Client, new_client) -> None:
    person = await new_client()
    await change_email(person, f"{uuid7().hex}@example.com")
    token = await mailed_token(visitor.store, "email_change")
    await run(person, CHANGE_PASSWORD, old=PASSWORD, new=NEW)
    assert (await visitor.post(VERIFY, {"token": token})).status == 401


async def test_at_most_three_email_changes_an_hour_are_mailed(visitor: Client, new_client) -> None:
    person = await new_client()
    for repetition in range(5):
        assert "errors" not in await change_email(person, f"{uuid7().hex}@example.com"), repetition
    assert len(await mails(visitor.store)) == 6


# --- Deletion ----------------------------------------------------------------------------------------------------------------


async def test_a_customer_deletes_their_account_with_a_mailed_token(visitor: Client, new_client) -> None:
    person = await new_client()
    assert "errors" not in await run(person, DELETE, password=PASSWORD)
    assert (await stored(person))["status"] == "A"
    token = await mailed_token(visitor.store, "account_deletion")
    stranger = await new_client()
    assert code_of(await run(person, DELETE, token=token, password="wrong password")) == "VALIDATION_FAILED"
    assert code_of(await run(stranger, DELETE, token=token)) == "UNAUTHENTICATED"
    answer = await run(person, DELETE, token=token)
    assert answer["data"]["account_delete_request"]["message"] == "account deleted"
    assert await scopes.rows(visitor.store, "select id from users where id = $1", person.user.number) == []
    assert (await person.get("/api/v1/auth/me")).status == 401


async def test_a_deleted_account_with_orders_is_anonymized(visitor: Client, new_client) -> None:
    person = await new_client()
    await scopes.execute(
        visitor.store,
        "insert into orders (tenant_id, public_id, user_id) values ($1, $2, $3)",
        visitor.store.id,
        uuid7(),
        person.user.number,
    )
    await run(person, DELETE)
    await run(person, DELETE, token=await mailed_token(visitor.store, "account_deletion"))
    row = await stored(person)
    assert (row["email"], row["password_hash"], row["status"]) == (None, None, "D")


async def test_staff_cannot_delete_their_account(new_client) -> None:
    assert code_of(await run(await new_client("manage_users"), DELETE)) == "FORBIDDEN"
