"""Every error class in the error format of every family. An error class without an entry fails the last tests."""

from __future__ import annotations

import re

import orjson
import pytest
from aiohttp import web

from kernel import errors
from kernel.errors import (
    CONCURRENT_CHANGE,
    AccountLocked,
    Conflict,
    DomainError,
    Expired,
    Forbidden,
    InsufficientPrivileges,
    InvalidClient,
    MalformedRequest,
    MissingScope,
    NotFound,
    OAuthError,
    RateLimited,
    RuleViolation,
    SignInDenied,
    StorageFull,
    TenantClosed,
    TenantMismatch,
    TenantNotFound,
    TokenRevoked,
    TooComplex,
    TooLarge,
    TransactionConflict,
    Unauthenticated,
    Unavailable,
    UnsupportedEncoding,
    ValidationFailed,
)
from rest_facade.apps import errors as apps
from rest_facade.current import errors as current
from rest_facade.legacy import errors as legacy
from rest_facade.routing import ErrorFormat
from server.http import graphql_errors as graphql
from server.http.families import family_of

FAMILIES: dict[str, ErrorFormat] = {
    "current": current.ERROR_FORMAT,
    "apps": apps.ERROR_FORMAT,
    "legacy": legacy.ERROR_FORMAT,
    "auth_tokens": legacy.TOKEN_ERROR_FORMAT,
    "graphql": graphql.ERROR_FORMAT,
}

MAINTENANCE = "Loja em manutenção. Volte em alguns minutos."
SUSPENDED = "Esta loja está suspensa."
LIMIT = "more than 6000 requests a minute from this address"
ENCODING = "the content encoding is 'br'; expected gzip or deflate"
LOCKED = "too many wrong attempts; try again in 840 seconds"
TWO_PRIVILEGES = ["manage_payments", "view_payments"]
SCOPE_TEXT = "the scope write_products is required"
ALLOWED = {"allowed": ["P", "I"]}


def error_samples() -> dict[str, DomainError]:
    """Return one error for each format a class can have."""
    return {
        "no credential": Unauthenticated("missing authorization header"),
        "bad header": Unauthenticated("invalid authorization format"),
        "bad token": Unauthenticated("invalid or expired token"),
        "bad key": Unauthenticated("invalid_api_key"),
        "revoked": TokenRevoked("logout-all"),
        "client": InvalidClient("the client is unknown"),
        "wrong user type": Forbidden("insufficient permissions"),
        "module off": Forbidden("module_disabled", details={"module": "payment_gateway"}),
        "one privilege": InsufficientPrivileges("manage_products"),
        "privileges": InsufficientPrivileges(*TWO_PRIVILEGES),
        "no privilege named": InsufficientPrivileges(),
        "app scope": MissingScope("write_products"),
        "key scope": MissingScope("storefront:cart"),
        "other store": TenantMismatch(),
        "disabled": SignInDenied("account_disabled", "the account is disabled"),
        "product": NotFound("product"),
        "call request": NotFound("call request"),
        "store": TenantNotFound(),
        "fields": ValidationFailed("name is required", fields={"name": "name_required"}),
        "plain": ValidationFailed("refresh_token is required"),
        "rows": ValidationFailed("1 row is wrong", details={"errors": [{"index": 0}]}),
        "unreadable": MalformedRequest(detail="the body is not JSON"),
        "parameter": MalformedRequest("invalid page", detail="page is 'x'"),
        "grant": OAuthError("invalid_grant", "the code has expired"),
        "conflict": Conflict("the code is taken"),
        "in progress": Conflict("in_progress", reason="in_progress", details={"retry_after_ms": 500}),
        "accounts": Conflict("sign in with the e-mail", reason="multiple_accounts_cnpj"),
        "expired": Expired("the cursor is too old", details={"oldest_cursor": "Zm9v"}),
        "rule": RuleViolation("the order is final"),
        "transition": RuleViolation("I is final", reason="transition_forbidden", details=ALLOWED),
        "encoding": UnsupportedEncoding("'br'", ("gzip", "deflate")),
        "full": StorageFull(),
        "large": TooLarge("the request body is larger than 2097152 bytes"),
        "complex": TooComplex("the depth is 13; at most 12 is allowed"),
        "rate": RateLimited(LIMIT),
        "key rate": RateLimited("more than 600", message="rate_limit_exceeded"),
        "locked": AccountLocked(840),
        "suspended": TenantClosed("tenant_suspended", SUSPENDED),
        "maintenance": TenantClosed("tenant_maintenance", MAINTENANCE),
        "cut off": Unavailable(),
        "transaction": TransactionConflict(),
    }


