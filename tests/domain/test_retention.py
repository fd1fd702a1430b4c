"""What grows without end is deleted after its period, in batches, in its own store only (docs/deploy.md#retention)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from domain import events, jobs, retention
from domain.gateway import notifications
from kernel.errors import RuleViolation
from kernel.ids import uuid7
from kernel.retention import DEFAULT_DAYS, PERIODS
from kernel.scope import Scope, Store
from kernel.settings import SettingError, Settings
from models import audit
from models.connection import database
from tests.harness.jobs import limit_jobs_to
from tests.harness.scopes import execute, system_scope, value

pytestmark = pytest.mark.usefixtures("database")

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy.md"
FOREVER = dict.fromkeys(PERIODS, 0)
COUNTS = {
    "audit_log": "select count(*) from audit_entries",
    "notifications": "select count(*) from notifications",
    "gateway_notifications": "select count(*) from gateway_notifications",
    "gateway_bodies": "select count(*) from gateway_notifications where body <> ''",
    "event_sequences": "select count(*) from event_sequences where subject_type = 'cart'",
}


async def fill(store: Store, count: int = 3) -> None:
    """Insert rows of each kind that grows without end."""
    scope = system_scope(store)
    async with database.transaction(scope):
        for number in range(count):
            await audit.record(scope, "test.done", "test", number)
    await execute(
        store,
        "insert into users (tenant_id, public_id, email, password_hash, user_type)"
        " values ($1, gen_random_uuid(), 'ana@shop.example', '', 'C')",
        store.id,
    )
    await execute(
        store,
        "insert into notifications (tenant_id, public_id, user_id, type, title)"
        " select $1, gen_random_uuid(), max(id), 'order', 'Pedido' from users, generate_series(1, $2) group by generate_series",
        store.id, count,
    )  # fmt: skip
    await execute(
        store,
        "insert into gateway_notifications (tenant_id, public_id, event_id, fingerprint, body, processed)"
        " select $1, gen_random_uuid(), n::text, sha256(n::text::bytea), '{}', true from generate_series(1, $2) n",
        store.id, count,
    )  # fmt: skip
    await execute(
        store,
        "insert into event_sequences (tenant_id, public_id, subject_type, subject_id, latest)"
        " select $1, event, 'cart', gen_random_uuid(), 5 from unnest($2::uuid[]) event",
        store.id, [uuid7() for _ in range(count)],
    )  # fmt: skip


async def counts(store: Store) -> dict[str, int]:
    return {name: await value(store, sql) for name, sql in COUNTS.items()}


def after(store: Store, **time: float) -> Scope:
    scope = system_scope(store)
    return replace(scope, now=scope.now + timedelta(**time))


@pytest.mark.parametrize("name", COUNTS)
async def test_rows_are_deleted_when_their_period_is_over(store, name):
    await fill(store)
    days = {**FOREVER, name: 100}
    await retention.delete_expired(after(store, days=99), days)
    assert await counts(store) == dict.fromkeys(COUNTS, 3)
    await retention.delete_expired(after(store, days=101), days)
    gone = {name, *(["gateway_bodies"] if name == "gateway_notifications" else [])}
    assert await counts(store) == {each: 0 if each in gone else 3 for each in COUNTS}


async def test_nothing_is_deleted_whose_period_is_zero(store):
    await fill(store)
    await retention.delete_expired(after(store, days=36_500), FOREVER)
    assert await counts(store) == dict.fromkeys(COUNTS, 3)


async def test_all_batches_of_one_store_are_deleted_and_no_row_of_another(store, other_store):
    await fill(store, 25)
    await fill(other_store, 25)
    await retention.delete_expired(after(store, days=36_500), DEFAULT_DAYS, limit=10)
    assert await counts(store) == dict.fromkeys(COUNTS, 0)
    assert await counts(other_store) == dict.fromkeys(COUNTS, 25)


async def test_a_store_without_old_rows_takes_two_statements(store):
    scope = system_scope(store)
    await retention.delete_expired(scope)
    with database.count_statements() as counted:
        await retention.delete_expired(scope)
    assert counted.count == 2


async def test_the_sequence_of_an_existing_cart_stays(store):
    cart = uuid7()
    await execute(
        store,
        "insert into carts (tenant_id, public_id, status, currency, expires_at) values ($1, $2, 'open', 'BRL', 'infinity')",
        store.id, cart,
    )  # fmt: skip
    await execute(
        store,
        "insert into event_sequences (tenant_id, public_id, subject_type, subject_id, latest)"
        " select $1, event, kind, $2, 5 from unnest('{cart,order}'::text[], $3::uuid[]) as t (kind, event)",
        store.id, cart, [uuid7(), uuid7()],
    )  # fmt: skip
    await retention.delete_expired(after(store, days=500))
    assert await value(store, "select count(*) from event_sequences") == 2


async def test_the_sequence_of_a_deleted_cart_has_the_time_of_its_first_event(store):
    scope = system_scope(store)
    async with database.transaction(scope):
        await events.emit(scope, "cart.updated", "cart", uuid4(), {})
    for days, left in ((DEFAULT_DAYS["event_sequences"] - 1, 1), (DEFAULT_DAYS["event_sequences"] + 1, 0)):
        await retention.delete_expired(after(store, days=days))
        assert await value(store, COUNTS["event_sequences"]) == left, days


async def test_unprocessed_gateway_notifications_stay_whole(store):
    await fill(store)
    await execute(store, "update gateway_notifications set processed = false where event_id = '1'")
    await retention.delete_expired(after(store, days=36_500))
    assert await value(store, "select array_agg(body) from gateway_notifications") == [b"{}"]


async def test_a_notification_without_its_body_is_not_applied_again(store):
    await fill(store, 1)
    await execute(store, "update gateway_notifications set body = ''")
    with pytest.raises(RuleViolation, match="gateway_bodies"):
        await notifications.reprocess(system_scope(store), await value(store, "select id from gateway_notifications"))


async def test_a_repeated_gateway_notification_is_recognized_after_its_body_was_deleted(sample):
    # Its fingerprint is a column of its own.
    body = {"id": "evt_1", "type": "charge.created", "data": {"id": "ch_1"}}
    first = await sample.anonymous.post("/api/v1/webhooks/gateway", body)
    await sample.execute("update gateway_notifications set processed = true where event_id = 'evt_1'")
    await retention.delete_expired(after(sample.store, days=200))
    assert await sample.value("select body from gateway_notifications where event_id = 'evt_1'") == b""
    again = await sample.anonymous.post("/api/v1/webhooks/gateway", body)
    assert (first.status, again.status) == (200, 200)
    assert await sample.value("select count(*) from gateway_notifications where event_id = 'evt_1'") == 1


async def test_the_jobs_share_the_stores_among_them(store, other_store, monkeypatch):
    limit_jobs_to(monkeypatch, store, other_store)
    forget = [job for job in jobs.retention_jobs({**DEFAULT_DAYS, "notifications": 1}) if "spent" in job.name]
    assert len({job.name for job in forget}) == 4
    for each in (store, other_store):
        await fill(each)
        await execute(each, "update notifications set created_at = now() - interval '2 days'")
    for job in forget:
        assert (await job.work(lambda: True)).error == ""
    for each in (store, other_store):
        assert await value(each, COUNTS["notifications"]) == 0


# --- The setting -------------------------------------------------------------------------------------------------------


def settings(text: str) -> Mapping[str, int]:
    return Settings.from_environment({"VITRINE_RETENTION": text}).retention_days


def test_periods_of_the_setting_replace_the_defaults():
    assert settings("") == DEFAULT_DAYS
    assert settings("audit_log=3650, mails=0") == {**DEFAULT_DAYS, "audit_log": 3650, "mails": 0}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("audit=1", "expected periods such as audit_log=1825, separated by commas; the names are audit_log, "),
        ("audit_log", "expected audit_log in days from 180 to 99999, or 0 for ever"),
        ("audit_log=30", "expected audit_log in days from 180 to 99999, or 0 for ever"),
        ("mails=-1", "expected mails in days from 3 to 99999, or 0 for ever"),
        ("mails=³", "expected mails in days from 3 to 99999, or 0 for ever"),
    ],
)
def test_an_unknown_or_too_short_period_is_refused(text, expected):
    with pytest.raises(SettingError, match=re.escape(expected)):
        settings(text)


def test_every_period_is_documented_with_its_default():
    documented = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|", DEPLOY.read_text(encoding="utf-8"), re.MULTILINE)
    assert [(name, int(days), int(minimum)) for name, days, minimum in documented] == [
        (name, period.days, period.minimum) for name, period in PERIODS.items()
    ]
