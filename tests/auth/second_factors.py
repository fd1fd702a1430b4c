"""What the tests of the second factor share: users who have one, and the codes of their apps."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pyotp

from auth import second_factor
from auth.challenges import Challenge
from auth.sessions import SignedIn, login, verify_two_factor
from domain.people import two_factor
from kernel.ids import random_token
from kernel.scope import Scope, Store, entered
from tests.auth.kit import PASSWORD, add_user, as_user, elsewhere, email_of, system, visitor

WRONG_CODE = "000000"


@dataclass
class Holder:
    """A user with an app."""

    store: Store
    user_id: int
    email: str
    secret: str
    recovery_codes: list[str]

    def code(self, at: datetime, steps: int = 0) -> str:
        return pyotp.TOTP(self.secret).at(at + timedelta(seconds=30 * steps))

    def wrong_code(self, at: datetime) -> str:
        """A code of none of the steps that are looked at."""
        good = {self.code(at, step) for step in range(-2, 3)}
        return next(code for code in ("000000", "111111", "222222", "333333") if code not in good)

    async def challenge(self, scope: Scope | None = None, password: str = PASSWORD) -> str:
        """Give the right password, from an address of its own, and take the temporary token."""
        scope = elsewhere(scope or visitor(self.store))
        with entered(scope):
            answer = await login(scope, self.email, password)
        assert isinstance(answer, Challenge)
        return answer.temp_token

    async def verify(self, temp_token: str | None, code: str | None, scope: Scope | None = None) -> SignedIn:
        scope = elsewhere(scope or visitor(self.store))
        with entered(scope):
            return await verify_two_factor(scope, temp_token, code)


async def add_holder(store: Store, user_id: int | None = None, **columns) -> Holder:
    """Give a user a confirmed app and recovery codes; no step of the app is used yet."""
    user_id = user_id or await add_user(store, **columns)
    scope = system(store)
    with entered(scope):
        secret = await two_factor.install(scope, user_id)
        codes = await second_factor.replace_recovery_codes(scope, user_id)
    return Holder(store, user_id, await email_of(store, user_id), secret, codes)


async def enrolled(store: Store, user_id: int) -> Holder:
    """Enrol a user as people do: begin, then confirm with a code."""
    scope = await as_user(store, user_id)
    with entered(scope):
        begun = await two_factor.begin(scope)
        codes = await two_factor.confirm(scope, pyotp.TOTP(begun.secret).at(scope.now))
    return Holder(store, user_id, await email_of(store, user_id), begun.secret, codes)


def some_token() -> str:
    return random_token(256)