CURRENT = {
    "no credential": (401, {"error": "missing authorization header"}),
    "bad header": (401, {"error": "invalid authorization format"}),
    "bad token": (401, {"error": "invalid or expired token"}),
    "bad key": (401, {"error": "invalid_api_key"}),
    "revoked": (401, {"error": "token revoked: logout-all"}),
    "client": (
        401,
        {
            "error": "invalid_client",
            "error_description": "the client is unknown",
            "detail": "the client is unknown",
        },
    ),
    "wrong user type": (403, {"error": "insufficient permissions"}),
    "module off": (403, {"error": "module_disabled", "module": "payment_gateway"}),
    "one privilege": (403, {"error": "insufficient privileges", "required": "manage_products"}),
    "privileges": (403, {"error": "insufficient privileges", "privilege_required_any": TWO_PRIVILEGES}),
    "no privilege named": (403, {"error": "insufficient privileges"}),
    "app scope": (403, {"error": "token_scope", "detail": SCOPE_TEXT, "scope": "write_products"}),
    "key scope": (
        403,
        {
            "error": "missing_scope",
            "detail": "the scope storefront:cart is required",
            "scope": "storefront:cart",
        },
    ),
    "other store": (403, {"error": "token not valid for this storefront"}),
    "disabled": (403, {"error": "account_disabled", "message": "the account is disabled"}),
    "product": (404, {"error": "product not found"}),
    "call request": (404, {"error": "call request not found"}),
    "store": (404, {"error": "tenant not found"}),
    "fields": (400, {"error": "validation_failed", "fields": {"name": "name_required"}}),
    "plain": (400, {"error": "refresh_token is required"}),
    "rows": (400, {"error": "1 row is wrong", "errors": [{"index": 0}]}),
    "unreadable": (400, {"error": "invalid request body", "detail": "the body is not JSON"}),
    "parameter": (400, {"error": "invalid page", "detail": "page is 'x'"}),
    "grant": (
        400,
        {"error": "invalid_grant", "error_description": "the code has expired", "detail": "the code has expired"},
    ),
    "conflict": (409, {"error": "the code is taken"}),
    "in progress": (409, {"error": "in_progress", "retry_after_ms": 500}),
    "accounts": (409, {"error": "multiple_accounts_cnpj", "message": "sign in with the e-mail"}),
    "expired": (410, {"error": "the cursor is too old", "oldest_cursor": "Zm9v"}),
    "rule": (422, {"error": "the order is final"}),
    "transition": (422, {"error": "transition_forbidden", "message": "I is final", **ALLOWED}),
    "encoding": (415, {"error": "invalid request body", "detail": ENCODING}),
    "full": (507, {"error": "the file could not be stored; try again later"}),
    "large": (413, {"error": "the request body is larger than 2097152 bytes"}),
    "complex": (400, {"error": "the depth is 13; at most 12 is allowed"}),
    "rate": (429, {"error": "rate limit exceeded", "detail": LIMIT}),
    "key rate": (429, {"error": "rate_limit_exceeded", "detail": "more than 600"}),
    "locked": (429, {"error": "account_locked", "detail": LOCKED}),
    "suspended": (503, {"error": "tenant_suspended", "message": SUSPENDED}),
    "maintenance": (503, {"error": "tenant_maintenance", "message": MAINTENANCE}),
    "cut off": (503, {"error": "request timeout"}),
    "transaction": (503, {"error": CONCURRENT_CHANGE}),
}

