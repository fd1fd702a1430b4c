"""The addresses of media files, as SQL expressions of what a read shows and as the form in which an input may name a file.

A file is at `/media/<sha256>/<size>.<format>` at the store's own host, or at `/media/<store>/<sha256>/<size>.<format>` below
VITRINE_MEDIA_URL, which stores share (docs/reference/shared.md#media).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from urllib.parse import urlsplit
from uuid import UUID

from kernel.scope import Scope, Store
from models.quoting import literal
from models.reading.queries import Condition

ORIGINAL = "ORIGINAL"
SIZES = {"W64": 64, "W128": 128, "W256": 256, "W512": 512, "W1024": 1_024, "W2048": 2_048}
"""The sizes of images by their names in GraphQL: the longest side in pixels; smaller images are not enlarged."""
AUTO = "AUTO"
FORMATS = {AUTO: "auto", "WEBP": "webp", "AVIF": "avif", "JPEG": "jpeg", "PNG": "png"}
"""The formats of sizes by their names in GraphQL, as the address says them; `auto` is decided by what the request accepts."""

# What an address of a file looks like, whatever the host: the digest says which content it is.
_ADDRESS = re.compile(
    r"(?:https?://[^\s/?#]+)?(?:/[^\s?#]*)?/media/(?:[0-9a-f-]{36}/)?([0-9a-f]{64})/[A-Za-z0-9]+\.[a-z0-9]+"
)
_IMAGE_URL = re.compile(r"\[image:(\w+)\.(\w+)\]")
# Of a photo in HEIC, which few browsers show, the largest size.
_ORIGINAL_NAME = """CASE {type} WHEN 'image/heic' THEN '2048.jpeg'
    ELSE 'ORIGINAL.' || coalesce(substring({type} from '^image/([a-z0-9]+)$'), 'bin') END"""
_HOST = """(
    SELECT h.host FROM store_hosts h WHERE h.store_id = {tenant} ORDER BY h.is_primary DESC, h.host LIKE '%.localhost', h.host LIMIT 1
)"""
_STORE = "(SELECT o.public_id FROM tenants o WHERE o.id = {tenant})"


@dataclass(frozen=True)
class MediaAddresses:
    """Where files are served: at the host of their store with the scheme and port of `base_url`, or below `media_url`."""

    base_url: str = "http://localhost"
    media_url: str = ""

    @cached_property
    def folder(self) -> str:
        """Return the expression for what precedes the digest; its subquery is executed once for each statement."""
        if self.media_url:
            return f"{literal(f'{self.media_url}/media/')} || {_STORE} || '/'"
        base = urlsplit(self.base_url)
        port = f":{base.port}" if base.port else ""
        host = f"{literal(f'{base.scheme}://')} || {_HOST} || {literal(port)}"
        return f"coalesce({host}, {literal(self.base_url)}) || '/media/'"


_addresses = MediaAddresses()


def configure(base_url: str, media_url: str = "") -> None:
    """Set where files are served, without trailing slashes."""
    global _addresses
    _addresses = MediaAddresses(base_url.rstrip("/"), media_url.rstrip("/"))


@dataclass(frozen=True)
class ImageSource:
    """The expressions that describe an image: its link, and what precedes the names of the file's columns."""

    link: str
    prefix: str

    def of_file(self, name: str) -> str:
        """Return the expression of a column of the file."""
        return f"{self.prefix}{name}"

    @property
    def is_ready(self) -> str:
        """Return the condition that the image shows the file, not its link; null without a file."""
        return f"({self.of_file('sha256')} IS NOT NULL)"

    @property
    def folder(self) -> str:
        """Return the expression of what precedes the size in addresses."""
        return f"{_addresses.folder} || {self.of_file('sha256')} || '/'"


@lru_cache(maxsize=256)
def image_url(source: ImageSource, size: str | None, format_: str | None) -> ImageUrl:
    """Return the column of an image's address in a size and format; without a file it is the link."""
    return ImageUrl(source, size or ORIGINAL, format_ or AUTO)


@lru_cache(maxsize=64)
def image_srcset(source: ImageSource, format_: str | None) -> ImageSrcset:
    """Return the column of an image's addresses in all sizes that are not enlarged, for the attribute `srcset`; null without a file."""
    return ImageSrcset(source, format_ or AUTO)


