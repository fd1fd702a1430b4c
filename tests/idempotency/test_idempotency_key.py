"""A request sent again with its Idempotency-Key has no second effect, in every family."""

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
from domain.jobs import forget_spent
from kernel.errors import Conflict
from kernel.scope import entered
from resolvers.execute import execute, load
from tests.shop import Answer, Shop

ADMIN, LEGACY, GRAPHQL = "/api/v1/admin/products", "/api/products", "/graphql"
CREATE = "mutation($input: ProductInput!) { product_create(input: $input) { id name } }"


def body_for(path: str, name: str = "Copo") -> dict[str, Any]:
    if path == LEGACY:
        return {"product": name, "price": "9.90"}
    given = {"name": name, "price_cents": 990}
    return {"query": CREATE, "variables": {"input": given}} if path == GRAPHQL else given


async def send(shop: Shop, path: str, key: str | None, body: Any = None, **how: Any) -> Answer:
    headers = {} if key is None else {"Idempotency-Key": key}
    auth = "basic" if path == LEGACY else "bearer"
    return await shop.post(path, body or body_for(path), **{"auth": auth, "headers": headers, **how})


async def made(shop: Shop, name: str = "Copo") -> int:
    return int(await shop.value("SELECT count(*) FROM products WHERE name = $1", name))


@pytest.mark.parametrize("path", [ADMIN, LEGACY, GRAPHQL])
async def test_the_first_answer_is_given_again_and_nothing_is_made_twice(path: str, shop: Shop) -> None:
    first = await send(shop, path, "k1")
    again = await send(shop, path, "k1")
    assert (again.status, again.raw) == (first.status, first.raw)
    assert again.headers["Content-Type"] == first.headers["Content-Type"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert await made(shop) == 1
    await send(shop, path, "k2")
    await send(shop, path, None)
    assert await made(shop) == 3


@pytest.mark.parametrize("path", [ADMIN, LEGACY, GRAPHQL])
async def test_another_body_under_the_same_key_is_refused(path: str, shop: Shop) -> None:
    await send(shop, path, "k")
    other = await send(shop, path, "k", body_for(path, "Prato Fundo"))
    text = "idempotency key reused with a different request"
    assert other.status == 422
    assert text in (other.body.get("error"), other.body.get("message"))
    assert await made(shop, "Prato Fundo") == 0


async def test_two_ways_to_write_one_body_are_the_same_request(shop: Shop) -> None:
    how = {"auth": "bearer", "headers": {"Idempotency-Key": "k", "Content-Type": "application/json"}}
    await shop.post(ADMIN, data=b'{"name": "Copo", "price_cents": 990}', **how)
    again = await shop.post(ADMIN, data=b'{ "price_cents":990,\n"name":"Copo"}', **how)
    assert again.headers["Idempotent-Replayed"] == "true"


async def test_a_key_belongs_to_its_store_and_credential(shop: Shop, other_shop: Shop) -> None:
    await send(shop, ADMIN, "k")
    assert (await send(other_shop, ADMIN, "k")).status == 201
    colleague = await shop.new_person("manage_products")
    theirs = await send(shop, ADMIN, "k", by=colleague)
    assert (theirs.status, "Idempotent-Replayed" in theirs.headers) == (201, False)


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "ç"])
async def test_a_key_out_of_its_form_is_400(key: str, shop: Shop) -> None:
    answer = await send(shop, ADMIN, key.encode().decode("latin-1"))
    assert (answer.status, answer.body["error"]) == (400, "invalid idempotency key")
    assert await made(shop) == 0


def fingerprint(path: str, body: bytes) -> bytes:
    asked = hashlib.sha256(b"\n".join([b"POST", path.encode(), body]))
    return bytes.fromhex(keyed_hash("idempotency", asked.hexdigest()))


async def _running(shop: Shop, key: str, seconds: int) -> None:
    """Put a claim there that another request took so many seconds ago."""
    credential = f"user:{shop.owner.number}"
    await shop.execute(
        "INSERT INTO idempotency_claims (public_id, credential, key, fingerprint, owner, claimed_at)"
        " VALUES ($1, $2, $3, $4, $5, now() - make_interval(secs => $6))",
        uuid4(),
        credential,
        key,
        fingerprint(ADMIN, b'{"name":"Copo","price_cents":990}'),
        uuid4(),
        seconds,
    )


async def test_while_the_first_runs_the_second_is_told_to_wait(shop: Shop) -> None:
    await _running(shop, "k", 5)
    answer = await send(shop, ADMIN, "k")
    assert (answer.status, answer.body) == (409, {"error": "in_progress", "retry_after_ms": 1000})
    assert await made(shop) == 0


async def test_a_key_whose_request_died_is_taken_over_after_a_minute(shop: Shop) -> None:
    await _running(shop, "k", 61)
    assert (await send(shop, ADMIN, "k")).status == 201
    assert await made(shop) == 1


async def test_a_refusal_is_kept_and_a_missing_right_is_not(shop: Shop) -> None:
    wrong = {"name": "", "price_cents": 990}
    first = await send(shop, ADMIN, "k", wrong)
    again = await send(shop, ADMIN, "k", wrong)
    assert first.status == again.status == 400
    assert (again.raw, again.headers["Idempotent-Replayed"]) == (first.raw, "true")
    refused = await send(shop, ADMIN, "rights", by=shop.staff)
    assert refused.status == 403
    await shop.execute("UPDATE users SET privileges = '{manage_products}' WHERE id = $1", shop.staff.number)
    shop.tokens.pop(shop.staff.number)
    from auth.credential_cache import changed

    with entered(shop.scope()):
        await changed(shop.scope(), shop.staff.number)
    assert (await send(shop, ADMIN, "rights", by=shop.staff)).status == 201


