"""Every error that a client can act on (docs/reference/shared.md#error-codes).

    DomainError
    ├── Unauthenticated            401   no or invalid credential
    │   ├── TokenRevoked           401   a credential that was revoked
    │   └── InvalidClient          401   an app with wrong client credentials at the token route
    ├── Forbidden                  403   a valid credential without the right
    │   ├── InsufficientPrivileges 403   the user lacks a privilege
    │   ├── MissingScope           403   the app or key lacks a scope
    │   ├── TenantMismatch         403   the credential belongs to another store
    │   └── SignInDenied           403   the account may not sign in (disabled, pending, ...)
    ├── NotFound                   404   absent, hidden, or another store's
    │   └── TenantNotFound         404
    ├── ValidationFailed           400   the request is invalid in itself
    │   ├── MalformedRequest       400   the body or a parameter can't be parsed
    │   │   └── UnsupportedEncoding 415  the body's content coding is not supported
    │   └── OAuthError             400   a code, a token or a token request is invalid
    ├── Conflict                   409   the request contradicts the current state
    ├── Expired                    410   what the request continues from is no longer kept
    ├── RuleViolation              422   a well-formed request that a business rule refuses
    ├── TooLarge                   413   the body is over the limit
    ├── StorageFull                507   a file can't be stored
    ├── TooComplex                 400   a GraphQL document over a limit
    ├── RateLimited                429   too many requests; has the seconds to wait
    │   └── AccountLocked          429
    ├── TenantClosed               503   the store is suspended or in maintenance
    └── Unavailable                503   timed out, or the database is down; retry
        └── TransactionConflict    503   a deadlock or serialization failure, after the retries

Domain code raises these and never builds a response. `code` is stable and for programs, the message is for people, `details`
are added to the response. Two classes can't share a code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

CONCURRENT_CHANGE = "another change to the same records was under way; try again"

ERROR_CLASSES: dict[str, type[DomainError]] = {}


class OperatorError(Exception):
    """Report what an operator can act on, in one line: a deployment, a file or another system."""


class DomainError(Exception):
    """Reject a request for a reason that the client can act on."""

    code: ClassVar[str] = "REFUSED"
    status: ClassVar[int] = 400

    def __init__(self, message: str, *, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "code" in cls.__dict__:
            if cls.code in ERROR_CLASSES:
                raise TypeError(f"{cls.__name__} and {ERROR_CLASSES[cls.code].__name__} share the code {cls.code}")
            ERROR_CLASSES[cls.code] = cls


class Unauthenticated(DomainError):
    """Reject a missing or invalid credential; `is_invalid_token` if the request carried one."""

    code = "UNAUTHENTICATED"
    status = 401
    is_invalid_token = False


class TokenRevoked(Unauthenticated):
    """Reject a revoked credential; the message is `token revoked: <reason>`."""

    code = "TOKEN_REVOKED"

    def __init__(self, reason: str) -> None:
        super().__init__(f"token revoked: {reason}")


class InvalidClient(Unauthenticated):
    """Reject an app whose client credentials are missing or wrong (RFC 6749, section 5.2)."""

    code = "INVALID_CLIENT"

    def __init__(self, detail: str) -> None:
        super().__init__("invalid_client", details={"detail": detail})


class Forbidden(DomainError):
    """Reject an authenticated caller without the right."""

    code = "FORBIDDEN"
    status = 403


class InsufficientPrivileges(Forbidden):
    """Reject a user without one of the named privileges."""

    code = "INSUFFICIENT_PRIVILEGES"

    def __init__(self, *any_of: str) -> None:
        details: dict[str, Any] = {}
        if len(any_of) == 1:
            details = {"required": any_of[0]}
        elif any_of:
            details = {"privilege_required_any": list(any_of)}
        super().__init__("insufficient privileges", details=details)
        self.any_of = any_of


class MissingScope(Forbidden):
    """Reject an app or storefront key without the scope."""

    code = "MISSING_SCOPE"

    def __init__(self, scope: str) -> None:
        super().__init__(f"the scope {scope} is required", details={"scope": scope})


class TenantMismatch(Forbidden):
    """Reject a credential of another store."""

    code = "TENANT_MISMATCH"

    def __init__(self) -> None:
        super().__init__("token not valid for this storefront")


class SignInDenied(Forbidden):
    """Reject the sign-in of an account whose password was right; `reason` is the public code."""

    code = "ACCOUNT_BARRED"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message, details={"reason": reason})
        self.reason = reason


class NotFound(DomainError):
    """Report an absent record; hidden records and those of other stores count as absent."""

    code = "NOT_FOUND"
    status = 404

    def __init__(self, resource: str, *, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{resource} not found", details=details)
        self.resource = resource


class TenantNotFound(NotFound):
    """Report that no store matches the request."""

    code = "TENANT_NOT_FOUND"

    def __init__(self) -> None:
        super().__init__("tenant")


class ValidationFailed(DomainError):
    """Reject an invalid request, naming the fields.

    `fields` maps a field's name to a short stable code (`required`, `price_invalid`).
    """

    code = "VALIDATION_FAILED"

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        code: str = "invalid",
        fields: Mapping[str, str] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, details=details)
        self.fields: dict[str, str] = dict(fields or ({field: code} if field else {}))
        self.field = field or next(iter(self.fields), None)


class MalformedRequest(ValidationFailed):
    """Reject a body or parameter that can't be parsed."""

    code = "MALFORMED_REQUEST"

    def __init__(self, message: str = "invalid request body", *, detail: str | None = None) -> None:
        super().__init__(message, details={"detail": detail} if detail else None)


