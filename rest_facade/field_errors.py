"""Map field errors to the error codes of REST: `{error: 'validation_failed', fields: {<field>: <code>}}`.

Domain errors have their own codes; GraphQL coercion only reports `invalid`, which a table per record type turns into a specific
code (docs/reference/current.md#errors).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from kernel.errors import MalformedRequest, ValidationFailed

# Error code by field; nested fields are dotted: `images.url`.
FieldCodes: TypeAlias = Mapping[str, str]

UNSPECIFIED = "invalid"
REQUIRED = "required"


def with_field_codes(error: ValidationFailed, codes: FieldCodes) -> ValidationFailed:
    """Return the error with specific field codes; one without fields is returned unchanged."""
    if isinstance(error, MalformedRequest) or not error.fields:
        return error
    fields = {name: codes.get(name, code) if code == UNSPECIFIED else code for name, code in error.fields.items()}
    return ValidationFailed(error.message, fields=fields, details=error.details)
