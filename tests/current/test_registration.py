"""Registration, e-mail confirmation and password reset over HTTP (docs/reference/current.md#registration)."""

import asyncio
import re
from datetime import UTC, datetime, timedelta

import pytest

from domain.mails import outbox
from domain.mails.outbox import StoredMail
from kernel.ids import uuid7
from kernel.scope import ANONYMOUS, Store, active_scope
from models.connection import database
from tests.current.test_two_factor import add_two_factor_user, challenge
from tests.harness import records, scopes
from tests.harness.http import Client, is_token_pair
from tests.harness.records import PASSWORD

REGISTER = "/api/v1/auth/register"
VERIFY = "/api/v1/auth/email/verify"
RESEND = "/api/v1/auth/email/resend"
FORGOT = "/api/v1/auth/password/forgot"
RESET = "/api/v1/auth/password/reset"
LOGIN = "/api/v1/auth/login"

NEW = "a brand new password"
EXPIRED = (401, {"error": "invalid or expired token"})


async def mails(store: Store, mail_type: str | None = None) -> list[StoredMail]:
    """Return the mails of the store, newest first."""
    scope = scopes.system_scope(store)
    with active_scope(scope):
        return [mail for mail in await outbox.list_latest(scope) if mail_type in (None, mail.kind)]


async def mailed_token(store: Store, mail_type: str) -> str:
    mail = (await mails(store, mail_type))[0]
    match = re.search(r"^    ([A-Za-z0-9_-]{43})$", mail.body, re.MULTILINE)
    assert match is not None, mail.body
    return match[1]


def registration_input(**fields) -> dict:
    return {"email": f"{uuid7().hex}@example.com", "password": PASSWORD, "name": "Ana Souza"} | fields


async def sign_in(visitor: Client, email: str, password: str = PASSWORD):
    return await visitor.from_new_address().post(LOGIN, {"email": email, "password": password})


# --- Registration ------------------------------------------------------------------------------------------------------------


async def test_a_customer_registers_confirms_the_email_and_signs_in(visitor: Client) -> None:
    body = registration_input(cpf="529.982.247-25", phone="(11) 98765-4321")
    answer = await visitor.post(REGISTER, body)
    assert (answer.status, set(answer.body)) == (201, {"message"})
    rejected = await sign_in(visitor, body["email"])
    assert (rejected.status, rejected.body["error"]) == (403, "email_not_verified")
    token = await mailed_token(visitor.store, "email_verification")
    verified = await visitor.post(VERIFY, {"token": token})
    assert (verified.status, verified.body) == (200, {"message": "email verified"})
    assert is_token_pair((await sign_in(visitor, body["email"])).body)
    again = await visitor.post(VERIFY, {"token": token})
    assert (again.status, again.body) == EXPIRED
    (user,) = await scopes.rows(visitor.store, "select * from users")
    assert (user["user_type"], user["status"], user["name"]) == ("C", "A", "Ana Souza")
    assert (user["cpf"], user["phone"]) == ("52998224725", "11987654321")


async def test_a_registration_emits_user_registered(visitor: Client) -> None:
    body = registration_input()
    await visitor.post(REGISTER, body)
    events = await scopes.rows(visitor.store, "select name, data::text as data from outbox_events order by id")
    assert [event["name"] for event in events] == ["user.registered", "customer.created"]
    assert all(body["email"] in event["data"] for event in events)


async def test_registration_creates_only_customers(visitor: Client) -> None:
    body = registration_input(
        user_type="A", role="admin", status="A", privileges=["manage_users"], vendor_id=1, points=5
    )
    assert (await visitor.post(REGISTER, body)).status == 201
    (user,) = await scopes.rows(visitor.store, "select * from users")
    assert (user["user_type"], user["privileges"], user["vendor_id"], user["points"]) == ("C", [], None, 0)
    assert user["email_verified_at"] is None


