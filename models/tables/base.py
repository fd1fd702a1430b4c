"""Tenant isolation in the ORM: the base model of all store tables and the manager that requires a scope.

These are the first two of the three layers of tenant isolation in ARCHITECTURE.md; row-level security in PostgreSQL is the third. The
database's primary key is `(tenant_id, id)`; for Tortoise it is `id`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from tortoise import fields
from tortoise.manager import Manager
from tortoise.models import Model, ModelMeta
from tortoise.queryset import QuerySet

from kernel.clock import now
from kernel.ids import uuid7
from kernel.scope import current_scope

_MANAGED = ("public_id", "tenant_id", "deleted_at")


class NoStoreInScope(RuntimeError):
    """A programming error: a store's row was read or written without a scope."""


class WrongStore(RuntimeError):
    """A programming error: an object of one store was written in the scope of another."""


def store_id_in_scope() -> int:
    """Return the internal id of the store in scope; raise `NoStoreInScope` without one."""
    scope = current_scope()
    if scope is None:
        raise NoStoreInScope("no store in scope: enter one with kernel.scope.active_scope(scope)")
    return scope.store.id


class StoreManager(Manager):
    """Manager that limits every query to the store in scope."""

    def get_queryset(self) -> QuerySet[Any]:
        """Filter by the store in scope; raise `NoStoreInScope` without one."""
        return super().get_queryset().filter(tenant_id=store_id_in_scope())


class StoreModelMeta(ModelMeta):
    """Make the model of a store's table, `class Page(SoftDeletable, table="pages")`; one without a table is a base of others."""

    def __new__(mcs, name: str, bases: tuple[type, ...], attrs: dict[str, Any], *, table: str = "") -> StoreModelMeta:
        """Set the options of the model, of which every query is limited to the store in scope."""
        options = {"table": table} if table else {"abstract": True}
        meta = type("Meta", (), {**options, "manager": StoreManager()})
        return super().__new__(mcs, name, bases, {**attrs, "Meta": meta})  # type: ignore[return-value]


class StoreModel(Model, metaclass=StoreModelMeta):
    """Base of all store tables. `id` is the internal (legacy) id, `public_id` the UUIDv7 of the current interfaces."""

    id = fields.BigIntField(primary_key=True)
    public_id: UUID = fields.UUIDField(default=uuid7)
    tenant_id: int = fields.BigIntField()

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("tenant_id", store_id_in_scope())
        super().__init__(**kwargs)

    @classmethod
    def column_defaults(cls) -> dict[str, Any]:
        """Return the columns that statements write, with their defaults: not the ids, generated columns and `deleted_at`."""
        meta = cls._meta
        return {
            f"{name}_id" if name in meta.fk_fields else name: None if callable(field.default) else field.default
            for name, field in meta.fields_map.items()
            if (field.has_db_field or name in meta.fk_fields) and not field.generated and name not in _MANAGED
        }

    @classmethod
    def new_row(cls, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a new row with their values as parameters of a statement; the table's defaults complete them."""
        defaults = {name: value for name, value in cls.column_defaults().items() if value is not None}
        return cls.column_values(defaults | dict(columns))

    @classmethod
    def column_values(cls, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return columns with their values as parameters of a statement (JSON as text)."""
        fields_map = cls._meta.fields_map
        return {name: fields_map[name].to_db_value(value, cls) for name, value in columns.items()}

    async def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the row; raise `WrongStore` when it belongs to another store."""
        self._check_store()
        await super().save(*args, **kwargs)

    async def delete(self, *args: Any, **kwargs: Any) -> None:
        """Delete the row; raise `WrongStore` when it belongs to another store."""
        self._check_store()
        await super().delete(*args, **kwargs)

    def _check_store(self) -> None:
        # Under row-level security another store's row is invisible: the statement would succeed and affect no row.
        if self.tenant_id != store_id_in_scope():
            raise WrongStore(f"{type(self).__name__} {self.id} belongs to another store")


class Timestamped(StoreModel):
    """Base with the times of creation and last update (UTC)."""

    created_at: datetime = fields.DatetimeField(default=now)
    updated_at: datetime = fields.DatetimeField(default=now)


class SoftDeletable(Timestamped):
    """Base with soft deletion: a deleted record is absent everywhere except in the orders that refer to it."""

    deleted_at: datetime | None = fields.DatetimeField(null=True)
