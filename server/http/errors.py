"""Convert exceptions into responses in the family's error format.

A `DomainError` is rendered as it is. aiohttp's exceptions (404, 405, 413, a bad preflight) and database errors are mapped to one.
Anything else is unexpected: logged with its traceback and answered without details.
"""

from __future__ import annotations

import asyncpg
from aiohttp import web

from kernel import logging
from kernel.errors import DomainError, Forbidden, MalformedRequest, TooLarge, Unavailable
from models.connection.database import ConstraintViolation, WrongStore, translated_error
from rest_facade.routing import ErrorFormat

_DATABASE_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConstraintViolation,
    WrongStore,
)


def error_response(error: Exception, error_format: ErrorFormat) -> tuple[web.Response, str | None]:
    """Return the response and the code of the error in it."""
    if isinstance(error, DomainError):
        if isinstance(error, Unavailable) and error.__cause__ is not None:
            logging.failure("request aborted", error.__cause__, level="warning")
        return error_format.render(error), error.code
    if isinstance(error, web.HTTPException):
        return _http_error_response(error, error_format)
    domain_error = _underlying_error(error)
    if domain_error is not None:
        logging.failure("request aborted", error, level="warning")
        return error_format.render(domain_error), domain_error.code
    logging.failure("unexpected error", error)
    return error_format.internal_error(is_database_error(error)), None


def is_database_error(error: BaseException) -> bool:
    """Return whether the error or one of its causes was raised by the database or its driver."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, _DATABASE_ERRORS):
            return True
        cause = cause.__cause__
    return False


def _underlying_error(error: Exception) -> DomainError | None:
    """Return the domain error for a time-out or a lost database connection that was not translated."""
    if isinstance(error, TimeoutError):
        return Unavailable()
    cause: BaseException | None = error
    while cause is not None:
        # translated_error treats every OSError as a lost database; here a missing file is unexpected.
        if isinstance(cause, _DATABASE_ERRORS):
            domain_error = translated_error(cause)
            if isinstance(domain_error, Unavailable):
                return domain_error
        cause = cause.__cause__
    return None


def _http_error_response(error: web.HTTPException, error_format: ErrorFormat) -> tuple[web.Response, str | None]:
    match error:
        case web.HTTPNotFound():
            return error_format.route_not_found(), None
        case web.HTTPMethodNotAllowed():
            return error_format.method_not_allowed(error.allowed_methods), None
        case web.HTTPRequestEntityTooLarge():
            return error_format.render(TooLarge("the request body is too large")), TooLarge.code
        case web.HTTPForbidden():  # aiohttp-cors explains a bad preflight in the text
            return error_format.render(Forbidden(error.text or error.reason)), Forbidden.code
        case web.HTTPClientError():
            return error_format.render(MalformedRequest(error.reason)), MalformedRequest.code
        case _:
            logging.failure("unexpected error", error)
            return error_format.internal_error(False), None
