"""Resolve media files."""

from __future__ import annotations

import strawberry
from strawberry import Info

from auth.access import Access
from domain.media import files
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import delete_field, load_record
from schema.fields import root_field
from schema.scalars import ID
from schema.types.media import MediaFileObject

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


@strawberry.type
class MediaMutations:
    """Mutations of media files."""

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
