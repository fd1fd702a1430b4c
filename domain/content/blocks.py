"""Create, update and delete layout blocks; their content is interpreted by the storefront only."""

from __future__ import annotations

from collections.abc import Mapping

from domain.content.languages import default_language, read_language
from domain.orders.draft import json_object
from kernel.codes import SWITCH_STATUSES
from kernel.fields import InputField, InputValues, code_in, name_text, read_fields, text
from kernel.scope import Scope
from models import audit
from models.content import Block
from models.database import transaction
from models.references import BLOCK, find

_MAX_TYPE = 64

BLOCK_FIELDS: Mapping[str, InputField] = {
    "type": InputField("type", text(_MAX_TYPE, blank=False), code="type_invalid", required="required"),
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "properties": InputField("properties", json_object, code="properties_invalid"),
    "content": InputField("content", json_object, code="content_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}


async def create_block(scope: Scope, values: InputValues) -> int:
    """Create a block and return its internal id: `type`*, `name`*, `properties` and `content` (objects), `status`, `lang_code`."""
    columns = read_fields(BLOCK_FIELDS, values, creating=True)
    async with transaction(scope):
        columns |= await read_language(scope, values)
        if "lang_code" not in columns:
            columns["lang_code"] = await default_language(scope)
        block = Block(**columns, created_at=scope.now, updated_at=scope.now)
        await block.save()
        block_id: int = block.id
        await audit.record(scope, "block.created", "block", block.public_id)
    return block_id


async def update_block(scope: Scope, block: object, values: InputValues) -> int:
    """Update a block partially and return its internal id; objects are replaced, not merged."""
    columns = read_fields(BLOCK_FIELDS, values)
    async with transaction(scope):
        block_id = await find(scope, BLOCK, block)
        columns |= await read_language(scope, values)
        await Block.filter(id=block_id).update(**columns, updated_at=scope.now)
        await audit.record_update(scope, "block", block_id, columns)
    return block_id


async def delete_block(scope: Scope, block: object) -> None:
    """Soft-delete a block."""
    async with transaction(scope):
        block_id = await find(scope, BLOCK, block)
        await Block.filter(id=block_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "block.deleted", "block", block_id)
