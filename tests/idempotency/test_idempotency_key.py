"""A request retried with its Idempotency-Key has no second effect, in every API family."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from auth.secrets import keyed_hash
from domain import idempotency
from domain.retention import delete_expired
from kernel.errors import Conflict
from kernel.scope import active_scope
from resolvers.execute import execute, load_operations
from tests.harness.http import Response
from tests.harness.sample_store import SampleStore

ADMIN, LEGACY, GRAPHQL = "/api/v1/admin/products", "/api/products", "/graphql"
CREATE = "mutation($input: ProductInput!) { product_create(input: $input) { id name created_at images { url } } }"


def body_for(path: str, name: str = "Copo") -> dict[str, Any]:
    if path == LEGACY:
        return {"product": name, "price": "9.90"}
    body_fields = {"name": name, "price_cents": 990}
    return {"query": CREATE, "variables": {"input": body_fields}} if path == GRAPHQL else body_fields


async def send(sample: SampleStore, path: str, key: str | None, body: Any = None, **options: Any) -> Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    auth = "basic" if path == LEGACY else "bearer"
    return await sample.post(path, body or body_for(path), **{"auth": auth, "headers": headers, **options})


async def count_products(sample: SampleStore, name: str = "Copo") -> int:
    return int(await sample.value("SELECT count(*) FROM products WHERE name = $1", name))


@pytest.mark.parametrize("path", [ADMIN, LEGACY, GRAPHQL])
async def test_a_retried_request_gets_the_first_response_and_has_no_second_effect(
    path: str, sample: SampleStore
) -> None:
    first = await send(sample, path, "k1")
    retried = await send(sample, path, "k1")
    assert (retried.status, retried.raw) == (first.status, first.raw)
    assert retried.headers["Content-Type"] == first.headers["Content-Type"]
    assert retried.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert await count_products(sample) == 1
    await send(sample, path, "k2")
    await send(sample, path, None)
    assert await count_products(sample) == 3


@pytest.mark.parametrize("path", [ADMIN, LEGACY, GRAPHQL])
async def test_a_different_body_with_the_same_key_is_refused(path: str, sample: SampleStore) -> None:
    await send(sample, path, "k")
    other = await send(sample, path, "k", body_for(path, "Prato Fundo"))
    text = "idempotency key reused with a different request"
    assert other.status == 422
    assert text in (other.body.get("error"), other.body.get("message"))
    assert await count_products(sample, "Prato Fundo") == 0


async def test_differently_formatted_json_bodies_are_the_same_request(sample: SampleStore) -> None:
    options = {"auth": "bearer", "headers": {"Idempotency-Key": "k", "Content-Type": "application/json"}}
    await sample.post(ADMIN, data=b'{"name": "Copo", "price_cents": 990}', **options)
    retried = await sample.post(ADMIN, data=b'{ "price_cents":990,\n"name":"Copo"}', **options)
    assert retried.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize("depth", [65, 300, 1_000, 2_000])
async def test_a_body_that_is_nested_too_deeply_is_refused_as_without_a_key(depth: int, sample: SampleStore) -> None:
    body = b'{"name": ' + b"[" * depth + b"]" * depth + b"}"
    options = {"auth": "bearer", "data": body}
    without_key = await sample.post(ADMIN, headers={"Content-Type": "application/json"}, **options)
    headers = {"Idempotency-Key": f"nested-{depth}", "Content-Type": "application/json"}
    answer = await sample.post(ADMIN, headers=headers, **options)
    assert (answer.status, answer.body) == (without_key.status, without_key.body)
    assert answer.status == 400


async def test_a_key_is_scoped_to_its_store_and_credential(sample: SampleStore, other_sample: SampleStore) -> None:
    await send(sample, ADMIN, "k")
    assert (await send(other_sample, ADMIN, "k")).status == 201
    colleague = await sample.add_user("manage_products")
    other_response = await send(sample, ADMIN, "k", by=colleague)
    assert (other_response.status, "Idempotent-Replayed" in other_response.headers) == (201, False)


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "ç"])
async def test_a_malformed_key_is_400(key: str, sample: SampleStore) -> None:
    answer = await send(sample, ADMIN, key.encode().decode("latin-1"))
    assert (answer.status, answer.body["error"]) == (400, "invalid idempotency key")
    assert await count_products(sample) == 0


def fingerprint(path: str, body: bytes) -> bytes:
    digest = hashlib.sha256(b"\n".join([b"POST", path.encode(), body]))
    return bytes.fromhex(keyed_hash("idempotency", digest.hexdigest()))


async def _insert_claim(sample: SampleStore, key: str, seconds: int) -> None:
    """Insert the claim of another request, taken the given seconds ago."""
    credential = f"user:{sample.owner.number}"
    await sample.execute(
        "INSERT INTO idempotency_claims (public_id, credential, key, fingerprint, owner, claimed_at)"
        " VALUES ($1, $2, $3, $4, $5, now() - make_interval(secs => $6))",
        uuid4(),
        credential,
        key,
        fingerprint(ADMIN, b'{"name":"Copo","price_cents":990}'),
        uuid4(),
        seconds,
    )


REOPEN = "UPDATE idempotency_claims SET done_at = NULL, result = NULL, status = NULL, body = NULL WHERE key = $1"


async def test_every_family_answers_in_progress_in_its_form(sample: SampleStore) -> None:
    details = {"retry_after_ms": 1000}
    forms = {
        ADMIN: {"error": "in_progress", **details},
        GRAPHQL: {"error": "in_progress", "message": "in_progress", "status": 409, **details},
        LEGACY: {"status": 409, "message": "in_progress", **details},
    }
    for path, form in forms.items():
        await send(sample, path, path)
        await sample.execute(REOPEN, path)
        answer = await send(sample, path, path)
        assert (answer.status, answer.body) == (409, form)


async def test_a_retry_during_the_first_request_is_409(sample: SampleStore) -> None:
    await _insert_claim(sample, "k", 5)
    answer = await send(sample, ADMIN, "k")
    assert (answer.status, answer.body) == (409, {"error": "in_progress", "retry_after_ms": 1000})
    assert await count_products(sample) == 0


async def test_an_abandoned_key_can_be_claimed_after_a_minute(sample: SampleStore) -> None:
    await _insert_claim(sample, "k", 61)
    assert (await send(sample, ADMIN, "k")).status == 201
    assert await count_products(sample) == 1


async def test_a_validation_error_is_stored_and_a_missing_privilege_is_not(sample: SampleStore) -> None:
    invalid = {"name": "", "price_cents": 990}
    first = await send(sample, ADMIN, "k", invalid)
    retried = await send(sample, ADMIN, "k", invalid)
    assert first.status == retried.status == 400
    assert (retried.raw, retried.headers["Idempotent-Replayed"]) == (first.raw, "true")
    forbidden = await send(sample, ADMIN, "rights", by=sample.staff)
    assert forbidden.status == 403
    await sample.execute("UPDATE users SET privileges = '{manage_products}' WHERE id = $1", sample.staff.number)
    sample.tokens.pop(sample.staff.number)
    from auth.credential_cache import invalidate_credentials

    with active_scope(sample.scope):
        await invalidate_credentials(sample.scope, sample.staff.number)
    assert (await send(sample, ADMIN, "rights", by=sample.staff)).status == 201


async def test_stored_responses_and_results_are_encrypted(sample: SampleStore) -> None:
    """They can hold an order's token."""
    first = await send(sample, ADMIN, "k")
    rows = await sample.rows("SELECT result, body FROM idempotency_claims")
    assert rows
    assert all(b"Copo" not in row["body"] and "Copo" not in row["result"] for row in rows)
    assert (await send(sample, ADMIN, "k")).raw == first.raw


