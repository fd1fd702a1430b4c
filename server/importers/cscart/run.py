"""Import a shop: read each entity, convert its records, and write them in batches; whatever was written stays written.

A record that was imported before is left alone, or with `since` written again when it has changed at the source since, so that an import
can be interrupted at any moment and repeated at will. What a record refers to and was not here is added to it by the first import that
finds it here.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeAlias
from uuid import UUID

import asyncpg
import orjson

from auth.credential_cache import invalidate_credentials
from domain.catalog.categories import complete_paths
from domain.catalog.feature_values import load_definitions
from domain.imports.numbered import (
    ImportedBefore,
    ImportedRecord,
    NumberTaken,
    Reference,
    Rows,
    load_numbers,
    load_references,
    write_records,
)
from domain.imports.repairs import Repair, repair_records
from domain.orders.statuses import save_codes
from domain.people.accounts import UserRef
from domain.stores import find_store
from kernel.errors import DomainError
from kernel.scope import active_scope
from models.connection.database import (
    ConstraintViolation,
    fetch,
    fetchrow,
    fetchval,
    retry_conflicts,
    transaction,
    violated_constraint,
)
from server.importers.cscart.addresses import load_names
from server.importers.cscart.comparison import Comparison
from server.importers.cscart.context import SOURCE, Context
from server.importers.cscart.dry_run import EMAIL_USED, DryRun
from server.importers.cscart.entities import ENTITIES, ShopEntity
from server.importers.cscart.people import is_root
from server.importers.cscart.pictures import copy_pictures
from server.importers.cscart.progress import Progress
from server.importers.cscart.reading import Reader, together
from server.importers.cscart.report import EntityCount, OpenReferences, Report, Sums
from server.importers.cscart.source import NotOffered, Source, SourceError, SourceUnavailable
from server.importers.cscart.values import NotBrought, ObservedRecord, Record, cents, flag, moment, own_number, text
from server.operations.store_admin import set_owner, system_scope

Imported: TypeAlias = Mapping[str, ImportedBefore]
"""The records of an entity that were imported before, by their ids at the source."""

_CHANGED_AT = ("updated_timestamp", "updated_at", "timestamp")
_REASONS = {
    "users_email_key": EMAIL_USED,
    "option_exceptions_once_key": "another exception of the product has these options",
    "combinations_hash_key": "another combination of the product has these options",
    "variation_groups_code_key": "another variation group has the code",
    "variation_group_products_product_key": "one of its products is in another variation group",
    "shipment_lines_order_line_fkey": "a line that the source no longer has was shipped here",
}

# The second last: two records of the batch have parts of one number; the last: a text is too long for an index.
_REFUSALS = (
    NumberTaken,
    ConstraintViolation,
    asyncpg.DataError,
    asyncpg.CardinalityViolationError,
    asyncpg.ProgramLimitExceededError,
)

_CUSTOMERS = "SELECT count(*) FROM users WHERE tenant_id = $1 AND user_type = 'C' AND deleted_at IS NULL"
_ORDERS = """
SELECT count(*) AS orders, coalesce(sum(total_cents), 0)::bigint AS total_cents FROM orders WHERE tenant_id = $1 AND deleted_at IS NULL
"""
_LANGUAGES = "SELECT code FROM languages WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY status, id"
_STATUS_CODES = "SELECT type, letter FROM statuses WHERE tenant_id = $1 AND deleted_at IS NULL"
_PATHS = "SELECT id, id_path FROM categories WHERE tenant_id = $1"
_FUTURE_OWNER = """
SELECT u.id, u.public_id FROM users u JOIN tenants t ON t.id = u.tenant_id
WHERE u.tenant_id = $1 AND u.id = $2 AND u.user_type = 'A' AND t.owner_id IS NULL
"""
_OPEN = """
SELECT r.kind, m.reference ->> 0 AS target, count(DISTINCT m.reference ->> 1) AS targets, count(DISTINCT r.local_id) AS records,
    (array_agg(DISTINCT r.local_id))[1:6] AS first
FROM external_references r CROSS JOIN jsonb_array_elements(r.missing) AS m (reference)
WHERE r.tenant_id = $1 AND r.source = $2 GROUP BY 1, 2 ORDER BY 1, 2
"""
_BEGINNING = datetime.fromtimestamp(0, UTC)


async def run(
    source: Source,
    tenant: UUID,
    *,
    since: datetime | None = None,
    dry_run: bool = False,
    copies_images: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Import the shop into a store. `dry_run` reads and converts everything and writes nothing.

    With `copies_images`, which needs a renderer, an outgoing client and a storage, the pictures become files of the store; else they
    stay links to the source.

    When the source can't be read any more, `stopped` of the report says why; what was written stays, and the next run continues. Raises
    TenantNotFound.
    """
    scope = system_scope(await find_store(tenant))
    report = Report(is_dry_run=dry_run)
    progress = progress or Progress()
    with active_scope(scope):
        context = Context(scope, report, is_dry_run=dry_run)
        await _Import(context, Reader(source, report), since, progress).run()
        if copies_images and not dry_run and not report.stopped:
            await copy_pictures(scope, report, progress)
    return report


