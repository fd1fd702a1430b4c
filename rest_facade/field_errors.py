"""Name what is wrong with a body in the contract's words: `{error: 'validation_failed', fields: {<field>: <code>}}`.

Two sources say what is wrong: the shop, which has codes of its own, and the coercion of GraphQL, which knows no code at all
(`invalid`). A table for each kind of record turns the second into the codes of decisions section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from kernel.errors import MalformedRequest, ValidationFailed

# The code of a field whose value is of no use. A field of a part is written with the part: `images.url`.
Codes: TypeAlias = Mapping[str, str]

NO_CODE = "invalid"
REQUIRED = "required"


def translated(refusal: ValidationFailed, codes: Codes) -> ValidationFailed:
    """Give the refusal in the contract's words; one that names no field stays as it is."""
    if isinstance(refusal, MalformedRequest) or not refusal.fields:
        return refusal
    fields = {
        name: codes.get(name, code) if code == NO_CODE else code for name, code in refusal.fields.items()
    }
    return ValidationFailed(refusal.message, fields=fields, details=refusal.details)
