"""The credentials of a store (docs/reference/current.md#credentials).

Refresh tokens are single use, so one renewal serves all requests that wait for it, a cancelled request doesn't cancel it, and
`on_renewed` is awaited with the new pair before it is used: what it stores survives the process.
"""

from __future__ import annotations

import asyncio
import base64
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vitrine_client.errors import ApiError, ConnectionFailed, VitrineError
from vitrine_client.transport import NoCredential, Request, Transport

_MARGIN_SECONDS = 60.0
# A token is used at least this long, whatever the local clock makes of its expiry.
_SHORTEST_USE_SECONDS = 30.0


@dataclass(frozen=True)
class Tokens:
    """A token pair; `expires_at` are the Unix seconds at which the access token expires, None for unknown."""

    access_token: str
    refresh_token: str
    expires_at: float | None = None


OnRenewed = Callable[[Tokens], Awaitable[None]]


class StorefrontKey:
    """A storefront key, and optionally the session of the customer who shops."""

    def __init__(self, key: str, customer: UserSession | None = None) -> None:
        self.key = key
        self.customer = customer

    async def headers(self, transport: Transport) -> dict[str, str]:
        """Return the key, and the customer's token."""
        customer = await self.customer.headers(transport) if self.customer else {}
        return {"X-API-Key": self.key, **customer}

    async def renew(self, transport: Transport, refused: Mapping[str, str]) -> bool:
        """Renew the customer's token."""
        return self.customer is not None and await self.customer.renew(transport, refused)


class ApiKey(NoCredential):
    """The e-mail address and API key of a user of the legacy API."""

    def __init__(self, email: str, key: str) -> None:
        self._header = "Basic " + base64.b64encode(f"{email}:{key}".encode()).decode()

    async def headers(self, transport: Transport) -> dict[str, str]:
        """Return the Basic credential."""
        return {"Authorization": self._header}


class RenewedToken(ABC):
    """An access token that is renewed shortly before it expires, and when the server refuses it."""

    def __init__(self, tokens: Tokens, on_renewed: OnRenewed | None = None) -> None:
        self.tokens = tokens
        self._on_renewed = on_renewed
        self._used_since = time.monotonic() - _SHORTEST_USE_SECONDS  # it may be an old pair from storage
        self._renewal: asyncio.Task[None] | None = None
        self._refusal: ApiError | None = None

    async def headers(self, transport: Transport) -> dict[str, str]:
        """Return the access token, renewed if it is about to expire."""
        if self._expires_within(_MARGIN_SECONDS) and time.monotonic() - self._used_since >= _SHORTEST_USE_SECONDS:
            try:
                await self._share_renewal(transport)
            except VitrineError as error:
                is_passing = isinstance(error, ConnectionFailed) or (isinstance(error, ApiError) and error.is_passing)
                if not is_passing or self._expires_within(0):
                    raise
        return {"Authorization": f"Bearer {self.tokens.access_token}"}

    async def renew(self, transport: Transport, refused: Mapping[str, str]) -> bool:
        """Renew the token, unless another request has done so since this one was sent."""
        if refused.get("Authorization") == f"Bearer {self.tokens.access_token}":
            await self._share_renewal(transport)
        return True

    def _expires_within(self, seconds: float) -> bool:
        return self.tokens.expires_at is not None and time.time() + seconds >= self.tokens.expires_at

    async def _share_renewal(self, transport: Transport) -> None:
        if self._refusal is not None:
            raise self._refusal
        if self._renewal is None:
            self._renewal = asyncio.create_task(self._renew(transport.with_credential(NoCredential())))
            self._renewal.add_done_callback(self._end_renewal)
        await asyncio.shield(self._renewal)

    def _end_renewal(self, renewal: asyncio.Task[None]) -> None:
        self._renewal = None
        if not renewal.cancelled():
            renewal.exception()  # also when no request waits for it any longer

    async def _renew(self, transport: Transport) -> None:
        try:
            tokens = await self._request_tokens(transport)
        except ApiError as error:
            if error.status in (400, 401, 403):  # the session has ended: asking again only counts as failed attempts
                self._refusal = error
            raise
        if self._on_renewed is not None:
            await self._on_renewed(tokens)
        self.tokens = tokens
        self._used_since = time.monotonic()

    @abstractmethod
    async def _request_tokens(self, transport: Transport) -> Tokens:
        """Exchange the refresh token."""


class UserSession(RenewedToken):
    """The session of a user who signed in."""

    async def _request_tokens(self, transport: Transport) -> Tokens:
        body = {"refresh_token": self.tokens.refresh_token}
        # Sent twice within ten seconds, a refresh token is refused the second time and does no harm.
        request = Request("POST", "/api/v1/auth/refresh", json=body, is_repeatable=True, attempts=3)
        return session_tokens((await transport.send(request)).body)


class AppTokens(RenewedToken):
    """The OAuth tokens of an app that a store installed."""

    def __init__(
        self, tokens: Tokens, *, client_id: str, client_secret: str, on_renewed: OnRenewed | None = None
    ) -> None:
        super().__init__(tokens, on_renewed)
        self._client = {"client_id": client_id, "client_secret": client_secret}

    async def _request_tokens(self, transport: Transport) -> Tokens:
        # Not repeated when the response is lost: reuse of a spent refresh token revokes all tokens of the installation.
        grant = {"grant_type": "refresh_token", "refresh_token": self.tokens.refresh_token}
        return app_tokens(
            (await transport.send(Request("POST", "/api/v1/oauth/token", json=grant | self._client))).body
        )

    async def revoke(self, transport: Transport) -> None:
        """Revoke the tokens of this approval."""
        body = {"token": self.tokens.refresh_token, **self._client}
        anonymous = transport.with_credential(NoCredential())
        await anonymous.send(Request("POST", "/api/v1/oauth/revoke", json=body, is_repeatable=True))


def session_tokens(body: Mapping[str, Any]) -> Tokens:
    """Read the token pair of a sign-in or a renewal."""
    expires_at = datetime.fromisoformat(body["expires_at"]).timestamp()
    return Tokens(body["access_token"], body["refresh_token"], expires_at)


def app_tokens(body: Mapping[str, Any]) -> Tokens:
    """Read the response of the token route."""
    return Tokens(body["access_token"], body["refresh_token"], time.time() + body["expires_in"])
