"""The requests known to cost most, each as large as its limits allow or larger: for `bench.loop_pauses` and `tests/hostile`.

They need the records of `FILL`: 49,000 images of one product, 16 MB of texts of another one, and 300 products.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

# $1: the store, $2: a product, $3: another product.
FILL = (
    # Below the limit of 50,000 objects.
    "INSERT INTO product_images (tenant_id, public_id, product_id, url, alt, position)"
    " SELECT $1, gen_random_uuid(), $2, 'https://x.example/' || n, 'Foto ' || n, n FROM generate_series(1, 49000) n"
    " WHERE $3::bigint IS NOT NULL",
    # Below the limit of 16 MiB, but JSON escapes each quote.
    "INSERT INTO product_images (tenant_id, public_id, product_id, url, alt, position)"
    " SELECT $1, gen_random_uuid(), $3, 'https://x.example/' || n, repeat('\"', 55000), n FROM generate_series(1, 290) n"
    " WHERE $2::bigint IS NOT NULL",
    "INSERT INTO products (tenant_id, public_id, name, slug, sku, price_cents)"
    " SELECT $1, gen_random_uuid(), 'Longo ' || n, 'longo-' || n, 'LONGO', 1000"
    " FROM generate_series(1, 300) n WHERE $2::bigint + $3::bigint IS NOT NULL",
)
MAX_BODY = 2 * 1024 * 1024
_JSON = {"Content-Type": "application/json"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_FIELDS = "id name sku slug description short_description status price_cents currency stock on_hand"


@dataclass(frozen=True)
class WorstRequest:
    """A request; `auth` is `bearer`, or `basic` for the legacy API."""

    path: str
    body: bytes | None = None
    method: str = "POST"
    auth: str = "bearer"
    headers: Mapping[str, str] = field(default_factory=lambda: _JSON)


@dataclass(frozen=True)
class FilledRecords:
    """The UUIDs of the two products of `FILL`."""

    many_images: str
    long_images: str


Requests = Iterator[tuple[str, WorstRequest]]


def _document(text: str, **variables: Any) -> WorstRequest:
    return WorstRequest("/graphql", json.dumps({"query": text, "variables": variables}).encode())


def filled_body(start: str, repeated: str, end: str, size: int = MAX_BODY) -> bytes:
    """Build a body of a size by repeating a part."""
    times = (size - len(start.encode()) - len(end.encode())) // len(repeated.encode())
    return (start + repeated * times + end).encode()


def _filled(start: str, repeated: str, end: str, size: int = MAX_BODY) -> WorstRequest:
    return WorstRequest("/graphql", filled_body(start, repeated, end, size))


def documents(_records: FilledRecords) -> Requests:
    """Yield documents that take long to read: of few long tokens, and of as many tokens as allowed."""
    text, block = '{"query":"{products(filter:{name:\\"', '{"query":"{products(filter:{name:\\"\\"\\"'
    for size, label in ((MAX_BODY, "2 MiB"), (99_000, "99 kB")):
        yield f"{label}: escapes", _filled(text, "\\\\n", '\\"}){id}}"}', size)
        yield f"{label}: a block of quotes", _filled(block, '\\\\\\"\\"\\"', '\\"\\"\\"}){id}}"}', size)
        yield f"{label}: a block of lines", _filled(block, "\\n", '\\"\\"\\"}){id}}"}', size)
        yield f"{label}: lines before an error", _filled('{"query":"{products{id', "\\n", 'nonsense}}"}', size)
        yield f"{label}: digits", _filled('{"query":"{products(limit:1.', "1", '){id}}"}', size)
        yield f"{label}: a name", _filled('{"query":"{products{', "a", '}}"}', size)
    yield "2 MiB: tokens", _filled('{"query":"{products{', "id ", '}}"}')
    yield "2 MiB: comments", _filled('{"query":"{products{id', "#\\n", '}}"}')
    roots = " ".join(f"a{n}: products(limit: 1) {{ {_FIELDS} }}" for n in range(95))
    yield "2,000 tokens: fields", _document(f"{{ {roots} }}")
    yield "2,000 tokens: unknown fields", _document("{products{" + " ".join(f"nam{n}" for n in range(1990)) + "}}")
    yield "2,000 tokens: unknown root fields", _document("{" + " ".join(f"produc{n}" for n in range(1990)) + "}")
    yield "2,000 tokens: a list", _document("{ products(filter: {name: [" + '"x" ' * 1980 + "]}) { id } }")
    unknown = " ".join(f"nam{n}: 1" for n in range(660))
    yield "2,000 tokens: an input object", _document(f"{{ products(filter: {{ {unknown} }}) {{ id }} }}")
    operations = " ".join(f"query Q{n} {{ store {{ id }} }}" for n in range(240))
    yield "2,000 tokens: operations", _document(operations)
    spreads = " ".join(f"...F{n}" for n in range(49))
    fragments = " ".join(f"fragment F{n} on Product {{ {_FIELDS} category {{ id name }} }}" for n in range(49))
    yield "2,000 tokens: fragments", _document(f"{{ products {{ {spreads} }} }} {fragments}")
    variables = " ".join(f"$v{n}: [ID!]" for n in range(280))
    yield "2,000 tokens: unused variables", _document(f"query ({variables}) {{ products {{ id }} }}")
    directives = " ".join(f"a{n}: name @include(if: true)" for n in range(99)) + " name @skip(if: false)" * 40
    yield "2,000 tokens: directives", _document(f"{{ products {{ id {directives} }} }}")
    chain = " ".join(
        f"fragment C{n} on Category {{ parent {{ ...C{n + 1} }} a{n}: parent {{ ...C{n + 1} }} }}" for n in range(7)
    )
    names = "id name position status description product_count parent_id created_at"
    yield (
        "expanded fragments",
        _document(f"{{ categories(limit: 1) {{ ...C0 }} }} {chain} fragment C7 on Category {{ {names} }}"),
    )


def variables(_records: FilledRecords) -> Requests:
    """Yield variables of many values."""
    ids = '{"query":"query ($ids: [ID!]) { products(filter: {id: $ids}) { id } }","variables":{"ids":['
    rows = '{"query":"mutation ($rows: [ProductUpsertInput!]!) { product_bulk_upsert(rows: $rows) { index } }","variables":{"rows":['
    json_text = (
        '{"query":"mutation ($j: JSON!) { store_settings_update(settings: $j) { id } }","variables":{"j":{"x":[[]'
    )
    for label, most in (("2 MiB", MAX_BODY), ("24,000 values", 24_000)):
        for name, start, part, end in (
            ("ids", ids + '"x"', ',"x"', "]}}"),
            ("invalid ids", ids + "[]", ",[]", "]}}"),
            ("numbers for ids", ids + "1.5", ",1.5", "]}}"),
            ("unused objects", ids + '],"x":[{}', ",{}", "]}}"),
            ("nested lists", ids + '],"x":[[]', ",[[[]]]", "]}}"),
            ("input objects", rows + '{"sku":"x"}', ',{"sku":"x"}', "]}}"),
            ("JSON", json_text, ",[]", "]}}}"),
            ("long integers", ids + '],"x":[1', ",1111111111111111111", "]}}"),
        ):
            # Brackets count as values.
            size = most if most == MAX_BODY else most * len(part) // sum(map(part.count, ",[{"))
            yield f"{label}: {name}", _filled(start, part, end, min(MAX_BODY, size))
    unknown = {f"nam{n}": n for n in range(23_900)}
    yield (
        "24,000 values: unknown fields",
        _document("query ($f: ProductFilter) { products(filter: $f) { id } }", f=unknown),
    )


def answers(records: FilledRecords) -> Requests:
    """Yield requests of answers as large as allowed, by every way of execution."""
    one = "query ($id: ID!) { product(id: $id) { name images { id url alt position } } }"
    listed = "query ($id: [ID!]) { products(limit: 100, filter: {id: $id}) { name images { id url alt position } } }"
    # `store` is not compiled, and with it the whole document.
    executed = one.replace("product(", "store { id } product(")
    for label, record in (("49,000 objects", records.many_images), ("over 16 MiB", records.long_images)):
        yield f"{label}: one statement", _document(one, id=record)
        yield f"{label}: a statement per level", _document(listed, id=[record])
        yield f"{label}: executor", _document(executed, id=record)
    yield "introspection along with a field", _document("{ store { id } __schema { types { name fields { name } } } }")
    fields = "types { name fields { name args { name } type { name kind ofType { name } } } }"
    yield "introspection", _document(f"{{ __schema {{ {fields} }} }}")


def facades(records: FilledRecords) -> Requests:
    """Yield requests of the REST families."""

    def get(path: str, auth: str = "bearer") -> WorstRequest:
        return WorstRequest(path, None, "GET", auth, {})

    yield "current: a product with 49,000 images", get(f"/api/v1/admin/products/{records.many_images}")
    yield "current: a page of 100 products", get("/api/v1/admin/products?per_page=100&sku=LONGO")
    yield "legacy: a page of 250 products", get("/api/products?items_per_page=250&pcode=LONGO", "basic")
    names = "&".join(f"a[{n}][b][c][d]={n}" for n in range(5000)).encode()
    deep, deeper = ("&".join("a" + f"[k{n}]" * 15 + "=1" for n in range(count)).encode() for count in (1_660, 4_990))
    for label, form in (("5,000 names", names), ("1,660 deep names", deep), ("5,000 deep names", deeper)):
        yield f"legacy: a form of {label}", WorstRequest("/api/products", form, "POST", "basic", _FORM)
    lists = filled_body('{"x":[[]', ",[]", "]}")
    yield "legacy: 2 MiB of JSON", WorstRequest("/api/products", lists, "POST", "basic")
    yield "current: 2 MiB of JSON", WorstRequest("/api/v1/admin/products", lists)
    yield "current: 2 MiB of text", WorstRequest("/api/v1/admin/products", filled_body('{"name":"', "x", '"}'))
    yield "current: 2 MiB of quotes", WorstRequest("/api/v1/admin/products", filled_body('{"name":"', '\\"', '"}'))
    packed = {**_JSON, "Content-Encoding": "gzip"}
    yield "100 MB, compressed", WorstRequest("/graphql", gzip.compress(b" " * 100_000_000, 9), headers=packed)
    yield "the schema", get("/graphql/schema")


def texts(records: FilledRecords) -> Requests:
    """Yield texts that take long to normalize or to classify, where a visitor or a member of the store may send one."""
    # PostgreSQL and Python sort the marks of a letter in quadratic time.
    marks = "\u0301\u0323"
    for label, part in (("marks", marks), ("digits", "1"), ("letters", "é"), ("white space", " "), ("signs", "@.")):
        identifier = filled_body('{"password":"x","email":"', part, 'x"}')
        yield f"current: an identifier of {label}", WorstRequest("/api/v1/auth/login", identifier)
        yield f"legacy: an e-mail of {label}", WorstRequest("/api/auth_tokens", identifier, "POST", "basic")
        forgotten = filled_body('{"email":"', part, 'x"}')
        yield f"current: a forgotten password of {label}", WorstRequest("/api/v1/auth/password/forgot", forgotten)
        registered = filled_body('{"name":"Ana","email":"ana@example.com","password":"x","phone":"', part, 'x"}')
        yield f"current: a registration with a phone of {label}", WorstRequest("/api/v1/auth/register", registered)
        product = f'{{"id":"{records.many_images}","input":{{"'
        for name in ("name", "description", "sku"):
            update = '{"query":"mutation ($id: ID!, $input: ProductInput!) { product_update(id: $id, input: $input) { id } }","variables":'
            yield f"GraphQL: a product's {name} of {label}", _filled(f'{update}{product}{name}":"', part, '"}}}')


GROUPS: Mapping[str, Callable[[FilledRecords], Requests]] = {
    "documents": documents,
    "variables": variables,
    "answers": answers,
    "facades": facades,
    "texts": texts,
}
