"""What an import did: records by entity, what could not be brought, and the sums of both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kernel.money import format_cents

_MAX_NUMBERS = 5
_MAX_TEXT = 1_000


@dataclass(slots=True)
class EntityCount:
    """The records of one entity: read from the source, added, changed, completed (what they refer to has arrived), and present before."""

    read: int = 0
    added: int = 0
    changed: int = 0
    completed: int = 0
    present: int = 0


@dataclass(slots=True)
class Sums:
    """What both sides must agree on; money in cents."""

    orders: int = 0
    total_cents: int = 0
    customers: int = 0


@dataclass(frozen=True, slots=True)
class OpenReferences:
    """What records of an entity refer to and is not here: how many rows of which table, in how many records, and the first of those."""

    entity: str
    target: str
    targets: int
    records: int
    first: Sequence[int]


@dataclass
class Report:
    """The result of an import. `failures` are (entity, number, reason); `notes` collect numbers by entity and text.

    `missing` are entities that the source doesn't have; `stopped` is why the import ended before its end. `open` are all references that
    were left out so far; `references` compares those of both sides, a line each. `unread` counts by entity the records with members that
    were not read.
    """

    is_dry_run: bool = False
    stopped: str = ""
    counts: dict[str, EntityCount] = field(default_factory=dict)
    failures: list[tuple[str, str, str]] = field(default_factory=list)
    notes: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    unread: dict[str, Counter[str]] = field(default_factory=dict)
    open: list[OpenReferences] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    source: Sums = field(default_factory=Sums)
    target: Sums = field(default_factory=Sums)

    def as_json(self) -> dict[str, Any]:
        """Return the `--json` form."""
        return {
            "dry_run": self.is_dry_run,
            "stopped": self.stopped or None,
            "counts": {entity: asdict(count) for entity, count in self.counts.items()},
            "failures": [dict(zip(("entity", "number", "reason"), failure, strict=True)) for failure in self.failures],
            "notes": [
                {"entity": entity, "text": text, "numbers": numbers} for (entity, text), numbers in self.notes.items()
            ],
            "missing": self.missing,
            "unread": self.unread,
            "open_references": [asdict(reference) for reference in self.open],
            "references": self.references,
            "source": asdict(self.source),
            "target": asdict(self.target),
        }

    def has_unread(self, entity: str) -> bool:
        """Return whether the list of an entity could not be read to its end."""
        return any(failed == entity and not number for failed, number, _ in self.failures)

    def fail(self, entity: str, number: object, reason: str) -> None:
        """Record that a record, or with the number "" a list, could not be brought."""
        self.failures.append((entity, _line(str(number)), _line(reason)))

    def note(self, entity: str, number: object, text: str) -> None:
        """Record what was left out of a record that was brought."""
        self.notes.setdefault((entity, _line(text)), []).append(str(number))

    def note_unread(self, entity: str, names: Iterable[str]) -> None:
        """Count the members of a record that nothing here reads."""
        self.unread.setdefault(entity, Counter()).update(names)

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of text."""
        verb = "to add" if self.is_dry_run else "added"
        for entity, count in self.counts.items():
            completed = f", {count.completed} completed" if count.completed else ""
            yield f"{entity}: {count.read} read, {count.added} {verb}, {count.changed} changed{completed}, {count.present} present"
        for entity, reason in self.missing.items():
            yield f"{entity}: not offered by the source ({reason})"
        yield from self._sums()
        yield from self.references
        for (entity, text), numbers in self.notes.items():
            shown = ", ".join(numbers[:_MAX_NUMBERS]) + (" …" if len(numbers) > _MAX_NUMBERS else "")
            yield f"note: {entity} {shown}: {text} ({len(numbers)})"
        for entity, names in self.unread.items():
            if names:
                yield f"not read: {entity}: {', '.join(f'{name} ({names[name]})' for name in sorted(names))}"
        for each in self.open:
            numbers = [str(number) for number in each.first]
            shown = ", ".join(numbers[:_MAX_NUMBERS]) + (" …" if each.records > _MAX_NUMBERS else "")
            yield f"open: {each.entity} {shown}: {each.targets} of the {each.target} that they refer to are not here ({each.records})"
        for entity, number, reason in self.failures:
            yield f"not brought: {entity} {number}: {reason}" if number else f"not brought: {entity}: {reason}"

    def _sums(self) -> Iterator[str]:
        if self.is_dry_run or self.stopped:
            return  # one side is incomplete
        for name, there, here in (
            ("orders", str(self.source.orders), str(self.target.orders)),
            ("order totals", format_cents(self.source.total_cents), format_cents(self.target.total_cents)),
            ("customers", str(self.source.customers), str(self.target.customers)),
        ):
            yield f"{name}: {there} there, {here} here: {'equal' if there == here else 'different'}"


def _line(text: str) -> str:
    """Return a text of the source as part of a line: it may be long, and contain control sequences for the terminal."""
    words = " ".join(text[:_MAX_TEXT].split())
    return "".join(character if character.isprintable() else "�" for character in words)
