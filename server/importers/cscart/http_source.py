"""Read a shop's REST API for an import: few requests at once, repeated while the shop is slow or away."""

from __future__ import annotations

import asyncio
import random
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import TracebackType
from typing import Any

import aiohttp
import orjson
from yarl import URL

from kernel.clock import now
from server.importers.cscart.source import ForbiddenBySource, NotOffered, SourceError, SourceUnavailable

MAX_REQUESTS = 4
MAX_OUTAGE_SECONDS = 600
# A record whose requests fail this often, while the shop answers others, can't be brought.
MAX_ATTEMPTS = 5
_LONGEST_WAIT = 60.0
_CONNECT_SECONDS = 8.0
# A failure is reported when the source is asked again this long after it began, and each minute from then on.
_NOTICE_SECONDS = 5.0
_MAX_BYTES = 64 * 1024 * 1024
_PROBE = "languages"
_THROTTLED = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


@dataclass(frozen=True)
class SourceTimeouts:
    """How long an import waits for its source, and by which clock."""

    max_outage_seconds: float = MAX_OUTAGE_SECONDS
    answer_seconds: float = 120
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class _Failure:
    """A request to repeat: the reason, how long the source asks to wait, and whether it asks for fewer requests."""

    reason: str
    retry_after: float | None = None
    is_throttled: bool = False


