"""Any input gets a valid response in the error format of the family (docs/reference/current.md#errors)."""

import json

import pytest
from yarl import URL

from tests.harness import records
from tests.harness.http import Client
from tests.harness.product_records import DEFAULTS
from tests.harness.records import UNKNOWN_ID

ADMIN = "/api/v1/admin"
JSON = {"Content-Type": "application/json"}

DEEP = b'{"name": ' + b"[" * 100 + b"]" * 100 + b"}"
VERY_DEEP = b'{"name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
UNREADABLE = [
    b"",
    b" ",
    b"{",
    b'{"name": "x"',
    b'{"name": "x",}',
    b"{'name': 'x'}",
    b"[]",
    b"[{}]",
    b"null",
    b"true",
    b'"text"',
    b"5",
    b"NaN",
    b'{"price_cents": NaN}',
    b'{"price_cents": Infinity}',
    b'{"price_cents": 1e999}',
    b'{"name": "\\u0000"}',
    b'{"name": "a\x00b"}',
    b'{"\\u0000": 1}',
    b'{"name": "\\ud800"}',
    b'{"name": "\xed\xa0\x80"}',
    b'{"name": "\xff\xfe"}',
    '{"name": "é"}'.encode("utf-16"),
    '{"name": "é"}'.encode("latin-1"),
    b'{"price_cents": 9223372036854775808}',
    b'{"price_cents": 99999999999999999999999999999999}',
    b'{"anything": -9223372036854775809}',
    DEEP,
    VERY_DEEP,
    b"name=x&price_cents=1",
]
WRONG_TYPES = [
    None,
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/json; charset=utf-16",
    "application/json; charset=latin-1",
    "nonsense",
    "",
]
VALUES: list[object] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    1.5,
    1e300,
    -0.0,
    2**31,
    2**53,
    2**63 - 1,
    -(2**63),
    "",
    " ",
    "x",
    "0",
    "-1",
    "NaN",
    "9" * 400,
    "é" * 300,
    "\u202e\u0001\u007f",
    "😀",
    "' or 1=1 --",
    "{}%s",
    "x" * 100_000,
    UNKNOWN_ID,
    [],
    {},
    [None],
    [[]],
    [{}],
    {"a": 1},
    {"url": "https://x.example/a.png"},
    ["x"] * 50,
    [{"url": {"a": []}, "alt": 5}],
]


async def _write_routes(admin: Client) -> list[tuple[str, str, dict]]:
    """Return the routes that read a body, each with a valid body."""
    store = admin.store
    product, category, order = (
        await records.add_product(store),
        await records.add_category(store),
        await records.add_order(store),
    )
    product_body = DEFAULTS | {"name": "A", "slug": "a", "price_cents": 1, "stock": 1}
    del product_body["currency"], product_body["category"]  # not written
    category_body = {"name": "A", "parent_id": None, "position": 0, "status": "A"}
    status_body = {"status": "O", "reason": "", "tracking_code": "", "carrier": "", "restock": False}
    return [
        ("POST", f"{ADMIN}/products", product_body),
        ("PUT", f"{ADMIN}/products/{product.id}", product_body),
        ("PATCH", f"{ADMIN}/products/{product.id}", product_body),
        ("POST", f"{ADMIN}/categories", category_body),
        ("PUT", f"{ADMIN}/categories/{category.id}", category_body),
        ("PATCH", f"{ADMIN}/categories/{category.id}", category_body),
        ("PUT", f"{ADMIN}/orders/{order.id}/status", status_body),
    ]


PUBLIC = ("/api/v1/auth/refresh", "/api/v1/auth/logout")


async def test_an_unreadable_body_is_rejected(admin: Client) -> None:
    for method, path, _ in await _write_routes(admin):
        for raw in UNREADABLE:
            answer = await admin.request(method, path, data=raw, headers=JSON)
            assert answer.status == 400, (path, raw[:60], answer)
            assert set(answer.body) == {"error", "detail"}, (method, path, raw)
            assert answer.body["error"] == "invalid request body", (method, path, raw)
            assert answer.body["detail"], (method, path, raw)


async def test_sign_in_routes_reject_unreadable_bodies(visitor: Client) -> None:
    for path in PUBLIC:
        for raw in UNREADABLE:
            answer = await visitor.post(path, data=raw, headers=JSON)
            assert answer.status == 400, (path, raw[:60], answer)
            assert answer.body["error"] in ("invalid request body", "refresh_token is required"), (path, raw)
    for raw in UNREADABLE:
        answer = await visitor.from_new_address().post("/api/v1/auth/login", data=raw, headers=JSON)
        assert (answer.status, answer.body["error"]) == (400, "invalid request body"), raw