async def test_a_taken_email_gets_the_same_response_and_its_owner_a_mail(visitor: Client) -> None:
    owner = await records.add_user(visitor.store)
    fresh = await visitor.post(REGISTER, registration_input())
    taken = await visitor.post(REGISTER, registration_input(email=f" {owner.email.upper()} ", password=NEW))
    assert (taken.status, taken.body) == (fresh.status, fresh.body)
    sent_mails = await mails(visitor.store, "registration_taken")
    assert [mail.recipient for mail in sent_mails] == [owner.email]
    assert "já tem uma conta" in sent_mails[0].subject
    assert len(await scopes.rows(visitor.store, "select id from users")) == 2
    assert (await sign_in(visitor, owner.email, NEW)).status == 401
    assert (await sign_in(visitor, owner.email)).status == 200
    events = await scopes.rows(visitor.store, "select name from outbox_events where name = 'user.registered'")
    assert len(events) == 1  # only the new user


async def test_the_owner_of_a_taken_email_gets_at_most_three_mails_an_hour(visitor: Client) -> None:
    owner = await records.add_user(visitor.store)
    for repetition in range(5):
        assert (await visitor.post(REGISTER, registration_input(email=owner.email))).status == 201, repetition
    assert len(await mails(visitor.store)) == 3


async def test_new_and_taken_emails_execute_the_same_work(visitor: Client) -> None:
    from dataclasses import replace

    from domain.people import registration

    owner = await records.add_user(visitor.store)
    counts = []
    for email in (owner.email, f"{uuid7().hex}@example.com"):
        scope = replace(scopes.system_scope(visitor.store), actor=ANONYMOUS, client_ip="10.0.0.1")
        with active_scope(scope), database.count_statements() as counted:
            await registration.register(scope, registration_input(email=email))
        counts.append(counted.count)
    assert counts[0] == counts[1]


async def test_concurrent_registrations_with_one_email_create_one_user(visitor: Client) -> None:
    body = registration_input()
    answers = await asyncio.gather(*(visitor.post(REGISTER, body) for _ in range(5)))
    assert {(answer.status, answer.raw) for answer in answers} == {(201, answers[0].raw)}
    assert len(await scopes.rows(visitor.store, "select id from users")) == 1
    assert len(await mails(visitor.store, "email_verification")) == 1


@pytest.mark.parametrize(
    "change, fields",
    [
        ({"email": None}, {"email": "required"}),
        ({"email": "  "}, {"email": "required"}),
        ({"email": "ana"}, {"email": "email_invalid"}),
        ({"email": "ana@example.com\r\nBcc: x@example.com"}, {"email": "email_invalid"}),
        ({"email": "x" * 400 + "@example.com"}, {"email": "email_invalid"}),
        ({"password": None}, {"password": "required"}),
        ({"password": "1234567"}, {"password": "password_invalid"}),
        ({"password": "x" * 129}, {"password": "password_invalid"}),
        ({"name": None}, {"name": "name_required"}),
        ({"name": " "}, {"name": "name_required"}),
        ({"name": "x" * 300}, {"name": "name_invalid"}),
        ({"cpf": "11111111111"}, {"cpf": "cpf_invalid"}),
        ({"cnpj": "1"}, {"cnpj": "cnpj_invalid"}),
        ({"phone": "none"}, {"phone": "phone_invalid"}),
        ({"phone": "1"}, {"phone": "phone_invalid"}),
        ({"phone": "9" * 21}, {"phone": "phone_invalid"}),
        (
            {"email": "x", "password": "x", "name": ""},
            {"email": "email_invalid", "password": "password_invalid", "name": "name_required"},
        ),
    ],
)
async def test_invalid_fields_are_named(visitor: Client, change: dict, fields: dict) -> None:
    answer = await visitor.post(REGISTER, registration_input(**change))
    assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": fields})
    assert await mails(visitor.store) == []


