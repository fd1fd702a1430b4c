"""The base models of the tables of stores. Models declare tables and columns; rows are written by `models.rows`.

The database's primary key is `(tenant_id, id)`; for Tortoise it is `id`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from tortoise import fields
from tortoise.models import Model, ModelMeta

from kernel.clock import now
from kernel.ids import uuid7

_MANAGED = ("public_id", "tenant_id", "deleted_at")


class StoreModelMeta(ModelMeta):
    """Make the model of a store's table, `class Page(SoftDeletable, table="pages")`; one without a table is a base of others."""

    def __new__(mcs, name: str, bases: tuple[type, ...], attrs: dict[str, Any], *, table: str = "") -> StoreModelMeta:
        """Set the options of the model."""
        meta = type("Meta", (), {"table": table} if table else {"abstract": True})
        return super().__new__(mcs, name, bases, {**attrs, "Meta": meta})  # type: ignore[return-value]


class StoreModel(Model, metaclass=StoreModelMeta):
    """Base of all store tables. `id` is the internal (legacy) id, `public_id` the UUIDv7 of the current interfaces."""

    id = fields.BigIntField(primary_key=True)
    public_id: UUID = fields.UUIDField(default=uuid7)
    tenant_id: int = fields.BigIntField()

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
        fields_map = cls._meta.fields_map  # without the columns of references
        return {
            name: fields_map[name].to_db_value(value, cls) if name in fields_map else value
            for name, value in columns.items()
        }


class Timestamped(StoreModel):
    """Base with the times of creation and last update (UTC)."""

    created_at: datetime = fields.DatetimeField(default=now)
    updated_at: datetime = fields.DatetimeField(default=now)


class SoftDeletable(Timestamped):
    """Base with soft deletion: a deleted record is absent everywhere except in the orders that refer to it."""

    deleted_at: datetime | None = fields.DatetimeField(null=True)
