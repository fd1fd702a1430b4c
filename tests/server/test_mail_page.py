"""`/dev/mails` exists on private development servers only and escapes the emails."""

from dataclasses import replace
from ipaddress import ip_network

import orjson
import pytest
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from auth.configuration import configure
from auth.schemes import authenticate
from auth.store_resolution import CachedStoreResolver
from domain.mails import outbox
from domain.mails.texts import MailType
from domain.people import registration
from kernel import logging
from kernel.scope import active_scope
from kernel.settings import Settings
from models.connection import database
from server.app import create_app
from server.operations.checks import check_settings
from server.process import log_startup
from tests.harness.scopes import execute, system_scope

PATH = "/dev/mails"
PRIVATE = Settings(trusted_proxies=(ip_network("127.0.0.0/8"),), ip_rate=0, failed_auth_rate=0)


@pytest.fixture(autouse=True, scope="module")
def secret(database):
    configure(b"the secret of the tests, 32 bytes")


async def get(settings: Settings = PRIVATE, path: str | URL = PATH, **headers: str) -> tuple[int, dict[str, str], str]:
    app = create_app(settings, store_resolver=CachedStoreResolver(settings.shared_hosts), authenticate=authenticate)
    async with TestClient(TestServer(app)) as client:
        response = await client.get(path, headers=headers)
        return response.status, dict(response.headers), await response.text()


async def write(store, name: str = "Ana") -> None:
    scope = system_scope(store)
    with active_scope(scope):
        values = {"email": f"a{store.id}@example.com", "password": "long enough", "name": name}
        await registration.register(scope, values)


async def test_the_page_shows_emails_and_their_tokens(store):
    await write(store)
    status, headers, page = await get(path=f"{PATH}?store={store.public_id}")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert f"a{store.id}@example.com" in page
    with active_scope(system_scope(store)):
        (mail,) = await outbox.list_latest(system_scope(store))
    assert mail.body.splitlines()[4].strip() in page


async def test_a_store_is_selected_however_many_others_have_newer_mails(store, other_store, monkeypatch):
    monkeypatch.setattr("server.development_pages.MAX_STORES", 1)
    await write(store)
    await write(other_store)
    later = "update mails set created_at = now() + interval '1 year' where tenant_id = $1"
    await execute(other_store, later, other_store.id)
    _, _, page = await get(path=f"{PATH}?store={store.public_id}")
    assert f"a{store.id}@example.com" in page
    assert f"a{other_store.id}@example.com" not in page


async def test_the_page_has_a_strict_content_security_policy(store):
    _, headers, page = await get()
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "<script" not in page


async def test_email_content_is_escaped(store):
    await write(store, name="<script> &{style}")
    odd_scope = replace(system_scope(store), store=replace(store, name="<img src=x onerror=alert(1)> {body}"))
    async with database.transaction(system_scope(store)):
        to = outbox.Recipient(await database.fetchval("select id from users where tenant_id = $1", store.id), "x", "y")
        await outbox.queue_mail(odd_scope, MailType.ACCOUNT_APPROVED, to)
    _, _, page = await get(path=f"{PATH}?store={store.public_id}")
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;img src=x" in page


async def test_emails_without_a_recipient_are_not_shown(store):
    async with database.transaction(system_scope(store)):
        await outbox.queue_mail(system_scope(store), MailType.PASSWORD_RESET, None, "token")
    _, _, page = await get(path=f"{PATH}?store={store.public_id}")
    assert "<article>" not in page


@pytest.mark.parametrize(
    "settings",
    [
        replace(PRIVATE, env="production", secret_key="x" * 40),
        replace(PRIVATE, bind=("0.0.0.0",)),
        replace(PRIVATE, bind=("127.0.0.1", "192.0.2.7")),
    ],
    ids=["production", "reachable by others", "reachable at one address"],
)
async def test_the_page_exists_on_private_development_servers_only(store, settings):
    status, headers, page = await get(settings)
    assert status == 404
    assert "text/html" not in headers["Content-Type"]
    assert page == '{"error":"route not found"}'


@pytest.mark.parametrize("host", ["evil.example.com", "localhost.evil.example.com", "192.0.2.1", "x"])
async def test_a_foreign_host_name_is_not_found(store, host):
    status, _, page = await get(Host=host)
    assert (status, page) == (404, '{"error":"page not found"}')


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000", "demo.localhost"])
async def test_local_host_names_show_the_page(store, host):
    assert (await get(Host=host))[0] == 200


@pytest.mark.parametrize(
    "settings, message, level",
    [
        (PRIVATE, "SMTP_URL is not set: emails are not sent but shown at /dev/mails", "ok"),
        (replace(PRIVATE, bind=("0.0.0.0",)), "SMTP_URL is not set: emails stay queued", "warn"),
        (replace(PRIVATE, env="production"), "SMTP_URL is not set: emails stay queued", "warn"),
        (replace(PRIVATE, smtp_url="smtp://mail.example.com"), None, "ok"),
    ],
    ids=["private", "reachable by others", "production", "with SMTP_URL"],
)
def test_startup_and_doctor_report_that_no_email_is_sent(settings, message, level):
    lines: list[bytes] = []
    before = logging.set_sink(lines.append)
    try:
        log_startup(settings, ["http://127.0.0.1:8000"])
    finally:
        logging.set_sink(before)
    events = [orjson.loads(line)["event"] for line in lines]
    assert [event for event in events if "SMTP_URL" in event] == ([message] if message else [])
    (check,) = [result for result in check_settings(settings) if result.check == "mail"]
    assert check.level == level
    assert message is None or check.text == message


@pytest.mark.parametrize("name", ["x", "%00", "%ff", "%ed%a0%80", "%C3%A9", "x" * 5_000])
async def test_a_name_that_no_store_can_have_shows_none(store, name):
    status, _, page = await get(path=URL(f"{PATH}?store={name}", encoded=True))
    assert status == (400 if name in ("%00", "%ff", "%ed%a0%80") else 200)
    assert store.name not in page