async def test_an_answer_that_was_lost_is_rendered_again_from_the_result(shop: Shop) -> None:
    for path in (ADMIN, LEGACY, GRAPHQL):
        first = await send(shop, path, "k" + path)
        lost = await shop.execute(
            "UPDATE idempotency_claims SET status = NULL, body = NULL WHERE key = $1 AND result IS NOT NULL",
            "k" + path,
        )
        assert lost == 1
        again = await send(shop, path, "k" + path)
        assert (again.status, again.body) == (first.status, first.body)
        assert again.headers["Idempotent-Replayed"] == "true"
    assert await made(shop) == 3


async def test_an_effect_whose_key_was_taken_over_is_rolled_back(shop: Shop) -> None:
    import rest_facade.current
    from rest_facade.records import FRAGMENTS

    operations = load(rest_facade.current.OPERATIONS, FRAGMENTS)
    from auth.privileges import ALL
    from kernel.scope import Actor, ActorKind

    actor = Actor(ActorKind.ADMIN, user_id=shop.owner.number, privileges=ALL, credential="user:1")
    scope = replace(shop.scope(family="current"), actor=actor)
    with entered(scope):
        claim = await idempotency.take(scope, "k", b"x" * 32)
        assert isinstance(claim, idempotency.KeyClaim)
        await shop.execute("UPDATE idempotency_claims SET owner = $1", uuid4())
        with idempotency.claimed(claim), pytest.raises(Conflict):
            await execute(
                scope, operations["AdminProductCreate"], {"input": {"name": "Copo", "price_cents": 990}}
            )
    assert await made(shop) == 0


async def test_twenty_at_once_have_one_effect(shop: Shop) -> None:
    await shop.token(shop.owner)
    answers = await asyncio.gather(*(send(shop, ADMIN, "k") for _ in range(20)))
    assert {answer.status for answer in answers} <= {201, 409}
    assert len({answer.raw for answer in answers if answer.status == 201}) == 1
    assert await made(shop) == 1


async def test_a_refused_mutation_is_answered_the_same_and_leaves_nothing(shop: Shop) -> None:
    body = {"query": CREATE, "variables": {"input": {"name": "Copo"}}}
    first, again = await send(shop, GRAPHQL, "k", body), await send(shop, GRAPHQL, "k", body)
    assert first.body["errors"][0]["extensions"]["code"] == "VALIDATION_FAILED"
    assert (again.raw, again.headers["Idempotent-Replayed"]) == (first.raw, "true")
    two = "mutation { a: product_create(input: {}) { id } b: product_create(input: {}) { id } }"
    assert (await send(shop, GRAPHQL, "two", {"query": two})).status == 400


async def test_queries_and_changes_of_what_is_there_take_no_key(shop: Shop) -> None:
    query = {"query": "{ store { name } }"}
    for _ in range(2):
        answer = await send(shop, GRAPHQL, "k", query)
        assert "Idempotent-Replayed" not in answer.headers
    for price in (1, 2):
        await shop.put(
            f"{ADMIN}/{shop.mug.id}", {"price_cents": price}, auth="bearer", headers={"Idempotency-Key": "p"}
        )
    assert await shop.value("SELECT price_cents FROM products WHERE id = $1", shop.mug.number) == 2
    assert await shop.value("SELECT count(*) FROM idempotency_claims") == 0


async def test_keys_are_forgotten_after_a_day(shop: Shop) -> None:
    await send(shop, ADMIN, "old")
    await send(shop, ADMIN, "new")
    await shop.execute(
        "UPDATE idempotency_claims SET claimed_at = now() - interval '25 hours' WHERE key = 'old'"
    )
    assert "Idempotent-Replayed" not in (await send(shop, ADMIN, "old")).headers
    await shop.execute(
        "UPDATE idempotency_claims SET claimed_at = now() - interval '25 hours' WHERE key = 'old'"
    )
    await forget_spent(shop.scope())
    assert [row["key"] for row in await shop.rows("SELECT key FROM idempotency_claims")] == ["new"]


async def test_what_answers_a_secret_takes_no_key(shop: Shop) -> None:
    begin = "two_factor_begin { secret }"
    for document in (
        f"mutation {{ {begin} }}",
        f"mutation {{ ... on Mutation {{ {begin} }} }}",
        f"mutation {{ ...hidden }} fragment hidden on Mutation {{ {begin} }}",
        "mutation { api_key_create { key } }",
    ):
        answers = [await send(shop, GRAPHQL, "k", {"query": document}) for _ in range(2)]
        assert answers[0].body["data"] != answers[1].body["data"]
        assert not any("Idempotent-Replayed" in answer.headers for answer in answers)
    assert await shop.value("SELECT count(*) FROM idempotency_claims") == 0


async def test_a_kept_fingerprint_serves_nobody_who_guesses_passwords(shop: Shop) -> None:
    path = "/api/v1/auth/register"
    given = {"email": f"{uuid4().hex}@example.com", "name": "Ana", "password": "correct horse battery"}
    first, again = [await send(shop, path, "k", given, auth=None) for _ in range(2)]
    assert (first.status, again.raw, again.headers["Idempotent-Replayed"]) == (201, first.raw, "true")
    kept = await shop.value("SELECT fingerprint FROM idempotency_claims")
    raw = json.dumps(given, sort_keys=True, separators=(",", ":")).encode()
    assert bytes(kept) == fingerprint(path, raw)
    assert bytes(kept) != hashlib.sha256(b"\n".join([b"POST", path.encode(), raw])).digest()
