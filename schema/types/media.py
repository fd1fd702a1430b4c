"""Define images and media files."""

from __future__ import annotations

from typing import Any, Optional, TypeVar

import strawberry

from domain.media.addresses import ImageSource, image_srcset, image_url
from domain.media.read import IMAGES, MEDIA_FILES, own_text
from models.reading.queries import ColumnSql, ToMany, ToOne
from schema.enums import ImageFormat, ImageSize, MediaStatus
from schema.fields import (
    INHERITED,
    column,
    computed,
    entity_type,
    implements,
    interface_type,
    object_type,
    optional_argument,
    output_field,
    parameterized,
    relation,
)
from schema.inputs import input_type, optional_field
from schema.scalars import ID, JSON, BigInt, DateTime, Upload
from schema.unset import Unset

T = TypeVar("T")

_LINKED = ImageSource("t.picture_url", "t.file_")
_FILE = ImageSource("coalesce(t.source_url, '')", "t.")
_SIZE = optional_argument("size", ImageSize, "The size; `ORIGINAL` by default.")
_FORMAT = optional_argument(
    "format",
    ImageFormat,
    "The format of a size, by default what the browser accepts; the original in another format has the largest size.",
)
_FILE_COLUMNS = ("sha256", "mime_type", "width", "height", "blurhash", "alt", "status")


def _url(source: ImageSource, description: str, unset: Unset | None = None) -> Any:
    def sql_of(size: str | None = None, format: str | None = None) -> ColumnSql:
        return image_url(source, size, format)

    return parameterized(sql_of, description, [_SIZE, _FORMAT], unset)


def _srcset(source: ImageSource) -> Any:
    def sql_of(format: str | None = None) -> ColumnSql:
        return image_srcset(source, format)

    description = (
        "The addresses of all sizes, as the attribute `srcset` takes them; null where there is no image to show."
    )
    return parameterized(sql_of, description, [_FORMAT])


@entity_type(MEDIA_FILES, "MediaFile")
class MediaFileObject:
    """An image or another file of the store."""

    id: ID = column("public_id", "The unique ID (UUID).")
    status: MediaStatus = column(description="The status.")
    error: str = computed(
        own_text("error"), "Why the last attempt to fetch it failed; empty if it didn't.", unset=Unset.LATER
    )
    url: str = _url(
        _FILE,
        "The address; until the file is ready that of its source, empty while an upload is awaited.",
        unset=Unset.LATER,
    )
    srcset: str | None = _srcset(_FILE)
    mime_type: str = column(description="The type of the content; empty until it is known.", unset=Unset.LATER)
    bytes: BigInt = column(description="The size in bytes; 0 until it is known.")
    sha256: str | None = column(
        description="The SHA-256 of the content, in hexadecimal digits; null until it is known."
    )
    width: int = column(description="The width in pixels; 0 for what is no image.")
    height: int = column(description="The height in pixels; 0 for what is no image.")
    blurhash: str = column(
        description="A placeholder to show while the image loads (blurha.sh); empty for what is no image.",
        unset=Unset.LATER,
    )
    alt: str = computed(own_text("alt"), "The alternative text where a record has no other.")
    file_name: str = computed(
        own_text("file_name"), "The name of the uploaded file; empty if it was fetched.", unset=Unset.LATER
    )
    source_url: str | None = column(
        own_text("source_url", "NULL"), "The URL from which it is fetched; null for an upload."
    )
    created_at: DateTime = column(description="When the record was created.")
    updated_at: DateTime = column(description="When the record was last updated.")


def _of_file_or_link(name: str) -> str:
    return f"CASE WHEN t.file_sha256 IS NOT NULL THEN t.file_{name} ELSE t.picture_{name} END"


