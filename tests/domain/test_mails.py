"""Mails are queued in the transaction, sent later, retried, and shown only to those allowed."""

from dataclasses import replace
from datetime import timedelta

import pytest

from auth.configuration import configure
from domain import jobs, retention
from domain.mails import outbox, sending
from domain.mails.sending import RETRY_DELAYS, MailMessage, MailNotAccepted
from domain.mails.texts import TEMPLATES, MailType, render_mail
from domain.people import registration
from kernel.errors import ValidationFailed
from kernel.scope import active_scope
from models.connection import database
from tests.auth.kit import add_user, email_of, later
from tests.auth.kit import run_and_roll_back as rolled_back
from tests.harness.scopes import execute, rows, system_scope, value


@pytest.fixture(autouse=True, scope="module")
def secret():
    configure(b"the secret of the tests, 32 bytes")


class Server:
    """A mail server that accepts mails, unless configured to reject."""

    def __init__(self, *says: MailNotAccepted | None) -> None:
        self.says = list(says)
        self.taken: list[MailMessage] = []

    async def __call__(self, message: MailMessage) -> None:
        assert not database.in_transaction()
        said = self.says.pop(0) if self.says else None
        if said is not None:
            raise said
        self.taken.append(message)


async def write(store, *users: int, kind: MailType = MailType.ACCOUNT_APPROVED) -> None:
    for user_id in users:
        with active_scope(system_scope(store)):
            (user,) = await database.fetch("select * from users where tenant_id = $1 and id = $2", store.id, user_id)
        async with database.transaction(system_scope(store)):
            await outbox.queue_mail(system_scope(store), kind, outbox.recipient_of(user), "token")


async def send(store, server: Server, **span: float) -> int:
    return await sending.send_due(later(system_scope(store), **span), server)


async def state(store):
    return [tuple(row) for row in await rows(store, "select status, tries, error from mails order by id")]


async def test_a_mail_is_sent_once_and_its_body_deleted(store):
    user = await add_user(store)
    await write(store, user)
    server = Server()
    assert await send(store, server) == 1
    (message,) = server.taken
    assert (message.to, message.from_name) == (await email_of(store, user), store.name)
    assert "Ana" in message.body
    assert await send(store, server) == 0
    assert await state(store) == [("S", 1, "")]
    assert await value(store, "select body from mails") is None


async def test_a_mail_of_a_rolled_back_change_is_never_queued(store):
    user = await add_user(store)
    await rolled_back(store, write(store, user))
    assert await rows(store, "select id from mails") == []


async def test_a_temporary_failure_is_retried_with_backoff(store):
    await write(store, await add_user(store))
    await execute(store, "update mails set expires_at = expires_at + interval '30 days'")
    server = Server(*[MailNotAccepted("busy")] * (len(RETRY_DELAYS) + 1))
    elapsed = timedelta(0)
    for tries, pause in enumerate(RETRY_DELAYS, 1):
        assert (
            await sending.send_due(replace(system_scope(store), now=system_scope(store).now + elapsed), server) == 0
        ), (tries, pause)
        assert await state(store) == [("Q", tries, "busy")]
        too_early = elapsed + pause - timedelta(seconds=5)
        assert (
            await sending.send_due(replace(system_scope(store), now=system_scope(store).now + too_early), server) == 0
        ), (tries, pause)
        assert (await state(store))[0][1] == tries
        elapsed += pause + timedelta(seconds=1)
    await sending.send_due(replace(system_scope(store), now=system_scope(store).now + elapsed), server)
    assert await state(store) == [("F", len(RETRY_DELAYS) + 1, "busy")]
    assert await value(store, "select body from mails") is None


async def test_a_mail_is_sent_when_the_server_is_back(store):
    await write(store, await add_user(store))
    server = Server(MailNotAccepted("busy"))
    assert await send(store, server) == 0
    assert await send(store, server, minutes=2) == 1


async def test_a_permanently_rejected_recipient_fails_and_the_others_are_sent(store):
    await write(store, await add_user(store), await add_user(store), await add_user(store))
    server = Server(None, MailNotAccepted("no such address", is_final=True))
    assert await send(store, server) == 2
    assert [status for status, _, _ in await state(store)] == ["S", "F", "S"]


async def test_an_unavailable_server_is_contacted_once_per_round(store):
    await write(store, await add_user(store), await add_user(store), await add_user(store))
    server = Server(MailNotAccepted("away"))
    assert await send(store, server) == 0
    assert await state(store) == [("Q", 1, "away"), ("Q", 0, ""), ("Q", 0, "")]
    assert await send(store, server) == 2


async def test_a_mail_of_a_crashed_sender_is_retried_after_the_lease(store):
    await write(store, await add_user(store))

    async def dies(message: MailMessage) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await sending.send_due(system_scope(store), dies)
    server = Server()
    assert await send(store, server) == 0
    assert await send(store, server, minutes=6) == 1


async def test_an_expired_mail_is_not_sent(store):
    user = await add_user(store)
    await write(store, user, kind=MailType.PASSWORD_RESET)
    server = Server()
    assert await send(store, server, hours=1) == 0
    assert await state(store) == [("F", 0, sending.EXPIRED)]


