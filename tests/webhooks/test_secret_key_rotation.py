"""Everything that depends on VITRINE_SECRET_KEY works while it is replaced, and after the old key is gone (docs/deploy.md)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextvars import Context
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import orjson
import pytest

from auth import hash_keys, two_factor_codes
from auth.configuration import configure
from auth.secrets import secret_keys, use_secret_keys
from auth.signing_keys import process_key_ring
from domain import event_feed, reencryption, stores
from domain.mails import outbox
from domain.payments.methods import decrypt_params
from domain.people import newsletter, sealed_tokens
from domain.store_settings import secret_setting
from kernel.scope import Store, active_scope
from server.embedded_postgres import EmbeddedServer
from tests.current.test_two_factor import VERIFY, AuthenticatorApp, add_two_factor_user, challenge
from tests.harness import gateway
from tests.harness.clients import NewApp
from tests.harness.http import Client, is_token_pair
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient
from tests.webhooks.conftest import RunWorker
from tests.webhooks.kit import sha256, subscribe
from tests.webhooks.receiver import Receiver

NEW = b"the secret key that replaces the one of the tests"
TOKEN = "token-of-the-credit-bureau"
PAYMENT_METHOD = (
    "mutation ($input: PaymentMethodInput!) { payment_method_create(input: $input) { id processor_params } }"
)
CHANGE_PARAMS = """
    mutation ($id: ID!, $params: JSON!) { payment_method_update(id: $id, input: {processor_params: $params}) { processor_params } }
"""


@pytest.fixture
async def only_this_store(
    sample: SampleStore, postgres: EmbeddedServer, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[None]:
    """Re-encrypt this store and the platform only, and everything under the tests' key again at the end."""
    original = secret_keys()
    platform = await asyncpg.connect(postgres.superuser_url(database_name))
    # Apps belong to the platform: of those of other tests, some have a second secret.
    await platform.execute(
        "update apps set previous_secret_hash = null, previous_secret_sealed = null, previous_secret_until = null"
    )
    await platform.close()

    async def this_store() -> AsyncIterator[Store]:
        yield sample.store

    monkeypatch.setattr(reencryption, "_stores", this_store)
    yield
    use_secret_keys(replace(original, fallbacks=(NEW,)))
    await reencryption.reencrypt_values(forget_hash_keys=True)
    use_secret_keys(original)
    process_key_ring().clear()


async def use_keys(*keys: bytes) -> None:
    """Continue as a process that was started with these keys."""
    configure(*keys)
    await hash_keys.load()
    process_key_ring().clear()


@dataclass
class Deployment:
    """A store with a value of every kind that depends on the secret key, written under the first one."""

    sample: SampleStore
    owner: Client
    storefront: StorefrontClient
    app: Client
    receiver: Receiver
    run_worker: RunWorker
    person: AuthenticatorApp
    order: dict[str, Any]
    method: str
    cursor: str
    mailed_token: str
    first_response: bytes = b""

    async def check(self) -> None:
        """Check that every value can be used."""
        await self.sign_in()
        await self.pay()
        await self.deliver()
        order = await self.storefront.get(f"orders/{self.order['id']}?token={self.order['token']}")
        assert order.status == 200, order
        assert (await self.create_product()) == self.first_response
        feed = await self.owner.post(
            "/graphql", {"query": f'{{ events(after: "{self.cursor}") {{ page_info {{ has_next_page }} }} }}'}
        )
        assert "errors" not in feed.body, feed
        await newsletter.cancel_subscription(self.sample.scope, self.mailed_token)
        await self.change_payment_method()
        store = self.sample.store
        row = await self.sample.value("select settings::text from tenants where id = $1", store.id)
        scope = replace(self.sample.scope, store=replace(store, settings=orjson.loads(row)))
        assert secret_setting(scope, "credit_bureau_token") == TOKEN
        with active_scope(scope):
            [mail] = [mail for mail in await outbox.list_latest(scope) if "order" not in mail.kind]
        assert "password_reset" in mail.kind
        assert self.sample.store.name in mail.body

    async def sign_in(self) -> None:
        visitor = self.sample.anonymous
        for code in (self.person.code(), self.person.recovery_codes.pop()):
            answer = await visitor.post(VERIFY, {"temp_token": await challenge(visitor, self.person), "code": code})
            assert answer.status == 200, (code, answer)
            assert is_token_pair(answer.body), code
        await self.sample.execute("update two_factors set used_steps = '{}'")
        me = await visitor.with_token(answer.body["access_token"]).get("/api/v1/auth/me")
        assert me.body["id"] == self.person.user.id

    async def pay(self) -> None:
        body = gateway.event("charge.paid", gateway.charge(self.order["number"]))
        for signature, status in ((gateway.signature(body), 200), (gateway.signature(body, "another"), 401)):
            headers = {"X-Hub-Signature-256": signature, "Content-Type": "application/json"}
            answer = await self.sample.anonymous.request(
                "POST", "/api/v1/webhooks/gateway", data=gateway.raw(body), headers=headers
            )
            assert answer.status == status, answer

    async def deliver(self) -> None:
        expected = len(self.receiver.received) + 1
        async with self.run_worker():
            await self.app.post("/api/admin/products", {"name": f"Caneca {expected}", "price_cents": 1})
            received = (await self.receiver.wait_for(expected))[-1]
        assert received.headers["X-Service-Signature"] == sha256(self.app.user.client_secret, received.raw)

    async def create_product(self) -> bytes:
        """Create a product, repeating the same request each time."""
        headers = {"Idempotency-Key": "once"}
        answer = await self.owner.post("/api/v1/admin/products", {"name": "Copo", "price_cents": 1}, headers=headers)
        assert answer.status == 201, answer
        return answer.raw

    async def change_payment_method(self) -> None:
        """Change a parameter and send the other one masked, as a form does."""
        mode = f"mode {len(self.receiver.received)}"
        document = {
            "query": CHANGE_PARAMS,
            "variables": {"id": self.method, "params": {"secret_key": "****", "mode": mode}},
        }
        body = (await self.owner.post("/graphql", document)).body
        assert body["data"]["payment_method_update"]["processor_params"] == {"secret_key": "****", "mode": mode}
        stored = await self.sample.value(
            "select processor_params from payment_methods where public_id = $1", self.method
        )
        assert decrypt_params(stored) == {"secret_key": "sk_live", "mode": mode}


