"""Read a page of every list of the GraphQL schema, in each of its orders, counted and filtered, and note what takes long.

A list that a later version adds is read too. Large tables of which PostgreSQL has read all rows meanwhile are named: there a list has no
index for its order.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import asyncpg
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    build_schema,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_required_argument,
)

from bench import load, measurement
from bench.requests import RequestData, http
from bench.servers import ROOT, Server

SLOW_MS = 500
_REPEATS = 5
_LARGE = 50_000
_SHOWN = 12
_PAGE = 50
_SCANS = "select relname::text as name, seq_scan, n_live_tup from pg_stat_user_tables"
# Filters of orders besides those by sort: what the back office offers, and what no index fits.
_ORDER_FILTERS = (
    'search: "ana"',
    'search: "no such customer"',
    'email: "user7@example.com"',
    "status: [C]",
    "status: [B]",
    "payment_status: [paid]",
    "payment_status: [chargeback]",
    'updated_from: "2025-06-01T00:00:00Z"',
    'created_from: "2025-06-01T00:00:00Z", created_before: "2025-06-08T00:00:00Z"',
    "total_from: 100000",
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of a list, median and longest of its repeats."""

    document: str
    median: float
    longest: float


def read_lists(server: Server, data: RequestData) -> list[Timing]:
    """Read every list several times; return the times, the slowest first."""
    timings = []
    for document in _documents(build_schema((ROOT / "schema" / "public.graphql").read_text(encoding="utf-8"))):
        data.token = data.token or measurement.sign_in(server, data)
        times = []
        for _ in range(_REPEATS + 1):
            started_at = time.perf_counter()
            answer = load.send_request(server.address, http("POST", "/graphql", data.bearer, {"query": document}))
            times.append((time.perf_counter() - started_at) * 1_000)
            assert answer.status == 200, (document, answer)
            assert b'"errors"' not in answer.body, (document, answer.body[:500])
        # The first one compiles the operation.
        timings.append(Timing(document, statistics.median(times[1:]), max(times[1:])))
    return sorted(timings, key=lambda timing: -timing.median)


async def whole_reads(url: str) -> dict[str, int]:
    """Return how often all rows of each large table have been read."""
    connection = await asyncpg.connect(url)
    try:
        return {row["name"]: row["seq_scan"] for row in await connection.fetch(_SCANS) if row["n_live_tup"] >= _LARGE}
    finally:
        await connection.close()


def report(timings: list[Timing], before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Return the slowest lists, how many are too slow, and the large tables read as a whole."""
    slow = [timing for timing in timings if timing.median > SLOW_MS]
    tables = {name: count - before.get(name, 0) for name, count in after.items() if count > before.get(name, 0)}
    return "\n".join((
        f"{len(timings)} lists of GraphQL; slower than {SLOW_MS} ms: {len(slow)}; large tables read as a whole:"
        f" {', '.join(f'{name} {count} times' for name, count in sorted(tables.items())) or 'none'}",
        "",
        "| Slowest lists, ms | median | longest |",
        "|---|---:|---:|",
        *(
            f"| `{timing.document}` | {timing.median:.0f} | {timing.longest:.0f} |"
            for timing in timings[: max(_SHOWN, len(slow))]
        ),
        "",
    ))  # fmt: skip


def _documents(schema: GraphQLSchema) -> Iterator[str]:
    assert schema.query_type is not None
    for name, field in schema.query_type.fields.items():
        if any(is_required_argument(argument) for argument in field.args.values()):
            continue
        if name.endswith("_connection"):
            edge = _member(field.type, "edges")
            nodes = f"edges {{ node {{ {_columns(_member(edge.type, 'node').type)} }} }}"
            for order in _orders(field):
                yield f"{{ {name}(first: {_PAGE}{order}) {{ {nodes} }} }}"
            if name == "order_connection":
                yield from (
                    f"{{ {name}(first: {_PAGE}, filter: {{{text}}}) {{ {nodes} }} }}" for text in _ORDER_FILTERS
                )
        elif name.endswith("_page"):
            yield f"{{ {name}(per_page: {_PAGE}) {{ total }} }}"
            filters = field.args["filter"].type if "filter" in field.args else None
            if isinstance(filters, GraphQLInputObjectType) and "search" in filters.fields:
                yield f'{{ {name}(per_page: {_PAGE}, filter: {{search: "ana"}}) {{ total items {{ id }} }} }}'


def _orders(field: GraphQLField) -> list[str]:
    sort = get_nullable_type(field.args["sort"].type) if "sort" in field.args else None
    return [f", sort: {value}" for value in sort.values] if isinstance(sort, GraphQLEnumType) else [""]


def _member(type_: GraphQLOutputType, name: str) -> GraphQLField:
    object_type = get_named_type(type_)
    assert isinstance(object_type, GraphQLObjectType), object_type
    field: GraphQLField = object_type.fields[name]
    return field


def _columns(type_: GraphQLOutputType) -> str:
    """Return the members of a record that are values and need no argument."""
    record = get_named_type(type_)
    assert isinstance(record, GraphQLObjectType), record
    return " ".join(
        name
        for name, field in record.fields.items()
        if is_leaf_type(get_named_type(field.type)) and not any(map(is_required_argument, field.args.values()))
    )