@dataclass
class _Import:
    context: Context
    reader: Reader
    since: datetime | None
    progress: Progress
    comparison: Comparison = field(default_factory=Comparison)
    imported: Imported = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Create what only a dry run uses."""
        self.dry_run = DryRun(self.context.scope)

    async def run(self) -> None:
        self.reader.expect = self.progress.expect
        await self._load_store()
        try:
            for entity in ENTITIES:
                await self._import_with_progress(entity)
                if not self.context.is_dry_run:
                    await self._end_entity(entity)
            self._check_offers()
        except SourceUnavailable as error:
            self.context.report.stopped = str(error)
        await self._sum_up()

    def _check_offers(self) -> None:
        """Raise SourceUnavailable for a source that has none of the lists, so that nothing was brought: it is no shop."""
        missing = self.context.report.missing
        if all(entity.name in missing for entity in ENTITIES if not entity.by_product):
            raise SourceUnavailable(f"the source has none of the lists of a shop: products: {missing['products']}")

    # --- One entity ---

    async def _import_with_progress(self, entity: ShopEntity) -> None:
        self.progress.begin(entity.name)
        try:
            await self._import(entity)
        finally:
            self.progress.end()

    async def _import(self, entity: ShopEntity) -> None:
        context = self.context
        context.entity = entity.name
        count = context.report.counts[entity.name] = EntityCount()
        if entity.load is not None:
            await entity.load(context)
        imported = await load_references(context.scope, SOURCE, entity.kind.name)
        self.imported = imported
        batches = self._batches(entity, imported, count)
        following = asyncio.ensure_future(anext(batches, None))
        try:
            # The next batch is read while one is written.
            while (batch := await following) is not None:
                following = asyncio.ensure_future(anext(batches, None))
                await self._store(entity, batch, imported, count)
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await following

    async def _batches(
        self, entity: ShopEntity, imported: Imported, count: EntityCount
    ) -> AsyncIterator[list[tuple[bytes, Record]]]:
        """Yield the records to write, page by page, with the digests of their rows."""
        async for page in self.reader.pages(entity):
            count.read += len(page)
            self._add_to_sums(entity, page)
            wanted = [row for row in page if self._is_read(entity, row, imported)]
            completed = await together([self._complete(entity, row) for row in wanted])
            self._compare_whole(entity, page, completed)
            marked = [
                (digest(record if entity.compares_whole else row), record)
                for row, record in zip(wanted, completed, strict=True)
                if record is not None
            ]
            batch = [(mark, record) for mark, record in marked if self._is_wanted(entity, mark, record, imported)]
            present = len(page) - len(wanted) + len(marked) - len(batch)
            count.present += present
            self.progress.advance(present)
            yield batch

    def _is_read(self, entity: ShopEntity, row: Record, imported: Imported) -> bool:
        """Return whether the whole record of a row is needed, to know whether it is wanted or to write it."""
        return (entity.compares_whole and self.since is not None) or self._is_wanted(entity, digest(row), row, imported)

    def _is_wanted(self, entity: ShopEntity, mark: bytes, row: Record, imported: Imported) -> bool:
        before = imported.get(entity.external_id(row))
        if before is None:
            return True
        if before.number not in self.context.known[entity.kind.own.name]:
            return False  # it was deleted here
        return self._is_changed(mark, row, before) or bool(self._arrived(before))

    def _is_changed(self, mark: bytes, row: Record, before: ImportedBefore) -> bool:
        """Return whether a record is to be written again, with `since`; since 1970 each is, also one that shows no time."""
        if self.since is None:
            return False
        if self.since <= _BEGINNING:
            return True
        with suppress(NotBrought):
            changed_at = moment(row, *_CHANGED_AT)
            if changed_at is not None and changed_at >= self.since:
                return True
        return before.digest != mark

    def _arrived(self, before: ImportedBefore) -> frozenset[Reference]:
        """Return what a record refers to and is here only since it was imported."""
        return frozenset(
            (table, number) for table, number in before.missing if number in self.context.known.get(table, ())
        )

    async def _complete(self, entity: ShopEntity, row: Record) -> Record | None:
        try:
            return await self.reader.complete(entity, row)
        except NotOffered:
            self.context.report.note(entity.name, entity.external_id(row), "deleted while it was read")
        except SourceError as error:
            self.context.report.fail(entity.name, entity.external_id(row), str(error))
        return None

    async def _store(
        self, entity: ShopEntity, batch: Sequence[tuple[bytes, Record]], imported: Imported, count: EntityCount
    ) -> None:
        """Write the new and the changed records of a batch, and repair those that only lacked references."""
        written: list[tuple[bytes, Record]] = []
        lacking: list[tuple[bytes, Record]] = []
        for mark, row in batch:
            before = imported.get(entity.external_id(row))
            is_written = before is None or self._is_changed(mark, row, before)
            (written if is_written else lacking).append((mark, row))
        records = await self._convert_all(entity, written)
        if self.context.is_dry_run:
            refused = await self.dry_run.find_refused(entity, records, imported)
            records = [record for record in records if not self._is_refused(entity, record, refused)]
        else:
            records = await self._write(entity, records)
        changed = sum(record.external_id in imported for record in records)
        count.changed += changed
        count.added += len(records) - changed
        count.completed += await self._repair(entity, lacking, imported)
        self.progress.advance(len(batch))

    async def _repair(self, entity: ShopEntity, batch: Sequence[tuple[bytes, Record]], imported: Imported) -> int:
        """Add to records what they refer to and has arrived; return how many there are."""
        records = await self._convert_all(entity, batch)
        if not records or self.context.is_dry_run:
            return len(records)
        rows = {entity.external_id(row): row for _, row in batch}
        earlier: dict[frozenset[Reference], Context] = {}
        repairs = []
        for record in records:
            before = imported[record.external_id]
            arrived = self._arrived(before)
            context = earlier.get(arrived) or earlier.setdefault(arrived, self.context.without(arrived))
            try:
                without = await _rows(entity, context, rows[record.external_id])
            except (NotBrought, DomainError) as error:
                reason = f"it has changed so that it needs what has arrived ({error}); --since brings it"
                self.context.report.fail(entity.name, record.external_id, reason)
                continue
            # What else has changed at the source is left to an import with `since`.
            repairs.append(Repair(replace(record, digest=before.digest), without))
        if repairs:
            await retry_conflicts(lambda: repair_records(self.context.scope, SOURCE, entity.kind, repairs))
        return len(repairs)

    async def _convert_all(self, entity: ShopEntity, batch: Sequence[tuple[bytes, Record]]) -> list[ImportedRecord]:
        converted = [await self._convert(entity, mark, record) for mark, record in batch]
        return [record for record in converted if record is not None]

    async def _convert(self, entity: ShopEntity, mark: bytes, record: Record) -> ImportedRecord | None:
        """Convert a record, or report why it can't be brought; those after it may refer to it."""
        context, external_id = self.context, entity.external_id(record)
        context.number = external_id
        context.missing = set()
        try:
            observed = ObservedRecord(record)
            rows = await _rows(entity, context, observed)
        except (NotBrought, DomainError) as error:
            context.report.fail(entity.name, external_id, str(error))
            return None
        for table, of_table in rows.items():
            if table in context.known:
                context.known[table].update(row["id"] for row in of_table if row.get("id"))
        context.report.note_unread(entity.name, sorted(set(observed.unread()) - entity.derived))
        number = rows[entity.kind.own.name][0]["id"]
        return ImportedRecord(number, external_id, mark, rows, frozenset(context.missing))

    async def _write(self, entity: ShopEntity, records: Sequence[ImportedRecord]) -> list[ImportedRecord]:
        """Write records in one transaction; when it fails, in halves, until those at fault are alone."""
        if not records:
            return []
        try:
            if entity.prepare is not None:
                await entity.prepare(self.context, records)
            await retry_conflicts(lambda: write_records(self.context.scope, SOURCE, entity.kind, records))
            return list(records)
        except _REFUSALS as error:
            if len(records) == 1:
                self._reject(entity, records[0], error)
                if entity.name == "features" and records[0].external_id in self.imported:
                    # Values of products are read by what is here.
                    self.context.features |= await load_definitions(self.context.scope, [records[0].number])
                return []
        middle = len(records) // 2
        return [*await self._write(entity, records[:middle]), *await self._write(entity, records[middle:])]

    def _is_refused(self, entity: ShopEntity, record: ImportedRecord, reasons: Mapping[str, str]) -> bool:
        reason = reasons.get(record.external_id)
        if reason is not None:
            self._report_refused(entity, record, reason)
        return reason is not None

    def _reject(self, entity: ShopEntity, record: ImportedRecord, error: Exception) -> None:
        constraint = violated_constraint(error) if isinstance(error, ConstraintViolation) else None
        reason = _REASONS.get(constraint or "", f"the database refuses it ({constraint})" if constraint else str(error))
        self._report_refused(entity, record, reason)

    def _report_refused(self, entity: ShopEntity, record: ImportedRecord, reason: str) -> None:
        """Report a record that is not written; others can't refer to it, unless it was imported before."""
        self.context.report.fail(entity.name, record.external_id, reason)
        if record.external_id not in self.imported:
            self.context.known[entity.kind.own.name].discard(record.number)
            if entity.name == "features":
                self.context.features.pop(record.number, None)

    # --- Before and after ---

    async def _load_store(self) -> None:
        """Load what conversions need of the store, besides the numbers of its records."""
        context, store_id = self.context, self.context.scope.store.id
        tables = {model._meta.db_table for each in ENTITIES for model in (each.kind.own.model, *each.refers_to)}
        for kind in [entity.kind for entity in ENTITIES]:
            for table in kind.tables:
                if table.name in tables:
                    context.known[table.name] = await load_numbers(context.scope, SOURCE, kind, table)
        context.languages = [row["code"] for row in await fetch(_LANGUAGES, store_id)]
        for row in await fetch(_STATUS_CODES, store_id):
            context.status_letters.setdefault(row["type"], set()).add(row["letter"])
        context.category_paths = {row["id"]: row["id_path"] for row in await fetch(_PATHS, store_id)}
        await load_names(context)
        context.features = await load_definitions(context.scope, sorted(context.known["features"]))

    async def _end_entity(self, entity: ShopEntity) -> None:
        """Apply what follows from the records of an entity as a whole."""
        context = self.context
        if entity.name == "languages":
            context.languages = [row["code"] for row in await fetch(_LANGUAGES, context.scope.store.id)]
        elif entity.name == "statuses":
            async with transaction(context.scope):
                await save_codes(context.scope)
        elif entity.name == "categories":
            async with transaction(context.scope):
                await complete_paths(context.scope)
        elif entity.name == "users":
            async with transaction(context.scope):
                await invalidate_credentials(context.scope)
                if context.owner is not None:
                    await self._set_owner(context.owner)

    async def _set_owner(self, user_id: int) -> None:
        """Make the source's root administrator the owner of a store that has none."""
        scope = self.context.scope
        row = await fetchrow(_FUTURE_OWNER, scope.store.id, user_id)
        if row is not None:
            await set_owner(scope, UserRef(row["id"], row["public_id"]))

    def _add_to_sums(self, entity: ShopEntity, page: Sequence[Record]) -> None:
        """Count what both sides must agree on, and recognize the root administrator."""
        sums = self.context.report.source
        for row in page:
            with suppress(NotBrought):
                if entity.name == "orders" and flag(row, "is_parent_order"):
                    continue  # the orders that it joins are brought
                self.comparison.add(entity.name, entity.kind.own.name, own_number(row, entity.key), row)
                if entity.name == "orders":
                    sums.orders += 1
                    sums.total_cents += cents(row, "total")
                elif entity.name == "users":
                    sums.customers += text(row, "user_type", "C") == "C"
                    if self.context.owner is None and is_root(row):
                        self.context.owner = own_number(row, "user_id")

    def _compare_whole(self, entity: ShopEntity, page: Iterable[Record], completed: Iterable[Record | None]) -> None:
        """Add the references of whole records: those that were completed, and rows of the list that are whole."""
        whole = {entity.external_id(row): row for row in page if entity.complete_field in row}
        whole |= {entity.external_id(record): record for record in completed if record is not None}
        for record in whole.values():
            with suppress(NotBrought):
                self.comparison.add_whole(entity.name, entity.kind.own.name, own_number(record, entity.key), record)

    async def _sum_up(self) -> None:
        store_id = self.context.scope.store.id
        customers = await fetchval(_CUSTOMERS, store_id)
        orders = await fetchrow(_ORDERS, store_id)
        assert orders is not None  # an aggregate has one row
        report = self.context.report
        report.target = Sums(orders["orders"], orders["total_cents"], customers)
        names = {entity.kind.name: entity.name for entity in ENTITIES}
        for row in await fetch(_OPEN, store_id, SOURCE):
            report.open.append(
                OpenReferences(
                    names.get(row["kind"], row["kind"]), row["target"], row["targets"], row["records"], row["first"]
                )
            )
        if not (report.is_dry_run or report.stopped):
            tables = {entity.name: (entity.kind.name, entity.kind.own.name) for entity in ENTITIES}
            report.references = await self.comparison.lines(self.context.scope, tables)


async def _rows(entity: ShopEntity, context: Context, record: Record) -> Rows:
    """Convert a record; raises NotBrought and DomainError."""
    result = entity.convert(context, record)
    return await result if inspect.isawaitable(result) else result


def digest(row: Record) -> bytes:
    """Return 16 bytes that change with the row, whatever the order of its members."""
    return hashlib.sha256(orjson.dumps(row, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)).digest()[:16]
