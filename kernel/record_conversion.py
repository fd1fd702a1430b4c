"""The conversion of a record's values to another form, which compiled reads apply while they build the record."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, Any]
RecordHook: TypeAlias = Callable[[Record], None]
Convert: TypeAlias = Callable[[Any], Any]

_VALUE = re.compile(r"\bv\b")


class Inline:
    """A conversion as a Python expression of the value `v`, which compiled reads contain in place of a call."""

    __slots__ = ("_expression", "_function")

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._function: Convert = eval(f"lambda v: {expression}")  # noqa: S307  # a literal of the code

    def __call__(self, value: Any) -> Any:
        """Convert a value."""
        return self._function(value)

    def of(self, variable: str) -> str:
        """Return the expression of another variable."""
        return f"({_VALUE.sub(variable, self._expression)})"


class RecordConversion:
    """Functions that convert values by name, and `constants`, which are added.

    `prepare` runs before them on the whole record, `complete` after, both in place. Names that a record doesn't have are skipped.
    """

    __slots__ = ("complete", "constants", "fields", "prepare")

    def __init__(
        self,
        fields: Mapping[str, Convert],
        *,
        constants: Mapping[str, str] = MappingProxyType({}),
        prepare: RecordHook | None = None,
        complete: RecordHook | None = None,
    ) -> None:
        self.fields = fields
        self.constants = constants
        self.prepare = prepare
        self.complete = complete

    def __call__(self, record: Record) -> Record:
        """Convert a record in place and return it."""
        if self.prepare is not None:
            self.prepare(record)
        record |= self.constants
        for name, convert in self.fields.items():
            if name in record:
                record[name] = convert(record[name])
        if self.complete is not None:
            self.complete(record)
        return record


Conversions: TypeAlias = Mapping[tuple[str, ...], RecordConversion]
"""The conversions of the records, or lists of records, at paths of an operation's data."""


def convert_records(data: Record, conversions: Conversions) -> None:
    """Convert the records at the paths in place."""
    for path, convert in conversions.items():
        value: Any = data
        for key in path:
            value = value[key] if value is not None else None
        if isinstance(value, list):
            for record in value:
                convert(record)
        elif value is not None:
            convert(value)
