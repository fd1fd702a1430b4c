"""Describe what callers give for a user's account, and how each value is read and stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from auth.passwords import problem_of
from domain.fields import Given, InputField, code_in, short_text
from kernel.codes import USER_STATUSES, USER_TYPES
from kernel.documents import (
    has_cnpj_form,
    is_cpf,
    is_email,
    normalise_document,
    normalise_email,
    normalise_phone,
)
from kernel.text import Malformed, shown

_MAX_PHONE_DIGITS = 20


def _email(value: object) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise Malformed("is required")
    if not isinstance(value, str) or not is_email(normalise_email(value)):
        raise Malformed(f"is {shown(value)}; expected an address such as ana@example.com")
    return normalise_email(value)


def _password(value: object) -> str:
    problem = problem_of(value) if isinstance(value, str) else "is no text"
    if problem is not None:
        raise Malformed(problem)
    return str(value)


def _document(is_right: Callable[[str], bool], expected: str) -> Callable[[object], str | None]:
    def read(value: object) -> str | None:
        if value is None or value == "":
            return None
        if not isinstance(value, str) or not is_right(value):
            raise Malformed(f"is {shown(value)}; expected {expected}")
        return normalise_document(value)

    return read


def _phone(value: object) -> str | None:
    """Read a telephone: the digits of a Brazilian number in its one form, else the digits as they are."""
    if value is None or value == "":
        return None
    digits = "".join(character for character in str(value) if character in "0123456789")
    if not isinstance(value, str) or not 1 <= len(digits) <= _MAX_PHONE_DIGITS:
        raise Malformed(f"is {shown(value)}; expected a telephone number")
    return normalise_phone(value) or digits


FIELDS: Mapping[str, InputField] = {
    "email": InputField("email", _email, "email_invalid", required="required"),
    "password": InputField("password", _password, "password_invalid"),
    "user_type": InputField("user_type", code_in(USER_TYPES), "user_type_invalid"),
    "status": InputField("status", code_in(USER_STATUSES), "status_invalid"),
    "firstname": InputField("firstname", short_text, "firstname_invalid"),
    "lastname": InputField("lastname", short_text, "lastname_invalid"),
    "company_name": InputField("company_name", short_text, "company_name_invalid"),
    "phone": InputField("phone", _phone, "phone_invalid"),
    "cpf": InputField("cpf", _document(is_cpf, "a CPF"), "cpf_invalid"),
    # By its form: the legacy layer stores those with wrong check digits too (decisions-legacy section 3).
    "cnpj": InputField("cnpj", _document(has_cnpj_form, "14 digits or letters"), "cnpj_invalid"),
}
"""The columns of `users` a caller fills; `name` and `vendor_id` are read apart, `password` is hashed."""

OWN_FIELDS = frozenset({"email", "password", "firstname", "lastname", "name", "phone"})
"""What users change of themselves without administering users (decisions-legacy section 4)."""

GUARDED = frozenset({"email", "password_hash", "status", "user_type"})
"""Columns behind which an administrator's account stands (decisions section 3, Privileges)."""


def with_name_split(given: Given) -> dict[str, Any]:
    """Split `name` at its first space where neither part is given by itself."""
    spread = dict(given)
    name = spread.pop("name", None)
    if isinstance(name, str) and "firstname" not in spread and "lastname" not in spread:
        spread["firstname"], _, spread["lastname"] = name.strip().partition(" ")
    return spread
