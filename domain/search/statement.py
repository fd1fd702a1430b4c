"""Write the statement of the full-text search of products: a page of ids with sort keys, the number of products, and the facets' groups.

    found, exact    the products that match the words, and those that have them exactly as written
    entries         those that the caller sees, with their score and sort key; `failed` has a bit for each choice that a product fails
    page            the ids of one page
    cells           the number of entries by `failed` and vendor, and by `failed`, price step, rating and availability: both from one pass
    sets, variants  the number of entries by all their categories, and by each variant, and `failed`; that by tag has no table of its own

With facets a product that fails one choice is still counted: in the facet of that choice, which leaves its own choice out. One that fails
two counts nowhere. A choice of categories has no bit: its facet counts categories below, whose products are all in those chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.promotions.price_sql import PAID
from domain.search.read import (
    IS_AVAILABLE,
    PRICE,
    RELEVANCE,
    SORTS,
    Choice,
    Dimension,
    filterable_features,
    shown_categories,
    shown_vendors,
)
from kernel.scope import Scope
from models.reading.queries import Condition, statement_limit

MAX_FACET_VALUES = 100
"""The number of values of a facet that are listed: categories by position, the others by the number of products."""

PRICE_STEPS = tuple(digit * 10**power for power in range(3, 16) for digit in (1, 2, 5))[:37]
"""The lower bounds of the price steps in cents, from the second step on: 10, 20, 50, 100, 200, 500 … units of currency."""

MAX_TERMS = 17
"""More than the words of a query: the weight of a word in the name relative to one that is there exactly."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search: what restricts it, what narrows it down, and the page that is wanted.

    `words` are those of `kernel.text.compound_words`: None without a query, which every product matches, empty for a query without words.
    A product has to match all of them, or all of one of the `subsets`, each words joined by spaces, where there are any.
    `restrictions` are conditions on the entry. `sort` is RELEVANCE or a name of `SORTS`. `after` is the sort key and the id of the
    record before the page (after it, when `backward`). `price` are the joins with the price that the caller pays; None where that is the
    catalogue's. `tags` counts by tag, among the facets.
    """

    words: tuple[str, ...] | None
    visible: Condition
    restrictions: tuple[Condition, ...] = ()
    choices: tuple[Choice, ...] = ()
    sort: str = RELEVANCE
    descending: bool = True
    limit: int = 20
    offset: int = 0
    after: tuple[Any, int] | None = None
    backward: bool = False
    price: Condition | None = None
    counts: bool = False
    facets: bool = False
    tags: bool = False
    subsets: tuple[str, ...] = ()

    @property
    def counted_choices(self) -> list[Choice]:
        """The choices that have a bit in `failed`, in its order."""
        return [choice for choice in self.choices if choice.dimension != Dimension.CATEGORY]

    @property
    def needs_price(self) -> bool:
        """Whether it compares, counts or sorts by the price."""
        return self.facets or self.sort == Dimension.PRICE or any(c.dimension == Dimension.PRICE for c in self.choices)

    @property
    def is_unrestricted(self) -> bool:
        """Whether every product that the caller sees is found."""
        return self.words is None and not self.choices and not self.restrictions

    @property
    def is_read_by_id(self) -> bool:
        """Whether the page is read in the order of the index instead of sorted: of a whole catalogue that no other part has to keep."""
        is_kept = self.counts and not self.facets
        return self.is_unrestricted and self.sort == RELEVANCE and not self.offset and not is_kept


@dataclass(slots=True)
class Statement:
    """An SQL text and its parameters; the first is the store."""

    params: list[Any]
    price: str = "t.price_cents"
    parts: list[str] = field(default_factory=list)

    def bind(self, condition: Condition) -> str:
        """Return the text of a condition with numbered parameters: `{}` becomes `$2`, `$3`, …, `{tenant}` `$1`."""
        first, *pieces = condition.sql.replace("{tenant}", "$1").replace(PRICE, self.price).split("{}")
        start = len(self.params)
        self.params += condition.params
        return first + "".join([f"${start + index}{piece}" for index, piece in enumerate(pieces, 1)])

    def value(self, value: Any, cast: str) -> str:
        """Return a parameter."""
        return self.bind(Condition(f"{{}}::{cast}", (value,)))

    @property
    def sql(self) -> str:
        """Return the SQL text."""
        return "".join(self.parts)


def write_search(scope: Scope, search: Search) -> Statement:
    """Write the statement of a search; its row is `page`, `total` and the groups of the facets, each as JSON or null."""
    statement = Statement([scope.store.id]) if search.price is None else Statement([scope.store.id], PAID)
    tables, columns = [], [f"({_page(search, statement)}) AS page"]
    if search.facets:
        tables += _counted_tables(search, statement)
    else:
        kept = "NOT MATERIALIZED" if search.is_read_by_id else ""
        tables.append(f"entries AS {kept} ({_entries(search, statement)})")
    if search.words:
        tables = [*_matches(search, statement), *tables]
    if search.facets:
        columns.append("(SELECT sum(n)::bigint FROM cells WHERE failed = 0 AND of_vendor) AS total")
        columns += [f"({sql}) AS {name}" for name, sql in _facets(scope, search, statement).items()]
    elif search.counts:
        columns.append("(SELECT count(*) FROM entries) AS total")
    statement.parts = [f"WITH {', '.join(tables)} SELECT {', '.join(columns)}"]
    return statement


def _matches(search: Search, statement: Statement) -> list[str]:
    asked = statement.value(list(search.words or ()), "text[]")
    query = f"vitrine_products_query({asked}, false)"
    if search.subsets:
        query = (
            "(SELECT string_agg('(' || vitrine_products_query(string_to_array(s.words, ' '), false)::text || ')', ' | ')"
            f" FROM unnest({statement.value(list(search.subsets), 'text[]')}) AS s (words))::tsquery"
        )
    return [
        f"found AS MATERIALIZED (SELECT search_products({query}) AS id)",
        f"exact AS (SELECT search_products(vitrine_products_query({asked}, true)) AS id)",
    ]


def _source(search: Search, statement: Statement) -> str:
    """Return the entries that match, with how they match the words: `in_name`, `exactly` (both of names) and `is_exact`.

    A product whose name has all words has them: only for others the exact ones are searched for. The set is hashed; an array would be
    compared with each of its members. OFFSET 0 keeps the numbers from being calculated for each use.
    """
    if search.words is None:
        return "search_entries t"
    if not search.words:
        return "(SELECT e.*, 0 AS in_name, 0 AS exactly, false AS is_exact FROM search_entries e WHERE false) t"
    in_name, exactly = [], []
    for word in search.words:
        asked = statement.value(word, "text")
        in_name.append(f"(e.name_words @@ (SELECT vitrine_word_query({asked})))::int")
        exactly.append(f"(e.name_words @@ (SELECT vitrine_exact_query({asked})))::int")
    return (
        f"(SELECT *, exactly = {len(search.words)} OR product_id IN (SELECT id FROM exact) AS is_exact"
        f" FROM (SELECT e.*, {' + '.join(in_name)} AS in_name, {' + '.join(exactly)} AS exactly FROM search_entries e"
        " WHERE e.tenant_id = $1 AND e.product_id = ANY(ARRAY(SELECT id FROM found)) OFFSET 0) e) t"
    )


def _entries(search: Search, statement: Statement) -> str:
    """Return the entries of a search without facets."""
    key, is_joined = _key(search, statement)
    where = [*_where(search, statement), *[statement.bind(choice.condition) for choice in search.choices]]
    tables = _tables(search, statement, is_joined, key, *where)
    return f"SELECT t.product_id AS id, {key} AS key FROM {tables} WHERE {_all(where)}"


def _tables(search: Search, statement: Statement, is_joined: bool, *uses: str) -> str:
    """Return the entries, with their products and prices where they are needed: `uses` are the other parts of the statement."""
    tables = _source(search, statement)
    if is_joined:
        tables += " JOIN products p ON p.tenant_id = $1 AND p.id = t.product_id"
    if search.price is not None and any(PAID in use for use in uses):
        tables += statement.bind(search.price)
    return tables


def _where(search: Search, statement: Statement) -> list[str]:
    return ["t.tenant_id = $1", statement.bind(search.visible), *map(statement.bind, search.restrictions)]


def _counted_tables(search: Search, statement: Statement) -> list[str]:
    """Return the entries of a search with facets, and their numbers.

    Where the whole catalogue is counted, the entries are read from their table each time, which costs less than a copy of all.
    """
    sort_key, is_joined = _key(search, statement)
    steps = ",".join(map(str, PRICE_STEPS))
    columns = (
        f"t.product_id AS id, {sort_key} AS key, t.vendor_id, width_bucket({statement.price}, '{{{steps}}}'::bigint[]) AS step,"
        f" t.rating / 100 AS stars, {statement.bind(Condition(IS_AVAILABLE))} AS is_available"
    )
    sources, kept = ["entries", "entries"], "MATERIALIZED"
    if search.is_unrestricted:
        sources = [f"({_narrowed(search, statement, f't.{name}')}) e" for name in ("category_ids", "variant_ids")]
        kept = "NOT MATERIALIZED"
    else:
        columns += ", t.category_ids, t.variant_ids" + (", t.tags" if search.tags else "")
    # Without choices nothing fails: as a key of the groups the constant would take a third of the time of `variants`.
    failed, key = ("failed", ", failed") if search.counted_choices else ("0 AS failed", "")
    return [
        f"entries AS {kept} ({_narrowed(search, statement, columns, is_joined=is_joined)})",
        f"cells AS MATERIALIZED (SELECT {failed}, vendor_id, step, stars, is_available, grouping(step) = 1 AS of_vendor, count(*) AS n"
        f" FROM entries GROUP BY GROUPING SETS ((vendor_id{key}), (step, stars, is_available{key})))",
        f"sets AS MATERIALIZED (SELECT category_ids, {failed}, count(*) AS n FROM {sources[0]} GROUP BY category_ids{key})",
        f"variants AS MATERIALIZED (SELECT variant_id, {failed}, count(*) AS n"
        f" FROM (SELECT unnest(variant_ids) AS variant_id, failed FROM {sources[1]}) u GROUP BY variant_id{key})",
    ]


def _narrowed(search: Search, statement: Statement, columns: str, *, is_joined: bool = False) -> str:
    """Return the entries that at most one choice leaves out, with these columns and `failed`."""
    where = _where(search, statement)
    where += [statement.bind(choice.condition) for choice in search.choices if choice.dimension == Dimension.CATEGORY]
    choices = [statement.bind(choice.condition) for choice in search.counted_choices]
    failed = " + ".join([f"CASE WHEN {text} THEN 0 ELSE {1 << bit} END" for bit, text in enumerate(choices)]) or "0"
    tables = _tables(search, statement, is_joined, columns, failed, *where)
    sql = f"SELECT {columns}, {failed} AS failed FROM {tables} WHERE {_all(where)}"
    if len(choices) < 2:
        return sql
    failures = ", ".join(["0", *(str(1 << bit) for bit in range(len(choices)))])
    return f"SELECT * FROM ({sql} OFFSET 0) e WHERE failed IN ({failures})"


def _all(conditions: Sequence[str]) -> str:
    return " AND ".join([f"({text})" for text in conditions])


def _key(search: Search, statement: Statement) -> tuple[str, bool]:
    """Return the expression of the sort key, and whether it needs the product."""
    if search.sort != RELEVANCE:
        sql = statement.bind(Condition(SORTS[search.sort].sql))
        return sql, "p." in sql
    available = f"({statement.bind(Condition(IS_AVAILABLE))})::int"
    if not search.words:
        return f"{available}::bigint", False
    score = f"t.in_name * {MAX_TERMS} + t.exactly"
    return f"((({score}) * 2 + t.is_exact::int) * 2 + {available})::bigint", False


def _page(search: Search, statement: Statement) -> str:
    cast = "bigint" if search.sort == RELEVANCE else SORTS[search.sort].cast
    descending = search.descending is not search.backward
    where = ["failed = 0"] if search.facets else []
    if search.after is not None:
        key, number = (
            statement.value(value, type_) for value, type_ in zip(search.after, (cast, "bigint"), strict=True)
        )
        where.append(f"(key, id) {'<' if descending else '>'} ({key}, {number})")
    direction, limit = " DESC" if descending else "", statement_limit(search.limit)
    source = f"entries{' WHERE ' + _all(where) if where else ''}"
    if search.is_read_by_id:
        source = _by_id(where, (1, 0) if descending else (0, 1), direction, limit)
    rows = f"SELECT key, id FROM {source} ORDER BY key{direction}, id{direction} LIMIT {limit}"
    if search.offset:
        rows += f" OFFSET {statement.value(search.offset, 'bigint')}"
    return f"SELECT coalesce(json_agg(json_build_array(key, id)), '[]') FROM ({rows}) r"


def _by_id(where: Sequence[str], keys: tuple[int, int], direction: str, limit: int) -> str:
    """Return the first page of the entries of one key, and that of the other key's only if they are fewer than a page."""
    first, second = (f"SELECT key, id FROM entries WHERE {_all([*where, f'key = {key}'])}" for key in keys)
    page = f"ORDER BY id{direction} LIMIT {limit}"
    return (
        f"(WITH preferred AS MATERIALIZED ({first} {page}) SELECT key, id FROM preferred UNION ALL"
        f" ({second} AND (SELECT count(*) FROM preferred) < {limit} {page})) e"
    )


