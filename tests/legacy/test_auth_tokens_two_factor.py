"""Check `POST auth_tokens` for people with a second factor (decisions-legacy section 6)."""

from datetime import UTC, datetime, timedelta

import pyotp
import pytest

from auth import second_factor
from domain.people import two_factor
from kernel.scope import entered
from tests.shop import Answer, Shop, some_address


async def ask(shop: Shop, **change) -> Answer:
    shop.address = some_address()
    body = {"email": shop.caio.email, "password": shop.caio.password} | change
    return await shop.post("/api/auth_tokens", body, auth=None)


@pytest.fixture
async def totp(shop: Shop) -> pyotp.TOTP:
    with entered(shop.scope()):
        return pyotp.TOTP(await two_factor.install(shop.scope(), shop.caio.number))


@pytest.mark.parametrize("code", [None, "", "  ", [], {}, True])
async def test_a_code_is_asked_for(shop: Shop, totp: pyotp.TOTP, code) -> None:
    answer = await ask(shop, code=code)
    assert (answer.status, answer.body) == (401, {"error": "two-factor code required"})


async def test_without_the_field_too(shop: Shop, totp: pyotp.TOTP) -> None:
    answer = await ask(shop)
    assert (answer.status, answer.body) == (401, {"error": "two-factor code required"})


async def test_a_code_gives_a_token_once(shop: Shop, totp: pyotp.TOTP) -> None:
    code = totp.now()
    answer = await ask(shop, code=code)
    assert (answer.status, set(answer.body)) == (201, {"token", "ttl"})
    again = await ask(shop, code=code)
    assert (again.status, again.body) == (401, {"error": "invalid code"})


async def test_a_recovery_code_does_too(shop: Shop, totp: pyotp.TOTP) -> None:
    with entered(shop.scope()):
        codes = await second_factor.replace_recovery_codes(shop.scope(), shop.caio.number)
    assert (await ask(shop, code=codes[0])).status == 201
    assert (await ask(shop, code=codes[0])).status == 401


async def test_ten_wrong_codes_lock_the_account(shop: Shop, totp: pyotp.TOTP) -> None:
    good = {totp.at(datetime.now(UTC) + timedelta(seconds=30 * step)) for step in range(-3, 4)}
    wrong = next(f"{number:06}" for number in range(10) if f"{number:06}" not in good)
    for _ in range(10):
        answer = await ask(shop, code=wrong)
        assert (answer.status, answer.body) == (401, {"error": "invalid code"})
    answer = await ask(shop, code=totp.now())
    assert (answer.status, answer.body["error"]) == (429, "account_locked")


async def test_others_need_no_code(shop: Shop, totp: pyotp.TOTP) -> None:
    answer = await ask(shop, email=shop.bia.email, code="000000")
    assert answer.status == 201
