"""Tell which columns may be null, as the models say and `tests/models/test_catalogue.py` compares with the tables."""

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
                    described.source_field or name: described.null
                    for name, described in value._meta.fields_map.items()
                    if described.has_db_field
                }
                for name in value._meta.fk_fields:
                    columns[f"{name}_id"] = value._meta.fields_map[name].null
                tables[value._meta.db_table] = columns
    return tables


def is_nullable(table: str, column: str) -> bool:
    """Say whether a column may be null; one that no model knows may."""
    return _nullable().get(table, {}).get(column, True)
