"""Serve the media files of one family: list, show, create from a URL or upload, delete (docs/reference/current.md#media)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aiohttp import web

from kernel.errors import ValidationFailed
from kernel.received_files import ReceivedFile
from resolvers.execute import FacadeOperation, authorize
from rest_facade.bodies import MULTIPART, RECEIVE_FORM, read_json_object
from rest_facade.collection_openapi import collection_docs
from rest_facade.collections import Collection
from rest_facade.field_errors import REQUIRED
from rest_facade.list_parameters import FilterParameter, ListDefinition, choice_parser
from rest_facade.openapi import STRING, OperationResult, RouteDocs, RouteKey, described, named, request_body
from rest_facade.records import CollectionHandlers, execute_with_codes
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Route

MEDIA = Collection(
    name="media",
    display_name="media file",
    plural="MediaFiles",
    singular="MediaFile",
    list_definition=ListDefinition(
        filters={
            "status": FilterParameter("status", choice_parser("status", ("pending", "ready", "failed"))),
            "source_url": FilterParameter("source_url", str),
            "sha256": FilterParameter("sha256", str),
        },
        sorts={"created_at": "CREATED_AT", "id": "ID"},
    ),
    field_codes={"source_url": "url_invalid", "alt": "alt_invalid"},
)

_FILE = described({"type": "string", "format": "binary"}, "The file, at most 20 MiB.")
_ALT = described(STRING, "The alternative text of a new file.")


@dataclass(frozen=True, slots=True)
class MediaHandlers:
    """Serve the media files of one family below `base`; `prefix` begins its operation names."""

    base: str
    prefix: str
    credential: Credential
    operations: Mapping[str, FacadeOperation] = field(repr=False)
    size_parameter: str = "per_page"

    def routes(self) -> list[Route]:
        """List the routes."""
        path = f"{self.base}/{MEDIA.name}"
        records = CollectionHandlers(
            MEDIA.with_listing(size_parameter=self.size_parameter), self.prefix, self.operations
        )
        return [
            *records.routes(path, self.credential),
            Route("POST", path, self.create, self.credential, creates=True, takes_files=True),
            Route("DELETE", f"{path}/{{id}}", records.delete, self.credential),
        ]

    async def create(self, request: web.Request) -> web.Response:
        """Return the file of `{source_url, alt?}`, which the worker fetches, or the one in a multipart form."""
        if request.content_type == MULTIPART:
            return await self._upload(request)
        operation = self.operations[f"{self.prefix}MediaFileCreate"]
        scope = authorize(request[SCOPE], operation)
        body = await read_json_object(request)
        values = {name: body[name] for name in ("source_url", "alt") if body.get(name) is not None}
        if values.get("source_url", "") == "":
            raise ValidationFailed("source_url is required", fields={"source_url": REQUIRED})
        record = await execute_with_codes(scope, operation, values, MEDIA.field_codes)
        return json_response(record, status=201)

    async def _upload(self, request: web.Request) -> web.Response:
        """Return the file of a form with `file` and `alt`."""
        operation = self.operations[f"{self.prefix}MediaFileUpload"]
        scope = authorize(request[SCOPE], operation)
        form = await request.app[RECEIVE_FORM](request)
        values = {name: value for name in ("file", "alt") if (value := form.get(name)) is not None}
        if not isinstance(values.get("file"), ReceivedFile):
            raise ValidationFailed("file is required", fields={"file": REQUIRED})
        record = await execute_with_codes(scope, operation, values, MEDIA.field_codes)
        return json_response(record, status=201)


def media_docs(base: str, prefix: str, size_parameter: str = "per_page") -> dict[RouteKey, RouteDocs]:
    """Document the routes of `MediaHandlers`."""
    path = f"{base}/{MEDIA.name}"
    return {
        **collection_docs(MEDIA.with_listing(size_parameter=size_parameter), prefix, base),
        ("POST", path): RouteDocs(
            "Create a media file from a URL, or upload one",
            OperationResult(f"{prefix}MediaFileCreate"),
            status=201,
            body=request_body(
                "source_url",
                source_url=described(STRING, "The URL from which the file is fetched, http or https."),
                alt=_ALT,
            ),
            upload=named("MediaFileForm", request_body("file", file=_FILE, alt=_ALT)),
        ),
        ("DELETE", f"{path}/{{id}}"): RouteDocs(
            "Delete a media file that no record shows", status=204, operation=f"{prefix}MediaFileDelete"
        ),
    }
