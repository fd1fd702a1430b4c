"""Records of two stores have the same numbers: no credential of one store reaches the other's, in any family."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from kernel.scope import active_scope
from models.connection import database
from models.numbers import NUMBERED_TABLES
from rest_facade.legacy import routes
from rest_facade.routing import Credential
from tests.harness.http import Client, Response, basic, bearer
from tests.harness.oauth import APP_SCOPES, issue_tokens, register_app
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import open_storefront
from tests.legacy.test_access import ROUTES, body_for, path_to

MARK = "Alheio"
TEXTS = """
    select relname as table, array_agg(attname) as columns from pg_attribute join pg_class on pg_class.oid = attrelid
    where relname = any($1) and attname in ('name', 'firstname', 'description', 'carrier', 'phone', 'message', 'content')
      and atttypid = 'text'::regtype and attgenerated = '' group by 1
"""
# Of each family a path that each of its credentials may read.
PATHS = {
    "graphql": "/graphql",
    "current": "/api/v1/admin/products",
    "account": "/api/v1/auth/me",
    "apps": "/api/admin/orders",
    "storefront": "/api/v1/storefront/products",
    "legacy": "/api/products",
    "vendor app": "/api/vendor_profile",
}
VENDOR_ROUTES = [route for route in routes() if route.credential is Credential.VENDOR]


async def mark(store: SampleStore) -> None:
    """Mark the texts of a store's records, so that a response with any of them is recognized."""
    for row in await store.rows(TEXTS, sorted(NUMBERED_TABLES)):
        values = ", ".join(f"{column} = '{MARK} ' || coalesce({column}, '')" for column in row["columns"])
        await store.rows(f"update {row['table']} set {values}")


async def content(store: SampleStore) -> dict[str, list[str]]:
    """Return every row of the store, except for what reading changes."""
    with active_scope(store.scope):
        tables = await database.fetch("""
            select relname from pg_class join pg_attribute on attrelid = pg_class.oid
            where attname = 'tenant_id' and relkind = 'r' and relnamespace = 'public'::regnamespace""")
        return {
            name: sorted(row["text"] for row in await database.fetch(f"select t::text as text from {name} t"))
            for name in sorted(row["relname"] for row in tables)
        }


async def credentials(store: SampleStore) -> dict[str, Mapping[str, str]]:
    """Return a credential of each kind."""
    owner, vendor = store.owner, store.vendor_user
    issued = {
        path: await store.post(path, {"email": user.email, "password": user.password}, auth=None)
        for path, user in (("/api/auth_tokens", owner), ("/api/vendor_login", vendor))
    }
    admin = Client(store.http, store.store, bearer(await store.token(owner)), store.ip, owner)
    app = await issue_tokens(admin, await register_app(admin, scopes=APP_SCOPES), APP_SCOPES)
    key = (await open_storefront(store)).key or ""
    return {
        "API key": basic(owner.email, owner.api_key),
        "access token": bearer(await store.token(owner)),
        "vendor's access token": bearer(await store.token(vendor)),
        "customer's access token": bearer(await store.token(store.caio)),
        "legacy token": bearer(issued["/api/auth_tokens"].body["token"]),
        "vendor token": bearer(issued["/api/vendor_login"].body["token"]),
        "app token": bearer(app["access_token"]),
        "storefront key": {"X-API-Key": key},
    }


async def call(store: SampleStore, path: str, headers: Mapping[str, str]) -> Response:
    client = Client(store.http, store.store, headers, store.ip)
    if path == "/graphql":
        return await client.post(path, {"query": "{ products { name } }"})
    return await client.get(path)


async def test_the_sample_stores_have_equal_numbers(sample: SampleStore, other_sample: SampleStore) -> None:
    numbers = {name: record.number for name, record in sample.records.items() if name != "setting"}
    assert numbers == {name: other_sample.records[name].number for name in numbers}
    assert len(numbers) > 40


