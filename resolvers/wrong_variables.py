"""Tell a facade what is wrong with the variables of its operation: one refusal that names every wrong field.

graphql-core writes a sentence for each, with names of types that the callers of a facade have never heard of; here it becomes plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernel.errors import ValidationFailed

# Which variable, where in it, and why.
_COERCION = re.compile(r"Variable '\$(\w+)' has invalid value(?: at \.([\w.\[\]]+))?: (.*)", re.DOTALL)
_INDEX = re.compile(r"\[\d+\]")
_REQUIRED = re.compile(
    r"Expected value of type '[^']+' to include required field '(\w+)', found: .*", re.DOTALL
)
_PLAINLY = tuple(
    (re.compile(sentence, re.DOTALL), plain)
    for sentence, plain in (
        (r"Expected value of non-null type '[^']+' not to be None\.", "expected a value, got null"),
        (r"Expected a value of non-null type '[^']+' to be provided\.", "expected a value, got none"),
        (r"Expected value of type '[^']+' to be an object, found: (.*)\.", r"expected an object, got \1"),
        (
            r"Int cannot represent non 32-bit signed integer value: (.*)",
            r"expected an integer of 32 bits, got \1",
        ),
        (r"Int cannot represent non-integer value: (.*)", r"expected an integer, got \1"),
        (r"Float cannot represent non numeric value: (.*)", r"expected a number, got \1"),
        (r"Boolean cannot represent a non boolean value: (.*)", r"expected true or false, got \1"),
        (r"String cannot represent a non string value: (.*)", r"expected a text, got \1"),
        (r"ID cannot represent value: (.*)", r"expected an id, got \1"),
    )
)


def error_of(messages: Iterable[str]) -> ValidationFailed:
    """Turn the sentences of coercion errors into one refusal; fields are named by their place in the variable."""
    fields: dict[str, str] = {}
    reasons: list[str] = []
    first = ""
    for message in messages:
        first = first or message
        found = _COERCION.fullmatch(message)
        if found is None:
            continue
        variable, place, reason = found.groups()
        name = _INDEX.sub("", place or variable)
        required = _REQUIRED.fullmatch(reason)
        if required is not None:
            name = f"{name}.{required[1]}" if place is not None else required[1]
            fields.setdefault(name, "required")
            reasons.append(f"{name} is required")
            continue
        fields.setdefault(name, "invalid")
        reason = _plain(reason)
        # A letter's reason names the field itself.
        last = name.rpartition(".")[2]
        reasons.append(reason if place is None or reason.startswith(f"{last} is") else f"{name}: {reason}")
    return ValidationFailed("; ".join(reasons) or first, fields=fields)


def _plain(reason: str) -> str:
    for sentence, plain in _PLAINLY:
        found = sentence.fullmatch(reason)
        if found is not None:
            return found.expand(plain)
    return reason
