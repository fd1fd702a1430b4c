"""Make, change and delete the blocks of a shop's layout. What they hold is for the storefront to read: the server keeps it."""

from __future__ import annotations

from collections.abc import Mapping

from domain import audit
from domain.content.languages import first_language, language_of
from domain.fields import Given, InputField, code_in, name_text, read_fields, text
from domain.orders.draft import json_object
from domain.references import BLOCK, find
from kernel.codes import SWITCH_STATUSES
from kernel.scope import Scope
from models.content import Block
from models.database import transaction

_MAX_TYPE = 64

BLOCK_FIELDS: Mapping[str, InputField] = {
    "type": InputField("type", text(_MAX_TYPE, blank=False), code="type_invalid", required="required"),
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "properties": InputField("properties", json_object, code="properties_invalid"),
    "content": InputField("content", json_object, code="content_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}


async def create_block(scope: Scope, given: Given) -> int:
    """Make a block and give its internal id: `type`* (any word), `name`*, `properties` and `content` (objects), `status`, `lang_code`."""
    columns = read_fields(BLOCK_FIELDS, given, creating=True)
    async with transaction(scope):
        columns |= await language_of(scope, given)
        if "lang_code" not in columns:
            columns["lang_code"] = await first_language(scope)
        block = Block(**columns, created_at=scope.now, updated_at=scope.now)
        await block.save()
        block_id: int = block.id
        await audit.record(scope, "block.created", "block", block.public_id)
    return block_id


async def update_block(scope: Scope, block: object, given: Given) -> int:
    """Change a block partially and give its internal id; an object that is given replaces the one there was."""
    columns = read_fields(BLOCK_FIELDS, given)
    async with transaction(scope):
        block_id = await find(scope, BLOCK, block)
        columns |= await language_of(scope, given)
        await Block.filter(id=block_id).update(**columns, updated_at=scope.now)
        await audit.record(scope, "block.updated", "block", block_id, {"fields": sorted(columns)})
    return block_id


async def delete_block(scope: Scope, block: object) -> None:
    """Hide a block."""
    async with transaction(scope):
        block_id = await find(scope, BLOCK, block)
        await Block.filter(id=block_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "block.deleted", "block", block_id)
