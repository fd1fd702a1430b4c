"""Images of records: an input names a file of the store or a link, and becomes the columns of the row.

A row keeps both: the file (`media_id`), and a link that was sent or belongs to the file, so that two images of the same file are equal and
a version of the program without files shows them too. With the setting `image_copies` a link becomes a file, fetched by the worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from uuid import UUID

from domain.media.addresses import digest_in, original_path, source_digest
from domain.media.contents import IMAGE_TYPES
from domain.media.usage import free_sources
from domain.records import Change
from domain.store_settings import setting
from kernel.fields import FieldErrors, InputValues, raise_field_errors, read_with_errors
from kernel.ids import parse_uuid, uuid7
from kernel.product_fields import IMAGE_FIELDS, path_errors
from kernel.scope import ActorKind, Scope
from kernel.text import repr_value
from models.connection.database import execute, fetch, fetchval
from models.references import NOT_FOUND
from models.rows import json_text

_NO_IMAGE: Mapping[str, Any] = {"image_url": "", "image_alt": "", "media_id": None}
_NOTHING: Mapping[int, str] = {}

# A file that has the content of another one is that one. Until the open transaction refers to it, it isn't deleted (`delete_file`).
_FILES = """
SELECT f.public_id AS named_id, f.sha256 AS named_sha256, f.source_url AS named_url, o.id, o.sha256, o.mime_type, o.source_url,
    EXISTS (
        SELECT FROM media_files c WHERE c.tenant_id = o.tenant_id AND (c.id = o.id OR c.original_id = o.id) AND c.user_id = $5
    ) AS is_own
FROM media_files f JOIN media_files o ON o.tenant_id = f.tenant_id AND o.id = coalesce(f.original_id, f.id)
WHERE f.tenant_id = $1 AND o.unused_since IS DISTINCT FROM '-infinity' AND (
    f.public_id = ANY($2::uuid[]) OR f.sha256 = ANY($3::text[]) OR f.source_url IS NOT NULL AND md5(f.source_url) = ANY($4::text[])
) FOR KEY SHARE OF o
"""
_INSERT_LINKS = """
INSERT INTO media_files (tenant_id, public_id, source_url, next_attempt_at, created_at, updated_at)
SELECT $1, r.public_id, r.source_url, $3, $3, $3 FROM jsonb_to_recordset($2::text::jsonb) AS r (public_id uuid, source_url text)
ORDER BY r.source_url
ON CONFLICT (tenant_id, md5(source_url)) WHERE source_url IS NOT NULL DO NOTHING
"""

ImageError: TypeAlias = tuple[str, tuple[str, str]]
"""The member of an image at fault, with the code and the message."""


def read_image_members(values: InputValues) -> tuple[dict[str, Any], FieldErrors]:
    """Return the members of an image's input, `media_id` or `url` and the others, and the errors of the wrong ones."""
    sent = {name: value for name, value in values.items() if value is not None or name != "media_id"}
    columns, errors = read_with_errors(IMAGE_FIELDS, sent, creating="media_id" not in sent)
    if "media_id" in sent:
        columns["named"] = sent["media_id"]
    elif "url" in values and values["url"] is None:
        errors["url"] = (IMAGE_FIELDS["url"].code, "url is null; expected an http or https address")
    return columns, errors


