"""docs/events.md documents exactly what is sent, and its verifiers accept that and nothing else.

`VITRINE_ACCEPT=1` regenerates the generated part; review it before accepting.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest

from domain.carts.events import emit_abandoned
from domain.catalog import stock
from domain.event_types import EVENT_TYPES, NAMES, USER_REGISTERED
from domain.ledger.payouts import adjust_ledger, create_payouts, mark_paid
from domain.orders.locked import lock_order
from domain.orders.payments import update_payment_totals
from domain.payments.sandbox import actions
from domain.webhooks.envelope import EventRecord, build_request, sign
from kernel.clock import now
from kernel.payload_fields import PayloadField
from models.connection import database
from tests.harness import records
from tests.harness.clients import NewApp
from tests.harness.http import Client
from tests.harness.oauth import graphql_result
from tests.harness.payments import add_sandbox_methods, enabled_sandbox
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient, open_storefront
from tests.webhooks.conftest import RunWorker
from tests.webhooks.kit import WEBHOOKS, subscribe
from tests.webhooks.receiver import Receiver, wait_until

PAGE = Path(__file__).parents[2] / "docs" / "events.md"
MARK = re.compile(r"<!-- Generated: .*? -->\n", re.DOTALL)
ACCEPT = os.environ.get("VITRINE_ACCEPT") == "1"

SECRET = "vcs_an-example-that-is-no-secret"
APP = "vci_example"
MOMENT = "2026-11-20T18:00:00Z"
ALL_EVENTS = list(EVENT_TYPES)

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_MAIL = re.compile(r"[0-9a-f]{32}@example\.com")


# --- Sent events ---------------------------------------------------------------------------------------------


@pytest.fixture
async def envelopes(
    sample: SampleStore, new_app: NewApp, receiver: Receiver, run_worker: RunWorker
) -> dict[str, dict[str, Any]]:
    """Trigger each event through the clients' routes, and return the first envelope of each."""
    admin = await sample.client(sample.owner)
    app = await new_app(at=admin)
    endpoint_id = await subscribe(app, receiver.url(), *NAMES)
    category = await records.add_category(sample.store, name="Cozinha")
    product = await app.post(
        "/api/admin/products",
        {
            "name": "Caneca de ágata",
            "price_cents": 4_990,
            "category_id": category.id,
        },
    )
    assert product.status == 201, product
    await app.put(f"/api/admin/products/{product.body['id']}", {"price_cents": 3_990})
    await graphql_result(admin, "mutation ($id: ID!) { product_delete(id: $id) { id } }", id=product.body["id"])
    created = await graphql_result(
        admin,
        "mutation ($input: UserInput!) { user_create(input: $input) { id } }",
        input={
            "email": "lia@example.com",
            "firstname": "Lia",
            "lastname": "Lima",
            "password": "correct horse battery",
        },
    )
    assert created["id"]
    await graphql_result(
        admin, 'mutation ($id: ID!) { user_update(id: $id, input: {lastname: "Costa"}) { id } }', id=created["id"]
    )
    await graphql_result(admin, "mutation ($id: ID!) { user_delete(id: $id) { id } }", id=created["id"])
    storefront = await open_storefront(sample)
    order = (await storefront.order((sample.mug, 2), customer_name="Ana Souza")).body
    for status in ("P", "I"):
        changed = await app.put(f"/api/admin/orders/{order['id']}/status", {"status": status})
        assert changed.status == 200, (status, changed)
    await _change_category(admin)
    await _change_collection(admin, sample)
    await _change_shipment(admin, sample)
    await _refund(sample)
    await _pay_out(sample)
    await _pay(admin, sample, storefront)
    await _abandon_cart(sample, storefront)
    await app.post(f"{WEBHOOKS}/{endpoint_id}/ping")
    async with run_worker():
        with suppress(TimeoutError):
            await wait_until(lambda: set(receiver.names()) >= set(ALL_EVENTS))
    assert set(ALL_EVENTS) - set(receiver.names()) == set(), (
        "cause these events in `envelopes` of tests/webhooks/test_documented.py: what is sent becomes the example in docs/events.md"
    )
    first: dict[str, dict[str, Any]] = {}
    feed = [event["id"] for event in (await app.get("/api/admin/events", limit="1000")).body["events"]]
    order_in_feed = {event_id: number for number, event_id in enumerate(feed)}
    for delivery in sorted(receiver.received, key=lambda received: order_in_feed.get(received.envelope["id"], 0)):
        first.setdefault(delivery.envelope["event"], delivery.envelope)
    return first


async def _change_category(admin: Client) -> None:
    created = await graphql_result(
        admin,
        "mutation ($input: CategoryInput!) { category_create(input: $input) { id } }",
        input={"name": "Mesa posta", "image": {"url": "https://example.com/mesa.jpg", "alt": "Mesa"}},
    )
    for verb in ("update(id: $id, input: {position: 20})", "delete(id: $id)"):
        await graphql_result(admin, f"mutation ($id: ID!) {{ category_{verb} {{ id }} }}", id=created["id"])


