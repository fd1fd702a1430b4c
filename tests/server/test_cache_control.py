"""Only reads of the catalogue and public files may be kept (docs/reference/shared.md#catalogue-caching)."""

from __future__ import annotations

import pytest

from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient

PRODUCTS = "/graphql?query={products{id}}"


@pytest.mark.parametrize(
    "method, path, auth, status",
    [
        ("GET", "/graphql?query={me{email}}", "bearer", 200),
        ("GET", PRODUCTS, "bearer", 200),
        ("GET", PRODUCTS, None, 401),
        ("GET", "/graphql?query={nope}", "bearer", 200),
        ("GET", "/api/v1/admin/orders", "bearer", 200),
        ("GET", "/api/v1/admin/products", "bearer", 200),
        ("GET", "/api/v1/admin/products/x", "bearer", 404),
        ("GET", "/api/v1/auth/login", None, 405),
        ("POST", "/api/v1/oauth/token", None, 400),
        ("GET", "/api/v1/storefront/products", None, 401),
        ("GET", "/api/admin/orders", None, 401),
        ("GET", "/api/users", "basic", 200),
        ("GET", "/api/products", "basic", 200),
        ("GET", "/api/products/0", "basic", 404),
        ("GET", "/api/nothing", "basic", 404),
        ("GET", "/nothing", None, 404),
        ("GET", "/health/live", None, 200),
    ],
)
async def test_other_answers_are_not_kept(
    method: str, path: str, auth: str | None, status: int, sample: SampleStore
) -> None:
    answer = await sample.request(method, path, auth=auth)
    assert (answer.status, answer.headers["Cache-Control"]) == (status, "no-store")


@pytest.mark.parametrize(
    "path, status", [("products/x", 404), ("products?page=x", 400), ("search", 400), ("nothing", 404)]
)
async def test_errors_of_the_catalogue_are_not_kept(path: str, status: int, storefront: StorefrontClient) -> None:
    answer = await storefront.get(path)
    assert (answer.status, answer.headers["Cache-Control"]) == (status, "no-store")


async def test_what_a_shopper_reads_is_not_kept(storefront: StorefrontClient) -> None:
    answer = await storefront.as_customer(storefront.sample.bia).get("products")
    assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")
