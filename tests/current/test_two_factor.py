"""`POST /api/v1/auth/verify-2fa` and enrolment in GraphQL (docs/reference/current.md#two-factor)."""

from datetime import UTC, datetime, timedelta

import pyotp
import pytest

from auth import two_factor_codes
from domain.people import two_factor
from kernel.scope import active_scope
from tests.harness import records, scopes
from tests.harness.http import Client, is_token_pair
from tests.harness.records import PASSWORD, UserRecord

LOGIN = "/api/v1/auth/login"
VERIFY = "/api/v1/auth/verify-2fa"

BEGIN = "mutation { two_factor_begin { secret otpauth_uri qr_svg } }"
CONFIRM = "mutation ($code: String!) { two_factor_confirm(code: $code) { recovery_codes } }"
DISABLE = """
    mutation ($password: String!, $code: String, $user: ID) {
        two_factor_disable(password: $password, code: $code, user_id: $user) { message }
    }
"""
STATE = "{ two_factor { enabled recovery_codes_left } }"


class AuthenticatorApp:
    """The authenticator app of a user."""

    def __init__(self, user: UserRecord, secret: str, recovery_codes: list[str]) -> None:
        self.user = user
        self.recovery_codes = recovery_codes
        self._totp = pyotp.TOTP(secret)

    def code(self, steps: int = 0) -> str:
        return self._totp.at(datetime.now(UTC) + timedelta(seconds=30 * steps))

    def wrong_code(self) -> str:
        valid = {self.code(step) for step in range(-3, 4)}
        return next(f"{number:06}" for number in range(10) if f"{number:06}" not in valid)


async def add_two_factor_user(visitor: Client, *privileges: str, **columns) -> AuthenticatorApp:
    user = await records.add_user(visitor.store, *privileges, **columns)
    scope = scopes.system_scope(visitor.store)
    with active_scope(scope):
        secret = await two_factor.enable_for_demo(scope, user.number)
        codes = await two_factor_codes.replace_recovery_codes(scope, user.number)
    return AuthenticatorApp(user, secret, codes)


async def challenge(visitor: Client, app: AuthenticatorApp) -> str:
    body = {"email": app.user.email, "password": PASSWORD}
    answer = await visitor.from_new_address().post(LOGIN, body)
    assert answer.status == 200
    assert set(answer.body) == {"requires_2fa", "temp_token"}
    assert answer.body["requires_2fa"] is True
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.body["temp_token"]


async def run_graphql(caller: Client, document: str, **variables):
    answer = await caller.post("/graphql", {"query": document, "variables": variables})
    assert answer.status == 200, answer.raw
    return answer.body


def error_of(body) -> tuple[str, str]:
    (error,) = body["errors"]
    return error["extensions"]["code"], error["message"]


# --- verify-2fa --------------------------------------------------------------------------------------------------------------


async def test_a_challenge_and_a_code_return_a_token_pair(visitor: Client) -> None:
    app = await add_two_factor_user(visitor)
    answer = await visitor.post(VERIFY, {"temp_token": await challenge(visitor, app), "code": app.code()})
    assert answer.status == 200
    assert is_token_pair(answer.body)
    assert answer.headers["Cache-Control"] == "no-store"
    me = await visitor.with_token(answer.body["access_token"]).get("/api/v1/auth/me")
    assert me.body["id"] == app.user.id


async def test_a_recovery_code_replaces_the_authenticator_app(visitor: Client) -> None:
    app = await add_two_factor_user(visitor)
    for code, status in (
        (app.recovery_codes[0], 200),
        (app.recovery_codes[0], 401),
        (app.recovery_codes[1], 200),
    ):
        answer = await visitor.post(VERIFY, {"temp_token": await challenge(visitor, app), "code": code})
        assert answer.status == status
        assert status == 200 or answer.body == {"error": "invalid code"}


@pytest.mark.parametrize(
    "body, error",
    [
        ({}, "temp_token is required"),
        ({"code": "123456"}, "temp_token is required"),
        ({"temp_token": "", "code": "123456"}, "temp_token is required"),
        ({"temp_token": None, "code": "123456"}, "temp_token is required"),
        ({"temp_token": "x"}, "code is required"),
        ({"temp_token": "x", "code": ""}, "code is required"),
        ({"temp_token": "x", "code": None}, "code is required"),
    ],
)
async def test_missing_fields_are_named(visitor: Client, body: dict, error: str) -> None:
    answer = await visitor.post(VERIFY, body)
    assert (answer.status, answer.body) == (400, {"error": error})


async def test_the_fifth_wrong_code_revokes_the_challenge(visitor: Client) -> None:
    app = await add_two_factor_user(visitor)
    body = {"temp_token": await challenge(visitor, app), "code": app.wrong_code()}
    for repetition in range(5):
        answer = await visitor.post(VERIFY, body)
        assert (answer.status, answer.body) == (401, {"error": "invalid code"}), repetition
    for code in (app.code(), app.wrong_code()):
        answer = await visitor.post(VERIFY, body | {"code": code})
        assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"}), code


async def test_ten_wrong_codes_lock_the_account(visitor: Client) -> None:
    app = await add_two_factor_user(visitor)
    for _ in range(2):
        token = await challenge(visitor, app)
        for repetition in range(5):
            answer = await visitor.post(VERIFY, {"temp_token": token, "code": app.wrong_code()})
            assert answer.status == 401, repetition
    answer = await visitor.from_new_address().post(LOGIN, {"email": app.user.email, "password": PASSWORD})
    assert (answer.status, answer.body["error"], set(answer.body)) == (
        429,
        "account_locked",
        {"error", "detail"},
    )
    assert 890 <= int(answer.headers["Retry-After"]) <= 900


