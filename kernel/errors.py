"""Name every refusal once.

    Refusal
    ├── Unauthenticated            401   no or bad credential
    │   ├── TokenRevoked           401   a credential that was good and is not any more
    │   └── InvalidClient          401   an app that can't prove who it is at the token route
    ├── Forbidden                  403   a good credential without the right
    │   ├── InsufficientPrivileges 403   the user lacks a privilege
    │   ├── MissingScope           403   the app or key lacks a scope
    │   ├── TenantMismatch         403   the credential belongs to another store
    │   └── AccountBarred          403   the account may not enter (disabled, pending, ...)
    ├── NotFound                   404   absent, hidden, or another store's
    │   └── TenantNotFound         404
    ├── ValidationFailed           400   the request is wrong in itself
    │   ├── MalformedRequest       400   the body or a parameter can't be read
    │   └── GrantRefused           400   OAuth refuses a code, a token or the request for one
    ├── Conflict                   409   the request contradicts the present state
    ├── RuleViolation              422   a well-formed request that a rule of the shop refuses
    ├── TooLarge                   413   the body is over the limit
    ├── TooComplex                 400   a GraphQL document over a limit
    ├── RateLimited                429   too many requests; carries the seconds to wait
    │   └── AccountLocked          429
    ├── TenantClosed               503   the store is suspended or in maintenance
    └── Unavailable                503   cut off by a time-out, or the database is away; try again

Domain code raises these and never builds a response. `code` is stable and for programs, the message is for people, `details`
stand beside it in the answer. A register refuses two classes with one code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

REGISTER: dict[str, type[DomainError]] = {}


class DomainError(Exception):
    """Refuse a request for a reason its sender can act on."""

    code: ClassVar[str] = "REFUSED"
    status: ClassVar[int] = 400

    def __init__(self, message: str, *, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "code" in cls.__dict__:
            if cls.code in REGISTER:
                raise TypeError(f"{cls.__name__} and {REGISTER[cls.code].__name__} share the code {cls.code}")
            REGISTER[cls.code] = cls


class Unauthenticated(DomainError):
    """Refuse a request whose credential is missing or not good."""

    code = "UNAUTHENTICATED"
    status = 401


class TokenRevoked(Unauthenticated):
    """Refuse a credential that was ended before its time; the message is `token revoked: <reason>`."""

    code = "TOKEN_REVOKED"

    def __init__(self, reason: str) -> None:
        super().__init__(f"token revoked: {reason}")


class InvalidClient(Unauthenticated):
    """Refuse an app whose client credentials are missing or wrong (RFC 6749, section 5.2)."""

    code = "INVALID_CLIENT"

    def __init__(self, detail: str) -> None:
        super().__init__("invalid_client", details={"detail": detail})


class Forbidden(DomainError):
    """Refuse a known caller who has no right to this."""

    code = "FORBIDDEN"
    status = 403


class InsufficientPrivileges(Forbidden):
    """Refuse a user without one of the named privileges."""

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
    """Refuse an app or a storefront key without the scope."""

    code = "MISSING_SCOPE"

    def __init__(self, scope: str) -> None:
        super().__init__(f"the scope {scope} is required", details={"scope": scope})


class TenantMismatch(Forbidden):
    """Refuse a credential of another store."""

    code = "TENANT_MISMATCH"

    def __init__(self) -> None:
        super().__init__("token not valid for this storefront")


class AccountBarred(Forbidden):
    """Refuse the entry of an account whose password was right; `reason` is the contract's code."""

    code = "ACCOUNT_BARRED"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message, details={"reason": reason})
        self.reason = reason


class NotFound(DomainError):
    """Say that a record is absent; hidden records and those of other stores are absent too."""

    code = "NOT_FOUND"
    status = 404

    def __init__(self, thing: str, *, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{thing} not found", details=details)
        self.thing = thing


class TenantNotFound(NotFound):
    """Say that no store answers here."""

    code = "TENANT_NOT_FOUND"

    def __init__(self) -> None:
        super().__init__("tenant")


class ValidationFailed(DomainError):
    """Refuse a request that is wrong in itself, naming the fields.

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
    """Refuse a body or a parameter that can't be read at all."""

    code = "MALFORMED_REQUEST"

    def __init__(self, message: str = "invalid request body", *, detail: str | None = None) -> None:
        super().__init__(message, details={"detail": detail} if detail else None)


class GrantRefused(ValidationFailed):
    """Refuse in OAuth's words: `invalid_grant`, `invalid_request` or `unsupported_grant_type` (RFC 6749, section 5.2)."""

    code = "GRANT_REFUSED"

    def __init__(self, error: str, detail: str) -> None:
        super().__init__(error, details={"detail": detail})


class Conflict(DomainError):
    """Refuse a request that contradicts the present state; `reason` is the contract's code where it has one."""

    code = "CONFLICT"
    status = 409

    def __init__(
        self, message: str, *, reason: str | None = None, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, details=details)
        self.reason = reason


class RuleViolation(DomainError):
    """Refuse a well-formed request because of a rule of the shop."""

    code = "RULE_VIOLATION"
    status = 422

    def __init__(
        self, message: str, *, reason: str | None = None, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, details=details)
        self.reason = reason


class TooLarge(DomainError):
    """Refuse a body over the limit."""

    code = "TOO_LARGE"
    status = 413


class TooComplex(DomainError):
    """Refuse a GraphQL document over a limit; nothing was executed."""

    code = "QUERY_TOO_COMPLEX"


class RateLimited(DomainError):
    """Refuse for now; `retry_after` is in seconds."""

    code = "RATE_LIMITED"
    status = 429

    def __init__(self, detail: str, *, retry_after: int = 60, message: str = "rate limit exceeded") -> None:
        super().__init__(message, details={"detail": detail})
        self.retry_after = retry_after


class AccountLocked(RateLimited):
    """Refuse sign-in after too many wrong attempts, right password or not."""

    code = "ACCOUNT_LOCKED"

    def __init__(self, retry_after: int) -> None:
        super().__init__(
            f"too many wrong attempts; try again in {retry_after} seconds",
            retry_after=retry_after,
            message="account_locked",
        )


class TenantClosed(DomainError):
    """Refuse because the store is closed; `reason` is `tenant_suspended` or `tenant_maintenance`."""

    code = "TENANT_CLOSED"
    status = 503

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Unavailable(DomainError):
    """Refuse because the work was cut off or the database is away; the same request may be sent again."""

    code = "UNAVAILABLE"
    status = 503

    def __init__(self, message: str = "request timeout") -> None:
        super().__init__(message)
