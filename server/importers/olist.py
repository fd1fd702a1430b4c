"""Import the Olist marketplace into a store (docs/reference/shared.md#olist-import)."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from tqdm import tqdm

from auth.access import check_store_writable
from domain.imports import marketplace, orders
from domain.stores import find_store
from kernel.scope import Scope, active_scope
from models.connection.database import retry_conflicts
from server.importers.olist_marketplace import read_marketplace
from server.operations.store_admin import system_scope

SOURCE = "olist"
BATCH = 250
# The function of each record type, in their order, and whether it can emit events.
_STEPS: dict[str, tuple[Callable[..., Awaitable[int]], bool]] = {
    "vendors": (marketplace.import_vendors, False),
    "customers": (marketplace.import_customers, True),
    "categories": (marketplace.import_categories, False),
    "products": (marketplace.import_products, True),
    "orders": (orders.import_orders, True),
    "reviews": (marketplace.import_reviews, False),
}


@dataclass
class ImportReport:
    """The result of an import: per record type the number of records read and added, or the errors in the files."""

    read: dict[str, int] = field(default_factory=dict)
    added: dict[str, int] = field(default_factory=dict)
    error_lines: list[str] = field(default_factory=list)
    invalid_rows: int = 0

    @property
    def is_rejected(self) -> bool:
        """Return whether nothing was imported because of invalid rows."""
        return self.invalid_rows > 0

    def as_json(self) -> dict[str, Any]:
        """Return the `--json` form."""
        return {
            "read": self.read,
            "added": self.added,
            "invalid_rows": self.invalid_rows,
            "errors": self.error_lines,
        }

    def summary(self) -> str:
        """Return the report as text."""
        if self.is_rejected:
            more = self.invalid_rows - len(self.error_lines)
            lines = [*self.error_lines, *([f"and {more} more"] if more else [])]
            return "\n".join([*lines, f"{self.invalid_rows} invalid rows; nothing was imported"])
        return "\n".join(
            f"{record_type}: {self.added[record_type]} added, {self.read[record_type]} in the files"
            for record_type in self.read
        )


async def run(directory: Path, tenant: UUID, *, events: bool = False, progress: bool = True) -> ImportReport:
    """Import the files of a folder into a store.

    All files are validated first; one invalid row and nothing is imported. Then batches of 250 records are inserted, a transaction each;
    existing records are skipped, so an interrupted import can be repeated. `events` emits events for new records. Raises
    `TenantNotFound`, and `olist_files.ImportFileError` for an unusable file.
    """
    scope = system_scope(await find_store(tenant))
    olist, error_lines = read_marketplace(directory)
    if error_lines.count:
        return ImportReport(error_lines=error_lines.lines, invalid_rows=error_lines.count)
    check_store_writable(scope.store)
    report = ImportReport()
    with active_scope(scope):
        for record_type, (write, emits_events) in _STEPS.items():
            records = list(getattr(olist, record_type).values())
            write = partial(write, emit_events=events) if emits_events else write
            report.read[record_type] = len(records)
            report.added[record_type] = await _import_records(scope, record_type, records, write, progress)
    return report


async def _import_records(
    scope: Scope, record_type: str, records: list[Any], write: Callable[..., Awaitable[int]], progress: bool
) -> int:
    added = 0
    with tqdm(total=len(records), desc=f"{record_type:>10}", unit="", disable=not progress, file=sys.stderr) as bar:
        for start in range(0, len(records), BATCH):
            batch = records[start : start + BATCH]
            added += await retry_conflicts(partial(write, scope, SOURCE, batch))
            bar.update(len(batch))
    return added
