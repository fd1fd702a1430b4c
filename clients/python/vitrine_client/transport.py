"""Send requests: credentials, renewal, retries, errors (docs/reference/shared.md#errors)."""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import httpx

from vitrine_client.errors import ApiError, ConnectionFailed, error_of

REPEATABLE_METHODS = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 20.0
_CLOSED_STORES = {"tenant_suspended", "tenant_maintenance"}


class Credential(Protocol):
    """What authenticates requests."""

    async def headers(self, transport: Transport) -> dict[str, str]:
        """Return the headers of the next request."""
        ...

    async def renew(self, transport: Transport, refused: Mapping[str, str]) -> bool:
        """Return whether there are other headers now than those refused with 401."""
        ...


class NoCredential:
    """Requests without a credential."""

    async def headers(self, transport: Transport) -> dict[str, str]:
        """Return none."""
        return {}

    async def renew(self, transport: Transport, refused: Mapping[str, str]) -> bool:
        """Return False."""
        return False


@dataclass(frozen=True)
class RetryPolicy:
    """How often a request is sent at most, and how long one pause may be; a longer `Retry-After` is not waited for."""

    attempts: int = 5
    longest_wait_seconds: float = 120.0


@dataclass(frozen=True)
class Request:
    """A request to the store. One with an `idempotency_key`, or that `is_repeatable` anyway, is sent again when its fate is unknown."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    is_repeatable: bool = False
    attempts: int | None = None

    @property
    def may_be_repeated(self) -> bool:
        """Return whether a second execution has no further effect."""
        return self.is_repeatable or self.method in REPEATABLE_METHODS or self.idempotency_key is not None


@dataclass(frozen=True)
class Response:
    """A successful response; `body` is its JSON, else its text, None without one."""

    status: int
    headers: httpx.Headers
    body: Any


@dataclass(frozen=True)
class Transport:
    """A connection to one store with one credential."""

    http: httpx.AsyncClient
    url: str
    store: str | None = None
    credential: Credential = field(default_factory=NoCredential)
    retries: RetryPolicy = field(default_factory=RetryPolicy)

    def with_credential(self, credential: Credential) -> Transport:
        """Return the same connection with another credential."""
        return replace(self, credential=credential)

    async def send(self, request: Request) -> Response:
        """Return the response to a request, sent again as the policy allows; raise `ApiError` or `ConnectionFailed`."""
        attempts = request.attempts or self.retries.attempts
        attempt, was_renewed = 1, False
        while True:
            credentials = await self.credential.headers(self)
            try:
                return await self._exchange(request, credentials)
            except (ApiError, ConnectionFailed) as error:
                if _is_refused_token(error) and not was_renewed and await self.credential.renew(self, credentials):
                    was_renewed = True
                    continue
                pause = _pause(error, request, attempt)
                if pause is None or attempt >= attempts or pause > self.retries.longest_wait_seconds:
                    raise
            attempt += 1
            await asyncio.sleep(pause)

    @asynccontextmanager
    async def stream(self, request: Request, *, idle_seconds: float) -> AsyncIterator[httpx.Response]:
        """Open a response that is read as it arrives; its errors are those of `send`, without retries but for a renewed token."""
        for was_renewed in (False, True):
            credentials = await self.credential.headers(self)
            try:
                async with self._open(request, credentials, httpx.Timeout(idle_seconds, connect=10)) as response:
                    if response.is_success:
                        yield response
                        return
                    error = _error(request, response, await response.aread())
            except httpx.TransportError as failure:
                raise _connection_failed(failure) from failure
            if was_renewed or not _is_refused_token(error) or not await self.credential.renew(self, credentials):
                raise error

    def _open(self, request: Request, credentials: Mapping[str, str], timeout: Any) -> Any:
        headers = {"Accept": "application/json", **credentials, **request.headers}
        if self.store is not None:
            headers["X-Tenant-ID"] = self.store
        if request.idempotency_key is not None:
            headers["Idempotency-Key"] = request.idempotency_key
        content = None
        if request.json is not None:
            content = json.dumps(request.json, ensure_ascii=False, allow_nan=False).encode()
            headers.setdefault("Content-Type", "application/json")
        return self.http.stream(
            request.method,
            self.url + request.path,
            params=httpx.QueryParams(_query(request.query)),
            content=content,
            headers=headers,
            timeout=timeout,
            follow_redirects=False,
        )

    async def _exchange(self, request: Request, credentials: Mapping[str, str]) -> Response:
        try:
            async with self._open(request, credentials, httpx.USE_CLIENT_DEFAULT) as received:
                content = await received.aread()
        except httpx.TransportError as failure:
            raise _connection_failed(failure) from failure
        if not received.is_success:
            raise _error(request, received, content)
        body = _body(received, content)
        if isinstance(body, dict) and body.get("errors") and request.path == "/graphql":
            raise _error(request, received, content)
        return Response(received.status_code, received.headers, body)


def _query(query: Mapping[str, Any]) -> list[tuple[str, str | int | float | bool | None]]:
    """Return the parameters of a query string: without None, `true` and `false` for booleans, `name[]` for each value of a sequence."""
    pairs: list[tuple[str, str | int | float | bool | None]] = []
    for name, value in query.items():
        is_several = isinstance(value, Sequence) and not isinstance(value, str)
        for item in value if is_several else [value]:
            if item is not None:
                text = str(item).lower() if isinstance(item, bool) else str(item)
                pairs.append((f"{name}[]" if is_several else name, text))
    return pairs


def _body(response: httpx.Response, content: bytes) -> Any:
    if "json" not in response.headers.get("Content-Type", ""):
        return content.decode() or None
    try:
        return json.loads(content)
    except ValueError as error:
        raise ConnectionFailed("no complete response: its JSON is broken", was_sent=True) from error


def _connection_failed(failure: httpx.TransportError) -> ConnectionFailed:
    unsent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
    message = f"no complete response: {type(failure).__name__} {failure}".rstrip()
    return ConnectionFailed(message, was_sent=not isinstance(failure, unsent))


def _error(request: Request, response: httpx.Response, content: bytes) -> ApiError:
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    return error_of(
        request.path,
        response.status_code,
        body,
        request_id=response.headers.get("X-Request-Id", ""),
        retry_after=_retry_after(response.headers.get("Retry-After", ""), body),
    )


def _retry_after(header: str, body: Any) -> float | None:
    if header.strip().isdigit():
        return float(header)
    if header:
        moment = email.utils.parsedate_tz(header)
        return None if moment is None else max(0.0, email.utils.mktime_tz(moment) - time.time())
    milliseconds = body.get("retry_after_ms") if isinstance(body, dict) else None
    return milliseconds / 1000 if isinstance(milliseconds, int | float) else None


def _is_refused_token(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.status == 401


def _pause(error: ApiError | ConnectionFailed, request: Request, attempt: int) -> float | None:
    """Return after how many seconds the request may be sent again, None if it may not."""
    # Full jitter: clients that failed together don't come back together.
    backoff = random.uniform(0, min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempt))
    if isinstance(error, ConnectionFailed):
        return backoff if request.may_be_repeated or not error.was_sent else None
    pause = backoff if error.retry_after is None else error.retry_after
    if error.status == 429:  # refused before anything was done
        return pause
    is_running = error.status == 409 and "in_progress" in (error.code, error.message)
    if is_running and request.idempotency_key is not None:
        return pause
    is_unavailable = error.status in (502, 503, 504) or error.code == "UNAVAILABLE"
    return pause if is_unavailable and error.code not in _CLOSED_STORES and request.may_be_repeated else None
