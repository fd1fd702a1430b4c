"""An app is called by a signed request with a deadline; nothing that it answers reaches the caller unless it fits the schema."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from dataclasses import replace
from typing import Any

import pytest

from auth.app_scopes import APP_SCOPES
from domain.app_calls import call_types, calling
from domain.app_calls.call_types import PAYMENT_CREATE, PAYMENT_READ, SHIPPING_RATES_QUOTE, CallKind, CallType
from domain.app_calls.calling import AppCallFailed, AppNotCalled, call_app
from domain.app_calls.circuit_breaker import PAUSE_SECONDS, THRESHOLD, CircuitBreaker
from domain.app_calls.log import CallState
from domain.carriers.source import DEADLINE_SECONDS
from kernel import metrics
from models.connection import database
from rest_facade.apps.calls import CALL_KINDS, CALL_STATES
from server.outgoing import outgoing_client
from tests.app_calls import hostile
from tests.app_calls.conftest import InstalledApp, within
from tests.app_calls.hostile import HostileApp, answers, raw, status
from tests.harness import scopes
from tests.harness.http import Client, system_trust
from tests.harness.oauth import UNINSTALL, UPDATE, find_installation, graphql_result

PAYMENT = "0192f0c0-0000-7000-8000-000000000001"
DATA = {"payment_id": PAYMENT, "charge_id": None}
CHARGE = {"charge_id": "ch_1", "status": "PENDING", "amount_cents": 1000, "currency": "BRL"}
ANSWER = {"charge": CHARGE}
LOG = "{ app_calls { call subject_id state status reason duration_ms request_id client_id } }"


async def log(admin: Client) -> list[dict[str, Any]]:
    return await graphql_result(admin, LOG)


def in_a_hurry(call: CallType) -> CallType:
    """Return the call with a deadline of half a second."""
    return replace(call, kind=replace(call.kind, deadline_seconds=0.5))


async def test_a_call_is_signed_as_deliveries_are(installed: InstalledApp) -> None:
    installed.server.answer = answers(ANSWER)
    assert await call_app(installed.scope, installed.app.client_id, PAYMENT_READ, DATA) == ANSWER

    [call] = installed.server.received
    envelope = dict(call.envelope)
    assert (envelope["call"], envelope["data"], envelope["app_id"]) == ("payments.read", DATA, installed.app.client_id)
    assert envelope["tenant_id"] == str(installed.scope.store.public_id)
    assert envelope["id"].startswith("call_")
    headers = call.headers
    assert (headers["x-service-event"], headers["webhook-id"]) == ("payments.read", envelope["id"])
    assert (headers["content-type"], headers["x-request-id"]) == ("application/json", "request-1")
    secret = installed.app.client_secret.encode()
    assert headers["x-service-signature"] == "sha256=" + hmac.new(secret, call.raw, hashlib.sha256).hexdigest()
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + call.raw
    expected = base64.b64encode(hmac.digest(secret, signed, "sha256")).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    inner = envelope.pop("signature")
    compact = json.dumps(envelope, separators=(",", ":"), ensure_ascii=False).encode()
    assert inner == "sha256=" + hmac.new(secret, compact, hashlib.sha256).hexdigest()


async def test_each_call_has_an_id_of_its_own(installed: InstalledApp) -> None:
    installed.server.answer = answers(ANSWER)
    for _ in range(2):
        await call_app(installed.scope, installed.app.client_id, PAYMENT_READ, DATA)
    assert len({call.envelope["id"] for call in installed.server.received}) == 2


async def test_a_call_is_logged_without_what_was_sent_and_answered(installed: InstalledApp) -> None:
    installed.server.answer = answers({"refusal": {"code": "no_limit", "message": "Sem limite."}})
    answer = await call_app(installed.scope, installed.app.client_id, PAYMENT_CREATE, DATA)
    assert answer["refusal"]["code"] == "no_limit"
    installed.server.answer = status(500, b"cpf 529.982.247-25")
    with pytest.raises(AppCallFailed, match=r"^answered 500$"):
        await call_app(installed.scope, installed.app.client_id, PAYMENT_READ, DATA)
    installed.server.answer = answers(ANSWER)
    await call_app(installed.scope, installed.app.client_id, PAYMENT_READ, DATA)

    newest, failed, refused = await log(installed.admin)
    assert (newest["state"], newest["status"], newest["reason"]) == ("answered", 200, None)
    assert (failed["state"], failed["status"], failed["reason"]) == ("failed", 500, "answered 500")
    assert (refused["state"], refused["status"], refused["reason"]) == ("refused", 200, "no_limit")
    assert (refused["call"], refused["subject_id"], refused["request_id"]) == ("payments.create", PAYMENT, "request-1")
    assert refused["client_id"] == installed.app.client_id
    assert refused["duration_ms"] >= 0


def skipped_calls() -> float:
    return float(metrics.snapshot()["vitrine_app_calls_total"].get(("payments.read", "skipped"), 0))


HOSTILE = {
    "another status": (status(204), "answered 204"),
    "a created status": (status(201, json.dumps(ANSWER).encode()), "answered 201"),
    "a redirect": (status(302, b"", "Location: https://example.com/\r\n"), "answered 302"),
    "a permanent redirect": (status(308, b"", "Location: http://127.0.0.1:1/\r\n"), "answered 308"),
    "a server error": (status(503, json.dumps(ANSWER).encode()), "answered 503"),
    "no body": (status(200), "the answer is no JSON"),
    "garbage": (status(200, b"\xff\xfe{"), "the answer is no JSON"),
    "HTML": (status(200, b"<html></html>"), "the answer is no JSON"),
    "deep nesting": (status(200, b"[" * 60_000), "the answer is no JSON"),
    "a number that is none": (status(200, b'{"charge": NaN}'), "the answer is no JSON"),
    "no object": (answers([ANSWER]), "the answer does not fit its schema: data must be object"),
    "an empty object": (answers({}), "the answer does not fit its schema: data must contain ['charge'] properties"),
    "a text as amount": (
        answers({"charge": CHARGE | {"amount_cents": "1000"}}),
        "the answer does not fit its schema: data.charge.amount_cents must be integer",
    ),
    "a fraction of a cent": (
        answers({"charge": CHARGE | {"amount_cents": 0.5}}),
        "the answer does not fit its schema: data.charge.amount_cents must be integer",
    ),
    "an amount without end": (
        status(200, json.dumps({"charge": CHARGE | {"amount_cents": 10**400}}).encode()),
        "",
    ),
    "a negative amount": (
        answers({"charge": CHARGE | {"paid_cents": -1}}),
        "the answer does not fit its schema: data.charge.paid_cents must be bigger than or equal to 0",
    ),
    "an unknown status": (answers({"charge": CHARGE | {"status": "paid"}}), "data.charge.status must be one of"),
    "a script as address": (
        answers({"charge": CHARGE | {"pix": {"code": "x", "qr_png_url": "javascript:alert(1)"}}}),
        "data.charge.pix.qr_png_url must match pattern",
    ),
    "a line break in an id": (answers({"charge": CHARGE | {"charge_id": "ch_1\n"}}), "charge_id must match pattern"),
    "NUL in a text": (answers({"charge": CHARGE | {"pix": {"code": "a\0"}}}), "the answer has a text with NUL"),
    "NUL in a name": (answers({"charge": CHARGE, "a\0": 1}), "the answer has a text with NUL"),
    "half a character": (
        status(200, b'{"charge": {"charge_id": "\\ud800"}}'),
        "the answer is no JSON",
    ),
    "compressed content": (
        status(200, b"\x1f\x8b\x08\x00", "Content-Encoding: gzip\r\n"),
        "the answer is no JSON",
    ),
    "64 KB and a byte": (status(200, b" " * 65_537), "the answer is larger than 65536 bytes"),
    "an endless body": (hostile.endless_body, "the answer is larger than 65536 bytes"),
    "an endless head": (hostile.endless_head, ""),
    "no HTTP": (raw(b"SSH-2.0-OpenSSH\r\n"), ""),
    "nothing": (raw(b""), ""),
    "the end in the middle of the body": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), ""),
    "the end in the middle of a chunk": (
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n{"),
        "",
    ),
    "the end in the middle of the head": (raw(b"HTTP/1.1 200 OK\r\nContent-Le"), ""),
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_what_is_no_valid_answer_is_a_failure(case: str, installed: InstalledApp) -> None:
    installed.server.answer, reason = HOSTILE[case]
    with pytest.raises(AppCallFailed) as failure:
        await within(10, call_app(installed.scope, installed.app.client_id, PAYMENT_READ, DATA))
    assert reason in str(failure.value)
    [entry] = await log(installed.admin)
    assert (entry["state"], entry["reason"]) == ("failed", str(failure.value)[:300])
    assert len(installed.server.received) == 1, "it was called again, or a redirect was followed"


@pytest.mark.parametrize("answer", [hostile.silent, hostile.one_byte_at_a_time], ids=["silent", "one byte at a time"])
async def test_the_deadline_covers_the_whole_call(answer: hostile.Answer, installed: InstalledApp) -> None:
    installed.server.answer = answer
    started = time.monotonic()
    with pytest.raises(AppCallFailed, match=r"^timed out$"):
        await call_app(installed.scope, installed.app.client_id, in_a_hurry(PAYMENT_READ), DATA)
    assert 0.4 < time.monotonic() - started < 3


def test_payments_wait_15_seconds_and_freight_less_than_a_cart() -> None:
    assert {kind.name: kind.deadline_seconds for kind in call_types.KINDS.values()} == {
        "payments": 15.0,
        "shipping_rates": 3.7,
    }
    assert call_types.SHIPPING_RATES.deadline_seconds < DEADLINE_SECONDS


async def test_an_answer_of_exactly_64_kilobytes_is_read(installed: InstalledApp) -> None:
    installed.server.answer = status(200, json.dumps(ANSWER).encode().ljust(65_536))
    assert await call_app(installed.scope, installed.app.client_id, PAYMENT_READ, DATA) == ANSWER


async def test_a_member_that_the_schema_does_not_know_may_be_nested_deeply(installed: InstalledApp) -> None:
    deep = json.dumps({**ANSWER, "own": "DEEP"}).replace('"DEEP"', "[" * 1_000 + "]" * 1_000)
    installed.server.answer = status(200, deep.encode())
    answer = await call_app(installed.scope, installed.app.client_id, PAYMENT_READ, DATA)
    assert answer["charge"] == ANSWER["charge"]


async def test_a_private_address_is_not_called(installed: InstalledApp) -> None:
    installed.server.answer = answers(ANSWER)
    async with outgoing_client(allows_private=False, trust=system_trust()):
        with pytest.raises(AppCallFailed, match="the address is"):
            await call_app(installed.scope, installed.app.client_id, PAYMENT_READ, DATA)
    assert installed.server.received == []


async def test_a_name_of_a_private_address_is_not_called(install: Any, server: HostileApp) -> None:
    port = server.url.split(":")[2]
    installed = await install(call_urls={"payments": f"https://pay.example.com:{port}"})

    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with outgoing_client(allows_private=False, lookup=lookup, trust=system_trust()):
        # Without the address, which would show the app where internal names lead.
        with pytest.raises(AppCallFailed, match=r"^pay\.example\.com is not at an address of the public internet$"):
            await call_app(installed.scope, installed.app.client_id, PAYMENT_READ, DATA)
    assert server.received == []


async def test_a_call_inside_a_transaction_is_a_programming_error(installed: InstalledApp) -> None:
    installed.server.answer = answers(ANSWER)
    with pytest.raises(database.CallInTransaction):
        async with database.transaction(installed.scope):
            await call_app(installed.scope, installed.app.client_id, PAYMENT_READ, DATA)
    assert installed.server.received == []


async def test_an_app_is_called_only_with_installation_scope_and_address(install: Any) -> None:
    installed = await install("handle_payments", "read_payments", call_urls={})
    client_id = installed.app.client_id

    async def reason(scope: Any = installed.scope, app: str = client_id) -> str:
        with pytest.raises(AppNotCalled) as refused:
            await call_app(scope, app, PAYMENT_READ, DATA)
        return str(refused.value)

    assert await reason(app="vci_unknown") == "the app is not installed"
    assert await reason() == "the app has registered no address for payments"
    changed = await installed.client.put(
        "/api/admin/calls/urls", {"client_secret": installed.app.client_secret, "payments": installed.server.url}
    )
    assert (changed.status, changed.body) == (200, {"payments": installed.server.url, "shipping_rates": None})
    installed.server.answer = answers(ANSWER)
    assert await call_app(installed.scope, client_id, PAYMENT_READ, DATA) == ANSWER
    with pytest.raises(AppNotCalled, match="lacks the scope handle_shipping_rates"):
        await call_app(installed.scope, client_id, SHIPPING_RATES_QUOTE, {})
    installation = (await find_installation(installed.admin, installed.app))["id"]
    await graphql_result(installed.admin, UPDATE, id=installation, input={"scopes": ["read_payments"]})
    assert await reason() == "the app lacks the scope handle_payments"
    await graphql_result(installed.admin, UNINSTALL, id=installation)
    assert await reason() == "the app is not installed"
    assert len(installed.server.received) == 1


async def test_an_app_that_another_store_installed_is_not_called(installed: InstalledApp, other_admin: Client) -> None:
    with pytest.raises(AppNotCalled, match="not installed"):
        await call_app(scopes.system_scope(other_admin.store), installed.app.client_id, PAYMENT_READ, DATA)
    assert installed.server.received == []


async def test_an_app_that_fails_is_skipped_for_a_while(
    installed: InstalledApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr(calling, "breaker", CircuitBreaker(lambda: now))
    client_id, skipped_before = installed.app.client_id, skipped_calls()

    async def outcome(call: CallType = PAYMENT_READ) -> str:
        try:
            await call_app(installed.scope, client_id, call, DATA)
        except AppNotCalled as error:
            return str(error)
        except AppCallFailed:
            return "failed"
        return "answered"

    installed.server.answer = status(500)
    assert [await outcome() for _ in range(THRESHOLD - 1)] == ["failed"] * (THRESHOLD - 1)
    installed.server.answer = answers(ANSWER)
    assert await outcome() == "answered"
    installed.server.answer = status(500)
    assert [await outcome() for _ in range(THRESHOLD)] == ["failed"] * THRESHOLD
    calls = len(installed.server.received)
    assert await outcome() == "the app has failed too often; it is called again soon"
    assert len(installed.server.received) == calls
    installed.server.answer = answers({"rates": []})
    assert await outcome(SHIPPING_RATES_QUOTE) == "answered", "another kind of call is not affected"
    now += PAUSE_SECONDS
    installed.server.answer = status(500)
    assert await outcome() == "failed"
    assert "too often" in await outcome()
    now += PAUSE_SECONDS
    installed.server.answer = answers(ANSWER)
    assert [await outcome() for _ in range(3)] == ["answered"] * 3
    assert skipped_calls() - skipped_before == 2
    assert len(await log(installed.admin)) == len(installed.server.received), "skipped calls are not logged"


def test_after_a_pause_one_call_decides() -> None:
    now = 0.0
    breaker = CircuitBreaker(lambda: now)
    for failure in range(THRESHOLD):
        assert breaker.admit("app"), failure
        breaker.record_failure("app")
    assert not breaker.admit("app")
    now = PAUSE_SECONDS
    assert [breaker.admit("app") for _ in range(3)] == [True, False, False]
    breaker.record_success("app")
    assert [breaker.admit("app") for _ in range(3)] == [True, True, True]


async def test_an_app_sees_its_own_calls_only(install: Any, server: HostileApp, admin: Client) -> None:
    server.answer = answers(ANSWER)
    first, second = await install(), await install()
    await call_app(first.scope, first.app.client_id, PAYMENT_READ, DATA)
    listed = await first.client.get("/api/admin/calls?call=payments.read&state=answered")
    assert (listed.status, listed.body["total"]) == (200, 1)
    [entry] = listed.body["calls"]
    assert set(entry) == {
        "id", "call", "subject_id", "state", "status", "reason", "duration_ms", "request_id", "created_at",
    }  # fmt: skip
    assert (await first.client.get(f"/api/admin/calls/{entry['id']}")).body == entry
    assert (await second.client.get("/api/admin/calls")).body["total"] == 0
    assert (await second.client.get(f"/api/admin/calls/{entry['id']}")).status == 404
    assert (await first.client.get("/api/admin/calls?state=lost")).status == 400
    assert len(await log(admin)) == 1


async def test_addresses_are_changed_with_the_client_secret_only(installed: InstalledApp) -> None:
    path, url = "/api/admin/calls/urls", "https://pay.example.com/vitrine"
    for body, field, code in (
        ({"payments": url}, "client_secret", "required"),
        ({"client_secret": "vcs_x", "payments": url}, "client_secret", "client_secret_invalid"),
        ({"client_secret": installed.app.client_secret, "payments": "https://u:p@example.com"}, "payments", "url_invalid"),
        ({"client_secret": installed.app.client_secret, "shipping_rates": "ftp://a.example"}, "shipping_rates", "url_invalid"),
        ({"client_secret": installed.app.client_secret, "payments": 5}, "payments", "url_invalid"),
        ({"client_secret": 5, "payments": url}, "client_secret", None),
    ):  # fmt: skip
        refused = await installed.client.put(path, body)
        assert refused.status == 400, body
        if code is not None:
            assert refused.body["fields"] == {field: code}, (body, field)
    changed = await installed.client.put(
        path, {"client_secret": installed.app.client_secret, "payments": url, "shipping_rates": None}
    )
    assert (changed.status, changed.body) == (200, {"payments": url, "shipping_rates": None})
    [registered] = await graphql_result(
        installed.admin, "{ registered_apps { call_urls { payments shipping_rates } } }"
    )
    assert registered["call_urls"] == {"payments": url, "shipping_rates": None}
    [entry] = await scopes.rows(
        installed.scope.store, "select details::text from audit_entries where action = 'app.call_urls_changed'"
    )
    assert json.loads(entry["details"]) == {"payments": "pay.example.com", "shipping_rates": None}
    assert (await installed.admin.put(path, {"payments": url})).status in (401, 403)


@pytest.mark.parametrize("name", call_types.KINDS)
def test_a_kind_is_registered_where_the_routes_and_types_name_it(name: str) -> None:

    assert name in CALL_KINDS
    assert tuple(CallState) == CALL_STATES


def test_each_call_has_schemas_of_both_directions() -> None:
    for call in call_types.CALL_TYPES.values():
        for part in ("request", "answer"):
            assert callable(call_types._validator(call, part)), (call.name, part)


def test_kinds_have_the_scopes_of_apps() -> None:
    assert {kind.scope for kind in call_types.KINDS.values()} <= APP_SCOPES
    assert isinstance(call_types.PAYMENTS, CallKind)
