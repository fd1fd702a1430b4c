"""Filters and sort orders that several entities declare, and the conditions they are built from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernel.text import fold, prefix_tsquery, singular
from models.reading.queries import Condition, EntityFilter, Sort, any_of, by_ids, compares, flag, has_any_id, refers_to

_COMMON_SORTS = {
    "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
    "id": Sort("t.id", "bigint", "creation order"),
    "name": Sort("t.name", "text", "name"),
    "position": Sort("t.position", "bigint", "position"),
    "priority": Sort("t.priority", "bigint", "priority"),
    "status": Sort("t.status", "text", "status code"),
}
_CASTS = {"big_int": "bigint", "cents": "bigint"}  # of the other types: text


def sorts(*names: str | tuple[str, str]) -> dict[str, Sort]:
    """Return sort orders by columns: the common ones, and text columns, described by their name or as (name, description)."""
    return {
        name: _COMMON_SORTS.get(name, Sort(f"t.{name}", "text", name.replace("_", " ")))
        if description is None
        else Sort(f"t.{name}", "text", description)
        for name, description in ((item, None) if isinstance(item, str) else item for item in names)
    }


def exact(value_type: str, *names: str, internal: bool = False, **descriptions: str) -> dict[str, EntityFilter]:
    """Return filters by the exact values of the columns of these names; the description defaults to `exact <name>`.

    A boolean filter accepts one value, the other types any of several.
    """
    described = {name: f"exact {name.replace('_', ' ')}" for name in names} | descriptions
    return {
        name: exact_value(value_type, f"t.{name}", description, internal=internal)
        for name, description in described.items()
    }


def exact_value(value_type: str, sql: str, description: str, *, internal: bool = False) -> EntityFilter:
    """Return a filter by the exact values of an expression."""
    if value_type == "boolean":
        return EntityFilter("boolean", flag(sql), description, internal=internal)
    return EntityFilter(
        value_type, any_of(sql, _CASTS.get(value_type, "text")), description, many=True, internal=internal
    )


def exact_normalized(sql: str, normalize: Callable[[str], str], description: str) -> EntityFilter:
    """Return a filter by the exact values of a text that is stored in the form that `normalize` returns."""
    condition = any_of(sql)
    return EntityFilter(
        "text", lambda v: condition([normalize(x) for x in (v if isinstance(v, list) else [v])]), description, many=True
    )


def created_range(verb: str = "created") -> dict[str, EntityFilter]:
    """Return the filters by a range of the time of creation."""
    return {
        "created_from": EntityFilter("time", compares("t.created_at", ">="), f"{verb} at or after this time"),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), f"{verb} before this time"),
    }


def ids(records: str) -> EntityFilter:
    """Return a filter by the entity's own ids."""
    return EntityFilter("id", by_ids, f"any of these {records}", many=True)


def statuses(type_: str = "switch_status") -> EntityFilter:
    """Return a filter by the codes of a status type."""
    return EntityFilter(type_, any_of("t.status", skewed=True), "any of these statuses", many=True)


def references(
    table: str,
    description: str,
    *,
    column: str = "",
    internal: bool = False,
    build: Callable[[str, str], Callable[[Any], Condition]] = refers_to,
) -> EntityFilter:
    """Return a filter by a reference; the column is by default `t.product_id` for `products`."""
    condition = build(column or f"t.{singular(table)}_id", table)
    return EntityFilter("id", condition, description, many=True, internal=internal, of_users=table == "users")


def optional_references(table: str, description: str, *, column: str = "", internal: bool = False) -> EntityFilter:
    """Return a filter by a nullable reference; 0 matches rows without one."""
    return references(table, description, column=column, internal=internal, build=refers_to_or_none)


def exact_second(column: str, label: str) -> EntityFilter:
    """Return an internal filter by the second of a timestamp, as the legacy API's Unix times need it."""
    return EntityFilter(
        "time", any_of(f"date_trunc('second', {column})", "timestamptz"), label, many=True, internal=True
    )


PRODUCT_NAME = "(SELECT p.name FROM products p WHERE p.tenant_id = t.tenant_id AND p.id = t.product_id)"
"""The name of a row's product."""


def substring(label: str, *columns: str) -> EntityFilter:
    """Return a filter by a part of any of the text columns, ignoring case and accents; for small tables."""
    return EntityFilter("text", contains_text(*columns), f"part of the {label}")


def contains_text(*columns: str) -> Callable[[Any], Condition]:
    """Match rows of which any column contains a text, ignoring case and accents; for small tables."""
    # PostgreSQL would fold a parameter again for each row.
    sql = " OR ".join(f"strpos(vitrine_fold({column}), {{}}::text) > 0" for column in columns)
    return lambda text: Condition(sql, (fold(text),) * len(columns))


def full_text_search(function: str) -> Callable[[Any], Condition]:
    """Match rows by words or beginnings of words, using the search function of the table."""

    def build(text: str) -> Condition:
        query = prefix_tsquery(text)
        if query is None:
            return Condition("false") if text.strip() else Condition("true")
        # A function, because `@@` is not leakproof, so row-level security would prevent use of the index. The result is an array,
        # because the planner would join an `IN (SELECT …)` with all rows of the store.
        return Condition(f"t.id = ANY(ARRAY(SELECT {function}({{}}::text::tsquery)))", (query,))

    return build


def refers_to_or_none(column: str, table: str) -> Callable[[Any], Condition]:
    """Match rows whose `column` refers to any of the named records; 0 matches rows without a reference."""
    refers = refers_to(column, table)

    def build(value: Any) -> Condition:
        values = value if isinstance(value, list) else [value]
        if 0 not in values:
            return refers(values)
        condition = refers([item for item in values if item != 0])
        return Condition(f"{column} IS NULL OR {condition.sql}", condition.params)

    return build


def linked_to(
    table: str, key: str, column: str, target: str, description: str, *, internal: bool = False
) -> EntityFilter:
    """Return a filter of rows that an association table links by its `key` to records of `target`, to which its `column` refers."""
    refers = refers_to(f"l.{column}", target)
    return EntityFilter(
        "id",
        lambda value: has_any_id("t.id", f"{table} l", f"l.{key}", refers(value)),
        description,
        many=True,
        internal=internal,
    )


def has_vendor_name(value: Any) -> Condition:
    """Match rows whose vendor has any of the names; the empty text matches rows without a vendor."""
    values = value if isinstance(value, list) else [value]
    named = has_any_id("t.vendor_id", "vendors x", "x.id", Condition("x.name = ANY({}::text[])", (values,)))
    return Condition(named.sql + (" OR t.vendor_id IS NULL" if "" in values else ""), named.params)
