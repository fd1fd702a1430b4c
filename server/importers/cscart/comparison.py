"""Compare what the records of both sides refer to: how many references there are, and whether they are the same ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kernel.scope import Scope
from models.connection.database import fetchrow
from server.importers.cscart.context import SOURCE
from server.importers.cscart.values import NotBrought, Record, numbers


@dataclass(frozen=True, slots=True)
class Link:
    """A reference of an entity: its name, the fields that have it at the source, the table that it leads to, and its column here.

    `table` has a row for each reference where a record has several, and `owner` is the column with the record's number.
    """

    name: str
    fields: tuple[str, ...]
    target: str
    column: str
    table: str = ""
    owner: str = "id"


LINKS: Mapping[str, Sequence[Link]] = {
    "users": (Link("vendor", ("company_id",), "vendors", "vendor_id"),),
    "categories": (
        Link("parent", ("parent_id",), "categories", "parent_id"),
        Link("vendor", ("company_id",), "vendors", "vendor_id"),
    ),
    "shippings": (Link("vendor", ("company_id",), "vendors", "vendor_id"),),
    "payments": (Link("vendor", ("company_id",), "vendors", "vendor_id"),),
    "products": (
        Link("vendor", ("company_id",), "vendors", "vendor_id"),
        Link(
            "categories",
            ("main_category", "category_ids"),
            "categories",
            "category_id",
            table="product_categories",
            owner="product_id",
        ),
    ),
    "pages": (
        Link("parent", ("parent_id",), "pages", "parent_id"),
        Link("vendor", ("company_id",), "vendors", "vendor_id"),
    ),
    "orders": (
        Link("customer", ("user_id",), "users", "user_id"),
        Link("vendor", ("company_id",), "vendors", "vendor_id"),
        Link("payment", ("payment_id",), "payment_methods", "payment_method_id"),
    ),
}
"""The compared references of each entity; one whose fields the source's list lacks is not compared."""

_HERE = """
SELECT count(*) AS count, coalesce(bit_xor(('x' || left(md5(p.id || ':' || p.reference), 16))::bit(64)::bigint), 0) AS digest
FROM (
    SELECT l.{owner} AS id, l.{column} AS reference FROM {links} l
    JOIN external_references r ON r.tenant_id = l.tenant_id AND r.kind = $3 AND r.local_id = l.{owner} AND r.source = $2
    JOIN {table} o ON o.tenant_id = l.tenant_id AND o.id = l.{owner} AND o.deleted_at IS NULL
    WHERE l.tenant_id = $1 AND l.{column} IS NOT NULL
) AS p
"""


@dataclass(slots=True)
class LinkSums:
    """The references of one side: how many, and a digest of the pairs, whatever their order."""

    count: int = 0
    digest: int = 0

    def add(self, record: int, reference: int) -> None:
        """Add a pair, as the statement of the other side does."""
        start = hashlib.md5(f"{record}:{reference}".encode(), usedforsecurity=False).digest()[:8]
        self.count += 1
        self.digest ^= int.from_bytes(start, "big", signed=True)


@dataclass(slots=True)
class Comparison:
    """The references of the source, as they were read; those to records that its lists don't have (deleted ones) don't count."""

    read: dict[str, set[int]] = field(default_factory=dict)
    sums: dict[tuple[str, Link], LinkSums] = field(default_factory=dict)
    incomplete: set[tuple[str, Link]] = field(default_factory=set)

    def add(self, entity: str, table: str, number: int, row: Record) -> None:
        """Add the references of a row of the source's list, whose records are in the table here."""
        self.read.setdefault(table, set()).add(number)
        for link in LINKS.get(entity, ()):
            if not all(name in row for name in link.fields):
                self.incomplete.add((entity, link))
                continue
            sums = self.sums.setdefault((entity, link), LinkSums())
            for reference in _numbers(row, link.fields):
                if reference in self.read.get(link.target, ()):
                    sums.add(number, reference)

    async def lines(self, scope: Scope, kinds: Mapping[str, tuple[str, str]]) -> list[str]:
        """Return a line for each reference; `kinds` are the kind and the table of each entity."""
        lines = []
        for (entity, link), there in self.sums.items():
            if (entity, link) not in self.incomplete:
                kind, table = kinds[entity]
                statement = _HERE.format(owner=link.owner, column=link.column, links=link.table or table, table=table)
                row = await fetchrow(statement, scope.store.id, SOURCE, kind)
                assert row is not None  # an aggregate has one row
                lines.append(_line(f"{entity}, {link.name}", there, LinkSums(row["count"], row["digest"])))
        return lines


def _numbers(row: Record, fields: Iterable[str]) -> list[int]:
    references: list[int] = []
    for name in fields:
        with suppress(NotBrought):
            references += numbers(row, name)
    return list(dict.fromkeys(references))


def _line(name: str, there: LinkSums, here: LinkSums) -> str:
    if there == here:
        verdict = "equal"
    else:
        verdict = "different" if there.count != here.count else "different ones"
    return f"{name}: {there.count} there, {here.count} here: {verdict}"