# --- facets -----------------------------------------------------------------------------------------------------------


def _bit(search: Search, dimension: str) -> int:
    """Return the bit of the choice in a dimension, 0 if there is none."""
    return next((1 << bit for bit, choice in enumerate(search.counted_choices) if choice.dimension == dimension), 0)


def _counted(search: Search, dimension: str) -> str:
    """Return the condition of the groups that a facet counts: products that fail no choice but its own."""
    return f"failed IN (0, {_bit(search, dimension)})"


def _facets(scope: Scope, search: Search, statement: Statement) -> dict[str, str]:
    return {
        "categories": _categories(scope, search, statement),
        "vendors": _vendors(scope, search, statement),
        "prices": _plain("step", search, Dimension.PRICE),
        "ratings": _plain("stars", search, Dimension.RATING),
        "availability": _plain("is_available", search, Dimension.AVAILABILITY),
        "features": _features(scope, search, statement),
        "tags": _tags(search, statement) if search.tags else "NULL::json",
    }


def _plain(value: str, search: Search, dimension: Dimension) -> str:
    return (
        f"SELECT json_agg(json_build_array(g.value, g.n) ORDER BY g.value) FROM (SELECT {value} AS value, sum(n)::bigint AS n FROM cells"
        f" WHERE NOT of_vendor AND {_counted(search, dimension)} GROUP BY 1) g"
    )


