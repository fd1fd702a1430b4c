"""Without a credential only sign-in and registration are executed, whatever was cached before; development servers answer introspection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from graphql import get_introspection_query

from auth.schemes import authenticate
from auth.store_resolution import CachedStoreResolver
from kernel.settings import Settings
from resolvers.engine import compile as query_compiler
from server.app import create_app
from tests.harness.http import HttpClient
from tests.harness.sample_store import SampleStore

DOCUMENTS = ("{ __typename }", "{ store { __typename } }", "{ products { id } }", "{}", "mutation {}")


@pytest.fixture(scope="session")
async def development(database: object, aiohttp_client: Any) -> HttpClient:
    """Return a connection to a development server, which allows introspection without a credential."""
    settings = Settings(ip_rate=0, failed_auth_rate=0)
    client: HttpClient = await aiohttp_client(
        create_app(
            settings,
            store_resolver=CachedStoreResolver(settings.shared_hosts),
            authenticate=authenticate,
            anonymous_introspection=True,
        )
    )
    return client


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_compiler, "_enabled", True)


@pytest.mark.parametrize("document", DOCUMENTS)
async def test_a_cached_plan_is_not_executed_without_a_credential(
    document: str, sample: SampleStore, development: HttpClient
):
    for server in (sample, replace(sample, http=development)):
        for _ in range(2):  # the first compiles the plan, the second executes it
            assert "data" in (await server.post("/graphql", {"query": document}, auth="bearer")).body
        response = await server.post("/graphql", {"query": document}, auth=None)
        assert (response.status, response.body["error"]) == (401, "missing authorization header"), server


async def test_a_development_server_answers_introspection(sample: SampleStore, development: HttpClient):
    response = await replace(sample, http=development).post(
        "/graphql", {"query": "{ __schema { queryType { name } } }"}, auth=None
    )
    assert response.body["data"] == {"__schema": {"queryType": {"name": "Query"}}}
    refused = await sample.post("/graphql", {"query": "{ __schema { queryType { name } } }"}, auth=None)
    assert refused.status == 401


async def test_a_development_server_answers_the_introspection_of_tools(sample: SampleStore, development: HttpClient):
    """With all options; graphql-js indents it to as many characters."""
    query = get_introspection_query(
        specified_by_url=True, directive_is_repeatable=True, schema_description=True, input_value_deprecation=True
    )
    response = await replace(sample, http=development).post("/graphql", {"query": f"{query:2075}"}, auth=None)
    assert response.body["data"]["__schema"]["queryType"]["name"] == "Query"


@pytest.mark.parametrize("name", ["__schema", "__type"])
async def test_a_fragment_named_like_introspection_is_not_introspection(
    name: str, sample: SampleStore, development: HttpClient
):
    document = f"{{ ...{name} }} fragment {name} on Query {{ products {{ id }} }}"
    response = await replace(sample, http=development).post("/graphql", {"query": document}, auth=None)
    assert (response.status, response.body["error"]) == (401, "missing authorization header")
