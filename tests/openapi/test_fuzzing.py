"""Fuzz every documented operation with schemathesis, valid and invalid: no 500, no undocumented status or body.

Half of the path parameters name existing records, so that not every request is a 404.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from auth.storefront_keys import create_storefront_key
from kernel.scope import active_scope
from server.openapi.documents import documents
from tests.harness.oauth import issue_tokens, register_app
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import unused_ip
from tests.media.conftest import media_folder, renderer

__all__ = ["media_folder", "renderer"]  # fixtures

load_all_checks()
CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
# Valid and invalid requests per operation.
TIMES = 3
# The timeout of aiohttp's test client; no request should take a hundredth of it.
SECONDS = 30
APP_SCOPES = [
    f"write_{part}" for part in ("products", "orders", "users", "categories", "inventory", "content", "shipping")
]

SCHEMAS = {name: schemathesis.openapi.from_dict(dict(document)) for name, document in documents().items()}


def _operations() -> Iterator[Any]:
    for name, document in documents().items():
        for path, methods in document["paths"].items():
            for method in methods:
                yield pytest.param(name, path, method, id=f"{name} {method.upper()} {path}")


async def _app_token(sample: SampleStore) -> str:
    owner = await sample.client(sample.owner)
    app = await register_app(owner, scopes=APP_SCOPES)
    return str((await issue_tokens(owner, app, APP_SCOPES))["access_token"])


async def _credentials(sample: SampleStore, schemes: list[str]) -> dict[str, str]:
    """Return the headers of a caller with all privileges, for the operation's security schemes."""
    if "basic" in schemes:
        return {"Authorization": sample.owner.basic}
    if "user" in schemes:
        return {"Authorization": f"Bearer {await sample.token(sample.owner)}"}
    if "app" in schemes:
        return {"Authorization": f"Bearer {await _app_token(sample)}"}
    if "storefront_key" in schemes:
        with active_scope(sample.scope):
            key = await create_storefront_key(sample.scope, {"name": "fuzz", "rate_limit": 100_000})
        return {"X-API-Key": key.key}
    return {}


def _existing_ids(sample: SampleStore) -> list[str]:
    """List numbers and UUIDs of the store's records; which kind the path needs is left to chance."""
    ids: list[str] = []
    for record in sample.records.values():
        for attribute in ("number", "id"):
            value = getattr(record, attribute, None)
            if isinstance(value, int | str):
                ids.append(str(value))
    return sorted(set(ids))


def _fuzz(strategy: st.SearchStrategy[Case], send: Callable[[Case], None], ids: list[str], times: int) -> None:
    @settings(
        max_examples=times,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy, record_id=st.one_of(st.none(), st.sampled_from(ids)))
    def run(case: Case, record_id: str | None) -> None:
        if record_id is not None:
            case.path_parameters = dict.fromkeys(case.path_parameters or (), record_id)
        send(case)

    run()


@pytest.mark.usefixtures("media_folder")
@pytest.mark.parametrize("name,path,method", list(_operations()))
async def test_responses_match_their_documentation(sample: SampleStore, name: str, path: str, method: str) -> None:
    operation = SCHEMAS[name][path][method]
    documented = documents()[name]["paths"][path][method]
    schemes = [scheme for requirement in documented["security"] for scheme in requirement]
    headers = {
        **await _credentials(sample, schemes),
        "X-Tenant-ID": str(sample.store.public_id),
        "X-Forwarded-For": unused_ip(),
    }
    base = str(sample.http.make_url("")).rstrip("/")

    def send(case: Case) -> None:
        extra_headers = {key: value for key, value in (case.headers or {}).items() if key not in headers}
        response = case.call(base_url=base, session=session, headers={**extra_headers, **headers}, timeout=SECONDS)
        case.validate_response(response, checks=CHECKS)

    ids = _existing_ids(sample)
    with requests.Session() as session:
        session.trust_env = False  # read again for each request
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            strategy = operation.as_strategy(generation_mode=mode)
            await asyncio.to_thread(_fuzz, strategy, send, ids, TIMES)
