"""Redirects: paths that were addresses of records, or of anything else, and where each leads.

A redirect leads to a record or to a link. The address of a record is derived from its present slug, so that no redirect leads to another:
triggers (migrations 0063 and 0080) keep the former address of a record whose slug changes, and a link to it becomes the record. Paths are
compared without case, query, surrounding slashes and percent-encoding. What is the address of a record redirects nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from domain.catalog.listing import OPEN_RECORDS, of_row
from domain.filters import created_range, ids, optional_references, sorts, substring
from domain.records import Change, RecordType
from domain.visibility import published
from kernel.errors import ValidationFailed
from kernel.fields import InputField, text
from kernel.scope import Scope
from kernel.text import InvalidValue, has_forbidden_characters, lower_ascii, nfc, repr_value
from models.connection.database import execute, fetchrow, fetchval
from models.reading.queries import Condition, Entity, EntityFilter
from models.references import CATEGORY, COLLECTION, PAGE, PRODUCT, VENDOR
from models.tables.content import Redirect

SEGMENTS: Mapping[str, str] = MappingProxyType(
    {
        "products": "produto",
        "categories": "categoria",
        "pages": "pagina",
        "vendors": "vendedor",
        "collections": "colecao",
    }
)
"""The first segments of the addresses of records, by table: those of the example storefront, and of the triggers."""
COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "products": "product_id",
        "categories": "category_id",
        "pages": "page_id",
        "vendors": "vendor_id",
        "collections": "collection_id",
    }
)
MAX_PATH = 500
_TARGETS = (*COLUMNS.values(), "link")
_MAX_LINK = 2_048
_LINK = re.compile(r"https?://[^\s/?#]\S*|/(?![/\\])\S*")
_EXTENSIONS = (".html", ".htm")


def _record(table: str, selected: str, condition: str = "") -> str:
    further = f" AND {of_row(condition, 'r')}" if condition else ""
    return (
        f"SELECT {selected} FROM {table} r WHERE r.tenant_id = t.tenant_id AND r.id = t.{COLUMNS[table]}"
        f" AND r.deleted_at IS NULL{further}"
    )


def leads(columns: Collection[str]) -> str:
    """Return the condition of rows with these columns that lead to a link, or to a record that shoppers may open."""
    tables = (table for table, column in COLUMNS.items() if column in columns)
    return " OR ".join(
        ["t.link IS NOT NULL", *(f"EXISTS ({_record(table, '', OPEN_RECORDS[table])})" for table in tables)]
    )


_LEADS = leads(COLUMNS.values())
TARGET_SQL = (
    "coalesce(t.link, "
    + ", ".join("(" + _record(table, f"'/{segment}/' || r.slug") + ")" for table, segment in SEGMENTS.items())
    + ")"
)
"""The address to which a redirect leads; null when its record was deleted."""


def normal_path(address: str) -> str:
    """Return the path of an address as it is stored and compared; empty for none that could be stored."""
    path = nfc(unquote(address.partition("#")[0].partition("?")[0]))
    path = lower_ascii("/".join(["", *filter(None, path.split("/"))]))
    return "" if len(path) > MAX_PATH or has_forbidden_characters(path) else path


def at_path(path: str) -> Condition:
    """Match the redirect of a path, or of the path without an extension, if shoppers may open what it leads to."""
    wanted = normal_path(path)
    if not wanted:
        return Condition("false")
    bare = next((wanted.removesuffix(end) for end in _EXTENSIONS if wanted.endswith(end)), wanted)
    # The longer one is the exact one.
    longest = (
        "(SELECT r.path FROM redirects r WHERE r.tenant_id = t.tenant_id AND r.path = ANY({}::text[])"
        " ORDER BY char_length(r.path) DESC LIMIT 1)"
    )
    conditions, params = [f"t.path = {longest}", f"({_LEADS})"], [[wanted, bare]]
    if place := _place(path):
        table, slug = place
        conditions.append(
            f"NOT EXISTS (SELECT FROM {table} r WHERE r.tenant_id = t.tenant_id AND r.slug = {{}} AND r.deleted_at IS NULL)"
        )
        params.append(slug)  # type: ignore[arg-type]
    return Condition(" AND ".join(conditions), tuple(params))


def _place(address: str) -> tuple[str, str] | None:
    """Return the table and the slug of a path that has the form of a record's address."""
    path = unquote(address.partition("#")[0].partition("?")[0]).strip("/")
    segment, _, slug = path.partition("/")
    table = next((table for table, own in SEGMENTS.items() if own == segment.lower()), None)
    return (table, nfc(slug)) if table and slug and not has_forbidden_characters(slug) else None


def _at_paths(value: Any) -> Condition:
    paths = [normal_path(path) for path in (value if isinstance(value, list) else [value])]
    return Condition("t.path = ANY({}::text[])", (paths,))


REDIRECTS = Entity(
    table="redirects",
    visible=published(("view_content",), "read_content", _LEADS),
    filters={
        "id": ids("redirects"),
        "path": EntityFilter("text", _at_paths, "of any of these paths", many=True),
        "search": substring("path or link", "t.path", "t.link"),
        **{
            column: optional_references(table, f"leads to any of these {table}; 0 means to none", column=f"t.{column}")
            for table, column in COLUMNS.items()
        },
        **created_range(),
    },
    sorts=sorts("path", "created_at"),
    text_key=("path", at_path),
)