def _rows(columns: str, rows: str, order: str) -> str:
    """Return the first rows as JSON arrays; `order` names columns of `rows`."""
    return (
        f"SELECT json_agg(json_build_array({columns}) ORDER BY {order})"
        f" FROM ({rows} ORDER BY {order} LIMIT {MAX_FACET_VALUES}) r"
    )


def _categories(scope: Scope, search: Search, statement: Statement) -> str:
    """Count by the categories below those chosen, or by the roots."""
    chosen = _condition_of(search, Dimension.CATEGORY)
    parents = "c.parent_id IS NULL"
    if chosen is not None:
        parents = statement.bind(
            Condition(f"c.parent_id = ANY({chosen.sql.removeprefix('t.category_ids && ')})", chosen.params)
        )
    rows = (
        "SELECT c.id, c.public_id, c.name, c.position, g.n FROM (SELECT id, sum(n)::bigint AS n FROM (SELECT unnest(category_ids) AS id, n"
        f" FROM sets WHERE {_counted(search, Dimension.CATEGORY)}) u GROUP BY id) g"
        f" JOIN categories c ON c.tenant_id = $1 AND c.id = g.id WHERE {parents} AND {statement.bind(shown_categories(scope))}"
    )
    return _rows("id, public_id, name, n", rows, "position, id")


