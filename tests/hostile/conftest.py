"""Fixtures of the tests with hostile documents: both ways of execution, and an application with low limits."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from kernel.settings import Settings
from resolvers.engine import compile as query_compiler
from tests.harness.http import HttpClient, Response, ServeApplication
from tests.harness.sample_store import SampleStore

Query: TypeAlias = Callable[..., Coroutine[Any, Any, Response]]

# The limits of the application with low limits.
MAX_OBJECTS, MAX_BYTES = 20, 20_000


@pytest.fixture(params=[True, False], ids=["compiled", "executor"])
def execution(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the test with compiled reads and with the executor."""
    previous = query_compiler._enabled
    query_compiler.set_enabled(request.param)
    yield
    query_compiler.set_enabled(previous)


@pytest.fixture
def query(sample: SampleStore) -> Query:
    """Return a function that executes a document as the owner of the sample store."""
    return _query(sample)


@pytest.fixture(scope="session")
async def limited_http(serve_application: ServeApplication) -> HttpClient:
    """Return a connection to an application with low limits."""
    return await serve_application(
        Settings(ip_rate=0, failed_auth_rate=0, graphql_max_objects=MAX_OBJECTS, graphql_max_bytes=MAX_BYTES)
    )


@pytest.fixture
def limited_query(sample: SampleStore, limited_http: HttpClient) -> Query:
    """Return a function that executes a document in the application with low limits."""
    return _query(replace(sample, http=limited_http))


def _query(sample: SampleStore) -> Query:
    async def execute(document: str, **variables: Any) -> Response:
        return await sample.post("/graphql", {"query": document, "variables": variables}, auth="bearer")

    return execute


def assert_refused(response: Response, message: str) -> None:
    """Assert that a document is refused as too complex, without data, in a short answer."""
    assert response.status == 200
    assert "data" not in response.body
    [error] = response.body["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COMPLEX"
    assert error["message"] == message
    assert len(response.raw) < 1_000
