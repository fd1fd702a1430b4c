"""Check `/api.php?_d=<path>`, the legacy layer's address for programs that know shops without URL rewriting."""

import pytest
from yarl import URL

from tests.harness.sample_store import SampleStore


@pytest.mark.parametrize(
    "path",
    ["products", "/products/", "2.0/products", "v1.0/products", "api.php"],
)
async def test_the_path_is_read_with_or_without_a_version(path: str, sample: SampleStore) -> None:
    answer = await sample.get(f"/api.php?_d={path}&items_per_page=2&ajax_custom=1&access_key=abc")
    if path == "api.php":
        assert (answer.status, answer.body) == (404, {"status": 404, "message": "Route not found"})
        return
    expected = await sample.get("/api/products?items_per_page=2")
    assert (answer.status, answer.body) == (200, expected.body)


async def test_every_method_works(sample: SampleStore) -> None:
    created = await sample.post("/api.php?_d=products", {"product": "Bule", "price": "10.00"})
    assert created.status == 201, created.raw
    single = f"/api.php?_d=products%2F{created.body['product_id']}"
    assert (await sample.put(single, {"price": "12.00"})).status == 200
    assert (await sample.get(single)).body["price"] == "12.00"
    head = await sample.request("HEAD", single)
    assert (head.status, head.raw) == (200, b"")
    assert (await sample.delete(single)).status == 204
    assert (await sample.get(single)).body == {"status": 404, "message": "Product not found"}
    query = await sample.get("/api.php?items_per_page=1&_d=products&status[]=A&status[]=H")
    assert query.body["params"]["status"] == ["A", "H"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?",
        "?_d=",
        "?_d=nothing",
        "?_d[]=products",
        "?_d=v1/admin/products",
        "?_d=../v1/admin/products",
        "?_d=./products",
    ],
)
async def test_what_names_no_legacy_route_is_not_found(query: str, sample: SampleStore) -> None:
    answer = await sample.get(URL(f"/api.php{query}", encoded=True))
    assert (answer.status, answer.body) == (404, {"status": 404, "message": "Route not found"})


@pytest.mark.parametrize("path", ["/%61pi/%2e%2e/users", "/%61pi/nothing", "/%61PI/users"])
async def test_an_encoded_address_is_that_of_no_other_route(path: str, sample: SampleStore) -> None:
    assert (await sample.get(URL(path, encoded=True))).status == 404


async def test_errors_have_the_form_of_the_layer(sample: SampleStore) -> None:
    answer = await sample.anonymous.get("/api.php?_d=products")
    assert answer.status == 401
    assert answer.body["message"].startswith("Authentication required.")
    assert answer.headers["WWW-Authenticate"].startswith("Basic")
    wrong = await sample.request("PATCH", "/api.php?_d=products")
    assert (wrong.status, wrong.body["message"], wrong.headers["Allow"]) == (
        405,
        "Method not allowed",
        "GET, HEAD, POST",
    )
    assert (await sample.get(URL("/api.php?_d=products%00", encoded=True))).status == 404
    token = await sample.anonymous.post("/api.php?_d=auth_tokens", {})
    assert (token.status, token.body) == (400, {"error": "Required field: email"})
