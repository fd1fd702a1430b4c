"""Tie every row to a store: the model all tenant tables share and the manager that refuses to work without a scope.

These are the first two of the three locks of ARCHITECTURE.md; row-level security in PostgreSQL is the third. The database's
primary key is `(tenant_id, id)`; Tortoise knows the single `id`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from tortoise import fields
from tortoise.manager import Manager
from tortoise.models import Model
from tortoise.queryset import QuerySet

from kernel.clock import now
from kernel.ids import uuid7
from kernel.scope import current_scope


class NoStoreInScope(RuntimeError):
    """Report a programming error: a store's row was touched outside any scope."""


class WrongStore(RuntimeError):
    """Report a programming error: an object of one store was written in the scope of another."""


def store_in_scope() -> int:
    """Give the internal id of the store in scope, or raise `NoStoreInScope`."""
    scope = current_scope()
    if scope is None:
        raise NoStoreInScope("no store in scope: enter one with kernel.scope.entered(scope)")
    return scope.store.id


class StoreManager(Manager):
    """Start every query at the rows of the store in scope."""

    def get_queryset(self) -> QuerySet[Any]:
        """Filter by the store; refuse without one."""
        return super().get_queryset().filter(tenant_id=store_in_scope())


class StoreModel(Model):
    """Share identity and ownership among all tables of a store.

    `id` is the internal number (the legacy number), `public_id` the UUIDv7 that current interfaces show.
    """

    id = fields.BigIntField(primary_key=True)
    public_id: UUID = fields.UUIDField(default=uuid7)
    tenant_id: int = fields.BigIntField()

    class Meta:
        abstract = True
        manager = StoreManager()

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("tenant_id", store_in_scope())
        super().__init__(**kwargs)

    async def save(self, *args: Any, **kwargs: Any) -> None:
        """Write the row after checking that it belongs to the store in scope."""
        self._check_store()
        await super().save(*args, **kwargs)

    async def delete(self, *args: Any, **kwargs: Any) -> None:
        """Delete the row after checking that it belongs to the store in scope."""
        self._check_store()
        await super().delete(*args, **kwargs)

    def _check_store(self) -> None:
        # Under row-level security a foreign row is invisible, so the statement would succeed and touch nothing.
        if self.tenant_id != store_in_scope():
            raise WrongStore(f"{type(self).__name__} {self.id} belongs to another store")


class Timestamped(StoreModel):
    """Add the moments of creation and of the last change (UTC)."""

    created_at: datetime = fields.DatetimeField(default=now)
    updated_at: datetime = fields.DatetimeField(default=now)

    class Meta:
        abstract = True
        manager = StoreManager()


class Erasable(Timestamped):
    """Add hiding: a deleted record is absent everywhere, while what orders show of it stays."""

    deleted_at: datetime | None = fields.DatetimeField(null=True)

    class Meta:
        abstract = True
        manager = StoreManager()
