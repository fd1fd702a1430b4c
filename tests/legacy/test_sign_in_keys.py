"""Check one-time sign-ins: `POST /api/auth` and the exchange of its key (docs/reference/legacy.md#auth)."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from yarl import URL

from domain.people import two_factor
from kernel.scope import active_scope
from tests.harness.http import is_token_pair
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import execute, value

EXCHANGE = "/api/v1/auth/key"
INVALID = (401, "invalid or expired token")


async def create_key(sample: SampleStore, email: str = "caio@example.com", **options: Any) -> dict[str, str]:
    answer = await sample.post("/api/auth", {"email": email}, **options)
    assert answer.status == 201, answer.raw
    assert answer.headers["Cache-Control"] == "no-store"
    body: dict[str, str] = answer.body
    return body


async def exchange(sample: SampleStore, key: str | None) -> tuple[int, Any]:
    answer = await sample.anonymous.post(EXCHANGE, {"key": key})
    return answer.status, answer.body.get("error", answer.body)


async def test_a_key_signs_its_user_in_once(sample):
    key = (await create_key(sample, " Caio@Example.com "))["key"]
    status, pair = await exchange(sample, key)
    assert (status, is_token_pair(pair)) == (200, True)
    me = await sample.anonymous.with_token(pair["access_token"]).get("/api/v1/auth/me")
    assert me.body["id"] == sample.caio.id
    assert await exchange(sample, key) == INVALID


async def test_the_link_signs_in_too_and_a_preview_of_it_does_not(sample):
    link = URL((await create_key(sample))["link"])
    assert link.path == EXCHANGE
    assert (await sample.anonymous.request("HEAD", link.raw_path_qs)).status == 200
    answer = await sample.anonymous.get(link.raw_path_qs)
    assert (answer.status, is_token_pair(answer.body)) == (200, True)
    assert answer.headers["Cache-Control"] == "no-store"
    assert (await sample.anonymous.get(link.raw_path_qs)).status == 401


async def test_the_link_is_of_the_storefronts_page(new_sample):
    sample = await new_sample(account_url="https://loja.example.com/conta")
    created = await create_key(sample)
    assert created["link"] == f"https://loja.example.com/conta#sign_in={created['key']}"


async def test_the_link_has_the_scheme_of_the_proxy(sample):
    created = await create_key(sample, headers={"X-Forwarded-Proto": "https"})
    assert URL(created["link"]).scheme == "https"


async def test_of_concurrent_uses_one_succeeds(sample):
    key = (await create_key(sample))["key"]
    answers = await asyncio.gather(*(exchange(sample, key) for _ in range(3)))
    assert sorted(status for status, _ in answers) == [200, 401, 401]


async def test_a_key_is_stored_as_a_hash_and_expires_after_a_minute(sample):
    key = (await create_key(sample))["key"]
    stored = "select {} from mailed_tokens where tenant_id = $1 and purpose = 'sign_in'"
    assert await value(sample.store, stored.format("expires_at - created_at"), sample.store.id) == timedelta(seconds=60)
    assert key.encode() not in await value(sample.store, stored.format("token_hash"), sample.store.id)
    await execute(
        sample.store,
        "update mailed_tokens set expires_at = now() - interval '1 second' where tenant_id = $1",
        sample.store.id,
    )
    assert await exchange(sample, key) == INVALID


async def test_a_key_is_of_one_store(sample, other_sample):
    key = (await create_key(sample))["key"]
    assert await exchange(other_sample, key) == INVALID
    assert (await exchange(sample, key))[0] == 200


async def test_a_changed_password_ends_the_keys(sample):
    key = (await create_key(sample))["key"]
    assert (await sample.put(f"/api/users/{sample.caio}", {"password": "another good password"})).status == 200
    assert await exchange(sample, key) == INVALID


async def test_two_factor_authentication_applies(sample):
    with active_scope(sample.scope):
        await two_factor.enable_for_demo(sample.scope, sample.caio.number)
    status, challenge = await exchange(sample, (await create_key(sample))["key"])
    assert (status, challenge["requires_2fa"], set(challenge)) == (200, True, {"requires_2fa", "temp_token"})


async def test_creation_and_use_are_audited(sample):
    await exchange(sample, (await create_key(sample))["key"])
    actions = await value(
        sample.store,
        "select array_agg(action order by id) from audit_entries where tenant_id = $1 and action like 'sign_in_key.%'"
        " and subject_id = $2",
        sample.store.id,
        sample.caio.id,
    )
    assert actions == ["sign_in_key.created", "sign_in_key.used"]


async def test_only_accounts_that_the_caller_may_administer_get_a_key(sample):
    manager = await sample.add_user("manage_users", user_type="A")
    for email in (sample.owner.email, sample.staff.email, sample.vendor_user.email):
        answer = await sample.post("/api/auth", {"email": email}, by=manager)
        assert answer.status == 403, email
    await create_key(sample, by=manager)


@pytest.mark.parametrize("caller", ["staff", "vendor_user", "caio"])
async def test_callers_without_the_right_get_no_key(shared_sample, caller):
    auth = "bearer" if caller == "caio" else "basic"
    answer = await shared_sample.post(
        "/api/auth", {"email": "bia@example.com"}, by=getattr(shared_sample, caller), auth=auth
    )
    assert answer.status in (401, 403)


@pytest.mark.parametrize(
    "body, status, message",
    [
        ({}, 400, "email is required"),
        ({"email": " "}, 400, "email is required"),
        ({"email": []}, 400, "email is []; expected a text"),
        ({"email": "unknown@example.com"}, 404, "User not found"),
    ],
)
async def test_without_a_user_there_is_no_key(sample, body, status, message):
    answer = await sample.post("/api/auth", body)
    assert (answer.status, answer.body["message"]) == (status, message)


async def test_a_disabled_user_gets_no_key(sample):
    await sample.put(f"/api/users/{sample.caio}", {"status": "D"})
    assert (await sample.post("/api/auth", {"email": "caio@example.com"})).status == 403


@pytest.mark.parametrize("key", [None, "", "x", "\ud83d\ude00"])
async def test_a_wrong_key_is_rejected(sample, key):
    status, _ = await exchange(sample, key)
    assert status == (401 if key else 400)


async def test_attempts_are_limited(sample):
    statuses = [(await exchange(sample, "x"))[0] for _ in range(6)]
    assert statuses == [401] * 5 + [429]
    statuses = [(await sample.post("/api/auth", {"email": "caio@example.com"})).status for _ in range(6)]
    assert statuses == [201] * 5 + [429]
