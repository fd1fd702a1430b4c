"""Check how vendors come into their app: sign-in, a forgotten password, an application (decisions-legacy section 4)."""

import re
from datetime import UTC, datetime

import pyotp
import pytest

from domain.mails import outbox
from domain.people import two_factor
from kernel.scope import entered
from tests.shop import PASSWORD, Answer, Shop, some_address

LOGIN = "/api/vendor_login"
SIGNUP = "/api/vendor_signup"
APPLICATION = {"company": "Ateliê Novo", "email": "novo@example.com", "password": "a good long password"}


async def sign_in(shop: Shop, *, apart: bool = True, **change) -> Answer:
    if apart:
        shop.address = some_address()
    body = {"email": shop.seller.email, "password": PASSWORD} | change
    return await shop.post(LOGIN, body, auth=None)


async def with_token(shop: Shop, token: str, path: str = "/api/vendor_profile") -> Answer:
    return await shop.get(path, auth=None, headers={"Authorization": f"Bearer {token}"})


async def token_mailed(shop: Shop) -> str:
    with entered(shop.scope()):
        [mail] = [mail for mail in await outbox.latest(shop.scope()) if mail.kind == "password_reset"]
    found = re.search(r"^    ([A-Za-z0-9_-]{43})$", mail.body, re.MULTILINE)
    assert found is not None, mail.body
    return found[1]


# --- Sign-in -----------------------------------------------------------------------------------------------------------------


async def test_a_vendor_signs_in_and_the_token_opens_the_app(shop):
    answer = await sign_in(shop, email=f" {shop.seller.email.upper()} ")
    assert answer.status == 200
    body = answer.body
    assert set(body) == {"token", "ttl", "user_id", "company_id", "expires_at"}
    assert (body["user_id"], body["company_id"], body["ttl"]) == (str(shop.seller), str(shop.vendor), 86_400)
    assert 0 <= int(body["expires_at"]) - int(datetime.now(UTC).timestamp()) - 86_400 + 60 <= 61
    assert answer.headers["Cache-Control"] == "no-store"
    profile = await with_token(shop, body["token"])
    assert (profile.status, profile.body["user_id"]) == (200, str(shop.seller))


@pytest.mark.parametrize("base", ["/api", "/api/v1.0", "/api/2.0", "/api/2"])
async def test_the_door_is_at_every_address(shop, base):
    shop.address = some_address()
    for end in ("", "/"):
        given = {"email": shop.seller.email, "password": PASSWORD}
        assert (await shop.post(f"{base}/vendor_login{end}", given, auth=None)).status == 200


@pytest.mark.parametrize("who", ["owner", "staff", "caio"])
async def test_others_are_refused_though_their_password_is_right(shop, who):
    answer = await sign_in(shop, email=getattr(shop, who).email)
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
async def test_what_is_wrong_is_refused_in_the_layers_form(shop, change, status, message):
    answer = await sign_in(shop, **change)
    assert (answer.status, answer.body) == (status, {"status": status, "message": message})


@pytest.mark.parametrize("change", [{"email": ["x"]}, {"password": {"a": 1}}, {"email": True}])
async def test_wrong_types_are_refused(shop, change):
    assert (await sign_in(shop, **change)).status == 400


@pytest.mark.parametrize("data", [b"{broken", b"[1]", b'{"email": "a\\u0000b"}', b"\xff"])
@pytest.mark.parametrize("method, path", [("POST", LOGIN), ("PUT", LOGIN), ("POST", SIGNUP)])
async def test_a_broken_body_is_refused(shop, method, path, data):
    shop.address = some_address()
    answer = await shop.call(method, path, auth=None, data=data, headers={"Content-Type": "application/json"})
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
async def test_an_account_that_may_not_enter_is_told_why(shop, columns, message):
    person = await shop.new_person(user_type="V", vendor_id=shop.vendor.number, **columns)
    answer = await sign_in(shop, email=person.email)
    assert (answer.status, answer.body["message"]) == (403, message)


async def test_with_a_second_factor_the_code_is_needed_too(shop):
    with entered(shop.scope()):
        totp = pyotp.TOTP(await two_factor.install(shop.scope(), shop.seller.number))
    for code in (None, "", "  "):
        answer = await sign_in(shop, code=code)
        assert (answer.status, answer.body) == (401, {"status": 401, "message": "two-factor code required"})
    wrong = await sign_in(shop, code="000000" if totp.now() != "000000" else "111111")
    assert (wrong.status, wrong.body) == (401, {"status": 401, "message": "invalid code"})
    assert (await sign_in(shop, code=totp.now())).status == 200


async def test_the_sixth_attempt_in_a_minute_waits_and_other_doors_do_not(shop):
    shop.address = some_address()
    for _ in range(5):
        assert (await sign_in(shop, apart=False)).status == 200
    answer = await sign_in(shop, apart=False)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "60")
    assert answer.body["message"] == "rate limit exceeded"
    given = {"email": shop.seller.email, "password": PASSWORD}
    assert (await shop.post("/api/auth_tokens", given, auth=None)).status == 201


async def test_ten_wrong_passwords_lock_the_account_for_right_ones_too(shop):
    for _ in range(10):
        assert (await sign_in(shop, password="wrong")).status == 401
    answer = await sign_in(shop)
    assert (answer.status, answer.body["message"]) == (429, "account_locked")
    assert int(answer.headers["Retry-After"]) > 0


async def test_a_vendor_of_another_store_is_nobody_here(shop, other_shop):
    answer = await shop.post(
        LOGIN,
        {
            "email": (await other_shop.new_person(user_type="V", vendor_id=other_shop.vendor.number)).email,
            "password": PASSWORD,
        },
        auth=None,
    )
    assert answer.status == 401
    token = (await sign_in(other_shop)).body["token"]
    assert (await with_token(shop, token)).status == 403