def with_image_fields(cls: type[T]) -> type[T]:
    """Add the fields of an image to a type whose rows are those of `with_files`."""
    nullable_text: object = str | None
    fields = {
        "url": (str, _url(_LINKED, "The address: that of the store's own file, or the link.")),
        "alt": (
            str,
            computed("coalesce(nullif(t.picture_alt, ''), t.file_alt, '')", "The alternative text."),
        ),
        "width": (int, computed(_of_file_or_link("width"), "The size in pixels; 0 if unknown.")),
        "height": (int, computed(_of_file_or_link("height"), "The size in pixels; 0 if unknown.")),
        "blurhash": (
            nullable_text,
            column(
                "nullif(t.file_blurhash, '')",
                "A placeholder to show while the image loads (blurha.sh); null for a link.",
            ),
        ),
        "srcset": (nullable_text, _srcset(_LINKED)),
        "status": (
            MediaStatus | None,
            column("t.file_status", "The status of the file; until it is ready, `url` is the link. Null for a link."),
        ),
        "media_id": (ID | None, column("t.file_public_id", "The media file; null for a link.")),
        "media": (
            Optional[MediaFileObject],  # noqa: UP045  # a class
            relation(ToOne("media_id"), "The media file; null for a link."),
        ),
    }
    cls.__annotations__ = {**{name: type_ for name, (type_, _) in fields.items()}, **cls.__annotations__}
    for name, (_, declared) in fields.items():
        setattr(cls, name, declared)
    return cls


def with_files(
    table: str, *, url: str = "image_url", alt: str = "image_alt", width: str = "0", height: str = "0"
) -> str:
    """Return the rows of a table with the image of each, and its file, as a `ToMany.through`."""
    own = {"url": f"i.{url}", "alt": f"i.{alt}", "width": width, "height": height}
    pictures = ", ".join(f"{expression} AS picture_{name}" for name, expression in own.items())
    files = ", ".join(f"m.{name} AS file_{name}" for name in ("public_id", *_FILE_COLUMNS))
    return (
        f"(SELECT i.*, {pictures}, {files} FROM {table} i"
        f" LEFT JOIN media_files m ON m.tenant_id = i.tenant_id AND m.id = i.media_id) t"
    )


def image_relation(table: str, description: str = "The image.", *, width: str = "0", height: str = "0") -> Any:
    """Declare the image of a record in the columns `image_url`, `image_alt` and `media_id` of its own row."""
    through = with_files(table, width=width, height=height)
    return relation(ToMany("t.id", "t.id", through=through, where="t.image_url <> ''"), description, single=True)


@interface_type("ImageRecord")
@with_image_fields
class ImageRecordObject:
    """An image, whatever record shows it."""


@implements(ImageRecordObject)
@entity_type(IMAGES, "Image")
@with_image_fields
class ImageObject:
    """An image of a record: a file of the store, or a link."""


@input_type
class ImageInput:
    """An image: a file of the store or a link, exactly one of them."""

    media_id: ID | None = optional_field("The media file.")
    url: str | None = optional_field("The URL of the image, http or https.")
    alt: str | None = optional_field("The alternative text.")
    upload: Upload | None = optional_field("The file itself, in place of `media_id`.", internal=True)


@object_type("MediaUpload", access=INHERITED)
class MediaUploadObject:
    """An upload that is awaited."""

    media_id: ID = output_field("The media file, for `media_upload_complete`.")
    url: str = output_field("Where to send the file. It needs no credential.")
    method: str = output_field("The HTTP method, PUT.")
    headers: JSON = output_field("The headers to send with it, an object.")
    expires_at: DateTime = output_field("Until when the address takes the file.")


@object_type("OptionFileUpload", access=INHERITED)
class OptionFileUploadObject:
    """An upload of a shopper's file that is awaited."""

    file_id: ID = output_field("The file, for `cart_file_upload_complete`.")
    url: str = output_field("Where to send the file. It needs no credential.")
    method: str = output_field("The HTTP method, PUT.")
    headers: JSON = output_field("The headers to send with it, an object.")
    expires_at: DateTime = output_field("Until when the address takes the file.")


@object_type("OptionFile", access=INHERITED)
class OptionFileObject:
    """A shopper's file for an option of the type `F`."""

    id: ID = output_field("The ID (UUID), a value of the option in the cart to which it was uploaded.")
    file_name: str = output_field("The name of the file.")
    mime_type: str = output_field("The type of the content.")
    bytes: BigInt = output_field("The size in bytes.")
    url: str = output_field("Where to load it, for one to two hours. It needs no credential.")


@input_type
class MediaUploadInput:
    """A file to upload."""

    file_name: str = strawberry.field(description="The name of the file.")
    mime_type: str = strawberry.field(description="The type of the content, such as `image/jpeg`.")
    bytes: int = strawberry.field(description="The size in bytes, at most 20 MiB.")
