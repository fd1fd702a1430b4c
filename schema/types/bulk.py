"""Define bulk operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from auth.access import Access
from domain.bulk.files import DOWNLOAD, signed_link
from domain.bulk.operations import rights_of
from domain.bulk.read import BULK_OPERATIONS
from kernel.scope import Scope
from models.reading.queries import Row
from schema.enums import BulkOperationKind, BulkOperationState
from schema.fields import calculated, column, entity_type, object_type, output_field
from schema.scalars import ID, BigInt, DateTime
from schema.unset import Unset

BULK_CALLERS = Access(any_app=True, vendor=True)


@object_type("BulkUpload", access=BULK_CALLERS)
class BulkUploadObject:
    """A file to be uploaded for a bulk mutation."""

    id: ID = output_field("The ID of the upload, for `bulk_mutation_create`.")
    url: str = output_field("Where to send the file, by PUT and once. It needs no credential.")
    expires_at: DateTime = output_field("When the link expires.")
    max_bytes: BigInt = output_field("The maximum size of the file, in bytes.")


@object_type("BulkFile")
class BulkFileObject:
    """A file of a bulk operation, loaded by a signed link without a credential."""

    url: str = output_field(
        "The link. It serves ranges of bytes. With `Accept-Encoding: gzip` the file is sent compressed, unless it is in an object storage."
    )
    expires_at: DateTime = output_field("When the link expires; each request returns a new one.")


async def _result_links(scope: Scope, results: Sequence[Any]) -> list[Any]:
    return [None if result is None else await _result_link(scope, *result.split()) for result in results]


async def _result_link(scope: Scope, operation: str, *rights: str) -> Any:
    """Return the link; None for a caller with fewer rights than the operation had, who would read by it what it may not."""
    if not rights_of(scope.actor).issuperset(rights):
        return None
    link = await signed_link(scope, DOWNLOAD, operation)
    return Row(url=link.url, expires_at=link.expires_at)


@entity_type(BULK_OPERATIONS, "BulkOperation")
class BulkOperationObject:
    """An operation on many records that runs in the background; callers see their own."""

    id: ID = column("public_id", "The unique ID (UUID).")
    kind: BulkOperationKind = column(description="Whether it reads or writes.")
    state: BulkOperationState = column(description="The state.")
    document: str = column(description="The GraphQL document.")
    object_count: BigInt = column(description="The lines of the result so far.")
    root_object_count: BigInt = column(description="Those of the records of root fields, without nested connections.")
    error_count: BigInt = column(description="The lines of a mutation that were refused so far.")
    file_size: BigInt = column(description="The size of the result so far in bytes, uncompressed.")
    error_code: str = column(
        description="The error code, as in `extensions.code`; empty unless it failed.", unset=Unset.LATER
    )
    error_message: str = column(description="The error message; empty unless it failed.", unset=Unset.LATER)
    result: BulkFileObject | None = calculated(
        "(CASE WHEN t.state = 'completed' OR t.kind = 'mutation' AND t.due_at IS NULL AND t.file_size > 0"
        " THEN concat_ws(' ', t.public_id, array_to_string(t.scopes, ' ')) END)",
        _result_links,
        "The result; null until it is complete. A mutation that failed or was cancelled has that of the lines that were executed.",
    )
    created_at: DateTime = column(description="When it was created.")
    started_at: DateTime | None = column(description="When a worker began.")
    finished_at: DateTime | None = column(description="When it ended.")
    expires_at: DateTime | None = column(description="When it is deleted with its result, 7 days after it ended.")
