"""The typed clients, built and installed, keep what docs/clients.md promises against the running application.

tests/clients/typed has the programs that use them; both languages run the same scenarios.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from graphql import OperationDefinitionNode, parse

from kernel.ids import uuid7
from kernel.scope import active_scope
from models.connection import database
from tests.auth.two_factor_users import add_two_factor_user
from tests.clients.fake_feed import COMPLETE, CUT_IN_A_MESSAGE, ENDED, NO_STREAM, SILENT, FakeFeed
from tests.clients.fault_proxy import CUT, LIMITED, LOST, UNAVAILABLE, FaultProxy
from tests.harness.oauth import APP_SCOPES, App, approve_app, exchange_code, graphql_result, issue_tokens, register_app
from tests.harness.records import PASSWORD, UserRecord, sign_in
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import rows
from tests.harness.storefront import StorefrontClient
from tests.harness.typed_clients import TypedClient
from tests.webhooks.kit import emit_events

pytestmark = pytest.mark.slow(seconds=2)

CHECKOUT, REFRESH, FEED = "/api/v1/storefront/carts/{}/checkout", "/api/v1/auth/refresh", "/api/admin/events"


@pytest.fixture
async def proxy(sample: SampleStore) -> AsyncIterator[FaultProxy]:
    started = FaultProxy(sample.http.make_url(""))
    await started.start()
    yield started
    await started.close()


def place(proxy: FaultProxy, sample: SampleStore) -> dict[str, Any]:
    return {"base": proxy.base, "store": str(sample.store.public_id)}


async def session(sample: SampleStore, user: UserRecord) -> dict[str, Any]:
    pair = await sign_in(sample.store, user)
    return {"access_token": pair.access_token, "refresh_token": pair.refresh_token}


async def install(sample: SampleStore) -> tuple[App, dict[str, Any]]:
    """Install an app with all scopes; return it with its tokens."""
    owner = await sample.client(sample.owner)
    app = await register_app(owner, scopes=APP_SCOPES)
    return app, await issue_tokens(owner, app, APP_SCOPES)


# --- Packages --------------------------------------------------------------------------------------------------------


def test_package_and_program_pass_the_strictest_type_check(typed_client: TypedClient) -> None:
    typed_client.check_types()


# --- Sign-in and renewal ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False], ids=["before-expiry", "after-refusal"])
async def test_concurrent_requests_share_the_renewal_of_an_expired_session(
    typed_client: TypedClient, sample: SampleStore, proxy: FaultProxy, known: bool
) -> None:
    tokens = await session(sample, sample.owner)
    if known:
        tokens["expires_at"] = time.time() + 30
    else:
        tokens["access_token"] = "expired." + tokens["access_token"]
    proxy.faults[REFRESH] = [LIMITED, CUT]
    result = await typed_client("renewal", **place(proxy, sample), **tokens, count=20)
    assert len(result["totals"]) == 20
    assert len(set(result["totals"])) == 1
    assert len(result["renewed"]) == 1
    assert len(proxy.of(REFRESH)) == 3 + 1  # the last one after the end of the session
    assert result["ended"] == "invalid refresh token"


async def test_an_app_renews_its_tokens_once_and_revokes_them(
    typed_client: TypedClient, sample: SampleStore, proxy: FaultProxy
) -> None:
    app, tokens = await install(sample)
    known = {"access_token": tokens["access_token"], "refresh_token": tokens["refresh_token"], "expires_at": 1}
    result = await typed_client("renewal", **place(proxy, sample), **known, **app.credentials, count=5)
    assert len(result["totals"]) == 5
    assert len(result["renewed"]) == 1
    assert result["ended"] == "invalid_grant"


async def test_a_second_factor_is_a_challenge_that_a_code_completes(
    typed_client: TypedClient, sample: SampleStore, proxy: FaultProxy
) -> None:
    user = await add_two_factor_user(sample.store)
    parameters = {"identifier": user.email, "password": PASSWORD, "code": user.code(sample.scope.now, steps=1)}
    result = await typed_client("sign_in", **place(proxy, sample), **parameters)
    assert result == {"wrong": "invalid code", "email": user.email}


async def test_the_code_of_an_approval_becomes_an_apps_tokens(
    typed_client: TypedClient, sample: SampleStore, proxy: FaultProxy
) -> None:
    owner = await sample.client(sample.owner)
    app = await register_app(owner)
    code = (await approve_app(owner, app))["code"]
    total = await typed_client("exchange", **place(proxy, sample), **app.credentials, code=code)
    assert total == (await sample.get("/api/v1/admin/orders", auth="bearer")).body["total"]
    assert (await exchange_code(owner, app, code)).status == 400


# --- Retries ---------------------------------------------------------------------------------------------------------


async def test_a_checkout_through_faults_places_one_order(
    typed_client: TypedClient, storefront: StorefrontClient, proxy: FaultProxy
) -> None:
    sample = storefront.sample
    cart = await storefront.cart((sample.mug, 2))
    path = CHECKOUT.format(cart)
    proxy.faults[path] = [LIMITED, CUT, UNAVAILABLE, LOST]
    before = len(await rows(sample.store, "select 1 from orders where tenant_id = $1", sample.store.id))
    shopper = await session(sample, await sample.add_user(user_type="C"))
    parameters = {"key": storefront.key, "cart": cart, "payment": sample.pix.id}
    order = await typed_client("checkout", **place(proxy, sample), **shopper, **parameters)
    placed = await rows(sample.store, "select public_id from orders where tenant_id = $1 order by id", sample.store.id)
    assert len(placed) == before + 1
    assert str(placed[-1]["public_id"]) == order
    requests = proxy.of(path)
    assert len(requests) == 5
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 1
    assert requests[1].at - requests[0].at >= 1  # Retry-After


async def test_a_mutation_through_faults_takes_effect_once(
    typed_client: TypedClient, sample: SampleStore, proxy: FaultProxy
) -> None:
    proxy.faults["/graphql"] = [UNAVAILABLE, LOST]
    category = await typed_client("mutation", **place(proxy, sample), **await session(sample, sample.owner))
    stored = await rows(
        sample.store, "select public_id from categories where tenant_id = $1 and name = 'Uma só'", sample.store.id
    )
    assert [str(row["public_id"]) for row in stored] == [category]
    assert len({request.headers["Idempotency-Key"] for request in proxy.of("/graphql")}) == 1


async def test_only_writes_that_may_be_repeated_are_sent_again(
    typed_client: TypedClient, storefront: StorefrontClient, proxy: FaultProxy
) -> None:
    cart = await storefront.cart((storefront.sample.mug, 1))
    base = f"/api/v1/storefront/carts/{cart}"
    proxy.faults |= {f"{base}/address": [LOST], f"{base}/coupon": [LOST], "/graphql": [LOST]}
    result = await typed_client("unkeyed", **place(proxy, storefront.sample), key=storefront.key, cart=cart)
    assert result == [cart, True, True]
    assert len(proxy.of(f"{base}/address")) == 2  # PUT
    assert len(proxy.of(f"{base}/coupon")) == 1  # POST without a key
    (secret,) = proxy.of("/graphql")  # a mutation that returns a secret
    assert "Idempotency-Key" not in secret.headers


# --- Pages and errors ------------------------------------------------------------------------------------------------


async def test_iteration_reads_all_pages_in_every_family(
    typed_client: TypedClient, sample: SampleStore, proxy: FaultProxy
) -> None:
    with active_scope(sample.scope):
        await database.execute(
            """insert into products (tenant_id, public_id, name, slug, price_cents, on_hand, vendor_id, created_at, updated_at)
               select $1, gen_random_uuid(), 'P' || to_char(n, 'FM0000'), 'p-' || n, 100, 1, $2, now(), now()
               from generate_series(1, 520) n""",
            sample.store.id,
            sample.vendor.number,
        )
    admin = await sample.client(sample.owner)
    listed = await graphql_result(admin, "{ products(limit: 1000, sort: NAME_ASC) { name status } }")
    names = sorted(product["name"] for product in listed)
    assert len(names) > 520
    _, app = await install(sample)
    parameters = {"email": sample.owner.email, "api_key": sample.owner.api_key, "app_token": app["access_token"]}
    result = await typed_client("pages", **place(proxy, sample), **await session(sample, sample.owner), **parameters)
    active = sorted(product["name"] for product in listed if product["status"] == "A")
    assert result["graphql"] == [product["name"] for product in listed]
    assert sorted(result["current"]) == names
    assert sorted(result["apps"]) == active
    assert sorted(result["legacy"]) == names
    assert sorted(result["keyed"]) == sorted(product["name"] for product in listed if product["status"] in "AH")
    assert len(proxy.of("/api/v1/admin/products")) == len(names) // 100 + 1


async def test_errors_have_the_class_code_field_and_request_id_of_their_family(
    typed_client: TypedClient, storefront: StorefrontClient, proxy: FaultProxy
) -> None:
    sample = storefront.sample
    _, app = await install(sample)
    parameters = {
        "email": sample.owner.email,
        "api_key": sample.owner.api_key,
        "app_token": app["access_token"],
        "key": storefront.key,
    }
    parameters |= {"order": sample.order.id, "cart": await storefront.cart(), "payment": sample.pix.id}
    result = await typed_client("errors", **place(proxy, sample), **await session(sample, sample.owner), **parameters)
    assert result == [
        ["current", 400, "validation_failed", "price_cents", True],
        ["apps", 400, "validation_failed", "status", True],
        ["legacy", 404, "", None, True],
        ["graphql", 200, "VALIDATION_FAILED", "limit", True],
        ["graphql", 200, "NOT_FOUND", None, True],
        ["current", 422, "cart_empty", None, True],
        ["current", 403, "insufficient permissions", None, True],
    ]


# --- Events ----------------------------------------------------------------------------------------------------------


async def test_the_feed_is_followed_without_loss_or_repetition_through_interruptions(
    typed_client: TypedClient, sample: SampleStore, proxy: FaultProxy
) -> None:
    feed = FakeFeed(80, [CUT_IN_A_MESSAGE, ENDED, NO_STREAM, SILENT, CUT_IN_A_MESSAGE, ENDED])
    proxy.paths[FEED] = feed.handle
    parameters = {
        "access_token": "vat_live_x",
        "refresh_token": "",
        "after": "oldest",
        "types": ["order.updated"],
        "idle": 0.5,
    }
    result = await typed_client("events", **place(proxy, sample), **parameters, parts=[12, 30, 80])
    assert result == {"sequences": list(range(1, 81)), "status": 410, "oldest": "c0"}
    assert set(feed.opened) == {CUT_IN_A_MESSAGE, ENDED, NO_STREAM, SILENT, COMPLETE}


@pytest.mark.parametrize("as_user", [False, True], ids=["app", "user"])
async def test_the_feed_of_the_application_is_followed_through_cut_streams(
    typed_client: TypedClient, sample: SampleStore, proxy: FaultProxy, as_user: bool
) -> None:
    _, tokens = await install(sample)
    parameters = {"access_token": tokens["access_token"], "refresh_token": tokens["refresh_token"]}
    if as_user:
        parameters = await session(sample, sample.owner) | {"as_user": True}
    proxy.stream_messages = [1, 2, 4]
    subject = uuid7()
    count = 30
    await emit_events(sample.store, "order.updated", subject=subject, times=3)

    async def emit() -> None:
        for _ in range(count - 3):
            await asyncio.sleep(0.1)
            await emit_events(sample.store, "order.updated", subject=subject)

    emitting = asyncio.create_task(emit())
    parameters |= {"after": "oldest", "types": ["order.updated"]}
    result = await typed_client("events", **place(proxy, sample), **parameters, parts=[2, 12, count])
    await emitting
    assert result == {"sequences": list(range(1, count + 1)), "status": 200 if as_user else 400, "oldest": None}
    streams = [request for request in proxy.of(FEED) if request.headers["Accept"] == "text/event-stream"]
    assert bool(streams) is not as_user


async def test_feed_and_subscription_are_followed_through_a_killed_and_restarted_server(
    typed_client: TypedClient, sample: SampleStore, proxy: FaultProxy
) -> None:
    _, app = await install(sample)
    user = await session(sample, sample.owner)
    user["access_token"] = "expired." + user["access_token"]
    subject, count = uuid7(), 12
    await emit_events(sample.store, "order.updated", subject=subject, times=3)

    async def interrupt() -> None:
        """Emit events while the server runs, and while it does not."""
        # The subscription's first request is refused; a renewal whose response is lost would end the session (docs/clients.md).
        before = (0, 1)
        for _ in range(3):
            while not all(now > then for now, then in zip(requests(), before, strict=True)):
                await asyncio.sleep(0.05)
            await emit_events(sample.store, "order.updated", subject=subject, times=2)
            await proxy.kill()
            before = requests()
            await emit_events(sample.store, "order.updated", subject=subject)
            await proxy.restart()

    def requests() -> tuple[int, int]:
        """Return the numbers of requests for the feed and for the subscription."""
        return len(proxy.of(FEED)), len(proxy.of("/graphql"))

    start = place(proxy, sample) | {"after": "oldest", "parts": [5, count]}
    tokens = {"access_token": app["access_token"], "refresh_token": ""}
    interrupting = asyncio.create_task(interrupt())
    try:
        followed, subscribed = await typed_client(
            "interrupted", events=start | tokens | {"types": ["order.updated"]}, subscription=start | user
        )
    finally:
        interrupting.cancel()
    assert followed["sequences"] == list(range(1, count + 1))
    assert subscribed == {"sequences": list(range(1, count + 1)), "renewed": 1, "refused": 2}


async def test_pages_replace_streams_that_do_not_pass(
    typed_client: TypedClient, sample: SampleStore, proxy: FaultProxy
) -> None:
    feed = FakeFeed(40, [NO_STREAM] * 40)
    proxy.paths[FEED] = feed.handle
    parameters = {"access_token": "vat_live_x", "refresh_token": "", "after": "c0", "types": ["order.updated"]}
    result = await typed_client("events", **place(proxy, sample), **parameters, parts=[20])
    assert result["sequences"] == list(range(1, 21))
    feed.visible = 40
    result = await typed_client("events", **place(proxy, sample), **parameters, parts=[40])
    assert result["sequences"] == list(range(1, 41))
    assert len(feed.opened) <= 6


async def test_a_user_follows_the_feed_by_pages_of_graphql(
    typed_client: TypedClient, sample: SampleStore, proxy: FaultProxy
) -> None:
    proxy.paths["/graphql"] = FakeFeed(40).handle_graphql
    parameters = {"access_token": "x", "refresh_token": "", "after": "oldest", "as_user": True}
    result = await typed_client("events", **place(proxy, sample), **parameters, parts=[15, 40])
    assert result == {"sequences": list(range(1, 41)), "status": 410, "oldest": "c0"}


# --- Documents -------------------------------------------------------------------------------------------------------

DOCUMENTS: list[tuple[str, str | None, bool]] = [
    ("{ a }", None, False),
    ("query { a }", None, False),
    ('# mutation { b }\nquery Q($x: [T!]! = [{b: "}"}]) @d(a: {b: 1}) { a(b: {c: "mutation {"}) }', None, False),
    ("mutation { order_create(input: {a: {b: [1]}}) { id } }", None, True),
    (
        "mutation M($order_create: T = {a: 1}) { x: order_create(input: $order_create) @include(if: true) { id } }",
        "M",
        True,
    ),
    ('mutation { a(text: """ } \\""" { """) { id } }', None, True),
    ("mutation { a { id } b { id } }", None, False),
    ("mutation { ...F } fragment F on Mutation { a { id } b { id } }", None, False),
    ("mutation { ... on Mutation { a { id } } }", None, False),
    ("mutation { made: sign_in(identifier: 1) { access_token } }", None, False),
    ("query Q { a } mutation M { a { id } }", "M", True),
    ("fragment query on T { mutation } mutation mutation { a { ...query } }", None, True),
    ("mutation M { a { id } } query Q { a }", "Q", False),
]


async def test_documents_are_read_as_the_server_reads_them(typed_client: TypedClient) -> None:
    read = await typed_client("documents", documents=[(text, name) for text, name, _ in DOCUMENTS])
    expected = []
    for text, name, takes_key in DOCUMENTS:
        operations = [node for node in parse(text).definitions if isinstance(node, OperationDefinitionNode)]
        kinds = [node.operation for node in operations if name is None or (node.name and node.name.value == name)]
        expected.append([kinds[0].value, takes_key])
    assert read == expected
