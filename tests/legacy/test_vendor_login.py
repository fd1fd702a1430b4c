"""Check vendor sign-in, password reset and sign-up (docs/reference/legacy.md#vendor-app)."""

import re
from datetime import UTC, datetime

import pyotp
import pytest

from auth.credentials import load_user
from domain.mails import outbox
from domain.people import two_factor
from kernel.errors import TokenRevoked
from kernel.scope import active_scope
from tests.harness.http import Response
from tests.harness.records import PASSWORD
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import unused_ip

LOGIN = "/api/vendor_login"
SIGNUP = "/api/vendor_signup"
SIGNUP_BODY = {"company": "Ateliê Novo", "email": "novo@example.com", "password": "a good long password"}


async def sign_in(sample: SampleStore, *, from_new_ip: bool = True, **changes) -> Response:
    if from_new_ip:
        sample.ip = unused_ip()
    body = {"email": sample.vendor_user.email, "password": PASSWORD} | changes
    return await sample.post(LOGIN, body, auth=None)


async def get_with_token(sample: SampleStore, token: str, path: str = "/api/vendor_profile") -> Response:
    return await sample.get(path, auth=None, headers={"Authorization": f"Bearer {token}"})


async def read_emailed_token(sample: SampleStore) -> str:
    with active_scope(sample.scope):
        [mail] = [mail for mail in await outbox.list_latest(sample.scope) if mail.kind == "password_reset"]
    match = re.search(r"^    ([A-Za-z0-9_-]{43})$", mail.body, re.MULTILINE)
    assert match is not None, mail.body
    return match[1]


# --- Sign-in -----------------------------------------------------------------------------------------------------------------


async def test_a_vendor_signs_in_and_the_token_authenticates(sample):
    answer = await sign_in(sample, email=f" {sample.vendor_user.email.upper()} ")
    assert answer.status == 200
    body = answer.body
    assert set(body) == {"token", "ttl", "user_id", "company_id", "expires_at"}
    assert (body["user_id"], body["company_id"], body["ttl"]) == (
        str(sample.vendor_user),
        str(sample.vendor),
        86_400,
    )
    assert 0 <= int(body["expires_at"]) - int(datetime.now(UTC).timestamp()) - 86_400 + 60 <= 61
    assert answer.headers["Cache-Control"] == "no-store"
    profile = await get_with_token(sample, body["token"])
    assert (profile.status, profile.body["user_id"]) == (200, str(sample.vendor_user))


async def test_users_of_a_disabled_vendor_are_signed_out_until_it_is_active_again(sample):
    token = (await sign_in(sample)).body["token"]
    assert (await get_with_token(sample, token)).status == 200

    assert (await sample.put(f"/api/stores/{sample.vendor}", {"status": "D"})).status == 200
    refused = await sign_in(sample)
    assert (refused.status, refused.body["message"]) == (403, "Esta conta está desativada. Fale com a loja.")
    assert (await get_with_token(sample, token)).status == 401
    with active_scope(sample.scope), pytest.raises(TokenRevoked):
        await load_user(sample.scope, sample.vendor_user.number)

    assert (await sample.put(f"/api/stores/{sample.vendor}", {"status": "A"})).status == 200
    assert (await get_with_token(sample, token)).status == 401
    assert (await get_with_token(sample, (await sign_in(sample)).body["token"])).status == 200


@pytest.mark.parametrize("base", ["/api", "/api/v1.0", "/api/2.0", "/api/2"])
async def test_sign_in_is_served_under_every_base(sample, base):
    sample.ip = unused_ip()
    for slash in ("", "/"):
        body = {"email": sample.vendor_user.email, "password": PASSWORD}
        assert (await sample.post(f"{base}/vendor_login{slash}", body, auth=None)).status == 200


@pytest.mark.parametrize("name", ["owner", "staff", "caio"])
async def test_other_users_are_forbidden_with_the_right_password(sample, name):
    answer = await sign_in(sample, email=getattr(sample, name).email)
    message = "Forbidden: vendor scope required"
    assert (answer.status, answer.body) == (403, {"status": 403, "message": message})


@pytest.mark.parametrize(
    "change, status, message",
    [
        ({"password": "wrong"}, 401, "Invalid credentials"),
        ({"email": "nobody@example.com"}, 401, "Invalid credentials"),
        ({"email": "no address"}, 401, "Invalid credentials"),
        ({"email": ""}, 400, "email is required"),
        ({"email": None}, 400, "email is required"),
        ({"password": ""}, 400, "password is required"),
        ({"password": None}, 400, "password is required"),
    ],
)
async def test_errors_have_the_legacy_format(sample, change, status, message):
    answer = await sign_in(sample, **change)
    assert (answer.status, answer.body) == (status, {"status": status, "message": message})