# The code; message, status and details follow from the error.
APPS = {
    "no credential": "missing_authorization_header",
    "bad header": "invalid_authorization_format",
    "bad token": "invalid_token",
    "bad key": "invalid_token",
    "revoked": "invalid_token",
    "client": "invalid_token",
    "wrong user type": "insufficient_privileges",
    "module off": "insufficient_privileges",
    "one privilege": "insufficient_privileges",
    "privileges": "insufficient_privileges",
    "no privilege named": "insufficient_privileges",
    "app scope": "token_scope",
    "key scope": "token_scope",
    "other store": "tenant_mismatch",
    "disabled": "account_disabled",
    "product": "not_found",
    "call request": "not_found",
    "store": "tenant_not_found",
    "fields": "validation_failed",
    "plain": "invalid_parameter",
    "rows": "invalid_parameter",
    "unreadable": "invalid_request_body",
    "parameter": "invalid_parameter",
    "grant": "invalid_parameter",
    "conflict": "rule_violation",
    "in progress": "in_progress",
    "accounts": "multiple_accounts_cnpj",
    "expired": "cursor_expired",
    "rule": "rule_violation",
    "transition": "rule_violation",
    "encoding": "invalid_request_body",
    "full": "storage_full",
    "large": "invalid_request_body",
    "complex": "invalid_parameter",
    "rate": "rate_limit_exceeded",
    "key rate": "rate_limit_exceeded",
    "locked": "rate_limit_exceeded",
    "suspended": "tenant_suspended",
    "maintenance": "tenant_maintenance",
    "cut off": "request_timeout",
    "transaction": "request_timeout",
}

# The message, and the members besides status and message.
LEGACY: dict[str, tuple[str, dict]] = {
    "no credential": ("missing authorization header", {}),
    "bad header": ("invalid authorization format", {}),
    "bad token": ("invalid or expired token", {}),
    "bad key": ("invalid_api_key", {}),
    "revoked": ("token revoked: logout-all", {}),
    "client": ("invalid_client", {"detail": "the client is unknown"}),
    "wrong user type": ("Forbidden: admin scope required", {}),
    "module off": ("module_disabled", {"module": "payment_gateway"}),
    "one privilege": ("Forbidden: privilege manage_products required", {}),
    "privileges": ("Forbidden: privilege manage_payments or view_payments required", {}),
    "no privilege named": ("Forbidden: insufficient privileges", {}),
    "app scope": ("Forbidden: scope write_products required", {}),
    "key scope": ("Forbidden: scope storefront:cart required", {}),
    "other store": ("Forbidden: token not valid for this storefront", {}),
    "disabled": ("the account is disabled", {"reason": "account_disabled"}),
    "product": ("Product not found", {}),
    "call request": ("Call request not found", {}),
    "store": ("tenant not found", {}),
    "fields": ("name is required", {}),
    "plain": ("refresh_token is required", {}),
    "rows": ("1 row is wrong", {"errors": [{"index": 0}]}),
    "unreadable": ("invalid request body", {"detail": "the body is not JSON"}),
    "parameter": ("invalid page", {"detail": "page is 'x'"}),
    "grant": ("invalid_grant", {"detail": "the code has expired"}),
    "conflict": ("the code is taken", {}),
    "in progress": ("in_progress", {"retry_after_ms": 500}),
    "accounts": ("sign in with the e-mail", {}),
    "expired": ("the cursor is too old", {"oldest_cursor": "Zm9v"}),
    "rule": ("the order is final", {}),
    "transition": ("I is final", ALLOWED),
    "encoding": ("invalid request body", {"detail": ENCODING}),
    "full": ("the file could not be stored; try again later", {}),
    "large": ("the request body is larger than 2097152 bytes", {}),
    "complex": ("the depth is 13; at most 12 is allowed", {}),
    "rate": ("rate limit exceeded", {"detail": LIMIT}),
    "key rate": ("rate_limit_exceeded", {"detail": "more than 600"}),
    "locked": ("account_locked", {"detail": LOCKED}),
    "suspended": ("tenant_suspended", {"detail": SUSPENDED}),
    "maintenance": ("tenant_maintenance", {"detail": MAINTENANCE}),
    "cut off": ("request timeout", {}),
    "transaction": (CONCURRENT_CHANGE, {}),
}