class UnsupportedEncoding(MalformedRequest):
    """Reject a body in another content coding than those in `accepted` (RFC 9110, section 15.5.16)."""

    code = "UNSUPPORTED_ENCODING"
    status = 415

    def __init__(self, encoding: str, accepted: tuple[str, ...]) -> None:
        super().__init__(detail=f"the content encoding is {encoding}; expected {' or '.join(accepted)}")
        self.accepted = accepted


class OAuthError(ValidationFailed):
    """Reject with an OAuth code: `invalid_grant`, `invalid_request` or `unsupported_grant_type` (RFC 6749, section 5.2)."""

    code = "GRANT_REFUSED"

    def __init__(self, error: str, detail: str) -> None:
        super().__init__(error, details={"detail": detail})


class Conflict(DomainError):
    """Reject a request that contradicts the current state; `reason` is the public code, if there is one."""

    code = "CONFLICT"
    status = 409

    def __init__(self, message: str, *, reason: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, details=details)
        self.reason = reason


class Expired(DomainError):
    """Reject a request that continues from something that is no longer kept; `details` say where it can begin again."""

    code = "EXPIRED"
    status = 410


class RuleViolation(DomainError):
    """Reject a well-formed request because of a business rule."""

    code = "RULE_VIOLATION"
    status = 422

    def __init__(self, message: str, *, reason: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, details=details)
        self.reason = reason


class TooLarge(DomainError):
    """Reject a body over the limit."""

    code = "TOO_LARGE"
    status = 413


class StorageFull(DomainError):
    """Report that a file can't be written, because the disk is full or fails."""

    code = "STORAGE_FULL"
    status = 507

    def __init__(self) -> None:
        super().__init__("the file could not be stored; try again later")


class TooComplex(DomainError):
    """Reject a GraphQL document over a limit before it is executed."""

    code = "QUERY_TOO_COMPLEX"


class RateLimited(DomainError):
    """Reject a request over a rate limit; `retry_after` is in seconds."""

    code = "RATE_LIMITED"
    status = 429

    def __init__(self, detail: str, *, retry_after: int = 60, message: str = "rate limit exceeded") -> None:
        super().__init__(message, details={"detail": detail})
        self.retry_after = retry_after


class AccountLocked(RateLimited):
    """Reject sign-in after too many failed attempts, even with the right password."""

    code = "ACCOUNT_LOCKED"

    def __init__(self, retry_after: int) -> None:
        super().__init__(
            f"too many wrong attempts; try again in {retry_after} seconds",
            retry_after=retry_after,
            message="account_locked",
        )


class TenantClosed(DomainError):
    """Reject because the store is closed; `reason` is `tenant_suspended` or `tenant_maintenance`.

    Where it is only moving, `retry_after` is the number of seconds after which the client may repeat the request.
    """

    code = "TENANT_CLOSED"
    status = 503

    def __init__(self, reason: str, message: str, *, is_moving: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after = 1 if is_moving else None


class Unavailable(DomainError):
    """Reject because the work timed out or the database is down; the client may retry the same request after `retry_after` seconds."""

    code = "UNAVAILABLE"
    status = 503
    retry_after = 1

    def __init__(self, message: str = "request timeout") -> None:
        super().__init__(message)


class TransactionConflict(Unavailable):
    """Reject because a transaction lost against a concurrent one; `models.connection.transactions.retry_conflicts` repeats it first."""

    def __init__(self) -> None:
        super().__init__(CONCURRENT_CHANGE)
