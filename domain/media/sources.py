"""Load a media file from its source: conditionally where it was loaded before, through a few redirects, with limits of time and size."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urldefrag, urljoin

from domain.media.renderer import MAX_BYTES
from domain.outgoing import calls
from domain.outgoing.calls import AddressNotAllowed, OutgoingResponse, RequestFailed

TIMEOUT_SECONDS = 20.0
"""Of a fetch with all its redirects."""
MAX_REDIRECTS = 3
_TOO_SLOW = "the source did not answer in time"
_REDIRECTS = (301, 302, 303, 307, 308)
_OK, _NOT_MODIFIED = 200, 304
# As long as the columns that keep them; longer ones aren't sent again.
_MAX_VALIDATOR = 1_000
# No format is named: servers that convert images for those who accept newer ones send the original.
_HEADERS = {"User-Agent": "Vitrine-Media/1", "Accept": "image/*, */*;q=0.5", "Accept-Encoding": "identity"}


@dataclass(frozen=True, slots=True)
class SourceContent:
    """What a source answered; `etag` and `modified` are for the next request, empty for none."""

    content: bytes
    etag: str = ""
    modified: str = ""


class SourceFailed(Exception):
    """There is no content, with a text for people; `status` (0 for none) and `retry_after` are those of the answer."""

    def __init__(self, message: str, status: int = 0, retry_after: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.retry_after = retry_after


async def load_source(url: str, *, etag: str = "", modified: str = "") -> SourceContent | None:
    """Return the content of a source; None if it is still the one that `etag` and `modified` describe. Raises `SourceFailed`."""
    headers = dict(_HEADERS)
    if etag:
        headers["If-None-Match"] = etag
    if modified:
        headers["If-Modified-Since"] = modified
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            response = await _fetch(url, headers)
    except TimeoutError as error:
        raise SourceFailed(_TOO_SLOW) from error
    except AddressNotAllowed as error:
        raise SourceFailed(str(error)) from error
    except RequestFailed as error:
        raise SourceFailed(_TOO_SLOW if error.timed_out else f"the source could not be reached: {error}") from error
    if response.status == _NOT_MODIFIED and (etag or modified):
        return None
    if response.status != _OK:
        raise SourceFailed(
            f"the source answered {response.status}", response.status, response.headers.get("retry-after")
        )
    if response.is_truncated:
        raise SourceFailed(f"the source sent more than {MAX_BYTES // 1024**2} MB")
    return SourceContent(response.body, _validator(response, "etag"), _validator(response, "last-modified"))


async def _fetch(url: str, headers: dict[str, str]) -> OutgoingResponse:
    """Return the first response that is no redirect; each address is checked like the first."""
    for _ in range(MAX_REDIRECTS + 1):
        response = await calls.get(url, headers=headers, timeout=TIMEOUT_SECONDS, max_bytes=MAX_BYTES)
        location = response.headers.get("location")
        if response.status not in _REDIRECTS or not location:
            return response
        try:
            url = urldefrag(urljoin(url, location)).url
        except ValueError as error:
            raise SourceFailed("the source redirects to an address that can't be read") from error
    raise SourceFailed(f"the source redirects more than {MAX_REDIRECTS} times")


def _validator(response: OutgoingResponse, name: str) -> str:
    value = response.headers.get(name, "")
    return value if len(value) <= _MAX_VALIDATOR and value.isascii() and value.isprintable() else ""
