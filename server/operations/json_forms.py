"""Check that JSON that a person may have edited has the members that a program reads."""

from __future__ import annotations

from typing import Any

Form = Any
"""What a value has to be: `str`, `int`, `dict`, a function that reads a text, a list of the form of all values, a dict of those of members.

The form of the member `str` is that of every member; a name that ends with "?" is that of a member that may be missing.
"""


def check_form(value: Any, form: Form, name: str) -> None:
    """Raise ValueError, with the name of what is missing or different, for a value that doesn't have the form."""
    if isinstance(form, dict):
        _check_members(value, form, name)
    elif isinstance(form, list):
        _check_type(value, list, name)
        for number, each in enumerate(value):
            check_form(each, form[0], f"{name}[{number}]")
    elif form in (str, int, dict):
        _check_type(value, form, name)
    else:
        _check_type(value, str, name)
        try:
            form(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error


def _check_members(value: Any, form: dict[Any, Form], name: str) -> None:
    _check_type(value, dict, name)
    for member, each in value.items() if str in form else ():
        _check_type(member, str, name)
        check_form(each, form[str], f"{name}.{member}")
    for member, each in form.items():
        if member is str:
            continue
        key = member.removesuffix("?")
        if key in value:
            check_form(value[key], each, f"{name}.{key}")
        elif key == member:
            raise ValueError(f"{name}.{key} is missing")


def _check_type(value: Any, expected: type, name: str) -> None:
    if type(value) is not expected:
        raise ValueError(f"{name} is of the type {type(value).__name__}; expected {expected.__name__}")
    if isinstance(value, str):
        value.encode()  # raises for what no statement of PostgreSQL can have, as is NUL
        if "\0" in value:
            raise ValueError(f"{name} has the character NUL")
