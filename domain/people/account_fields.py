"""Input fields of a user's account and their validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from auth.passwords import find_password_problem
from kernel.codes import USER_STATUSES, USER_TYPES
from kernel.documents import (
    MAX_PHONE_DIGITS,
    MIN_PHONE_DIGITS,
    has_cnpj_form,
    is_cpf,
    normalize_document,
    normalize_phone,
    only_digits,
)
from kernel.fields import (
    MAX_IDENTIFIER,
    FieldReader,
    InputField,
    InputValues,
    code_in,
    integer,
    is_email,
    normalize_email,
    short_text,
)
from kernel.text import InvalidValue, repr_value


def _email(value: object) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise InvalidValue("is required")
    if not isinstance(value, str) or not is_email(normalize_email(value)):
        raise InvalidValue(f"is {repr_value(value)}; expected an address such as ana@example.com")
    return normalize_email(value)


def _password(value: object) -> str:
    problem = find_password_problem(value) if isinstance(value, str) else "is no text"
    if problem is not None:
        raise InvalidValue(problem)
    return str(value)


def _document(is_right: Callable[[str], bool], expected: str) -> Callable[[object], str | None]:
    def read(value: object) -> str | None:
        if value is None or value == "":
            return None
        if not isinstance(value, str) or not is_right(value):
            raise InvalidValue(f"is {repr_value(value)}; expected {expected}")
        return normalize_document(value)

    return read


def _phone(least_digits: int) -> FieldReader:
    """Return the reader of a phone number: a Brazilian number in its normalized form, else its digits."""

    def read(value: object) -> str | None:
        if value is None or value == "":
            return None
        text = value if isinstance(value, str) and len(value) <= MAX_IDENTIFIER else ""
        digits = only_digits(text)
        if not least_digits <= len(digits) <= MAX_PHONE_DIGITS:
            raise InvalidValue(f"is {repr_value(value)}; expected a telephone number")
        return normalize_phone(text) or digits

    return read


ACCOUNT_FIELDS: Mapping[str, InputField] = {
    "email": InputField("email", _email, "email_invalid", required="required"),
    "password": InputField("password", _password, "password_invalid"),
    "user_type": InputField("user_type", code_in(USER_TYPES), "user_type_invalid"),
    "status": InputField("status", code_in(USER_STATUSES), "status_invalid"),
    "firstname": InputField("firstname", short_text, "firstname_invalid"),
    "lastname": InputField("lastname", short_text, "lastname_invalid"),
    "company_name": InputField("company_name", short_text, "company_name_invalid"),
    "phone": InputField("phone", _phone(MIN_PHONE_DIGITS), "phone_invalid"),
    "cpf": InputField("cpf", _document(is_cpf, "a CPF"), "cpf_invalid"),
    # By format only: the legacy API also stores numbers with invalid check digits.
    "cnpj": InputField("cnpj", _document(has_cnpj_form, "14 digits or letters"), "cnpj_invalid"),
    "points": InputField("points", integer(), "points_invalid"),
}
"""The columns of `users` set by input; `name` and `vendor_id` are handled separately, `password` is hashed, `points` go to the ledger."""

STORED_FIELDS: Mapping[str, InputField] = {
    **ACCOUNT_FIELDS,
    "phone": InputField("phone", _phone(1), "phone_invalid"),
}
"""The fields of accounts that exist, here or in another system: what they have may be sent back."""

OWN_FIELDS = frozenset({"email", "password", "firstname", "lastname", "name", "phone", "image"})
"""The fields that users without `manage_users` may change of their own account."""

GUARDED = frozenset({"email", "password_hash", "status", "user_type"})
"""The columns that protect an administrator's account (docs/reference/shared.md#privileges)."""


def split_name(values: InputValues) -> dict[str, Any]:
    """Split `name` at its first space, unless first or last name are in the input."""
    columns = dict(values)
    name = columns.pop("name", None)
    if isinstance(name, str) and "firstname" not in columns and "lastname" not in columns:
        columns["firstname"], _, columns["lastname"] = name.strip().partition(" ")
    return columns
