"""Fixtures: a folder for the files of bulk operations, and a worker that executes those that are due."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from auth.store_resolution import invalidate_store
from domain import stores
from domain.bulk import configuration
from domain.bulk.configuration import BulkConfiguration, configure
from domain.bulk.operations import MUTATION, QUERY
from kernel.scope import active_scope
from resolvers import bulk_mutations, bulk_queries
from server.workers.bulk import BulkWorker
from tests.harness.files import used_storage
from tests.harness.http import Client, Response
from tests.harness.oauth import graphql_error, graphql_result
from tests.harness.scopes import system_scope

FIELDS = "id kind state object_count root_object_count error_count file_size error_code error_message expires_at result { url expires_at }"
CREATE = f"mutation ($text: String!) {{ bulk_query_create(query: $text) {{ {FIELDS} }} }}"
SHOW = f"query ($id: ID!) {{ bulk_operation(id: $id) {{ {FIELDS} }} }}"
UPLOAD = "mutation { bulk_upload_create { id url expires_at max_bytes } }"
CREATE_MUTATION = (
    "mutation ($text: String!, $upload: ID!, $all: Boolean!)"
    f" {{ bulk_mutation_create(mutation: $text, upload: $upload, all_or_nothing: $all) {{ {FIELDS} }} }}"
)
CANCEL = f"mutation ($id: ID!) {{ bulk_operation_cancel(id: $id) {{ {FIELDS} }} }}"


Lines: TypeAlias = bytes | list[dict[str, Any]]


def encode(lines: Lines) -> bytes:
    return lines if isinstance(lines, bytes) else b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@dataclass(frozen=True)
class Bulk:
    """The bulk operations of the test."""

    folder: Path

    async def create(self, client: Client, query: str) -> Any:
        return await graphql_result(client, CREATE, text=query)

    async def refusal(self, client: Client, query: str) -> dict[str, Any]:
        return await graphql_error(client, CREATE, text=query)

    async def upload(self, client: Client, content: bytes) -> str:
        """Upload a file without a credential and return the id of the upload."""
        upload = await graphql_result(client, UPLOAD)
        response = await Client(client.http, client.store).put(upload["url"], data=content)
        assert (response.status, response.body) == (201, {"size": len(content)}), response
        return upload["id"]

    async def create_mutation(self, client: Client, mutation: str, lines: Lines, *, all: bool = False) -> Any:
        upload = await self.upload(client, encode(lines))
        return await graphql_result(client, CREATE_MUTATION, text=mutation, upload=upload, all=all)

    async def mutate(self, client: Client, mutation: str, lines: Lines, *, all: bool = False) -> tuple[Any, list[Any]]:
        """Execute a mutation for each line and return the operation and its results."""
        created = await self.create_mutation(client, mutation, lines, all=all)
        await self.work()
        operation = await self.show(client, created["id"])
        return operation, await self.results(client, operation)

    async def results(self, client: Client, operation: Any) -> list[Any]:
        if operation["result"] is None:
            return []
        response = await download(client, operation)
        assert response.status == 200
        return [json.loads(line) for line in response.raw.splitlines()]

    async def show(self, client: Client, id: str) -> Any:
        return await graphql_result(client, SHOW, id=id)

    async def cancel(self, client: Client, id: str) -> Any:
        return await graphql_result(client, CANCEL, id=id)

    async def work(self) -> int:
        """Execute all operations that are due and return their number."""
        worker, executed = BulkWorker({QUERY: bulk_queries.run, MUTATION: bulk_mutations.run}), 0
        while await worker.run_next():
            executed += 1
        return executed

    async def result(self, client: Client, query: str) -> list[Any]:
        """Return the lines of a query's result."""
        created = await self.create(client, query)
        await self.work()
        operation = await self.show(client, created["id"])
        assert operation["state"] == "completed", operation
        response = await download(client, operation)
        assert response.status == 200
        lines = [json.loads(line) for line in response.raw.splitlines()]
        assert operation["object_count"] == len(lines)
        assert operation["file_size"] == len(response.raw)
        return lines


async def limit_rows(client: Client, rows: int) -> None:
    """Let the store have this many lines of bulk operations today."""
    scope = system_scope(client.store)
    with active_scope(scope):
        await stores.set_limits(scope, {"bulk_rows_per_day": rows})
        await invalidate_store(client.store.id)


async def download(client: Client, operation: Any, **headers: str) -> Response:
    """Load the result of an operation without a credential, uncompressed unless the headers ask for more."""
    anonymous = Client(client.http, client.store)
    return await anonymous.get(operation["result"]["url"], headers={"Accept-Encoding": "identity", **headers})


@pytest.fixture
async def bulk(database: object, tmp_path: Path) -> AsyncIterator[Bulk]:
    before = configuration.configured()
    configure(BulkConfiguration(tmp_path / "bulk"))
    bulk = Bulk(tmp_path)
    with used_storage((tmp_path / "storage").as_uri()):
        await bulk.work()  # what tests of other modules created
        yield bulk
    configure(before)