async def _change_collection(admin: Client, sample: SampleStore) -> None:
    created = await graphql_result(
        admin,
        "mutation ($input: CollectionCreateInput!) { collection_create(input: $input) { id } }",
        input={"name": "Para presentear", "image": {"url": "https://example.com/presente.jpg", "alt": "Presente"}},
    )
    for verb in (f'update(id: $id, input: {{product_ids: ["{sample.mug.id}"]}})', "delete(id: $id)"):
        await graphql_result(admin, f"mutation ($id: ID!) {{ collection_{verb} {{ id }} }}", id=created["id"])


async def _change_shipment(admin: Client, sample: SampleStore) -> None:
    order = await sample.place_order((sample.mug, 2), email="ana@example.com")
    created = await graphql_result(
        admin,
        "mutation ($input: ShipmentInput!) { shipment_create(input: $input) { id } }",
        input={"order_id": order.id, "carrier": "Correios", "tracking_number": "BR123456789BR"},
    )
    for verb in ('update(id: $id, input: {comments: "Frágil"})', "delete(id: $id)"):
        await graphql_result(admin, f"mutation ($id: ID!) {{ shipment_{verb} {{ id }} }}", id=created["id"])


async def _refund(sample: SampleStore) -> None:
    """Return money of an order as a gateway notification does."""
    order = await sample.place_order((sample.mug, 1), email="ana@example.com")
    async with database.transaction(sample.scope):
        locked = await lock_order(sample.scope, order.number)
        await update_payment_totals(sample.scope, locked, locked.total_cents, 500)


async def _pay_out(sample: SampleStore) -> None:
    await adjust_ledger(sample.scope, sample.vendor.id, 45_000, "Vendas de outubro")
    [payout] = await create_payouts(sample.scope, sample.vendor.id)
    await mark_paid(sample.scope, payout)


async def _pay(admin: Client, sample: SampleStore, storefront: StorefrontClient) -> None:
    """Pay an order by a Pix that is cancelled, a card that is declined and one that is approved, refund a part and dispute the payment."""
    query = """mutation($order: ID!, $kind: PaymentKind!, $card: String) {
        payment_create(order_id: $order, kind: $kind, card_token: $card) { id gateway_charge_id }
    }"""
    with enabled_sandbox():
        await add_sandbox_methods(sample.scope)
        order = (await storefront.order((sample.mug, 1))).body["id"]
        pix = await graphql_result(admin, query, order=order, kind="PIX")
        await graphql_result(admin, "mutation($id: ID!) { payment_cancel(payment_id: $id) { id } }", id=pix["id"])
        for token in ("tok_declined", "tok_approved"):
            payment = await graphql_result(admin, query, order=order, kind="CARD", card=token)
        refund = "mutation($id: ID!) { payment_refund(payment_id: $id, amount_cents: 500) { id } }"
        await graphql_result(admin, refund, id=payment["id"])
        await actions.act(sample.scope, payment["gateway_charge_id"], "dispute")


async def _abandon_cart(sample: SampleStore, storefront: StorefrontClient) -> None:
    cart = await storefront.cart((sample.mug, 1))
    await sample.execute(
        "update carts set updated_at = updated_at - interval '25 hours' where tenant_id = $1 and public_id = $2::uuid",
        sample.store.id,
        cart,
    )
    await emit_abandoned(sample.scope)
    await stock.emit_changes(sample.scope)


def _is(type_: str, value: Any) -> bool:
    if type_.endswith(" or null"):
        return value is None or _is(type_.removesuffix(" or null"), value)
    return {
        "string": lambda: isinstance(value, str),
        "string (UUID)": lambda: isinstance(value, str) and bool(_ID.fullmatch(value)),
        "string (RFC 3339, UTC)": lambda: isinstance(value, str) and bool(_TIME.fullmatch(value)),
        "integer": lambda: isinstance(value, int) and not isinstance(value, bool),
        "object": lambda: isinstance(value, dict),
        "array of objects": lambda: isinstance(value, list) and all(isinstance(item, dict) for item in value),
        "array of strings": lambda: isinstance(value, list) and all(isinstance(item, str) for item in value),
    }[type_]()


def _fits(fields: tuple[PayloadField, ...], value: dict[str, Any], path: str) -> list[str]:
    problems = [] if list(value) == [field.name for field in fields] else [f"{path}: {list(value)}"]
    for field in fields:
        field_value = value.get(field.name)
        if not _is(field.type, field_value):
            problems.append(f"{path}.{field.name}: {field_value!r} is no {field.type}")
        for item in field_value if isinstance(field_value, list) else [field_value]:
            if field.fields and isinstance(item, dict):
                problems += _fits(field.fields, item, f"{path}.{field.name}")
    return problems