@pytest.mark.parametrize("change", [{"email": ["x"]}, {"password": {"a": 1}}, {"email": True}])
async def test_wrong_types_are_rejected(sample, change):
    assert (await sign_in(sample, **change)).status == 400


@pytest.mark.parametrize("data", [b"{broken", b"[1]", b'{"email": "a\\u0000b"}', b"\xff"])
@pytest.mark.parametrize("method, path", [("POST", LOGIN), ("PUT", LOGIN), ("POST", SIGNUP)])
async def test_a_malformed_body_is_rejected(sample, method, path, data):
    sample.ip = unused_ip()
    answer = await sample.request(method, path, auth=None, data=data, headers={"Content-Type": "application/json"})
    assert answer.status == 400
    assert answer.body["status"] == 400


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"status": "D"}, "Esta conta está desativada. Fale com a loja."),
        ({"status": "P"}, "Esta conta aguarda a aprovação da loja."),
        ({"email_verified_at": None}, "Confirme o seu e-mail antes de entrar."),
    ],
)
async def test_an_inactive_account_is_403_with_the_reason(sample, columns, message):
    person = await sample.add_user(user_type="V", vendor_id=sample.vendor.number, **columns)
    answer = await sign_in(sample, email=person.email)
    assert (answer.status, answer.body["message"]) == (403, message)


async def test_two_factor_authentication_requires_a_code(sample):
    with active_scope(sample.scope):
        totp = pyotp.TOTP(await two_factor.enable_for_demo(sample.scope, sample.vendor_user.number))
    for code in (None, "", "  "):
        answer = await sign_in(sample, code=code)
        assert (answer.status, answer.body) == (401, {"status": 401, "message": "two-factor code required"}), code
    wrong = await sign_in(sample, code="000000" if totp.now() != "000000" else "111111")
    assert (wrong.status, wrong.body) == (401, {"status": 401, "message": "invalid code"})
    assert (await sign_in(sample, code=totp.now())).status == 200


async def test_the_sixth_attempt_in_a_minute_is_rate_limited_on_this_route_only(sample):
    sample.ip = unused_ip()
    for repetition in range(5):
        assert (await sign_in(sample, from_new_ip=False)).status == 200, repetition
    answer = await sign_in(sample, from_new_ip=False)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "60")
    assert answer.body["message"] == "rate limit exceeded"
    body = {"email": sample.vendor_user.email, "password": PASSWORD}
    assert (await sample.post("/api/auth_tokens", body, auth=None)).status == 201


async def test_ten_wrong_passwords_lock_the_account(sample):
    for repetition in range(10):
        assert (await sign_in(sample, password="wrong")).status == 401, repetition
    answer = await sign_in(sample)
    assert (answer.status, answer.body["message"]) == (429, "account_locked")
    assert int(answer.headers["Retry-After"]) > 0


async def test_a_vendor_of_another_store_is_unknown(sample, other_sample):
    answer = await sample.post(
        LOGIN,
        {
            "email": (await other_sample.add_user(user_type="V", vendor_id=other_sample.vendor.number)).email,
            "password": PASSWORD,
        },
        auth=None,
    )
    assert answer.status == 401
    token = (await sign_in(other_sample)).body["token"]
    assert (await get_with_token(sample, token)).status == 403


# --- Password reset ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("email", ["vendor_user", "nobody@example.com", "no address"])
async def test_a_reset_request_does_not_reveal_accounts(sample, email):
    sample.ip = unused_ip()
    email = sample.vendor_user.email if email == "vendor_user" else email
    answer = await sample.put(LOGIN, {"email": email}, auth=None)
    assert (answer.status, answer.body) == (200, {"result": "sent"})


async def test_the_emailed_token_sets_the_password_once(sample):
    token = (await sign_in(sample)).body["token"]
    await sample.put(LOGIN, {"email": sample.vendor_user.email}, auth=None)
    mailed = await read_emailed_token(sample)
    new = "an even better password"
    short = await sample.put(LOGIN, {"token": mailed, "password": "short"}, auth=None)
    assert short.status == 400
    changed = await sample.put(LOGIN, {"token": mailed, "password": new}, auth=None)
    assert (changed.status, changed.body) == (200, {"result": "changed"})
    repeated = await sample.put(LOGIN, {"token": mailed, "password": new}, auth=None)
    assert (repeated.status, repeated.body["message"]) == (401, "invalid or expired token")
    assert (await get_with_token(sample, token)).status == 401  # revoked by the password change
    assert (await sign_in(sample)).status == 401
    assert (await sign_in(sample, password=new)).status == 200


@pytest.mark.parametrize(
    "body, message",
    [
        ({}, "email is required"),
        ({"email": ""}, "email is required"),
        ({"token": "x"}, "password is required"),
        ({"password": "a good long password"}, "token is required"),
    ],
)
async def test_a_reset_with_missing_fields_is_rejected(sample, body, message):
    sample.ip = unused_ip()
    answer = await sample.put(LOGIN, body, auth=None)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


