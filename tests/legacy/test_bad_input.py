"""Send invalid values in every field of every body: never a 500, never a partial change."""

from itertools import product
from typing import Any

import pytest
from yarl import URL

from rest_facade.legacy.resources import RESOURCES
from tests.legacy.entities import LISTED, body_of, record_of, supports

pytestmark = pytest.mark.combination

BAD_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    1.5,
    -0.0,
    1e300,
    5e-324,
    "",
    " ",
    "0",
    "-1",
    "1e5",
    "9" * 40,
    "NaN",
    "Infinity",
    "x" * 300,
    "x" * 100_000,
    "é\u0301\u200b\U0001f600",
    "\ufeff'; drop table users; -- %s%n {} ../../etc/passwd\r\nX: y",
    [],
    {},
    [None],
    [[]],
    [{}],
    [1, "2", None, True, {}],
    {"": ""},
    {"0": None},
    {"a": {"b": {"c": []}}},
    {"detailed": None},
    {"detailed": {"image_path": None}},
    {"detailed": {"image_path": "https://x.example/", "alt": {}, "image_x": 2**40}},
    {"1": {"product_id": 1, "amount": 10**18, "price": 10**13}},
    {"1": {"amount": 1, "extra": "x"}},
    {"1": {"feature_type": 5, "value": [1]}},
    [{"feature_id": 1, "variant_id": "x"}],
    "\ud7ff",
]


def writable_fields(resource) -> list[str]:
    fields = [
        field.name for field in (*resource.fields, *resource.detail_fields, *resource.input_fields) if field.input_path
    ]
    return [*fields, "user_data"] if resource.path == "orders" else fields


WRITABLE_FIELDS = [
    pytest.param(resource, name, id=f"{resource.path}-{name}")
    for resource in RESOURCES
    for name in writable_fields(resource)
]


def assert_valid(answer: Any) -> None:
    """Assert that the answer is a success or an error in the legacy format."""
    assert answer.status in (200, 201, 400, 422), answer.raw
    if answer.status >= 400:
        assert {"status", "message"} <= set(answer.body)
        assert answer.body["status"] == answer.status
        assert isinstance(answer.body["message"], str)
        assert answer.body["message"]


@pytest.mark.parametrize("resource, name", WRITABLE_FIELDS)
async def test_any_value_in_any_field_is_accepted_or_rejected(sample, resource, name):
    entity = resource.path
    record = record_of(sample, resource)
    values = BAD_VALUES if name != "password" else [value for value in BAD_VALUES if not isinstance(value, str)]
    # Creations, which take longer, parse the same fields as updates: with each value in some fields, where both exist.
    step = 8 if entity == "users" else 4 if supports(resource, "update") else 1
    first = writable_fields(resource).index(name)
    for number, value in enumerate(values):
        if supports(resource, "create") and (number + first) % step == 0:
            assert_valid(await sample.post(f"/api/{entity}", body_of(sample, resource, number) | {name: value}))
        if supports(resource, "update"):
            answer = await sample.put(f"/api/{entity}/{record}", {name: value})
            assert_valid(answer)
            if answer.status == 200 and supports(resource, "show"):
                assert (await sample.get(f"/api/{entity}/{record}")).status == 200, (number, value)
    if supports(resource, "list"):
        assert (await sample.get(f"/api/{entity}?items_per_page=250")).status == 200


UPDATABLE = [resource for resource in RESOURCES if supports(resource, "show") and supports(resource, "update")]


@pytest.mark.parametrize("resource", UPDATABLE, ids=[resource.path for resource in UPDATABLE])
async def test_read_only_fields_are_ignored_whatever_their_value(sample, resource):
    record = record_of(sample, resource)
    ignored = [f.name for f in (*resource.fields, *resource.detail_fields) if f.input_path is None] + [
        "",
        "id",
        "number",
    ]
    before = (await sample.get(f"/api/{resource.path}/{record}")).body
    for value in BAD_VALUES[:-1]:
        # In parts, because the longest value in every field would be over the limit of a body.
        for start in range(0, len(ignored), 15):
            body = dict.fromkeys(ignored[start : start + 15], value)
            answer = await sample.put(f"/api/{resource.path}/{record}", body)
            assert answer.status == 200, (value, start, answer.raw)
    after = (await sample.get(f"/api/{resource.path}/{record}")).body
    for name in ("updated_timestamp", "updated_at"):
        after.pop(name, None)
        before.pop(name, None)
    assert after == before


@pytest.mark.parametrize("value", BAD_VALUES, ids=[repr(value)[:40] for value in BAD_VALUES])
async def test_any_membership_status_is_accepted_or_rejected(sample, value):
    assert_valid(await sample.put(f"/api/users/{sample.bia}/usergroups/{sample.wholesale}", {"status": value}))