async def test_every_event_is_sent_as_it_is_documented(envelopes: dict[str, dict[str, Any]]) -> None:
    assert set(envelopes) == set(ALL_EVENTS)
    assert [
        wrong for name in ALL_EVENTS for wrong in _fits(EVENT_TYPES[name].data, envelopes[name]["data"], name)
    ] == []
    generated = _generated(envelopes)
    text = PAGE.read_text(encoding="utf-8")
    mark = MARK.search(text)
    assert mark is not None
    if ACCEPT:
        PAGE.write_text(text[: mark.end()] + generated, encoding="utf-8")
    else:
        assert text[mark.end() :] == generated, "VITRINE_ACCEPT=1 regenerates docs/events.md"


# --- The page --------------------------------------------------------------------------------------------------------


def _generated(envelopes: dict[str, dict[str, Any]]) -> str:
    parts = [
        "",
        "## Generated: a test vector",
        "",
        "The secret is `" + SECRET + "`. Header names are in lower case.",
        "",
    ]
    parts += ["```json", json.dumps(_vector(), indent=2, ensure_ascii=False), "```", ""]
    parts += ["## Generated: the events", "", "| Event | Emitted when | Scope |", "|---|---|---|"]
    parts += [f"| `{name}` | {EVENT_TYPES[name].emitted_when} | {_scope(name)} |" for name in ALL_EVENTS]
    for name in ALL_EVENTS:
        parts += ["", f"### `{name}`", "", "| Key of `data` | Type | Description |", "|---|---|---|"]
        parts += _rows(EVENT_TYPES[name].data, "")
        parts += ["", "```json", json.dumps(_example(envelopes[name]), indent=2, ensure_ascii=False), "```"]
    return "\n".join(parts) + "\n"


def _scope(name: str) -> str:
    return f"`{EVENT_TYPES[name].scope}`" if EVENT_TYPES[name].scope else "none"


def _rows(fields: tuple[PayloadField, ...], path: str) -> list[str]:
    rows = []
    for field in fields:
        many = "[]" if field.type.startswith("array") else ""
        rows.append(f"| `{path}{field.name}` | {field.type} | {field.text} |")
        rows += _rows(field.fields, f"{path}{field.name}{many}.")
    return rows


def _example(envelope: dict[str, Any]) -> dict[str, Any]:
    """Return an envelope that is the same on every run: ids and times replaced by position, signed again."""
    replacements: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        return replacements.setdefault(match[0], f"019ddddd-0000-7000-8000-{len(replacements) + 1:012d}")

    text = json.dumps({**envelope, "app_id": APP}, ensure_ascii=False)
    text = _MAIL.sub("ana@example.com", _TIME.sub(MOMENT, _ID.sub(replace, text)))
    example: dict[str, Any] = json.loads(text)
    example["id"] = "evt_019ddddd00007000800000000000000a"
    unsigned = {key: value for key, value in example.items() if key != "signature"}
    return {**unsigned, "signature": sign(SECRET, orjson.dumps(unsigned))}


def _vector() -> dict[str, Any]:
    request = build_request(
        EventRecord(
            id=UUID("019ddddd-0000-7000-8000-00000000000a"),
            name=USER_REGISTERED,
            sequence=1,
            at=datetime(2026, 11, 20, 18, tzinfo=UTC),
            tenant_id=UUID("019ddddd-0000-7000-8000-000000000001"),
            app_id=APP,
            request_id="019ddddd-0000-7000-8000-000000000002",
            data={
                "id": "019ddddd-0000-7000-8000-000000000003",
                "name": 'João "Jô" Conceição <3 / ☕',
                "email": "jo@example.com",
            },
        ),
        [SECRET],
        datetime(2026, 11, 20, 18, 0, 5, tzinfo=UTC),
    )
    return {
        "headers": {name.lower(): value for name, value in request.headers.items()},
        "body": request.body.decode(),
    }


# --- The verifiers ---------------------------------------------------------------------------------------------------


def _block(language: str) -> str:
    result_rows = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert result_rows is not None
    return result_rows[1]


def _python() -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(compile(_block("python"), "docs/events.md", "exec"), space)  # noqa: S102  # what receivers copy
    return space


def _documented_vector() -> dict[str, Any]:
    text = PAGE.read_text(encoding="utf-8")
    result_rows = re.search(r"a test vector\n.*?```json\n(.*?)```", text, re.DOTALL)
    assert result_rows is not None
    vector: dict[str, Any] = json.loads(result_rows[1])
    return vector


def test_the_documented_vector_matches_the_code() -> None:
    assert _documented_vector() == _vector()