async def test_an_empty_registration_names_all_required_fields(visitor: Client) -> None:
    answer = await visitor.post(REGISTER, {})
    assert answer.body["fields"] == {"email": "required", "password": "required", "name": "name_required"}


@pytest.mark.parametrize("path", [REGISTER, VERIFY, RESEND, FORGOT, RESET])
@pytest.mark.parametrize("data", [b"{", b"[]", b"5", b'{"email": "\\u0000"}', b"\xff", b'{"email": "\\ud800"}'])
async def test_a_body_that_is_not_an_object_is_rejected(visitor: Client, path: str, data: bytes) -> None:
    answer = await visitor.post(path, data=data, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.body["error"]) == (400, "invalid request body")


@pytest.mark.parametrize(
    "path, field",
    [(REGISTER, "email"), (REGISTER, "cpf"), (VERIFY, "token"), (RESEND, "email"), (FORGOT, "email")],
)
@pytest.mark.parametrize("wrong", [5, 1.5, True, [], {}])
async def test_a_field_of_a_wrong_type_is_rejected(visitor: Client, path: str, field: str, wrong) -> None:
    answer = await visitor.post(path, {field: wrong})
    assert (answer.status, answer.body) == (
        400,
        {"error": "invalid request body", "detail": f"{field} is no text"},
    )


async def test_a_store_may_require_approval_of_customers(new_sample) -> None:
    sample = await new_sample(customers_need_approval=True)
    visitor = sample.anonymous
    body = registration_input()
    await visitor.post(REGISTER, body)
    await visitor.post(VERIFY, {"token": await mailed_token(sample.store, "email_verification")})
    rejected = await sign_in(visitor, body["email"])
    assert (rejected.status, rejected.body["error"]) == (403, "account_pending_approval")
    number = await scopes.value(sample.store, "select public_id from users where email = $1", body["email"])
    document = "mutation ($id: ID!) { user_update(id: $id, input: {status: A}) { status } }"
    owner = visitor.with_token(await sample.token(sample.owner))
    approve = {"query": document, "variables": {"id": str(number)}}
    answer = await owner.post("/graphql", approve)
    assert answer.body["data"]["user_update"]["status"] == "A", answer.body
    await owner.post("/graphql", approve)
    sent_mails = await mails(sample.store, "account_approved")
    assert [mail.recipient for mail in sent_mails] == [body["email"]]
    assert (await sign_in(visitor, body["email"])).status == 200


async def test_mails_link_to_the_account_url_of_the_store(new_sample) -> None:
    sample = await new_sample(account_url="https://loja.example.com/conta")
    await sample.anonymous.post(REGISTER, registration_input())
    (mail,) = await mails(sample.store, "email_verification")
    assert re.search(r"https://loja\.example\.com/conta#email_verification=[A-Za-z0-9_-]{43}\n", mail.body)


# --- Confirmation of the e-mail ----------------------------------------------------------------------------------------------


async def test_a_confirmation_mail_can_be_resent(visitor: Client) -> None:
    user = await records.add_user(visitor.store, email_verified_at=None)
    answer = await visitor.post(RESEND, {"email": user.email})
    assert (answer.status, set(answer.body)) == (200, {"message"})
    await visitor.post(VERIFY, {"token": await mailed_token(visitor.store, "email_verification")})
    assert (await sign_in(visitor, user.email)).status == 200


async def test_a_confirmation_is_resent_only_to_unverified_users_with_the_same_response(
    visitor: Client,
) -> None:
    verified = await records.add_user(visitor.store)
    disabled = await records.add_user(visitor.store, email_verified_at=None, status="D")
    pending = await records.add_user(visitor.store, email_verified_at=None)
    answers = [
        await visitor.post(RESEND, {"email": email})
        for email in (verified.email, disabled.email, pending.email, "nobody@example.com", "no e-mail")
    ]
    assert {(answer.status, answer.raw) for answer in answers} == {(200, answers[0].raw)}
    assert [mail.recipient for mail in await mails(visitor.store)] == [pending.email]