async def test_a_credential_reaches_its_own_store_only(sample: SampleStore, other_sample: SampleStore) -> None:
    await mark(other_sample)
    accepted = set()
    for kind, headers in (await credentials(sample)).items():
        for family, path in PATHS.items():
            own = await call(sample, path, headers)
            assert MARK not in own.raw.decode(), (kind, family)
            if own.status == 200:
                accepted.add((kind, family))
            foreign = await call(other_sample, path, headers)
            # The second time from the cache of verified credentials.
            again = await call(other_sample, path, headers)
            for answer in (foreign, again):
                assert answer.status in (401, 403), (kind, family, answer.raw)
                assert MARK not in answer.raw.decode()
    assert {kind for kind, _ in accepted} == set(await credentials(sample))
    assert {family for _, family in accepted} == set(PATHS)


async def test_a_credential_cached_for_one_store_is_not_used_in_the_other(
    sample: SampleStore, other_sample: SampleStore
) -> None:
    """With the same e-mail, password and number in both stores, only the keys differ."""
    await other_sample.rows("update users set email = $1 where id = $2", sample.owner.email, sample.owner.number)
    for store, key, status in (
        (sample, sample.owner.api_key, 200),
        (other_sample, sample.owner.api_key, 401),
        (other_sample, other_sample.owner.api_key, 200),
        (sample, other_sample.owner.api_key, 401),
    ):
        answer = await call(store, "/api/products", basic(sample.owner.email, key))
        assert answer.status == status


async def test_revoking_a_user_leaves_the_user_of_the_same_number_alone(
    sample: SampleStore, other_sample: SampleStore
) -> None:
    stores = (sample, other_sample)
    assert len({store.staff.number for store in stores}) == 1
    tokens = [await staff_credentials(store) for store in stores]
    for store, headers in zip(stores, tokens, strict=True):
        for each in headers:
            assert (await call(store, "/api/orders", each)).status == 200
    answer = await sample.put(f"/api/users/{sample.staff}", {"status": "D"})
    assert answer.status == 200, answer.raw
    for each in tokens[0]:
        assert (await call(sample, "/api/orders", each)).status == 401
    for each in tokens[1]:
        assert (await call(other_sample, "/api/orders", each)).status == 200


async def staff_credentials(store: SampleStore) -> list[Mapping[str, str]]:
    user = store.staff
    token = await store.post("/api/auth_tokens", {"email": user.email, "password": user.password}, auth=None)
    return [bearer(await store.token(user)), basic(user.email, user.api_key), bearer(token.body["token"])]


@pytest.mark.combination
async def test_no_legacy_route_reads_or_changes_the_record_of_the_same_number(
    sample: SampleStore, other_sample: SampleStore
) -> None:
    await mark(other_sample)
    before = await content(other_sample)
    # Deletions last: what they delete, others need.
    changed = 0
    for route in sorted(ROUTES, key=lambda route: ("GET", "POST", "PUT", "DELETE").index(route.method)):
        answer = await sample.request(route.method, path_to(route, sample), body_for(route, sample))
        assert MARK not in answer.raw.decode(), route
        changed += route.method != "GET" and answer.status < 300
    assert changed > 60
    assert await content(other_sample) == before


@pytest.mark.parametrize("auth", ["bearer", "basic"])
async def test_no_vendor_reads_or_changes_the_record_of_the_same_number(new_sample: Any, auth: str) -> None:
    sample, other = await new_sample(legacy_vendor_keys="Y"), await new_sample(legacy_vendor_keys="Y")
    await mark(other)
    before = await content(other)
    served = 0
    for route in [*VENDOR_ROUTES, *ROUTES]:
        path = re.sub(r"\{\w+\}", str(sample.order if "order" in route.path else sample.mug), route.path)
        body: Any = None if route.method in ("GET", "DELETE") else {}
        answer = await sample.request(route.method, path, body, by=sample.vendor_user, auth=auth)
        assert answer.status < 500, (route, answer.raw)
        assert MARK not in answer.raw.decode(), route
        served += answer.status == 200
    assert served > 10
    assert await content(other) == before
