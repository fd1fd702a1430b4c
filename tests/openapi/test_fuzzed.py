"""Send every documented operation what schemathesis makes of its description, right and wrong: no 500, no undocumented status or body.

The address names records of the shop as often as invented ones, so that the operations are reached and not only their 404.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from auth.storefront_keys import create_storefront_key
from kernel.scope import entered
from server.openapi.documents import documents
from tests.current.kit import Caller
from tests.current.oauth import register, tokens_of
from tests.shop import Shop, some_address

load_all_checks()
CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
# Each is sent so many times what fits its description, and so many times what doesn't.
TIMES = 4
# aiohttp's client of the tests waits for as long; nothing here should take a hundredth of it.
SECONDS = 30
APP_SCOPES = [
    f"write_{part}"
    for part in ("products", "orders", "users", "categories", "inventory", "content", "shipping")
]

SCHEMAS = {name: schemathesis.openapi.from_dict(dict(document)) for name, document in documents().items()}


def _operations() -> Iterator[Any]:
    for name, document in documents().items():
        for path, methods in document["paths"].items():
            for method in methods:
                yield pytest.param(name, path, method, id=f"{name} {method.upper()} {path}")


async def _app_token(shop: Shop) -> str:
    owner = Caller(shop.client, shop.store, await shop.token(shop.owner), some_address())
    app = await register(owner, scopes=APP_SCOPES)
    return str((await tokens_of(owner, app, APP_SCOPES))["access_token"])


async def _credentials(shop: Shop, schemes: list[str]) -> dict[str, str]:
    """Give the headers that let the caller in with every right, for what the operation asks for."""
    if "basic" in schemes:
        return {"Authorization": shop.owner.basic}
    if "user" in schemes:
        return {"Authorization": f"Bearer {await shop.token(shop.owner)}"}
    if "app" in schemes:
        return {"Authorization": f"Bearer {await _app_token(shop)}"}
    if "storefront_key" in schemes:
        with entered(shop.scope()):
            made = await create_storefront_key(shop.scope(), {"name": "fuzz", "rate_limit": 100_000})
        return {"X-API-Key": made.key}
    return {}


def _known(shop: Shop) -> list[str]:
    """Name records of the shop by number and UUID; which kind the address wants is left to chance."""
    named: list[str] = []
    for each in shop.made.values():
        for attribute in ("number", "id"):
            value = getattr(each, attribute, None)
            if isinstance(value, int | str):
                named.append(str(value))
    return sorted(set(named))


def _fuzz(
    strategy: st.SearchStrategy[Case], send: Callable[[Case], None], ids: list[str], times: int
) -> None:
    @settings(
        max_examples=times,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy, named=st.one_of(st.none(), st.sampled_from(ids)))
    def each(case: Case, named: str | None) -> None:
        if named is not None:
            case.path_parameters = dict.fromkeys(case.path_parameters or (), named)
        send(case)

    each()


@pytest.mark.parametrize("name,path,method", list(_operations()))
async def test_an_operation_answers_as_it_is_documented(
    shop: Shop, name: str, path: str, method: str
) -> None:
    operation = SCHEMAS[name][path][method]
    documented = documents()[name]["paths"][path][method]
    schemes = [scheme for each in documented["security"] for scheme in each]
    headers = {
        **await _credentials(shop, schemes),
        "X-Tenant-ID": str(shop.store.public_id),
        "X-Forwarded-For": some_address(),
    }
    base = str(shop.client.make_url("")).rstrip("/")

    def send(case: Case) -> None:
        given_headers = {key: value for key, value in (case.headers or {}).items() if key not in headers}
        response = case.call(base_url=base, headers={**given_headers, **headers}, timeout=SECONDS)
        case.validate_response(response, checks=CHECKS)

    ids = _known(shop)
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        strategy = operation.as_strategy(generation_mode=mode)
        await asyncio.to_thread(_fuzz, strategy, send, ids, TIMES)
