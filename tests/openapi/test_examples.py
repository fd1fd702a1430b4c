"""The request bodies of the OpenAPI documents have examples that fit their schemas, and are requests that succeed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from server.openapi.documents import documents
from server.openapi.examples import PLACEHOLDER
from tests.harness.http import Client
from tests.harness.oauth import graphql_result, issue_tokens, register_app
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient

STOREFRONT = "/api/v1/storefront/"


def bodies(name: str) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield method, path, media type and description of each request body of a document."""
    for path, methods in documents()[name]["paths"].items():
        for method, operation in methods.items():
            for media, described in operation.get("requestBody", {}).get("content", {}).items():
                yield method.upper(), path, media, described


def example(name: str, method: str, path: str) -> dict[str, Any]:
    bodies_by_route = {(method, path): described for method, path, _, described in bodies(name)}
    body: dict[str, Any] = bodies_by_route[method, path]["example"]
    return body


@pytest.mark.parametrize("name", ["current", "apps", "legacy"])
def test_every_body_has_an_example_that_fits_its_schema(name: str) -> None:
    components = documents()[name]["components"]
    shown = list(bodies(name))
    assert shown
    for method, path, _, described in shown:
        validator = Draft202012Validator({**described["schema"], "components": components})
        assert described["example"], (method, path)
        assert not list(validator.iter_errors(described["example"])), (method, path)


@pytest.mark.parametrize(
    "path", ["/api/v1/admin/categories", "/api/v1/admin/products", "/api/v1/admin/storefront-keys"]
)
async def test_an_example_of_an_administrator_creates_a_record(path: str, sample: SampleStore) -> None:
    body = example("current", "POST", path)
    answer = await sample.post(path, body, auth="bearer")
    assert answer.status == 201, answer
    shown = {name: value for name, value in answer.body.items() if name in body.keys() - {"images"}}
    assert shown == {name: body[name] for name in shown}


async def test_an_example_of_an_administrator_creates_an_endpoint(sample: SampleStore) -> None:
    owner = await sample.client(sample.owner)
    app = await register_app(owner, scopes=["read_orders"])
    await issue_tokens(owner, app, ["read_orders"])
    installed = await graphql_result(owner, "{ installed_apps { id } }")
    path = "/api/v1/admin/event-endpoints"
    body = example("current", "POST", path)
    assert "installed_app_id" in body
    body["installed_app_id"] = installed[0]["id"]
    answer = await sample.post(path, body, auth="bearer")
    assert answer.status == 201, answer


@pytest.mark.parametrize("name", ["current", "apps"])
def test_only_secrets_and_files_have_an_example_of_random_letters(name: str) -> None:
    random = {
        member
        for _, _, _, described in bodies(name)
        for member, value in described["example"].items()
        if value == PLACEHOLDER
    }
    assert random <= {"token", "refresh_token", "temp_token", "key", "file"}


async def test_legacy_examples_without_references_create_records(sample: SampleStore) -> None:
    for entity in (
        "blocks", "business_partners", "call_requests", "categories", "discussions", "features", "langvars", "managers", "options", "pages",
        "payment_codes", "payments", "products", "promotions", "shippings", "statuses", "stores", "subscribers", "taxes", "usergroups",
        "users", "warehouses",
    ):  # fmt: skip
        path = f"/api/{entity}"
        answer = await sample.post(path, example("legacy", "POST", path))
        assert answer.status in (200, 201), (entity, answer)


async def test_an_example_of_an_app_changes_a_product(sample: SampleStore) -> None:
    owner = await sample.client(sample.owner)
    app = await register_app(owner, scopes=["write_products", "read_products"])
    token = (await issue_tokens(owner, app, ["write_products", "read_products"]))["access_token"]
    client = Client(sample.http, sample.store, {"Authorization": f"Bearer {token}"})
    path = "/api/admin/products/{id}"
    answer = await client.put(path.format(id=sample.mug.id), example("apps", "PUT", path))
    assert (answer.status, answer.body["price_cents"]) == (200, 3990), answer


async def test_an_example_of_a_customer_registers(sample: SampleStore) -> None:
    path = "/api/v1/auth/register"
    answer = await sample.post(path, example("current", "POST", path), auth=None)
    assert answer.status == 201, answer


async def test_the_examples_of_a_cart_lead_to_an_order(storefront: StorefrontClient) -> None:
    """With ids of the store in place of the examples' own."""
    sample = storefront.sample

    async def send(method: str, path: str, **ids: Any) -> Any:
        body = {**example("current", method, STOREFRONT + path), **ids}
        answer = await storefront.request(method, re.sub(r"\{id\}", str(cart), path), body)
        assert answer.status in (200, 201), answer
        return answer.body

    cart = None
    item = {**example("current", "POST", STOREFRONT + "carts/{id}/items"), "product_id": sample.mug.id}
    cart = (await send("POST", "carts", items=[item]))["id"]
    await send("PUT", "carts/{id}/address")
    await send("PUT", "carts/{id}/shipping-option", shipping_id=sample.sedex.id)
    order = await send("POST", "carts/{id}/checkout", payment_id=sample.pix.id)
    assert order["customer"]["email"] == "ana@example.com"


def test_reads_of_the_catalogue_say_how_they_are_kept() -> None:
    paths = {path: item["get"] for path, item in documents()["current"]["paths"].items() if "get" in item}
    kept = {path for path, operation in paths.items() if "304" in operation["responses"]}
    assert {path.removeprefix(STOREFRONT) for path in kept} == {
        "store", "products", "products/{id}", "categories", "categories/{id}", "categories/{id}/products", "search", "payment-methods",
    }  # fmt: skip
    for path in kept:
        for status in ("200", "304"):
            assert {"ETag", "Cache-Control"} <= paths[path]["responses"][status]["headers"].keys()
        assert "If-None-Match" in {parameter.get("name") for parameter in paths[path]["parameters"]}
