"""Resolve media files."""

from __future__ import annotations

from dataclasses import replace

from strawberry import Info

from auth.access import Access
from domain.media import files, received, uploads
from models.reading.queries import Row
from resolvers.engine.complete import load_record
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import delete_field
from schema.declaration import declare
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.scalars import ID, Upload
from schema.types.carts import CART, EDIT_CARTS
from schema.types.media import MediaFileObject, MediaUploadInput, MediaUploadObject

_WRITE = Access(
    privileges=(
        "manage_products",
        "manage_catalog",
        "manage_content",
        "manage_marketplace",
        "manage_users",
        "manage_settings",
    ),
    app_scope="write_products",
    vendor=True,
    note="A vendor can change only the files that its users made.",
)


UPLOAD_ACCESS = replace(
    _WRITE, customer=True, note="A customer uploads pictures, at most 20 a day, and completes only own uploads."
)
FORM_ACCESS = replace(UPLOAD_ACCESS, privileges=(*UPLOAD_ACCESS.privileges, *EDIT_CARTS.privileges), storefront=CART)
"""Who may send a form with files to `/graphql`: who uploads media files, or files of shoppers to carts."""


@declare
class MediaMutations:
    """Mutations of media files."""

    @root_field(UPLOAD_ACCESS, secret=True)
    async def media_upload_create(self, info: Info, input: MediaUploadInput) -> MediaUploadObject:
        """Begin an upload; send the file to the address, then complete it with `media_upload_complete`."""
        upload = await uploads.register_upload(info.context.scope, provided_fields(input))
        return Row(  # type: ignore[return-value]
            media_id=str(upload.media_id),
            url=upload.url,
            method=upload.method,
            headers=dict(upload.headers),
            expires_at=upload.expires_at,
        )

    @root_field(UPLOAD_ACCESS)
    async def media_upload_complete(self, info: Info, media_id: ID) -> MediaFileObject | None:
        """Check what was uploaded: its size, its type by content, its dimensions. Return the file, another one if that has the content."""
        return await load_record(info, await uploads.complete_upload(info.context.scope, media_id))

    @root_field(UPLOAD_ACCESS)
    async def media_upload(self, info: Info, file: Upload, alt: str | None = None) -> MediaFileObject | None:
        """Store a file of a multipart request and return it, `ready`: another one if that has the content."""
        return await load_record(info, await received.store_file(info.context.scope, file, alt))

    @root_field(_WRITE)
    async def media_create(self, info: Info, source_url: str, alt: str | None = None) -> MediaFileObject | None:
        """Return the file that is fetched from a URL, a new one or the one of that source; records can refer to it at once."""
        return await load_record(info, await files.create_from_url(info.context.scope, source_url, alt))

    @root_field(_WRITE)
    async def media_refresh(self, info: Info, id: ID) -> MediaFileObject | None:
        """Fetch a file again from its source; until then it shows the content that it has."""
        return await load_record(info, await files.refresh_file(info.context.scope, id))

    @root_field(_WRITE)
    async def media_update(self, info: Info, id: ID, alt: str) -> MediaFileObject | None:
        """Set the alternative text of a file."""
        return await load_record(info, await files.update_file(info.context.scope, id, alt))

    media_delete = delete_field(_WRITE, "Delete a file that no record shows.", files.delete_file)


QUERIES = (build_entity_queries(MediaFileObject),)
MUTATIONS = (MediaMutations,)