async def test_the_content_type_must_be_json(admin: Client) -> None:
    for method, path, body in await _write_routes(admin):
        for content_type in WRONG_TYPES:
            answer = await admin.request(
                method, path, data=json.dumps(body).encode(), headers={"Content-Type": content_type}
            )
            assert (answer.status, answer.body["error"]) == (400, "invalid request body"), (
                path,
                content_type,
            )
        for content_type in (
            "application/json; charset=UTF-8",
            "application/merge-patch+json",
            "APPLICATION/JSON",
        ):
            answer = await admin.request(
                method, path, data=json.dumps(body).encode(), headers={"Content-Type": content_type}
            )
            assert answer.status in (200, 201), (path, content_type, answer)


async def test_a_byte_order_mark_is_skipped(admin: Client) -> None:
    raw = b"\xef\xbb\xbf" + json.dumps({"name": "A", "price_cents": 1}).encode()
    assert (await admin.post(f"{ADMIN}/products", data=raw, headers=JSON)).status == 201


async def test_a_body_over_two_mebibytes_is_rejected(admin: Client, visitor: Client) -> None:
    raw = b'{"name": "' + b"x" * (2 * 1024 * 1024) + b'"}'
    for method, path, _ in await _write_routes(admin):
        answer = await admin.request(method, path, data=raw, headers=JSON)
        assert answer.status == 413, (method, path)
        assert set(answer.body) == {"error"}, (method, path)
    for path in ("/api/v1/auth/login", *PUBLIC):
        assert (await visitor.from_new_address().post(path, data=raw, headers=JSON)).status == 413


@pytest.mark.parametrize("number", range(7))
async def test_any_value_in_any_field_is_handled(admin: Client, number: int) -> None:
    method, path, body = (await _write_routes(admin))[number]
    for field in body:
        for value in VALUES:
            answer = await admin.request(method, path, body | {field: value})
            assert answer.status in (200, 201, 400, 422), (field, value, answer)
            if answer.status == 400:
                assert answer.body["error"] == "validation_failed", (field, value)
                named_fields = set(answer.body["fields"])
                assert {name.partition(".")[0] for name in named_fields} == {field}, (field, value, answer)
                assert all(code and code.replace("_", "").isalpha() for code in answer.body["fields"].values()), (
                    field,
                    value,
                )


@pytest.mark.parametrize("path", ["/api/v1/auth/login", *PUBLIC])
async def test_any_value_in_any_field_of_the_sign_in_routes_is_handled(visitor: Client, path: str) -> None:
    fields = (("email", "identifier"), ("password",)) if path.endswith("login") else (("refresh_token",),)
    for group in fields:
        for number, value in enumerate(VALUES):
            body = {"email": f"unknown{number}@example.com", "password": "wrong password"}
            answer = await visitor.from_new_address().post(path, body | dict.fromkeys(group, value))
            assert answer.status in (200, 400, 401), (group, value, answer)


@pytest.mark.parametrize(
    "path",
    [
        "/products",
        "/products/{}",
        "/categories/{}",
        "/orders/{}",
        "/orders/{}/status",
        "/users/{}",
        "/customers/{}",
    ],
)
async def test_unusual_urls_are_answered(admin: Client, path: str) -> None:
    for id in (
        "%00",
        "%FF",
        "%ED%A0%80",
        "%2e%2e",
        "..%2f..",
        "a%0d%0ab",
        "%F0%9F%98%80",
        "'",
        "a" * 3000,
        "%25s",
        "*",
    ):
        for method in ("GET", "PUT", "PATCH", "DELETE", "POST", "OPTIONS"):
            address = URL((ADMIN + path).replace("{}", id), encoded=True)
            answer = await admin.request(method, address, {"status": "P"} if method[0] == "P" else None)
            assert answer.status in (200, 201, 204, 400, 404, 405), (method, id, answer)


async def test_the_body_of_a_get_is_ignored(admin: Client) -> None:
    answer = await admin.request("GET", f"{ADMIN}/products", data=b"{", headers=JSON)
    assert answer.status == 200


async def test_the_last_of_repeated_keys_is_used(admin: Client) -> None:
    raw = b'{"name": "A", "name": "B", "price_cents": 1}'
    assert (await admin.post(f"{ADMIN}/products", data=raw, headers=JSON)).body["name"] == "B"
