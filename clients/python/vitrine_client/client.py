"""The client of a store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from vitrine_client import graphql, subscriptions
from vitrine_client.credentials import (
    AppTokens,
    OnRenewed,
    UserSession,
    app_tokens,
    session_tokens,
)
from vitrine_client.events import Event, EventFeed
from vitrine_client.generated.apps import AppsOperations
from vitrine_client.generated.current import CurrentOperations
from vitrine_client.generated.legacy import LegacyOperations
from vitrine_client.transport import Credential, NoCredential, Request, Response, RetryPolicy, Transport

TIMEOUT_SECONDS = 40.0  # longer than the server takes at most


class Vitrine:
    """A store at a URL, with a credential. `store` is its UUID, needed where stores share the host.

    `http` replaces the connection pool; close it yourself.
    """

    def __init__(
        self,
        url: str,
        *,
        store: str | None = None,
        credential: Credential | None = None,
        retries: RetryPolicy | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        connections = http or httpx.AsyncClient(timeout=httpx.Timeout(TIMEOUT_SECONDS, connect=10))
        self._own = None if http else connections
        self.transport = Transport(
            connections, url.rstrip("/"), store, credential or NoCredential(), retries or RetryPolicy()
        )
        self.current = CurrentOperations(self.transport)
        self.apps = AppsOperations(self.transport)
        self.legacy = LegacyOperations(self.transport)

    def with_credential(self, credential: Credential) -> Vitrine:
        """Return a client of the same store with another credential; both share the connections of the first."""
        used = self.transport
        return Vitrine(used.url, store=used.store, credential=credential, retries=used.retries, http=used.http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections that this client opened."""
        if self._own is not None:
            await self._own.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
    ) -> Response:
        """Send any request; raise `ApiError` or `ConnectionFailed`."""
        return await self.transport.send(
            Request(method, path, query=query or {}, json=body, idempotency_key=idempotency_key)
        )

    # --- GraphQL -------------------------------------------------------------------------------------------------

    async def graphql(
        self,
        document: str,
        variables: Mapping[str, Any] | None = None,
        *,
        operation_name: str | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Return the data of a document; raise `GraphQLError`, which holds the data of a partial result.

        Queries are repeated, and so are documents with one mutation, which get an Idempotency-Key, except those that return a secret.
        """
        return await graphql.execute(
            self.transport, document, variables, operation_name=operation_name, idempotency_key=idempotency_key
        )

    def nodes(
        self, document: str, variables: Mapping[str, Any] | None = None, *, path: Sequence[str] = ()
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the nodes of a connection, page by page.

        The document passes `$after` to the connection and selects its `edges { node }` and `page_info { has_next_page end_cursor }`.
        `path` leads to it; without one it is the only root field.
        """
        return graphql.nodes(self.transport, document, variables, path)

    # --- Sign-in --------------------------------------------------------------------------------------------------

    async def sign_in(
        self, identifier: str, password: str, *, on_renewed: OnRenewed | None = None
    ) -> UserSession | TwoFactorChallenge:
        """Sign a user in by e-mail address, CPF, CNPJ or phone; the result is a challenge where the account has a second factor."""
        body = {"identifier": identifier, "password": password}
        request = Request("POST", "/api/v1/auth/login", json=body, attempts=1)
        answer = (await self._anonymous.send(request)).body
        if answer.get("requires_2fa"):
            return TwoFactorChallenge(self._anonymous, answer["temp_token"], on_renewed)
        return UserSession(session_tokens(answer), on_renewed)

    async def sign_out(self, session: UserSession) -> None:
        """End a session."""
        body = {"refresh_token": session.tokens.refresh_token}
        await self._anonymous.send(Request("POST", "/api/v1/auth/logout", json=body, is_repeatable=True))

    async def exchange_code(
        self,
        code: str,
        *,
        client_id: str,
        client_secret: str,
        redirect_uri: str | None = None,
        code_verifier: str | None = None,
        on_renewed: OnRenewed | None = None,
    ) -> AppTokens:
        """Exchange the authorization code of an approval for an app's tokens; `code_verifier` is that of PKCE."""
        optional = {"redirect_uri": redirect_uri, "code_verifier": code_verifier}
        body = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": client_id,
            "client_secret": client_secret,
        }
        body |= {name: value for name, value in optional.items() if value is not None}
        answer = (await self._anonymous.send(Request("POST", "/api/v1/oauth/token", json=body, attempts=1))).body
        return AppTokens(app_tokens(answer), client_id=client_id, client_secret=client_secret, on_renewed=on_renewed)

    @property
    def _anonymous(self) -> Transport:
        return self.transport.with_credential(NoCredential())

    # --- Events ----------------------------------------------------------------------------------------------------

    def events(
        self,
        after: str = "latest",
        *,
        types: Sequence[str] | None = None,
        poll_seconds: float = 5.0,
        idle_seconds: float = 60.0,
    ) -> AsyncGenerator[Event, None]:
        """Yield the events after a cursor, `oldest` or `latest`, without end, each once and in order.

        Store `event["cursor"]` with the effect of the event, and begin there the next time. An app follows a stream, and asks for pages
        every `poll_seconds` where streams don't pass; other callers read pages of `/graphql`. Outages are waited for. Errors that waiting
        doesn't change are raised: 410 (`details["oldest_cursor"]`), a wrong cursor, a missing scope.
        """
        return EventFeed(self.transport, after, types, poll_seconds, idle_seconds).follow()

    def subscribe(
        self,
        document: str,
        variables: Mapping[str, Any] | None = None,
        *,
        operation_name: str | None = None,
        idle_seconds: float = 60.0,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the data of a subscription to events without end, each once and in order, over Server-Sent Events.

        The document passes `$after` to `events` and selects its `cursor`: with these the iteration continues after interruptions, as
        `events` does, and after a restart with `after` of the last one. A result with errors is raised as `GraphQLError`.
        """
        return subscriptions.subscribe(
            self.transport, document, variables, operation_name=operation_name, idle_seconds=idle_seconds
        )


@dataclass(frozen=True)
class TwoFactorChallenge:
    """A sign-in that waits for a code of the authenticator app or a recovery code: five tries within five minutes."""

    _transport: Transport
    temp_token: str
    _on_renewed: OnRenewed | None = None

    async def verify(self, code: str) -> UserSession:
        """Complete the sign-in."""
        body = {"temp_token": self.temp_token, "code": code}
        answer = (await self._transport.send(Request("POST", "/api/v1/auth/verify-2fa", json=body, attempts=1))).body
        return UserSession(session_tokens(answer), self._on_renewed)
