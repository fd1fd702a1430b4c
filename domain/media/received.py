"""Media files made of what came with a request: multipart forms, and images in the bodies of the legacy API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn
from uuid import UUID

from domain.media.fetching import FileContent, become, stored_content
from domain.media.renderer import ImageError
from domain.media.uploads import fail_upload, insert_upload, inspect_content, media_type
from kernel.errors import ValidationFailed
from kernel.fields import (
    MAX_NAME,
    InputField,
    check_count,
    name_text,
    raise_field_errors,
    read_with_errors,
    text,
)
from kernel.ids import uuid7
from kernel.received_files import ReceivedFile
from kernel.scope import ActorKind, Scope
from models import audit
from models.connection.database import separate_transaction, transaction

MAX_IMAGES = 50
"""The images that the body of a request may contain."""
_UNKNOWN_TYPE = "application/octet-stream"
_FIELDS: Mapping[str, InputField] = {
    "file_name": InputField("file_name", name_text, code="file_name_invalid", required="required"),
    "mime_type": InputField("mime_type", media_type, code="mime_type_invalid"),
    "alt": InputField("alt", text(MAX_NAME), code="alt_invalid"),
}
_OF_FILE = ("file_name", "mime_type")


@dataclass(frozen=True, slots=True)
class _Inspected:
    """A file whose content may be stored; `row` is that of a customer's upload, which was counted."""

    file: ReceivedFile
    columns: dict[str, Any]
    content: FileContent
    row: int | None


async def store_file(scope: Scope, file: ReceivedFile, alt: str | None = None) -> int:
    """Store a file and return its internal id: of another one that has the same content.

    Raises ValidationFailed for what is no image but should be, and RateLimited for a customer with more than 20 uploads in a day, each of
    which counts.
    """
    number, _ = await _store(scope, await _inspect(scope, file, alt, "file"))
    return number


async def store_images(scope: Scope, images: Iterable[dict[str, Any] | None]) -> None:
    """Set `media_id` of the inputs of images that have a file as `upload`; all are inspected before the first is stored.

    Raises ValidationFailed.
    """
    with_files = [image for image in images if image and image.get("upload")]
    check_count(with_files, MAX_IMAGES, "images in the body", field="image_data")
    inspected = [await _inspect(scope, image["upload"], None, "image_data") for image in with_files]
    for image, each in zip(with_files, inspected, strict=True):
        _, public_id = await _store(scope, each)
        image["media_id"] = str(public_id)


async def _inspect(scope: Scope, file: ReceivedFile, alt: str | None, field: str) -> _Inspected:
    columns, errors = read_with_errors(
        _FIELDS,
        {"file_name": file.file_name, "mime_type": file.mime_type or _UNKNOWN_TYPE, "alt": alt},
        creating=True,
    )
    if not file.size:
        errors["file_name"] = ("required", f"{field} is empty")
    raise_field_errors({field if name in _OF_FILE else name: error for name, error in errors.items()})
    columns |= {"bytes": file.size, "public_id": uuid7()}
    row = None
    if scope.actor.kind is ActorKind.CUSTOMER:
        # What is refused counts too, whatever becomes of the transaction of the request.
        async with separate_transaction(scope):
            row = await insert_upload(scope, columns)
    try:
        content = await inspect_content(file.content, columns["mime_type"])
    except ImageError as error:
        await _reject(scope, row, error, field)
    return _Inspected(file, columns, content, row)


async def _reject(scope: Scope, row: int | None, error: ImageError, field: str) -> NoReturn:
    if row is not None:
        async with separate_transaction(scope):
            await fail_upload(scope, row, error.message)
    raise ValidationFailed(f"{field} is refused: {error.message}", field=field, code="media_invalid") from error


async def _store(scope: Scope, inspected: _Inspected) -> tuple[int, UUID]:
    """Store a content and return the internal id of its file, and a public one that means it."""
    content, public_id = inspected.content, inspected.columns["public_id"]
    async with stored_content(scope, inspected.file.content, content), transaction(scope):
        row = inspected.row or await insert_upload(scope, inspected.columns)
        same = await become(scope, row, content)
        await audit.record(scope, "media_file.uploaded", "media_file", public_id, {"bytes": content.bytes})
    return same or row, public_id