@pytest.fixture
async def deployment(
    sample: SampleStore,
    storefront: StorefrontClient,
    receiver: Receiver,
    run_worker: RunWorker,
    new_app: NewApp,
    only_this_store: None,
) -> Deployment:
    """Return a deployment whose values were all written under the tests' key."""
    owner = await sample.client(sample.owner)
    app = await new_app("write_products", at=owner)
    await subscribe(app, receiver.url(), "product.created")
    await stores.set_gateway_secret(sample.scope, gateway.SECRET)
    await stores.update_settings(sample.scope, {"credit_bureau_token": TOKEN})
    created = await owner.post(
        "/graphql",
        {
            "query": PAYMENT_METHOD,
            "variables": {"input": {"name": "Cartão", "processor_params": {"secret_key": "sk_live"}}},
        },
    )
    method = created.body["data"]["payment_method_create"]["id"]
    person = await add_two_factor_user(sample.anonymous)
    await sample.anonymous.post("/api/v1/auth/password/forgot", {"email": person.user.email})
    order = (await storefront.order((sample.mug, 1))).body
    cursor = event_feed.encode_cursor(sample.store, 0)
    mailed_token = sealed_tokens.write(sample.scope, "newsletter_cancel", {"email": "bia@mail.example"})
    made = Deployment(sample, owner, storefront, app, receiver, run_worker, person, order, method, cursor, mailed_token)
    made.first_response = await made.create_product()
    return made


async def test_everything_works_during_and_after_a_rotation(deployment: Deployment) -> None:
    old = secret_keys().secret_key
    await deployment.check()
    await use_keys(old, NEW)
    await deployment.check()
    await use_keys(NEW, old)
    await deployment.check()
    result = await reencryption.reencrypt_values()
    written = {report.column.name: report.outdated for report in result.before}
    # The payment method was changed; no source of rates, second secret of an app or hash key of an earlier rotation exists.
    absent = {
        "shipping_methods.rate_params",
        "payment_methods.processor_params",
        "apps.previous_secret_sealed",
        "hash_keys.sealed_key",
    }
    assert {name for name, outdated in written.items() if not outdated} == absent
    assert sum(report.outdated for report in result.after) == 0
    await deployment.check()
    await use_keys(NEW)
    await deployment.check()


