"""`/graphql` as clients call it: bodies, methods, media types, credentials, limits, persisted documents."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import pytest

from tests.harness.http import Response
from tests.harness.sample_store import NewSampleStore, SampleStore

RESPONSE_JSON = "application/graphql-response+json"


async def execute_query(sample: SampleStore, query: str | None = None, **how: Any) -> Response:
    body: dict[str, Any] = {} if query is None else {"query": query}
    for key in ("variables", "operationName", "documentId", "extensions"):
        if key in how:
            body[key] = how.pop(key)
    return await sample.post("/graphql", body, **{"auth": "bearer", **how})


def errors(answer: Response) -> list[str]:
    return [error["extensions"]["code"] for error in answer.body["errors"]]


async def test_a_query_returns_data_and_its_cost(sample: SampleStore) -> None:
    answer = await execute_query(sample, "{ products(limit: 2) { id name } }")
    assert answer.status == 200
    assert len(answer.body["data"]["products"]) == 2
    assert answer.body["extensions"] == {"cost": 2}
    assert answer.headers["Content-Type"].startswith("application/json")


async def test_variables_and_operation_names_are_supported(sample: SampleStore) -> None:
    text = "query A($id: ID!) { product(id: $id) { name } } query B { store { name } }"
    answer = await execute_query(sample, text, variables={"id": sample.mug.id}, operationName="A")
    assert answer.body["data"] == {"product": {"name": "Caneca de Ágata"}}
    unnamed = await execute_query(sample, text)
    assert (unnamed.status, errors(unnamed)) == (400, ["VALIDATION_FAILED"])
    unknown = await execute_query(sample, text, operationName="C")
    assert unknown.status == 400


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"12", b"{}", b'{"query": 1}', b'{"query": ""}', b'{"query": null}',
        b'{"query": "{ store { id } }", "variables": []}', b'{"query": "{ store { id } }", "operationName": 1}',
        b'{"query": "{ store { id } }", "extensions": "x"}', b'{"query": "{ a\\u0000b }"}', b'{"query": "\\ud800"}',
        b'[{"query": "{ store { id } }"}]', b"\xff\xfe", b'{"query": "{ store { id } }", "documentId": 3}',
        b'{"a":' * 80 + b"1" + b"}" * 80, b'{"query": "{ store { id } }", "variables": {"n": 99999999999999999999}}',
    ],
)  # fmt: skip
async def test_an_invalid_graphql_request_is_400(body: bytes, sample: SampleStore) -> None:
    for accept, media in (("*/*", "application/json"), (RESPONSE_JSON, RESPONSE_JSON)):
        answer = await sample.post(
            "/graphql",
            data=body,
            auth="bearer",
            headers={"Content-Type": "application/json", "Accept": accept},
        )
        assert answer.status == 400, (accept, media, answer.raw)
        assert answer.headers["Content-Type"].startswith(media)
        assert errors(answer) == ["VALIDATION_FAILED"], (accept, media)


async def test_a_body_over_two_mebibytes_is_413(sample: SampleStore) -> None:
    answer = await sample.post(
        "/graphql",
        data=b" " * (2 * 1024 * 1024 + 1),
        auth="bearer",
        headers={"Content-Type": "application/json"},
    )
    assert answer.status == 413


async def test_errors_are_200_or_a_specific_status_with_the_graphql_response_media_type(
    sample: SampleStore,
) -> None:
    plain = await execute_query(sample, "{ nope }")
    assert (plain.status, errors(plain)) == (200, ["GRAPHQL_VALIDATION_FAILED"])
    assert "data" not in plain.body
    typed = await execute_query(sample, "{ nope }", headers={"Accept": RESPONSE_JSON})
    assert typed.status == 400
    partial = await execute_query(sample, '{ product(id: "x") { id } }', headers={"Accept": RESPONSE_JSON})
    assert (partial.status, partial.body["data"]) == (200, {"product": None})
    syntax = await execute_query(sample, "{ products {", headers={"Accept": RESPONSE_JSON})
    assert syntax.status == 400
    assert errors(syntax) == ["GRAPHQL_PARSE_FAILED"]
    assert syntax.body["errors"][0]["locations"]


@pytest.mark.parametrize(
    "query,code",
    [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("{ products(limit: 1 { id } }", "GRAPHQL_PARSE_FAILED"),
        ("{ store { nope } }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ store(nope: 1) { id } }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ store }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ order { id } }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ product { id } }", "VALIDATION_FAILED"),
        ("query ($n: Nope) { store { id } }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ ...a } fragment a on Query { ...a }", "GRAPHQL_VALIDATION_FAILED"),
        ("type A { b: Int }", "GRAPHQL_VALIDATION_FAILED"),
        ('{ products(limit: "x") { id } }', "VALIDATION_FAILED"),
        ("{ products(limit: 1001) { id } }", "VALIDATION_FAILED"),
        ('{ orders(filter: {created_after: "x"}) { id } }', "VALIDATION_FAILED"),
        ("{ products(status: NOPE) { id } }", "VALIDATION_FAILED"),
    ],
)
async def test_an_error_says_whether_the_document_or_a_value_is_wrong(
    query: str, code: str, sample: SampleStore
) -> None:
    answer = await execute_query(sample, query)
    assert set(errors(answer)) == {code}, answer.body


async def test_a_literal_and_a_variable_have_the_same_code(sample: SampleStore) -> None:
    for text, variables in (
        ('{ orders(filter: {created_after: "x"}) { id } }', {}),
        ("query ($at: DateTime) { orders(filter: {created_after: $at}) { id } }", {"at": "x"}),
    ):
        answer = await execute_query(sample, text, variables=variables)
        assert errors(answer) == ["VALIDATION_FAILED"], (text, variables)


async def test_get_supports_queries_and_rejects_mutations_with_405(sample: SampleStore) -> None:
    query = await sample.get("/graphql", params={"query": "{ store { name } }"}, auth="bearer")
    assert query.body["data"] == {"store": {"name": "Loja"}}
    with_variables = await sample.get(
        "/graphql",
        params={"query": "query($n: Int!) { products(limit: $n) { id } }", "variables": '{"n": 1}'},
        auth="bearer",
    )
    assert len(with_variables.body["data"]["products"]) == 1
    broken = await sample.get("/graphql", params={"query": "{ store { name } }", "variables": "{"}, auth="bearer")
    assert broken.status == 400
    mutation = await sample.get(
        "/graphql", params={"query": "mutation { sign_out_everywhere { message } }"}, auth="bearer"
    )
    assert (mutation.status, mutation.raw, mutation.headers["Allow"]) == (405, b"", "POST")
    nothing = await sample.get("/graphql", auth="bearer")
    assert nothing.status == 400
    other = await sample.delete("/graphql", auth="bearer")
    assert other.status == 405
    assert "POST" in other.headers["Allow"]


async def test_authentication_errors_have_both_formats_and_precede_execution(
    sample: SampleStore, other_sample: SampleStore
) -> None:
    async def refused(status: int, text: str, **how: Any) -> None:
        answer = await execute_query(sample, "{ store { name } }", **how)
        body = {"error": text, "message": text, "status": status}
        if status == 401:
            body["errors"] = [{"message": text, "extensions": {"code": "UNAUTHENTICATED"}}]
        assert (answer.status, answer.body) == (status, body)

    await refused(401, "missing authorization header", auth=None)
    await refused(401, "invalid authorization format", auth=None, headers={"Authorization": "Token x"})
    await refused(401, "invalid or expired token", auth=None, headers={"Authorization": "Bearer x"})
    await refused(401, "invalid authorization format", auth="basic")
    await refused(403, "token not valid for this storefront", at=other_sample)
    await refused(404, "tenant not found", headers={"X-Tenant-ID": "00000000-0000-0000-0000-000000000000"})


async def test_access_errors_have_the_path_of_the_field(sample: SampleStore) -> None:
    answer = await execute_query(sample, "{ products { id } }", by=sample.staff)
    assert errors(answer) == ["FORBIDDEN"]
    assert answer.body["errors"][0]["path"] == ["products"]
    shopper = await execute_query(sample, "{ products { name on_hand } orders { id } }", by=sample.caio)
    assert {error["path"][-1] for error in shopper.body["errors"]} == {"on_hand"}
    assert all(product["on_hand"] is None for product in shopper.body["data"]["products"])


@pytest.mark.parametrize(
    "query",
    [
        "{ " + "categories { parent " * 1 + "{ parent " * 12 + "{ id }" + " }" * 14,
        "{ store { " + " ".join(f"a{i}: name" for i in range(101)) + " } }",
        "{ store { " + "name " * 51 + "} }",
        "{ " + " ".join(f"x{i}: __typename" for i in range(3000)) + " }",
    ],
)
async def test_a_document_over_a_limit_executes_nothing(query: str, sample: SampleStore) -> None:
    answer = await execute_query(sample, query)
    assert errors(answer) == ["QUERY_TOO_COMPLEX"], answer.body
    assert "data" not in answer.body


async def test_internal_fields_are_unknown_to_clients_by_text_and_by_document_id(sample: SampleStore) -> None:
    for query in (
        "{ products { number } }",
        'mutation { legacy_token_create(email: "a", password: "b") { token } }',
    ):
        for how in ({}, {"documentId": _id_of(query)}):
            answer = await execute_query(sample, query, **how)
            assert errors(answer) == ["GRAPHQL_VALIDATION_FAILED"], (query, how)
        by_id = await execute_query(sample, None, documentId=_id_of(query))
        assert by_id.body.get("data") is None, query


def _id_of(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


async def test_a_persisted_document_can_be_executed_by_its_id(sample: SampleStore, other_sample: SampleStore) -> None:
    query = "query Named($n: Int = 1) { products(limit: $n) { name } }"
    unknown = await execute_query(sample, None, documentId=_id_of(query))
    assert errors(unknown) == ["PERSISTED_DOCUMENT_NOT_FOUND"]
    registered = await execute_query(sample, query, documentId=_id_of(query))
    assert len(registered.body["data"]["products"]) == 1
    by_id = await execute_query(sample, None, documentId=_id_of(query), variables={"n": 2})
    assert len(by_id.body["data"]["products"]) == 2
    by_get = await sample.get("/graphql", params={"documentId": _id_of(query)}, auth="bearer")
    assert len(by_get.body["data"]["products"]) == 1
    elsewhere = await execute_query(other_sample, None, documentId=_id_of(query))
    assert errors(elsewhere) == ["PERSISTED_DOCUMENT_NOT_FOUND"]


def _apollo(text: str, **changes: Any) -> dict[str, Any]:
    persisted = {"version": 1, "sha256Hash": hashlib.sha256(text.encode()).hexdigest()}
    return {"persistedQuery": {**persisted, **changes}}


@pytest.mark.parametrize("accept", ["application/json", RESPONSE_JSON])
async def test_apollo_clients_persist_queries(sample: SampleStore, other_sample: SampleStore, accept: str) -> None:
    query, headers = "query Apollo($n: Int = 1) { products(limit: $n) { name } }", {"Accept": accept}
    if accept == RESPONSE_JSON:
        query += " # typed"
    by_get = {"extensions": json.dumps(_apollo(query)), "variables": '{"n": 2}'}
    for unknown in (
        await execute_query(sample, None, extensions=_apollo(query), headers=headers),
        await sample.get("/graphql", params=by_get, auth="bearer", headers=headers),
    ):
        assert unknown.status == 200
        assert unknown.body == {
            "errors": [{"message": "PersistedQueryNotFound", "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND"}}]
        }
        assert unknown.headers["Cache-Control"] == "no-store"
    registered = await execute_query(sample, query, extensions=_apollo(query), headers=headers)
    assert len(registered.body["data"]["products"]) == 1
    by_hash = await execute_query(sample, None, extensions=_apollo(query), variables={"n": 2}, headers=headers)
    assert len(by_hash.body["data"]["products"]) == 2
    assert (await sample.get("/graphql", params=by_get, auth="bearer", headers=headers)).body == by_hash.body
    by_document_id = await execute_query(sample, None, documentId=_id_of(query), variables={"n": 2})
    assert by_document_id.body == by_hash.body
    elsewhere = await execute_query(other_sample, None, extensions=_apollo(query))
    assert errors(elsewhere) == ["PERSISTED_QUERY_NOT_FOUND"]


async def test_an_apollo_query_registered_by_get_is_executed(sample: SampleStore) -> None:
    query = "query ByGet { store { name } }"
    params = {"query": query, "extensions": json.dumps(_apollo(query))}
    assert (await sample.get("/graphql", params=params, auth="bearer")).body["data"] == {"store": {"name": "Loja"}}
    by_hash = await execute_query(sample, None, extensions=_apollo(query))
    assert by_hash.body["data"] == {"store": {"name": "Loja"}}


async def test_an_apollo_hash_of_another_query_registers_nothing(sample: SampleStore) -> None:
    extensions = _apollo("query Other { store { id } }")
    answer = await execute_query(sample, "{ store { id } }", extensions=extensions)
    assert (answer.status, errors(answer)) == (200, ["VALIDATION_FAILED"])
    assert answer.body["errors"][0]["message"] == "provided sha does not match query"
    assert errors(await execute_query(sample, None, extensions=extensions)) == ["PERSISTED_QUERY_NOT_FOUND"]


@pytest.mark.parametrize(
    "persisted",
    [1, "x", [], {}, {"version": 1}, {"version": 2, "sha256Hash": "0" * 64}, {"version": 1, "sha256Hash": "x"}],
)
async def test_a_malformed_persisted_query_is_400(persisted: Any, sample: SampleStore) -> None:
    answer = await execute_query(sample, "{ store { id } }", extensions={"persistedQuery": persisted})
    assert (answer.status, errors(answer)) == (400, ["VALIDATION_FAILED"])


@pytest.mark.parametrize("document_id", ["sha256:" + "0" * 64, "sha256:xyz", "md5:1", "x"])
async def test_an_incorrect_document_id_registers_nothing(document_id: str, sample: SampleStore) -> None:
    answer = await execute_query(sample, "{ store { id } }", documentId=document_id)
    assert errors(answer) == ["VALIDATION_FAILED"]
    repeated = await execute_query(sample, None, documentId=document_id)
    assert errors(repeated) == ["PERSISTED_DOCUMENT_NOT_FOUND"]


async def test_the_schema_and_the_playground_are_public(sample: SampleStore) -> None:
    for path in ("/graphql/schema", "/graphql/schema.graphql"):
        schema = await sample.get(path, auth=None, headers={"X-Tenant-ID": ""})
        assert schema.status == 200, path
        assert b"type Product" in schema.raw, path
        assert b"legacy_token" not in schema.raw, path


@pytest.mark.parametrize("path", ["/graphql/schema", "/graphql/schema.graphql"])
async def test_the_schema_has_an_entity_tag(sample: SampleStore, path: str) -> None:
    first = await sample.get(path, auth=None, headers={"Accept-Encoding": "identity"})
    tag = first.headers["ETag"]
    assert tag.startswith('"')
    assert first.headers["Content-Type"] == "text/plain; charset=utf-8"
    for known in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        cached = await sample.get(path, auth=None, headers={"If-None-Match": known})
        assert (cached.status, cached.raw, cached.headers["ETag"]) == (304, b"", tag), known
    for known in ('"other"', "", "nonsense"):
        changed = await sample.get(path, auth=None, headers={"If-None-Match": known})
        assert (changed.status, changed.raw) == (200, first.raw), known
    head = await sample.request("HEAD", path, auth=None, headers={"Accept-Encoding": "identity"})
    assert (head.status, head.raw, head.headers["ETag"]) == (200, b"", tag)


async def test_a_mutation_is_visible_immediately_and_a_failed_one_changes_nothing(
    sample: SampleStore,
) -> None:
    created = await execute_query(
        sample,
        'mutation { product_create(input: {name: "Copo", price_cents: 990, stock: 4}) { id name stock price_cents status } }',
    )
    product = created.body["data"]["product_create"]
    assert product == {"id": product["id"], "name": "Copo", "stock": 4, "price_cents": 990, "status": "A"}
    refused = await execute_query(
        sample,
        'mutation($id: ID!) { product_update(id: $id, input: {name: "Taça", price_cents: -1}) { id } }',
        variables={"id": product["id"]},
    )
    assert refused.body["errors"][0]["extensions"]["field"] == "price_cents"
    read = await execute_query(sample, "query($id: ID!) { product(id: $id) { name } }", variables={"id": product["id"]})
    assert read.body["data"]["product"] == {"name": "Copo"}
    deleted = await execute_query(
        sample, "mutation($id: ID!) { product_delete(id: $id) { id } }", variables={"id": product["id"]}
    )
    assert deleted.body["data"]["product_delete"] == {"id": product["id"]}
    repeated = await execute_query(
        sample, "mutation($id: ID!) { product_delete(id: $id) { id } }", variables={"id": product["id"]}
    )
    assert errors(repeated) == ["NOT_FOUND"]


async def test_a_bulk_upsert_returns_a_result_for_each_row(sample: SampleStore) -> None:
    text = """mutation($rows: [ProductUpsertInput!]!, $p: ErrorPolicy!) {
        product_bulk_upsert(rows: $rows, error_policy: $p) { index id created error { code fields { field code } } } }"""
    rows = [
        {"id": sample.mug.id, "price_cents": 5555},
        {"name": "Novo", "price_cents": 100},
        {"name": "Sem preço"},
    ]
    failed = await execute_query(sample, text, variables={"rows": rows, "p": "REJECT_FAILED"})
    results = failed.body["data"]["product_bulk_upsert"]
    assert [result["created"] for result in results] == [False, True, False] or results[0]["id"] == sample.mug.id
    assert results[2]["error"]["fields"] == [{"field": "price_cents", "code": "required"}]
    assert await sample.value("SELECT price_cents FROM products WHERE id = $1", sample.mug.number) == 5555
    rows[0]["price_cents"] = 7777
    refused = await execute_query(sample, text, variables={"rows": rows, "p": "REJECT_ALL"})
    assert refused.body["data"]["product_bulk_upsert"][0]["id"] is None
    assert await sample.value("SELECT price_cents FROM products WHERE id = $1", sample.mug.number) == 5555


async def test_an_order_is_placed_and_its_status_changed_or_refused(sample: SampleStore) -> None:
    text = """mutation($input: OrderInput!) { order_create(input: $input) {
        id number status total_cents items { name quantity } customer { email } history { to_status } } }"""
    draft = {
        "customer_id": sample.caio.id,
        "items": [{"product_id": sample.mug.id, "quantity": 2}],
        "shipping_method_id": str(await sample.value("SELECT public_id FROM shipping_methods LIMIT 1")),
    }
    placed = await execute_query(sample, text, variables={"input": draft})
    order = placed.body["data"]["order_create"]
    assert (order["status"], order["items"]) == ("O", [{"name": "Caneca de Ágata", "quantity": 2}])
    set_status = "mutation($id: ID!, $to: OrderStatus!) { order_set_status(id: $id, status: $to) { status } }"
    assert (await execute_query(sample, set_status, variables={"id": order["id"], "to": "paid"})).body["data"][
        "order_set_status"
    ] == {"status": "P"}
    refused = await execute_query(sample, set_status, variables={"id": order["id"], "to": "O"})
    assert errors(refused) == ["RULE_VIOLATION"]
    assert refused.body["errors"][0]["extensions"]["details"]["allowed"]
    invalid = await execute_query(sample, set_status, variables={"id": order["id"], "to": "nonsense"})
    assert errors(invalid) == ["VALIDATION_FAILED"]


async def test_thirty_concurrent_orders_do_not_oversell_five_units(sample: SampleStore) -> None:
    product = await sample.add_product(on_hand=5, is_edp=True)
    text = "mutation($input: OrderInput!) { order_create(input: $input) { id } }"
    draft = {"email": "g@example.com", "items": [{"product_id": product.id, "quantity": 1}]}
    await sample.token(sample.owner)
    answers = await asyncio.gather(*(execute_query(sample, text, variables={"input": draft}) for _ in range(30)))
    sold = [answer for answer in answers if "errors" not in answer.body]
    assert len(sold) == 5
    assert {errors(answer)[0] for answer in answers if "errors" in answer.body} == {"RULE_VIOLATION"}
    row = (await sample.rows("SELECT on_hand, reserved, stock FROM products WHERE id = $1", product.number))[0]
    assert tuple(row) == (5, 5, 0)


async def test_no_mutation_changes_another_stores_records(sample: SampleStore, other_sample: SampleStore) -> None:
    """Every mutation that takes an id is tried with an id of another store; nothing there changes."""
    from graphql import get_named_type, is_non_null_type, is_object_type

    from resolvers import root

    schema = root.public_schema()
    assert schema.mutation_type is not None
    foreign = dict(other_sample.records)
    before = await _everything(other_sample)
    tried = 0
    for name, field in schema.mutation_type.fields.items():
        ids = [key for key, argument in field.args.items() if key == "id" or key.endswith("_id")]
        if not ids:
            continue
        kind = name.rpartition("_")[0]
        target = next(
            (foreign[key] for key in (kind, *foreign) if key in foreign and hasattr(foreign[key], "id")), None
        )
        assert target is not None, (name, field)
        arguments = []
        for key, argument in field.args.items():
            if key in ids:
                arguments.append(f'{key}: "{target.id}"')
            elif is_non_null_type(argument.type) and argument.default_value is None:
                arguments.append(f"{key}: {_sample(get_named_type(argument.type).name)}")
        selection = " { __typename }" if is_object_type(get_named_type(field.type)) else ""
        answer = await execute_query(sample, f"mutation {{ {name}({', '.join(arguments)}){selection} }}")
        assert "errors" in answer.body, (name, answer.body)
        tried += 1
    assert tried > 20
    assert await _everything(other_sample) == before


def _sample(type_name: str) -> str:
    return {
        "BigInt": "1",
        "Int": "1",
        "String": '"x"',
        "OrderStatus": '"P"',
        "MembershipStatus": '"A"',
        "JSON": "{}",
    }.get(type_name, "{}" if type_name.endswith("Input") else "[]")


async def _everything(sample: SampleStore) -> dict[str, Any]:
    records = {}
    for table in (
        "products",
        "orders",
        "users",
        "categories",
        "vendors",
        "shipments",
        "payment_methods",
        "discussion_posts",
    ):
        rows = await sample.rows(f"SELECT to_jsonb(t) AS row FROM {table} t ORDER BY id")  # literals of this test
        records[table] = [json.loads(row["row"]) if isinstance(row["row"], str) else row["row"] for row in rows]
    return records


async def test_a_suspended_store_is_503_in_both_formats(new_sample: NewSampleStore) -> None:
    sample = await new_sample()
    await sample.token(sample.owner)
    from auth.store_resolution import invalidate_store
    from models.connection import database

    async with database.cross_store_connection() as everywhere:
        await everywhere.execute("UPDATE tenants SET status = 'S' WHERE id = $1", sample.store.id)
    await invalidate_store(sample.store.id)
    answer = await execute_query(sample, "{ store { name } }")
    assert (answer.status, answer.body["error"], answer.body["status"]) == (503, "tenant_suspended", 503)
