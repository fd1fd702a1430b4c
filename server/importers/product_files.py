"""Import the products of a file: prices, stock, categories by their path, images (docs/reference/bulk.md#product-files).

Rows are written 500 at a time by `bulk_upsert_products`, which matches them by `id`, else by `sku`. A row that is wrong is reported
with its file, line and column; the others are written.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from tqdm import tqdm

from domain.catalog.categories import CATEGORY_RECORDS
from domain.catalog.products import MAX_ROWS, BulkErrorPolicy, RowError, bulk_upsert_products
from domain.stores import find_store
from kernel.clock import now
from kernel.fields import MAX_NAME
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, active_scope
from kernel.text import InvalidValue, repr_value
from models.database import fetch, retry_conflicts, transaction
from server.importers.olist_files import ImportFileError
from server.importers.product_rows import FileRow, read_rows

_MAX_ERRORS = 100
_PATH_SEPARATOR = ">"
_CATEGORIES = "SELECT id, parent_id, name FROM categories WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY id"


@dataclass
class FileReport:
    """What an import did; `errors` are the first ones, as `file:line: column: message`."""

    is_dry_run: bool = False
    read: int = 0
    created: int = 0
    updated: int = 0
    failed: int = 0
    new_categories: set[tuple[str, ...]] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)

    def fail(self, name: str, line: int, errors: Sequence[tuple[str, str]]) -> None:
        """Record a row that was not imported."""
        self.failed += 1
        for column, message in errors:
            if len(self.errors) < _MAX_ERRORS:
                self.errors.append(f"{name}:{line}: {column}: {message}" if column else f"{name}:{line}: {message}")

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of text."""
        yield from self.errors
        if len(self.errors) == _MAX_ERRORS:
            yield f"only the first {_MAX_ERRORS} errors are shown"
        to_be = "to be " if self.is_dry_run else ""
        yield (
            f"products: {self.read} read, {self.created} {to_be}created, {self.updated} {to_be}updated, {self.failed} refused"
        )
        if self.new_categories:
            yield f"categories: {len(self.new_categories)} {to_be}created"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a batch did: rows created and updated, and those refused with their errors."""

    created: int
    updated: int
    refused: list[tuple[int, list[tuple[str, str]]]]
    new_categories: set[tuple[str, ...]]


class _DryRun(Exception):
    """Roll back a batch that was written to see its outcome."""

    def __init__(self, outcome: _Outcome) -> None:
        super().__init__()
        self.outcome = outcome


async def run(path: Path, format_: str, tenant: UUID, *, dry_run: bool = False, progress: bool = True) -> FileReport:
    """Import the products of a file into a store; with `dry_run` every batch is written and rolled back.

    A batch is one transaction, so an interrupted import can be repeated: products with a SKU are found by it. Raises `ImportFileError` for
    a file that can't be read on; what was imported before stays.
    """
    scope = Scope(await find_store(tenant), SYSTEM, str(uuid7()), now())
    report = FileReport(is_dry_run=dry_run)
    try:
        with path.open("rb") as file, active_scope(scope), _progress_bar(file, shown=progress) as bar:
            rows = read_rows(file, format_)
            while batch := list(itertools.islice(rows, MAX_ROWS)):
                await _import_batch(replace(scope, now=now()), path.name, batch, report)
                bar.update(os.lseek(file.fileno(), 0, os.SEEK_CUR) - bar.n)
    except OSError as error:
        raise ImportFileError(f"{path} can't be read: {error.strerror}") from error
    except ImportFileError as error:
        raise ImportFileError(f"{path.name}: {error}; {report.read} products were read before") from error
    return report


def _progress_bar(file: BinaryIO, *, shown: bool) -> Any:
    size = os.fstat(file.fileno()).st_size
    return tqdm(total=size, desc="products", unit="B", unit_scale=True, disable=not shown, file=sys.stderr)


async def _import_batch(scope: Scope, name: str, batch: Sequence[FileRow], report: FileReport) -> None:
    try:
        outcome = await retry_conflicts(lambda: _write(scope, batch, is_dry_run=report.is_dry_run))
    except _DryRun as dry_run:
        outcome = dry_run.outcome
    report.read += len(batch)
    report.created += outcome.created
    report.updated += outcome.updated
    report.new_categories |= outcome.new_categories
    for line, errors in outcome.refused:
        report.fail(name, line, errors)


async def _write(scope: Scope, batch: Sequence[FileRow], *, is_dry_run: bool) -> _Outcome:
    """Write the rows that are right, in one transaction; raise `_DryRun` with the outcome in place of committing it."""
    refused = {row.line: list(row.errors) for row in batch if row.errors}
    async with transaction(scope):
        categories = await _Categories.load(scope)
        rows, values = [], []
        for row in batch:
            if row.line in refused:
                continue
            try:
                values.append(await _resolved(scope, row, categories))
                rows.append(row)
            except InvalidValue as error:
                refused[row.line] = [("categories", str(error))]
        results = await bulk_upsert_products(scope, values, BulkErrorPolicy.REJECT_FAILED)
        for row, result in zip(rows, results, strict=True):
            if result.error is not None:
                refused[row.line] = _by_column(row, result.error)
        created = sum(result.created for result in results)
        written = sum(result.error is None for result in results)
        outcome = _Outcome(created, written - created, sorted(refused.items()), categories.new)
        if is_dry_run:
            raise _DryRun(outcome)
    return outcome


def _by_column(row: FileRow, error: RowError) -> list[tuple[str, str]]:
    """Return the message under the names that the file has for the fields: `price` for `price_cents`."""
    names = [row.columns.get(name.partition(".")[0], name.partition(".")[0]) for name in error.fields]
    return [(", ".join(dict.fromkeys(names)), error.message)]


async def _resolved(scope: Scope, row: FileRow, categories: _Categories) -> dict[str, Any]:
    if row.values.get("categories") is None:
        return row.values
    return {**row.values, "categories": [await categories.find(scope, path) for path in row.values["categories"]]}


class _Categories:
    """The categories of the store by parent and name, without case; those missing in a path are created."""

    def __init__(self, ids: dict[tuple[int | None, str], int]) -> None:
        self._ids = ids
        self.new: set[tuple[str, ...]] = set()

    @classmethod
    async def load(cls, scope: Scope) -> _Categories:
        """Load the store's categories; of several with one name below one parent the oldest counts."""
        ids: dict[tuple[int | None, str], int] = {}
        for row in await fetch(_CATEGORIES, scope.store.id):
            ids.setdefault((row["parent_id"], row["name"].strip().lower()), row["id"])
        return cls(ids)

    async def find(self, scope: Scope, path: str) -> int:
        """Return the id of the category with a path; raise `InvalidValue` for a name that no category can have."""
        names = [name.strip() for name in path.split(_PATH_SEPARATOR)]
        if not all(0 < len(name) <= MAX_NAME for name in names):
            raise InvalidValue(
                f"has {repr_value(path)}; expected names of 1 to {MAX_NAME} characters with > between them"
            )
        parent: int | None = None
        for depth, name in enumerate(names, 1):
            key = (parent, name.lower())
            if key not in self._ids:
                self._ids[key] = await CATEGORY_RECORDS.create(scope, {"name": name, "parent": parent})
                self.new.add(tuple(each.lower() for each in names[:depth]))
            parent = self._ids[key]
        assert parent is not None
        return parent