async def test_a_temporary_token_is_not_an_access_token(visitor: Client) -> None:
    token = await challenge(visitor, await add_two_factor_user(visitor))
    for path in ("/api/v1/auth/me", "/api/v1/admin/orders"):
        answer = await visitor.with_token(token).get(path)
        assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"}), path
    answer = await visitor.with_token(token).post("/graphql", {"query": "{ me { id } }"})
    assert answer.status == 401
    answer = await visitor.post("/api/v1/auth/refresh", {"refresh_token": token})
    assert (answer.status, answer.body["error"]) == (401, "invalid refresh token")


@pytest.mark.parametrize("field", ["temp_token", "code"])
@pytest.mark.parametrize("wrong", [5, 123456, 1.5, True, [], {}, ["a"]])
async def test_a_field_of_a_wrong_type_is_rejected(visitor: Client, field: str, wrong) -> None:
    answer = await visitor.post(VERIFY, {"temp_token": "x", "code": "123456"} | {field: wrong})
    assert (answer.status, answer.body) == (
        400,
        {"error": "invalid request body", "detail": f"{field} is no text"},
    )


@pytest.mark.parametrize("odd", ["x" * 100_000, "🙈", "'; drop table users", "%00", "\u202e", "\uff19" * 6])
async def test_unusual_texts_are_rejected(visitor: Client, odd: str) -> None:
    answer = await visitor.post(VERIFY, {"temp_token": odd, "code": odd})
    assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"})
    token = await challenge(visitor, await add_two_factor_user(visitor))
    answer = await visitor.post(VERIFY, {"temp_token": token, "code": odd})
    assert (answer.status, answer.body) == (401, {"error": "invalid code"})


async def test_other_methods_are_not_allowed(visitor: Client) -> None:
    answer = await visitor.get(VERIFY)
    assert (answer.status, answer.headers["Allow"]) == (405, "POST")


# --- Enrolment ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user_type", ["A", "C"])
async def test_any_user_enables_and_disables_two_factor(visitor: Client, new_client, user_type: str) -> None:
    person = await new_client(user_type=user_type)
    assert (await run_graphql(person, STATE))["data"]["two_factor"] == {
        "enabled": False,
        "recovery_codes_left": 0,
    }
    enrolment = (await run_graphql(person, BEGIN))["data"]["two_factor_begin"]
    assert enrolment["otpauth_uri"].startswith("otpauth://totp/")
    assert enrolment["qr_svg"].startswith("<svg")
    code = pyotp.TOTP(enrolment["secret"]).now()
    confirmed = (await run_graphql(person, CONFIRM, code=code))["data"]["two_factor_confirm"]
    app = AuthenticatorApp(person.user, enrolment["secret"], confirmed["recovery_codes"])
    assert len(set(app.recovery_codes)) == 10
    assert (await run_graphql(person, STATE))["data"]["two_factor"] == {
        "enabled": True,
        "recovery_codes_left": 10,
    }
    answer = await visitor.post(VERIFY, {"temp_token": await challenge(visitor, app), "code": app.code(1)})
    assert answer.status == 200
    disabled = await run_graphql(person, DISABLE, password=PASSWORD, code=app.recovery_codes[0])
    assert disabled["data"]["two_factor_disable"]["message"]
    answer = await visitor.post(LOGIN, {"email": person.user.email, "password": PASSWORD})
    assert is_token_pair(answer.body)


async def test_enrolment_errors_have_codes(new_client) -> None:
    person = await new_client()
    assert error_of(await run_graphql(person, CONFIRM, code="123456"))[0] == "CONFLICT"
    enrolment = (await run_graphql(person, BEGIN))["data"]["two_factor_begin"]
    wrong = await run_graphql(person, CONFIRM, code="x")
    assert wrong["errors"][0]["extensions"]["field"] == "code"
    assert error_of(wrong)[0] == "VALIDATION_FAILED"
    await run_graphql(person, CONFIRM, code=pyotp.TOTP(enrolment["secret"]).now())
    assert error_of(await run_graphql(person, BEGIN))[0] == "CONFLICT"
    wrong = await run_graphql(person, DISABLE, password="wrong password", code="123456")
    assert wrong["errors"][0]["extensions"]["field"] == "password"


async def test_disabling_two_factor_of_another_user_requires_manage_users(visitor: Client, new_client) -> None:
    app = await add_two_factor_user(visitor)
    for person, code in ((await new_client("view_users"), "FORBIDDEN"), (await new_client(), "FORBIDDEN")):
        assert error_of(await run_graphql(person, DISABLE, password=PASSWORD, user=app.user.id))[0] == code
    helper = await new_client("manage_users")
    done = await run_graphql(helper, DISABLE, password=PASSWORD, user=app.user.id)
    assert done["data"]["two_factor_disable"]["message"]


async def test_the_secret_and_the_recovery_codes_are_returned_once(visitor: Client, new_client) -> None:
    app = await add_two_factor_user(visitor)
    for name in ("secret", "used_steps", "code_hash"):
        answer = await (await new_client()).post("/graphql", {"query": f"{{ two_factor {{ {name} }} }}"})
        assert "errors" in answer.body, name
    text = str(await scopes.rows(visitor.store, "select * from recovery_codes"))
    assert not any(code in text for code in app.recovery_codes)
