"""Create, update and delete records: a description of each entity (`RecordType`) and one sequence of steps for all of them.

After validating the fields, in one transaction; steps in brackets are declared by the entity, and a new record is checked earlier:

    create, update:  [lock], find, [lock_row], [check], resolve references, [prepare], write, [after_save], audit, [emit]
    delete:          [lock], find, [before_delete], audit, mark or delete the row

An update that changes neither the row nor its parts ends before the audit (docs/reference/shared.md#writes-that-change-nothing).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kernel.errors import NotFound
from kernel.fields import FieldErrors, InputField, InputValues, raise_field_errors, read_with_errors
from kernel.ids import uuid7
from kernel.scope import Scope
from models import audit
from models.connection.database import UniqueViolation, execute, fetchrow, transaction, violated_constraint
from models.numbers import RESERVED_TABLES, take_number
from models.references import BY_TABLE, NOT_FOUND, ReferenceType, find, find_ids, missing_message
from models.rows import delete_rows, insert_row, mark_deleted, replace_rows, update_row
from models.tables.base import StoreModel, Timestamped


@dataclass(slots=True)
class Change:
    """A create or update in progress, as the hooks see it.

    `columns` are the columns to write, to which `prepare` may add; `current` are those of the locked row, or the defaults of a new record.
    `record_id` is 0 until a new record is inserted. `parts` holds what `prepare` leaves to `after_save`, which sets `has_changed` where it
    changes a part, as `replace_part` does.
    """

    scope: Scope
    values: InputValues
    columns: dict[str, Any]
    current: Mapping[str, Any]
    record_id: int = 0
    is_new: bool = False
    has_changed: bool = False
    parts: dict[str, Any] = field(default_factory=dict)

    @property
    def merged(self) -> dict[str, Any]:
        """Return the columns as they will be."""
        return {**self.current, **self.columns}

    async def replace_part(self, table: str, owner: str, rows: Iterable[Mapping[str, Any]], *, key: str = "") -> None:
        """Replace the record's rows of another table, whose column `owner` refers to it; `key` as for `replace_rows`."""
        owned = [{owner: self.record_id, **row} for row in rows]
        self.has_changed |= bool(await replace_rows(self.scope, table, owner, [self.record_id], owned, key=key))


async def _nothing(*_: object) -> None:
    """Do nothing: the default of optional steps."""