# Bodies other than `{error: <message>, ...details}`.
AUTH_TOKENS = {
    "disabled": {"message": "the account is disabled"},
    "unreadable": {"error": "invalid JSON", "detail": "the body is not JSON"},
    "parameter": {"error": "invalid JSON", "detail": "page is 'x'"},
    "encoding": {"error": "invalid JSON", "detail": ENCODING},
    "in progress": {"error": "in_progress", "retry_after_ms": 500},
    "accounts": {"error": "multiple_accounts_cnpj"},
    "suspended": {"error": "tenant_suspended", "message": SUSPENDED},
    "maintenance": {"error": "tenant_maintenance", "message": MAINTENANCE},
}

NAMES = list(error_samples())


def render(error_format: ErrorFormat, name: str) -> tuple[web.Response, dict]:
    response = error_format.render(error_samples()[name])
    assert response.content_type == "application/json"
    assert isinstance(response.body, bytes)
    return response, orjson.loads(response.body)


@pytest.mark.parametrize("name", NAMES)
def test_current_api_errors_have_their_format(name):
    response, body = render(current.ERROR_FORMAT, name)
    assert (response.status, body) == CURRENT[name]


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_the_token_routes_have_a_description_in_ascii(name):
    response, body = render(family_of("/api/v1/oauth/token").error_format, name)
    description = body["error_description"]
    status, simple = CURRENT[name]
    assert (response.status, body) == (status, {"error_description": description} | simple)
    assert re.fullmatch(r"[ !#-\[\]-~]+", description)  # RFC 6749, section 5.2
    if name == "maintenance":
        assert description == "Loja em manutencao. Volte em alguns minutos."


@pytest.mark.parametrize("name", NAMES)
def test_app_errors_have_a_code_a_message_and_the_status(name):
    response, body = render(apps.ERROR_FORMAT, name)
    error = error_samples()[name]
    expected = {"error": APPS[name], "message": error.message, "status": error.status}
    if name == "fields":
        expected["fields"] = {"name": "name_required"}
    if name == "transition":
        expected["reason"] = "transition_forbidden"
    if name != "disabled":
        expected |= error.details
    assert (response.status, body) == (error.status, expected)


@pytest.mark.parametrize("name", NAMES)
def test_legacy_errors_have_status_and_message(name):
    response, body = render(legacy.ERROR_FORMAT, name)
    message, details = LEGACY[name]
    assert response.status == error_samples()[name].status
    assert body == {"status": response.status, "message": message, **details}


@pytest.mark.parametrize("name", NAMES)
def test_auth_tokens_errors_have_error_or_message_without_a_status(name):
    response, body = render(legacy.TOKEN_ERROR_FORMAT, name)
    error = error_samples()[name]
    assert response.status == error.status
    assert body == AUTH_TOKENS.get(name, {"error": error.message, **error.details})
    assert "status" not in body


@pytest.mark.parametrize("name", NAMES)
def test_graphql_errors_before_execution_have_both_formats(name):
    response, body = render(graphql.ERROR_FORMAT, name)
    error = error_samples()[name]
    status, simple = CURRENT[name]
    assert response.status == status
    expected = {"message": error.message, **simple, "status": status}
    if status == 401:
        expected["errors"] = [{"message": expected["message"], "extensions": {"code": "UNAUTHENTICATED"}}]
    assert body == expected


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("reason", ["tenant_suspended", "tenant_maintenance"])
def test_the_503_of_a_store_that_moves_says_when_to_try_again(family: str, reason: str):
    for is_moving, expected in ((True, "1"), (False, None)):
        response = FAMILIES[family].render(TenantClosed(reason, "closed", is_moving=is_moving))
        assert (response.status, response.headers.get("Retry-After")) == (503, expected), is_moving