@dataclass(frozen=True)
class ImageUrl:
    """The address of an image in one size and format."""

    source: ImageSource
    size: str
    format: str

    def __call__(self, _: Scope | None) -> Condition:
        """Return the expression."""
        if self.size == ORIGINAL and self.format == AUTO:
            file = _ORIGINAL_NAME.format(type=self.source.of_file("mime_type"))
        else:
            # The original is there in its own format only.
            longest = SIZES.get(self.size, max(SIZES.values()))
            file = literal(f"{longest}.{FORMATS[self.format]}")
        return Condition(
            f"CASE WHEN {self.source.is_ready} THEN {self.source.folder} || {file} ELSE {self.source.link} END"
        )


@dataclass(frozen=True)
class ImageSrcset:
    """The addresses of an image in all sizes, each with its width."""

    source: ImageSource
    format: str

    def __call__(self, _: Scope) -> Condition:
        """Return the expression."""
        width, height = self.source.of_file("width"), self.source.of_file("height")
        longest = f"greatest({width}, {height})"
        shown = f"greatest(1, round(least(s.size, {longest})::numeric * {width} / {longest}))"
        address = f"{self.source.folder} || s.size || {literal(f'.{FORMATS[self.format]} ')} || {shown} || 'w'"
        sizes = ", ".join(map(str, SIZES.values()))
        # Each size is twice the one before: the last one shows the whole image.
        listed = (
            f"(SELECT string_agg({address}, ', ' ORDER BY s.size) FROM unnest(ARRAY[{sizes}]) AS s (size)"
            f" WHERE s.size < 2 * {longest} OR s.size = {min(SIZES.values())})"
        )
        return Condition(f"CASE WHEN {self.source.is_ready} AND {longest} > 0 THEN {listed} END")


@dataclass(frozen=True)
class RowImageUrl:
    """The address of the original of a row's image, read without a join: the file's, or the link."""

    link: str
    alias: str = "t"

    def __call__(self, _: Scope | None = None) -> Condition:
        """Return the expression; it contains the placeholder of the store."""
        link, alias = f"{self.alias}.{self.link}", self.alias
        address = image_url(ImageSource("null", "m."), None, None)(None).sql
        file = f"SELECT {address} FROM media_files m WHERE m.tenant_id = {alias}.tenant_id AND m.id = {alias}.media_id"
        return Condition(f"CASE WHEN {alias}.media_id IS NULL THEN {link} ELSE coalesce(({file}), {link}) END")


def with_image_urls(sql: str) -> str:
    """Return a statement with the addresses of images in place of `[image:<alias>.<link>]`; the store is its first parameter."""
    return _written(sql, _addresses)


@lru_cache(maxsize=64)
def _written(sql: str, _: MediaAddresses) -> str:
    return _IMAGE_URL.sub(lambda match: RowImageUrl(match[2], match[1])().sql.replace("{tenant}", "$1"), sql)


def digest_in(url: str) -> str | None:
    """Return the SHA-256 of the file that a URL is the address of, in any size; None for another URL."""
    match = _ADDRESS.fullmatch(url)
    return match[1] if match else None


def source_digest(url: str) -> str:
    """Return the digest by which the database finds a file by its source, as `md5(source_url)` there."""
    return hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()


def original_path(sha256: str, mime_type: str) -> str:
    """Return the path of a file's own content."""
    kind, _, name = mime_type.partition("/")
    return f"/media/{sha256}/{ORIGINAL}.{name if kind == 'image' and name.isalnum() else 'bin'}"


def media_addresses() -> MediaAddresses:
    """Return where files are served, which no row says."""
    return _addresses


def base_url() -> str:
    """Return the address of this server, without a trailing slash."""
    return _addresses.base_url


def store_url(store: Store) -> str:
    """Return the address of this server at the store's own host, where it has one, without a trailing slash."""
    base = urlsplit(base_url())
    return f"{base.scheme}://{store.host}{f':{base.port}' if base.port else ''}" if store.host else base_url()


def media_key(store: UUID, sha256: str) -> str:
    """Return the key of a file in the object storage; its rendered sizes are at `<key>.<size>.<format>`."""
    return f"media/{store}/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def upload_key(store: UUID, media: UUID) -> str:
    """Return the key of an upload that is not complete."""
    return f"media/{store}/uploads/{media}"
