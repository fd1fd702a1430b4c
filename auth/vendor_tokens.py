"""Sign vendors into their app: a legacy token for users of type V and nobody else (decisions-legacy section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from auth import lockout, second_factor
from auth.identify import Entrant, check_may_enter, prove_among
from auth.legacy_tokens import CODE_REQUIRED, give_legacy_token
from kernel.documents import DocumentType, is_email, normalise_email
from kernel.errors import Forbidden, Unauthenticated, ValidationFailed
from kernel.scope import Scope

VENDOR = "V"
VENDORS_ONLY = "Forbidden: vendor scope required"
WRONG = "Invalid credentials"


@dataclass(frozen=True, slots=True)
class IssuedVendorToken:
    """A token with its life in seconds, and whom it stands for."""

    token: str
    ttl: int
    user_id: int
    company_id: int
    expires_at: datetime


async def issue_vendor_token(
    scope: Scope, email: str | None, password: str | None, code: str | None = None
) -> IssuedVendorToken:
    """Exchange a vendor user's e-mail and password, with a second factor a `code` too, for a token of the legacy layer.

    Attempts count apart from other sign-ins, before anything is looked at. Raises what `sessions.login` raises; `Forbidden` for a right
    password of a user who is no vendor's, `Unauthenticated` `two-factor code required`, `ValidationFailed` where something is missing.
    """
    await lockout.count_attempt(scope, "vendor_login")
    if not email or not email.strip():
        raise ValidationFailed("email is required", field="email", code="required")
    if not password:
        raise ValidationFailed("password is required", field="password", code="required")
    user = await _prove(scope, email.strip(), password)
    if user.user_type != VENDOR:
        raise Forbidden(VENDORS_ONLY)
    check_may_enter(user)
    if not await second_factor.is_on(scope, user.id):
        return await _give(scope, user, password)
    if not code or not code.strip():
        raise Unauthenticated(CODE_REQUIRED)
    async with second_factor.guarded(scope, user.id):
        await second_factor.use(scope, user.id, code)
        return await _give(scope, user, password)


async def _prove(scope: Scope, email: str, password: str) -> Entrant:
    normal = normalise_email(email)
    readings = [(DocumentType.EMAIL, normal)] if is_email(normal) else []
    try:
        return await prove_among(scope, readings, email, password)
    except Unauthenticated as error:
        # The legacy layer's own text for a credential that is wrong (legacy contract, Errors, 401).
        raise Unauthenticated(WRONG) from error


async def _give(scope: Scope, user: Entrant, password: str) -> IssuedVendorToken:
    made = await give_legacy_token(scope, user, password)
    return IssuedVendorToken(
        token=made.token,
        ttl=made.ttl,
        user_id=user.id,
        company_id=user.vendor_id or 0,
        expires_at=scope.now + timedelta(seconds=made.ttl),
    )