async def find_target(scope: Scope, path: str) -> str | None:
    """Return where a shopper's request of a path is redirected to, in one statement."""
    condition = at_path(path)
    sql = condition.sql.format(*(f"${place}" for place in range(2, len(condition.params) + 2)))
    statement = f"SELECT {TARGET_SQL} FROM redirects t WHERE t.tenant_id = $1 AND {sql}"
    target: str | None = await fetchval(statement, scope.store.id, *condition.params)
    return target


async def opens(scope: Scope, segment: str, slug: str) -> bool:
    """Return whether shoppers who aren't signed in may open the record at an address, by the segments of `SEGMENTS`."""
    table = next(table for table, own in SEGMENTS.items() if own == segment)
    if has_forbidden_characters(slug):
        return False
    sql = f"SELECT EXISTS (SELECT FROM {table} t WHERE t.tenant_id = $1 AND t.slug = $2 AND t.deleted_at IS NULL AND {OPEN_RECORDS[table]})"
    is_open: bool = await fetchval(sql, scope.store.id, nfc(slug))
    return is_open


# --- Changes ---------------------------------------------------------------------------------------------------------------------


def _path_text(value: object) -> object:
    path = str(text(_MAX_LINK, blank=False)(value)).strip()
    normal = normal_path(path) if path.startswith("/") else ""
    if len(normal) < 2:
        raise InvalidValue(f"is {repr_value(path)}; expected a path of at most {MAX_PATH} characters, such as /old")
    return normal


def link_text(value: object) -> object:
    """Read a path or an http or https address; raises InvalidValue."""
    if value is None:
        return None
    link = str(text(_MAX_LINK, blank=False)(value)).strip()
    if not _LINK.fullmatch(link):
        raise InvalidValue(f"is {repr_value(link)}; expected a path such as /new, or an http or https address")
    return link


REDIRECT_FIELDS: Mapping[str, InputField] = {
    "path": InputField("path", _path_text, code="path_invalid", required="required"),
    "target": InputField("link", link_text, code="target_invalid"),
}

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('redirects:' || $1::bigint, 0))"
_OF_SLUG = "SELECT id FROM {table} WHERE tenant_id = $1 AND slug = $2 AND deleted_at IS NULL"
_OF_PATH = f"SELECT {', '.join(_TARGETS)} FROM redirects WHERE tenant_id = $1 AND path = $2"
_FOLLOW = f"""
UPDATE redirects r SET ({", ".join(_TARGETS)}, updated_at) =
    (SELECT {", ".join(f"n.{name}" for name in _TARGETS)}, $4::timestamptz FROM redirects n WHERE n.tenant_id = $1 AND n.id = $2)
WHERE r.tenant_id = $1 AND r.id <> $2 AND r.link IS NOT NULL AND md5(vitrine_path(r.link)) = md5($3)
"""


async def _prepare(change: Change) -> None:
    """Let the redirect lead to the end of what it names: a link to a record's address, or to a redirect, becomes what that leads to."""
    path = str(change.merged["path"])
    if await _record_at(change.scope, path):
        raise ValidationFailed(f"path is {path!r}, the address of a record", field="path", code="path_invalid")
    named = {name: value for name in _TARGETS if (value := change.columns.pop(name, None)) is not None}
    ends = {(name, value) for name, value in named.items() if name != "link"}
    if "link" in named:
        ends.add(await _end_of(change.scope, named["link"], path))
    if len(ends) > 1 or (change.is_new and not ends):
        message = f"expected exactly one of target, {', '.join(COLUMNS.values())}"
        raise ValidationFailed(message, field="target", code="required")
    if ends:
        change.columns |= {**dict.fromkeys(_TARGETS), **dict(ends)}


async def _end_of(scope: Scope, link: str, path: str) -> tuple[str, Any]:
    """Return the column and the value of what a link leads to: itself, the record that has the address, or the end of a redirect."""
    end: tuple[str, Any] = ("link", link)
    if link.startswith("/"):
        row = await fetchrow(_OF_PATH, scope.store.id, normal_path(link))
        redirected = next(((name, row[name]) for name in _TARGETS if row[name] is not None), None) if row else None
        end = await _record_at(scope, link) or redirected or end
    if path in (normal_path(link), normal_path(str(end[1])) if end[0] == "link" else ""):
        message = f"target is {link!r}, which leads back to the path"
        raise ValidationFailed(message, field="target", code="target_invalid")
    return end


async def _record_at(scope: Scope, path: str) -> tuple[str, int] | None:
    """Return the column and the number of the record whose address a path is."""
    place = _place(path)
    if place is None:
        return None
    table, slug = place
    number = await fetchval(_OF_SLUG.format(table=table), scope.store.id, slug)
    return None if number is None else (COLUMNS[table], number)


async def _update_others(change: Change) -> None:
    """Let redirects with a link to the path lead to its end."""
    path = str(change.merged["path"])
    await execute(_FOLLOW, change.scope.store.id, change.record_id, path, change.scope.now)


def _taken(change: Change) -> ValidationFailed:
    message = f"path is {change.columns['path']!r}, which another redirect has"
    return ValidationFailed(message, field="path", code="path_taken")


REDIRECT_RECORDS = RecordType(
    Redirect,
    REDIRECT_FIELDS,
    references={"product": PRODUCT, "category": CATEGORY, "page": PAGE, "vendor": VENDOR, "collection": COLLECTION},
    unique={"redirects_path_key": _taken},
    hard_delete=True,
    lock=_LOCK,
    lock_row="SELECT path FROM redirects WHERE tenant_id = $1 AND id = $2 FOR UPDATE",
    prepare=_prepare,
    after_save=_update_others,
)