async def test_at_most_three_confirmation_mails_are_sent_an_hour(visitor: Client) -> None:
    user = await records.add_user(visitor.store, email_verified_at=None)
    for repetition in range(5):
        assert (await visitor.post(RESEND, {"email": user.email})).status == 200, repetition
    assert len(await mails(visitor.store)) == 3


@pytest.mark.parametrize("path, field", [(VERIFY, "token"), (RESEND, "email"), (FORGOT, "email"), (RESET, "token")])
@pytest.mark.parametrize("body", [{}, {"email": None, "token": None}, {"email": "", "token": ""}])
async def test_missing_fields_are_named(visitor: Client, path: str, field: str, body: dict) -> None:
    answer = await visitor.post(path, body)
    assert (answer.status, answer.body) == (400, {"error": f"{field} is required"})


@pytest.mark.parametrize("path", [VERIFY, RESET])
@pytest.mark.parametrize("token", ["x", "x" * 43, "x" * 100_000, "🙈", "' or 1=1"])
async def test_an_unknown_token_is_rejected(visitor: Client, path: str, token: str) -> None:
    answer = await visitor.post(path, {"token": token, "password": NEW})
    assert (answer.status, answer.body) == EXPIRED


async def test_a_confirmation_expires_after_a_day_or_an_email_change(visitor: Client) -> None:
    user = await records.add_user(visitor.store, email_verified_at=None)
    await visitor.post(RESEND, {"email": user.email})
    token = await mailed_token(visitor.store, "email_verification")
    await scopes.execute(visitor.store, "update users set email = 'other@example.com' where id = $1", user.number)
    answer = await visitor.post(VERIFY, {"token": token})
    assert (answer.status, answer.body) == EXPIRED
    await scopes.execute(visitor.store, "update users set email = $2 where id = $1", user.number, user.email)
    await scopes.execute(visitor.store, "update mailed_tokens set expires_at = $1", datetime.now(UTC))
    answer = await visitor.post(VERIFY, {"token": token})
    assert (answer.status, answer.body) == EXPIRED


# --- Password reset -----------------------------------------------------------------------------------------------------


async def request_reset(visitor: Client, email: str):
    return await visitor.from_new_address().post(FORGOT, {"email": email})


async def reset(visitor: Client, token: str, password: str = NEW):
    return await visitor.from_new_address().post(RESET, {"token": token, "password": password})


