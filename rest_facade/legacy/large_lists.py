"""Stream the large pages of CS-Cart's dialect: up to 50,000 records, or all, in constant memory (docs/reference/legacy.md#large-pages).

First the numbers of the page's records are read, then the records in small batches, each written before the next is read. So a page takes
eight bytes a record, other requests are served between two batches, and no database connection is occupied while a slow client reads.
A record deleted meanwhile is left out.
"""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from kernel.record_conversion import RecordConversion
from kernel.scope import Scope
from resolvers.execute import FacadeOperation, execute
from rest_facade.legacy.queries import ALL_RECORDS, MAX_SIZE, ListQuery, params_of
from rest_facade.legacy.resource import Record, Resource
from rest_facade.responses import JSON, to_json
from rest_facade.streaming import send_parts

_BATCH = 100
# The largest page of GraphQL.
_NUMBERS_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class LargeList:
    """The operations that read an entity's records and only their numbers."""

    resource: Resource
    records: FacadeOperation
    numbers: FacadeOperation

    async def count(self, scope: Scope, variables: Mapping[str, Any]) -> int:
        """Return the number of records that match the filter."""
        page = (await execute(scope, self.records, {**variables, "page": 1, "per_page": 0}))["page"]
        total: int = page["total"]
        return total

    async def read_numbers(self, scope: Scope, query: ListQuery, total: int) -> array[int]:
        """Return the numbers of the page's records, in the order of the query."""
        first = (query.page - 1) * query.size
        wanted = max(0, min(query.size, total - first)) if query.size != ALL_RECORDS else total
        numbers: array[int] = array("q")
        # Whole pages of GraphQL that contain the requested one, so that any page size can be read.
        page, skipped = divmod(first, _NUMBERS_BATCH)
        while len(numbers) < wanted:
            page += 1
            variables = {**query.variables, "page": page, "per_page": _NUMBERS_BATCH}
            rows = (await execute(scope, self.numbers, variables))["page"]["items"]
            if not rows:
                break
            numbers.extend(row["number"] for row in rows[skipped : skipped + wanted - len(numbers)])
            skipped = 0
        return numbers

    async def read_batches(
        self, scope: Scope, numbers: array[int], variables: Mapping[str, Any], render: RecordConversion
    ) -> AsyncIterator[list[Record]]:
        """Yield the rendered records in the order of their numbers."""
        number_field = self.resource.number_field
        for start in range(0, len(numbers), _BATCH):
            batch = [str(number) for number in numbers[start : start + _BATCH]]
            of_batch = {
                "page": 1,
                "per_page": _BATCH,
                "filter": {number_field.filter_name: batch},
                "sort": None,
                **variables,
            }
            rows = map(render, (await execute(scope, self.records, of_batch))["page"]["items"])
            by_number = {str(row[number_field.name]): row for row in rows}
            yield [by_number[number] for number in batch if number in by_number]


def is_large(query: ListQuery) -> bool:
    """Return whether a page is sent in pieces."""
    return not query.matches_nothing and (query.size == ALL_RECORDS or query.size > MAX_SIZE)


async def stream_list(
    request: web.Request,
    scope: Scope,
    large_list: LargeList,
    query: ListQuery,
    variables: Mapping[str, Any],
    render: RecordConversion,
    name: str,
) -> web.StreamResponse:
    """Send a page in pieces; a failure after the first one closes the connection, since the status has been sent.

    `variables` are those of the operation besides the query's, such as permissions.
    """
    total = await large_list.count(scope, {**query.variables, **variables})
    numbers = await large_list.read_numbers(scope, query, total)
    batches = large_list.read_batches(scope, numbers, variables, render)
    parts = _parts(large_list.resource, batches, name, params_of(query, total))
    return await send_parts(request, JSON, parts, query.headers)


async def _parts(
    resource: Resource, batches: AsyncIterator[list[Record]], name: str, params: Mapping[str, Any]
) -> AsyncIterator[bytes]:
    """Yield the JSON of a page by batches."""
    opening, closing = (b"{", b"}") if resource.always_keyed else (b"[", b"]")
    if not resource.unwrapped:
        opening = b"{" + to_json(name) + b":" + opening
        closing += b',"params":' + to_json(params) + b"}"
    separator = opening
    async for rows in batches:
        entries = b",".join(_entry(resource, row) for row in rows)
        yield separator + entries if entries else b""
        separator = b"," if entries else separator
    yield (opening if separator == opening else b"") + closing


def _entry(resource: Resource, row: Record) -> bytes:
    return to_json(row[resource.key]) + b":" + to_json(row) if resource.always_keyed else to_json(row)
