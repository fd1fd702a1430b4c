"""Compare what the records of both sides refer to: how many references there are, and whether they are the same ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kernel.scope import Scope
from models.connection.database import fetchrow
from server.importers.cscart.catalog import feature_choices
from server.importers.cscart.context import SOURCE
from server.importers.cscart.orders import shipping_numbers
from server.importers.cscart.people import memberships
from server.importers.cscart.values import NotBrought, Record, numbers

Reference = tuple[int, str]
"""The number that a record refers to, and what else is compared: which variant, which status; empty for the number alone."""


@dataclass(frozen=True, slots=True)
class Link:
    """A reference of an entity: its name, the fields that have it at the source, the table that it leads to, and its column here.

    `table` has a row for each reference where a record has several, and `owner` is the column with the record's number. `read` returns
    the references of a record whose list may show them in part or not at all: only whole records are compared then.
    """

    name: str
    fields: tuple[str, ...]
    target: str
    column: str
    table: str = ""
    owner: str = "id"
    read: Callable[[Record], Iterable[Reference]] | None = None

    def of(self, record: Record) -> set[Reference]:
        """Return the references of a record at the source."""
        if self.read is not None:
            with suppress(NotBrought):
                return set(self.read(record))
            return set()
        return {(reference, "") for reference in _numbers(record, self.fields)}


_FEATURE_VALUES = """(
    SELECT v.tenant_id, v.product_id, concat_ws('/', v.feature_id, coalesce(v.variant_id, c.variant_id)) AS reference FROM feature_values v
    LEFT JOIN feature_value_variants c ON c.tenant_id = v.tenant_id AND c.feature_value_id = v.id
)"""
_MEMBERSHIPS = "(SELECT tenant_id, user_id, usergroup_id || '/' || status AS reference FROM usergroup_memberships)"

LINKS: Mapping[str, Sequence[Link]] = {
    "users": (
        Link("vendor", ("company_id",), "vendors", "vendor_id"),
        Link(
            "usergroups",
            ("usergroups",),
            "usergroups",
            "reference",
            table=_MEMBERSHIPS,
            owner="user_id",
            read=lambda record: ((group, f"/{status}") for group, status in memberships(record).items()),
        ),
    ),
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
        Link(
            "features",
            ("product_features",),
            "features",
            "reference",
            table=_FEATURE_VALUES,
            owner="product_id",
            read=lambda record: (
                (feature, f"/{variant}" if variant else "")
                for feature, chosen in feature_choices(record).items()
                for variant in chosen or [0]
            ),
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
        Link(
            "shipping",
            (),
            "shipping_methods",
            "shipping_method_id",
            read=lambda record: ((method, "") for method in shipping_numbers(record)[:1]),
        ),
    ),
}
"""The references of each entity. Of records that lack the fields at the source, none are compared."""

_HERE = """
SELECT count(*) AS count, coalesce(bit_xor(('x' || left(md5(p.id || ':' || p.reference), 16))::bit(64)::bigint), 0) AS digest
FROM (
    SELECT l.{owner} AS id, l.{column} AS reference FROM {links} l
    JOIN external_references r ON r.tenant_id = l.tenant_id AND r.kind = $3 AND r.local_id = l.{owner} AND r.source = $2
    JOIN {table} o ON o.tenant_id = l.tenant_id AND o.id = l.{owner} AND o.deleted_at IS NULL
    WHERE l.tenant_id = $1 AND l.{column} IS NOT NULL AND ($4::bigint[] IS NULL OR l.{owner} = ANY($4))
) AS p
"""


@dataclass(slots=True)
class LinkSums:
    """The references of one side: how many, and a digest of the pairs, whatever their order; of the source, of which records."""

    count: int = 0
    digest: int = 0
    records: list[int] = field(default_factory=list, compare=False)

    def add(self, record: int, reference: Reference) -> None:
        """Add a pair, as the statement of the other side does."""
        start = hashlib.md5(f"{record}:{reference[0]}{reference[1]}".encode(), usedforsecurity=False).digest()[:8]
        self.count += 1
        self.digest ^= int.from_bytes(start, "big", signed=True)


@dataclass(slots=True)
class Comparison:
    """The references of the source, as they were read; those to records that its lists don't have (deleted ones) don't count."""

    read: dict[str, set[int]] = field(default_factory=dict)
    sums: dict[tuple[str, Link], LinkSums] = field(default_factory=dict)

    def add(self, entity: str, table: str, number: int, row: Record) -> None:
        """Add the references of a row of the source's list, whose records are in the table here."""
        self.read.setdefault(table, set()).add(number)
        self._add(entity, number, row, [link for link in LINKS.get(entity, ()) if link.read is None])

    def add_whole(self, entity: str, table: str, number: int, record: Record) -> None:
        """Add the references that only the whole record of a row shows."""
        if number in self.read.get(table, ()):
            self._add(entity, number, record, [link for link in LINKS.get(entity, ()) if link.read is not None])

    def _add(self, entity: str, number: int, record: Record, links: Iterable[Link]) -> None:
        for link in links:
            if all(name in record for name in link.fields):
                sums = self.sums.setdefault((entity, link), LinkSums())
                sums.records.append(number)
                for reference in link.of(record):
                    if reference[0] in self.read.get(link.target, ()):
                        sums.add(number, reference)

    async def lines(self, scope: Scope, kinds: Mapping[str, tuple[str, str]]) -> list[str]:
        """Return a line for each reference; `kinds` are the kind and the table of each entity."""
        lines = []
        for (entity, link), there in self.sums.items():
            kind, table = kinds[entity]
            statement = _HERE.format(owner=link.owner, column=link.column, links=link.table or table, table=table)
            is_partial = len(there.records) < len(self.read[table])
            row = await fetchrow(statement, scope.store.id, SOURCE, kind, there.records if is_partial else None)
            assert row is not None  # an aggregate has one row
            name = f"{entity}, {link.name}" + (
                f" ({len(there.records)} of {len(self.read[table])} read)" if is_partial else ""
            )
            lines.append(_line(name, there, LinkSums(row["count"], row["digest"])))
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
