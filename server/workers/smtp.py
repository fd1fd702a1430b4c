"""Send emails through the SMTP server of SMTP_URL, in a thread because `smtplib` blocks.

`smtps://` uses TLS from the start; `smtp://` uses STARTTLS where offered, which is required before sending a password.
`?from=loja@example.com` sets the sender; the default is the user of the URL, or `no-reply` at its host.
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

from domain.mails.html import html_mail
from domain.mails.sending import MailMessage, MailNotAccepted

TIMEOUT_SECONDS = 20.0
_TLS_PORT, _PLAIN_PORT = 465, 587


@dataclass(frozen=True, slots=True)
class MailServer:
    """The SMTP server, our credentials there, and the sender address."""

    host: str
    port: int
    is_tls: bool
    user: str
    password: str
    sender: str

    @classmethod
    def from_url(cls, url: str) -> MailServer:
        """Parse SMTP_URL, whose scheme was validated before."""
        parts = urlsplit(url)
        is_tls = parts.scheme == "smtps"
        host, user = parts.hostname or "localhost", unquote(parts.username or "")
        from_address = parse_qs(parts.query).get("from", [""])[0]
        sender = from_address or (user if "@" in user else f"no-reply@{host}")
        port = parts.port or (_TLS_PORT if is_tls else _PLAIN_PORT)
        return cls(host, port, is_tls, user, unquote(parts.password or ""), sender)

    async def send(self, message: MailMessage) -> None:
        """Hand one mail over; raises `MailNotAccepted`."""
        await asyncio.to_thread(self._send, message)

    def _send(self, message: MailMessage) -> None:
        try:
            mail = self._build_email(message)
        # A malformed address or name; Python's address parser raises several types.
        except (ValueError, LookupError, AttributeError, MessageError) as error:
            raise MailNotAccepted("it can't be written as a mail", is_final=True) from error
        try:
            with self._connect() as connection:
                if self.user:
                    connection.login(self.user, self.password)
                connection.ehlo_or_helo_if_needed()
                self._send_by(connection, mail, message.to)
        except smtplib.SMTPRecipientsRefused as error:
            codes = [code for code, _ in error.recipients.values()]
            is_final = bool(codes) and all(code >= 500 for code in codes)
            raise MailNotAccepted(f"the recipient was refused ({_format_codes(codes)})", is_final=is_final) from error
        except smtplib.SMTPDataError as error:
            raise MailNotAccepted(
                f"the mail was refused ({error.smtp_code})", is_final=error.smtp_code >= 500
            ) from error
        except smtplib.SMTPResponseException as error:
            # A log-in or sender error is fixable by configuration: retry.
            raise MailNotAccepted(f"{type(error).__name__} ({error.smtp_code})") from error
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise MailNotAccepted(type(error).__name__) from error

    def _send_by(self, connection: smtplib.SMTP, mail: EmailMessage, to: str) -> None:
        try:
            connection.send_message(mail, self.sender, [to])
        except smtplib.SMTPNotSupportedError as error:
            # The server has no SMTPUTF8. It wouldn't have it later either, and other mails must not wait for this one.
            raise MailNotAccepted("the server takes ASCII addresses only", is_final=self.sender.isascii()) from error

    def _connect(self) -> smtplib.SMTP:
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

    def _build_email(self, message: MailMessage) -> EmailMessage:
        mail = EmailMessage(policy=SMTP)
        mail["From"] = formataddr((" ".join(message.from_name.split()), self.sender))
        mail["To"] = message.to
        mail["Subject"] = message.subject
        mail["Date"] = formatdate(usegmt=True)
        mail["Message-ID"] = f"<{message.id}@{self.sender.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(message.body)
        mail.add_alternative(html_mail(message.subject, message.body), subtype="html")
        return mail


def _format_codes(codes: list[int]) -> str:
    return ", ".join(str(code) for code in codes)
