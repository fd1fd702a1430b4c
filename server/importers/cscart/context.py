"""What the conversion of records needs to know: the records that are here, and where to note what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from domain.catalog.feature_values import FeatureDefinition
from domain.imports.numbered import Reference, Row
from kernel.errors import ValidationFailed
from kernel.fields import InputField, InputValues, read_with_errors
from kernel.scope import Scope
from server.importers.cscart.report import Report
from server.importers.cscart.values import NotBrought, Record, number

T = TypeVar("T")

SOURCE = "cscart"
IMAGE_COLUMNS = ("image_url", "image_alt", "media_id")
"""The image of a record whose images are not brought: what it has here stays."""


@dataclass
class Context:
    """The state of one import; `entity` and `number` are the record being converted, `missing` what it refers to that is not here.

    `known` are the numbers of the source's records that are here, by table: another record with such a number is not the one that the
    source refers to. `names` are the names in addresses of categories and pages, with the parent of each.
    """

    scope: Scope
    report: Report
    entity: str = ""
    number: object = ""
    missing: set[Reference] = field(default_factory=set)
    is_dry_run: bool = False
    known: dict[str, set[int]] = field(default_factory=dict)
    languages: list[str] = field(default_factory=list)
    status_letters: dict[str, set[str]] = field(default_factory=dict)
    category_paths: dict[int, str] = field(default_factory=dict)
    names: dict[str, dict[int, tuple[str, int | None]]] = field(default_factory=dict)
    features: dict[int, FeatureDefinition] = field(default_factory=dict)
    combinations: dict[str, int] = field(default_factory=dict)
    next_combination: int = 1
    line_numbers: dict[str, int] = field(default_factory=dict)
    charged_orders: set[int] = field(default_factory=set)
    option_ids: dict[int, UUID] = field(default_factory=dict)
    option_variant_ids: dict[int, UUID] = field(default_factory=dict)
    owner: int | None = None

    def note(self, text: str) -> None:
        """Note what is left out of the current record."""
        self.report.note(self.entity, self.number, text)

    def without(self, absent: frozenset[Reference]) -> Context:
        """Return the state in which these records were not here; its report is a separate one."""
        tables = {table for table, _ in absent}
        gone = {table: {number for of_table, number in absent if of_table == table} for table in tables}
        return replace(
            self,
            report=Report(),
            missing=set(),
            known=self.known | {table: self.known[table] - gone[table] for table in tables},
            features=_without(self.features, gone.get("features")),
            category_paths=dict(self.category_paths),
            names={table: _without(names, gone.get(table)) for table, names in self.names.items()},
            combinations=dict(self.combinations),
            option_ids=_without(self.option_ids, gone.get("options")),
            option_variant_ids=_without(self.option_variant_ids, gone.get("option_variants")),
        )

    def leave_out(self, name: str, reference: int, table: str) -> None:
        """Note a reference to a record that is not here; the next import adds it when it is."""
        self.missing.add((table, reference))
        self.note(f"{name} {reference} is not among the {table}; left out")

    def optional(self, record: Record, name: str, table: str) -> int | None:
        """Return a reference to a record that is here; else note it and return None."""
        reference = number(record, name)
        if reference is not None and reference not in self.known[table]:
            self.leave_out(name, reference, table)
            return None
        return reference

    def required(self, record: Record, name: str, table: str) -> int:
        """Return a reference to a record that must be here."""
        reference = number(record, name)
        if reference is None or reference not in self.known[table]:
            raise NotBrought(f"{name} {reference or 0} is not among the {table}")
        return reference

    def present(self, references: list[int], name: str, table: str) -> list[int]:
        """Return the references to records that are here, and note the others."""
        missing = [reference for reference in references if reference not in self.known[table]]
        for reference in missing:
            self.leave_out(name, reference, table)
        return [reference for reference in references if reference not in missing]

    def columns(self, fields: Mapping[str, InputField], values: InputValues, *, droppable: tuple[str, ...] = ()) -> Row:
        """Validate values by the rules of the entity; invalid `droppable` ones are left out with a note.

        Raises ValidationFailed.
        """
        columns, errors = read_with_errors(fields, values, creating=True)
        for name in droppable:
            if name in errors:
                self.note(f"{errors.pop(name)[1]}; left out")
        if errors:
            raise ValidationFailed("; ".join(sentence for _, sentence in errors.values()))
        return columns

    def times(self, created_at: datetime | None, updated_at: datetime | None = None) -> Row:
        """Return the columns of both times; unknown ones are those of the import."""
        created_at = created_at or self.scope.now
        return {"created_at": created_at, "updated_at": updated_at or created_at}

    def language(self, record: Record) -> str:
        """Return the language of a record, the store's first for one that the store doesn't have.

        While the languages of the source can't be read, the record is left to the next import.
        """
        code = str(record.get("lang_code") or "").lower()
        if code and code not in self.languages and self.report.has_unread("languages"):
            raise NotBrought(f"lang_code {code} is not among the languages, which could not be read")
        return code if code in self.languages else self.languages[0]


def _without(records: dict[int, T], numbers: set[int] | None) -> dict[int, T]:
    return (
        {number: record for number, record in records.items() if number not in numbers} if numbers else records.copy()
    )
