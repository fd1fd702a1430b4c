"""The files of the deployment by key, in a folder or at a provider of object storage (docs/deploy.md#files), through obstore.

Keys are ours, never a client's: `bulk/<store>/…`, `media/<store>/…` and `files/<store>/…`. What a provider
refuses is logged with its reason.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from kernel import logging
from kernel.errors import OperatorError, StorageFull, Unavailable
from kernel.work_queues import run_in_thread

_UNAVAILABLE = "the storage of files is not available; try again later"
_FULL = re.compile(
    r"No space left on device|Disk quota exceeded|status code: 507"
    r"|QuotaExceeded|XMinioStorageFull|InsufficientStorage|ServiceQuotaExceeded"
)
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_CHUNK = 256 * 1024
# A request that is cancelled sooner says nothing about the storage: its client has left.
_SLOW_SECONDS = 10.0
_TIMES = {"connect_timeout": "5s", "read_timeout": "30s", "timeout": "600s"}
_RETRIES: Any = {
    "max_retries": 2,
    "retry_timeout": timedelta(seconds=60),
    "backoff": {"init_backoff": timedelta(seconds=0.2), "max_backoff": timedelta(seconds=1), "base": 5},
}


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object: its key, its size in bytes, and when it was stored (UTC)."""

    key: str
    size: int
    modified_at: datetime


class StorageRefused(Exception):
    """The status and the code with which a provider refused a request, or why it could not be reached."""


class StorageAddressError(OperatorError):
    """No storage can be opened at the address; the text is one line for the operator."""


class Storage:
    """Objects by key. Everything raises `Unavailable` when the storage doesn't answer or refuses, and `StorageFull`."""

    def __init__(self, store: ObjectStore | Path) -> None:
        """Store objects at a provider, or in a folder, which is created when it is used."""
        self._folder = store if isinstance(store, Path) else None
        self._provider = None if isinstance(store, Path) else store

    @cached_property
    def _store(self) -> ObjectStore:
        if self._provider is not None:
            return self._provider
        assert self._folder is not None
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return LocalStore(self._folder, automatic_cleanup=True)

    def is_same(self, other: Storage) -> bool:
        """Return whether both have the same address."""
        return (self._folder, self._provider) == (other._folder, other._provider)

    def local_path(self, key: str) -> Path | None:
        """Return the path of an object's file in a folder; None at a provider."""
        return None if self._folder is None else self._folder / key

    async def link(self, method: Literal["GET", "HEAD", "PUT"], key: str, lifetime: timedelta) -> str | None:
        """Return an address that loads or stores the object without a credential; None in a folder, whose files this server serves."""
        if self._folder is not None:
            return None
        with _failures(method, key):
            return await obstore.sign_async(self._store, method, key, lifetime)  # type: ignore[arg-type]

    async def put(
        self, key: str, content: bytes | Path, headers: Mapping[str, str] | None = None, *, replaces: bool = True
    ) -> None:
        """Store an object, whole or not at all; `headers` are sent with it by a provider.

        Raises FileExistsError if there is one and `replaces` is False.
        """
        attributes: Any = None if self._folder is not None or headers is None else dict(headers)
        mode: Any = "overwrite" if replaces else "create"
        with _failures("PUT", key):
            if isinstance(content, Path) and not replaces:
                content = await run_in_thread(_mapped, content)
            await obstore.put_async(self._store, key, content, attributes=attributes, mode=mode)
            if self._folder is not None:
                await run_in_thread(_flush, self._folder / key)

    async def read(self, key: str, *, most: int | None = None) -> bytes | None:
        """Return an object's content, of one with more than `most` bytes only somewhat more than these; None if there is none."""
        try:
            with _failures("GET", key):
                stored = await obstore.get_async(self._store, key)
                if most is None:
                    return bytes(await stored.bytes_async())
                content = bytearray()
                async for chunk in stored.stream(_CHUNK):
                    content += chunk
                    if len(content) > most:
                        break
                return bytes(content)
        except FileNotFoundError:
            return None

    async def load(self, key: str, path: Path) -> None:
        """Copy an object into a file; raise `StorageFull` when it can't be written, FileNotFoundError if there is no object."""
        with _failures("GET", key):
            chunks = (await obstore.get_async(self._store, key)).stream(_CHUNK)
            with path.open("wb") as file:
                async for chunk in chunks:
                    try:
                        await run_in_thread(file.write, chunk)
                    except OSError as error:
                        raise StorageFull from error

    async def head(self, key: str) -> StoredObject | None:
        """Return what is known of an object; None if there is none."""
        try:
            with _failures("HEAD", key):
                return _stored(await obstore.head_async(self._store, key))
        except FileNotFoundError:
            return None

    async def copy(self, source: str, target: str) -> None:
        """Copy an object; raise FileNotFoundError if there is none."""
        with _failures("COPY", target):
            await obstore.copy_async(self._store, source, target)

    async def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that are gone already are no error."""
        for key in keys:
            try:
                with _failures("DELETE", key):
                    await obstore.delete_async(self._store, key)
            except FileNotFoundError:
                pass

    async def folders(self, prefix: str) -> list[str]:
        """Return the names of the folders right below a prefix, which ends with `/`."""
        with _failures("LIST", prefix):
            listed = await obstore.list_with_delimiter_async(self._store, prefix)
        return [each.rstrip("/").rpartition("/")[2] for each in listed["common_prefixes"]]

    async def check(self) -> None:
        """Store and delete an object."""
        await self.put("vitrine-check", b"ok")
        await self.delete(["vitrine-check"])

    async def find(self, prefix: str) -> AsyncIterator[StoredObject]:
        """Yield the objects below a prefix, which ends with `/`."""
        with _failures("LIST", prefix):
            async for batch in obstore.list(self._store, prefix, chunk_size=500):
                for each in batch:
                    yield _stored(each)


def open_storage(url: str) -> Storage:
    """Return the storage at an address as VITRINE_STORAGE_URL; credentials are in the provider's environment variables.

    `?endpoint=…&region=…&path_style=0` belong to an S3-compatible storage. Raises StorageAddressError.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Storage(Path(unquote(parts.path)))
    options = dict(parse_qsl(parts.query))
    path_style = options.pop("path_style", "1")
    if parts.scheme == "s3":
        options["virtual_hosted_style_request"] = "true" if path_style == "0" else "false"
    client: Any = {**_TIMES, "allow_http": options.get("endpoint", "").startswith("http://")}
    address = f"{parts.scheme}://{parts.netloc}{parts.path}"
    try:
        return Storage(from_url(address, config=options, client_options=client, retry_config=_RETRIES))  # type: ignore[call-overload]
    except (BaseError, ValueError) as error:
        # The first line: what follows is for programmers of the provider's client.
        raise StorageAddressError(f"{address} can't be used: {str(error).partition(chr(10))[0]}") from None


