"""Sign vendors in to the vendor app: legacy tokens for users of type V only (docs/reference/legacy.md#vendor-app)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from auth import lockout
from auth.credentials import INVALID_CREDENTIALS
from auth.legacy_tokens import email_candidates, sign_in_for_token
from auth.password_authentication import AuthenticatedUser, authenticate_candidates
from auth.schemes import LEGACY_VENDOR_ONLY
from kernel.errors import Forbidden, Unauthenticated, ValidationFailed
from kernel.scope import Scope

VENDOR = "V"


@dataclass(frozen=True, slots=True)
class IssuedVendorToken:
    """A token with its lifetime in seconds, its user and vendor."""

    token: str
    ttl: int
    user_id: int
    vendor_id: int
    expires_at: datetime


async def issue_vendor_token(
    scope: Scope, email: str | None, password: str | None, code: str | None = None
) -> IssuedVendorToken:
    """Exchange a vendor user's e-mail and password, with two-factor authentication also a `code`, for a legacy token.

    Attempts have their own count. Raise what `sessions.login` raises; `Forbidden` for a user who isn't a vendor's, `Unauthenticated`
    `two-factor code required`, `ValidationFailed` for a missing value.
    """
    await lockout.count_attempt(scope, "vendor_login")
    if not email or not email.strip():
        raise ValidationFailed("email is required", field="email", code="required")
    if not password:
        raise ValidationFailed("password is required", field="password", code="required")
    user = await _authenticate(scope, email.strip(), password)
    if user.user_type != VENDOR:
        raise Forbidden(LEGACY_VENDOR_ONLY)
    token = await sign_in_for_token(scope, user, password, code)
    return IssuedVendorToken(
        token=token.token,
        ttl=token.ttl,
        user_id=user.id,
        vendor_id=user.vendor_id or 0,
        expires_at=scope.now + timedelta(seconds=token.ttl),
    )


async def _authenticate(scope: Scope, email: str, password: str) -> AuthenticatedUser:
    try:
        return await authenticate_candidates(scope, email_candidates(email), email, password)
    except Unauthenticated as error:
        # The legacy API's text for a wrong credential (docs/reference/legacy.md#errors).
        raise Unauthenticated(INVALID_CREDENTIALS) from error
