"""Compare which versions of a store's rows exist: an UPDATE makes a new one also when it sets equal values."""

from __future__ import annotations

from collections.abc import Collection

from kernel.scope import Store
from tests.harness.scopes import rows

_TABLES = """
select c.relname::text as name, a.attname = 'id' as is_store
from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and has_table_privilege(c.oid, 'select')
    and a.attname = case c.relname when 'tenants' then 'id' else 'tenant_id' end
order by 1
"""


async def row_versions(store: Store, *, without: Collection[str] = ()) -> dict[str, set[tuple[str, str]]]:
    """Return the place and the transaction of each row of the store, by table."""
    tables = {table["name"]: table["is_store"] for table in await rows(store, _TABLES) if table["name"] not in without}
    statement = " union all ".join(
        f"select '{name}' as name, ctid::text as place, xmin::text as transaction from {name}"
        f" where {'id' if is_store else 'tenant_id'} = $1"
        for name, is_store in tables.items()
    )
    versions: dict[str, set[tuple[str, str]]] = {name: set() for name in tables}
    for row in await rows(store, statement, store.id):
        versions[row["name"]].add((row["place"], row["transaction"]))
    return versions


def changed_tables(before: dict[str, set[tuple[str, str]]], after: dict[str, set[tuple[str, str]]]) -> list[str]:
    """Return the tables of which rows were added, written or deleted."""
    return [name for name in after if before[name] != after[name]]
