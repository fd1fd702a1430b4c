"""Import the Olist marketplace into a store, through the operations of the internal schema."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from tqdm import tqdm

from auth.tenancy import store_from
from kernel.clock import now
from kernel.errors import TenantNotFound
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, entered
from models import database
from resolvers.execute import FacadeOperation, execute, load
from server.importers.olist_marketplace import Marketplace, read_marketplace

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
    """Say what an import did: of each kind how many the files hold and how many were new; or what is wrong with the files."""

    read: dict[str, int] = field(default_factory=dict)
    added: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    wrong_rows: int = 0

    @property
    def is_refused(self) -> bool:
        """Say whether nothing was written because rows are wrong."""
        return self.wrong_rows > 0

    def summary(self) -> str:
        """Give the report as text."""
        if self.is_refused:
            more = self.wrong_rows - len(self.problems)
            lines = [*self.problems, *([f"and {more} more"] if more else [])]
            return "\n".join([*lines, f"{self.wrong_rows} rows are wrong; nothing was written"])
        return "\n".join(
            f"{kind}: {self.added[kind]} added, {self.read[kind]} in the files" for kind in self.read
        )


async def run(directory: Path, tenant: UUID, *, events: bool = False, progress: bool = True) -> ImportReport:
    """Import the files of a folder into a store.

    All files are read and checked first; one wrong row and nothing is written. Then batches of 250 records are written, each in a
    transaction; what was imported before is left as it is, so an import that was cut off is finished by running it again. `events`
    records events for what is new. Raises `TenantNotFound`, and `olist_files.Missing` for a file that can't be read.
    """
    scope = await _scope(tenant)
    marketplace, problems = read_marketplace(directory)
    if problems.count:
        return ImportReport(problems=problems.lines, wrong_rows=problems.count)
    operations = load(Path(__file__).parent / "operations")
    report = ImportReport()
    with entered(scope):
        for kind, name, tells in _STEPS:
            records = list(getattr(marketplace, kind).values())
            report.read[kind] = len(records)
            report.added[kind] = await _play(
                scope, operations[name], kind, records, {"events": events} if tells else {}, progress
            )
    return report


async def _play(
    scope: Scope,
    operation: FacadeOperation,
    kind: str,
    records: list[Any],
    also: dict[str, Any],
    progress: bool,
) -> int:
    added = 0
    with tqdm(total=len(records), desc=f"{kind:>10}", unit="", disable=not progress, file=sys.stderr) as bar:
        for batch in _batches(records):
            data = await execute(scope, operation, {"source": SOURCE, "rows": batch, **also})
            added += data["imported"]
            bar.update(len(batch))
    return added


def _batches(records: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(records), BATCH):
        yield records[start : start + BATCH]


async def _scope(tenant: UUID) -> Scope:
    async with database.across_stores() as everywhere:
        found = await everywhere.row("SELECT * FROM tenants WHERE public_id = $1", tenant)
    if found is None:
        raise TenantNotFound
    return Scope(store=store_from(found), actor=SYSTEM, request_id=str(uuid7()), now=now())


__all__ = ["ImportReport", "Marketplace", "run"]