BODIES = [
    b"{",
    b"[",
    b"[]",
    b"[1]",
    b"{]",
    b'{"a":}',
    b'{"product": "x", "price": NaN}',
    b'{"product": "x", "price": Infinity}',
    b'{"product": "x\\u0000", "price": "1"}',
    b'{"product": "\\ud800", "price": "1"}',
    b'{"product": "x", "price": 18446744073709551616}',
    b'{"product": "\xff", "price": "1"}',
    b'{"a":' * 100 + b"1" + b"}" * 100,
    b'{"product": ' + b"[" * 65 + b"]" * 65 + b"}",
    b"{" + b" " * 10 + b"\x00}",
    b'{"product": "x"} {"price": 1}',
]


@pytest.mark.parametrize("resource", RESOURCES, ids=[resource.path for resource in RESOURCES])
async def test_a_body_that_is_not_an_object_is_400(shared_sample, resource):
    record = record_of(shared_sample, resource)
    for method, path, action in (("POST", "", "create"), ("PUT", f"/{record}", "update")):
        if not supports(resource, action):
            continue
        for body, content_type in product(BODIES, ("application/json", "application/x-www-form-urlencoded")):
            answer = await shared_sample.request(
                method, f"/api/{resource.path}{path}", data=body, headers={"Content-Type": content_type}
            )
            assert answer.status == 400, (method, body, content_type, answer.raw)
            assert answer.body["status"] == 400, (method, path, action, body, content_type)


@pytest.mark.parametrize(
    "body, content_type, status",
    [
        (b"", "application/json", 400),
        (b"   ", "application/json", 400),
        (b"product=x&price=1", "application/x-www-form-urlencoded", 201),
        (b"product=x&price=1", "text/plain; charset=utf-8", 201),
        (b"product=x&price=1", "multipart/form-data; boundary=x", 400),
        (b"product=x&price=1", "image/png", 400),
        (b"product=%FF&price=1", "application/x-www-form-urlencoded", 400),
        (b"product=%00&price=1", "application/x-www-form-urlencoded", 400),
        (b"product" + b"[a]" * 20 + b"=x", "application/x-www-form-urlencoded", 400),
        (b"a=b&" * 5_001, "application/x-www-form-urlencoded", 400),
        (b'{"product": "x", "price": 1}', "application/json; charset=latin-1", 400),
        (b'\xef\xbb\xbf{"product": "x", "price": 1}', "application/json", 201),
        (b"x" * (2 * 1024 * 1024 + 1), "application/json", 413),
    ],
)
async def test_content_types_and_encodings_of_bodies(sample, body, content_type, status):
    answer = await sample.post("/api/products", data=body, headers={"Content-Type": content_type})
    assert answer.status == status, answer.raw
    if status >= 400:
        assert answer.body["status"] == status


async def test_an_empty_update_changes_nothing(sample):
    for resource in UPDATABLE:
        record = record_of(sample, resource)
        before = (await sample.get(f"/api/{resource.path}/{record}")).body
        for body in (b"{}", b"", b'{"unknown_field": 1}'):
            answer = await sample.put(f"/api/{resource.path}/{record}", data=body)
            assert answer.status == 200, (resource, body, answer.raw)
        after = (await sample.get(f"/api/{resource.path}/{record}")).body
        for name in ("updated_timestamp", "updated_at"):
            after.pop(name, None)
            before.pop(name, None)
        assert after == before, resource


QUERIES = [
    "page[][]=1",
    "=&==&&",
    "%",
    "%zz=%zz",
    "q=%",
    "q[]=a&q[]=b",
    "q[a]=b",
    "status=%F0%9F%98%80",
    "sort_by[a][b]=1&sort_order[]=asc",
    "items_per_page[x]=1",
    "page=1&page[]=2",
    "a" * 3000 + "=1",
    "q=" + "a+" * 2000,
    "q=%27%22%5C%3A%2A%26%7C%21%28%29",
    "price_from=1e9&price_to=-1&amount_from=x",
    "period=%00".replace("%00", "%01"),
]


@pytest.mark.parametrize("resource", LISTED, ids=[resource.path for resource in LISTED])
async def test_any_query_string_is_accepted(shared_sample, resource):
    for query in QUERIES:
        answer = await shared_sample.get(URL(f"/api/{resource.path}?{query}", encoded=True))
        is_dated = resource.path in ("orders", "shipments") and query.startswith("period=")
        assert answer.status == (400 if is_dated else 200), (query, answer.raw)


async def test_a_query_with_nul_or_invalid_utf8_is_400(sample):
    for query in ("q=%00", "q=%ff", "%ff=1", "q=a%00b&page=2"):
        answer = await sample.get(URL(f"/api/products?{query}", encoded=True))
        assert (answer.status, answer.body["status"]) == (400, 400), query
