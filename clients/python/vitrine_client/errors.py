"""Errors of the client: one class for each family's error form (docs/reference/shared.md#errors)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Codes of GraphQL, where an error of execution has the status 200.
_PASSING = {"UNAVAILABLE", "RATE_LIMITED", "TENANT_CLOSED"}


class VitrineError(Exception):
    """Any failure that this package reports."""


class ConnectionFailed(VitrineError):
    """No complete response arrived. A request that `was_sent` may have taken effect."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class WebhookRejected(VitrineError):
    """A request that Vitrine did not send, or sent too long ago."""


class ApiError(VitrineError):
    """A refusal of the server.

    `code` is stable, empty where the family has none; `fields` maps refused fields to their codes, `field` is the first of them;
    `details` are the further members of the error; `request_id` finds the server's log line; `retry_after` is in seconds.
    """

    family = ""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str = "",
        fields: Mapping[str, str] | None = None,
        field: str | None = None,
        details: Mapping[str, Any] | None = None,
        request_id: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.fields = dict(fields or {})
        self.field = field or next(iter(self.fields), None)
        self.details = dict(details or {})
        self.request_id = request_id
        self.retry_after = retry_after

    @property
    def is_passing(self) -> bool:
        """Return whether the same request may succeed later."""
        return self.status >= 500 or self.status == 429 or self.code in _PASSING

    def __str__(self) -> str:
        fields = "".join(f", {name}: {code}" for name, code in self.fields.items())
        code = f" {self.code}" if self.code and self.code != self.message else ""
        return f"{self.status}{code}: {self.message}{fields} (request {self.request_id or 'without id'})"


class CurrentError(ApiError):
    """An error of `/api/v1`."""

    family = "current"


class AppsError(ApiError):
    """An error of `/api/admin` and `/api/storefront`."""

    family = "apps"


class LegacyError(ApiError):
    """An error of the legacy API, which has no codes."""

    family = "legacy"


class GraphQLError(ApiError):
    """Errors of a GraphQL document, with the `data` that was returned nevertheless; the other attributes are the first error's."""

    family = "graphql"

    def __init__(self, *args: Any, errors: list[dict[str, Any]] | None = None, data: Any = None, **named: Any) -> None:
        super().__init__(*args, **named)
        self.errors = errors or []
        self.data = data


_KNOWN = {"error", "message", "status", "fields", "errors", "data", "extensions", "error_description"}


def family_of(path: str) -> type[ApiError]:
    """Return the class of errors of a path."""
    if path.startswith("/graphql"):
        return GraphQLError
    if path.startswith("/api/v1/"):
        return CurrentError
    return AppsError if path.startswith(("/api/admin/", "/api/storefront/")) else LegacyError


def error_of(path: str, status: int, body: Any, *, request_id: str, retry_after: float | None) -> ApiError:
    """Build the error of a response from its JSON, or from None where it has none."""
    kind = family_of(path)
    common: dict[str, Any] = {"request_id": request_id, "retry_after": retry_after}
    if not isinstance(body, dict):
        return kind(status, f"HTTP status {status}", **common)
    if issubclass(kind, GraphQLError) and body.get("errors"):
        return _graphql_error(status, body, common)
    error = body.get("error", "")
    if isinstance(error, dict):  # a store rule at the checkout
        return kind(status, error["message"], code=error["code"], details=error.get("details"), **common)
    details = {name: value for name, value in body.items() if name not in _KNOWN}
    message = body.get("message") or body.get("error_description") or body.get("detail") or error
    code = "" if kind is LegacyError else str(error)
    return kind(status, str(message), code=code, fields=body.get("fields"), details=details, **common)


def _graphql_error(status: int, body: dict[str, Any], common: dict[str, Any]) -> GraphQLError:
    errors = body["errors"]
    extensions = errors[0].get("extensions") or {}
    details = dict(extensions.get("details") or {})
    return GraphQLError(
        status,
        errors[0]["message"],
        code=extensions.get("code", ""),
        fields=details.pop("fields", None),
        field=extensions.get("field"),
        details=details,
        errors=errors,
        data=body.get("data"),
        **common,
    )
