"""Sign vendors in to the vendor app: legacy tokens for users of type V only (docs/reference/legacy.md#vendor-app)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from auth import lockout, two_factor_codes
from auth.legacy_tokens import CODE_REQUIRED, create_legacy_token
from auth.password_authentication import AuthenticatedUser, authenticate_candidates, check_may_sign_in
from kernel.documents import IdentifierType, is_email, normalize_email
from kernel.errors import Forbidden, Unauthenticated, ValidationFailed
from kernel.scope import Scope

VENDOR = "V"
VENDORS_ONLY = "Forbidden: vendor scope required"
INVALID_CREDENTIALS = "Invalid credentials"


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
        raise Forbidden(VENDORS_ONLY)
    check_may_sign_in(user)
    if not await two_factor_codes.is_enabled(scope, user.id):
        return await _create_token(scope, user, password)
    if not code or not code.strip():
        raise Unauthenticated(CODE_REQUIRED)
    async with two_factor_codes.code_attempt(scope, user.id):
        await two_factor_codes.consume_code(scope, user.id, code)
        return await _create_token(scope, user, password)


async def _authenticate(scope: Scope, email: str, password: str) -> AuthenticatedUser:
    normalized = normalize_email(email)
    candidates = [(IdentifierType.EMAIL, normalized)] if is_email(normalized) else []
    try:
        return await authenticate_candidates(scope, candidates, email, password)
    except Unauthenticated as error:
        # The legacy API's text for a wrong credential (docs/reference/legacy.md#errors).
        raise Unauthenticated(INVALID_CREDENTIALS) from error


async def _create_token(scope: Scope, user: AuthenticatedUser, password: str) -> IssuedVendorToken:
    token = await create_legacy_token(scope, user, password)
    return IssuedVendorToken(
        token=token.token,
        ttl=token.ttl,
        user_id=user.id,
        vendor_id=user.vendor_id or 0,
        expires_at=scope.now + timedelta(seconds=token.ttl),
    )