async def resolve_images(
    scope: Scope, images: Sequence[dict[str, Any]], *, are_attachments: bool = False
) -> dict[int, ImageError]:
    """Set `url` and `media_id` of images from `read_image_members`, in a constant number of statements; return the errors by position.

    Attachments may be files of any type, and their links are never fetched.
    """
    named = [image["named"] for image in images if "named" in image]
    links = sorted({image["url"] for image in images if image.get("url")})
    is_copying = setting(scope, "image_copies") and not are_attachments
    copied = [link for link in links if not link.startswith("/")] if is_copying else []
    files = await _find_files(scope, named, links, copied)
    fetched = {image["url"] for image in images if "named" not in image and image.get("url")}.intersection(copied)
    if missing := sorted(link for link in fetched if files.of_link(link) is None):
        await add_sources(scope, missing)
        files = await _find_files(scope, named, links, copied)
    errors: dict[int, ImageError] = {}
    for index, image in enumerate(images):
        file, error = _file_of(scope, image, files)
        if error is None and file is not None and not are_attachments:
            error = _type_error(image, file)
        if error is not None:
            errors[index] = error
        image.pop("named", None)
        image["media_id"] = None if file is None else file["id"]
        if file is not None:
            image["url"] = file["source_url"] or original_path(file["sha256"], file["mime_type"])
        image.setdefault("url", "")
    return errors


async def add_sources(scope: Scope, links: Sequence[str]) -> None:
    """Insert a file for each of these links, in the open transaction, unless there is one with that source."""
    await free_sources(scope, [source_digest(link) for link in links])
    rows = [{"public_id": uuid7(), "source_url": link} for link in links]
    await execute(_INSERT_LINKS, scope.store.id, json_text(rows), scope.now)


class _Files:
    """Files by what an input may call them."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._by_id: dict[UUID, Mapping[str, Any]] = {}
        self._by_digest: dict[str, Mapping[str, Any]] = {}
        self._by_source: dict[str, Mapping[str, Any]] = {}
        for row in rows:
            self._by_id[row["named_id"]] = row
            if row["named_sha256"]:
                self._by_digest[row["named_sha256"]] = row
            if row["named_url"]:
                self._by_source[row["named_url"]] = row

    def of_id(self, reference: object) -> Mapping[str, Any] | None:
        """Return the file with the public id."""
        public_id = parse_uuid(str(reference))
        return None if public_id is None else self._by_id.get(public_id)

    def of_link(self, url: str) -> Mapping[str, Any] | None:
        """Return the file that has the URL as its own address, or was fetched from it and is looked for by that."""
        digest = digest_in(url)
        file = None if digest is None else self._by_digest.get(digest)
        return file or self._by_source.get(url)


async def _find_files(scope: Scope, named: Sequence[object], links: Sequence[str], copied: Sequence[str]) -> _Files:
    ids = [public_id for reference in named if (public_id := parse_uuid(str(reference))) is not None]
    digests = [digest for link in links if (digest := digest_in(link)) is not None]
    sources = [source_digest(link) for link in copied]
    if not ids and not digests and not sources:
        return _Files(())
    return _Files(await fetch(_FILES, scope.store.id, ids, digests, sources, scope.actor.user_id))


def _file_of(
    scope: Scope, image: Mapping[str, Any], files: _Files
) -> tuple[Mapping[str, Any] | None, ImageError | None]:
    """Return the file that an image is, None for a link; or the error of what the caller can't refer to."""
    if "named" not in image:
        return _file_of_link(scope, image.get("url", ""), files)
    reference = image["named"]
    file = files.of_id(reference)
    if file is None or not _may_use(scope, file):
        return None, ("media_id", (NOT_FOUND, f"media file {reference} not found"))
    if file["sha256"] is None and file["source_url"] is None:
        return None, ("media_id", ("media_incomplete", f"media file {reference} is not uploaded yet"))
    url = image.get("url")
    # What a record shows has both.
    if url is not None and url != file["source_url"] and (files.of_link(url) or {}).get("id") != file["id"]:
        return None, (
            "url",
            ("url_invalid", f"url is {repr_value(url)}, not that of the media file; expected one of them"),
        )
    return file, None


def _type_error(image: Mapping[str, Any], file: Mapping[str, Any]) -> ImageError | None:
    if file["sha256"] is None or file["mime_type"] in IMAGE_TYPES:
        return None
    name = "media_id" if "named" in image else "url"
    reference = f"media file {image['named']}" if "named" in image else f"url {repr_value(image['url'])}"
    code = "media_invalid" if "named" in image else "url_invalid"
    return name, (code, f"{reference} is {file['mime_type']}; expected an image")


