"""Turn whatever ends a request into an answer in its family's form.

A `DomainError` is rendered as it is. aiohttp's own exceptions (404, 405, 413, a bad preflight) and the database's are given the
refusal they mean. The rest is an accident: logged with its place, answered without a word of it.
"""

from __future__ import annotations

import asyncpg
from aiohttp import web
from tortoise.exceptions import BaseORMException

from kernel import logging
from kernel.errors import DomainError, Forbidden, MalformedRequest, TooLarge, Unavailable
from models.base import WrongStore
from models.failures import ConstraintViolation, translation_of
from rest_facade.routing import ErrorForm

_DATABASE_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    BaseORMException,
    ConstraintViolation,
    WrongStore,
)


def answer_to(error: Exception, form: ErrorForm) -> tuple[web.Response, str | None]:
    """Give the answer and the code of the refusal in it."""
    if isinstance(error, DomainError):
        if isinstance(error, Unavailable) and error.__cause__ is not None:
            logging.failure("cut off", error.__cause__, level="warning")
        return form.render(error), error.code
    if isinstance(error, web.HTTPException):
        return _answer_to_http(error, form)
    meant = _refusal_behind(error)
    if meant is not None:
        logging.failure("cut off", error, level="warning")
        return form.render(meant), meant.code
    logging.failure("accident", error)
    return form.accident(is_of_database(error)), None


def is_of_database(error: BaseException) -> bool:
    """Say whether the database or the way to it raised the error, or the error that caused it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, _DATABASE_ERRORS):
            return True
        cause = cause.__cause__
    return False


def _refusal_behind(error: Exception) -> DomainError | None:
    """Give the refusal that a time-out or a lost database means, where none was raised in its place."""
    if isinstance(error, TimeoutError):
        return Unavailable()
    cause: BaseException | None = error
    while cause is not None:
        # translation_of takes every OSError for a lost database; here a missing file is an accident.
        if isinstance(cause, _DATABASE_ERRORS):
            meant = translation_of(cause)
            if isinstance(meant, Unavailable):
                return meant
        cause = cause.__cause__
    return None


def _answer_to_http(error: web.HTTPException, form: ErrorForm) -> tuple[web.Response, str | None]:
    match error:
        case web.HTTPNotFound():
            return form.unknown_route(), None
        case web.HTTPMethodNotAllowed():
            return form.not_allowed(error.allowed_methods), None
        case web.HTTPRequestEntityTooLarge():
            return form.render(TooLarge("the request body is too large")), TooLarge.code
        case web.HTTPForbidden():  # aiohttp-cors says in its text what is wrong with a preflight
            return form.render(Forbidden(error.text or error.reason)), Forbidden.code
        case web.HTTPClientError():
            return form.render(MalformedRequest(error.reason)), MalformedRequest.code
        case _:
            logging.failure("accident", error)
            return form.accident(False), None