def _vendors(scope: Scope, search: Search, statement: Statement) -> str:
    is_chosen = _is_chosen(search, Dimension.VENDOR, "v.id", "t.vendor_id", statement)
    rows = (
        f"SELECT v.id, v.public_id, v.name, g.n, {is_chosen} AS is_chosen"
        " FROM (SELECT vendor_id AS id, sum(n)::bigint AS n FROM cells WHERE of_vendor"
        f" AND {_counted(search, Dimension.VENDOR)} GROUP BY 1) g"
        f" JOIN vendors v ON v.tenant_id = $1 AND v.id = g.id WHERE {statement.bind(shown_vendors(scope))}"
    )
    return _rows("id, public_id, name, n, is_chosen", rows, "is_chosen DESC, n DESC, name, id")


def _tags(search: Search, statement: Statement) -> str:
    """Count by tag; those of a whole catalogue are read from the table, as its categories and variants are."""
    source = f"({_narrowed(search, statement, 't.tags')}) e" if search.is_unrestricted else "entries"
    chosen = _condition_of(search, Dimension.TAG)
    is_chosen = "false" if chosen is None else statement.bind(Condition("tag = ANY({}::text[])", chosen.params))
    rows = (
        f"SELECT tag, count(*) AS n, {is_chosen} AS is_chosen FROM (SELECT unnest(tags) AS tag, failed FROM {source}) u"
        f" WHERE {_counted(search, Dimension.TAG)} GROUP BY tag"
    )
    return _rows("tag, n", rows, "is_chosen DESC, n DESC, tag")


