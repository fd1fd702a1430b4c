"""The OpenAPI documents: well formed, of every route and no other, as they were committed, served with a page of our own."""

from __future__ import annotations

import json

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from server.openapi.documents import FAMILIES, FOLDER, documents, text_of, undescribed
from tests import documented

NAMES = [family.name for family in FAMILIES]


@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_openapi(name):
    assert not list(OpenAPIV31SpecValidator(json.loads(text_of(documents()[name]))).iter_errors())


@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_the_one_that_was_committed(name):
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == text_of(documents()[name])


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_nothing_is_described_that_is_no_route(family):
    assert undescribed(family) == []


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_every_operation_has_a_name_of_its_own_and_a_summary(family):
    operations = [each for path in documents()[family.name]["paths"].values() for each in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names))
    assert [
        operation["operationId"] for operation in operations if operation["summary"].startswith("/")
    ] == []


@pytest.mark.parametrize("name", NAMES)
async def test_a_document_is_served_to_anybody(shop_client, name):
    response = await shop_client.get(f"/api/docs/{name}.json")
    assert response.status == 200
    assert await response.json() == documents()[name]


async def test_a_document_that_is_not_there_is_404(shop_client):
    assert (await shop_client.get("/api/docs/nothing.json")).status == 404


async def test_the_page_names_every_document_and_no_host_outside(shop_client):
    response = await shop_client.get("/api/docs")
    page = await response.text()
    assert response.status == 200
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    for name in NAMES:
        assert f"/api/docs/{name}.json" in page
    assert "://" not in page


class TestWhatEveryTestIsHeldAgainst:
    """`tests.documented` would be worth nothing if it let everything pass."""

    def test_a_status_that_is_not_documented_is_told(self):
        with pytest.raises(documented.Undocumented, match="answered 418"):
            documented.check("GET", "/api/products", 418, b"{}")

    @pytest.mark.parametrize(
        "address", ["/api/products", "/api/2.0/products/", "/api/v1.0/products?page=1", "/api/2/products"]
    )
    def test_a_body_that_lacks_what_is_documented_is_told(self, address):
        with pytest.raises(documented.Undocumented, match='"params" is a required property'):
            documented.check("GET", address, 200, b'{"products": []}')

    def test_a_value_of_another_type_is_told(self):
        body = b'{"error": {"code": 1, "message": "x"}}'
        with pytest.raises(documented.Undocumented):
            documented.check("GET", "/api/v1/admin/products", 404, body)

    def test_a_body_where_there_is_none_is_told(self):
        with pytest.raises(documented.Undocumented, match="none is documented"):
            documented.check("DELETE", "/api/products/1", 204, b"{}")

    def test_what_is_as_documented_passes(self):
        documented.check("DELETE", "/api/products/1", 204, b"")
        documented.check("GET", "/api/products/1", 404, b'{"status": 404, "message": "Product not found"}')