async def test_a_response_stored_before_encryption_is_replayed(sample: SampleStore) -> None:
    first = await send(sample, ADMIN, "k")
    await sample.execute("UPDATE idempotency_claims SET body = $1", first.raw)
    assert (await send(sample, ADMIN, "k")).raw == first.raw


async def test_a_lost_response_is_rendered_again_from_the_stored_result(sample: SampleStore) -> None:
    for path in (ADMIN, LEGACY, GRAPHQL):
        first = await send(sample, path, "k" + path)
        updated = await sample.execute(
            "UPDATE idempotency_claims SET status = NULL, body = NULL WHERE key = $1 AND result IS NOT NULL",
            "k" + path,
        )
        assert updated == 1, path
        retried = await send(sample, path, "k" + path)
        assert (retried.status, retried.body) == (first.status, first.body), path
        assert retried.headers["Idempotent-Replayed"] == "true", path
    assert await count_products(sample) == 3


async def test_the_effect_of_a_lost_claim_is_rolled_back(sample: SampleStore) -> None:
    import rest_facade.current
    from rest_facade.records import FRAGMENTS

    operations = load_operations(rest_facade.current.OPERATIONS, FRAGMENTS)
    from auth.privileges import ALL
    from kernel.scope import Actor, ActorKind

    actor = Actor(ActorKind.ADMIN, user_id=sample.owner.number, privileges=ALL, credential="user:1")
    scope = replace(sample.scope, family="current", actor=actor)
    with active_scope(scope):
        claim = await idempotency.claim_key(scope, "k", [b"x" * 32])
        assert isinstance(claim, idempotency.KeyClaim)
        await sample.execute("UPDATE idempotency_claims SET owner = $1", uuid4())
        with idempotency.active_claim(claim), pytest.raises(Conflict):
            await execute(scope, operations["AdminProductCreate"], {"input": {"name": "Copo", "price_cents": 990}})
    assert await count_products(sample) == 0


