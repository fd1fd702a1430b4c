"""The OpenAPI documents are valid, cover exactly the mounted routes, match the committed files and are served with their own page."""

from __future__ import annotations

import json
import re
from uuid import uuid4

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from server.openapi.documents import FAMILIES, FOLDER, documents, serialize
from tests.harness import openapi_responses
from tests.harness.http import Client
from tests.harness.oauth import issue_tokens, register_app

NAMES = [family.name for family in FAMILIES]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_valid_openapi(name):
    assert not list(OpenAPIV31SpecValidator(json.loads(serialize(documents()[name]))).iter_errors())


@pytest.mark.parametrize("name", NAMES)
def test_a_document_matches_the_committed_file(name):
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == serialize(documents()[name])


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_only_mounted_routes_are_documented(family):
    mounted = {(route.method, route.path) for route in family.routes()}
    assert sorted(key for key in family.docs() if key not in mounted) == []


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_every_operation_has_a_unique_id_and_a_summary(family):
    operations = [item for path in documents()[family.name]["paths"].values() for item in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names))
    assert [operation["operationId"] for operation in operations if operation["summary"].startswith("/")] == []


@pytest.mark.parametrize("name", NAMES)
def test_headers_are_documented(name):
    document = documents()[name]
    assert "Retry-After" in document["components"]["responses"]["Refused429"]["headers"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            headers = next(iter(operation["responses"].values()))["headers"]
            assert "X-Request-Id" in headers, (path, methods, method, operation)
            parameters = {parameter.get("name") for parameter in operation["parameters"]}
            assert ("Link" in headers) == (method == "get" and "page" in parameters and name != "legacy"), path


APP_OPERATIONS = [
    (method.upper(), path, scope)
    for name in ("apps", "current")
    for path, methods in documents()[name]["paths"].items()
    for method, operation in methods.items()
    for requirement in operation["security"]
    for scope in requirement.get("app", ())
]


async def test_an_app_needs_the_documented_scopes_and_no_others(sample):
    owner = await sample.client(sample.owner)

    async def client_with(scope):
        app = await register_app(owner, scopes=[scope])
        token = (await issue_tokens(owner, app, [scope]))["access_token"]
        return Client(sample.http, sample.store, {"Authorization": f"Bearer {token}"})

    clients = {scope: await client_with(scope) for scope in sorted({scope for *_, scope in APP_OPERATIONS})}
    other = await client_with("read_shipping")
    for method, path, scope in APP_OPERATIONS:
        target, body = re.sub(r"\{\w+\}", str(uuid4()), path), {} if method in ("POST", "PUT", "PATCH") else None
        assert (await clients[scope].request(method, target, body)).status in (200, 400, 404), (method, path)
        assert (await other.request(method, target, body)).status == 403, (method, path)


@pytest.mark.parametrize("name", NAMES)
async def test_a_document_is_public(http, name):
    response = await http.get(f"/api/docs/{name}.json")
    assert response.status == 200
    assert await response.json() == documents()[name]


async def test_an_unknown_document_is_404(http):
    assert (await http.get("/api/docs/nothing.json")).status == 404


async def test_the_page_links_every_document_and_no_external_host(http):
    response = await http.get("/api/docs")
    page = await response.text()
    assert response.status == 200
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    for name in NAMES:
        assert f"/api/docs/{name}.json" in page
    assert "://" not in page


class TestResponseCheck:
    """`tests.harness.openapi_responses` rejects undocumented responses."""

    def test_an_undocumented_status_is_rejected(self):
        with pytest.raises(openapi_responses.UndocumentedResponse, match="answered 418"):
            openapi_responses.check_response("GET", "/api/products", 418, b"{}")

    @pytest.mark.parametrize(
        "address", ["/api/products", "/api/2.0/products/", "/api/v1.0/products?page=1", "/api/2/products"]
    )
    def test_a_missing_required_property_is_rejected(self, address):
        with pytest.raises(openapi_responses.UndocumentedResponse, match='"params" is a required property'):
            openapi_responses.check_response("GET", address, 200, b'{"products": []}')

    def test_a_value_of_the_wrong_type_is_rejected(self):
        body = b'{"error": {"code": 1, "message": "x"}}'
        with pytest.raises(openapi_responses.UndocumentedResponse):
            openapi_responses.check_response("GET", "/api/v1/admin/products", 404, body)

    def test_an_undocumented_body_is_rejected(self):
        with pytest.raises(openapi_responses.UndocumentedResponse, match="none is documented"):
            openapi_responses.check_response("DELETE", "/api/products/1", 204, b"{}")

    def test_a_documented_response_passes(self):
        openapi_responses.check_response("DELETE", "/api/products/1", 204, b"")
        openapi_responses.check_response(
            "GET", "/api/products/1", 404, b'{"status": 404, "message": "Product not found"}'
        )