async def test_a_mail_without_a_recipient_is_neither_sent_nor_shown(store):
    async with database.transaction(system_scope(store)):
        await outbox.queue_mail(system_scope(store), MailType.PASSWORD_RESET, None, "token")
    server = Server()
    assert await send(store, server, minutes=1) == 0
    with active_scope(system_scope(store)):
        assert await outbox.list_latest(system_scope(store)) == []
    assert await state(store) == [("N", 0, "")]


async def test_the_job_finds_the_stores_with_mails(store, other_store):
    await write(store, await add_user(store))
    await write(other_store, await add_user(other_store))
    server = Server()
    outcome = await jobs.mail_job(server).work(lambda: True)
    assert outcome.failures == ()
    mine = {await email_of(entry, (await rows(entry, "select id from users"))[0][0]) for entry in (store, other_store)}
    assert mine <= {message.to for message in server.taken}


async def test_old_mails_are_deleted(store):
    await write(store, await add_user(store))
    async with database.transaction(system_scope(store)):
        await outbox.queue_mail(system_scope(store), MailType.PASSWORD_RESET, None, "token")
    await retention.delete_expired(later(system_scope(store), minutes=59))
    assert len(await state(store)) == 2
    await retention.delete_expired(later(system_scope(store), hours=2))
    assert [status for status, _, _ in await state(store)] == ["Q"]
    await retention.delete_expired(later(system_scope(store), days=31))
    assert await state(store) == []


async def test_a_body_encrypted_with_another_secret_fails(store):
    await write(store, await add_user(store))
    await execute(store, "update mails set body = $1", b"\x01" + b"x" * 60)
    with active_scope(system_scope(store)):
        (shown,) = await outbox.list_latest(system_scope(store))
    assert "another VITRINE_SECRET_KEY" in shown.body
    assert await send(store, Server()) == 0
    assert (await state(store))[0][0] == "F"


WITH_TOKEN = (
    MailType.EMAIL_VERIFICATION,
    MailType.PASSWORD_RESET,
    MailType.EMAIL_CHANGE,
    MailType.ACCOUNT_DELETION,
    MailType.NEWSLETTER_CONFIRM,
    MailType.NEWSLETTER_CANCEL,
    MailType.STOCK_NOTICE_CONFIRM,
)
# Mails to addresses that may have no account, and no name.
TO_ADDRESSES = (*WITH_TOKEN[-3:], MailType.STOCK_NOTICE)


@pytest.mark.parametrize("kind", list(MailType))
def test_every_mail_type_has_a_text_with_one_subject_line(kind):
    values = {"store": "Loja\r\nBcc: x@example.com", "name": "Ana {x}", "token": "    TOKEN"}
    details = dict.fromkeys(
        (
            "lines",
            "totals",
            "payment",
            "delivery",
            "link",
            "contact",
            "total",
            "tracking",
            "remaining",
            "paid",
            "amount",
            "how",
            "product",
        ),
        "",
    )
    details |= {"number": "7", "status": "Pago\r\nBcc: y@example.com", "what": "O seu pedido", "code": "ABC"}
    subject, body = render_mail(kind, values | details)
    assert "\n\n\n" not in body
    assert "\n" not in subject
    assert "\r" not in subject
    assert ("Ana {x}" in body) == (kind not in TO_ADDRESSES)
    assert ("TOKEN" in body) == (kind in WITH_TOKEN)
    assert TEMPLATES[kind].lifetime <= timedelta(days=3)


async def test_a_name_cannot_inject_markup_or_template_syntax(store):
    scope = system_scope(store)
    with active_scope(scope):
        await registration.register(scope, {"email": "x@example.com", "password": "long enough", "name": "{token} <b>"})
        (mail,) = await outbox.list_latest(scope)
    assert "Olá, {token}!" in mail.body


async def test_a_page_setting_must_be_a_url(store):
    from domain.stores import update_settings

    for invalid in ("javascript:alert(1)", "https://x#y", "ftp://x", "https://x y", "//x", 5):
        with pytest.raises(ValidationFailed):
            await update_settings(system_scope(store), {"account_url": invalid})


async def test_a_page_that_gets_tokens_needs_https_unless_private_endpoints_are_allowed(store):
    from domain.outgoing import calls
    from domain.stores import update_settings

    page = {"account_url": "http://loja.example.com/conta"}
    calls.configure(None, allows_private=False)
    with pytest.raises(ValidationFailed):
        await update_settings(system_scope(store), page)
    calls.configure(None, allows_private=True)
    try:
        await update_settings(system_scope(store), page)
    finally:
        calls.configure(None)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "JavaScript:x",
        "/logo.png",
        "logo.png",
        "https://x y",
        "https:///l.png",
    ],
)
async def test_a_logo_must_be_an_http_url(store, url):
    from domain.stores import update_settings

    with pytest.raises(ValidationFailed):
        await update_settings(system_scope(store), {"logo_url": url})
    for valid in ("https://x.example/logo.png", "http://x.example/logo.png", ""):
        await update_settings(system_scope(store), {"logo_url": valid})