_storage: Storage | None = None


def configure(storage: Storage) -> None:
    """Set the storage of the process."""
    global _storage
    _storage = storage


def storage() -> Storage:
    """Return the storage of the process."""
    assert _storage is not None, "no storage is configured"
    return _storage


def _stored(meta: Any) -> StoredObject:
    return StoredObject(meta["path"], meta["size"], meta["last_modified"])


def _mapped(path: Path) -> Any:
    """Map a file into memory: what replaces nothing is stored in one request."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""


def _flush(path: Path) -> None:
    """Write a file to the disk: what refers to it may be committed next."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _failures(action: str, key: str) -> Iterator[None]:
    """Turn errors of the library into ours; FileNotFoundError and FileExistsError pass, and the time-out of a request, which is logged."""
    began = monotonic()
    try:
        yield
    except asyncio.CancelledError:
        if (seconds := monotonic() - began) > _SLOW_SECONDS:
            logging.event("storage has not answered", level="error", action=action, key=key, seconds=round(seconds, 1))
        raise
    except AlreadyExistsError as error:
        raise FileExistsError(key) from error
    except FileNotFoundError as error:
        # A bucket that doesn't exist isn't an object that doesn't.
        if "NoSuchBucket" not in str(error):
            raise
        raise _error(action, key, error) from _reason(error)
    except (BaseError, OSError) as error:
        raise _error(action, key, error) from _reason(error)


def _error(action: str, key: str, error: Exception) -> StorageFull | Unavailable:
    if _FULL.search(str(error)):
        logging.event("storage full", level="error", action=action, key=key)
        return StorageFull()
    logging.event("storage not available", level="error", action=action, key=key, reason=str(_reason(error)))
    return Unavailable(_UNAVAILABLE)


def _reason(error: Exception) -> StorageRefused:
    """Return the status and the provider's code of an error, or the end of its text."""
    text = str(error).partition("\n\nDebug source")[0]
    parts = [match[1] for match in (_STATUS.search(text), _CODE.search(text)) if match]
    return StorageRefused(" ".join(parts) or text.rpartition(" - ")[2][:200])