async def test_twenty_concurrent_requests_have_one_effect(sample: SampleStore) -> None:
    await sample.token(sample.owner)
    answers = await asyncio.gather(*(send(sample, ADMIN, "k") for _ in range(20)))
    assert {answer.status for answer in answers} <= {201, 409}
    assert len({answer.raw for answer in answers if answer.status == 201}) == 1
    assert await count_products(sample) == 1


async def test_a_failed_mutation_is_replayed_and_changes_nothing(sample: SampleStore) -> None:
    body = {"query": CREATE, "variables": {"input": {"name": "Copo"}}}
    first, retried = await send(sample, GRAPHQL, "k", body), await send(sample, GRAPHQL, "k", body)
    assert first.body["errors"][0]["extensions"]["code"] == "VALIDATION_FAILED"
    assert (retried.raw, retried.headers["Idempotent-Replayed"]) == (first.raw, "true")
    two = "mutation { a: product_create(input: {}) { id } b: product_create(input: {}) { id } }"
    assert (await send(sample, GRAPHQL, "two", {"query": two})).status == 400


async def test_queries_and_updates_ignore_the_key(sample: SampleStore) -> None:
    query = {"query": "{ store { name } }"}
    for repetition in range(2):
        answer = await send(sample, GRAPHQL, "k", query)
        assert "Idempotent-Replayed" not in answer.headers, repetition
    for price in (1, 2):
        await sample.put(
            f"{ADMIN}/{sample.mug.id}",
            {"price_cents": price},
            auth="bearer",
            headers={"Idempotency-Key": "p"},
        )
    assert await sample.value("SELECT price_cents FROM products WHERE id = $1", sample.mug.number) == 2
    assert await sample.value("SELECT count(*) FROM idempotency_claims") == 0


async def test_keys_expire_after_a_day(sample: SampleStore) -> None:
    await send(sample, ADMIN, "old")
    await send(sample, ADMIN, "new")
    await sample.execute("UPDATE idempotency_claims SET claimed_at = now() - interval '25 hours' WHERE key = 'old'")
    assert "Idempotent-Replayed" not in (await send(sample, ADMIN, "old")).headers
    await sample.execute("UPDATE idempotency_claims SET claimed_at = now() - interval '25 hours' WHERE key = 'old'")
    await delete_expired(sample.scope)
    assert [row["key"] for row in await sample.rows("SELECT key FROM idempotency_claims")] == ["new"]


async def test_mutations_that_return_a_secret_ignore_the_key(sample: SampleStore) -> None:
    field = "two_factor_begin { secret }"
    for document in (
        f"mutation {{ {field} }}",
        f"mutation {{ ... on Mutation {{ {field} }} }}",
        f"mutation {{ ...hidden }} fragment hidden on Mutation {{ {field} }}",
        "mutation { api_key_create { key } }",
    ):
        answers = [await send(sample, GRAPHQL, "k", {"query": document}) for _ in range(2)]
        assert answers[0].body["data"] != answers[1].body["data"], document
        assert not any("Idempotent-Replayed" in answer.headers for answer in answers), document
    assert await sample.value("SELECT count(*) FROM idempotency_claims") == 0


async def test_the_stored_fingerprint_is_a_keyed_hash(sample: SampleStore) -> None:
    path = "/api/v1/auth/register"
    body_fields = {"email": f"{uuid4().hex}@example.com", "name": "Ana", "password": "correct horse battery"}
    first, retried = [await send(sample, path, "k", body_fields, auth=None) for _ in range(2)]
    assert (first.status, retried.raw, retried.headers["Idempotent-Replayed"]) == (201, first.raw, "true")
    stored = await sample.value("SELECT fingerprint FROM idempotency_claims")
    raw = json.dumps(body_fields, sort_keys=True, separators=(",", ":")).encode()
    assert bytes(stored) == fingerprint(path, raw)
    assert bytes(stored) != hashlib.sha256(b"\n".join([b"POST", path.encode(), raw])).digest()
