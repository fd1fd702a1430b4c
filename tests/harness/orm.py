"""Tortoise as an ORM for the arrangement of tests: its statements run in the open transaction, else on the product's pool.

The product takes tables and columns from its models, and writes rows by `models.rows`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from tortoise.backends.asyncpg.client import AsyncpgDBClient
from tortoise.backends.asyncpg.executor import AsyncpgExecutor
from tortoise.context import TortoiseContext
from tortoise.models import Model

from kernel.scope import current_scope
from models import MODEL_MODULES
from models.connection import database
from models.connection.database_errors import raise_translated
from models.connection.transactions import current_store_id, is_write, open_transaction, record_statement
from models.migrate import APP_LABEL
from models.tables.base import StoreModel

T = TypeVar("T")

_context: TortoiseContext | None = None


class Executor(AsyncpgExecutor):
    """Insert rows with ids that the test chose: Tortoise would pass values for the generated columns as well."""

    def _prepare_insert_columns(self, include_generated: bool = False) -> tuple[list[str], list[str]]:
        names, columns = super()._prepare_insert_columns()
        meta = self.model._meta
        if include_generated and meta.pk_attr not in names:
            names, columns = [meta.pk_attr, *names], [meta.db_pk_column, *columns]
        return names, columns


class Client(AsyncpgDBClient):
    """Run Tortoise's statements in the open transaction, else on connections bound to the store in scope."""

    executor_class = Executor

    @asynccontextmanager
    async def acquire_connection(self) -> Any:  # type: ignore[override]
        transaction = open_transaction()
        if transaction is not None:
            connection = await transaction.acquire()
            try:
                yield connection
            finally:
                transaction.release()
            return
        pool = database._connected().pool
        connection = await pool.acquire_for_store(current_store_id())
        try:
            yield connection
        finally:
            await pool.release_connection(connection)

    async def execute_insert(self, query: str, values: list[Any]) -> Any:
        inserted = await super().execute_insert(query, values)
        _record_write(query)
        return inserted

    async def execute_query(self, query: str, values: list[Any] | None = None) -> Any:
        result = await super().execute_query(query, values)
        _record_write(query)
        return result

    async def execute_many(self, query: str, values: list[Any]) -> None:
        for row in values:
            await self.execute_query(query, row)

    async def _translate_exceptions(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        return await _translate_driver_errors(lambda: func(self, *args, **kwargs))


def _record_write(query: str) -> None:
    if open_transaction() is None and is_write(query):
        record_statement(current_store_id())


async def _translate_driver_errors(run: Callable[[], Awaitable[T]]) -> T:
    try:
        return await run()
    except Exception as error:
        raise_translated(error)


client_class = Client


def _store_in_scope() -> int:
    scope = current_scope()
    assert scope is not None, "no store in scope: enter one with kernel.scope.active_scope(scope)"
    return scope.store.id


def all_models() -> list[type[Model]]:
    """Return the models of all tables."""
    assert _context is not None
    assert _context.apps is not None
    return list(_context.apps[APP_LABEL].values())


async def use_models() -> None:
    """Let this process read and write rows by models, on whatever database `models.connection.database` is connected to."""
    global _context
    if _context is not None:
        return
    _context = TortoiseContext()
    with _context:
        await _context.init(
            config={
                "connections": {"default": {"engine": "tests.harness.orm", "credentials": {}}},
                "apps": {APP_LABEL: {"models": MODEL_MODULES}},
            },
            _enable_global_fallback=True,
        )
    for model in all_models():
        if issubclass(model, StoreModel):
            model._meta.fields_map["tenant_id"].default = _store_in_scope