# --- A forgotten password ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("email", ["seller", "nobody@example.com", "no address"])
async def test_a_reset_is_begun_for_anybody_alike(shop, email):
    shop.address = some_address()
    email = shop.seller.email if email == "seller" else email
    answer = await shop.put(LOGIN, {"email": email}, auth=None)
    assert (answer.status, answer.body) == (200, {"result": "sent"})


async def test_the_mailed_token_sets_the_password_once(shop):
    token = (await sign_in(shop)).body["token"]
    await shop.put(LOGIN, {"email": shop.seller.email}, auth=None)
    mailed = await token_mailed(shop)
    new = "an even better password"
    short = await shop.put(LOGIN, {"token": mailed, "password": "short"}, auth=None)
    assert short.status == 400
    done = await shop.put(LOGIN, {"token": mailed, "password": new}, auth=None)
    assert (done.status, done.body) == (200, {"result": "changed"})
    again = await shop.put(LOGIN, {"token": mailed, "password": new}, auth=None)
    assert (again.status, again.body["message"]) == (401, "invalid or expired token")
    assert (await with_token(shop, token)).status == 401  # the password's change ended it
    assert (await sign_in(shop)).status == 401
    assert (await sign_in(shop, password=new)).status == 200


@pytest.mark.parametrize(
    "body, message",
    [
        ({}, "email is required"),
        ({"email": ""}, "email is required"),
        ({"token": "x"}, "password is required"),
        ({"password": "a good long password"}, "token is required"),
    ],
)
async def test_a_reset_without_what_it_needs(shop, body, message):
    shop.address = some_address()
    answer = await shop.put(LOGIN, body, auth=None)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


# --- An application ----------------------------------------------------------------------------------------------------------


async def test_an_application_waits_for_approval_and_then_works(shop):
    given = APPLICATION | {
        "phone": "81 99999-0000",
        "CNPJ": "11.222.333/0001-81",
        "firstname": "Nina",
        "lastname": "Sá",
    }
    answer = await shop.post(SIGNUP, given, auth=None)
    assert answer.status == 201
    assert set(answer.body) == {"company_id", "user_id", "status"}
    assert answer.body["status"] == "P"
    user = (await shop.get(f"/api/users/{answer.body['user_id']}")).body
    assert (user["user_type"], user["status"], user["company_id"]) == ("V", "P", answer.body["company_id"])
    assert (user["firstname"], user["lastname"], user["phone"]) == ("Nina", "Sá", "81999990000")
    [vendor] = await shop.rows("select * from vendors where id = $1", int(answer.body["company_id"]))
    assert (vendor["name"], vendor["status"], vendor["cnpj"]) == ("Ateliê Novo", "P", "11222333000181")
    waiting = await sign_in(shop, email=given["email"], password=given["password"])
    assert (waiting.status, waiting.body["message"]) == (403, "Esta conta aguarda a aprovação da loja.")
    approve = 'mutation ($id: ID!) { vendor_update(id: $id, input: {status: "A"}) { status } }'
    done = await shop.post(
        "/graphql", {"query": approve, "variables": {"id": answer.body["company_id"]}}, auth="bearer"
    )
    assert done.body["data"]["vendor_update"] == {"status": "A"}
    assert (await sign_in(shop, email=given["email"], password=given["password"])).status == 200


async def test_an_application_tells_the_apps_of_its_user(shop):
    await shop.post(SIGNUP, APPLICATION, auth=None)
    [event] = await shop.rows(
        "select name from outbox_events where subject_type = 'user' order by id desc limit 1"
    )
    assert event["name"] == "user.registered"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"company": ""}, "company is required"),
        ({"email": None}, "email is required"),
        ({"password": ""}, "password is required"),
    ],
)
async def test_an_application_needs_company_email_and_password(shop, change, message):
    answer = await shop.post(SIGNUP, APPLICATION | change, auth=None)
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
async def test_a_wrong_application_makes_nobody(shop, change):
    before = await shop.value("select count(*) from vendors"), await shop.value("select count(*) from users")
    answer = await shop.post(SIGNUP, APPLICATION | change, auth=None)
    assert (answer.status, answer.body["status"]) == (400, 400)
    after = await shop.value("select count(*) from vendors"), await shop.value("select count(*) from users")
    assert after == before


async def test_a_taken_email_makes_neither_vendor_nor_user(shop):
    before = await shop.value("select count(*) from vendors")
    answer = await shop.post(SIGNUP, APPLICATION | {"email": shop.caio.email.upper()}, auth=None)
    assert answer.status == 400
    assert await shop.value("select count(*) from vendors") == before


async def test_who_applies_decides_nothing_that_is_the_shops(shop):
    given = APPLICATION | {
        "user_type": "A", "status": "A", "company_id": shop.vendor.number, "commission": "0", "privileges": ["x"],
        "is_root": "Y",
    }  # fmt: skip
    body = (await shop.post(SIGNUP, given, auth=None)).body
    [user] = await shop.rows("select * from users where id = $1", int(body["user_id"]))
    assert (user["user_type"], user["status"], user["privileges"]) == ("V", "P", [])
    assert user["vendor_id"] == int(body["company_id"]) != shop.vendor.number


async def test_the_doors_take_no_other_method(shop):
    for path, allowed in ((LOGIN, "POST, PUT"), (SIGNUP, "POST")):
        answer = await shop.get(path)
        assert (answer.status, answer.headers["Allow"], answer.body["status"]) == (405, allowed, 405)
