"""Apps manage their own endpoints, administrators see all of the store's; another app's or store's are not found."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from domain.apps import registration
from kernel.errors import Unavailable
from kernel.scope import Scope
from models.connection import database
from tests.harness import records, scopes
from tests.harness.clients import NewApp
from tests.harness.http import Client
from tests.harness.oauth import (
    TOKEN,
    UPDATE,
    find_installation,
    graphql,
    graphql_error,
    graphql_result,
    issue_tokens,
    refresh_tokens,
    register_app,
)
from tests.harness.records import UNKNOWN_ID
from tests.webhooks.conftest import RunWorker
from tests.webhooks.kit import WEBHOOKS, deliveries, emit_events, sha256, states, subscribe
from tests.webhooks.receiver import Receiver, answers, wait_until

ADMIN = "/api/v1/admin/event-endpoints"
ENDPOINT = {
    "id", "url", "events", "query", "status", "disabled_reason", "last_success_at", "last_failure_at", "failing_since",
    "paused_until", "created_at", "updated_at",
}  # fmt: skip
DELIVERY = {
    "id", "event_id", "event", "subject_type", "subject_id", "sequence", "state", "tries", "next_try_at", "last_status",
    "last_error", "attempts", "created_at", "delivered_at",
}  # fmt: skip
URL = "https://hooks.example.com/vitrine?key=secret"


def is_app_error(answer: Any, status: int, code: str) -> None:
    assert (answer.status, answer.body["error"], answer.body["status"]) == (status, code, status), answer
    assert isinstance(answer.body["message"], str)


# --- Endpoints -------------------------------------------------------------------------------------------------------


async def test_an_endpoint_is_created_read_updated_and_deleted(app: Client) -> None:
    created = await app.post(WEBHOOKS, {"url": URL, "events": ["product.updated", "order.created", "order.created"]})
    assert created.status == 201, created
    assert set(created.body) == ENDPOINT
    assert (created.body["url"], created.body["status"], created.body["query"]) == (URL, "A", None)
    assert created.body["events"] == ["order.created", "product.updated"]
    endpoint_id = created.body["id"]
    assert (await app.get(f"{WEBHOOKS}/{endpoint_id}")).body == created.body

    listed = await app.get(WEBHOOKS)
    assert (listed.status, listed.body) == (
        200,
        {"webhooks": [created.body], "total": 1, "page": 1, "limit": 20},
    )
    assert "X-RateLimit-Limit" in listed.headers

    changed = await app.put(f"{WEBHOOKS}/{endpoint_id}", {"events": ["user.registered"], "status": "disabled"})
    assert (changed.status, changed.body["events"], changed.body["url"]) == (200, ["user.registered"], URL)
    assert (changed.body["status"], changed.body["disabled_reason"]) == ("D", "manual")
    again = await app.put(f"{WEBHOOKS}/{endpoint_id}", {"status": "a"})
    assert (again.body["status"], again.body["disabled_reason"]) == ("A", "")

    removed = await app.delete(f"{WEBHOOKS}/{endpoint_id}")
    assert (removed.status, removed.raw) == (204, b"")
    for method in ("get", "put", "delete"):
        body: list[Any] = [{}] if method == "put" else []
        is_app_error(await getattr(app, method)(f"{WEBHOOKS}/{endpoint_id}", *body), 404, "not_found")
    assert (await app.get(WEBHOOKS)).body["total"] == 0


@pytest.mark.parametrize(
    "body, fields",
    [
        ({}, {"url": "required", "events": "required"}),
        ({"url": "", "events": []}, {"url": "required", "events": "event_unknown"}),
        ({"url": None, "events": None}, {"url": "required", "events": "required"}),
        ({"url": "ftp://example.com/", "events": ["order.created"]}, {"url": "url_invalid"}),
        ({"url": "https://u:p@example.com/", "events": ["order.created"]}, {"url": "url_invalid"}),
        ({"url": 5, "events": ["order.created"]}, {"url": "url_invalid"}),
        ({"url": URL, "events": ["order.exploded"]}, {"events": "event_unknown"}),
        ({"url": URL, "events": ["ping"]}, {"events": "event_unknown"}),
        ({"url": URL, "events": "order.created,order.updated"}, {"events": "event_unknown"}),
        ({"url": URL, "events": "order.created"}, {"events": "event_unknown"}),
        ({"url": URL, "events": [1]}, {"events": "event_unknown"}),
        ({"url": URL, "events": {"order": True}}, {"events": "event_unknown"}),
        ({"url": URL, "events": ["order.created"], "status": "Z"}, {"status": "status_invalid"}),
        ({"url": URL, "events": ["order.created"], "status": 7}, {"status": "status_invalid"}),
        ({"events": ["x"], "status": "Z"}, {"url": "required", "events": "event_unknown", "status": "status_invalid"}),
        ({"url": URL, "events": ["order.created"], "query": "{ nothing }"}, {"query": "query_invalid"}),
        ({"url": URL, "events": ["order.created"], "query": ["x"]}, {"query": "query_invalid"}),
        (
            {"url": URL, "events": ["order.created"], "query": "{ id" + " " * 20_000 + "}"},
            {"query": "query_invalid"},
        ),
    ],
)
async def test_invalid_body_fields_are_named(app: Client, body: Any, fields: dict[str, str]) -> None:
    answer = await app.post(WEBHOOKS, body)
    is_app_error(answer, 400, "validation_failed")
    assert answer.body["fields"] == fields
    assert (await app.get(WEBHOOKS)).body["total"] == 0


@pytest.mark.parametrize("data", ["", "[]", "{", '"x"', '{"url": "\\u0000"}', "null"])
async def test_body_that_is_not_an_object_is_refused(app: Client, data: str) -> None:
    answer = await app.request("POST", WEBHOOKS, data=data, headers={"Content-Type": "application/json"})
    is_app_error(answer, 400, "invalid_request_body")


@pytest.mark.parametrize("endpoint_id", [UNKNOWN_ID, "7", "x", "%00", "9" * 40, "..%2F"])
@pytest.mark.parametrize(
    "rest",
    [
        "",
        "/ping",
        "/deliveries",
        f"/deliveries/{UNKNOWN_ID}",
        f"/deliveries/{UNKNOWN_ID}/redeliver",
        "/replay",
    ],
)
async def test_missing_endpoint_is_not_found(app: Client, endpoint_id: str, rest: str) -> None:
    post = rest.endswith(("ping", "redeliver", "replay"))
    body = {"since": "2026-01-01T00:00:00Z"} if rest == "/replay" else None
    answer = await (
        app.post(f"{WEBHOOKS}/{endpoint_id}{rest}", body) if post else app.get(f"{WEBHOOKS}/{endpoint_id}{rest}")
    )
    assert answer.status == 404
    assert answer.body["error"] == "not_found"


async def test_subscribing_requires_the_read_scope_of_the_subject(new_app: NewApp) -> None:
    app = await new_app("write_products")
    for name, scope in (
        ("order.created", "read_orders"),
        ("user.registered", "read_users"),
        ("cart.updated", "read_orders"),
    ):
        answer = await app.post(WEBHOOKS, {"url": URL, "events": ["product.created", name]})
        is_app_error(answer, 403, "token_scope")
        assert answer.body["scope"] == scope
    endpoint_id = await subscribe(app, URL, "product.created", "product.deleted")
    is_app_error(await app.put(f"{WEBHOOKS}/{endpoint_id}", {"events": ["order.updated"]}), 403, "token_scope")
    assert (await app.get(f"{WEBHOOKS}/{endpoint_id}")).body["events"] == [
        "product.created",
        "product.deleted",
    ]


async def test_an_app_has_at_most_twenty_endpoints(app: Client) -> None:
    for _ in range(20):
        await subscribe(app, URL)
    is_app_error(await app.post(WEBHOOKS, {"url": URL, "events": ["order.updated"]}), 422, "rule_violation")


async def test_an_app_reaches_its_own_endpoints_only(new_app: NewApp, other_admin: Client) -> None:
    mine, neighbour, elsewhere = await new_app(), await new_app(), await new_app(at=other_admin)
    endpoint_id = await subscribe(mine, URL)
    for stranger in (neighbour, elsewhere):
        assert (await stranger.get(WEBHOOKS)).body["webhooks"] == []
        assert (await stranger.get(f"{WEBHOOKS}/{endpoint_id}")).status == 404
        assert (await stranger.put(f"{WEBHOOKS}/{endpoint_id}", {"status": "D"})).status == 404
        assert (await stranger.delete(f"{WEBHOOKS}/{endpoint_id}")).status == 404
        assert (await stranger.post(f"{WEBHOOKS}/{endpoint_id}/ping")).status == 404
    assert (await mine.get(f"{WEBHOOKS}/{endpoint_id}")).body["status"] == "A"


async def test_user_token_is_not_accepted(admin: Client) -> None:
    is_app_error(await admin.get(WEBHOOKS), 401, "invalid_token")


# --- Deliveries ------------------------------------------------------------------------------------------------------


async def test_ping_is_delivered_to_its_endpoint_only(app: Client, receiver: Receiver, run_worker: RunWorker) -> None:
    endpoint_id = await subscribe(app, receiver.url("one"), "order.updated")
    await subscribe(app, receiver.url("two"), "order.updated")
    async with run_worker():
        queued = await app.post(f"{WEBHOOKS}/{endpoint_id}/ping")
        assert (queued.status, set(queued.body)) == (202, DELIVERY)
        assert (queued.body["event"], queued.body["tries"]) == ("ping", 0)
        await receiver.wait_for(1)
        await wait_until(lambda: all_delivered(app))
    (received,) = receiver.received
    assert (received.path, received.envelope["event"]) == ("/one", "ping")
    assert received.envelope["id"] == queued.body["event_id"]
    assert received.envelope["data"] == {"endpoint_id": endpoint_id, "events": ["order.updated"]}


async def all_delivered(app: Client) -> bool:
    return set(await states(app.store)) == {"delivered"}


async def test_disabled_endpoint_refuses_ping_and_replay(app: Client) -> None:
    endpoint_id = await subscribe(app, URL, status="D")
    is_app_error(await app.post(f"{WEBHOOKS}/{endpoint_id}/ping"), 422, "rule_violation")
    is_app_error(
        await app.post(f"{WEBHOOKS}/{endpoint_id}/replay", {"since": "2026-01-01T00:00:00Z"}),
        422,
        "rule_violation",
    )


async def test_deliveries_are_listed_and_redelivered(
    app: Client, admin: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    endpoint_id = await subscribe(app, receiver.url(), "order.updated", "user.registered")
    await emit_events(app.store, "order.updated")
    await emit_events(app.store, "user.registered")
    path = f"{WEBHOOKS}/{endpoint_id}/deliveries"
    async with run_worker():
        await receiver.wait_for(2)
        await wait_until(lambda: all_delivered(app))
        listed = await app.get(path)
        assert (listed.status, listed.body["total"], listed.body["page"], listed.body["limit"]) == (
            200,
            2,
            1,
            20,
        )
        newest, oldest = listed.body["deliveries"]
        assert set(newest) == DELIVERY
        assert (newest["event"], oldest["event"]) == ("user.registered", "order.updated")
        assert (oldest["state"], oldest["last_status"], oldest["next_try_at"]) == ("delivered", 200, None)
        assert oldest["attempts"][0]["number"] == 1
        assert (await app.get(f"{path}/{oldest['id']}")).body == oldest
        by_name = await app.get(path, event="order.updated", state="delivered", limit=1)
        assert [delivery["id"] for delivery in by_name.body["deliveries"]] == [oldest["id"]]
        assert (await app.get(path, state="dead")).body["deliveries"] == []
        for wrong in ({"state": "lost"}, {"page": "0"}, {"limit": "x"}, {"sort_by": "color"}):
            is_app_error(await app.get(path, **wrong), 400, "invalid_parameter")
        assert (await app.get(path, event="order.lost")).body["deliveries"] == []

        again = await app.post(f"{path}/{oldest['id']}/redeliver")
        assert (again.status, again.body["id"]) == (202, oldest["id"])
        await receiver.wait_for(3)
        await wait_until(lambda: all_delivered(app))
    assert receiver.received[2].raw == receiver.received[0].raw or receiver.received[2].raw == receiver.received[1].raw
    shown = (await app.get(f"{path}/{oldest['id']}")).body
    assert (shown["state"], shown["tries"], len(shown["attempts"])) == ("delivered", 1, 2)
    document = "{ event_deliveries { id attempt_list { number at status error duration_ms } } }"
    for reader in (app, admin):
        typed = {each["id"]: each["attempt_list"] for each in await graphql_result(reader, document)}
        assert [{**each, "error": each["error"] or ""} for each in typed[oldest["id"]]] == shown["attempts"], reader
        assert len(typed[newest["id"]]) == 1, reader


async def test_a_delivery_is_found_under_its_own_endpoint_only(
    new_app: NewApp, receiver: Receiver, run_worker: RunWorker
) -> None:
    app, neighbour = await new_app(), await new_app()
    one, two = await subscribe(app, receiver.url()), await subscribe(app, receiver.url(), "user.registered")
    theirs = await subscribe(neighbour, receiver.url(), "user.registered")
    await emit_events(app.store)
    async with run_worker():
        await receiver.wait_for(1)
    (delivery,) = (await app.get(f"{WEBHOOKS}/{one}/deliveries")).body["deliveries"]
    assert (await app.get(f"{WEBHOOKS}/{two}/deliveries")).body["deliveries"] == []
    for caller, endpoint_id in ((app, two), (neighbour, one), (neighbour, theirs)):
        assert (await caller.get(f"{WEBHOOKS}/{endpoint_id}/deliveries/{delivery['id']}")).status == 404
        assert (await caller.post(f"{WEBHOOKS}/{endpoint_id}/deliveries/{delivery['id']}/redeliver")).status == 404


async def test_events_of_a_period_are_replayed(app: Client, receiver: Receiver, run_worker: RunWorker) -> None:
    endpoint_id = await subscribe(app, receiver.url(), "order.updated", "order.created")
    await emit_events(app.store, "order.updated", times=3)
    await emit_events(app.store, "order.created")
    await emit_events(app.store, "user.registered")
    async with run_worker():
        await receiver.wait_for(4)
        await wait_until(lambda: all_delivered(app))
        path = f"{WEBHOOKS}/{endpoint_id}/replay"
        replayed = await app.post(
            path, {"since": "2026-01-01T00:00:00Z", "events": ["order.updated", "user.registered"]}
        )
        assert (replayed.status, replayed.body) == (202, {"replayed": 3})
        await receiver.wait_for(7)
        await wait_until(lambda: all_delivered(app))
    assert len({delivery.envelope["id"] for delivery in receiver.received}) == 4
    later = await subscribe(app, receiver.url("later"), "user.registered")
    # Including events from before the endpoint existed.
    replayed = await app.post(f"{WEBHOOKS}/{later}/replay", {"since": "2026-01-01T00:00:00Z"})
    assert replayed.body == {"replayed": 1}
    for body, fields in (
        ({}, {"since": "required"}),
        ({"since": "yesterday"}, {"since": "date_invalid"}),
        ({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, {"until": "date_invalid"}),
        ({"since": "2026-01-02T00:00:00Z", "events": ["order.exploded"]}, {"events": "event_unknown"}),
    ):
        answer = await app.post(path, body)
        is_app_error(answer, 400, "validation_failed")
        assert answer.body["fields"] == fields


async def test_unsubscribed_events_are_cancelled(app: Client, receiver: Receiver, run_worker: RunWorker) -> None:
    receiver.answer = answers(500)
    endpoint_id = await subscribe(app, receiver.url(), "order.updated", "order.created")
    await emit_events(app.store, "order.updated")
    await emit_events(app.store, "order.created")
    async with run_worker():
        await receiver.wait_for(2)
        await wait_until(lambda: failed_all(app))
    await app.put(f"{WEBHOOKS}/{endpoint_id}", {"events": ["order.created"]})
    assert {delivery["name"]: delivery["state"] for delivery in await deliveries(app.store)} == {
        "order.updated": "cancelled",
        "order.created": "failed",
    }
    await app.put(f"{WEBHOOKS}/{endpoint_id}", {"status": "D"})
    assert set(await states(app.store)) == {"cancelled"}


async def failed_all(app: Client) -> bool:
    return set(await states(app.store)) == {"failed"}


# --- The administrator's view ----------------------------------------------------------------------------------------


async def test_administrators_read_and_disable_the_endpoints_of_every_app(
    admin: Client, new_app: NewApp, receiver: Receiver, run_worker: RunWorker
) -> None:
    app, neighbour = await new_app(), await new_app()
    endpoint_id = await subscribe(app, receiver.url(), "order.updated")
    await subscribe(neighbour, receiver.url("other"), "user.registered")
    await emit_events(app.store)
    async with run_worker():
        await receiver.wait_for(1)
        await wait_until(lambda: all_delivered(app))
    listed = await admin.get(ADMIN)
    assert (listed.status, listed.body["total"], listed.body["per_page"]) == (200, 2, 20)
    record = next(record for record in listed.body["event_endpoints"] if record["id"] == endpoint_id)
    assert set(record) == ENDPOINT | {"installed_app_id", "client_id"}
    assert record["client_id"] == app.user.client_id
    assert (await admin.get(f"{ADMIN}/{endpoint_id}")).body == record
    one = await admin.get(ADMIN, installed_app_id=record["installed_app_id"])
    assert [record["id"] for record in one.body["event_endpoints"]] == [endpoint_id]
    shown = (await admin.get(f"{ADMIN}/{endpoint_id}/deliveries")).body
    assert (shown["total"], shown["per_page"], shown["deliveries"][0]["state"]) == (1, 20, "delivered")
    delivery = shown["deliveries"][0]["id"]
    assert (await admin.post(f"{ADMIN}/{endpoint_id}/deliveries/{delivery}/redeliver")).status == 202
    assert (await admin.post(f"{ADMIN}/{endpoint_id}/ping")).status == 202
    stopped = await admin.patch(f"{ADMIN}/{endpoint_id}", {"status": "D"})
    assert (stopped.status, stopped.body["status"]) == (200, "D")
    assert (await admin.delete(f"{ADMIN}/{endpoint_id}")).status == 204
    assert (await admin.get(f"{ADMIN}/{endpoint_id}")).body == {"error": "event endpoint not found"}
    entries = await scopes.rows(
        admin.store,
        "select action from audit_entries where subject_type = 'event_endpoint' and tenant_id = $1 order by id",
        admin.store.id,
    )
    assert [entry["action"].partition(".")[2] for entry in entries] == [
        "created",
        "created",
        "updated",
        "deleted",
    ]


async def test_administrators_subscribe_an_app_by_its_installation(admin: Client, new_app: NewApp) -> None:
    await new_app("read_orders")
    installed = (await graphql_result(admin, "{ installed_apps { id } }"))[0]["id"]
    body = {"url": URL, "events": ["order.updated"], "installed_app_id": installed}
    created = await admin.post(ADMIN, body)
    assert (created.status, created.body["installed_app_id"]) == (201, installed)
    assert (await admin.post(ADMIN, {**body, "events": ["user.registered"]})).status == 403
    for wrong, code in ((None, "required"), ("", "required"), (UNKNOWN_ID, "not_found"), ("x", "not_found")):
        response = await admin.post(ADMIN, {**body, "installed_app_id": wrong})
        assert (response.status, response.body["error"]) == (400, "validation_failed"), (wrong, code)
        assert response.body["fields"] == {"installed_app_id": code}
    missing = await admin.post(ADMIN, {})
    required = dict.fromkeys(("url", "events", "installed_app_id"), "required")
    assert (missing.status, missing.body["fields"]) == (400, required)


async def test_endpoints_require_the_app_privileges(app: Client) -> None:
    endpoint_id = await subscribe(app, URL)
    for privileges, reads, writes in (
        ((), 403, 403),
        (("view_apps",), 200, 403),
        (("manage_apps",), 200, 200),
    ):
        user = await records.add_user(app.store, *(privileges or ("view_orders",)))
        caller = app.with_token((await records.sign_in(app.store, user)).access_token).from_new_address()
        assert (await caller.get(ADMIN)).status == reads
        assert (await caller.get(f"{ADMIN}/{endpoint_id}/deliveries")).status == reads
        assert (await caller.patch(f"{ADMIN}/{endpoint_id}", {"status": "A"})).status == writes


async def test_endpoints_in_graphql(app: Client, admin: Client) -> None:
    created = await graphql_result(
        app,
        "mutation ($input: EventEndpointInput!) { event_endpoint_create(input: $input) { id url client_id events } }",
        input={"url": URL, "events": ["order.created"]},
    )
    assert (created["url"], created["events"], created["client_id"]) == (
        URL,
        ["order.created"],
        app.user.client_id,
    )
    seen = await graphql_result(admin, "{ event_endpoints { id status } }")
    assert seen == [{"id": created["id"], "status": "A"}]
    ping = await graphql_result(
        app,
        "mutation ($id: ID!) { event_endpoint_ping(id: $id) { event state endpoint { id } } }",
        id=created["id"],
    )
    assert ping == {"event": "ping", "state": "pending", "endpoint": {"id": created["id"]}}
    error = await graphql_error(app, "mutation { event_endpoint_delete(id: 5) { id } }")
    assert error["extensions"]["code"] == "NOT_FOUND"
    wrong = await graphql(
        app, 'mutation { event_endpoint_create(input: {url: "http://169.254.169.254", events: []}) { id } }'
    )
    assert set(wrong["errors"][0]["extensions"]["details"]["fields"]) >= {"events"}


# --- The secret ------------------------------------------------------------------------------------------------------


async def test_both_secrets_are_valid_for_a_day_after_rotation(
    app: Client, admin: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    old = app.user.client_secret
    await subscribe(app, receiver.url(), "order.updated")
    rotated = await app.post(f"{WEBHOOKS}/rotate-secret", {"client_secret": old})
    assert (rotated.status, set(rotated.body)) == (200, {"client_secret", "previous_valid_until"})
    assert rotated.headers["Cache-Control"] == "no-store"
    new = rotated.body["client_secret"]
    assert new.startswith("vcs_")
    assert new != old
    for secret, status in ((old, 400), (new, 400), ("vcs_wrong", 401)):
        answer = await app.with_token(None).from_new_address().post(
            TOKEN,
            {"grant_type": "authorization_code", "client_id": app.user.client_id, "client_secret": secret, "code": "none"},
        )  # fmt: skip
        assert answer.status == status, answer
    await emit_events(app.store)
    async with run_worker():
        (received,) = await receiver.wait_for(1)
        assert received.headers["X-Service-Signature"] == sha256(old, received.raw)
        signatures = received.headers["webhook-signature"].split(" ")
        assert len(signatures) == 2
        assert all(signature.startswith("v1,") for signature in signatures)
        # A day later the old one is invalid.
        async with database.cross_store_connection() as platform:
            await platform.execute(
                "update apps set previous_secret_until = now() - interval '1 second' where client_id = $1",
                app.user.client_id,
            )
        await emit_events(app.store)
        received = (await receiver.wait_for(2))[1]
        assert received.headers["X-Service-Signature"] == sha256(new, received.raw)
        assert len(received.headers["webhook-signature"].split(" ")) == 1
    entry = await scopes.value(
        app.store,
        "select details from audit_entries where action = 'app.secret_rotated' and tenant_id = $1",
        app.store.id,
    )
    assert entry == '{"immediate": false}'


async def test_immediate_rotation_revokes_the_old_secret(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    old = app.user.client_secret
    await subscribe(app, receiver.url(), "order.updated")
    rotated = await app.post(f"{WEBHOOKS}/rotate-secret", {"client_secret": old, "immediate": True})
    assert rotated.body["previous_valid_until"] is None
    await emit_events(app.store)
    async with run_worker():
        (received,) = await receiver.wait_for(1)
    assert received.headers["X-Service-Signature"] == sha256(rotated.body["client_secret"], received.raw)
    answer = await app.with_token(None).post(
        TOKEN,
        {
            "grant_type": "authorization_code",
            "client_id": app.user.client_id,
            "client_secret": old,
            "code": "none",
        },
    )
    assert answer.status == 401


@pytest.mark.parametrize(
    "body, code",
    [
        ({}, "required"),
        ({"client_secret": ""}, "required"),
        ({"client_secret": "vcs_not_it"}, "client_secret_invalid"),
        ({"client_secret": 5}, "invalid"),
        ({"client_secret": "x", "immediate": "maybe"}, "invalid"),
    ],
)
async def test_rotation_requires_the_current_secret(app: Client, body: Any, code: str) -> None:
    answer = await app.post(f"{WEBHOOKS}/rotate-secret", body)
    is_app_error(answer, 400, "validation_failed")
    assert code in answer.body["fields"].values()


async def test_replaced_secret_cannot_rotate(app: Client) -> None:
    old = app.user.client_secret
    assert (await app.post(f"{WEBHOOKS}/rotate-secret", {"client_secret": old})).status == 200
    is_app_error(await app.post(f"{WEBHOOKS}/rotate-secret", {"client_secret": old}), 400, "validation_failed")


async def test_a_rotation_whose_commit_fails_leaves_the_present_secret(
    app: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def lost(scope: Scope) -> AsyncIterator[None]:
        async with database.transaction(scope):
            yield
            raise Unavailable("the connection was lost before the commit")

    body = {"client_secret": app.user.client_secret, "immediate": True}
    with monkeypatch.context() as patch:
        patch.setattr(registration, "database", SimpleNamespace(**{**vars(database), "transaction": lost}))
        assert (await app.post(f"{WEBHOOKS}/rotate-secret", body)).status == 503
    assert (await app.post(f"{WEBHOOKS}/rotate-secret", body)).status == 200


async def test_administrators_cannot_rotate_an_apps_secret(admin: Client) -> None:
    error = await graphql_error(admin, 'mutation { client_secret_rotate(client_secret: "x") { client_secret } }')
    assert error["extensions"]["code"] == "FORBIDDEN"


# --- Rights of administrators ------------------------------------------------------------------------------------------


async def test_an_administrator_forwards_only_what_it_may_read(app: Client, admin: Client) -> None:
    """Else `manage_apps` alone would send every order, and what a query selects, to an address of the administrator's choice."""
    installed = (await graphql_result(admin, "{ installed_apps { id } }"))[0]["id"]
    query = "{ id customer { name } items { product { id } } }"
    endpoint_id = (await app.post(WEBHOOKS, {"url": URL, "events": ["order.updated"], "query": query})).body["id"]
    body = {"url": URL, "events": ["order.created"], "installed_app_id": installed}
    for privileges, missing in (
        (("manage_apps",), "view_orders"),
        (("manage_apps", "view_orders"), "view_products"),
        (("manage_apps", "view_orders", "view_products"), None),
    ):
        user = await records.add_user(app.store, *privileges)
        caller = app.with_token((await records.sign_in(app.store, user)).access_token).from_new_address()
        for answer in (
            await caller.patch(f"{ADMIN}/{endpoint_id}", {"url": "https://elsewhere.example/"}),
            await caller.patch(f"{ADMIN}/{endpoint_id}", {"events": ["order.cancelled"]}),
            await caller.patch(f"{ADMIN}/{endpoint_id}", {"query": query}),
            await caller.post(ADMIN, body | {"query": query}),
        ):
            if missing is None:
                assert answer.status in (200, 201), answer
            else:
                assert (answer.status, answer.body.get("required")) == (403, missing), answer
        assert (await caller.patch(f"{ADMIN}/{endpoint_id}", {"status": "A"})).status == 200, (privileges, missing)


async def test_a_token_with_fewer_scopes_forwards_only_what_it_may_read(admin: Client) -> None:
    registered = await register_app(admin, scopes=["read_orders", "read_products"])
    tokens = await issue_tokens(admin, registered, ["read_orders", "read_products"])
    narrow = await refresh_tokens(admin, tokens["refresh_token"], scope="read_products")
    wide = await refresh_tokens(admin, narrow.body["refresh_token"])
    owner, caller = (admin.with_token(answer.body["access_token"]) for answer in (wide, narrow))
    of_orders = f"{WEBHOOKS}/{await subscribe(owner, URL, 'order.created')}"
    of_products = f"{WEBHOOKS}/{await subscribe(owner, URL, 'product.created')}"
    body = {"url": "https://elsewhere.example/"}
    is_app_error(await caller.put(of_orders, body), 403, "token_scope")
    assert (await owner.get(of_orders)).body["url"] == URL
    assert (await caller.put(of_products, body)).status == 200

    # What the app itself may not receive any more isn't sent anywhere.
    installed = await find_installation(admin, registered)
    await graphql_result(admin, UPDATE, id=installed["id"], input={"scopes": ["read_products"]})
    assert (await owner.put(of_orders, body)).status == 200
