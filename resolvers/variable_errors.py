"""Convert graphql-core's variable coercion errors to one `ValidationFailed` for the REST facades.

graphql-core's messages contain GraphQL type names, which are meaningless to REST clients; they are replaced by plain messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernel.errors import ValidationFailed
from kernel.text import with_json_words

# The variable, the path within it, and the reason.
_COERCION = re.compile(r"Variable '\$(\w+)' has invalid value(?: at \.([\w.\[\]]+))?: (.*)", re.DOTALL)
_INDEX = re.compile(r"\[\d+\]")
_REQUIRED = re.compile(r"Expected value of type '[^']+' to include required field '(\w+)', found: .*", re.DOTALL)
_MESSAGES = tuple(
    (re.compile(pattern, re.DOTALL), message)
    for pattern, message in (
        (r"Expected value of non-null type '[^']+' not to be None\.", "expected a value, got null"),
        (r"Expected a value of non-null type '[^']+' to be provided\.", "expected a value, got none"),
        (r"Expected value of type '[^']+' to be an object, found: (.*)\.", r"expected an object, got \1"),
        (r"Int cannot represent non 32-bit signed integer value: (.*)", r"expected an integer of 32 bits, got \1"),
        (r"Int cannot represent non-integer value: (.*)", r"expected an integer, got \1"),
        (r"Float cannot represent non numeric value: (.*)", r"expected a number, got \1"),
        (r"Boolean cannot represent a non boolean value: (.*)", r"expected true or false, got \1"),
        (r"String cannot represent a non string value: (.*)", r"expected a text, got \1"),
        (r"ID cannot represent value: (.*)", r"expected an id, got \1"),
    )
)


def to_validation_error(messages: Iterable[str]) -> ValidationFailed:
    """Convert coercion error messages to one error; fields are named by their path in the variable."""
    fields: dict[str, str] = {}
    reasons: list[str] = []
    first = ""
    for message in messages:
        first = first or message
        match = _COERCION.fullmatch(message)
        if match is None:
            continue
        variable, path, reason = match.groups()
        name = _INDEX.sub("", path or variable)
        required = _REQUIRED.fullmatch(reason)
        if required is not None:
            name = f"{name}.{required[1]}" if path is not None else required[1]
            fields.setdefault(name, "required")
            reasons.append(f"{name} is required")
            continue
        fields.setdefault(name, "invalid")
        reason = _plain_message(reason)
        # The message of a code scalar already names the field.
        last = name.rpartition(".")[2]
        reasons.append(reason if path is None or reason.startswith(f"{last} is") else f"{name}: {reason}")
    return ValidationFailed("; ".join(reasons) or first, fields=fields)


def _plain_message(reason: str) -> str:
    for pattern, message in _MESSAGES:
        match = pattern.fullmatch(reason)
        if match is not None:
            return with_json_words(match.expand(message))
    return reason