def _features(scope: Scope, search: Search, statement: Statement) -> str:
    """Count by the variants of each feature; that of a choice counts what fails the choice."""
    chosen = [choice for choice in search.choices if choice.dimension not in set(Dimension)]
    own = "0"
    if chosen:
        cases = [
            f"WHEN {statement.value(choice.dimension, 'text')} THEN {_bit(search, choice.dimension)}"
            for choice in chosen
        ]
        own = f"CASE f.public_id::text {' '.join(cases)} ELSE 0 END"
    counted = (
        "SELECT f.id AS feature, f.public_id AS feature_id, f.name AS feature_name, f.position AS feature_position, x.id, x.public_id,"
        " x.name, x.position, sum(g.n)::bigint AS n FROM variants g JOIN feature_variants x ON x.tenant_id = $1 AND x.id = g.variant_id"
        " JOIN features f ON f.tenant_id = $1 AND f.id = x.feature_id"
        f" WHERE {statement.bind(filterable_features(scope))} AND g.failed IN (0, {own}) GROUP BY f.id, f.public_id, f.name, f.position,"
        " x.id, x.public_id, x.name, x.position"
    )
    ranked = (
        f"SELECT *, row_number() OVER (PARTITION BY feature ORDER BY n DESC, position, id) AS place FROM ({counted}) u"
    )
    order = "feature_position, feature, place"
    return (
        "SELECT json_agg(json_build_array(feature, feature_id, feature_name, id, public_id, name, n)"
        f" ORDER BY {order}) FROM ({ranked}) r WHERE place <= {MAX_FACET_VALUES}"
    )


def _condition_of(search: Search, dimension: Dimension) -> Condition | None:
    return next((choice.condition for choice in search.choices if choice.dimension == dimension), None)


def _is_chosen(search: Search, dimension: Dimension, column: str, of_entry: str, statement: Statement) -> str:
    chosen = _condition_of(search, dimension)
    if chosen is None:
        return "false"
    return statement.bind(Condition(f"({chosen.sql.replace(of_entry, column)})", chosen.params))