@dataclass(frozen=True)
class RecordType:
    """An entity: its table, its input fields and its irregular steps.

    `references` maps input names to the types they refer to (the column is the name with `_id`); those in `required` can't be omitted.
    `alternatives` maps required fields to those with which they may be omitted.
    `unique` maps constraint names to the error that a violation raises.

    `audit_name` is the prefix of audit actions and, without `audit_subject`, the subject's type; an update lists the written columns, or
    with `audit_input` the input fields; a deletion names the public id, or with `audit_deleted_number` the internal one.

    `lock` is a statement on the store's id (`$1`) that serializes changes, such as those of a tree; `lock_row` one on the store's and the
    record's id (`$1`, `$2`) that locks the row and selects `Change.current`, which is `defaults` for a new record. `find` replaces
    `models.references.find`, for records that not every caller may change.
    """

    model: type[StoreModel]
    fields: Mapping[str, InputField]
    references: Mapping[str, ReferenceType] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    alternatives: Mapping[str, str] = field(default_factory=dict)
    unique: Mapping[str, Callable[[Change], Exception]] = field(default_factory=dict)
    audit_name: str = ""
    audit_subject: str = ""
    audit_input: bool = False
    audit_deleted_number: bool = False
    hard_delete: bool = False

    lock: str = ""
    lock_row: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    find: Callable[[Scope, object], Awaitable[int]] | None = None
    check: Callable[[Change], None] = lambda _: None
    prepare: Callable[[Change], Awaitable[None]] = _nothing
    after_save: Callable[[Change], Awaitable[None]] = _nothing
    emit: Callable[[Change], Awaitable[None]] = _nothing
    before_delete: Callable[[Scope, int], Awaitable[None]] = _nothing

    def __post_init__(self) -> None:
        """Raise `ValueError` for a table without a type of reference."""
        if self.table not in BY_TABLE:
            raise ValueError(f"{self.table}: add its type to models/references.py, which names its records in errors")

    @property
    def table(self) -> str:
        """Return the table of the records."""
        return self.model._meta.db_table

    @property
    def reference_type(self) -> ReferenceType:
        """Return the type that refers to the records."""
        return BY_TABLE[self.table]

    async def create(self, scope: Scope, values: InputValues) -> int:
        """Create a record and return its internal id; raises ValidationFailed naming every invalid field."""
        columns, errors = read_with_errors(self.fields, values, creating=True)
        for name, alternative in self.alternatives.items():
            if values.get(name) is None and values.get(alternative) is not None:
                errors.pop(name, None)
        errors |= {name: ("required", f"{name} is required") for name in self.required if values.get(name) is None}
        await self._reject(scope, values, errors)
        change = Change(scope, values, columns, self.defaults, is_new=True)
        self.check(change)
        async with transaction(scope):
            await self._lock(scope)
            await self._prepare(change)
            public_id, number = uuid7(), await self._number(scope)
            row = self.model.new_row({**columns, **number, **self._times(scope, "created_at", "updated_at")})
            insert = partial(insert_row, scope, self.table, public_id=public_id, **row)
            change.record_id = await self._write(insert, change)
            await self.after_save(change)
            await self._audit(scope, "created", public_id)
            await self.emit(change)
        return change.record_id

    async def update(self, scope: Scope, record: object, values: InputValues) -> int:
        """Update a record partially and return its internal id; raises NotFound or ValidationFailed."""
        columns, errors = read_with_errors(self.fields, values)
        await self._reject(scope, values, errors)
        async with transaction(scope):
            record_id = await self._lock_and_find(scope, record)
            current = await fetchrow(self.lock_row, scope.store.id, record_id) if self.lock_row else {}
            if current is None:
                raise NotFound(self.reference_type.name)  # deleted concurrently
            change = Change(scope, values, columns, current, record_id)
            self.check(change)
            await self._prepare(change)
            times = self._times(scope, "updated_at")
            written = self.model.column_values(change.columns)
            update = partial(update_row, scope, self.table, record_id, **written, **times)
            change.has_changed = await self._write(update, change)
            is_written = change.has_changed
            await self.after_save(change)
            if change.has_changed:
                if not is_written:
                    await update_row(scope, self.table, record_id, touch=True, **times)
                details = {"fields": sorted(map(str, values if self.audit_input else columns))}
                await self._audit(scope, "updated", record_id, details)
                await self.emit(change)
        return record_id

    async def delete(self, scope: Scope, record: object) -> None:
        """Delete a record; references to a soft-deleted one remain. Raises NotFound."""
        async with transaction(scope):
            record_id = await self._lock_and_find(scope, record)
            await self.before_delete(scope, record_id)
            await self._audit(scope, "deleted", str(record_id) if self.audit_deleted_number else record_id)
            if self.hard_delete:
                is_deleted = await delete_rows(scope, self.table, id=record_id) > 0
            else:
                is_deleted = await mark_deleted(scope, self.table, record_id)
            if not is_deleted:
                raise NotFound(self.reference_type.name)  # deleted concurrently

    async def _lock(self, scope: Scope) -> None:
        if self.lock:
            await execute(self.lock, scope.store.id)

    async def _lock_and_find(self, scope: Scope, record: object) -> int:
        await self._lock(scope)
        return await (self.find(scope, record) if self.find else find(scope, self.reference_type, record))

    async def _reject(self, scope: Scope, values: InputValues, errors: FieldErrors) -> None:
        """Raise ValidationFailed if there are errors; references are looked up to name the wrong ones together with them."""
        if errors:
            _, missing = await self._resolve(scope, values)
            raise_field_errors(errors | {name: error for name, error in missing.items() if name not in errors})

    async def _prepare(self, change: Change) -> None:
        columns, errors = await self._resolve(change.scope, change.values)
        raise_field_errors(errors)
        change.columns |= columns
        await self.prepare(change)

    async def _resolve(self, scope: Scope, values: InputValues) -> tuple[dict[str, int | None], FieldErrors]:
        """Return the columns of the references, and the errors of those without a record."""
        columns: dict[str, int | None] = {}
        errors: FieldErrors = {}
        for name, type_ in self.references.items():
            if name not in values:
                continue
            reference = values[name]
            if reference is None and name not in self.required:
                columns[f"{name}_id"] = None
            elif ids := await find_ids(scope, type_, [reference]):
                columns[f"{name}_id"] = ids[reference]
            else:
                errors[name] = (NOT_FOUND, missing_message(type_, [reference]))
        return columns, errors

    async def _write(self, write: Callable[[], Any], change: Change) -> Any:
        try:
            return await write()
        except UniqueViolation as error:
            if conflict := self.unique.get(violated_constraint(error) or ""):
                raise conflict(change) from error
            raise

    async def _number(self, scope: Scope) -> dict[str, int]:
        return {"id": await take_number(scope, self.table)} if self.table in RESERVED_TABLES else {}

    def _times(self, scope: Scope, *names: str) -> dict[str, Any]:
        return dict.fromkeys(names, scope.now) if issubclass(self.model, Timestamped) else {}

    async def _audit(self, scope: Scope, verb: str, subject: Any, details: Any = None) -> None:
        name = self.audit_name or self.reference_type.name.replace(" ", "_")
        await audit.record(scope, f"{name}.{verb}", self.audit_subject or name, subject, details)
