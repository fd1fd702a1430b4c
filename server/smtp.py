"""Hand mails to the mail server that SMTP_URL names, in a thread: `smtplib` waits for its answers.

`smtps://` speaks TLS from the start, `smtp://` begins it where the server offers it, and must before a password is sent.
`?from=loja@example.com` says whom mails are from; else it is the user of the address, or `no-reply` at its host.
"""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from dataclasses import dataclass
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formataddr, formatdate
from urllib.parse import parse_qs, unquote, urlsplit

from domain.mails.sending import Message, NotTaken

TIMEOUT_SECONDS = 20.0
_TLS_PORT, _PLAIN_PORT = 465, 587


@dataclass(frozen=True, slots=True)
class MailServer:
    """Say where the mail server is, who we are there, and whom mails are from."""

    host: str
    port: int
    is_tls: bool
    user: str
    password: str
    sender: str

    @classmethod
    def at(cls, url: str) -> MailServer:
        """Read SMTP_URL, whose scheme was checked before."""
        parts = urlsplit(url)
        is_tls = parts.scheme == "smtps"
        host, user = parts.hostname or "localhost", unquote(parts.username or "")
        named = parse_qs(parts.query).get("from", [""])[0]
        sender = named or (user if "@" in user else f"no-reply@{host}")
        port = parts.port or (_TLS_PORT if is_tls else _PLAIN_PORT)
        return cls(host, port, is_tls, user, unquote(parts.password or ""), sender)

    async def send(self, message: Message) -> None:
        """Hand one mail over; raises `NotTaken`."""
        await asyncio.to_thread(self._send, message)

    def _send(self, message: Message) -> None:
        try:
            mail = self._written(message)
        # An address or a name that no header can hold; Python's parser of addresses fails in several ways.
        except (ValueError, LookupError, AttributeError, MessageError) as error:
            raise NotTaken("it can't be written as a mail", is_final=True) from error
        try:
            with self._connection() as connection:
                if self.user:
                    connection.login(self.user, self.password)
                connection.send_message(mail, self.sender, [message.to])
        except smtplib.SMTPRecipientsRefused as error:
            codes = [code for code, _ in error.recipients.values()]
            is_final = bool(codes) and all(code >= 500 for code in codes)
            raise NotTaken(f"the recipient was refused ({_shown(codes)})", is_final=is_final) from error
        except smtplib.SMTPDataError as error:
            raise NotTaken(
                f"the mail was refused ({error.smtp_code})", is_final=error.smtp_code >= 500
            ) from error
        except smtplib.SMTPResponseException as error:
            # Of the log-in or the sender: that can be put right, and the mail sent then.
            raise NotTaken(f"{type(error).__name__} ({error.smtp_code})") from error
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise NotTaken(type(error).__name__) from error

    def _connection(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        if self.is_tls:
            return smtplib.SMTP_SSL(self.host, self.port, timeout=TIMEOUT_SECONDS, context=context)
        connection = smtplib.SMTP(self.host, self.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.ehlo()
            if connection.has_extn("starttls"):
                connection.starttls(context=context)
                connection.ehlo()
            elif self.user:
                raise smtplib.SMTPNotSupportedError("the server offers no TLS to send a password under")
        except BaseException:
            connection.close()
            raise
        return connection

    def _written(self, message: Message) -> EmailMessage:
        mail = EmailMessage(policy=SMTP)
        mail["From"] = formataddr((" ".join(message.from_name.split()), self.sender))
        mail["To"] = message.to
        mail["Subject"] = message.subject
        mail["Date"] = formatdate(usegmt=True)
        mail["Message-ID"] = f"<{message.id}@{self.sender.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(message.body)
        return mail


def _shown(codes: list[int]) -> str:
    return ", ".join(str(code) for code in codes)