def _file_of_link(scope: Scope, url: str, files: _Files) -> tuple[Mapping[str, Any] | None, ImageError | None]:
    file = files.of_link(url) if url else None
    if file is not None and _may_use(scope, file):
        return file, None
    if url and scope.actor.kind is ActorKind.CUSTOMER:
        # A link would let others count who looks at it.
        return None, ("url", ("url_invalid", f"url is {repr_value(url)}; expected the media_id of an uploaded file"))
    return None, None


def _may_use(scope: Scope, file: Mapping[str, Any]) -> bool:
    return scope.actor.kind is not ActorKind.CUSTOMER or file["is_own"]


# --- Rows with the columns `image_url`, `image_alt` and `media_id` -----------------------------------------------------------


def read_image(values: InputValues, field: str = "image") -> tuple[dict[str, Any], FieldErrors]:
    """Return the columns of the image in an input, for `resolve_rows`, and its errors; null removes the image, none leaves it as it is.

    A text that the input doesn't have is None.
    """
    if field not in values:
        return {}, {}
    if values[field] is None:
        return dict(_NO_IMAGE), {}
    image, errors = read_image_members(values[field])
    columns = {name if name == "named" else f"image_{name}": member for name, member in image.items()}
    return {**_NO_IMAGE, "image_alt": None, **columns}, {f"{field}.{name}": error for name, error in errors.items()}


async def resolve_rows(
    scope: Scope, rows: Sequence[dict[str, Any]], stored: Mapping[int, str] = _NOTHING
) -> dict[int, ImageError]:
    """Set `image_url` and `media_id` of rows that set an image by `read_image` or its `image_url` alone; errors as `resolve_images`.

    `stored` are the links of existing rows by position: only these may be paths of the store without a file, and an image with the stored
    link keeps its text where the input has none.
    """
    positions = [index for index, row in enumerate(rows) if "image_url" in row]
    images: list[dict[str, Any]] = []
    for row in (rows[index] for index in positions):
        image = {"url": row["image_url"]} if row["image_url"] else {}
        images.append(image | ({"named": row.pop("named")} if "named" in row else {}))
    resolved = await resolve_images(scope, images)
    errors = {positions[index]: error for index, error in resolved.items()}
    for index, image in zip(positions, images, strict=True):
        rows[index] |= {"image_url": image["url"], "media_id": image["media_id"]}
        if image["media_id"] is None and (refused := path_errors(scope, "url", image["url"], (stored.get(index),))):
            errors.setdefault(index, ("url", refused["url"]))
        if rows[index].get("image_alt") is None:
            rows[index]["image_alt"] = ""
            if image["url"] == stored.get(index):
                del rows[index]["image_alt"]
    return errors


async def set_image(change: Change, table: str) -> None:
    """Add the columns of the input `image` to a change of a record."""
    change.columns |= await image_columns(change.scope, change.values, table, change.record_id)


async def image_columns(
    scope: Scope, values: InputValues, table: str, record_id: int, *, field: str = "image", key: str = "id"
) -> dict[str, Any]:
    """Return the columns of an image in the input of a record, whose id is 0 if it is new; raises ValidationFailed.

    They are those of the row of the table with the record's id as its `key`, if there is one.
    """
    columns, errors = read_image(values, field)
    raise_field_errors(errors)
    if not columns:
        return {}
    stored: dict[int, str] = {}
    if record_id and (columns["image_alt"] is None or columns["image_url"].startswith("/")):
        sql = f"SELECT image_url FROM {table} WHERE tenant_id = $1 AND {key} = $2"
        stored[0] = await fetchval(sql, scope.store.id, record_id) or ""
    resolved = await resolve_rows(scope, [columns], stored)
    raise_field_errors({f"{field}.{name}": error for name, error in resolved.values()})
    return columns
