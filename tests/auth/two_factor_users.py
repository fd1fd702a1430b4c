"""Shared by the two-factor tests: users with two-factor authentication, and their codes."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pyotp

from auth import two_factor_codes
from auth.challenges import Challenge
from auth.sessions import SessionTokens, login, verify_two_factor
from domain.people import two_factor
from kernel.ids import random_token
from kernel.scope import Scope, Store, active_scope
from tests.auth.kit import add_user, email_of, from_other_ip, user_scope
from tests.harness.records import PASSWORD
from tests.harness.scopes import anonymous_scope, system_scope

WRONG_CODE = "000000"


@dataclass
class TwoFactorUser:
    """A user with an authenticator app."""

    store: Store
    user_id: int
    email: str
    secret: str
    recovery_codes: list[str]

    def code(self, at: datetime, steps: int = 0) -> str:
        return pyotp.TOTP(self.secret).at(at + timedelta(seconds=30 * steps))

    def wrong_code(self, at: datetime) -> str:
        """Return a code of none of the checked steps."""
        valid = {self.code(at, step) for step in range(-2, 3)}
        return next(code for code in ("000000", "111111", "222222", "333333") if code not in valid)

    async def challenge(self, scope: Scope | None = None, password: str = PASSWORD) -> str:
        """Sign in with the password, from a separate address, and return the temporary token."""
        scope = from_other_ip(scope or anonymous_scope(self.store))
        with active_scope(scope):
            result = await login(scope, self.email, password)
        assert isinstance(result, Challenge)
        return result.temp_token

    async def verify(self, temp_token: str | None, code: str | None, scope: Scope | None = None) -> SessionTokens:
        scope = from_other_ip(scope or anonymous_scope(self.store))
        with active_scope(scope):
            return await verify_two_factor(scope, temp_token, code)


async def add_two_factor_user(store: Store, user_id: int | None = None, **columns) -> TwoFactorUser:
    """Enable two-factor authentication for a user, with recovery codes; no code is used yet."""
    user_id = user_id or await add_user(store, **columns)
    scope = system_scope(store)
    with active_scope(scope):
        secret = await two_factor.enable_for_demo(scope, user_id)
        codes = await two_factor_codes.replace_recovery_codes(scope, user_id)
    return TwoFactorUser(store, user_id, await email_of(store, user_id), secret, codes)


async def enrol(store: Store, user_id: int, at: datetime | None = None) -> TwoFactorUser:
    """Enrol a user like a client: begin, then confirm with the code of the given time, by default the current one."""
    scope = await user_scope(store, user_id)
    scope = replace(scope, now=at or scope.now)
    with active_scope(scope):
        enrolment = await two_factor.begin_enrolment(scope)
        codes = await two_factor.confirm(scope, pyotp.TOTP(enrolment.secret).at(scope.now))
    return TwoFactorUser(store, user_id, await email_of(store, user_id), enrolment.secret, codes)


def unknown_token() -> str:
    return random_token(256)
