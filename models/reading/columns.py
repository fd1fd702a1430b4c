"""The columns of tables according to the models; `tests/models/test_schema.py` compares them with the tables."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from tortoise.models import Model

from models import MODEL_MODULES


@lru_cache(maxsize=1)
def _nullable() -> dict[str, dict[str, bool]]:
    tables: dict[str, dict[str, bool]] = {}
    for module in MODEL_MODULES:
        for value in vars(import_module(module)).values():
            if isinstance(value, type) and issubclass(value, Model) and value._meta.db_table:
                columns = {
                    column.source_field or name: column.null
                    for name, column in value._meta.fields_map.items()
                    if column.has_db_field
                }
                for name in value._meta.fk_fields:
                    columns[f"{name}_id"] = value._meta.fields_map[name].null
                tables[value._meta.db_table] = columns
    return tables


def is_nullable(table: str, column: str) -> bool:
    """Return whether a column is nullable; columns without a model field are."""
    return _nullable().get(table, {}).get(column, True)


def has_column(table: str, column: str) -> bool:
    """Return whether the model of a table has a column."""
    return column in _nullable().get(table, {})
