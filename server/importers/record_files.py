"""Import the records of a file in batches, a transaction each (docs/reference/bulk.md#files-of-records).

A record that is wrong is reported with its file, line and column; the others are written.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias
from uuid import UUID

from tqdm import tqdm

from domain.imports.results import RecordResult, temporary_numbers
from domain.stores import find_store
from kernel.clock import now
from kernel.scope import Scope, active_scope
from models.connection.database import Plans, retry_conflicts, transaction
from models.numbers import take_numbers
from server.importers.file_rows import FileRow, LineError, RecordFormat, read_rows
from server.importers.olist_files import ImportFileError
from server.operations.store_admin import system_scope

BATCH = 500
_MAX_ERRORS = 100


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the caller chose: `dry_run` rolls every batch back, `events` emits those of new records too."""

    dry_run: bool = False
    events: bool = False


@dataclass
class BatchOutcome:
    """What a batch did: records created, updated and left as they are, and the errors of each one that was refused.

    `others` are records of other kinds that were created too, by the name of their kind.
    """

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    refused: list[list[LineError]] = field(default_factory=list)
    others: dict[str, set[Any]] = field(default_factory=dict)


def outcome_of(batch: Sequence[FileRow], results: Sequence[RecordResult]) -> BatchOutcome:
    """Return what a batch did, with problems at the lines and columns of the file."""
    outcome = BatchOutcome()
    for row, result in zip(batch, results, strict=True):
        if result.problems:
            outcome.refused.append([row.error(each.field, each.message, each.item) for each in result.problems])
        else:
            setattr(outcome, result.state, getattr(outcome, result.state) + 1)
    return outcome


WriteBatch: TypeAlias = Callable[[Scope, Sequence[FileRow], ImportOptions], Awaitable[BatchOutcome]]


@dataclass(frozen=True)
class FileKind:
    """A kind of records: its name, what its files have, and the function that writes a batch in the open transaction.

    `plans` says how the statements of that transaction are planned.
    """

    name: str
    record_format: RecordFormat
    write: WriteBatch
    plans: Plans = Plans.AUTOMATIC


def writing(upsert: Callable[..., Awaitable[Sequence[RecordResult]]]) -> WriteBatch:
    """Return the function that writes a batch with the numbered records that `upsert` writes."""

    async def write(scope: Scope, batch: Sequence[FileRow], options: ImportOptions) -> BatchOutcome:
        take = temporary_numbers if options.dry_run else take_numbers
        results = await upsert(scope, [row.values for row in batch], emit_events=options.events, take=take)
        return outcome_of(batch, results)

    return write


@dataclass
class FileReport:
    """What an import did; `errors` are the first ones, as `file:line: column: message`."""

    kind: str = "products"
    is_dry_run: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    others: dict[str, set[Any]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Return how many records were refused."""
        return self.counts["refused"]

    def add(self, name: str, read: int, outcome: BatchOutcome) -> None:
        """Add what a batch of the file with this name did."""
        self.counts += Counter(
            read=read,
            created=outcome.created,
            updated=outcome.updated,
            unchanged=outcome.unchanged,
            refused=len(outcome.refused),
        )
        for kind, keys in outcome.others.items():
            self.others.setdefault(kind, set()).update(keys)
        errors = sorted(itertools.chain.from_iterable(outcome.refused), key=lambda error: error.line)
        for error in errors:
            if len(self.errors) < _MAX_ERRORS:
                column = f"{error.column}: " if error.column else ""
                self.errors.append(f"{name}:{error.line}: {column}{error.message}")

    def as_json(self) -> dict[str, Any]:
        """Return the `--json` form."""
        counts = {name: self.counts[name] for name in ("read", "created", "updated", "unchanged", "refused")}
        others = {kind: len(keys) for kind, keys in self.others.items() if keys}
        return {"kind": self.kind, "dry_run": self.is_dry_run, **counts, "others": others, "errors": self.errors}

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of text."""
        yield from self.errors
        if len(self.errors) == _MAX_ERRORS:
            yield f"only the first {_MAX_ERRORS} errors are shown"
        to_be = "to be " if self.is_dry_run else ""
        counts = self.counts
        unchanged = f"{counts['unchanged']} unchanged, " if counts["unchanged"] else ""
        yield (
            f"{self.kind}: {counts['read']} read, {counts['created']} {to_be}created, {counts['updated']} {to_be}updated,"
            f" {unchanged}{counts['refused']} refused"
        )
        for kind, keys in self.others.items():
            if keys:
                yield f"{kind}: {len(keys)} {to_be}created"


class _DryRun(Exception):
    """Roll back a batch that was written to see its outcome."""

    def __init__(self, outcome: BatchOutcome) -> None:
        super().__init__()
        self.outcome = outcome


async def run(
    kind: FileKind,
    path: Path,
    format_: str,
    tenant: UUID,
    *,
    dry_run: bool = False,
    events: bool = False,
    progress: bool = True,
) -> FileReport:
    """Import the records of a file into a store; with `dry_run` every batch is written and rolled back.

    A batch is one transaction, so an interrupted import can be repeated: each kind finds what it wrote before. Raises `ImportFileError` for
    a file that can't be read on; what was imported before stays.
    """
    scope = system_scope(await find_store(tenant))
    report = FileReport(kind.name, dry_run)
    options = ImportOptions(dry_run, events)
    try:
        with path.open("rb") as file, active_scope(scope), _progress_bar(file, kind.name, shown=progress) as bar:
            async with aclosing(_batches(read_rows(file, format_, kind.record_format))) as batches:
                async for batch in batches:
                    outcome = await _import_batch(replace(scope, now=now()), kind, batch, options)
                    report.add(path.name, len(batch), outcome)
                    bar.update(os.lseek(file.fileno(), 0, os.SEEK_CUR) - bar.n)
    except OSError as error:
        raise ImportFileError(f"{path} can't be read: {error.strerror}") from error
    except ImportFileError as error:
        read = report.counts["read"]
        raise ImportFileError(f"{path.name}: {error}; {read} {kind.name} were read before") from error
    return report


async def _batches(rows: Iterator[FileRow]) -> AsyncGenerator[list[FileRow], None]:
    """Yield the records in batches; while one is written, a thread reads the next."""

    def read() -> asyncio.Future[list[FileRow]]:
        return asyncio.ensure_future(asyncio.to_thread(lambda: list(itertools.islice(rows, BATCH))))

    reading = read()
    try:
        while batch := await reading:
            reading = read()
            yield batch
    finally:
        await asyncio.gather(reading, return_exceptions=True)  # it uses the file


def _progress_bar(file: BinaryIO, name: str, *, shown: bool) -> Any:
    size = os.fstat(file.fileno()).st_size
    return tqdm(total=size, desc=name, unit="B", unit_scale=True, disable=not shown, file=sys.stderr)


async def _import_batch(scope: Scope, kind: FileKind, batch: Sequence[FileRow], options: ImportOptions) -> BatchOutcome:
    """Write the records that are right, in one transaction."""
    right = [row for row in batch if not row.errors]

    async def write() -> BatchOutcome:
        async with transaction(scope, kind.plans):
            outcome = await kind.write(scope, right, options) if right else BatchOutcome()
            if options.dry_run:
                raise _DryRun(outcome)
        return outcome

    try:
        outcome = await retry_conflicts(write)
    except _DryRun as dry_run:
        outcome = dry_run.outcome
    outcome.refused += [row.errors for row in batch if row.errors]
    return outcome
