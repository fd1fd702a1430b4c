"""Name what is wrong with a body in the contract's words: `{error: 'validation_failed', fields: {<field>: <code>}}`.

Two sources say what is wrong: the shop, which has codes of its own, and the coercion of GraphQL, which knows no code at all
(`invalid`). A table for each kind of record turns both into the codes of decisions section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel.errors import MalformedRequest, ValidationFailed

NO_CODE = "invalid"
REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Codes:
    """Hold the words of one kind of record.

    `wrong` has the code of a field whose value is of no use, `missing` that of one that is null or blank where something is needed,
    `names` the body's word for a field that the shop calls otherwise.
    """

    wrong: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def translate(self, refusal: ValidationFailed, body: Mapping[str, Any]) -> ValidationFailed:
        """Give the refusal in the contract's words; one that names no field stays as it is."""
        if isinstance(refusal, MalformedRequest) or not refusal.fields:
            return refusal
        fields: dict[str, str] = {}
        for told, code in refusal.fields.items():
            name = self.names.get(told, told)
            fields[name] = self._code(name, code, body)
        return ValidationFailed(refusal.message, fields=fields, details=refusal.details)

    def _code(self, name: str, code: str, body: Mapping[str, Any]) -> str:
        if name in self.missing and _is_blank(body.get(name)):
            return self.missing[name]
        return self.wrong.get(name, code) if code == NO_CODE else code


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
