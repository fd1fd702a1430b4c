"""Check `POST auth_tokens` for users with two-factor authentication (docs/reference/legacy.md#auth-tokens)."""

from datetime import UTC, datetime, timedelta

import pyotp
import pytest

from auth import two_factor_codes
from domain.people import two_factor
from kernel.scope import active_scope
from tests.harness.http import Response
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import unused_ip


async def sign_in(sample: SampleStore, **changes) -> Response:
    sample.ip = unused_ip()
    body = {"email": sample.caio.email, "password": sample.caio.password} | changes
    return await sample.post("/api/auth_tokens", body, auth=None)


@pytest.fixture
async def totp(sample: SampleStore) -> pyotp.TOTP:
    with active_scope(sample.scope):
        return pyotp.TOTP(await two_factor.enable_for_demo(sample.scope, sample.caio.number))


@pytest.mark.parametrize("code", [None, "", "  ", [], {}, True])
async def test_an_empty_code_is_rejected_as_required(sample: SampleStore, totp: pyotp.TOTP, code) -> None:
    answer = await sign_in(sample, code=code)
    assert (answer.status, answer.body) == (401, {"error": "two-factor code required"})


async def test_a_missing_code_is_rejected_as_required(sample: SampleStore, totp: pyotp.TOTP) -> None:
    answer = await sign_in(sample)
    assert (answer.status, answer.body) == (401, {"error": "two-factor code required"})


async def test_a_code_is_accepted_once(sample: SampleStore, totp: pyotp.TOTP) -> None:
    code = totp.now()
    answer = await sign_in(sample, code=code)
    assert (answer.status, set(answer.body)) == (201, {"token", "ttl"})
    repeated = await sign_in(sample, code=code)
    assert (repeated.status, repeated.body) == (401, {"error": "invalid code"})


async def test_a_recovery_code_is_accepted_once(sample: SampleStore, totp: pyotp.TOTP) -> None:
    with active_scope(sample.scope):
        codes = await two_factor_codes.replace_recovery_codes(sample.scope, sample.caio.number)
    assert (await sign_in(sample, code=codes[0])).status == 201
    assert (await sign_in(sample, code=codes[0])).status == 401


async def test_ten_wrong_codes_lock_the_account(sample: SampleStore, totp: pyotp.TOTP) -> None:
    valid = {totp.at(datetime.now(UTC) + timedelta(seconds=30 * step)) for step in range(-3, 4)}
    wrong = next(f"{number:06}" for number in range(10) if f"{number:06}" not in valid)
    for repetition in range(10):
        answer = await sign_in(sample, code=wrong)
        assert (answer.status, answer.body) == (401, {"error": "invalid code"}), repetition
    answer = await sign_in(sample, code=totp.now())
    assert (answer.status, answer.body["error"]) == (429, "account_locked")


async def test_users_without_two_factor_need_no_code(sample: SampleStore, totp: pyotp.TOTP) -> None:
    answer = await sign_in(sample, email=sample.bia.email, code="000000")
    assert answer.status == 201
