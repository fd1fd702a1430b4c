"""Fuzz `/graphql` over the whole schema as every kind of caller: an error is well formed and has a code, never INTERNAL.

No answer is over its limits or holds a text of another store, whatever a document asks for. The compiled answers of mutations are those of
the executor.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st

from auth.storefront_keys import create_storefront_key
from kernel.errors import DomainError
from kernel.ids import uuid7
from kernel.request_bodies import MalformedBody, parse_json
from kernel.scope import Scope, active_scope
from kernel.settings import Settings
from resolvers import execute, root
from resolvers.engine.executor import CODES
from rest_facade import apps, current
from rest_facade.legacy.resource_operations import load_legacy_operations
from rest_facade.records import FRAGMENTS
from tests.harness.compared_answers import compare_answers
from tests.harness.http import Client, HttpClient, Response, ServeApplication, bearer
from tests.harness.oauth import issue_tokens, register_app
from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.hostile.fuzzing import fuzz
from tests.hostile.hostile_documents import DocumentGenerator

# Documents per caller.
EXAMPLES = 60
RANDOMS = st.randoms(use_true_random=False, note_method_calls=False)
MAX_OBJECTS, MAX_BYTES = 3_000, 300_000
MARKER = "Zq7segredo"
CALLERS: dict[str, Callable[[SampleStore], Awaitable[Client]]] = {}
# Before GraphQL runs (server/http/graphql_view.py).
REQUEST_CODES = CODES | {"PERSISTED_DOCUMENT_NOT_FOUND", "GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED"}


def caller(function: Callable[[SampleStore], Awaitable[Client]]) -> Callable[[SampleStore], Awaitable[Client]]:
    CALLERS[function.__name__] = function
    return function


@caller
async def anonymous(sample: SampleStore) -> Client:
    return sample.anonymous


@caller
async def storefront_key(sample: SampleStore) -> Client:
    with active_scope(sample.scope):
        made = await create_storefront_key(sample.scope, {"name": uuid7().hex, "rate_limit": 100_000})
    return replace(sample.anonymous, credentials={"X-API-Key": made.key})


@caller
async def storefront_customer(sample: SampleStore) -> Client:
    key = await storefront_key(sample)
    signed_in = await customer(sample)
    return replace(key, credentials={**key.credentials, **signed_in.credentials})


@caller
async def customer(sample: SampleStore) -> Client:
    return await sample.client(await sample.add_user())


@caller
async def vendor(sample: SampleStore) -> Client:
    return await sample.client(await sample.add_user(user_type="V", vendor_id=sample.vendor.number))


@caller
async def owner(sample: SampleStore) -> Client:
    return await sample.client(sample.owner)


@caller
async def administrator_with_one_privilege(sample: SampleStore) -> Client:
    return await sample.client(await sample.add_user("view_orders"))


async def _app(sample: SampleStore, *scopes: str) -> Client:
    # The credential may have been revoked by a mutation of the owner: a new one.
    sample.tokens.clear()
    installer = await sample.client(sample.owner)
    app = await register_app(installer, scopes=list(scopes))
    tokens = await issue_tokens(installer, app, list(scopes))
    return replace(installer, credentials=bearer(tokens["access_token"]))


@caller
async def app_with_few_scopes(sample: SampleStore) -> Client:
    return await _app(sample, "read_products")


@caller
async def app_with_many_scopes(sample: SampleStore) -> Client:
    return await _app(sample, "write_products", "write_orders", "write_users", "write_categories", "write_content")


@pytest.fixture(scope="session")
async def fuzzed_http(serve_application: ServeApplication) -> HttpClient:
    """Return a connection to an application with limits that fuzzing reaches."""
    return await serve_application(
        Settings(ip_rate=0, failed_auth_rate=0, graphql_max_objects=MAX_OBJECTS, graphql_max_bytes=MAX_BYTES)
    )


@pytest.fixture(scope="session")
async def marked_sample(new_sample: NewSampleStore) -> SampleStore:
    """Return a store all of whose texts hold a marker, where a constraint allows it."""
    marked = await new_sample()
    columns = await marked.rows(
        "SELECT c.table_name, c.column_name FROM information_schema.columns c"
        " JOIN information_schema.columns t ON t.table_schema = c.table_schema AND t.table_name = c.table_name"
        " WHERE c.table_schema = 'public' AND t.column_name = 'tenant_id' AND c.data_type = 'text' AND c.is_generated = 'NEVER'"
    )
    count = 0
    for table, column in columns:
        try:
            count += await marked.execute(
                f"UPDATE {table} SET {column} = {column} || '{MARKER}' WHERE tenant_id = {marked.store.id}"
            )
        except Exception:  # a constraint of the column, or no privilege to change it
            continue
    assert count > 100
    return marked


def _check(response: Response, request: dict[str, Any]) -> None:
    """Check what every answer promises."""
    assert response.status < 500, response
    assert len(response.raw) <= MAX_BYTES
    assert MARKER.encode() not in response.raw
    if response.status == 405:
        return
    body = response.body
    assert isinstance(body, dict)
    if "error" in body:  # refused before GraphQL
        assert response.status in (400, 401, 403, 404, 409, 413, 429)
        assert body["status"] == response.status
        return
    assert {"data", "errors"} & set(body), request
    for error in body.get("errors", ()):
        assert error["message"]
        assert error["extensions"]["code"] in REQUEST_CODES - {"INTERNAL"}, (error, request)
    assert "errors" not in body or body["errors"]
    assert _count_objects(body.get("data")) <= MAX_OBJECTS


def _count_objects(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_count_objects, value.values()))
    return sum(map(_count_objects, value)) if isinstance(value, list) else 0


def _records(*samples: SampleStore) -> list[str]:
    return sorted({record.id for sample in samples for record in sample.records.values() if hasattr(record, "id")})


@pytest.fixture(autouse=True)
def _compared_answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    different = compare_answers(monkeypatch)
    yield
    assert different == []


@pytest.mark.slow
@pytest.mark.parametrize("hostility", [0.02, 0.2])
@pytest.mark.parametrize("name", CALLERS)
async def test_every_answer_is_well_formed(
    name: str, hostility: float, new_sample: NewSampleStore, fuzzed_http: HttpClient, marked_sample: SampleStore
) -> None:
    sample = replace(await new_sample(), http=fuzzed_http)
    client = await CALLERS[name](sample)
    # Fields of the internal schema are invalid, and never executed.
    schemas = [root.public_schema()] * 9 + [root.internal_schema()]
    ids = _records(sample, marked_sample)
    codes: dict[str, int] = {}

    async def run(rng: Random) -> None:
        nonlocal client
        request = DocumentGenerator(rng.choice(schemas), ids, rng, hostility).request()
        response = await client.post(
            "/graphql", data=json.dumps(request).encode(), headers={"Content-Type": "application/json"}
        )
        _check(response, request)
        for error in response.body.get("errors", [{"extensions": {"code": "none"}}]) if response.raw else ():
            codes[error["extensions"]["code"]] = codes.get(error["extensions"]["code"], 0) + 1
        if response.status == 401 and name != "anonymous":
            client = await CALLERS[name](sample)  # the document signed the caller out

    await fuzz(run, EXAMPLES, RANDOMS)
    assert codes.keys() >= {"VALIDATION_FAILED"} or name == "anonymous", codes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["anonymous", "customer", "vendor", "app", "admin"])
async def test_operations_of_the_facades_raise_only_domain_errors(
    name: str, new_sample: NewSampleStore, marked_sample: SampleStore
) -> None:
    """The internal schema is reached through these documents alone; their variables come from clients."""
    sample = await new_sample()
    scopes: dict[str, Scope] = {
        "anonymous": sample.as_anonymous(),
        "customer": sample.as_customer(sample.caio.number),
        "vendor": sample.as_vendor(sample.vendor.number),
        "app": sample.as_app(scopes=frozenset({"read_products"})),
        "admin": sample.as_admin(user_id=sample.owner.number),
    }
    operations = [
        *execute.load_operations(current.OPERATIONS, FRAGMENTS).values(),
        *execute.load_operations(apps.OPERATIONS, FRAGMENTS).values(),
        *load_legacy_operations().values(),
    ]
    ids = _records(sample, marked_sample)

    async def run(rng: Random) -> None:
        operation = rng.choice(operations)
        generator = DocumentGenerator(root.internal_schema(), ids, rng, 0.1)
        variables = generator.variables_of(operation.definition)
        try:  # what no body can hold
            parse_json(json.dumps(variables).encode())
        except MalformedBody:
            return
        scope = replace(scopes[name], request_id=str(uuid7()))
        with active_scope(scope):
            answer: object
            try:
                answer = await execute.execute(scope, operation, variables)
            except DomainError as error:
                answer = error
        assert MARKER not in str(answer), operation.name

    await fuzz(run, 2 * EXAMPLES, RANDOMS)
