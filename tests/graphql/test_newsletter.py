"""Newsletter subscriptions of shoppers (docs/reference/graphql.md#newsletter)."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from auth.storefront_keys import create_storefront_key
from domain.mails.outbox import list_latest
from domain.people import newsletter, sealed_tokens
from kernel.errors import ValidationFailed
from kernel.scope import Store, active_scope
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import system_scope

EMAIL = "zoe@example.com"
SUBSCRIBE = "mutation($email: String!) { newsletter_subscribe(email: $email) { message } }"
CONFIRM = "mutation($token: String!) { newsletter_confirm(token: $token) { message } }"
CANCEL = "mutation($token: String!) { newsletter_cancel(token: $token) { message } }"


async def run(sample: SampleStore, text: str, **variables: Any) -> Any:
    """Return what a visitor with a storefront key gets."""
    if "key" not in sample.records:
        with active_scope(sample.scope):
            created = await create_storefront_key(sample.scope, {"name": "loja", "scopes": ["storefront:cart"]})
        sample.records["key"] = created.key
    answer = await sample.anonymous.post(
        "/graphql", {"query": text, "variables": variables}, headers={"X-API-Key": sample.records["key"]}
    )
    return answer.body


async def mailed(sample: SampleStore) -> list[tuple[str, str]]:
    """Return the kinds and tokens of the mails, the newest first; empty for a mail without one."""
    with active_scope(sample.scope):
        mails = [mail for mail in await list_latest(sample.scope) if mail.recipient == EMAIL]
    tokens = [re.findall(r"^    (\S+)$", mail.body, re.MULTILINE) for mail in mails]
    return [(mail.kind, matches[0] if matches else "") for mail, matches in zip(mails, tokens, strict=True)]


async def status(sample: SampleStore) -> str | None:
    return await sample.value("select status from subscribers where email = $1", EMAIL)


async def test_an_address_is_subscribed_once_its_owner_confirms_and_until_it_cancels(sample: SampleStore) -> None:
    answer = await run(sample, SUBSCRIBE, email=EMAIL.upper())
    assert answer["data"] == {"newsletter_subscribe": {"message": newsletter.REQUESTED}}
    assert await status(sample) is None, "nothing is stored before"
    [(kind, token)] = await mailed(sample)
    assert kind == "newsletter_confirm"
    confirmed = [(await run(sample, CONFIRM, token=token))["data"] for _ in range(2)]
    assert confirmed == [{"newsletter_confirm": {"message": "subscribed"}}] * 2
    assert await status(sample) == "A"
    [(kind, end), _] = await mailed(sample)
    assert kind == "newsletter_cancel", "one mail for both confirmations"
    assert (await run(sample, CANCEL, token=end))["data"] == {"newsletter_cancel": {"message": "unsubscribed"}}
    assert await status(sample) == "D"
    await run(sample, CONFIRM, token=token)
    assert await status(sample) == "A", "its owner changed its mind"


async def test_the_answer_does_not_say_who_is_subscribed(sample: SampleStore) -> None:
    await sample.execute(
        "insert into subscribers (tenant_id, public_id, email, lang_code)"
        " select id, gen_random_uuid(), $1, 'pt' from tenants where id = current_setting('vitrine.tenant')::bigint",
        EMAIL,
    )
    assert await run(sample, SUBSCRIBE, email=EMAIL) == await run(sample, SUBSCRIBE, email="other@example.com")
    assert await mailed(sample) == []
    counts = "select count(*), count(distinct status) from mails where kind = 'newsletter_confirm'"
    assert [tuple(row) for row in await sample.rows(counts)] == [(2, 2)], "the same work is done for both"


async def test_an_address_gets_at_most_three_mails_an_hour(sample: SampleStore) -> None:
    for _ in range(5):
        await run(sample, SUBSCRIBE, email=EMAIL)
    assert len(await mailed(sample)) == 3


async def test_a_client_address_asks_five_times_a_minute(sample: SampleStore) -> None:
    answers = [await run(sample, SUBSCRIBE, email=f"p{number}@example.com") for number in range(6)]
    assert [answer.get("errors", [{}])[0].get("extensions", {}).get("code") for answer in answers] == [None] * 5 + [
        "RATE_LIMITED"
    ]


@pytest.mark.parametrize("email", ["", "zoe", "a@b", "x" * 400 + "@example.com"])
async def test_a_wrong_address_is_refused(sample: SampleStore, email: str) -> None:
    [error] = (await run(sample, SUBSCRIBE, email=email))["errors"]
    assert set(error["extensions"]["details"]["fields"]) == {"email"}


async def test_other_tokens_are_refused(sample: SampleStore, other_store: Store) -> None:
    await run(sample, SUBSCRIBE, email=EMAIL)
    [(_, token)] = await mailed(sample)
    for wrong in ("", "x", "ç", "A" * 3_000, token[:-6] + "AAAA==", token[4:]):
        [error] = (await run(sample, CONFIRM, token=wrong))["errors"]
        assert error["extensions"]["details"]["fields"] == {"token": "token_invalid"}, wrong
    [error] = (await run(sample, CANCEL, token=token))["errors"]
    assert error["extensions"]["details"]["fields"] == {"token": "token_invalid"}, "it doesn't end a subscription"
    late = replace(sample.scope, now=sample.scope.now + timedelta(hours=49))
    for scope in (late, system_scope(other_store)):
        with active_scope(scope), pytest.raises(ValidationFailed):
            await newsletter.confirm_subscription(scope, token)
    assert await status(sample) is None


async def test_a_token_of_the_database_that_the_store_came_from_is_valid(sample: SampleStore) -> None:
    await run(sample, SUBSCRIBE, email=EMAIL)
    [(_, token)] = await mailed(sample)
    moved = replace(sample.store, id=10**12)
    with pytest.raises(ValidationFailed):
        sealed_tokens.read(system_scope(moved), "newsletter_confirm", token)
    moved = replace(moved, former_ids=(7, sample.store.id))
    assert sealed_tokens.read(system_scope(moved), "newsletter_confirm", token)["email"] == EMAIL


async def test_an_erasure_of_the_guest_forgets_the_subscription(sample: SampleStore) -> None:
    await run(sample, SUBSCRIBE, email=EMAIL)
    [(_, token)] = await mailed(sample)
    await run(sample, CONFIRM, token=token)
    text = "mutation($email: String!) { guest_anonymize(email: $email) { kept_orders } }"
    answer = await sample.post("/graphql", {"query": text, "variables": {"email": EMAIL}}, auth="bearer")
    assert "errors" not in answer.body, answer.body
    assert await status(sample) is None
    assert await mailed(sample) == []