# --- Sign-up -----------------------------------------------------------------------------------------------------------------


async def test_a_signup_is_pending_until_approved(sample):
    body = SIGNUP_BODY | {
        "phone": "81 99999-0000",
        "CNPJ": "11.222.333/0001-81",
        "firstname": "Nina",
        "lastname": "Sá",
    }
    answer = await sample.post(SIGNUP, body, auth=None)
    assert answer.status == 201
    assert set(answer.body) == {"company_id", "user_id", "status"}
    assert answer.body["status"] == "P"
    user = (await sample.get(f"/api/users/{answer.body['user_id']}")).body
    assert (user["user_type"], user["status"], user["company_id"]) == ("V", "P", answer.body["company_id"])
    assert (user["firstname"], user["lastname"], user["phone"]) == ("Nina", "Sá", "81999990000")
    [vendor] = await sample.rows("select * from vendors where id = $1", int(answer.body["company_id"]))
    assert (vendor["name"], vendor["status"], vendor["cnpj"]) == ("Ateliê Novo", "P", "11222333000181")
    pending = await sign_in(sample, email=body["email"], password=body["password"])
    assert (pending.status, pending.body["message"]) == (403, "Esta conta aguarda a aprovação da loja.")
    approve = 'mutation ($id: ID!) { vendor_update(id: $id, input: {status: "A"}) { status } }'
    approved = await sample.post(
        "/graphql", {"query": approve, "variables": {"id": str(vendor["public_id"])}}, auth="bearer"
    )
    assert approved.body["data"]["vendor_update"] == {"status": "A"}
    assert (await sign_in(sample, email=body["email"], password=body["password"])).status == 200


async def test_a_signup_emits_an_event_of_its_user(sample):
    await sample.post(SIGNUP, SIGNUP_BODY, auth=None)
    [event] = await sample.rows("select name from outbox_events where subject_type = 'user' order by id desc limit 1")
    assert event["name"] == "user.registered"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"company": ""}, "company is required"),
        ({"email": None}, "email is required"),
        ({"password": ""}, "password is required"),
    ],
)
async def test_a_signup_requires_company_email_and_password(sample, change, message):
    answer = await sample.post(SIGNUP, SIGNUP_BODY | change, auth=None)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


@pytest.mark.parametrize(
    "change",
    [
        {"email": "no address"},
        {"email": ["x"]},
        {"password": "short"},
        {"password": "x" * 129},
        {"CNPJ": "123"},
        {"CNPJ": {}},
        {"phone": "none"},
        {"company": "x" * 300},
        {"company": ["x"]},
        {"firstname": {"a": 1}},
    ],
)
async def test_an_invalid_signup_creates_nothing(sample, change):
    before = (
        await sample.value("select count(*) from vendors"),
        await sample.value("select count(*) from users"),
    )
    answer = await sample.post(SIGNUP, SIGNUP_BODY | change, auth=None)
    assert (answer.status, answer.body["status"]) == (400, 400)
    after = (
        await sample.value("select count(*) from vendors"),
        await sample.value("select count(*) from users"),
    )
    assert after == before


async def test_a_taken_email_creates_neither_vendor_nor_user(sample):
    before = await sample.value("select count(*) from vendors")
    answer = await sample.post(SIGNUP, SIGNUP_BODY | {"email": sample.caio.email.upper()}, auth=None)
    assert answer.status == 400
    assert await sample.value("select count(*) from vendors") == before


async def test_signups_are_limited_to_five_a_minute(sample):
    sample.ip = unused_ip()
    taken = SIGNUP_BODY | {"email": sample.caio.email}
    answers = [(await sample.post(SIGNUP, taken, auth=None)).status for _ in range(6)]
    assert answers == [400] * 5 + [429]


async def test_fields_reserved_for_staff_are_ignored_in_a_signup(sample):
    request = SIGNUP_BODY | {
        "user_type": "A", "status": "A", "company_id": sample.vendor.number, "commission": "0", "privileges": ["x"],
        "is_root": "Y",
    }  # fmt: skip
    body = (await sample.post(SIGNUP, request, auth=None)).body
    [user] = await sample.rows("select * from users where id = $1", int(body["user_id"]))
    assert (user["user_type"], user["status"], user["privileges"]) == ("V", "P", [])
    assert user["vendor_id"] == int(body["company_id"]) != sample.vendor.number


async def test_other_methods_are_not_allowed(sample):
    for path, allowed in ((LOGIN, "POST, PUT"), (SIGNUP, "POST")):
        answer = await sample.get(path)
        assert (answer.status, answer.headers["Allow"], answer.body["status"]) == (405, allowed, 405)