async def test_a_forgotten_password_is_reset(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    answer = await request_reset(visitor, user.email.upper())
    assert (answer.status, set(answer.body)) == (200, {"message"})
    token = await mailed_token(visitor.store, "password_reset")
    answer = await reset(visitor, token)
    assert (answer.status, answer.body) == (200, {"message": "password changed"})
    assert (await sign_in(visitor, user.email)).status == 401
    assert (await sign_in(visitor, user.email, NEW)).status == 200
    again = await reset(visitor, token, "yet another password")
    assert (again.status, again.body) == EXPIRED
    assert [mail.kind for mail in await mails(visitor.store)] == ["password_changed", "password_reset"]


async def test_every_password_reset_request_gets_the_same_response(visitor: Client) -> None:
    registered = [
        (await records.add_user(visitor.store, **columns)).email
        for columns in ({}, {"status": "D"}, {"status": "P"}, {"email_verified_at": None})
    ]
    answers = [
        await request_reset(visitor, email)
        for email in (*registered, "nobody@example.com", "no e-mail", "🙈", "x" * 10_000)
    ]
    assert {(answer.status, answer.raw) for answer in answers} == {(200, answers[0].raw)}
    sent_mails = {mail.recipient for mail in await mails(visitor.store)}
    assert sent_mails == {registered[0], registered[2], registered[3]}  # not to the disabled user


async def test_every_password_reset_request_executes_the_same_work(visitor: Client) -> None:
    from dataclasses import replace

    from domain.people import registration
    from tests.harness.scopes import unused_ip

    user = await records.add_user(visitor.store)
    disabled = await records.add_user(visitor.store, status="D")
    counts = []
    for email in (user.email, "nobody@example.com", "no e-mail", disabled.email, *[user.email] * 4):
        scope = replace(scopes.system_scope(visitor.store), actor=ANONYMOUS, client_ip=unused_ip())
        with active_scope(scope), database.count_statements() as counted:
            await registration.forgot_password(scope, email)
        counts.append(counted.count)
    assert len(set(counts)) == 1
    # The number of rows written is the same too.
    assert await scopes.value(visitor.store, "select count(*) from mails") == len(counts)
    assert await scopes.value(visitor.store, "select count(*) from mailed_tokens") == len(counts)
    assert len(await mails(visitor.store)) == 3


async def test_at_most_three_reset_mails_are_sent_per_hour_and_account(visitor: Client) -> None:
    user, other = await records.add_user(visitor.store), await records.add_user(visitor.store)
    for repetition in range(5):
        assert (await request_reset(visitor, user.email)).status == 200, repetition
    await request_reset(visitor, other.email)
    assert sorted(mail.recipient for mail in await mails(visitor.store)) == sorted([user.email] * 3 + [other.email])
    await scopes.execute(visitor.store, "update mails set created_at = created_at - $1::interval", timedelta(hours=1))
    await request_reset(visitor, user.email)
    assert len(await mails(visitor.store)) == 5


async def test_concurrent_reset_requests_send_at_most_three_mails(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    await asyncio.gather(*(request_reset(visitor, user.email) for _ in range(8)))
    assert len(await mails(visitor.store)) == 3


async def test_a_token_is_stored_as_a_hash_and_its_mail_encrypted(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    await request_reset(visitor, user.email)
    token = await mailed_token(visitor.store, "password_reset")
    assert len(token) == 43  # 256 bits
    stored = str(await scopes.rows(visitor.store, "select * from mailed_tokens"))
    stored += str(await scopes.rows(visitor.store, "select m.*, encode(m.body, 'escape') from mails m"))
    assert token not in stored


async def test_a_token_is_valid_for_an_hour_and_one_purpose(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    await request_reset(visitor, user.email)
    token = await mailed_token(visitor.store, "password_reset")
    answer = await visitor.post(VERIFY, {"token": token})
    assert (answer.status, answer.body) == EXPIRED
    lifetime = await scopes.value(visitor.store, "select expires_at - created_at from mailed_tokens")
    assert lifetime == timedelta(hours=1)
    await scopes.execute(visitor.store, "update mailed_tokens set expires_at = $1", datetime.now(UTC))
    answer = await reset(visitor, token)
    assert (answer.status, answer.body) == EXPIRED


async def test_a_token_is_valid_only_in_its_store(visitor: Client, other_store: Store) -> None:
    user = await records.add_user(visitor.store)
    await request_reset(visitor, user.email)
    answer = await reset(visitor.at(other_store), await mailed_token(visitor.store, "password_reset"))
    assert (answer.status, answer.body) == EXPIRED


async def test_of_concurrent_resets_with_one_token_one_succeeds(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    await request_reset(visitor, user.email)
    token = await mailed_token(visitor.store, "password_reset")
    answers = await asyncio.gather(*(reset(visitor, token, f"{NEW} {number}") for number in range(4)))
    assert sorted(answer.status for answer in answers) == [200, 401, 401, 401]


async def test_a_reset_revokes_the_other_reset_tokens(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    await request_reset(visitor, user.email)
    first = await mailed_token(visitor.store, "password_reset")
    await request_reset(visitor, user.email)
    second = await mailed_token(visitor.store, "password_reset")
    assert (await reset(visitor, second)).status == 200
    assert (await reset(visitor, first)).status == 401


@pytest.mark.parametrize("password", ["1234567", "x" * 129])
async def test_an_invalid_password_is_rejected_and_the_token_remains_valid(visitor: Client, password: str) -> None:
    user = await records.add_user(visitor.store)
    await request_reset(visitor, user.email)
    token = await mailed_token(visitor.store, "password_reset")
    answer = await reset(visitor, token, password)
    assert (answer.status, answer.body) == (
        400,
        {"error": "validation_failed", "fields": {"password": "password_invalid"}},
    )
    missing = await visitor.from_new_address().post(RESET, {"token": token})
    assert (missing.status, missing.body) == (400, {"error": "password is required"})
    assert (await reset(visitor, token)).status == 200


async def test_a_reset_revokes_all_sessions(visitor: Client, new_client) -> None:
    person = await new_client()
    await request_reset(visitor, person.user.email)
    await reset(visitor, await mailed_token(visitor.store, "password_reset"))
    answer = await person.get("/api/v1/auth/me")
    assert (answer.status, answer.body) == (401, {"error": "token revoked: password changed"})
    answer = await person.post("/api/v1/auth/refresh", {"refresh_token": person.refresh_token})
    assert answer.status == 401


async def test_a_reset_does_not_disable_two_factor(visitor: Client) -> None:
    app = await add_two_factor_user(visitor)
    pending = await challenge(visitor, app)
    await request_reset(visitor, app.user.email)
    await reset(visitor, await mailed_token(visitor.store, "password_reset"))
    answer = await sign_in(visitor, app.user.email, NEW)
    assert set(answer.body) == {"requires_2fa", "temp_token"}
    stale = await visitor.post("/api/v1/auth/verify-2fa", {"temp_token": pending, "code": app.code()})
    assert (stale.status, stale.body) == EXPIRED


async def test_a_reset_does_not_end_a_lockout(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    for _ in range(10):
        await sign_in(visitor, user.email, "wrong password")
    await request_reset(visitor, user.email)
    assert (await reset(visitor, await mailed_token(visitor.store, "password_reset"))).status == 200
    answer = await sign_in(visitor, user.email, NEW)
    assert (answer.status, answer.body["error"]) == (429, "account_locked")


async def test_a_reset_verifies_the_email(visitor: Client) -> None:
    user = await records.add_user(visitor.store, email_verified_at=None)
    await request_reset(visitor, user.email)
    await reset(visitor, await mailed_token(visitor.store, "password_reset"))
    assert (await sign_in(visitor, user.email, NEW)).status == 200


async def test_changing_password_or_email_revokes_mailed_tokens(visitor: Client, admin: Client) -> None:
    for change in (
        {"password": "changed by an administrator"},
        {"email": f"{uuid7().hex}@example.com"},
        {"status": "D"},
    ):
        user = await records.add_user(visitor.store)
        await request_reset(visitor, user.email)
        token = await mailed_token(visitor.store, "password_reset")
        document = "mutation ($id: ID!, $input: UserInput!) { user_update(id: $id, input: $input) { id } }"
        changed = await admin.post("/graphql", {"query": document, "variables": {"id": user.id, "input": change}})
        assert changed.body["data"]["user_update"], (change, changed.body)
        answer = await reset(visitor, token)
        assert (answer.status, answer.body) == EXPIRED, change


@pytest.mark.parametrize(
    "path, other, attempt, status",
    [
        (FORGOT, RESET, {"email": "nobody@example.com"}, 200),
        (FORGOT, RESET, {"email": 5}, 400),
        (RESET, FORGOT, {"token": "x", "password": NEW}, 401),
        (RESET, LOGIN, {}, 400),
        (RESEND, FORGOT, {"email": "nobody@example.com"}, 200),
        (RESEND, FORGOT, {"email": 5}, 400),
    ],
)
async def test_each_route_is_limited_to_five_requests_a_minute(
    visitor: Client, path: str, other: str, attempt: dict, status: int
) -> None:
    for repetition in range(5):
        assert (await visitor.post(path, attempt)).status == status, repetition
    answer = await visitor.post(path, attempt)
    assert (answer.status, answer.body["error"], set(answer.body)) == (
        429,
        "rate limit exceeded",
        {"error", "detail"},
    )
    assert answer.headers["Retry-After"] == "60"
    assert (await visitor.post(other, {})).status == 400


async def test_registration_is_limited_to_five_valid_attempts_a_minute(visitor: Client) -> None:
    for repetition in range(6):
        assert (await visitor.post(REGISTER, registration_input(email="nobody"))).status == 400, repetition
    for repetition in range(5):
        assert (await visitor.post(REGISTER, registration_input())).status == 201, repetition
    answer = await visitor.post(REGISTER, registration_input())
    assert (answer.status, answer.body["error"]) == (429, "rate limit exceeded")
    assert len(await scopes.rows(visitor.store, "select id from users")) == 5


async def test_the_name_in_a_mail_is_one_short_line_without_links(visitor: Client) -> None:
    name = "Win\n\nhttps://evil.example " + "x" * 60
    await visitor.post(REGISTER, registration_input(name=name))
    (mail,) = await mails(visitor.store)
    assert mail.body.startswith("Olá, Win!\n")
    assert "evil" not in mail.body


# --- In GraphQL --------------------------------------------------------------------------------------------------------------


async def test_every_registration_of_a_document_counts(visitor: Client, new_client) -> None:
    person = (await new_client()).from_new_address()
    fields = [
        f'r{index}: user_register(input: {{email: "{uuid7().hex}@example.com", password: "{PASSWORD}", name: "Ana"}}) {{ message }}'
        for index in range(8)
    ]
    answer = await person.post("/graphql", {"query": f"mutation {{ {' '.join(fields)} }}"})
    codes = [error["extensions"]["code"] for error in answer.body["errors"]]
    assert set(codes) == {"RATE_LIMITED"}
    assert len(await mails(visitor.store, "email_verification")) == 5


async def test_every_requested_mail_of_a_document_counts_in_both_interfaces(visitor: Client, new_client) -> None:
    person = (await new_client()).from_new_address()
    fields = [f'r{index}: email_resend(email: "{index}@example.com") {{ message }}' for index in range(7)]
    answer = await person.post("/graphql", {"query": f"mutation {{ {' '.join(fields)} }}"})
    assert {error["extensions"]["code"] for error in answer.body["errors"]} == {"RATE_LIMITED"}
    assert (
        await Client(person.http, person.store, ip=person.ip).post(RESEND, {"email": "8@example.com"})
    ).status == 429


async def test_graphql_offers_registration_and_password_reset(visitor: Client, new_client) -> None:
    person = (await new_client()).from_new_address()
    body = registration_input()

    async def message_of(document: str, **variables) -> str:
        answer = await person.post("/graphql", {"query": document, "variables": variables})
        (message,) = answer.body["data"].values()
        return message["message"]

    register = "mutation ($input: RegistrationInput!) { user_register(input: $input) { message } }"
    assert await message_of(register, input=body)
    assert await message_of(
        "mutation ($email: String!) { email_resend(email: $email) { message } }", email=body["email"]
    )
    token = await mailed_token(visitor.store, "email_verification")
    assert await message_of("mutation ($token: String!) { email_verify(token: $token) { message } }", token=token)
    assert await message_of(
        "mutation ($email: String!) { password_forgot(email: $email) { message } }", email=body["email"]
    )
    token = await mailed_token(visitor.store, "password_reset")
    document = "mutation ($token: String!, $new: String!) { password_reset(token: $token, password: $new) { message } }"
    assert await message_of(document, token=token, new=NEW) == "password changed"
    assert (await sign_in(visitor, body["email"], NEW)).status == 200