@dataclass
class HttpSource:
    """A shop's REST API: at most four requests at once; failures are repeated, with pauses, for at most ten minutes.
    `on_wait` gets a line that says why the import waits.

    `url` is the shop's address, with or without `/api/2.0`, or that of its `api.php`. Only GET is sent, with `headers` besides its own.
    """

    url: str
    email: str
    api_key: str
    timeouts: SourceTimeouts = field(default_factory=SourceTimeouts)
    headers: Mapping[str, str] = field(default_factory=dict)
    on_wait: Callable[[str], object] = lambda line: None

    async def __aenter__(self) -> HttpSource:
        """Connect and find out at which address the API answers."""
        # As the terminal sent them: what isn't UTF-8 is refused by the shop.
        credentials = f"{self.email}:{self.api_key}".encode(errors="surrogateescape")
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self.timeouts.answer_seconds, sock_connect=_CONNECT_SECONDS),
            headers={
                "Accept": "application/json",
                "User-Agent": "vitrine-import",
                "Authorization": f"Basic {b64encode(credentials).decode()}",
                **self.headers,
            },
        )
        self._slots = asyncio.Semaphore(MAX_REQUESTS)
        self._failing_since: float | None = None
        self._not_before = 0.0
        self._next_notice = _NOTICE_SECONDS
        self._has_answered = False
        try:
            self._base = await self._find_api()
        except BaseException:
            await self._session.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect."""
        await self._session.close()

    async def fetch(self, path: str, **query: object) -> Any:
        """Return the parsed answer; raises SourceError and SourceUnavailable."""
        attempts, failures = 0, 0
        while True:
            try:
                outcome = await self._ask(self._address(self._base, path, query))
            except ForbiddenBySource:
                await self._check_credentials()
                raise
            if not isinstance(outcome, _Failure):
                return outcome
            attempts += 1
            failures += not outcome.is_throttled
            await self._back_off(outcome, attempts)
            if failures >= MAX_ATTEMPTS and await self._is_alive():
                raise SourceError(outcome.reason)

    # --- Addresses ---

    async def _find_api(self) -> URL:
        """Return the address of the API; raises SourceUnavailable where there is none."""
        try:
            candidates = _candidates(URL(self.url))
        except ValueError as error:
            raise SourceUnavailable(f"{self.url} is no address of a shop; expected https://shop.example") from error
        attempts = 0
        while True:
            failures = []
            for candidate in candidates:
                try:
                    outcome = await self._ask(self._address(candidate, _PROBE, {"items_per_page": 1}))
                except NotOffered as error:
                    if "HTML" not in str(error):
                        return candidate  # an old version, without this list
                    continue
                except ForbiddenBySource as error:
                    raise _refused(error) from error
                except SourceError:
                    return candidate
                if not isinstance(outcome, _Failure):
                    return candidate
                failures.append(outcome)
            if not failures:
                raise SourceUnavailable(f"no CS-Cart API answers at {self.url}")
            attempts += 1
            await self._back_off(failures[0], attempts)

    @staticmethod
    def _address(base: URL, path: str, query: dict[str, object]) -> URL:
        texts = {name: str(value) for name, value in query.items()}
        if base.name == "api.php":
            return base.with_query({"_d": path, "ajax_custom": "1", **texts})
        return base.joinpath(*path.split("/")).with_query(texts)

    # --- One request ---

    async def _ask(self, address: URL) -> Any:
        """Return the parsed answer or a failure that may pass; raises SourceError and SourceUnavailable."""
        async with self._slots:
            while (pause := self._not_before - self.timeouts.clock()) > 0:
                await self.timeouts.sleep(pause)
            try:
                async with self._session.get(address, allow_redirects=False) as response:
                    body = bytearray()
                    async for chunk in response.content.iter_any():
                        body += chunk
                        if len(body) > _MAX_BYTES:
                            break
                    outcome = _read(response, bytes(body))
            except (
                aiohttp.ClientConnectorDNSError,
                aiohttp.ClientConnectorCertificateError,
                aiohttp.InvalidURL,
            ) as error:
                if not self._has_answered:
                    raise SourceUnavailable(f"{address.origin()} can't be reached: {error}") from error
                return _Failure(f"the shop did not answer: {_describe(error)}")
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                return _Failure(f"the shop did not answer: {_describe(error)}")
        self._has_answered = True
        if not isinstance(outcome, _Failure):
            self._failing_since, self._next_notice = None, _NOTICE_SECONDS
        return outcome

    async def _back_off(self, failure: _Failure, attempts: int) -> None:
        """Wait before a request is repeated; raises SourceUnavailable when the source has failed for too long."""
        at = self.timeouts.clock()
        if self._failing_since is None:
            self._failing_since = at
        rest = self._failing_since + self.timeouts.max_outage_seconds - at
        if rest <= 0:
            minutes = round(self.timeouts.max_outage_seconds / 60)
            raise SourceUnavailable(
                f"the shop has failed for {minutes} minutes: {failure.reason}; run the command again to continue"
            )
        pause = failure.retry_after
        if not pause:  # at once would be without end
            pause = min(_LONGEST_WAIT, 2.0 ** max(0, attempts - 1)) * random.uniform(0.75, 1)
        pause = min(pause, rest)
        if failure.is_throttled:
            self._not_before = max(self._not_before, at + pause)
        self._report_wait(failure, at + pause - self._failing_since)
        await self.timeouts.sleep(pause)

    def _report_wait(self, failure: _Failure, seconds: float) -> None:
        """Report a failure that will have lasted for these seconds when the source is asked again, once for each minute."""
        if seconds < self._next_notice:
            return
        self._next_notice = seconds + _LONGEST_WAIT
        minutes = round(self.timeouts.max_outage_seconds / 60)
        self.on_wait(f"waiting for the shop, at most {minutes} minutes: {failure.reason}")

    async def _check_credentials(self) -> None:
        """Raise SourceUnavailable if the shop refuses all requests."""
        try:
            await self._ask(self._address(self._base, _PROBE, {"items_per_page": 1}))
        except ForbiddenBySource as error:
            raise _refused(error) from error
        except SourceError:
            return

    async def _is_alive(self) -> bool:
        """Return whether the shop answers at all."""
        try:
            return not isinstance(await self._ask(self._address(self._base, _PROBE, {"items_per_page": 1})), _Failure)
        except SourceError:
            return True


def _candidates(url: URL) -> list[URL]:
    if url.scheme not in ("http", "https") or not url.raw_host:
        raise ValueError(url)
    url.raw_host.encode("idna")  # raises ValueError for what Python can't look up
    url = url.with_query(None).with_fragment(None).with_user(None)
    if url.name == "api.php" or "api" in url.parts:
        return [url]
    return [url / "api" / "2.0", url / "api.php"]


def _refused(reason: object) -> SourceUnavailable:
    return SourceUnavailable(
        f"the shop refuses the credentials ({reason}); expected an administrator's e-mail and API key"
    )


def _read(response: aiohttp.ClientResponse, body: bytes) -> Any:
    """Return the parsed body, or a failure that may pass; raises the errors that do not."""
    status = response.status
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise SourceUnavailable(
            f"the shop is at {response.headers.get('Location', 'another address')}; name that as --url"
        )
    if status == HTTPStatus.UNAUTHORIZED:
        raise _refused(f"status 401: {_excerpt(body)}")
    if status == HTTPStatus.FORBIDDEN:
        raise ForbiddenBySource(f"status 403: {_excerpt(body)}")
    if status in _THROTTLED or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        retry_after = _retry_after(response)
        is_throttled = status == HTTPStatus.TOO_MANY_REQUESTS or (status in _THROTTLED and retry_after is not None)
        return _Failure(f"status {status}: {_excerpt(body)}", retry_after, is_throttled)
    if status == HTTPStatus.NOT_FOUND:
        raise NotOffered(f"status 404: {_excerpt(body)}")
    if status >= HTTPStatus.BAD_REQUEST:
        raise SourceError(f"status {status}: {_excerpt(body)}")
    if len(body) > _MAX_BYTES:
        raise SourceError(f"the answer has more than {_MAX_BYTES} bytes")
    try:
        return orjson.loads(_decode(body, response.charset))
    except (ValueError, LookupError):
        return _Failure(f"the answer is not JSON: {_excerpt(body)}")


def _decode(body: bytes, charset: str | None) -> str:
    """Decode strictly: a text that is decoded wrongly would be stored."""
    return body.decode(charset or "utf-8").removeprefix("\ufeff")


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    """Return the seconds of a `Retry-After` header: a number or a date (RFC 9110, section 10.2.3)."""
    value = response.headers.get("Retry-After", "")
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, (parsedate_to_datetime(value) - now()).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None


def _excerpt(body: bytes) -> str:
    """Return the message of an error answer, or the beginning of what it is."""
    try:
        parsed = orjson.loads(body)
    except ValueError:
        words = " ".join(body.decode("utf-8", "replace").split())
        return f"HTML {words[:80]!r}" if "<" in words else repr(words[:80])
    message = parsed.get("message") if isinstance(parsed, dict) else parsed
    return str(message)[:200]


def _describe(error: BaseException) -> str:
    return "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
