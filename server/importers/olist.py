"""Import the Olist marketplace into a store through the operations of the internal schema."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from tqdm import tqdm

from domain.stores import find_store
from kernel.scope import Scope, active_scope
from resolvers.execute import FacadeOperation, execute, load_operations
from server.importers.olist_marketplace import Marketplace, read_marketplace
from server.store_admin import system_scope

SOURCE = "olist"
BATCH = 250
_STEPS = (
    ("vendors", "ImportVendors", False),
    ("customers", "ImportCustomers", True),
    ("categories", "ImportCategories", False),
    ("products", "ImportProducts", True),
    ("orders", "ImportOrders", True),
    ("reviews", "ImportReviews", False),
)


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
    marketplace, error_lines = read_marketplace(directory)
    if error_lines.count:
        return ImportReport(error_lines=error_lines.lines, invalid_rows=error_lines.count)
    operations = load_operations(Path(__file__).parent / "operations")
    report = ImportReport()
    with active_scope(scope):
        for record_type, name, emits_events in _STEPS:
            records = list(getattr(marketplace, record_type).values())
            report.read[record_type] = len(records)
            report.added[record_type] = await _import_records(
                scope, operations[name], record_type, records, {"events": events} if emits_events else {}, progress
            )
    return report


async def _import_records(
    scope: Scope,
    operation: FacadeOperation,
    record_type: str,
    records: list[Any],
    options: dict[str, Any],
    progress: bool,
) -> int:
    added = 0
    with tqdm(total=len(records), desc=f"{record_type:>10}", unit="", disable=not progress, file=sys.stderr) as bar:
        for start in range(0, len(records), BATCH):
            batch = records[start : start + BATCH]
            data = await execute(scope, operation, {"source": SOURCE, "rows": batch, **options})
            added += data["imported"]
            bar.update(len(batch))
    return added


__all__ = ["ImportReport", "Marketplace", "run"]
