"""Sending emails over SMTP: the protocol and the meaning of errors."""

import asyncio
import email
from email.policy import default
from uuid import UUID

import pytest

from domain.mails.sending import MailMessage, MailNotAccepted
from server.workers.smtp import MailServer

MESSAGE = MailMessage(
    UUID(int=7),
    "Casa Ipê",
    "ana@example.com",
    "Confirme o seu e-mail em Casa Ipê",
    "Olá, Ana!\n\n    token\n.\n",
)


class FakeServer:
    """A minimal SMTP server; `answers` overrides the replies to commands."""

    def __init__(self, **answers: str) -> None:
        self.answers = answers
        self.said: list[str] = []
        self.mail = b""

    async def __aenter__(self) -> "FakeServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((self.answers.get("greeting", "220 ready") + "\r\n").encode())
        while line := (await reader.readline()).decode().strip():
            self.said.append(line)
            word = line.split(" ")[0].split(":")[0].upper()
            usual = {"DATA": "354 go on", "QUIT": "221 bye", "EHLO": "250 fake"}.get(word, "250 fine")
            answer = self.answers.get(word, usual)
            writer.write((answer + "\r\n").encode())
            if word == "DATA" and answer.startswith("354"):
                self.mail = await reader.readuntil(b"\r\n.\r\n")
                writer.write((self.answers.get("text", "250 taken") + "\r\n").encode())
            await writer.drain()
            if word == "QUIT":
                break
        writer.close()


async def test_an_email_reaches_the_server():
    async with FakeServer() as server:
        await MailServer.from_url(f"smtp://127.0.0.1:{server.port}?from=loja@example.com").send(MESSAGE)
    # Python 3.13 writes TO and FROM in lower case.
    assert "mail from:<loja@example.com>" in [line.split(" size")[0].lower() for line in server.said]
    assert "rcpt to:<ana@example.com>" in [line.lower() for line in server.said]
    mail = email.message_from_bytes(server.mail, policy=default)
    assert str(mail["From"].addresses[0].display_name) == "Casa Ipê"
    assert (mail["To"], mail["Subject"]) == ("ana@example.com", MESSAGE.subject)
    assert mail["Message-ID"] == "<00000000-0000-0000-0000-000000000007@example.com>"
    plain, page = mail.iter_parts()
    assert (plain.get_content_type(), page.get_content_type()) == ("text/plain", "text/html")
    assert "Olá, Ana!" in plain.get_content()
    assert ">Olá, Ana!</p>" in page.get_content()


@pytest.mark.parametrize(
    "answers, is_final",
    [
        ({"RCPT": "550 no such user"}, True),
        ({"RCPT": "450 try later"}, False),
        ({"MAIL": "550 not from you"}, False),
        ({"text": "554 spam"}, True),
        ({"text": "451 try later"}, False),
        ({"greeting": "421 too busy"}, False),
        ({"greeting": "nonsense"}, False),
    ],
)
async def test_an_smtp_error_is_final_only_when_caused_by_the_email(answers, is_final):
    async with FakeServer(**answers) as server:
        with pytest.raises(MailNotAccepted) as refused:
            await MailServer.from_url(f"smtp://127.0.0.1:{server.port}").send(MESSAGE)
    assert refused.value.is_final is is_final
    assert "ana@example.com" not in str(refused.value)
    assert "token" not in str(refused.value)


async def test_an_unavailable_server_is_a_temporary_error():
    async with FakeServer() as server:
        port = server.port
    with pytest.raises(MailNotAccepted) as refused:
        await MailServer.from_url(f"smtp://127.0.0.1:{port}").send(MESSAGE)
    assert not refused.value.is_final


async def test_no_password_is_sent_without_tls():
    async with FakeServer() as server:
        with pytest.raises(MailNotAccepted):
            await MailServer.from_url(f"smtp://loja:segredo@127.0.0.1:{server.port}").send(MESSAGE)
    assert not any("AUTH" in line.upper() for line in server.said)


async def test_an_address_with_other_letters_needs_a_server_that_takes_it():
    message = MailMessage(MESSAGE.id, "Loja", "joão@example.com", "x", "y")
    async with FakeServer() as server:
        with pytest.raises(MailNotAccepted) as refused:
            await MailServer.from_url(f"smtp://127.0.0.1:{server.port}").send(message)
    assert refused.value.is_final
    async with FakeServer(EHLO="250-fake\r\n250 SMTPUTF8") as server:
        await MailServer.from_url(f"smtp://127.0.0.1:{server.port}").send(message)
    assert "rcpt to:<joão@example.com>" in [line.lower() for line in server.said]


@pytest.mark.parametrize("to", ["ana@example.com\r\nBcc: x@example.com", "ana\n@example.com"])
async def test_an_address_cannot_add_headers(to):
    odd = MailMessage(MESSAGE.id, "Loja\r\nBcc: y@example.com", to, "x", "y")
    async with FakeServer() as server:
        with pytest.raises(MailNotAccepted) as refused:
            await MailServer.from_url(f"smtp://127.0.0.1:{server.port}").send(odd)
    assert refused.value.is_final
    assert server.said == []


@pytest.mark.parametrize(
    "url, expected",
    [
        ("smtp://mail.example.com", ("mail.example.com", 587, False, "", "", "no-reply@mail.example.com")),
        ("smtps://mail.example.com", ("mail.example.com", 465, True, "", "", "no-reply@mail.example.com")),
        (
            "smtp://loja%40example.com:a%3Ab@mail.example.com:2525",
            ("mail.example.com", 2525, False, "loja@example.com", "a:b", "loja@example.com"),
        ),
        ("smtps://u:p@h?from=oi@example.com", ("h", 465, True, "u", "p", "oi@example.com")),
    ],
)
def test_the_url_is_parsed(url, expected):
    server = MailServer.from_url(url)
    matches = (server.host, server.port, server.is_tls, server.user, server.password, server.sender)
    assert matches == expected


@pytest.mark.parametrize(
    "to", ["", "@", "a@", '"@x.com', "a b@x.com", "a@[", "<a@x.com", "a@x.com,b@x.com", "é@é.com", "\ud800@x"]
)
async def test_unusual_addresses_are_handled(to):
    odd = MailMessage(MESSAGE.id, "Loja, a boa <x@y>", to, "x", "y")
    async with FakeServer() as server:
        try:
            await MailServer.from_url(f"smtp://127.0.0.1:{server.port}?from=loja@example.com").send(odd)
        except MailNotAccepted:
            pass
    assert sum(line.startswith("rcpt") for line in server.said) <= 1