ODD = {
    "id": "019ddddd-0000-7000-8000-000000000003",
    "control": "".join(map(chr, range(1, 32))) + "\x7f\u0085\u2028\u2029",
    "quotes": "\"'\\/ </script>",
    "letters": "ção ☕ 𝄞 \U0001f600 e\u0301",
    "empty": {"object": {}, "list": [], "text": "", "null": None, "yes": True, "zero": 0},
    "large": 9_007_199_254_740_991,
    "negative": -1,
}


def _signed_request(
    secrets: list[str], data: dict[str, Any] | None = None, at: datetime | None = None
) -> tuple[bytes, dict[str, str]]:
    event = EventRecord(
        id=UUID("019ddddd-0000-7000-8000-00000000000a"),
        name="order.created",
        sequence=7,
        at=datetime(2026, 11, 20, 18, tzinfo=UTC),
        tenant_id=UUID("019ddddd-0000-7000-8000-000000000001"),
        app_id=APP,
        request_id="r",
        data=ODD if data is None else data,
    )
    request = build_request(event, secrets, at or now())
    return request.body, {name.lower(): value for name, value in request.headers.items()}


def test_the_python_verifier_accepts_only_what_is_sent() -> None:
    space = _python()
    body, headers = _signed_request([SECRET])
    envelope = space["verify"](body, headers, SECRET)
    assert envelope["data"] == ODD
    assert space["verify_service_signature"](body, headers, SECRET)
    assert space["verify_envelope"](envelope, SECRET)

    rotated, both = _signed_request(["old", "new"])
    for secret in ("old", "new"):
        space["verify"](rotated, both, secret)
    assert space["verify_service_signature"](rotated, both, "old")
    assert not space["verify_service_signature"](rotated, both, "new")

    for wrong_body, wrong_headers, secret in (
        (body + b" ", headers, SECRET),
        (body, headers, "another"),
        (body, {}, SECRET),
        (body, {**headers, "webhook-id": "evt_other"}, SECRET),
        (body, {**headers, "webhook-timestamp": str(int(time.time()) + 1)}, SECRET),
        (body, {**headers, "webhook-signature": "v1,é"}, SECRET),
        (*_signed_request([SECRET], at=datetime(2026, 11, 20, 18, tzinfo=UTC) - timedelta(days=365)), SECRET),
    ):
        with pytest.raises(ValueError, match=r"wrong signature|too old"):
            space["verify"](wrong_body, wrong_headers, secret)
    assert not space["verify_service_signature"](body + b" ", headers, SECRET)
    assert not space["verify_envelope"]({**envelope, "sequence": 8}, SECRET)

    vector = _documented_vector()
    assert space["verify_service_signature"](vector["body"].encode(), vector["headers"], SECRET)
    assert space["verify_envelope"](json.loads(vector["body"]), SECRET)


_DRIVER = """
const read = async () => { let text = ""; for await (const part of process.stdin) text += part; return JSON.parse(text); };
const outcomes = [];
for (const { body, headers, secret, tolerance } of await read()) {
  const bytes = Buffer.from(body, "base64");
  const outcome = { service: verifyServiceSignature(bytes, headers, secret) };
  try {
    outcome.envelope = verifyEnvelope(verify(bytes, headers, secret, tolerance), secret);
  } catch (error) {
    outcome.error = error.message;
  }
  outcomes.push(outcome);
}
console.log(JSON.stringify(outcomes));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_javascript_verifier_accepts_only_what_is_sent() -> None:
    def case(body: bytes, headers: dict[str, str], secret: str, tolerance: int = 300) -> dict[str, Any]:
        return {
            "body": base64.b64encode(body).decode(),
            "headers": headers,
            "secret": secret,
            "tolerance": tolerance,
        }

    body, headers = _signed_request([SECRET])
    rotated, both = _signed_request(["old", "new"])
    vector = _documented_vector()
    cases = [
        case(body, headers, SECRET),
        case(rotated, both, "old"),
        case(rotated, both, "new"),
        case(vector["body"].encode(), vector["headers"], SECRET, 10**9),
        case(body + b" ", headers, SECRET),
        case(body, headers, "another"),
        case(body, {**headers, "webhook-timestamp": "1"}, SECRET),
        case(body, {}, SECRET),
    ]
    ran = subprocess.run(
        ["node", "--input-type=module", "-e", _block("javascript") + _DRIVER],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    outcomes = json.loads(ran.stdout)
    assert outcomes[:4] == [
        {"service": True, "envelope": True},
        {"service": True, "envelope": True},
        # The envelope's own signature uses the old secret.
        {"service": False, "envelope": False},
        {"service": True, "envelope": True},
    ]
    assert ["error" in outcome for outcome in outcomes[4:]] == [True] * 4
    assert [outcome["service"] for outcome in outcomes[4:]] == [False, False, True, False]
