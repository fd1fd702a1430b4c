"""Resolve bulk operations."""

from __future__ import annotations

from strawberry import Info

from domain.bulk import operations, uploads
from domain.bulk.configuration import configured
from kernel.errors import ValidationFailed
from models.reading.queries import Row
from models.references import NOT_FOUND
from resolvers.bulk_mutations import check_may_mutate, parse_mutation
from resolvers.bulk_queries import compile_query
from resolvers.engine.complete import load_record
from resolvers.entity_queries import build_entity_queries
from schema.declaration import declare
from schema.fields import root_field
from schema.scalars import ID
from schema.types.bulk import BULK_CALLERS, BulkOperationObject, BulkUploadObject


@declare
class BulkMutations:
    """Mutations of bulk operations."""

    @root_field(BULK_CALLERS)
    async def bulk_query_create(self, info: Info, query: str) -> BulkOperationObject | None:
        """Execute a query in the background over all records: its lists and connections are read to their end, with the caller's rights."""
        scope = info.context.scope
        await compile_query(scope, query)
        return await load_record(info, await operations.create(scope, operations.QUERY, query))

    @root_field(BULK_CALLERS, secret=True)
    async def bulk_upload_create(self, info: Info) -> BulkUploadObject:
        """Create an upload: the link to which the file of a bulk mutation is sent."""
        check_may_mutate(info.context.scope)
        upload, link = await uploads.new_upload(info.context.scope)
        return Row(  # type: ignore[return-value]
            id=str(upload), url=link.url, expires_at=link.expires_at, max_bytes=configured().upload_bytes
        )

    @root_field(BULK_CALLERS)
    async def bulk_mutation_create(
        self, info: Info, mutation: str, upload: ID, all_or_nothing: bool = False
    ) -> BulkOperationObject | None:
        """Execute a mutation in the background for each line of an uploaded file, which has its variables as JSON. A refused line changes
        nothing; with `all_or_nothing` it undoes all others.
        """
        scope = info.context.scope
        await parse_mutation(scope, mutation)
        used = await uploads.use_upload(scope, upload)
        if used is None:
            raise ValidationFailed("upload names no file of the caller", field="upload", code=NOT_FOUND)
        number = await operations.create(scope, operations.MUTATION, mutation, upload=used, is_atomic=all_or_nothing)
        return await load_record(info, number)

    @root_field(BULK_CALLERS)
    async def bulk_operation_cancel(self, info: Info, id: ID) -> BulkOperationObject | None:
        """Cancel a bulk operation of the caller; one that has ended stays as it is."""
        return await load_record(info, await operations.cancel(info.context.scope, id))


QUERIES = (build_entity_queries(BulkOperationObject),)
MUTATIONS = (BulkMutations,)
