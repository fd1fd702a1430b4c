"""A client of an S3-compatible object storage: AWS Signature Version 4 (header and query), objects, multipart uploads.

Requests are repeated after passing failures. Everything that fails in the end is `Unavailable`, and logged with the storage's code, except
for a full storage (`StorageFull`).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import aiohttp
from yarl import URL

from kernel import logging
from kernel.clock import now
from kernel.errors import StorageFull, Unavailable
from kernel.settings import Settings

PART_BYTES = 8 * 1024 * 1024
_CHUNK = 256 * 1024
_ALGORITHM = "AWS4-HMAC-SHA256"
_UNSIGNED = "UNSIGNED-PAYLOAD"
_EMPTY = hashlib.sha256(b"").hexdigest()
_PAUSES = (0.2, 1.0)
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=30)
_FULL = frozenset({"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "ServiceQuotaExceeded"})
_UNAVAILABLE = "the storage of bulk files is not available; try again later"


# --- Signature Version 4 ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signer:
    """The credentials of a region; `sign` and `presign` return what a request carries."""

    access_key: str
    secret_key: str = field(repr=False)
    region: str

    def sign(self, method: str, url: str, headers: Mapping[str, str], payload: str, at: datetime) -> dict[str, str]:
        """Return the headers of a request with its signature; `payload` is the SHA-256 of its body."""
        parts = urlsplit(url)
        all_headers = {**headers, "host": parts.netloc, "x-amz-date": _time(at), "x-amz-content-sha256": payload}
        names = ";".join(sorted(name.lower() for name in all_headers))
        signature = self._signature(method, parts.path, parts.query, all_headers, payload, at)
        credential = f"{self.access_key}/{self._scope(at)}"
        all_headers["Authorization"] = (
            f"{_ALGORITHM} Credential={credential},SignedHeaders={names},Signature={signature}"
        )
        return all_headers

    def presign(self, method: str, url: str, lifetime: timedelta, at: datetime) -> str:
        """Return a link that needs no credential for the lifetime."""
        parts = urlsplit(url)
        query = encoded_query({
            "X-Amz-Algorithm": _ALGORITHM,
            "X-Amz-Credential": f"{self.access_key}/{self._scope(at)}",
            "X-Amz-Date": _time(at),
            "X-Amz-Expires": str(int(lifetime.total_seconds())),
            "X-Amz-SignedHeaders": "host",
        })  # fmt: skip
        signature = self._signature(method, parts.path, query, {"host": parts.netloc}, _UNSIGNED, at)
        return f"{url}?{query}&X-Amz-Signature={signature}"

    def _scope(self, at: datetime) -> str:
        return f"{_time(at)[:8]}/{self.region}/s3/aws4_request"

    def _signature(
        self, method: str, path: str, query: str, headers: Mapping[str, str], payload: str, at: datetime
    ) -> str:
        signed = sorted((name.lower(), value.strip()) for name, value in headers.items())
        lines = "".join(f"{name}:{value}\n" for name, value in signed)
        names = ";".join(name for name, _ in signed)
        request = "\n".join([method, path, query, lines, names, payload])
        hashed = hashlib.sha256(request.encode()).hexdigest()
        key = f"AWS4{self.secret_key}".encode()
        for part in (*self._scope(at).split("/"), f"{_ALGORITHM}\n{_time(at)}\n{self._scope(at)}\n{hashed}"):
            key = hmac.digest(key, part.encode(), "sha256")
        return key.hex()


def encoded_query(values: Mapping[str, str]) -> str:
    """Return a query string as it is signed: in the order of its names."""
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted(values.items()))


def _time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


# --- Requests ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class StorageRefused(Exception):
    """Report the status and the code with which a storage refused a request."""


class Bucket:
    """The objects of a bucket, by key (`domain.bulk.storage.ObjectStorage`)."""

    def __init__(self, endpoint: str, name: str, signer: Signer, *, path_style: bool = True) -> None:
        parts = urlsplit(endpoint)
        host = parts.netloc if path_style else f"{name}.{parts.netloc}"
        self._base = f"{parts.scheme}://{host}{parts.path.rstrip('/')}{f'/{name}' if path_style else ''}"
        self._name = name
        self._signer = signer

    def link(self, method: str, key: str, lifetime: timedelta, at: datetime) -> str:
        """Return a link to load (`GET`) or store (`PUT`) an object."""
        return self._signer.presign(method, self._url(key), lifetime, at)

    async def size(self, key: str) -> int | None:
        """Return the size of an object in bytes; None if there is none."""
        async with _session() as http:
            answer = await self._request(http, "HEAD", key, missing=True)
        return None if answer.status == 404 else int(answer.headers.get("Content-Length", 0))

    async def save(self, path: Path, key: str, headers: Mapping[str, str]) -> None:
        """Store a file, in parts if it is large: the object appears when it is complete."""
        size = await asyncio.to_thread(lambda: path.stat().st_size)
        async with _session() as http:
            if size <= PART_BYTES:
                await self._request(http, "PUT", key, body=await asyncio.to_thread(path.read_bytes), headers=headers)
            else:
                await self._save_in_parts(http, path, key, size, headers)

    async def load(self, key: str, path: Path) -> None:
        """Copy an object into a file. Raise `StorageFull` when the file can't be written."""
        async with _session() as http, self._sent(http, "GET", key) as response:
            if response.status != 200:
                raise self._failure("GET", key, await _answer(response))
            try:
                with path.open("wb") as file:
                    async for chunk in response.content.iter_chunked(_CHUNK):
                        await asyncio.to_thread(file.write, chunk)
            except aiohttp.ClientError as error:
                raise _unavailable("GET", key, error) from error
            except OSError as error:
                raise StorageFull from error

    async def copy(self, source: str, target: str) -> None:
        """Copy an object within the bucket."""
        async with _session() as http:
            answer = await self._request(
                http, "PUT", target, headers={"x-amz-copy-source": _quoted(f"/{self._name}/{source}")}
            )
            if b"<Error>" in answer.body:
                raise self._failure("PUT", target, answer)

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; those that are gone already are no error."""
        async with _session() as http:
            for key in keys:
                await self._request(http, "DELETE", key, missing=True)

    async def keys_before(self, prefix: str, limit: datetime) -> list[str]:
        """Return the keys with a prefix of the objects that were stored before; multipart uploads from before are aborted."""
        keys: list[str] = []
        async with _session() as http:
            async for page in self._pages(
                http, {"list-type": "2", "prefix": prefix}, {"continuation-token": "NextContinuationToken"}
            ):
                keys += [key for key, at in _rows(page, "Key", "LastModified") if datetime.fromisoformat(at) < limit]
            markers = {"key-marker": "NextKeyMarker", "upload-id-marker": "NextUploadIdMarker"}
            async for page in self._pages(http, {"prefix": prefix, "uploads": ""}, markers):
                for key, upload, at in _rows(page, "Key", "UploadId", "Initiated"):
                    if datetime.fromisoformat(at) < limit:
                        await self._request(http, "DELETE", key, query={"uploadId": upload}, missing=True)
        return keys

    async def _pages(
        self, http: aiohttp.ClientSession, query: Mapping[str, str], markers: Mapping[str, str]
    ) -> AsyncIterator[bytes]:
        """Read the pages of a list; `markers` are the parameters of the next one, by the elements of a page that are their values."""
        position: dict[str, str] = {}
        while True:
            page = (await self._request(http, "GET", "", query={**query, **position})).body
            yield page
            position = {name: text for name, element in markers.items() for text in _texts(page, element) if text}
            if not position:
                return

    async def check(self) -> None:
        """Store and delete an object."""
        async with _session() as http:
            await self._request(http, "PUT", ".vitrine-check", body=b"ok")
            await self._request(http, "DELETE", ".vitrine-check", missing=True)

    async def _save_in_parts(
        self, http: aiohttp.ClientSession, path: Path, key: str, size: int, headers: Mapping[str, str]
    ) -> None:
        created = await self._request(http, "POST", key, query={"uploads": ""}, headers=headers)
        upload = {"uploadId": _texts(created.body, "UploadId")[0]}
        try:
            parts = []
            for number, offset in enumerate(range(0, size, PART_BYTES), 1):
                body = await asyncio.to_thread(_read, path, offset)
                query = {"partNumber": str(number), **upload}
                tag = (await self._request(http, "PUT", key, query=query, body=body)).headers["ETag"]
                parts.append(f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>")
            body = f"<CompleteMultipartUpload>{''.join(parts)}</CompleteMultipartUpload>".encode()
            answer = await self._request(http, "POST", key, query=upload, body=body, missing=True)
        except BaseException:
            await asyncio.shield(self._abort(http, key, upload))
            raise
        # Repeated after an answer that was lost, the upload is not found: it is complete.
        if b"<Error>" in answer.body and (answer.status != 404 or await self.size(key) != size):
            raise self._failure("POST", key, answer)

    async def _abort(self, http: aiohttp.ClientSession, key: str, upload: Mapping[str, str]) -> None:
        """Remove the parts; what can't be removed now is removed by `keys_before`."""
        try:
            await self._request(http, "DELETE", key, query=upload, missing=True)
        except (StorageFull, Unavailable):
            pass

    async def _request(
        self,
        http: aiohttp.ClientSession,
        method: str,
        key: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        missing: bool = False,
    ) -> _Answer:
        """Send a request, and again after passing failures; return the answer of success, with `missing` also 404."""
        for pause in (*_PAUSES, None):
            try:
                async with self._sent(http, method, key, query=query, headers=headers, body=body) as response:
                    answer = await _answer(response)
            except Unavailable:
                if pause is None:
                    raise
            else:
                if answer.status < 300 or (missing and answer.status == 404):
                    return answer
                if pause is None or (answer.status != 429 and not 500 <= answer.status < 507):
                    raise self._failure(method, key, answer)
            await asyncio.sleep(pause)
        raise AssertionError

    @asynccontextmanager
    async def _sent(
        self,
        http: aiohttp.ClientSession,
        method: str,
        key: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        url = self._url(key) + (f"?{encoded_query(query)}" if query else "")
        payload = hashlib.sha256(body).hexdigest() if body else _EMPTY
        signed = self._signer.sign(method, url, headers or {}, payload, now())
        try:
            async with http.request(
                method,
                URL(url, encoded=True),
                headers=signed,
                data=body,
                allow_redirects=False,
                skip_auto_headers=("Content-Type",),
            ) as response:
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unavailable(method, key, error) from error

    @staticmethod
    def _failure(method: str, key: str, answer: _Answer) -> StorageFull | Unavailable:
        """Return the error of an answer; its cause is `StorageRefused`."""
        code = next(iter(_texts(answer.body, "Code")), "")
        logging.event(
            "object storage refused", level="error", method=method, key=key, status=answer.status, code=code[:60]
        )
        if answer.status == 507 or code in _FULL:
            return StorageFull()
        refused = Unavailable(_UNAVAILABLE)
        refused.__cause__ = StorageRefused(f"{answer.status} {code}".strip())
        return refused

    def _url(self, key: str) -> str:
        return f"{self._base}/{_quoted(key)}"


def bucket_from_settings(settings: Settings) -> Bucket | None:
    """Return the bucket of the settings; None if files are in a directory."""
    if settings.bulk_s3_bucket is None:
        return None
    # The settings are set together.
    signer = Signer(settings.bulk_s3_access_key or "", settings.bulk_s3_secret_key or "", settings.bulk_s3_region)
    return Bucket(
        settings.bulk_s3_endpoint or "", settings.bulk_s3_bucket, signer, path_style=settings.bulk_s3_path_style
    )


def _quoted(path: str) -> str:
    return quote(path, safe="/-_.~")


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(timeout=_TIMEOUT, auto_decompress=False, trust_env=False)


async def _answer(response: aiohttp.ClientResponse) -> _Answer:
    return _Answer(response.status, response.headers, await response.read())


def _unavailable(method: str, key: str, error: BaseException) -> Unavailable:
    logging.failure("object storage not available", error, method=method, key=key)
    return Unavailable(_UNAVAILABLE)


def _read(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(PART_BYTES)


def _rows(body: bytes, *names: str) -> Iterator[tuple[str, ...]]:
    """Return the texts of the elements with these names, which every entry of a list has."""
    return zip(*[_texts(body, name) for name in names], strict=True)


def _texts(body: bytes, name: str) -> list[str]:
    """Return the texts of the elements with a name, in any namespace; none of what is no XML."""
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        return []
    return [element.text or "" for element in root.iter() if element.tag.rpartition("}")[2] == name]