@pytest.mark.parametrize("family", FAMILIES)
def test_a_429_and_a_503_have_retry_after_and_a_401_a_challenge(family):
    wait = {"rate": "60", "key rate": "60", "locked": "840", "transaction": "1", "cut off": "1"}
    for name in NAMES:
        response, _ = render(FAMILIES[family], name)
        assert response.headers.get("Retry-After") == wait.get(name), name
        is_basic = family in ("legacy", "auth_tokens") or (name == "client" and family in ("current", "graphql"))
        scheme = "Basic" if is_basic else "Bearer"
        challenge = f'{scheme} realm="vitrine"' if response.status == 401 else None
        assert response.headers.get("WWW-Authenticate") == challenge, name


def test_a_store_rule_at_checkout_has_the_object_format():
    error = RuleViolation("sem estoque", reason="out_of_stock", details={"products": ["a"]})
    response = current.render_object(error)
    assert response.status == 422
    assert orjson.loads(response.body) == {
        "error": {"code": "out_of_stock", "message": "sem estoque", "details": {"products": ["a"]}}
    }


# --- What no error stands for --------------------------------------------------------------------------------------

ROUTE = "route not found"
UNEXPECTED = "an unexpected error occurred"
DATABASE = "a database error occurred"


@pytest.mark.parametrize(
    "family,expected",
    [
        ("current", {"error": ROUTE}),
        ("apps", {"error": "not_found", "message": ROUTE, "status": 404}),
        ("legacy", {"status": 404, "message": "Route not found"}),
        ("auth_tokens", {"status": 404, "message": "Route not found"}),
        ("graphql", {"error": ROUTE, "message": ROUTE, "status": 404}),
    ],
)
def test_an_unknown_route_is_404_in_the_format_of_the_family(family, expected):
    response = FAMILIES[family].route_not_found()
    assert (response.status, orjson.loads(response.body)) == (404, expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_unsupported_method_is_405_with_allow_and_a_body_only_in_legacy(family):
    response = FAMILIES[family].method_not_allowed({"PUT", "GET"})
    assert response.status == 405
    assert response.headers["Allow"] == "GET, PUT"
    if family in ("legacy", "auth_tokens"):
        assert orjson.loads(response.body) == {"status": 405, "message": "Method not allowed"}
    else:
        assert not response.body


@pytest.mark.parametrize("text,by_database", [(UNEXPECTED, False), (DATABASE, True)])
@pytest.mark.parametrize("family", FAMILIES)
def test_an_unexpected_error_is_500_with_a_generic_message(family, text, by_database):
    response = FAMILIES[family].internal_error(by_database)
    assert response.status == 500
    assert (
        orjson.loads(response.body)
        == {
            "current": {"error": text},
            "apps": {"error": "internal_error", "message": text, "status": 500},
            "legacy": {"status": 500, "message": text},
            "auth_tokens": {"error": text},
            "graphql": {"error": text, "message": text, "status": 500},
        }[family]
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_message_that_json_cannot_encode_is_still_rendered(family):
    response = FAMILIES[family].render(ValidationFailed("name is '\ud800'"))
    assert response.status == 400
    assert orjson.loads(response.body.replace(b"\\ud800", b"?"))


# --- Completeness ----------------------------------------------------------------------------------------------------


def subclasses_of(cls: type[DomainError] = DomainError) -> set[type[DomainError]]:
    return {cls, *(descendant for child in cls.__subclasses__() for descendant in subclasses_of(child))}


def test_every_error_class_is_covered():
    covered = {type(error) for error in error_samples().values()}
    missing = {cls.__name__ for cls in subclasses_of() - covered - {DomainError} if cls.__module__ == errors.__name__}
    assert missing == set()


def test_every_error_has_an_entry_in_every_family():
    assert list(CURRENT) == list(APPS) == list(LEGACY) == NAMES
