"""Check `POST auth_tokens` for users with two-factor authentication (docs/reference/legacy.md#auth-tokens)."""

from datetime import UTC, datetime, timedelta

import pyotp
import pytest

from auth import two_factor_codes
from domain.people import two_factor
from kernel.scope import active_scope
from tests.shop import Answer, Shop, some_address


async def sign_in(shop: Shop, **changes) -> Answer:
    shop.address = some_address()
    body = {"email": shop.caio.email, "password": shop.caio.password} | changes
    return await shop.post("/api/auth_tokens", body, auth=None)


@pytest.fixture
async def totp(shop: Shop) -> pyotp.TOTP:
    with active_scope(shop.scope()):
        return pyotp.TOTP(await two_factor.enable_for_demo(shop.scope(), shop.caio.number))


@pytest.mark.parametrize("code", [None, "", "  ", [], {}, True])
async def test_an_empty_code_is_rejected_as_required(shop: Shop, totp: pyotp.TOTP, code) -> None:
    answer = await sign_in(shop, code=code)
    assert (answer.status, answer.body) == (401, {"error": "two-factor code required"})


async def test_a_missing_code_is_rejected_as_required(shop: Shop, totp: pyotp.TOTP) -> None:
    answer = await sign_in(shop)
    assert (answer.status, answer.body) == (401, {"error": "two-factor code required"})


async def test_a_code_is_accepted_once(shop: Shop, totp: pyotp.TOTP) -> None:
    code = totp.now()
    answer = await sign_in(shop, code=code)
    assert (answer.status, set(answer.body)) == (201, {"token", "ttl"})
    repeated = await sign_in(shop, code=code)
    assert (repeated.status, repeated.body) == (401, {"error": "invalid code"})


async def test_a_recovery_code_is_accepted_once(shop: Shop, totp: pyotp.TOTP) -> None:
    with active_scope(shop.scope()):
        codes = await two_factor_codes.replace_recovery_codes(shop.scope(), shop.caio.number)
    assert (await sign_in(shop, code=codes[0])).status == 201
    assert (await sign_in(shop, code=codes[0])).status == 401


async def test_ten_wrong_codes_lock_the_account(shop: Shop, totp: pyotp.TOTP) -> None:
    valid = {totp.at(datetime.now(UTC) + timedelta(seconds=30 * step)) for step in range(-3, 4)}
    wrong = next(f"{number:06}" for number in range(10) if f"{number:06}" not in valid)
    for _ in range(10):
        answer = await sign_in(shop, code=wrong)
        assert (answer.status, answer.body) == (401, {"error": "invalid code"})
    answer = await sign_in(shop, code=totp.now())
    assert (answer.status, answer.body["error"]) == (429, "account_locked")


async def test_users_without_two_factor_need_no_code(shop: Shop, totp: pyotp.TOTP) -> None:
    answer = await sign_in(shop, email=shop.bia.email, code="000000")
    assert answer.status == 201
