"""The addresses that records have at the source: their names in addresses are kept as slugs, and the paths there redirect here.

CS-Cart has the pages of all records at the root of the shop, by its settings below the names of their categories and parents, and with or
without `.html`. What of this a shop uses is not part of its answers: both paths of a record are kept, and found with `.html` too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import quote

from domain.content.redirects import COLUMNS, SEGMENTS, TARGET_SQL, normal_path
from domain.imports.numbered import ImportTable, Row
from kernel.scope import Scope
from kernel.text import slugify
from models.connection.database import fetch
from models.tables.content import Redirect
from server.importers.cscart.context import Context
from server.importers.cscart.values import Record, text

_PART = 10_000
_SLUGS = "SELECT id, slug, parent_id FROM {table} WHERE tenant_id = $1 AND deleted_at IS NULL"
_REDIRECTS = f"""
SELECT r.* FROM (SELECT t.path, {TARGET_SQL} AS target FROM redirects t WHERE t.tenant_id = $1 AND t.path > $2) r
WHERE r.target IS NOT NULL ORDER BY r.path LIMIT {_PART}
"""
TREES = ("categories", "pages")
"""The tables whose names are part of the addresses of others."""
_TITLES = {"categories": "category", "pages": "page"}


def former_addresses(table: str) -> ImportTable:
    """Return the redirects of the paths of the table's records at the source."""
    return ImportTable(Redirect, owner=COLUMNS[table], keeps=True)


async def load_names(context: Context) -> None:
    """Load the names of the records that are part of other records' addresses."""
    for table in TREES:
        rows = await fetch(_SLUGS.format(table=table), context.scope.store.id)
        known = context.known[table]
        context.names[table] = {row["id"]: (row["slug"], row["parent_id"]) for row in rows if row["id"] in known}


def redirect_rows(
    context: Context, table: str, number: int, record: Record, *, parent: int | None = None, of: str = ""
) -> list[Row]:
    """Return the redirects of a record: its name at the root, and below the record `parent` of the table `of`, by default its own."""
    name = text(record, "seo_name").strip("/")
    if table in TREES:
        context.names[table][number] = (name or slugify(text(record, _TITLES[table])), parent)
    if not name:
        return []
    paths = dict.fromkeys(
        (normal_path(f"/{name}"), normal_path("/".join(["", *_names(context, of or table, parent), name])))
    )
    now = context.scope.now
    return [
        {"path": path, COLUMNS[table]: number, "created_at": now, "updated_at": now} for path in paths if len(path) > 1
    ]


def _names(context: Context, table: str, number: int | None) -> list[str]:
    """Return the names from the root to a record, as far as they are known."""
    names: list[str] = []
    passed = set()
    while number is not None and number not in passed and table in context.names:
        passed.add(number)
        name, number = context.names[table].get(number, ("", None))
        names[:0] = [name] if name else []
    return names


async def redirect_lines(scope: Scope) -> AsyncIterator[str]:
    """Yield `old new 301` for each redirect of the store; a path that may have had an extension comes with one too."""
    own = tuple(f"/{segment}/" for segment in SEGMENTS.values())
    path = ""
    while rows := await fetch(_REDIRECTS, scope.store.id, path):
        for row in rows:
            path, target = row["path"], quote(row["target"], safe="/:?#[]@!$&'()*+,;=%~")
            has_extension = "." in path.rpartition("/")[2]
            for ending in ("",) if has_extension or path.startswith(own) else ("", ".html"):
                yield f"{quote(path)}{ending} {target} 301"