async def test_an_interrupted_run_is_continued(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    await use_keys(NEW, secret_keys().secret_key)
    replace_values = reencryption._replace

    async def interrupted(connection: Any, column: Any, rows: Any, of_store: Any) -> None:
        if column.table == "two_factors":
            raise ConnectionError
        await replace_values(connection, column, rows, of_store)

    monkeypatch.setattr(reencryption, "_replace", interrupted)
    with pytest.raises(ConnectionError):
        await reencryption.reencrypt_values()
    monkeypatch.setattr(reencryption, "_replace", replace_values)
    continued = {report.column.name: report.outdated for report in (await reencryption.reencrypt_values()).before}
    assert (continued["payment_methods.processor_params"], continued["two_factors.secret"]) == (0, 1)
    await use_keys(NEW)
    await deployment.check()


async def test_a_value_that_changes_meanwhile_is_not_overwritten(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    await use_keys(NEW, secret_keys().secret_key)
    replace_values = reencryption._replace

    async def delayed(connection: Any, column: Any, rows: Any, of_store: Any) -> None:
        if column.table == "payment_methods":
            await deployment.change_payment_method()
        await replace_values(connection, column, rows, of_store)

    monkeypatch.setattr(reencryption, "_replace", delayed)
    await reencryption.reencrypt_values()
    stored = await deployment.sample.value(
        "select processor_params from payment_methods where public_id = $1", deployment.method
    )
    assert decrypt_params(stored) == {"secret_key": "sk_live", "mode": "mode 0"}


async def test_a_code_is_accepted_while_its_secret_is_reencrypted(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    await use_keys(NEW, secret_keys().secret_key)
    consume = two_factor_codes.consume_totp
    running = []

    async def delayed(*args: Any) -> bool:
        # Without the context of the request, whose transaction it would join.
        running.append(asyncio.create_task(reencryption.reencrypt_values(), context=Context()))
        await asyncio.sleep(0.3)
        return await consume(*args)

    monkeypatch.setattr(two_factor_codes, "consume_totp", delayed)
    await deployment.sign_in()
    [result] = await asyncio.gather(*running)
    assert sum(report.outdated for report in result.after) == 0


async def test_values_written_under_an_old_key_meanwhile_are_reported(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = secret_keys().secret_key
    await use_keys(NEW, old)
    scan = reencryption._scan

    async def scan_then_write(columns: Any, *, writes: bool) -> Any:
        reports = await scan(columns, writes=writes)
        if writes:
            await use_keys(old, NEW)
            await deployment.change_payment_method()
            await use_keys(NEW, old)
        return reports

    monkeypatch.setattr(reencryption, "_scan", scan_then_write)
    result = await reencryption.reencrypt_values()
    outdated = {report.column.name: report.outdated for report in result.after if report.outdated}
    assert outdated == {"payment_methods.processor_params": 1}


async def test_an_unreadable_value_is_named_and_left_as_it_is(deployment: Deployment) -> None:
    broken = b"\x01" + b"x" * 60
    await deployment.sample.execute(
        "update payment_methods set processor_params = $1 where public_id = $2", broken, deployment.method
    )
    await deployment.sample.execute("update idempotency_claims set result = 'no hexadecimal'")
    await use_keys(NEW, secret_keys().secret_key)
    unreadable = [place for report in (await reencryption.reencrypt_values()).after for place in report.unreadable]
    of_store = f"of the store {deployment.sample.store.public_id}"
    assert f"payment_methods.processor_params {deployment.method} {of_store}" in unreadable
    [claim] = [place for place in unreadable if place.startswith("idempotency_claims.result ")]
    assert claim.endswith(of_store)
    stored = await deployment.sample.value(
        "select processor_params from payment_methods where public_id = $1", deployment.method
    )
    assert stored == broken
    await deployment.sample.execute("update payment_methods set processor_params = null")
    await deployment.sample.execute("delete from idempotency_claims")


async def test_after_a_disclosure_old_order_tokens_and_recovery_codes_end_with_the_old_key(
    deployment: Deployment,
) -> None:
    old = secret_keys().secret_key
    await use_keys(NEW, old)
    await reencryption.reencrypt_values()
    await reencryption.reencrypt_values(forget_hash_keys=True)
    path = f"orders/{deployment.order['id']}?token={deployment.order['token']}"
    assert (await deployment.storefront.get(path)).status == 200
    await use_keys(NEW)
    assert (await deployment.storefront.get(path)).status == 404
    visitor = deployment.sample.anonymous
    code = deployment.person.recovery_codes.pop()
    answer = await visitor.post(VERIFY, {"temp_token": await challenge(visitor, deployment.person), "code": code})
    assert (answer.status, answer.body) == (401, {"error": "invalid code"})
    totp = deployment.person.code()
    answer = await visitor.post(VERIFY, {"temp_token": await challenge(visitor, deployment.person), "code": totp})
    assert answer.status == 200
