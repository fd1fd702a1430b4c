"""Mails: written in the transaction of what they tell, sent later, tried again, given up, never shown to the wrong people."""

from dataclasses import replace
from datetime import timedelta

import pytest

from auth.configuration import configure
from domain import jobs
from domain.mails import outbox, sending
from domain.mails.sending import PAUSES, Message, NotTaken
from domain.mails.texts import TEXTS, MailType, written
from domain.people import registration
from kernel.errors import ValidationFailed
from kernel.scope import entered
from models import database
from tests.auth.kit import add_user, email_of, execute, later, rows, system, value
from tests.auth.kit import roll_back as rolled_back


@pytest.fixture(autouse=True, scope="module")
def secret():
    configure(b"the secret of the tests, 32 bytes")


class Server:
    """A mail server: it takes what it is given, unless told what to say."""

    def __init__(self, *says: NotTaken | None) -> None:
        self.says = list(says)
        self.taken: list[Message] = []

    async def __call__(self, message: Message) -> None:
        assert not database.in_transaction()
        said = self.says.pop(0) if self.says else None
        if said is not None:
            raise said
        self.taken.append(message)


async def write(store, *users: int, kind: MailType = MailType.ACCOUNT_APPROVED) -> None:
    for user_id in users:
        with entered(system(store)):
            (user,) = await database.rows(
                "select * from users where tenant_id = $1 and id = $2", store.id, user_id
            )
        async with database.transaction(system(store)):
            await outbox.queue(system(store), kind, outbox.recipient_of(user), "token")


async def send(store, server: Server, **span: float) -> int:
    return await sending.send_due(later(system(store), **span), server)


async def state(store):
    return [tuple(row) for row in await rows(store, "select status, tries, error from mails order by id")]


async def test_a_mail_is_sent_once_and_its_text_forgotten(store):
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


async def test_a_mail_of_a_rolled_back_change_was_never_written(store):
    user = await add_user(store)
    await rolled_back(store, write(store, user))
    assert await rows(store, "select id from mails") == []


async def test_what_is_not_taken_is_tried_again_after_growing_pauses(store):
    await write(store, await add_user(store))
    await execute(store, "update mails set expires_at = expires_at + interval '30 days'")
    server = Server(*[NotTaken("busy")] * (len(PAUSES) + 1))
    elapsed = timedelta(0)
    for tries, pause in enumerate(PAUSES, 1):
        assert await sending.send_due(replace(system(store), now=system(store).now + elapsed), server) == 0
        assert await state(store) == [("Q", tries, "busy")]
        too_early = elapsed + pause - timedelta(seconds=5)
        assert await sending.send_due(replace(system(store), now=system(store).now + too_early), server) == 0
        assert (await state(store))[0][1] == tries
        elapsed += pause + timedelta(seconds=1)
    await sending.send_due(replace(system(store), now=system(store).now + elapsed), server)
    assert await state(store) == [("F", len(PAUSES) + 1, "busy")]
    assert await value(store, "select body from mails") is None


async def test_it_is_sent_when_the_server_is_back(store):
    await write(store, await add_user(store))
    server = Server(NotTaken("busy"))
    assert await send(store, server) == 0
    assert await send(store, server, minutes=2) == 1


async def test_a_recipient_who_will_never_be_taken_is_given_up_and_the_others_are_sent(store):
    await write(store, await add_user(store), await add_user(store), await add_user(store))
    server = Server(None, NotTaken("no such address", is_final=True))
    assert await send(store, server) == 2
    assert [status for status, _, _ in await state(store)] == ["S", "F", "S"]


async def test_a_server_that_takes_nothing_is_asked_once_a_round(store):
    await write(store, await add_user(store), await add_user(store), await add_user(store))
    server = Server(NotTaken("away"))
    assert await send(store, server) == 0
    assert await state(store) == [("Q", 1, "away"), ("Q", 0, ""), ("Q", 0, "")]
    assert await send(store, server) == 2


async def test_a_mail_whose_sender_died_is_sent_again_after_the_lease(store):
    await write(store, await add_user(store))

    async def dies(message: Message) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await sending.send_due(system(store), dies)
    server = Server()
    assert await send(store, server) == 0
    assert await send(store, server, minutes=6) == 1


async def test_a_mail_that_came_too_late_is_not_sent(store):
    user = await add_user(store)
    await write(store, user, kind=MailType.PASSWORD_RESET)
    server = Server()
    assert await send(store, server, hours=1) == 0
    assert await state(store) == [("F", 0, sending.EXPIRED)]


async def test_a_mail_for_nobody_is_neither_sent_nor_shown(store):
    async with database.transaction(system(store)):
        await outbox.queue(system(store), MailType.PASSWORD_RESET, None, "token")
    server = Server()
    assert await send(store, server, minutes=1) == 0
    with entered(system(store)):
        assert await outbox.latest(system(store)) == []
    assert await state(store) == [("N", 0, "")]


async def test_the_job_finds_the_stores_with_mails(store, other_store):
    await write(store, await add_user(store))
    await write(other_store, await add_user(other_store))
    server = Server()
    outcome = await jobs.mail_job(server).work(lambda: True)
    assert outcome.failures == ()
    mine = {
        await email_of(each, (await rows(each, "select id from users"))[0][0])
        for each in (store, other_store)
    }
    assert mine <= {message.to for message in server.taken}


async def test_old_mails_are_deleted(store):
    await write(store, await add_user(store))
    async with database.transaction(system(store)):
        await outbox.queue(system(store), MailType.PASSWORD_RESET, None, "token")
    await jobs.forget_spent(later(system(store), minutes=59))
    assert len(await state(store)) == 2
    await jobs.forget_spent(later(system(store), hours=2))
    assert [status for status, _, _ in await state(store)] == ["Q"]
    await jobs.forget_spent(later(system(store), days=31))
    assert await state(store) == []


async def test_a_text_of_another_secret_is_given_up(store):
    await write(store, await add_user(store))
    await execute(store, "update mails set body = $1", b"\x01" + b"x" * 60)
    with entered(system(store)):
        (shown,) = await outbox.latest(system(store))
    assert "another VITRINE_SECRET_KEY" in shown.body
    assert await send(store, Server()) == 0
    assert (await state(store))[0][0] == "F"


@pytest.mark.parametrize("kind", list(MailType))
def test_every_kind_has_a_text_of_one_subject_line(kind):
    subject, body = written(
        kind, {"store": "Loja\r\nBcc: x@example.com", "name": "Ana {x}", "token": "    TOKEN"}
    )
    assert "\n" not in subject
    assert "\r" not in subject
    assert "Ana {x}" in body
    assert ("TOKEN" in body) == (kind in (MailType.EMAIL_VERIFICATION, MailType.PASSWORD_RESET))
    assert TEXTS[kind].life <= timedelta(days=3)


async def test_a_name_cannot_pass_for_markup_or_template(store):
    scope = system(store)
    with entered(scope):
        await registration.register(
            scope, {"email": "x@example.com", "password": "long enough", "name": "{token} <b>"}
        )
        (mail,) = await outbox.latest(scope)
    assert "Olá, {token}!" in mail.body


async def test_a_page_that_is_no_address_is_no_setting(store):
    from domain.stores import update_settings

    for wrong in ("javascript:alert(1)", "https://x#y", "ftp://x", "https://x y", "//x", 5):
        with pytest.raises(ValidationFailed):
            await update_settings(system(store), {"account_url": wrong})
